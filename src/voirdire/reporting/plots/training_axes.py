"""What the figures of a training run share: one axis of steps, curves with gaps, alarms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import nice_ticks, set_ticks, set_x_ticks, set_y_ticks, write
from voirdire.reporting.plots.line_ends import LineEnd
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.style import LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from voirdire.reporting.plots.training_sheet import AlarmMark, TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = [
    "REFERENCE",
    "draw_alarms",
    "draw_curve",
    "draw_reference",
    "line_end",
    "lone_points",
    "set_rewards",
    "set_steps",
    "step_bounds",
    "training_key",
]

REFERENCE: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 1.2, "linestyle": (0, (5, 3))}
_ALARM: dict[str, Any] = {"color": LIGHT["fail"], "linewidth": 1, "linestyle": (0, (1, 2))}
_MARK: dict[str, Any] = {"marker": "v", "markersize": 9, "color": LIGHT["fail"]}
_MOST_ALARMS = 100
_FEW_POINTS = 30
"""Up to so many points each has a dot."""


def step_bounds(sheet: TrainingSheet) -> tuple[float, float]:
    """Give the first and the last step."""
    return min(sheet.whole.steps), max(sheet.whole.steps)


def set_steps(axes: Axes, sheet: TrainingSheet, say: TrainingWords, *, n: int = 6,
              is_named: bool = True) -> None:  # fmt: skip
    """Set the axis of the steps; without its name, the panel below has it."""
    low, high = step_bounds(sheet)
    room = (high - low) * 0.02 or 0.5
    axes.set_xlim(low - room, high + room)
    if not is_named:
        set_ticks(axes.xaxis, [], [])
        return
    ticks = [tick for tick in nice_ticks(low, high, n=n) if tick == round(tick)]
    set_x_ticks(axes, ticks or [low], title=say("training_step"), say=say, grid=False)


def set_rewards(axes: Axes, ends: Iterable[float], *, title: str, say: TrainingWords,
                is_ours: bool, n: int = 6) -> None:  # fmt: skip
    """Set an axis of rewards or lengths by what is drawn on it."""
    found = [end for end in ends if math.isfinite(end)]
    if not found:
        set_y_ticks(axes, [], title=title, say=say, is_ours=is_ours)
        style: dict[str, Any] = {"transform": axes.transAxes, "color": LIGHT["muted"]}
        write(axes, say("training_nothing"), x=0.5, y=0.5, ha="center", **style)
        return
    low, high = min(found), max(found)
    pad = 0.06 * (high - low) or 0.5
    low, high = low - pad, high + pad
    axes.set_ylim(low, high)
    set_y_ticks(axes, nice_ticks(low, high, n=n), title=title, say=say, is_ours=is_ours)


def draw_curve(
    axes: Axes, steps: Sequence[float], values: Sequence[float], *, gid: str, **style: Any
) -> None:
    """Draw a curve that breaks where nothing is defined; lone points are dots."""
    usual: dict[str, Any] = {"linewidth": 2.2, "color": LIGHT["series-1"], "zorder": 3}
    usual |= style
    axes.plot(steps, values, gid=gid, **usual)
    dots = lone_points(values) if len(values) > _FEW_POINTS else range(len(values))
    found = [place for place in dots if math.isfinite(values[place])]
    if found:
        axes.plot(
            [steps[place] for place in found],
            [values[place] for place in found],
            linestyle="none",
            marker="o",
            markersize=2 + 1.4 * usual["linewidth"],
            color=usual["color"],
            zorder=usual["zorder"],
        )


def lone_points(values: Sequence[float]) -> list[int]:
    """Find the points without a neighbour, which no line would show."""
    there = [False, *map(math.isfinite, values), False]
    return [
        place
        for place in range(len(values))
        if there[place + 1] and not there[place] and not there[place + 2]
    ]


def draw_reference(axes: Axes, steps: Sequence[float], values: Sequence[float]) -> None:
    """Draw the reference run behind, thin and dashed."""
    draw_curve(axes, steps, values, gid="reference", zorder=2, **REFERENCE)


def draw_alarms(axes: Axes, alarms: Iterable[AlarmMark]) -> None:
    """Mark where alarms began: one mark for a step."""
    steps = sorted({alarm.step for alarm in alarms if math.isfinite(alarm.step)})[:_MOST_ALARMS]
    for place, step in enumerate(steps):
        axes.axvline(step, zorder=1.6, **_ALARM)
        axes.plot(
            [step],
            [1],
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            clip_on=False,
            zorder=4,
            gid=f"alarm-{place}",
            **_MARK,
        )


def line_end(steps: Sequence[float], values: Sequence[float], *, text: str, colour: str,
             is_muted: bool = False) -> LineEnd | None:  # fmt: skip
    """Name a curve at its last point; None where it has none."""
    found = [place for place, value in enumerate(values) if math.isfinite(value)]
    if not found:
        return None
    at = found[-1]
    return LineEnd(text=text, x=steps[at], y=values[at], colour=colour, is_muted=is_muted)


def training_key(
    sheet: TrainingSheet, say: TrainingWords, *, alarms: bool, reference: bool
) -> list[KeyItem]:
    """Explain the marks that occur, and what a point is."""
    items = []
    if reference:
        items.append(KeyItem(text=say("training_reference"), style=REFERENCE))
    if alarms:
        style = {"linestyle": "none"} | _MARK
        items.append(KeyItem(text=say("training_alarm"), style=style))
    if sheet.steps_per_point > 1:
        items.append(KeyItem(text=say("training_points", n=sheet.steps_per_point)))
    return items
