"""The classes of the responses over the steps of a training: stacked shares per behavior."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import add_axes, set_ticks, write
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.names import distinct_labels
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, series, settings
from voirdire.reporting.plots.training_axes import draw_alarms, set_steps, training_key
from voirdire.reporting.plots.training_figure import drawn_on, new_training_plot, sheet_and_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["MOST_BEHAVIORS", "draw_training_classes"]

MOST_BEHAVIORS = 4
MOST_CLASSES = 8
_LEFT_PX = 50.0
_PANEL_PX = 150.0
_ROW_PX = _PANEL_PX + 42.0
_HEAD_PX = 28.0
_USUAL = {
    "ideal": "series-3",
    "less_good": "series-6",
    "unacceptable": "series-5",
    "illogical": "series-7",
    "disallowed": "series-2",
}
"""The best at the foot, the worst on top."""
_OTHERS = ""


def draw_training_classes(
    result: Any,
    *,
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw the shares of the completion classes over each other.

    Parameters
    ----------
    result : TrainingRun or mapping
        What `read_training_run` returns, or its JSON.
    behavior : str, optional
        Only this one.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; then one behavior, by default the first.

    Returns
    -------
    matplotlib.figure.Figure
        A panel per behavior.

    Raises
    ------
    InputError
        If the result is no training run, has no classes, or not that behavior.
    """
    sheet, say = sheet_and_words(result, language)
    names = _chosen(sheet, behavior)
    with settings():
        if ax is None:
            return _draw_panels(sheet, names, say)
        order = _order(sheet, names[:1])
        key = _key(sheet, names[:1], order, say)
        return drawn_on(ax, lambda axes: _draw(axes, sheet, names[0], order, say), key=key)


def _chosen(sheet: TrainingSheet, wanted: str | None) -> list[str]:
    known = list(sheet.whole.classes)
    if not known:
        msg = "`result` must hold shares of completion classes, got none."
        raise InputError(msg)
    if wanted is None:
        return known
    if wanted not in known:
        listed = ", ".join(repr(shorten(name, width=40)) for name in known[:10])
        msg = f"`behavior` must be one of {listed}, got {shorten(wanted)!r}."
        raise InputError(msg)
    return [wanted]


def _order(sheet: TrainingSheet, names: Sequence[str]) -> dict[str, str]:
    """Give every class its colour, from the foot up; those beyond the colours share one."""
    found = list(dict.fromkeys(each for name in names for each in sheet.whole.classes[name]))
    if set(found) <= set(_USUAL):
        return {name: LIGHT[role] for name, role in _USUAL.items() if name in found}
    kept = found if len(found) <= MOST_CLASSES else found[: MOST_CLASSES - 1]
    order = {name: series(place) for place, name in enumerate(kept)}
    return order if len(kept) == len(found) else order | {_OTHERS: LIGHT["muted"]}


def _stacked(shares: Mapping[str, Sequence[float]], order: Mapping[str, str]) -> list[list[float]]:
    """Add the shares up class by class, in the order of the colours."""
    n = len(next(iter(shares.values())))
    others = [values for name, values in shares.items() if name not in order]
    below, tops = [0.0] * n, []
    for name in order:
        columns = others if name == _OTHERS and name not in shares else [shares.get(name)]
        for column in columns:
            if column is not None:
                below = [under + value for under, value in zip(below, column, strict=True)]
        tops.append(list(below))
    return tops


def _edges(steps: Sequence[float]) -> list[float]:
    """Put an edge half way between any two points, and as far beyond the first and the last."""
    if len(steps) == 1:
        return [steps[0] - 0.5, steps[0] + 0.5]
    inner = [(one + other) / 2 for one, other in pairwise(steps)]
    return [2 * steps[0] - inner[0], *inner, 2 * steps[-1] - inner[-1]]


def _draw(
    axes: Axes,
    sheet: TrainingSheet,
    behavior: str,
    order: Mapping[str, str],
    say: TrainingWords,
    *,
    is_named: bool = True,
) -> None:
    set_steps(axes, sheet, say, is_named=is_named)
    axes.set_ylim(0, 1)
    set_ticks(axes.yaxis, [0, 0.5, 1], ["0%", "50%", "100%"], color=LIGHT["muted"])
    axes.yaxis.grid(visible=True, color=LIGHT["grid"], linewidth=1)
    shares = sheet.run.classes[behavior]
    tops, edges = _stacked(shares, order), _edges(sheet.run.steps)
    below = [0.0] * len(sheet.run.steps)
    for place, (top, colour) in enumerate(zip(tops, order.values(), strict=True)):
        axes.stairs(top, edges, baseline=below, fill=True, color=colour, linewidth=0, zorder=2,
                    gid=f"class-{place}")  # fmt: skip
        below = top
    if not any(map(math.isfinite, below)):
        style: dict[str, Any] = {"transform": axes.transAxes, "color": LIGHT["muted"]}
        write(axes, say("training_no_classes"), x=0.5, y=0.5, ha="center", **style)
    draw_alarms(axes, [alarm for alarm in sheet.alarms if _is_about(alarm.subject, behavior)])


def _is_about(subject: str, behavior: str) -> bool:
    return subject.startswith(f"{behavior}/")


def _draw_panels(sheet: TrainingSheet, names: Sequence[str], say: TrainingWords) -> Figure:
    shown = names[:MOST_BEHAVIORS]
    order = _order(sheet, shown)
    key = _key(sheet, shown, order, say)
    figure = new_training_plot(
        sheet,
        say,
        kind="classes",
        height=_HEAD_PX + len(shown) * _ROW_PX + 16,
        key=key,
        shown=(len(shown), len(names)),
    )
    texts = distinct_labels(shown, width=40)
    for place, (name, text) in enumerate(zip(shown, texts, strict=True)):
        axes = add_axes(
            figure,
            left=_LEFT_PX,
            top=_HEAD_PX + place * _ROW_PX,
            width=WIDTH_PX - _LEFT_PX - 14,
            height=_PANEL_PX,
        )
        _draw(axes, sheet, name, order, say, is_named=name == shown[-1])
        style: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "ha": "left"}
        up = 1 + 8 / _PANEL_PX
        write(axes, text, x=0, y=up, fontweight="bold", fontsize=SMALL_PX, **style)
    return figure


def _key(
    sheet: TrainingSheet, names: Sequence[str], order: Mapping[str, str], say: TrainingWords
) -> list[KeyItem]:
    found = dict.fromkeys(each for name in names for each in sheet.whole.classes[name])
    named = [name for name in order if name in found]
    texts = distinct_labels(named, width=24)
    items = [
        KeyItem(text=text, style={"facecolor": order[name], "linewidth": 0}, box=True)
        for name, text in zip(named, texts, strict=True)
    ]
    if len(named) < len(order):
        text = say("training_other_classes", n=len(found) - len(named))
        style = {"facecolor": order[_OTHERS], "linewidth": 0}
        items.append(KeyItem(text=text, style=style, box=True))
    alarms = any(_is_about(alarm.subject, name) for alarm in sheet.alarms for name in names)
    return items + training_key(sheet, say, alarms=alarms, reference=False)
