"""The mean length of the responses under the mean reward: two panels on one axis of steps.

Two panels and never two scales on one: where two curves cross would be an accident of the scales.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import add_axes
from voirdire.reporting.plots.style import LIGHT, WIDTH_PX, settings
from voirdire.reporting.plots.training_axes import (
    draw_alarms,
    draw_curve,
    draw_reference,
    set_rewards,
    set_steps,
    training_key,
)
from voirdire.reporting.plots.training_figure import drawn_on, new_training_plot, sheet_and_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.marks import KeyItem
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["draw_training_length"]

_PANEL_PX = 160.0
_HEAD_PX = 24.0
_GAP_PX = 48.0
_LEFT_PX = 56.0


def draw_training_length(
    result: Any, *, language: Language = "en", ax: Axes | None = None
) -> Figure:
    """Draw the mean length of the responses beside the mean reward.

    Parameters
    ----------
    result : TrainingRun or mapping
        What `read_training_run` returns, or its JSON.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; then only the length.

    Returns
    -------
    matplotlib.figure.Figure
        The reward above, the length below, the steps at the same places.

    Raises
    ------
    InputError
        If the result is no training run, or has no steps.
    """
    sheet, say = sheet_and_words(result, language)
    key = _key(sheet, say)
    with settings():
        if ax is not None:
            return drawn_on(
                ax, lambda axes: _draw(axes, sheet, "length_mean", say, is_ours=False), key=key
            )
        height = 2 * _PANEL_PX + _HEAD_PX + _GAP_PX + 54
        figure = new_training_plot(sheet, say, kind="length", height=height, key=key)
        place = {"left": _LEFT_PX, "width": WIDTH_PX - _LEFT_PX - 14, "height": _PANEL_PX}
        above = add_axes(figure, top=_HEAD_PX, **place)
        below = add_axes(figure, top=_HEAD_PX + _PANEL_PX + _GAP_PX, **place)
        _draw(above, sheet, "reward_mean", say, is_named=False)
        _draw(below, sheet, "length_mean", say)
        return figure


def _draw(axes: Axes, sheet: TrainingSheet, name: str, say: TrainingWords, *,
          is_ours: bool = True, is_named: bool = True) -> None:  # fmt: skip
    values = sheet.run.figures[name]
    before = [] if sheet.reference is None else sheet.reference.figures[name]
    is_length = name == "length_mean"
    word = f"training_length_axis_{sheet.length_unit}" if is_length else "training_reward_axis"
    set_steps(axes, sheet, say, is_named=is_named)
    ends = [*values, *before]
    set_rewards(axes, ends, title=say(word), say=say, is_ours=is_ours, n=4)
    if sheet.reference is not None:
        draw_reference(axes, sheet.reference.steps, before)
    colour = LIGHT["series-7" if is_length else "series-1"]
    draw_curve(axes, sheet.run.steps, values, gid=name, color=colour)
    if is_length:
        draw_alarms(axes, [alarm for alarm in sheet.alarms if alarm.kind == "length"])


def _key(sheet: TrainingSheet, say: TrainingWords) -> list[KeyItem]:
    found = sheet.reference
    has_reference = found is not None and any(map(math.isfinite, found.figures["length_mean"]))
    alarms = any(alarm.kind == "length" for alarm in sheet.alarms)
    return training_key(sheet, say, alarms=alarms, reference=has_reference)
