"""Cells whose strength of colour is a number, on light paper and on dark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import write
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.style import LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from voirdire.reporting.plots.words import Words

__all__ = ["cell_colour", "draw_cell", "draw_raster", "draw_undefined", "heat_key"]

_STRONGEST = 0.9
"""Opacity of 1 and -1: numbers in the ink of the page can still be read on it."""


def cell_colour(value: float) -> tuple[str, float]:
    """Return colour and opacity of a value in [-1, 1]; the paper shows through near 0."""
    role = "heat-1" if value >= 0 else "heat-2"
    return LIGHT[role], round(min(abs(value), 1.0) * _STRONGEST, 3)


def draw_cell(
    axes: Axes, *, x: float, y: float, value: float, text: str, size: float, gid: str
) -> None:
    """Draw a cell of the size of one, its upper left corner at x, y."""
    from matplotlib.patches import Rectangle

    colour = cell_colour(value)
    cell = Rectangle((x, y), 1, 1, facecolor=colour, linewidth=0, gid=gid, zorder=1, clip_on=False)
    axes.add_artist(cell)  # `add_patch` takes as long to find limits, which we set ourselves
    if text:
        write(axes, text, x=x + 0.5, y=y + 0.5, ha="center", fontsize=size)


def draw_undefined(axes: Axes, corners: Iterable[tuple[float, float]]) -> None:
    """Hatch the cells that have no value."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    cells = [
        Path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)], closed=True)
        for x, y in corners
    ]
    if cells:
        outline = Path.make_compound_path(*cells)
        axes.add_patch(PathPatch(outline, zorder=1, gid="undefined", **_hatched()))


def _hatched() -> dict[str, Any]:
    return {"facecolor": "none", "edgecolor": LIGHT["muted"], "hatch": "/////", "linewidth": 0}


def draw_raster(axes: Axes, values: Sequence[Sequence[float]], *, x: float, y: float) -> None:
    """Draw a block of many cells as one picture, a dot a cell; nan is left blank."""
    import numpy as np
    from matplotlib.colors import to_rgba

    blank = (0.0, 0.0, 0.0, 0.0)
    dots = np.array(
        [
            [blank if math.isnan(value) else to_rgba(*cell_colour(value)) for value in row]
            for row in values
        ]
    )
    n_rows, n_columns = dots.shape[:2]
    axes.imshow(
        dots,
        extent=(x, x + n_columns, y + n_rows, y),
        interpolation="none",
        aspect="auto",
        zorder=1,
        gid="raster",
    )


def heat_key(values: Iterable[float], *, title: str, say: Words) -> list[KeyItem]:
    """Explain the colours of the values that occur, from the least fifth below them to 1."""
    found = list(values)
    least = min((round(value, 2) for value in found if math.isfinite(value)), default=0.0)
    steps = [step / 5 for step in range(max(math.floor(5 * min(least, 0.0)), -5), 6)]
    items = [KeyItem(text=title)]
    items += [
        KeyItem(
            text=say.digits(step),
            style={"facecolor": cell_colour(step), "edgecolor": LIGHT["grid"], "linewidth": 0.8},
            box=True,
        )
        for step in steps
    ]
    if any(math.isnan(value) for value in found):
        items.append(KeyItem(text=say("undefined"), style=_hatched(), box=True))
    return items
