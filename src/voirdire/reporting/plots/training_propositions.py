"""How often propositions are true over the steps of a training: a small panel for each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import add_axes, set_ticks, set_y_ticks, write
from voirdire.reporting.plots.line_ends import label_line_ends
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.names import distinct_labels
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, series, settings
from voirdire.reporting.plots.training_axes import (
    draw_alarms,
    draw_curve,
    draw_reference,
    line_end,
    set_steps,
    training_key,
)
from voirdire.reporting.plots.training_figure import drawn_on, new_training_plot, sheet_and_words
from voirdire.reporting.plots.training_moves import moves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.training_moves import Move
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["MOST_PROPOSITIONS", "draw_training_propositions"]

MOST_PROPOSITIONS = 8
_MOST_ON_ONE = 6
_WIDTH_PX = 730.0
_LEFT_PX = 30.0
_GAP_PX = 34.0
_PANEL_PX = 84.0
_ROW_PX = _PANEL_PX + 44.0
_HEAD_PX = 28.0
_LIMITS = (-0.05, 1.05)


def draw_training_propositions(
    result: Any, *, language: Language = "en", ax: Axes | None = None
) -> Figure:
    """Draw the mean probability of the propositions with alarms, and of those that moved most.

    Parameters
    ----------
    result : TrainingRun or mapping
        What `read_training_run` returns, or its JSON.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; then the first six, on one panel.

    Returns
    -------
    matplotlib.figure.Figure
        A panel per proposition, the reference run dashed; its name with the means of the first
        and the last steps.

    Raises
    ------
    InputError
        If the result is no training run, or has no propositions.
    """
    sheet, say = sheet_and_words(result, language)
    alarmed = {alarm.subject for alarm in sheet.alarms}
    moves = moves_of(sheet.whole.rates, first=alarmed)
    if not moves:
        msg = "`result` must hold rates of propositions, got none."
        raise InputError(msg)
    with settings():
        if ax is None:
            return _draw_panels(sheet, moves, say)
        key = training_key(sheet, say, alarms=False, reference=False)
        return drawn_on(
            ax, lambda axes: _draw_on_one(axes, sheet, moves[:_MOST_ON_ONE], say), key=key
        )


def _draw_panels(sheet: TrainingSheet, moves: Sequence[Move], say: TrainingWords) -> Figure:
    shown = moves[:MOST_PROPOSITIONS]
    n_columns = min(2, len(shown))
    n_rows = math.ceil(len(shown) / 2)
    key = _key(sheet, shown, say)
    figure = new_training_plot(
        sheet,
        say,
        kind="propositions",
        width=_WIDTH_PX,
        height=_HEAD_PX + n_rows * _ROW_PX + 16,
        key=key,
        shown=(len(shown), len(moves)),
        name_width=30,
    )
    wide = (_WIDTH_PX - _LEFT_PX - (n_columns - 1) * _GAP_PX - 8) / n_columns
    texts = distinct_labels([move.name for move in shown], width=28 if n_columns == 2 else 60)
    for place, (move, text) in enumerate(zip(shown, texts, strict=True)):
        row, column = divmod(place, 2)
        axes = add_axes(
            figure,
            left=_LEFT_PX + column * (wide + _GAP_PX),
            top=_HEAD_PX + row * _ROW_PX,
            width=wide,
            height=_PANEL_PX,
        )
        is_lowest = place + 2 >= len(shown)
        _draw_panel(axes, sheet, move, say, is_lowest=is_lowest, is_left=column == 0)
        _write_head(axes, text, move, say)
    return figure


def _draw_panel(axes: Axes, sheet: TrainingSheet, move: Move, say: TrainingWords, *,
                is_lowest: bool, is_left: bool) -> None:  # fmt: skip
    set_steps(axes, sheet, say, n=4, is_named=is_lowest)
    axes.set_ylim(*_LIMITS)
    set_y_ticks(axes, [0, 0.5, 1], title="", say=say)
    if not is_left:
        set_ticks(axes.yaxis, [0, 0.5, 1], ["", "", ""])
    reference = None if sheet.reference is None else sheet.reference.rates.get(move.name)
    if sheet.reference is not None and reference is not None:
        draw_reference(axes, sheet.reference.steps, reference)
    draw_curve(axes, sheet.run.steps, sheet.run.rates[move.name], gid="rate", linewidth=2)
    draw_alarms(axes, [alarm for alarm in sheet.alarms if alarm.subject == move.name])


def _write_head(axes: Axes, text: str, move: Move, say: TrainingWords) -> None:
    """Write name and numbers above a panel."""
    ends = {"start": say.two_digits(move.start), "end": say.two_digits(move.end)}
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "fontsize": SMALL_PX}
    up = 1 + 7 / _PANEL_PX
    write(axes, text, x=0, y=up, ha="left", fontweight="bold", **style)
    muted = style | {"color": LIGHT["muted"]}
    write(axes, say("training_from_to", **ends), x=1, y=up, ha="right", **muted)


def _draw_on_one(
    axes: Axes, sheet: TrainingSheet, moves: Sequence[Move], say: TrainingWords
) -> None:
    set_steps(axes, sheet, say)
    axes.set_ylim(*_LIMITS)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    set_y_ticks(axes, ticks, title=say("training_rate_axis"), say=say, is_ours=False)
    found = []
    texts = distinct_labels([move.name for move in moves], width=26)
    for place, (move, text) in enumerate(zip(moves, texts, strict=True)):
        colour, values = series(place), sheet.run.rates[move.name]
        draw_curve(axes, sheet.run.steps, values, gid=f"rate-{place}", color=colour)
        found.append(line_end(sheet.run.steps, values, text=text, colour=colour))
    label_line_ends(axes, [end for end in found if end is not None], size=SMALL_PX)


def _key(sheet: TrainingSheet, moves: Sequence[Move], say: TrainingWords) -> list[KeyItem]:
    names = {move.name for move in moves}
    reference = sheet.reference is not None and not names.isdisjoint(sheet.reference.rates)
    alarms = any(alarm.subject in names for alarm in sheet.alarms)
    style = {"color": LIGHT["series-1"], "linewidth": 2}
    return [
        KeyItem(text=say("training_run"), style=style),
        *training_key(sheet, say, alarms=alarms, reference=reference),
    ]
