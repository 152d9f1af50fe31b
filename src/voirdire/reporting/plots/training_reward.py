"""The mean reward over the steps of a training, and the parts that it is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import add_axes
from voirdire.reporting.plots.line_ends import LINE_END_PX, label_line_ends
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.names import widest_px
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, settings
from voirdire.reporting.plots.training_axes import (
    draw_alarms,
    draw_curve,
    draw_reference,
    line_end,
    lone_points,
    set_rewards,
    set_steps,
    training_key,
)
from voirdire.reporting.plots.training_figure import drawn_on, new_training_plot, sheet_and_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["draw_training_reward"]

_BODY_PX = 300.0
_LEFT_PX = 56.0
_BAND: dict[str, Any] = {"facecolor": LIGHT["series-1"], "alpha": 0.16, "linewidth": 0}
_WHISKER: dict[str, Any] = {"color": LIGHT["series-1"], "alpha": 0.4, "linewidth": 4, "zorder": 1.8}
_COLOURS = {"reward_mean": "series-1", "rule_mean": "series-3", "base_mean": "series-5"}
_TEXTS = {
    "reward_mean": "training_reward_line",
    "rule_mean": "training_rule_line",
    "base_mean": "training_base_line",
}


def draw_training_reward(
    result: Any, *, language: Language = "en", ax: Axes | None = None
) -> Figure:
    """Draw the mean reward of each step with its spread, its parts, and the reference run.

    Parameters
    ----------
    result : TrainingRun or mapping
        What `read_training_run` returns, or its JSON.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller.

    Returns
    -------
    matplotlib.figure.Figure
        Rule and base part only where there is a base reward; alarms are marked on top.

    Raises
    ------
    InputError
        If the result is no training run, or has no steps.
    """
    sheet, say = sheet_and_words(result, language)
    names = _shown(sheet)
    key = _key(sheet, names, say)
    with settings():
        if ax is not None:
            return drawn_on(ax, lambda axes: _draw(axes, sheet, names, say, is_ours=False), key=key)
        height = 24 + _BODY_PX + 54
        figure = new_training_plot(sheet, say, kind="reward", height=height, key=key)
        wide = WIDTH_PX - _LEFT_PX - _right_px(names, say)
        axes = add_axes(figure, left=_LEFT_PX, top=24, width=wide, height=_BODY_PX)
        _draw(axes, sheet, names, say, is_ours=True)
        return figure


def _shown(sheet: TrainingSheet) -> list[str]:
    """List the curves: the parts only where the base reward is one."""
    return ["reward_mean", "rule_mean", "base_mean"] if sheet.whole.has_base else ["reward_mean"]


def _right_px(names: Sequence[str], say: TrainingWords) -> float:
    """Leave room for the names of the curves, where they are several."""
    if len(names) == 1:
        return 14.0
    return widest_px([say(_TEXTS[name]) for name in names], SMALL_PX) + LINE_END_PX


def _draw(
    axes: Axes, sheet: TrainingSheet, names: Sequence[str], say: TrainingWords, *, is_ours: bool
) -> None:
    run, reference = sheet.run, sheet.reference
    lows, highs = _band(sheet)
    curves = [run.figures[name] for name in names]
    before = [] if reference is None else reference.figures["reward_mean"]
    set_steps(axes, sheet, say)
    ends = [*lows, *highs, *before, *(value for curve in curves for value in curve)]
    set_rewards(axes, ends, title=say("training_reward_axis"), say=say, is_ours=is_ours)
    if any(map(math.isfinite, lows)):
        axes.fill_between(run.steps, lows, highs, zorder=1.8, gid="spread", **_BAND)
        for at in lone_points(lows):  # a band of one point has no width
            axes.plot([run.steps[at]] * 2, [lows[at], highs[at]], gid=f"spread-{at}", **_WHISKER)
    if reference is not None:
        draw_reference(axes, reference.steps, before)
    found = []
    for name, values in zip(names, curves, strict=True):
        colour = LIGHT[_COLOURS[name]]
        width = 2.4 if name == "reward_mean" else 1.6
        draw_curve(axes, run.steps, values, gid=name, color=colour, linewidth=width)
        found.append(line_end(run.steps, values, text=say(_TEXTS[name]), colour=colour))
    draw_alarms(axes, sheet.alarms)
    if len(names) > 1:
        label_line_ends(axes, [end for end in found if end is not None], size=SMALL_PX)


def _band(sheet: TrainingSheet) -> tuple[list[float], list[float]]:
    means, spreads = sheet.run.figures["reward_mean"], sheet.run.figures["reward_sd"]
    pairs = list(zip(means, spreads, strict=True))
    return [mean - sd for mean, sd in pairs], [mean + sd for mean, sd in pairs]


def _key(sheet: TrainingSheet, names: Sequence[str], say: TrainingWords) -> list[KeyItem]:
    items = []
    if len(names) == 1:
        style = {"color": LIGHT["series-1"], "linewidth": 2.4}
        items.append(KeyItem(text=say("training_reward_line"), style=style))
    if any(map(math.isfinite, _band(sheet)[0])):
        items.append(KeyItem(text=say("training_spread"), style=_BAND, box=True))
    if not any(map(math.isfinite, sheet.run.figures["reward_mean"])):
        items = []
    reference = sheet.reference
    return items + training_key(
        sheet,
        say,
        alarms=bool(sheet.alarms),
        reference=reference is not None
        and any(map(math.isfinite, reference.figures["reward_mean"])),
    )
