"""Draw a training run: reward, propositions, classes, length and missing rewards by step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire.reporting.plots.frame import (
    Panel,
    choose_ticks,
    draw_chart,
    keep_finite,
    set_scale,
    set_ticks,
    style_area,
)
from voirdire.reporting.plots.results import choose, require
from voirdire.reporting.plots.style import LIGHT, choose_series_colour
from voirdire.reporting.plots.training_sheet import make_training_sheet, sort_moves
from voirdire.reporting.plots.words import make_distinct_labels, shorten_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style
    from voirdire.reporting.plots.results import Choice
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.words import Words

__all__ = [
    "draw_training_classes",
    "draw_training_length",
    "draw_training_missing",
    "draw_training_propositions",
    "draw_training_reward",
]

Curves: TypeAlias = "dict[str, tuple[Sequence[float], Style]]"
"""Values at every point of a run, and how their curve is drawn, by its id."""

_ALARM: Style = {"color": LIGHT["fail"], "linewidth": 1, "linestyle": (0, (1, 2))}
_MARK: Style = {"linestyle": "none", "marker": "v", "markersize": 9, "color": LIGHT["fail"]}
_MOST_ALARMS = 100
_FEW_POINTS = 30
"""With at most this many points, each has a dot."""

# Curves over the steps ------------------------------------------------------------------------


def _make_steps_panel(
    sheet: TrainingSheet,
    say: Words,
    curves: Curves,
    *,
    alarms: Sequence[int] = (),
    is_lowest: bool = True,
    on_axis: Sequence[float] = (),
    scale: dict[str, Any] | None = None,
    behind: Callable[[Axes], None] | None = None,
    **around: Any,
) -> Panel:
    """Draw curves over the steps, and where alarms began.

    `scale` is that of the upright axis, as of `set_scale`, by default one that holds the curves
    and `on_axis`; `behind` draws under the curves. Only the lowest of several panels names the
    steps.
    """

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say, is_named=is_lowest)
        if scale is not None:
            set_scale(axes.yaxis, say=say, **scale)
        else:
            drawn = [value for values, _ in curves.values() for value in values]
            _set_values(axes, [*drawn, *on_axis], say)
        if behind is not None:
            behind(axes)
        for name, (values, style) in curves.items():
            _draw_curve(axes, sheet.run.steps, values, gid=name, **style)
        _draw_alarms(axes, alarms)

    around = {"left": 52.0, "above": 10.0, "below": 24.0 if is_lowest else 4.0} | around
    return Panel(draw=draw, x_title=say("training_step") if is_lowest else "", **around)


def _draw_run(
    sheet: TrainingSheet,
    frame: Frame,
    kind: str,
    panels: Sequence[Panel],
    *,
    key: Key | None = None,
    alarms: Sequence[int] = (),
    n_in_all: int = 0,
    n_columns: int = 1,
) -> Figure:
    """Draw a figure with a heading, and a key that explains the marks that occur."""
    say, key = frame.say, list(key or [])
    heading = say(f"training_{kind}_title", name=shorten_label(sheet.name))
    heading = say.add_count(heading, "n_of", n=len(panels), total=n_in_all or len(panels))
    if alarms:
        key.append((say("training_alarm"), _MARK))
    if sheet.steps_per_point > 1:
        key.append((say("training_points", n=sheet.steps_per_point), {}))
    alt = say(f"alt_training_{kind}")
    return draw_chart(frame, heading=heading, alt=alt, panels=panels, key=key, n_columns=n_columns)


def _set_steps(axes: Axes, sheet: TrainingSheet, say: Words, *, is_named: bool = True) -> None:
    low, high = min(sheet.whole.steps), max(sheet.whole.steps)
    room = (high - low) * 0.02 or 0.5
    ticks = choose_ticks(axes.xaxis, low, high, whole=True) if is_named else []
    ticks = [tick for tick in ticks if tick == round(tick)] or [low] * is_named
    set_scale(axes.xaxis, low, high, say, pad=room, ticks=ticks, grid=False)


def _set_values(axes: Axes, values: Iterable[float], say: Words) -> None:
    """Set an axis of rewards or lengths by what is drawn on it."""
    defined = keep_finite(values)
    if not defined:
        set_ticks(axes.yaxis, [], [])
        _write_middle(axes, say("training_nothing"))
        return
    low, high = min(defined), max(defined)
    pad = 0.06 * (high - low) or 0.5
    set_scale(axes.yaxis, low - pad, high + pad, say)


def _write_middle(axes: Axes, text: str) -> None:
    place: Style = {"ha": "center", "va": "center_baseline", "transform": axes.transAxes}
    axes.text(0.5, 0.5, text, color=LIGHT["muted"], **place)


def _draw_curve(
    axes: Axes, steps: Sequence[float], values: Sequence[float], *, gid: str, **style: Any
) -> None:
    """Draw a curve that breaks where nothing is defined; lone points are dots."""
    usual: Style = {"linewidth": 2.2, "color": LIGHT["series-1"], "zorder": 3} | style
    dots = _find_lone_points(values) if len(values) > _FEW_POINTS else list(range(len(values)))
    marks = {"marker": "o", "markersize": 2 + 1.4 * usual["linewidth"], "markevery": dots}
    axes.plot(steps, values, gid=gid, **usual, **(marks if dots else {}))


def _find_lone_points(values: Sequence[float]) -> list[int]:
    """Find the points without a neighbour, which no line would show."""
    there = [False, *map(math.isfinite, values), False]
    return [p for p in range(len(values)) if there[p + 1] and not there[p] and not there[p + 2]]


def _draw_alarms(axes: Axes, alarms: Iterable[int]) -> None:
    """Mark where alarms began: one mark for a step."""
    steps = sorted(set(alarms))[:_MOST_ALARMS]
    for place, step in enumerate(steps):
        axes.axvline(step, zorder=1.6, **_ALARM)
        style: Any = _MARK | {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot([step], [1], zorder=4, gid=f"alarm-{place}", **style)


# Reward, length and missing rewards -----------------------------------------------------------

_PARTS = {
    "reward_mean": ("training_reward_line", "series-1", 2.4),
    "rule_mean": ("training_rule_line", "series-3", 1.6),
    "base_mean": ("training_base_line", "series-5", 1.6),
}
_BAND = style_area("series-1", alpha=0.16)


def draw_training_reward(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the mean reward with its spread, its parts where there is a base, and the alarms."""
    sheet, say = make_training_sheet(result), frame.say
    figures = sheet.run.figures
    alarms = [step for steps in sheet.alarms.values() for step in steps]
    parts = {
        name: (say(word), {"color": LIGHT[role], "linewidth": width})
        for name, (word, role, width) in _PARTS.items()
        if name == "reward_mean" or sheet.whole.has_base
    }
    pairs = list(zip(figures["reward_mean"], figures["reward_sd"], strict=True))
    lows, highs = [mean - sd for mean, sd in pairs], [mean + sd for mean, sd in pairs]
    has_band = bool(keep_finite(lows))

    def draw_band(axes: Axes) -> None:
        steps = sheet.run.steps
        if has_band:
            axes.fill_between(steps, lows, highs, zorder=1.8, gid="spread", **_BAND)
        for at in _find_lone_points(lows):  # a band of one point has no width
            style: Any = {"color": LIGHT["series-1"], "alpha": 0.4, "linewidth": 4}
            axes.plot([steps[at]] * 2, [lows[at], highs[at]], gid=f"spread-{at}", **style)

    panel = _make_steps_panel(
        sheet,
        say,
        {name: (figures[name], style) for name, (_, style) in parts.items()},
        alarms=alarms,
        on_axis=[*lows, *highs],
        behind=draw_band,
        height=min(300.0, 0.75 * frame.width),
        above=12.0,
        y_title=say("training_reward_axis"),
    )
    key = [words for name, words in parts.items() if keep_finite(figures[name])]
    key += [(say("training_spread"), _BAND)] * has_band
    return _draw_run(sheet, frame, "reward", [panel], key=key, alarms=alarms)


def draw_training_length(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the mean length under the mean reward: two panels on one axis of steps.

    One panel with two scales would mislead: where the curves cross depends on the scales alone.
    """
    sheet, say = make_training_sheet(result), frame.say
    alarms, unit = sheet.alarms.get("length", []), sheet.length_unit
    panels = []
    for name, role, title in (
        ("reward_mean", "series-1", "training_reward_axis"),
        ("length_mean", "series-7", f"training_length_axis_{unit}"),
    ):
        is_lowest = name == "length_mean"
        curves: Curves = {name: (sheet.run.figures[name], {"color": LIGHT[role]})}
        around: dict[str, Any] = {"height": 140.0, "y_title": say(title), "is_lowest": is_lowest,
                                  "alarms": alarms if is_lowest else ()}  # fmt: skip
        panels.append(_make_steps_panel(sheet, say, curves, **around))
    shown = panels[1:] if frame.ax is not None else panels
    return _draw_run(sheet, frame, "length", shown, alarms=alarms)


_LEAST_TOP = 0.02
"""The least upper end of the axis of missing rewards, so that tiny shares look tiny."""


def draw_training_missing(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the share of responses without a reward, from 0."""
    sheet, say = make_training_sheet(result), frame.say
    shares = sheet.run.figures["missing_share"]
    top = max([_LEAST_TOP, *keep_finite(shares)])
    style: Style = {"color": LIGHT["fail"], "linewidth": 2.2}
    alarms = sheet.alarms.get("missing", [])
    scale = {"low": 0, "high": top, "pad": 0.05 * top, "text": lambda tick: f"{100 * tick:.4g}%"}
    panel = _make_steps_panel(
        sheet,
        say,
        {"missing": (shares, style)},
        alarms=alarms,
        scale=scale,
        height=160.0,
        above=12.0,
        y_title=say("training_missing_axis"),
    )
    key: Key = [(say("training_run"), style)]
    return _draw_run(sheet, frame, "missing", [panel], key=key, alarms=alarms)


# Propositions ---------------------------------------------------------------------------------

_MOST_PROPOSITIONS = 8
_MOST_ON_ONE = 6
_SHARES = {"low": 0, "high": 1, "pad": 0.05, "ticks": [0, 0.25, 0.5, 0.75, 1]}


def draw_training_propositions(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the propositions that changed most, in a panel each."""
    sheet, say = make_training_sheet(result), frame.say
    moves = sort_moves(sheet.whole.rates)
    require(moves, "`result` must hold rates of propositions, got none.")
    if frame.ax is not None:
        return _draw_on_one(sheet, frame, [move.name for move in moves[:_MOST_ON_ONE]])
    shown = moves[:_MOST_PROPOSITIONS]
    n_columns = 1 if len(shown) == 1 else 2
    panels = []
    for place, text in enumerate(make_distinct_labels((move.name for move in shown), width=60)):
        move = shown[place]
        panel = _make_steps_panel(
            sheet,
            say,
            {"rate": (sheet.run.rates[move.name], {"linewidth": 2})},
            is_lowest=place + n_columns >= len(shown),
            scale=_SHARES | {"ticks": [0, 0.5, 1]},
            height=84.0,
            left=30.0,
            title=text,
            note=say("training_from_to", start=say.two_digits(move.start),
                     end=say.two_digits(move.end)),
        )  # fmt: skip
        panels.append(panel)
    key: Key = [(say("training_run"), {"color": LIGHT["series-1"]})]
    return _draw_run(
        sheet, frame, "propositions", panels, key=key, n_in_all=len(moves), n_columns=n_columns
    )


def _draw_on_one(sheet: TrainingSheet, frame: Frame, names: Sequence[str]) -> Figure:
    say = frame.say
    curves: Curves = {
        f"rate-{place}": (sheet.run.rates[name], {"color": choose_series_colour(place)})
        for place, name in enumerate(names)
    }
    around: dict[str, Any] = {"y_title": say("training_rate_axis"), "height": 300.0}
    panel = _make_steps_panel(sheet, say, curves, scale=_SHARES, **around)
    key = [
        (text, {"color": choose_series_colour(place)})
        for place, text in enumerate(make_distinct_labels(names))
    ]
    return _draw_run(sheet, frame, "propositions", [panel], key=key)


# Classes --------------------------------------------------------------------------------------

_MOST_BEHAVIORS = 4
_MOST_CLASSES = 8


def draw_training_classes(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw the shares of the completion classes, a panel per behavior."""
    sheet, say = make_training_sheet(result), frame.say
    all_behaviors = list(sheet.whole.classes)
    require(all_behaviors, "`result` must hold shares of completion classes, got none.")
    wanted = choice.behavior
    behaviors = all_behaviors if wanted is None else [choose(all_behaviors, "behavior", wanted)]
    shown = behaviors[: 1 if frame.ax is not None else _MOST_BEHAVIORS]
    classes = list(dict.fromkeys(each for name in shown for each in sheet.whole.classes[name]))
    colours = {name: choose_series_colour(k) for k, name in enumerate(classes[:_MOST_CLASSES])}

    def write_nothing(axes: Axes) -> None:
        _write_middle(axes, say("training_no_classes"))

    panels = []
    for name, text in zip(shown, make_distinct_labels(shown), strict=True):
        shares = sheet.run.classes[name]
        curves: Curves = {
            f"class-{place}": (shares[each], {"color": colour})
            for place, (each, colour) in enumerate(colours.items())
            if each in shares
        }
        is_judged = any(keep_finite(values) for values, _ in curves.values())
        panel = _make_steps_panel(
            sheet,
            say,
            curves,
            is_lowest=name == shown[-1],
            scale=_SHARES | {"ticks": [0, 0.5, 1], "text": say.percent},
            behind=None if is_judged else write_nothing,
            height=130.0,
            title=text,
        )
        panels.append(panel)
    key: Key = [
        (text, {"color": colour})
        for text, colour in zip(make_distinct_labels(colours), colours.values(), strict=True)
    ]
    return _draw_run(sheet, frame, "classes", panels, key=key, n_in_all=len(behaviors))
