"""Draw a reward: error rates, rewards by label, weights of features, and scales."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from matplotlib.patches import Polygon

from voirdire._validation import shorten
from voirdire.reporting.plots.dots import LINE, RANGE, DotRow, draw_dots, make_dot_row
from voirdire.reporting.plots.frame import (
    Panel,
    draw_chart,
    keep_finite,
    make_interval_key,
    set_scale,
    style_area,
    style_mark,
)
from voirdire.reporting.plots.results import choose, require
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import make_distinct_labels, shorten_label
from voirdire.studies import RewardExamination

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style
    from voirdire.reporting.plots.results import Choice
    from voirdire.reporting.plots.words import Words
    from voirdire.studies import FeatureDrive, LabelHistogram

__all__ = [
    "draw_reward_drives",
    "draw_reward_errors",
    "draw_reward_histograms",
    "draw_reward_scales",
]

# What is drawn --------------------------------------------------------------------------------

_SIGNALS = ("base", "total", "rules")


def _check_reward(result: Any) -> RewardExamination:
    require(
        isinstance(result, RewardExamination),
        "`result` must be what `examine_reward` returns, or the parsed JSON of `voirdire "
        f"examine-reward --json`, got {shorten(result)}.",
    )
    return cast("RewardExamination", result)


def _choose_behavior(report: RewardExamination, choice: Choice) -> str:
    parts = (report.scales, report.drives, report.histograms, report.error_rates)
    behaviors = [row.behavior for part in parts for row in part if row.behavior is not None]
    return choose(behaviors, "behavior", choice.behavior)


def _read_level(report: RewardExamination) -> float:
    return float(report.settings.get("confidence_level") or math.nan)


def _name_signals(report: RewardExamination) -> dict[str, str]:
    """Name the rewards to draw and their signal in the rows; without a base only the rules."""
    signals = {row.signal for row in report.error_rates if row.rate.value >= 0}
    signals |= {row.signal for row in report.histograms if any(row.counts)}
    if "base" in signals:
        return {signal: signal for signal in _SIGNALS if signal in signals}
    return {"rules": "rules" if "rules" in signals else "total"}


# Comparisons ranked the wrong way -------------------------------------------------------------

_MOST_BEHAVIORS = 12
_COLOURS = {"base": "series-8", "total": "series-1", "rules": "series-3"}


def draw_reward_errors(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the error rates: a group per behavior, in it a row per reward with its interval."""
    say, report = frame.say, _check_reward(result)
    rows = _make_error_rows(report, say)
    require(rows, "`result` must hold error rates, got none: it was examined without comparisons.")
    highest = max([0.1, *keep_finite(end for row in rows for end in (row.value, row.high))])
    return draw_dots(
        frame,
        rows,
        heading=say("errors_title", name=shorten_label(str(report.reward.get("name", "")))),
        alt=say("alt_errors"),
        x_title=say("errors_axis"),
        limits=(0.0, highest),
        bounds=(0.0, 1.0),
        line=0.5,
        key=[(say("errors_chance"), LINE), *make_interval_key(_read_level(report), say)],
    )


def _make_error_rows(report: RewardExamination, say: Words) -> list[DotRow]:
    names = {own: signal for signal, own in _name_signals(report).items()}
    rates = [row for row in report.error_rates if row.against == "all" and row.signal in names]
    rates = [row for row in rates if math.isfinite(row.rate.value)]
    behaviors = dict.fromkeys(row.behavior for row in rates)
    named = [each for each in behaviors if each is not None][:_MOST_BEHAVIORS]
    groups: dict[str | None, str] = dict(zip(named, make_distinct_labels(named), strict=True))
    if None in behaviors and len(named) != 1:  # all behaviors are the same as a single one
        groups = {None: say("all_behaviors"), **groups}
    rows: list[DotRow] = []
    for behavior, text in groups.items():
        rows.append(DotRow(label=text, is_heading=True, starts_group=True))
        for row in rates:
            if row.behavior == behavior:
                signal = names[row.signal]
                colour = LIGHT[_COLOURS[signal]]
                rows.append(make_dot_row(row.rate, "value", label=say(signal), colour=colour))
    return rows


# Rewards by label -----------------------------------------------------------------------------

_MOST_LABELS = 12
_ROW_PX = 58.0
_TALLEST = 0.62
"""Height of the tallest bar, as a share of its row; the label stands above it."""
_MEAN: Style = {"color": LIGHT["ink"], "linewidth": 2}


def draw_reward_histograms(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw centred rewards: a row per label, a panel for each reward; 0 is the best label's mean.

    Each label has a row of its own, since five histograms over each other cannot be read.
    """
    say, report = frame.say, _check_reward(result)
    behavior = _choose_behavior(report, choice)
    histograms = [row for row in report.histograms if row.behavior == behavior and any(row.counts)]
    columns = {
        signal: rows
        for signal, name in _name_signals(report).items()
        if (rows := [row for row in histograms if row.signal == name])
    }
    require(columns, f"`result` must hold histograms of {shorten_label(behavior)!r}, got none.")
    labels = list(dict.fromkeys(row.label for rows in columns.values() for row in rows))
    labels = labels[:_MOST_LABELS]
    n_columns = 1 if frame.is_narrow else len(columns)
    if frame.ax is not None and "total" in columns:
        columns = {"total": columns["total"]}
    best = shorten_label(labels[0], width=24)
    axis, unnamed = say("histograms_axis", best=best), [""] * len(labels)
    texts = make_distinct_labels(labels, width=24)
    panels = []
    for place, (signal, rows) in enumerate(columns.items()):
        names = texts if place % n_columns == 0 else unnamed
        titles = {"title": say(signal), "x_title": axis if frame.ax is not None else ""}
        panels.append(
            _make_histogram_panel(rows, dict(zip(labels, names, strict=True)), say, titles)
        )
    return draw_chart(
        frame,
        heading=say("histograms_title", behavior=shorten_label(behavior)),
        alt=say("alt_histograms", behavior=shorten_label(behavior)),
        panels=panels,
        key=[
            (say("across", x_title=axis), {}),
            (say("is_best", best=best), style_area("series-1")),
            (say("below_best", best=best), style_area("series-8")),
            (say("above_best", best=best), style_area("fail")),
            (say("label_mean"), _MEAN),
        ],
        n_columns=n_columns,
    )


def _make_histogram_panel(
    rows: Sequence[LabelHistogram], texts: Mapping[str, str], say: Words, titles: dict[str, Any]
) -> Panel:
    by_label = {row.label: row for row in rows}
    tallest = max(max(row.counts) / sum(row.counts) for row in rows)
    bins = [pair for row in rows for pair in zip(pairwise(row.edges), row.counts, strict=True)]
    ends = [0.0, *(end for both, count in bins for end in both if count)]
    low, high = min(ends), max(ends)  # empty bins at both ends are left out

    def draw(axes: Axes) -> None:
        axes.set(ylim=(len(texts) - 0.94, -0.94), yticks=[])
        across, places = axes.get_yaxis_transform(), list(range(len(texts)))
        for place, (name, text) in enumerate(texts.items()):
            axes.axhline(place, color=LIGHT["grid"], linewidth=1, zorder=0.5)
            axes.text(0, place - 0.78, text, va="center_baseline", transform=across)
            if name in by_label:
                _draw_label(axes, by_label[name], place=place, tallest=tallest)
        zero: Any = {"color": LIGHT["muted"], "linewidth": 1, "zorder": 1.5, "gid": "zero"}
        axes.vlines([0] * len(places), [at - _TALLEST for at in places], places, **zero)
        set_scale(axes.xaxis, low, high, say, grid=False)

    return Panel(draw=draw, height=len(texts) * _ROW_PX, left=8.0, **titles)


def _draw_label(axes: Axes, row: LabelHistogram, *, place: int, tallest: float) -> None:
    """Draw the bars of a label; all but the best label are split at the best one's mean, 0."""
    heights = [count / sum(row.counts) / tallest * _TALLEST for count in row.counts]
    sides = [("below", -math.inf, 0.0, "series-8"), ("above", 0.0, math.inf, "fail")]
    for side, low, high, role in sides if place else [("best", -math.inf, math.inf, "series-1")]:
        tops = []
        for (start, end), height in zip(pairwise(row.edges), heights, strict=True):
            a, b = max(start, low), min(end, high)
            if a < b:
                tops += [(a, place - height), (b, place - height)]
        if any(y < place for _, y in tops):
            corners = [(tops[0][0], place), *tops, (tops[-1][0], place)]
            style = style_area(role, alpha=0.85, zorder=2)
            axes.add_artist(Polygon(corners, gid=f"{side}-{place}", **style))
    if math.isfinite(row.mean):
        ends = [place, place - _TALLEST * 0.55]
        axes.plot([row.mean] * 2, ends, zorder=3, gid=f"mean-{place}", **_MEAN)


# What drives a behavior's reward --------------------------------------------------------------

_MOST_FEATURES = 40


def draw_reward_drives(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw weights with intervals and their share of the spread, the largest share first."""
    say, report = frame.say, _check_reward(result)
    behavior = _choose_behavior(report, choice)
    drives = [row for row in report.drives if row.behavior == behavior]
    drives = sorted((row for row in drives if math.isfinite(row.weight)), key=_rank_drive)
    require(drives, f"`result` must hold weights of {shorten_label(behavior)!r}, got none.")
    largest = drives[:_MOST_FEATURES]
    heading = say("drives_title", behavior=shorten_label(behavior))
    heading = say.add_count(heading, "drives_first", n=len(largest), total=len(drives))
    rows = [
        make_dot_row(
            row,
            "weight",
            label=text,
            outcome="passed" if row.is_certified else "failed",
            colour=LIGHT[
                "fail" if row.is_contradictory else "muted" if row.is_dead else "series-1"
            ],
            number=say.percent(row.share),
        )
        for row, text in zip(largest, _name_features(largest, say), strict=True)
    ]
    return draw_dots(
        frame,
        rows,
        heading=heading,
        alt=say("alt_drives", behavior=shorten_label(behavior)),
        x_title=say("drives_weight"),
        line=0.0,
        note=say("drives_share"),
        key=_make_drives_key(largest, _read_level(report), say),
    )


def _rank_drive(row: FeatureDrive) -> tuple[float, float]:
    return (-row.share if math.isfinite(row.share) else math.inf, -abs(row.weight))


def _name_features(rows: Sequence[FeatureDrive], say: Words) -> list[str]:
    """Name features; a class of the behavior is told from a proposition."""
    texts = []
    for row in rows:
        name = row.feature.removeprefix(f"{row.behavior}.")
        texts.append(row.feature if name == row.feature else say("drives_class", name=name))
    return make_distinct_labels(texts)


def _make_drives_key(rows: Sequence[FeatureDrive], level: float, say: Words) -> Key:
    """Explain the marks that occur."""
    blue = LIGHT["series-1"]
    items = (
        (any(row.is_certified for row in rows), "certified", style_mark("passed", blue)),
        (not all(row.is_certified for row in rows), "uncertified", style_mark("failed", blue)),
        (any(row.is_contradictory for row in rows), "contradictory", style_area("fail")),
        (any(row.is_dead for row in rows), "dead", style_area("muted")),
    )
    has_interval = any(math.isfinite(row.low) for row in rows)
    intervals = make_interval_key(level if has_interval else math.nan, say, colour=blue)
    return [*((say(word), style) for is_there, word, style in items if is_there), *intervals]


# Scales of the behaviors ----------------------------------------------------------------------

_MOST_SCALES = 20
_IDEAL: Style = {"linestyle": "none", "marker": "^", "markersize": 8, "color": LIGHT["pass"]}
_WORST: Style = {"linestyle": "none", "marker": "v", "markersize": 8, "color": LIGHT["fail"]}


def draw_reward_scales(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw range, mean and standard deviation, best and worst label of every behavior."""
    say, report = frame.say, _check_reward(result)
    scales = [row for row in report.scales if math.isfinite(row.mean)][:_MOST_SCALES]
    require(scales, "`result` must hold the scale of a behavior, got none.")
    names = make_distinct_labels(row.behavior for row in scales)
    rows = [
        DotRow(
            label=text,
            value=row.mean,
            low=row.mean - row.standard_deviation,
            high=row.mean + row.standard_deviation,
            range_=(row.lowest, row.highest),
            marks=(("ideal", row.mean_ideal, _IDEAL), ("worst", row.mean_worst, _WORST)),
        )
        for row, text in zip(scales, names, strict=True)
    ]
    return draw_dots(
        frame,
        rows,
        heading=say("scales_title", name=shorten_label(str(report.reward.get("name", "")))),
        alt=say("alt_scales"),
        x_title=say("scales_axis"),
        key=[
            (say("scales_spread"), {"color": LIGHT["series-1"], "linewidth": 2, "marker": "o"}),
            (say("scales_range"), RANGE),
            (say("scales_ideal"), _IDEAL),
            (say("scales_worst"), _WORST),
        ],
    )
