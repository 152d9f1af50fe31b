"""Names beside points, placed so that they cover neither each other nor a point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire.reporting.plots.canvas import size_px
from voirdire.reporting.plots.names import text_px
from voirdire.reporting.plots.style import LIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes

    Box = tuple[float, float, float, float]

__all__ = ["label_points"]

_POINT_PX = 7.0
_RADII = (11.0, 22.0, 36.0, 52.0, 72.0, 96.0)
_LEADER_FROM_PX = 20.0
_CROSSING = 25.0
"""Being crossed by the diagonal costs as much as covering so many square pixels."""

_ANGLES = (0.0, 180.0, 90.0, 270.0, 35.0, 145.0, 325.0, 215.0)


def label_points(
    axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], *, size: float
) -> None:
    """Write each name at the first free place around its point, the nearest first."""
    to_px = _to_pixels(axes)
    at = [to_px(x, y) for x, y in points]
    taken: list[Box] = [(x - _POINT_PX, y - _POINT_PX, x + _POINT_PX, y + _POINT_PX) for x, y in at]
    low, high = (
        to_px(axes.get_xlim()[0], axes.get_ylim()[0]),
        to_px(axes.get_xlim()[1], axes.get_ylim()[1]),
    )
    frame = (*low, *high)
    for point, (x, y), name in zip(points, at, names, strict=True):
        width, height = text_px(name, size), size * 1.15
        dx, dy, box = min(
            _candidates(x, y, width, height), key=lambda place: _cost(place[2], taken, frame)
        )
        taken.append(box)
        is_far = math.hypot(dx, dy) > _LEADER_FROM_PX
        line = {"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.8, "shrinkB": 6}
        axes.annotate(
            name,
            xy=point,
            xytext=(dx, dy),
            textcoords="offset points",
            fontsize=size,
            color=LIGHT["ink"],
            ha="left" if dx > 1 else "right" if dx < -1 else "center",
            va="center_baseline",
            annotation_clip=False,
            arrowprops=line if is_far else None,
            parse_math=False,
            usetex=False,
            zorder=5,
        )


def _to_pixels(axes: Axes) -> Callable[[float, float], tuple[float, float]]:
    width, height = size_px(axes)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x_scale = width / (right - left)
    y_scale = height / (top - bottom)
    return lambda x, y: ((x - left) * x_scale, (y - bottom) * y_scale)


def _candidates(
    x: float, y: float, width: float, height: float
) -> Iterator[tuple[float, float, Box]]:
    """Yield offsets of the text's anchor with the box that the text would fill."""
    for radius in _RADII:
        for angle in _ANGLES:
            dx = round(radius * math.cos(math.radians(angle)), 6)
            dy = round(radius * math.sin(math.radians(angle)), 6)
            start = x + dx - (0 if dx > 1 else width if dx < -1 else width / 2)
            yield dx, dy, (start, y + dy - height / 2, start + width, y + dy + height / 2)


def _cost(box: Box, taken: Sequence[Box], frame: Box) -> float:
    """Return how much of what is drawn the box would cover; out of the frame costs most."""
    covered = sum(_overlap(box, other) for other in taken)
    inside = _overlap(box, frame)
    outside = (box[2] - box[0]) * (box[3] - box[1]) - inside
    crosses = (box[0] - box[3]) * (box[2] - box[1]) < 0
    return covered + 10 * max(outside, 0.0) + (_CROSSING if crosses else 0.0)


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
