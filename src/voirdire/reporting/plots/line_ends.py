"""Names at the ends of lines instead of a legend: each beside its line, none over another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.plots.canvas import figure_of, size_px
from voirdire.reporting.plots.marks import spread
from voirdire.reporting.plots.style import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["LINE_END_PX", "LineEnd", "label_line_ends"]

LINE_END_PX = 52.0
"""Room between the ends of lines and the names."""

_DASH_PX = 14.0


@dataclass(frozen=True, kw_only=True)
class LineEnd:
    """Where a line ends in data, what it is called, and its colour."""

    text: str
    x: float
    y: float
    colour: str
    is_muted: bool = False


def label_line_ends(axes: Axes, ends: Sequence[LineEnd], *, size: float) -> None:
    """Write the names right of the axes; of equals the first stands on top."""
    if not ends:
        return
    width, height = size_px(axes)
    low, high = axes.get_ylim()
    places = [(end.y - low) * height / (high - low) for end in reversed(ends)]
    gap = min(size * 1.4, height / max(len(ends) - 1, 1))
    moved = spread(places, gap=gap, low=0, high=height)
    left, right = axes.get_xlim()
    last = max(end.x for end in ends)
    for end, place, target in zip(reversed(ends), places, moved, strict=True):
        to_last = (last - end.x) * width / (right - left)
        _write_name(axes, end, right=to_last + LINE_END_PX, up=target - place, size=size)


def _write_name(axes: Axes, end: LineEnd, *, right: float, up: float, size: float) -> None:
    """Write a name, a dash in the colour of its line before it, and a thread to the line."""
    axes.annotate(
        end.text,
        xy=(end.x, end.y),
        xytext=(right, up),
        textcoords="offset points",
        fontsize=size,
        color=LIGHT["muted"] if end.is_muted else LIGHT["ink"],
        ha="left",
        va="center_baseline",
        annotation_clip=False,
        parse_math=False,
        usetex=False,
    )
    _draw_thread(axes, end, right=right - 4 - _DASH_PX, up=up)


def _draw_thread(axes: Axes, end: LineEnd, *, right: float, up: float) -> None:
    from matplotlib.transforms import offset_copy

    thread = {"arrowstyle": "-", "color": end.colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 6}
    axes.annotate(
        "",
        xy=(end.x, end.y),
        xytext=(right, up),
        textcoords="offset points",
        annotation_clip=False,
        arrowprops=thread,
    )
    middle = right + _DASH_PX / 2
    axes.plot(
        [end.x],
        [end.y],
        transform=offset_copy(axes.transData, fig=figure_of(axes), x=middle, y=up, units="points"),
        marker="_",
        markersize=_DASH_PX,
        markeredgewidth=1.4 if end.is_muted else 3,
        color=end.colour,
        linestyle="none",
        clip_on=False,
        scalex=False,
        scaley=False,
        gid="line-end",
    )
