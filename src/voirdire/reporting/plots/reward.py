"""A reward: comparisons ranked the wrong way, rewards by label, what drives it, its scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.chart import (
    KeyItem,
    Panel,
    draw_chart,
    finite,
    interval_item,
    mark_style,
    nice_ticks,
    set_numbers,
    write,
)
from voirdire.reporting.plots.dots import DotRow, dot_row, dots_panel
from voirdire.reporting.plots.rows import choose, number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import distinct_labels, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame
    from voirdire.reporting.plots.words import Words

__all__ = [
    "draw_reward_drives",
    "draw_reward_errors",
    "draw_reward_histograms",
    "draw_reward_scales",
    "is_reward",
]

# What is drawn --------------------------------------------------------------------------------

_SIGNALS = ("base", "total", "rules")
_PARTS = ("error_rates", "histograms", "drives", "scales")


@dataclass(frozen=True, kw_only=True)
class _RewardSheet:
    """The rows of one examination, and the behavior that figures of one behavior show."""

    name: str
    behavior: str
    error_rates: list[dict[str, Any]]
    histograms: list[dict[str, Any]]
    drives: list[dict[str, Any]]
    scales: list[dict[str, Any]]
    level: float

    @property
    def signals(self) -> list[str]:
        """The rewards that differ: without a base reward only the rules."""
        rates = (row for row in self.error_rates if row["behavior"] is None)
        found = {row["signal"] for row in rates if number(row["rate"]["value"]) >= 0}
        found |= {row["signal"] for row in self.histograms if sum(row["counts"])}
        if "base" in found:
            return [signal for signal in _SIGNALS if signal in found]
        return ["rules"]


def is_reward(result: Any) -> bool:
    """Whether something is the examination of a reward, or the JSON of one."""
    if isinstance(result, Mapping):
        return "error_rates" in result and "drives" in result
    return is_dataclass(result) and not isinstance(result, type) and hasattr(result, "error_rates")


def _read_reward(result: Any, *, behavior: str | None = None) -> _RewardSheet:
    """Read an examination of a reward, or its JSON; of several behaviors one, or the first."""
    if not is_reward(result):
        msg = (
            "`result` must be what `examine_reward` returns, or the parsed JSON of `voirdire "
            f"examine-reward --json`, got {shorten(result)}."
        )
        raise InputError(msg)
    plain = result if isinstance(result, Mapping) else asdict(result)
    parts = {name: [dict(row) for row in plain.get(name) or ()] for name in _PARTS}
    for name in ("error_rates", "histograms"):
        if {row.get("signal") for row in parts[name]} == {"total"}:  # there is no base reward
            parts[name] = [row | {"signal": "rules"} for row in parts[name]]
    behaviors = dict.fromkeys(
        str(row["behavior"])
        for name in ("scales", "drives", "histograms", "error_rates")
        for row in parts[name]
        if row["behavior"] is not None
    )
    return _RewardSheet(
        name=str((plain.get("reward") or {}).get("name", "")),
        behavior=choose(list(behaviors), "behavior", behavior),
        level=number((plain.get("settings") or {}).get("confidence_level")),
        **parts,
    )


def _box(text: str, role: str) -> KeyItem:
    return KeyItem(text=text, style={"facecolor": LIGHT[role], "linewidth": 0}, box=True)


# Comparisons ranked the wrong way -------------------------------------------------------------

_MOST_BEHAVIORS = 12
_COLOURS = {"base": "series-8", "total": "series-1", "rules": "series-3"}
_CHANCE = 0.5


def draw_reward_errors(result: Any, frame: Frame) -> Figure:
    """Draw the error rates: a group per behavior, in it a row per reward with its interval."""
    say, sheet = frame.say, _read_reward(result)
    rows = _error_rows(sheet, say)
    if not rows:
        msg = "`result` must hold error rates, got none: it was examined without comparisons."
        raise InputError(msg)
    highest = max([0.1, *finite(end for row in rows for end in (row.value, row.high))])
    chance = {"color": LIGHT["ink"], "linewidth": 1.4}
    return draw_chart(
        frame,
        heading=say("errors_title", name=label(sheet.name)),
        alt=say("alt_errors"),
        panels=[
            dots_panel(
                rows,
                frame,
                x_title=say("errors_axis"),
                limits=(0.0, highest),
                bounds=(0.0, 1.0),
                line=_CHANCE,
            )
        ],
        key=[
            KeyItem(text=say("errors_chance"), style=chance),
            *interval_item(sheet.level, say),
        ],
    )


def _error_rows(sheet: _RewardSheet, say: Words) -> list[DotRow]:
    signals = sheet.signals
    found = [
        row
        for row in sheet.error_rates
        if row["against"] == "all"
        and row["signal"] in signals
        and math.isfinite(number(row["rate"]["value"]))
    ]
    behaviors = list(dict.fromkeys(row["behavior"] for row in found))
    named = [each for each in behaviors if each is not None][:_MOST_BEHAVIORS]
    texts = dict(zip(named, distinct_labels(named), strict=True))
    order = [each for each in (None, *named) if each in behaviors]
    if len(named) == 1:  # all behaviors are the same as this one
        order = named
    rows: list[DotRow] = []
    for behavior in order:
        text = say("all_behaviors") if behavior is None else texts[behavior]
        rows.append(DotRow(label=text, is_heading=True, starts_group=True))
        rows += [
            dot_row(
                row["rate"],
                "value",
                label=say(row["signal"]),
                colour=LIGHT[_COLOURS[row["signal"]]],
            )
            for row in found
            if row["behavior"] == behavior
        ]
    return rows


# Rewards by label -----------------------------------------------------------------------------

_MOST_LABELS = 12
_ROW_PX = 58.0
_TALLEST = 0.62
"""Height of the tallest bar, as a share of its row; the label stands above it."""


def draw_reward_histograms(result: Any, frame: Frame, *, behavior: str | None = None) -> Figure:
    """Draw centred rewards: a row per label, a panel for each reward; 0 is the best label's mean.

    Rows instead of histograms over each other: five labels over each other cannot be told apart.
    """
    say, sheet = frame.say, _read_reward(result, behavior=behavior)
    columns = {
        signal: rows
        for signal in sheet.signals
        if (rows := [
            row
            for row in sheet.histograms
            if row["behavior"] == sheet.behavior and row["signal"] == signal and sum(row["counts"])
        ])
    }  # fmt: skip
    if not columns:
        msg = f"`result` must hold histograms of {label(sheet.behavior)!r}, got none."
        raise InputError(msg)
    labels = list(dict.fromkeys(str(row["label"]) for rows in columns.values() for row in rows))
    labels = labels[:_MOST_LABELS]
    n_columns = 1 if frame.is_narrow else len(columns)
    if frame.ax is not None and "total" in columns:
        columns = {"total": columns["total"]}
    best = label(labels[0], width=24)
    axis = say("histograms_axis", best=best)
    texts = distinct_labels(labels, width=24)
    panels = [
        _histogram_panel(
            rows,
            dict(zip(labels, texts if place % n_columns == 0 else [""] * len(labels), strict=True)),
            say,
            title=say(signal),
            x_title=axis if frame.ax is not None else "",
        )
        for place, (signal, rows) in enumerate(columns.items())
    ]
    mean = {"color": LIGHT["ink"], "linewidth": 2}
    return draw_chart(
        frame,
        heading=say("histograms_title", behavior=label(sheet.behavior)),
        alt=say("alt_histograms", behavior=label(sheet.behavior)),
        panels=panels,
        key=[
            KeyItem(text=say("across", x_title=axis)),
            _box(say("is_best", best=best), "series-1"),
            _box(say("below_best", best=best), "series-8"),
            _box(say("above_best", best=best), "fail"),
            KeyItem(text=say("label_mean"), style=mean),
        ],
        n_columns=n_columns,
    )


def _histogram_panel(
    rows: Sequence[Mapping[str, Any]], texts: Mapping[str, str], say: Words, **titles: Any
) -> Panel:
    by_label = {str(row["label"]): row for row in rows}
    tallest = max(max(row["counts"]) / sum(row["counts"]) for row in rows)
    filled = [
        end
        for row in rows
        for ends, count in zip(pairwise(row["edges"]), row["counts"], strict=True)
        for end in ends
        if count
    ]
    low, high = min([0.0, *filled]), max([0.0, *filled])  # empty bins at both ends are left out

    def draw(axes: Axes) -> None:
        axes.set_xlim(low, high)
        axes.set_ylim(len(texts) - 0.94, -0.94)
        for place, (name, text) in enumerate(texts.items()):
            axes.axhline(place, color=LIGHT["grid"], linewidth=1, zorder=0.5)
            write(axes, text, x=0, y=place - 0.78, transform=axes.get_yaxis_transform())
            if name in by_label:
                _draw_label(axes, by_label[name], place=place, tallest=tallest)
        places = list(range(len(texts)))
        zero: Any = {"color": LIGHT["muted"], "linewidth": 1, "zorder": 1.5, "gid": "zero"}
        axes.vlines([0] * len(places), [at - _TALLEST for at in places], places, **zero)
        set_numbers(axes.xaxis, nice_ticks(axes.xaxis, low, high), say, grid=False)
        axes.set_yticks([])

    return Panel(draw=draw, height=len(texts) * _ROW_PX, left=8.0, right=8.0, **titles)


def _draw_label(axes: Axes, row: Mapping[str, Any], *, place: int, tallest: float) -> None:
    """Draw the bars of a label: those of the best are one, others are split at its mean, 0."""
    from matplotlib.patches import Polygon

    total = sum(row["counts"])
    heights = [count / total / tallest * _TALLEST for count in row["counts"]]
    sides = (
        [("below", -math.inf, 0.0, "series-8"), ("above", 0.0, math.inf, "fail")]
        if place
        else [("best", -math.inf, math.inf, "series-1")]
    )
    for side, low, high, role in sides:
        tops = []
        for (start, end), height in zip(pairwise(row["edges"]), heights, strict=True):
            a, b = max(start, low), min(end, high)
            if a < b:
                tops += [(a, place - height), (b, place - height)]
        if any(y < place for _, y in tops):
            corners = [(tops[0][0], place), *tops, (tops[-1][0], place)]
            style: Any = {"facecolor": LIGHT[role], "linewidth": 0, "alpha": 0.85, "zorder": 2}
            axes.add_artist(Polygon(corners, gid=f"{side}-{place}", **style))
    mean = number(row["mean"])
    if math.isfinite(mean):
        ends = [place, place - _TALLEST * 0.55]
        line: Any = {"color": LIGHT["ink"], "linewidth": 2, "zorder": 3, "solid_capstyle": "butt"}
        axes.plot([mean, mean], ends, gid=f"mean-{place}", **line)


# What drives a behavior's reward --------------------------------------------------------------

_MOST_FEATURES = 40


def draw_reward_drives(result: Any, frame: Frame, *, behavior: str | None = None) -> Figure:
    """Draw weights with intervals and their share of the spread, the most moving feature first."""
    say, sheet = frame.say, _read_reward(result, behavior=behavior)
    found = [
        row
        for row in sheet.drives
        if row["behavior"] == sheet.behavior and math.isfinite(number(row["weight"]))
    ]
    if not found:
        msg = f"`result` must hold weights of {label(sheet.behavior)!r}, got none."
        raise InputError(msg)
    found.sort(key=_drive_rank)
    shown = found[:_MOST_FEATURES]
    heading = say("drives_title", behavior=label(sheet.behavior))
    if len(shown) < len(found):
        heading += f", {say('drives_first', n=len(shown), total=len(found))}"
    rows = [
        dot_row(
            row,
            "weight",
            label=text,
            outcome="passed" if row["is_certified"] else "failed",
            colour=LIGHT[_drive_role(row)],
            number=say.percent(number(row["share"])),
        )
        for row, text in zip(shown, _feature_names(shown, say), strict=True)
    ]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_drives", behavior=label(sheet.behavior)),
        panels=[
            dots_panel(
                rows, frame, x_title=say("drives_weight"), line=0.0, note=say("drives_share")
            )
        ],
        key=_drives_key(shown, sheet, say),
    )


def _drive_rank(row: Mapping[str, Any]) -> tuple[float, float]:
    share = number(row["share"])
    return (-share if math.isfinite(share) else math.inf, -abs(number(row["weight"])))


def _feature_names(rows: Sequence[Mapping[str, Any]], say: Words) -> list[str]:
    """Name features; a class of the behavior is told from a proposition."""
    texts = []
    for row in rows:
        name, prefix = str(row["feature"]), f"{row['behavior']}."
        is_class = name.startswith(prefix)
        texts.append(say("drives_class", name=name.removeprefix(prefix)) if is_class else name)
    return distinct_labels(texts)


def _drive_role(row: Mapping[str, Any]) -> str:
    if row["is_contradictory"]:
        return "fail"
    return "muted" if row["is_dead"] else "series-1"


def _drives_key(
    rows: Sequence[Mapping[str, Any]], sheet: _RewardSheet, say: Words
) -> list[KeyItem]:
    blue = LIGHT["series-1"]
    items = [
        KeyItem(text=say(word), style=mark_style(outcome, blue))
        for word, outcome, is_there in (
            ("certified", "passed", any(row["is_certified"] for row in rows)),
            ("uncertified", "failed", not all(row["is_certified"] for row in rows)),
        )
        if is_there
    ]
    for word, role, flag in (
        ("contradictory", "fail", "is_contradictory"),
        ("dead", "muted", "is_dead"),
    ):
        if any(row[flag] for row in rows):
            items.append(_box(say(word), role))
    if any(math.isfinite(number(row["low"])) for row in rows):
        items += interval_item(sheet.level, say, colour=blue)
    return items


# Scales of the behaviors ----------------------------------------------------------------------

_MOST_SCALES = 20
_IDEAL: dict[str, Any] = {"linestyle": "none", "marker": "^", "markersize": 8,
                          "color": LIGHT["pass"]}  # fmt: skip
_WORST: dict[str, Any] = {"linestyle": "none", "marker": "v", "markersize": 8,
                          "color": LIGHT["fail"]}  # fmt: skip


def draw_reward_scales(result: Any, frame: Frame) -> Figure:
    """Draw range, mean and standard deviation, best and worst label of every behavior."""
    say, sheet = frame.say, _read_reward(result)
    found = [row for row in sheet.scales if math.isfinite(number(row["mean"]))][:_MOST_SCALES]
    if not found:
        msg = "`result` must hold the scale of a behavior, got none."
        raise InputError(msg)
    rows = []
    for row, text in zip(found, distinct_labels(row["behavior"] for row in found), strict=True):
        mean, deviation = number(row["mean"]), number(row["standard_deviation"])
        rows.append(
            DotRow(
                label=text,
                value=mean,
                low=mean - deviation,
                high=mean + deviation,
                range_=(number(row["lowest"]), number(row["highest"])),
                marks=(
                    ("ideal", number(row["mean_ideal"]), _IDEAL),
                    ("worst", number(row["mean_worst"]), _WORST),
                ),
            )
        )
    grey = {"color": LIGHT["muted"], "linewidth": 1.2}
    return draw_chart(
        frame,
        heading=say("scales_title", name=label(sheet.name)),
        alt=say("alt_scales"),
        panels=[dots_panel(rows, frame, x_title=say("scales_axis"))],
        key=[
            KeyItem(
                text=say("scales_spread"),
                style={"color": LIGHT["series-1"], "linewidth": 2, "marker": "o"},
            ),
            KeyItem(text=say("scales_range"), style=grey),
            KeyItem(text=say("scales_ideal"), style=_IDEAL),
            KeyItem(text=say("scales_worst"), style=_WORST),
        ],
    )
