"""A training run: its reward, propositions, classes, length and missing rewards over the steps."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.chart import (
    KeyItem,
    Panel,
    draw_chart,
    finite,
    nice_ticks,
    set_numbers,
    set_ticks,
    write,
)
from voirdire.reporting.plots.rows import choose
from voirdire.reporting.plots.style import LIGHT, series
from voirdire.reporting.plots.training_moves import moves_of
from voirdire.reporting.plots.training_sheet import training_sheet
from voirdire.reporting.plots.words import distinct_labels, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame
    from voirdire.reporting.plots.training_moves import Move
    from voirdire.reporting.plots.training_sheet import AlarmMark, TrainingSheet
    from voirdire.reporting.plots.words import Words

__all__ = [
    "draw_training_classes",
    "draw_training_length",
    "draw_training_missing",
    "draw_training_propositions",
    "draw_training_reward",
]

_LEFT_PX = 52.0
_REFERENCE: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 1.2, "linestyle": (0, (5, 3))}
_ALARM: dict[str, Any] = {"color": LIGHT["fail"], "linewidth": 1, "linestyle": (0, (1, 2))}
_MARK: dict[str, Any] = {"linestyle": "none", "marker": "v", "markersize": 9,
                         "color": LIGHT["fail"]}  # fmt: skip
_BAND: dict[str, Any] = {"facecolor": LIGHT["series-1"], "alpha": 0.16, "linewidth": 0}
_MOST_ALARMS = 100
_FEW_POINTS = 30
"""Up to so many points each has a dot."""


# Reward ---------------------------------------------------------------------------------------

_PARTS = {
    "reward_mean": ("training_reward_line", "series-1", 2.4),
    "rule_mean": ("training_rule_line", "series-3", 1.6),
    "base_mean": ("training_base_line", "series-5", 1.6),
}


def draw_training_reward(result: Any, frame: Frame) -> Figure:
    """Draw the mean reward with its spread, its parts where there is a base, and the alarms."""
    sheet, say = training_sheet(result), frame.say
    run, reference = sheet.run, sheet.reference
    parts = {
        name: each for name, each in _PARTS.items() if name == "reward_mean" or sheet.whole.has_base
    }
    pairs = list(zip(run.figures["reward_mean"], run.figures["reward_sd"], strict=True))
    lows, highs = [mean - sd for mean, sd in pairs], [mean + sd for mean, sd in pairs]
    before = [] if reference is None else reference.figures["reward_mean"]

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say)
        curves = [value for name in parts for value in run.figures[name]]
        _set_values(axes, [*lows, *highs, *before, *curves], say)
        if finite(lows):
            axes.fill_between(run.steps, lows, highs, zorder=1.8, gid="spread", **_BAND)
            for at in _lone_points(lows):  # a band of one point has no width
                style: Any = {"color": LIGHT["series-1"], "alpha": 0.4, "linewidth": 4}
                axes.plot([run.steps[at]] * 2, [lows[at], highs[at]], gid=f"spread-{at}", **style)
        if reference is not None:
            _draw_curve(axes, reference.steps, before, gid="reference", zorder=2, **_REFERENCE)
        for name, (_, role, width) in parts.items():
            style = {"color": LIGHT[role], "linewidth": width}
            _draw_curve(axes, run.steps, run.figures[name], gid=name, **style)
        _draw_alarms(axes, sheet.alarms)

    key = [
        KeyItem(text=say(word), style={"color": LIGHT[role], "linewidth": width})
        for name, (word, role, width) in parts.items()
        if finite(run.figures[name])
    ]
    if finite(lows):
        key.append(KeyItem(text=say("training_spread"), style=_BAND, box=True))
    panel = Panel(
        draw=draw,
        height=min(300.0, 0.75 * frame.width),
        left=_LEFT_PX,
        above=12.0,
        x_title=say("training_step"),
        y_title=say("training_reward_axis"),
    )
    return _draw_run(sheet, frame, "reward", [panel], key=key, has_reference=bool(finite(before)),
                     alarms=sheet.alarms)  # fmt: skip


# Propositions ---------------------------------------------------------------------------------

_MOST_PROPOSITIONS = 8
_MOST_ON_ONE = 6


def draw_training_propositions(result: Any, frame: Frame) -> Figure:
    """Draw the propositions with alarms, and those that moved most: a panel for each."""
    sheet, say = training_sheet(result), frame.say
    moves = moves_of(sheet.whole.rates, first={alarm.subject for alarm in sheet.alarms})
    if not moves:
        msg = "`result` must hold rates of propositions, got none."
        raise InputError(msg)
    if frame.ax is not None:
        return _draw_on_one(sheet, frame, moves[:_MOST_ON_ONE])
    shown = moves[:_MOST_PROPOSITIONS]
    n_columns = 1 if frame.is_narrow or len(shown) == 1 else 2
    texts = distinct_labels((move.name for move in shown), width=60)
    panels = [
        _proposition_panel(sheet, move, say, title=text, is_lowest=place + n_columns >= len(shown))
        for place, (move, text) in enumerate(zip(shown, texts, strict=True))
    ]
    names = {move.name for move in shown}
    has_reference = sheet.reference is not None and not names.isdisjoint(sheet.reference.rates)
    style = {"color": LIGHT["series-1"], "linewidth": 2}
    return _draw_run(
        sheet,
        frame,
        "propositions",
        panels,
        key=[KeyItem(text=say("training_run"), style=style)],
        has_reference=has_reference,
        alarms=[alarm for alarm in sheet.alarms if alarm.subject in names],
        shown=(len(shown), len(moves)),
        n_columns=n_columns,
    )


def _proposition_panel(
    sheet: TrainingSheet, move: Move, say: Words, *, title: str, is_lowest: bool
) -> Panel:
    before = None if sheet.reference is None else sheet.reference.rates.get(move.name)

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say, is_named=is_lowest)
        axes.set_ylim(-0.05, 1.05)
        set_numbers(axes.yaxis, [0, 0.5, 1], say)
        if sheet.reference is not None and before is not None:
            steps = sheet.reference.steps
            _draw_curve(axes, steps, before, gid="reference", zorder=2, **_REFERENCE)
        _draw_curve(axes, sheet.run.steps, sheet.run.rates[move.name], gid="rate", linewidth=2)
        _draw_alarms(axes, [alarm for alarm in sheet.alarms if alarm.subject == move.name])

    ends = {"start": say.two_digits(move.start), "end": say.two_digits(move.end)}
    return Panel(
        draw=draw,
        height=84.0,
        left=30.0,
        above=10.0,
        title=title,
        note=say("training_from_to", **ends),
        x_title=say("training_step") if is_lowest else "",
        below=24.0 if is_lowest else 4.0,
    )


def _draw_on_one(sheet: TrainingSheet, frame: Frame, moves: Sequence[Move]) -> Figure:
    say = frame.say

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say)
        axes.set_ylim(-0.05, 1.05)
        set_numbers(axes.yaxis, [0, 0.25, 0.5, 0.75, 1], say)
        for place, move in enumerate(moves):
            values = sheet.run.rates[move.name]
            _draw_curve(axes, sheet.run.steps, values, gid=f"rate-{place}", color=series(place))

    key = [
        KeyItem(text=text, style={"color": series(place), "linewidth": 2})
        for place, text in enumerate(distinct_labels(move.name for move in moves))
    ]
    titles = {"x_title": say("training_step"), "y_title": say("training_rate_axis")}
    panel = Panel(draw=draw, height=300.0, **titles)  # type: ignore[arg-type]
    return _draw_run(sheet, frame, "propositions", [panel], key=key)


# Classes --------------------------------------------------------------------------------------

_MOST_BEHAVIORS = 4
_MOST_CLASSES = 8
_USUAL = {
    "ideal": "series-3",
    "less_good": "series-6",
    "unacceptable": "series-5",
    "illogical": "series-7",
    "disallowed": "series-2",
}
"""The best at the foot, the worst on top."""
_OTHERS = ""


def draw_training_classes(result: Any, frame: Frame, *, behavior: str | None = None) -> Figure:
    """Draw the shares of the completion classes over each other, a panel per behavior."""
    sheet, say = training_sheet(result), frame.say
    known = list(sheet.whole.classes)
    if not known:
        msg = "`result` must hold shares of completion classes, got none."
        raise InputError(msg)
    behaviors = known if behavior is None else [choose(known, "behavior", behavior)]
    shown = behaviors[: 1 if frame.ax is not None else _MOST_BEHAVIORS]
    order = _class_colours(sheet, shown)
    about = {name: [a for a in sheet.alarms if a.subject.startswith(f"{name}/")] for name in shown}
    panels = [
        Panel(
            draw=_classes_drawing(
                sheet, name, order, about[name], say, is_lowest=name == shown[-1]
            ),
            height=130.0,
            left=_LEFT_PX,
            above=10.0,
            title=text,
            x_title=say("training_step") if name == shown[-1] else "",
            below=24.0 if name == shown[-1] else 4.0,
        )
        for name, text in zip(shown, distinct_labels(shown), strict=True)
    ]
    return _draw_run(
        sheet,
        frame,
        "classes",
        panels,
        key=_classes_key(sheet, shown, order, say),
        alarms=[alarm for found in about.values() for alarm in found],
        shown=(len(shown), len(behaviors)),
    )


def _class_colours(sheet: TrainingSheet, behaviors: Sequence[str]) -> dict[str, str]:
    """Give every class its colour, from the foot up; those beyond the colours share one."""
    found = list(dict.fromkeys(each for name in behaviors for each in sheet.whole.classes[name]))
    if set(found) <= set(_USUAL):
        return {name: LIGHT[role] for name, role in _USUAL.items() if name in found}
    kept = found if len(found) <= _MOST_CLASSES else found[: _MOST_CLASSES - 1]
    order = {name: series(place) for place, name in enumerate(kept)}
    return order if len(kept) == len(found) else order | {_OTHERS: LIGHT["muted"]}


def _classes_drawing(
    sheet: TrainingSheet,
    behavior: str,
    order: Mapping[str, str],
    alarms: Sequence[AlarmMark],
    say: Words,
    *,
    is_lowest: bool,
) -> Callable[[Axes], None]:
    shares, steps = sheet.run.classes[behavior], sheet.run.steps

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say, is_named=is_lowest)
        axes.set_ylim(0, 1)
        set_numbers(axes.yaxis, [0, 0.5, 1], say, text=say.percent)
        below = [0.0] * len(steps)
        for place, (name, colour) in enumerate(order.items()):
            others = [values for each, values in shares.items() if each not in order]
            top = below
            for column in others if name == _OTHERS else [shares.get(name)]:
                if column is not None:
                    top = [under + value for under, value in zip(top, column, strict=True)]
            style: Any = {"fill": True, "color": colour, "linewidth": 0, "zorder": 2}
            axes.stairs(top, _edges(steps), baseline=below, gid=f"class-{place}", **style)
            below = top
        if not finite(below):
            _write_middle(axes, say("training_no_classes"))
        _draw_alarms(axes, alarms)

    return draw


def _edges(steps: Sequence[float]) -> list[float]:
    """Put an edge half way between any two points, and as far beyond the first and the last."""
    if len(steps) == 1:
        return [steps[0] - 0.5, steps[0] + 0.5]
    inner = [(one + other) / 2 for one, other in pairwise(steps)]
    return [2 * steps[0] - inner[0], *inner, 2 * steps[-1] - inner[-1]]


def _classes_key(
    sheet: TrainingSheet, behaviors: Sequence[str], order: Mapping[str, str], say: Words
) -> list[KeyItem]:
    found = dict.fromkeys(each for name in behaviors for each in sheet.whole.classes[name])
    named = [name for name in order if name in found]
    texts = dict(zip(named, distinct_labels(named), strict=True))
    if len(named) < len(order):
        texts[_OTHERS] = say("training_other_classes", n=len(found) - len(named))
    return [
        KeyItem(text=text, style={"facecolor": order[name], "linewidth": 0}, box=True)
        for name, text in texts.items()
    ]


# Length and missing rewards -------------------------------------------------------------------


def draw_training_length(result: Any, frame: Frame) -> Figure:
    """Draw the mean length under the mean reward: two panels on one axis of steps.

    Never two scales on one panel: where two curves cross would be an accident of the scales.
    """
    sheet, say = training_sheet(result), frame.say
    alarms = [alarm for alarm in sheet.alarms if alarm.kind == "length"]
    shared: dict[str, Any] = {"height": 140.0, "left": _LEFT_PX, "above": 10.0}
    above = Panel(
        draw=_curve_drawing(sheet, "reward_mean", "series-1", (), say, is_named=False),
        y_title=say("training_reward_axis"),
        below=4.0,
        **shared,
    )
    below = Panel(
        draw=_curve_drawing(sheet, "length_mean", "series-7", alarms, say),
        y_title=say(f"training_length_axis_{sheet.length_unit}"),
        x_title=say("training_step"),
        **shared,
    )
    found = sheet.reference
    return _draw_run(
        sheet,
        frame,
        "length",
        [below] if frame.ax is not None else [above, below],
        has_reference=found is not None and bool(finite(found.figures["length_mean"])),
        alarms=alarms,
    )


def _curve_drawing(
    sheet: TrainingSheet,
    name: str,
    role: str,
    alarms: Sequence[AlarmMark],
    say: Words,
    *,
    is_named: bool = True,
) -> Callable[[Axes], None]:
    values = sheet.run.figures[name]

    def draw(axes: Axes) -> None:
        before = [] if sheet.reference is None else sheet.reference.figures[name]
        _set_steps(axes, sheet, say, is_named=is_named)
        _set_values(axes, [*values, *before], say)
        if sheet.reference is not None:
            steps = sheet.reference.steps
            _draw_curve(axes, steps, before, gid="reference", zorder=2, **_REFERENCE)
        _draw_curve(axes, sheet.run.steps, values, gid=name, color=LIGHT[role])
        _draw_alarms(axes, alarms)

    return draw


_LEAST_TOP = 0.02
"""The axis of missing rewards goes at least so far: a thousandth is not made a mountain."""


def draw_training_missing(result: Any, frame: Frame) -> Figure:
    """Draw the share of responses without a reward, from 0."""
    sheet, say = training_sheet(result), frame.say
    shares, reference = sheet.run.figures["missing_share"], sheet.reference
    before = [] if reference is None else reference.figures["missing_share"]
    alarms = [alarm for alarm in sheet.alarms if alarm.kind == "missing"]
    top = max([_LEAST_TOP, *finite([*shares, *before])])

    def draw(axes: Axes) -> None:
        _set_steps(axes, sheet, say)
        axes.set_ylim(-0.03 * top, 1.06 * top)
        ticks = nice_ticks(axes.yaxis, 0, top)
        set_numbers(axes.yaxis, ticks, say, text=lambda tick: f"{100 * tick:.4g}%")
        if reference is not None:
            _draw_curve(axes, reference.steps, before, gid="reference", zorder=2, **_REFERENCE)
        _draw_curve(axes, sheet.run.steps, shares, gid="missing", color=LIGHT["fail"])
        _draw_alarms(axes, alarms)

    style = {"color": LIGHT["fail"], "linewidth": 2.2}
    panel = Panel(
        draw=draw,
        height=160.0,
        left=_LEFT_PX,
        above=12.0,
        x_title=say("training_step"),
        y_title=say("training_missing_axis"),
    )
    return _draw_run(
        sheet,
        frame,
        "missing",
        [panel],
        key=[KeyItem(text=say("training_run"), style=style)],
        has_reference=reference is not None,
        alarms=alarms,
    )


# What they share ------------------------------------------------------------------------------


def _draw_run(
    sheet: TrainingSheet,
    frame: Frame,
    kind: str,
    panels: Sequence[Panel],
    *,
    key: Sequence[KeyItem] = (),
    has_reference: bool = False,
    alarms: Sequence[AlarmMark] = (),
    shown: tuple[int, int] | None = None,
    n_columns: int = 1,
) -> Figure:
    """Draw one figure with a heading, a key that explains the marks that occur, and a caption.

    `shown` says how many panels of how many there are.
    """
    say, items = frame.say, list(key)
    heading = say(f"training_{kind}_title", name=label(sheet.name))
    if shown is not None and shown[0] < shown[1]:
        heading = say("training_of", title=heading, n=shown[0], total=shown[1])
    if has_reference:
        items.append(KeyItem(text=say("training_reference"), style=_REFERENCE))
    if alarms:
        items.append(KeyItem(text=say("training_alarm"), style=_MARK))
    if sheet.steps_per_point > 1:
        items.append(KeyItem(text=say("training_points", n=sheet.steps_per_point)))
    return draw_chart(frame, heading=heading, alt=say(f"alt_training_{kind}"), panels=panels,
                      key=items, n_columns=n_columns)  # fmt: skip


def _set_steps(axes: Axes, sheet: TrainingSheet, say: Words, *, is_named: bool = True) -> None:
    """Set the axis of the steps; without its name, the panel below has it."""
    low, high = min(sheet.whole.steps), max(sheet.whole.steps)
    room = (high - low) * 0.02 or 0.5
    axes.set_xlim(low - room, high + room)
    if is_named:
        ticks = [t for t in nice_ticks(axes.xaxis, low, high, whole=True) if t == round(t)]
        set_numbers(axes.xaxis, ticks or [low], say, grid=False)
    else:
        set_ticks(axes.xaxis, [], [])


def _set_values(axes: Axes, ends: Iterable[float], say: Words) -> None:
    """Set an axis of rewards or lengths by what is drawn on it."""
    found = finite(ends)
    if not found:
        set_ticks(axes.yaxis, [], [])
        _write_middle(axes, say("training_nothing"))
        return
    low, high = min(found), max(found)
    pad = 0.06 * (high - low) or 0.5
    axes.set_ylim(low - pad, high + pad)
    set_numbers(axes.yaxis, nice_ticks(axes.yaxis, low - pad, high + pad), say)


def _write_middle(axes: Axes, text: str) -> None:
    write(axes, text, x=0.5, y=0.5, ha="center", color=LIGHT["muted"], transform=axes.transAxes)


def _draw_curve(
    axes: Axes, steps: Sequence[float], values: Sequence[float], *, gid: str, **style: Any
) -> None:
    """Draw a curve that breaks where nothing is defined; lone points are dots."""
    usual: dict[str, Any] = {"linewidth": 2.2, "color": LIGHT["series-1"], "zorder": 3} | style
    axes.plot(steps, values, gid=gid, **usual)
    dots = _lone_points(values) if len(values) > _FEW_POINTS else range(len(values))
    found = [place for place in dots if math.isfinite(values[place])]
    if found:
        points: Any = {
            "linestyle": "none", "marker": "o", "markersize": 2 + 1.4 * usual["linewidth"],
            "color": usual["color"], "zorder": usual["zorder"],
        }  # fmt: skip
        axes.plot([steps[p] for p in found], [values[p] for p in found], **points)


def _lone_points(values: Sequence[float]) -> list[int]:
    """Find the points without a neighbour, which no line would show."""
    there = [False, *map(math.isfinite, values), False]
    return [p for p in range(len(values)) if there[p + 1] and not there[p] and not there[p + 2]]


def _draw_alarms(axes: Axes, alarms: Iterable[AlarmMark]) -> None:
    """Mark where alarms began: one mark for a step."""
    steps = sorted({alarm.step for alarm in alarms if math.isfinite(alarm.step)})[:_MOST_ALARMS]
    for place, step in enumerate(steps):
        axes.axvline(step, zorder=1.6, **_ALARM)
        style: Any = _MARK | {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot([step], [1], zorder=4, gid=f"alarm-{place}", **style)
