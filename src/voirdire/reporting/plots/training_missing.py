"""The share of responses that got no reward, over the steps of a training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import add_axes, nice_ticks, set_ticks, write
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, settings
from voirdire.reporting.plots.training_axes import (
    draw_alarms,
    draw_curve,
    draw_reference,
    set_steps,
    training_key,
)
from voirdire.reporting.plots.training_figure import drawn_on, new_training_plot, sheet_and_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["draw_training_missing"]

_BODY_PX = 180.0
_LEFT_PX = 56.0
_LEAST_TOP = 0.02
"""The axis goes at least so far: a share of a thousandth is not made a mountain."""


def draw_training_missing(
    result: Any, *, language: Language = "en", ax: Axes | None = None
) -> Figure:
    """Draw the share of responses without a reward.

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
        A curve from 0, with the reference run behind.

    Raises
    ------
    InputError
        If the result is no training run, or has no steps.
    """
    sheet, say = sheet_and_words(result, language)
    key = _key(sheet, say)
    with settings():
        if ax is not None:
            return drawn_on(ax, lambda axes: _draw(axes, sheet, say, is_ours=False), key=key)
        height = 24 + _BODY_PX + 54
        figure = new_training_plot(sheet, say, kind="missing", height=height, key=key)
        wide = WIDTH_PX - _LEFT_PX - 14
        axes = add_axes(figure, left=_LEFT_PX, top=24, width=wide, height=_BODY_PX)
        _draw(axes, sheet, say, is_ours=True)
        return figure


def _draw(axes: Axes, sheet: TrainingSheet, say: TrainingWords, *, is_ours: bool) -> None:
    shares = sheet.run.figures["missing_share"]
    before = [] if sheet.reference is None else sheet.reference.figures["missing_share"]
    top = max([_LEAST_TOP, *filter(math.isfinite, [*shares, *before])])
    set_steps(axes, sheet, say)
    axes.set_ylim(-0.03 * top, 1.06 * top)
    ticks = nice_ticks(0, top, n=4)
    texts = [f"{100 * tick:.4g}%" for tick in ticks]
    set_ticks(axes.yaxis, ticks, texts, color=LIGHT["muted"])
    axes.yaxis.grid(visible=True, color=LIGHT["grid"], linewidth=1)
    if is_ours:
        style: dict[str, Any] = {"transform": axes.transAxes, "fontsize": SMALL_PX}
        style |= {"color": LIGHT["muted"], "ha": "left", "va": "bottom"}
        write(axes, say("training_missing_axis"), x=0, y=1 + 10 / _BODY_PX, **style)
    else:
        axes.set_ylabel(say("training_missing_axis"), parse_math=False)
    if sheet.reference is not None:
        draw_reference(axes, sheet.reference.steps, before)
    draw_curve(axes, sheet.run.steps, shares, gid="missing", color=LIGHT["fail"])
    draw_alarms(axes, [alarm for alarm in sheet.alarms if alarm.kind == "missing"])


def _key(sheet: TrainingSheet, say: TrainingWords) -> list[KeyItem]:
    style = {"color": LIGHT["fail"], "linewidth": 2.2}
    alarms = any(alarm.kind == "missing" for alarm in sheet.alarms)
    reference = sheet.reference is not None
    return [
        KeyItem(text=say("training_run"), style=style),
        *training_key(sheet, say, alarms=alarms, reference=reference),
    ]
