"""A row per name with a point, its interval and a mark to compare with: most figures are this."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    nice_ticks,
    set_ticks,
    set_x_ticks,
    write,
)
from voirdire.reporting.plots.marks import (
    KeyItem,
    draw_key,
    key_height,
    legend,
    mark_style,
)
from voirdire.reporting.plots.names import widest_px
from voirdire.reporting.plots.style import FONT_PX, LIGHT, SMALL_PX, WIDTH_PX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.words import Words

__all__ = ["DotRow", "DotRows", "draw_dot_rows"]

_MANY = 14
_GROUP_GAP = 0.7
_NUMBERS_PX = 44.0


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One row.

    Attributes
    ----------
    label : str
        What stands beside it, ready to be written.
    value, low, high : float
        The point and its interval; nan where there is none.
    reference : float
        What to compare the point with; nan for none.
    outcome : str or None
        Which mark; None is a plain point.
    colour : str
        Of point, interval and, where it is grey, the label.
    starts_group : bool
        Whether a gap stands above it.
    is_heading : bool
        Whether it is a label only.
    """

    label: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reference: float = math.nan
    outcome: str | None = None
    colour: str = LIGHT["series-1"]
    starts_group: bool = False
    is_heading: bool = False


@dataclass(frozen=True, kw_only=True)
class DotRows:
    """The rows with what surrounds them.

    Attributes
    ----------
    rows : sequence of DotRow
        From top to bottom.
    heading, alt, x_title : str
        Words.
    limits : tuple of float
        Ends of the scale that are always shown.
    bounds : tuple of float
        Beyond them the scale never goes.
    line : float
        Where a vertical line stands; nan for none.
    band : tuple of float
        Shaded from, to; nan for none.
    key : sequence of KeyItem
        What the marks mean.
    """

    rows: Sequence[DotRow]
    heading: str
    alt: str
    x_title: str
    limits: tuple[float, float] = (math.nan, math.nan)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    line: float = math.nan
    band: tuple[float, float] = (math.nan, math.nan)
    key: Sequence[KeyItem] = ()


def draw_dot_rows(content: DotRows, *, say: Words, ax: Axes | None) -> Figure:
    """Draw the rows on a figure as high as they need, or on given axes."""
    axes = _laid_out(content, say) if ax is None else ax
    if ax is not None:
        clear(axes)
        axes.set_title(content.heading, parse_math=False)
    low, high = _scale(content)
    places = _places(content.rows)
    _draw_background(axes, content)
    for number, (row, place) in enumerate(zip(content.rows, places, strict=True)):
        _draw_row(axes, row, number=number, place=place)
    axes.set_xlim(low, high)
    axes.set_ylim(places[-1] + 0.6, places[0] - 0.6)
    set_x_ticks(axes, nice_ticks(low, high), title=content.x_title, say=say)
    set_ticks(axes.yaxis, places, [row.label for row in content.rows], fontsize=FONT_PX)
    _style_labels(axes, content.rows)
    if ax is not None:
        legend(axes, content.key)
    return figure_of(axes)


def _laid_out(content: DotRows, say: Words) -> Axes:
    rows = content.rows
    step = 26.0 if len(rows) <= _MANY else 21.0
    body = (_places(rows)[-1] + 1.2) * step
    left = widest_px((row.label for row in rows), FONT_PX) + 12
    foot = key_height(content.key, width=WIDTH_PX)
    figure = new_plot(height=body + 50 + foot + 8, heading=content.heading, alt=content.alt)
    axes = add_axes(figure, left=left, top=0, width=WIDTH_PX - left - _NUMBERS_PX - 8, height=body)
    draw_key(figure, content.key)
    for row, place in zip(rows, _places(rows), strict=True):
        if not row.is_heading:
            write(
                axes,
                say.two_digits(row.value),
                x=1 + _NUMBERS_PX / (WIDTH_PX - left - _NUMBERS_PX - 8),
                y=place,
                ha="right",
                color=LIGHT["muted"],
                transform=axes.get_yaxis_transform(),
            )
    return axes


def _places(rows: Sequence[DotRow]) -> list[float]:
    places, place = [], -1.0
    for number, row in enumerate(rows):
        place += 1 + (_GROUP_GAP if row.starts_group and number else 0.0)
        places.append(place)
    return places


def _scale(content: DotRows) -> tuple[float, float]:
    values = [content.line, *content.limits, *content.band]
    for row in content.rows:
        values += [row.value, row.low, row.high, row.reference]
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    pad = 0.04 * (high - low) or 0.05
    bottom, top = content.bounds
    return max(low - pad, bottom - pad), min(high + pad, top + pad)


def _draw_background(axes: Axes, content: DotRows) -> None:
    if math.isfinite(content.band[0]):
        axes.axvspan(*content.band, color=LIGHT["region-1"], linewidth=0, zorder=0.4, gid="band")
    if math.isfinite(content.line):
        axes.axvline(content.line, color=LIGHT["ink"], linewidth=1.4, zorder=1.5, gid="line")


def _draw_row(axes: Axes, row: DotRow, *, number: int, place: float) -> None:
    if math.isfinite(row.low) and math.isfinite(row.high):
        ends = [row.low, row.high]
        axes.plot(
            ends,
            [place, place],
            color=row.colour,
            linewidth=2,
            solid_capstyle="butt",
            zorder=2,
            gid=f"interval-{number}",
        )
    if math.isfinite(row.reference):
        axes.plot(
            [row.reference],
            [place],
            marker="|",
            markersize=13,
            markeredgewidth=2.2,
            color=LIGHT["muted"],
            zorder=2.5,
            gid=f"reference-{number}",
        )
    if math.isfinite(row.value):
        style = mark_style(row.outcome, row.colour)
        axes.plot([row.value], [place], linestyle="none", zorder=3, gid=f"value-{number}", **style)


def _style_labels(axes: Axes, rows: Sequence[DotRow]) -> None:
    for tick, row in zip(axes.yaxis.get_major_ticks(), rows, strict=True):
        if row.is_heading:
            tick.label1.set_fontweight("bold")
            tick.label1.set_fontsize(SMALL_PX)
        elif row.colour == LIGHT["muted"]:
            tick.label1.set_color(LIGHT["muted"])
