"""ω against ε: how much a judge must be forgiven before it passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    set_x_ticks,
    set_y_ticks,
)
from voirdire.reporting.plots.headings import heading_of
from voirdire.reporting.plots.line_ends import LINE_END_PX, LineEnd, label_line_ends
from voirdire.reporting.plots.marks import (
    KeyItem,
    draw_key,
    key_height,
    legend,
    mark_style,
    outcome_key,
)
from voirdire.reporting.plots.names import distinct_labels, widest_px
from voirdire.reporting.plots.rows import controls_of, number
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, series
from voirdire.reporting.plots.words import count_judges, name_control

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_winning_rate"]

_MOST_LABELLED = 8
_BEST = 5
_BODY_PX = 340.0
_FAINT = 0.35
_DASHES = (0, (5, 3))


def draw_winning_rate(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw one line per judge and per control, each with its name at its end."""
    judges = sheet.judges()
    shown = judges if len(judges) <= _MOST_LABELLED else judges[:_BEST]
    labels = dict(zip(shown, distinct_labels(shown, width=20), strict=True))
    controls = _control_lines(sheet, say)
    key = _key(sheet, say, n_others=len(judges) - len(shown))
    ends = [*labels.values(), *controls]
    axes = _laid_out(sheet, say, ends, key) if ax is None else ax
    if ax is not None:
        clear(axes)
        axes.set_title(heading_of(sheet, say, with_epsilon=False), parse_math=False)
    _set_scales(axes, sheet, say, is_ours=ax is None)
    found = [_draw_judge(axes, sheet, name, labels, number=n) for n, name in enumerate(judges)]
    found += [_draw_control(axes, text, points) for text, points in controls.items()]
    label_line_ends(axes, [end for end in found if end is not None], size=SMALL_PX)
    if ax is not None:
        legend(axes, key)
    return figure_of(axes)


def _laid_out(sheet: Sheet, say: Words, ends: Sequence[str], key: Sequence[KeyItem]) -> Axes:
    judges = len(sheet.judges())
    foot = key_height(key, width=WIDTH_PX)
    figure = new_plot(
        height=_BODY_PX + 24 + 54 + foot,
        heading=heading_of(sheet, say, with_epsilon=False),
        alt=say("alt_winning_rate", judges=count_judges(judges, say)),
    )
    right = widest_px(ends, SMALL_PX) + LINE_END_PX
    axes = add_axes(figure, left=40, top=24, width=WIDTH_PX - 40 - right, height=_BODY_PX)
    draw_key(figure, key)
    return axes


def _set_scales(axes: Axes, sheet: Sheet, say: Words, *, is_ours: bool) -> None:
    epsilons = sheet.epsilons
    room = (epsilons[-1] - epsilons[0]) * 0.03 or 0.05
    axes.set_xlim(epsilons[0] - room, epsilons[-1] + room)
    axes.set_ylim(-0.04, 1.04)
    multiplicative = sheet.rows[0]["epsilon_mode"] == "multiplicative"
    title = say("epsilon_multiplicative" if multiplicative else "epsilon")
    set_x_ticks(axes, _thinned(epsilons), title=title, say=say, grid=False)
    rates = [0, 0.25, 0.5, 0.75, 1]
    set_y_ticks(axes, rates, title=say("winning_rate"), say=say, is_ours=is_ours)
    axes.axhline(0.5, color=LIGHT["ink"], linewidth=1.4, zorder=1.5, gid="threshold")


def _thinned(values: Sequence[float]) -> list[float]:
    """Keep ticks that do not run into each other."""
    span = values[-1] - values[0]
    kept: list[float] = []
    for value in values:
        if not kept or value - kept[-1] >= span / 12:
            kept.append(value)
    return kept


def _draw_judge(
    axes: Axes, sheet: Sheet, name: str, labels: Mapping[str, str], *, number: int
) -> LineEnd | None:
    points = _points([row for row in sheet.rows if row["judge"] == name])
    highlighted = name in labels
    colour = series(number) if highlighted else LIGHT["muted"]
    xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
    axes.plot(
        xs,
        ys,
        color=colour,
        linewidth=2.4 if highlighted else 1.2,
        alpha=1 if highlighted else _FAINT,
        zorder=3.9 - number / 10_000 if highlighted else 2,
        gid=f"judge-{number}",
    )
    if not highlighted:
        return None
    for x, y, outcome in points:
        axes.plot(
            [x],
            [y],
            linestyle="none",
            zorder=4.9 - number / 10_000,
            **mark_style(outcome, colour, size=8),
        )
    return LineEnd(text=labels[name], x=xs[-1], y=ys[-1], colour=colour) if points else None


def _points(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, str]]:
    """Return ε, ω and outcome where ω is defined, smallest ε first."""
    found = [(row["epsilon"], number(row["winning_rate"]), row["outcome"]) for row in rows]
    return sorted(point for point in found if math.isfinite(point[1]))


def _control_lines(sheet: Sheet, say: Words) -> dict[str, list[tuple[float, float]]]:
    """Return ε and ω of every control by its name; a constant's label may change with ε."""
    kinds: dict[str, list[tuple[float, float, Any]]] = {}
    for epsilon in sheet.epsilons:
        at_epsilon = [row for row in sheet.rows if row["epsilon"] == epsilon]
        for control in controls_of(at_epsilon):
            point = (epsilon, number(control["winning_rate"]), control["label"])
            kinds.setdefault(control["control"], []).append(point)
    lines = {}
    for kind, points in kinds.items():
        text = name_control({"control": kind, "label": points[-1][2]}, say, width=10)
        finite = [(x, y) for x, y, _ in points if math.isfinite(y)]
        if finite:
            lines[text] = finite
    return lines


def _draw_control(axes: Axes, text: str, points: Sequence[tuple[float, float]]) -> LineEnd:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    marker: Any = {"marker": "_", "markersize": 12} if len(points) == 1 else {}
    axes.plot(xs, ys, color=LIGHT["muted"], linewidth=1.2, linestyle=_DASHES, zorder=2.5, **marker)
    return LineEnd(text=text, x=xs[-1], y=ys[-1], colour=LIGHT["muted"], is_muted=True)


def _key(sheet: Sheet, say: Words, *, n_others: int) -> list[KeyItem]:
    items = outcome_key((row["outcome"] for row in sheet.rows), say)
    items.append(KeyItem(text=say("threshold"), style={"color": LIGHT["ink"], "linewidth": 1.4}))
    if controls_of(sheet.rows):
        style = {"color": LIGHT["muted"], "linewidth": 1.2, "linestyle": _DASHES}
        items.append(KeyItem(text=say("control"), style=style))
    if n_others:
        style = {"color": LIGHT["muted"], "linewidth": 1.2, "alpha": _FAINT}
        items.append(KeyItem(text=say("others", n=n_others), style=style))
    return items
