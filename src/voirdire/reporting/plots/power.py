"""Power against the number of items: how many are enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    nice_ticks,
    set_x_ticks,
    set_y_ticks,
)
from voirdire.reporting.plots.line_ends import LINE_END_PX, LineEnd, label_line_ends
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend
from voirdire.reporting.plots.names import widest_px
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.words import Words

__all__ = ["draw_power_curves", "is_power"]

_BODY_PX = 320.0
_MOST_CURVES = 12
_FIELDS = ("n_items", "n_annotators", "epsilon", "power", "standard_error")


def is_power(result: Any) -> bool:
    """Whether something is a power analysis, or the dict of one."""
    rows = _field(result, "rows")
    return (
        isinstance(rows, list | tuple)
        and len(rows) > 0
        and all(_field(row, "power") is not None for row in rows)
    )


def _field(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def draw_power_curves(result: Any, *, say: Words, ax: Axes | None) -> Figure:
    """Draw one curve per number of annotators and ε, with the wanted power."""
    if not is_power(result):
        msg = (
            "`result` must be what the power analysis returns, or its dict, for `kind` 'power', "
            f"got {shorten(result)}."
        )
        raise InputError(msg)
    rows = [{name: _field(row, name) for name in _FIELDS} for row in _field(result, "rows")]
    curves = _curves(rows)
    wanted = number(_field(result, "wanted_power"))
    key = _key(wanted, rows, say)
    texts = {curve: _name(curve, say) for curve in curves}
    axes = _laid_out(list(texts.values()), key, say) if ax is None else ax
    if ax is not None:
        clear(axes)
    _set_scales(axes, rows, say, is_ours=ax is None)
    if math.isfinite(wanted):
        style: Any = {"color": LIGHT["ink"], "linewidth": 1.4, "linestyle": (0, (5, 3))}
        axes.axhline(wanted, zorder=1.5, gid="wanted", **style)
    ends = [
        _draw_curve(axes, points, text=texts[curve], place=place)
        for place, (curve, points) in enumerate(curves.items())
    ]
    label_line_ends(axes, ends, size=SMALL_PX)
    if ax is not None:
        legend(axes, key)
    return figure_of(axes)


def _curves(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, Any], list[Mapping[str, Any]]]:
    curves: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for row in rows:
        if math.isfinite(number(row["power"])):
            curve = (row["n_annotators"], row["epsilon"])
            curves.setdefault(curve, []).append(row)
    if not curves or len(curves) > _MOST_CURVES:
        msg = (
            f"`result` must hold from 1 to {_MOST_CURVES} pairs of annotators and ε with a "
            f"defined power, got {len(curves)}."
        )
        raise InputError(msg)
    return {
        curve: sorted(points, key=lambda row: number(row["n_items"]))
        for curve, points in curves.items()
    }


def _name(curve: tuple[Any, Any], say: Words) -> str:
    n_annotators, epsilon = curve
    return say("power_curve", n_annotators=n_annotators, epsilon=say.digits(number(epsilon)))


def _laid_out(texts: Sequence[str], key: Sequence[KeyItem], say: Words) -> Axes:
    figure = new_plot(
        height=24 + _BODY_PX + 54 + key_height(key, width=WIDTH_PX),
        heading=say("power_title"),
        alt=say("alt_power"),
    )
    right = widest_px(texts, SMALL_PX) + LINE_END_PX
    axes = add_axes(figure, left=40, top=24, width=WIDTH_PX - 40 - right, height=_BODY_PX)
    draw_key(figure, key)
    return axes


def _set_scales(
    axes: Axes, rows: Sequence[Mapping[str, Any]], say: Words, *, is_ours: bool
) -> None:
    sizes = [number(row["n_items"]) for row in rows]
    low, high = min(sizes), max(sizes)
    room = (high - low) * 0.04 or 1.0
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(-0.03, 1.03)
    set_x_ticks(axes, nice_ticks(low, high), title=say("items"), say=say, grid=False)
    shares = [0, 0.2, 0.4, 0.6, 0.8, 1]
    set_y_ticks(axes, shares, title=say("power"), say=say, is_ours=is_ours)


def _draw_curve(
    axes: Axes, points: Sequence[Mapping[str, Any]], *, text: str, place: int
) -> LineEnd:
    xs, ys = [number(p["n_items"]) for p in points], [number(p["power"]) for p in points]
    errors = [1.96 * number(p["standard_error"]) for p in points]
    colour = series(place)
    if all(math.isfinite(error) for error in errors):
        lows = [max(y - error, 0.0) for y, error in zip(ys, errors, strict=True)]
        highs = [min(y + error, 1.0) for y, error in zip(ys, errors, strict=True)]
        axes.vlines(xs, lows, highs, color=colour, linewidth=1.6, zorder=2.5, gid=f"error-{place}")
    axes.plot(
        xs,
        ys,
        color=colour,
        linewidth=2.2,
        linestyle="-" if place < 8 else "--",
        marker="o",
        markersize=6,
        zorder=3,
        gid=f"curve-{place}",
    )
    return LineEnd(text=text, x=xs[-1], y=ys[-1], colour=colour)


def _key(wanted: float, rows: Sequence[Mapping[str, Any]], say: Words) -> list[KeyItem]:
    items = []
    if math.isfinite(wanted):
        style = {"color": LIGHT["ink"], "linewidth": 1.4, "linestyle": (0, (5, 3))}
        items.append(KeyItem(text=say("wanted_power", power=wanted), style=style))
    if any(math.isfinite(number(row["standard_error"])) for row in rows):
        items.append(
            KeyItem(text=say("simulation_error"), style={"color": LIGHT["ink"], "linewidth": 1.6})
        )
    return items
