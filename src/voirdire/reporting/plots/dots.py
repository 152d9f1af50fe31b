"""Draw a row per name with a point, its interval and a reference mark, as most figures do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from matplotlib.transforms import offset_copy

from voirdire.reporting.plots.frame import (
    Panel,
    draw_chart,
    keep_finite,
    set_scale,
    set_ticks,
    style_mark,
)
from voirdire.reporting.plots.style import FONT_PX, LIGHT
from voirdire.reporting.plots.words import estimate_widest_px

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style

__all__ = ["LINE", "RANGE", "REFERENCE", "DotRow", "draw_dots"]

_STEP_PX = 24.0
_GROUP_GAP = 0.6

LINE: Style = {"color": LIGHT["ink"], "linewidth": 1.4}
RANGE: Style = {"color": LIGHT["muted"], "linewidth": 1.2}
REFERENCE: Style = {
    "linestyle": "none", "marker": "|", "markersize": 13, "markeredgewidth": 2.2,
    "color": LIGHT["muted"],
}  # fmt: skip
"""The mark that a point is compared with."""


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One row: a label, a point with its interval, and what the point is compared with.

    Numbers are nan where there are none. `outcome` chooses the mark; `range_` is a thin line behind
    the interval.
    """

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    reference: float = math.nan
    range_: tuple[float, float] = (math.nan, math.nan)
    outcome: str
    colour: str
    starts_group: bool = False

    @property
    def figures(self) -> list[float]:
        """Every number that must be on the scale."""
        return [self.value, self.low, self.high, self.reference, *self.range_]


def draw_dots(
    frame: Frame, rows: Sequence[DotRow], *, heading: str, alt: str, x_title: str, key: Key
) -> Figure:
    """Draw rows on one scale that ends at 1."""
    left = estimate_widest_px((row.label for row in rows), FONT_PX) + 10
    steps = [1.0 + _GROUP_GAP * (row.starts_group and n > 0) for n, row in enumerate(rows)]
    places = [place - 0.5 for place in accumulate(steps)]
    numbers = [frame.say.two_digits(row.value) for row in rows]
    right = estimate_widest_px(numbers) + 12

    def draw(axes: Axes) -> None:
        values = keep_finite([1.0, *(figure for row in rows for figure in row.figures)])
        pad = 0.04 * (max(values) - min(values)) or 0.05
        for place, (row, at) in enumerate(zip(rows, places, strict=True)):
            _draw_row(axes, row, place=place, at=at)
        axes.set_ylim(sum(steps) + 0.1, 0)
        low, high = max(min(values) - pad, -pad), min(max(values) + pad, 1.0 + pad)
        set_scale(axes.xaxis, low, high, frame.say)
        if frame.ax is None:
            _write_numbers(axes, numbers, places, room=right)
        set_ticks(axes.yaxis, places, [row.label for row in rows], fontsize=FONT_PX)
        for tick, row in zip(axes.yaxis.get_major_ticks(), rows, strict=True):
            tick.label1.set_color(LIGHT["muted" if row.outcome == "control" else "ink"])

    panel = Panel(draw=draw, height=(sum(steps) + 0.1) * _STEP_PX, left=left, right=right,
                  x_title=x_title, above=2.0)  # fmt: skip
    return draw_chart(frame, heading=heading, alt=alt, panels=[panel], key=key)


def _draw_row(axes: Axes, row: DotRow, *, place: int, at: float) -> None:
    value = style_mark(row.outcome, row.colour)
    marks: Any = (
        ("range", row.range_, RANGE | {"zorder": 1.8}),
        ("interval", (row.low, row.high), {"color": row.colour, "zorder": 2}),
        ("reference", (row.reference,), REFERENCE | {"zorder": 2.5}),
        ("value", (row.value,), value | {"zorder": 3}),
    )
    for name, xs, style in marks:
        if all(map(math.isfinite, xs)):
            axes.plot(xs, [at] * len(xs), gid=f"{name}-{place}", **style)


def _write_numbers(
    axes: Axes, numbers: Sequence[str], places: Sequence[float], *, room: float
) -> None:
    figure: Any = axes.get_figure(root=True)
    end = offset_copy(axes.get_yaxis_transform(), fig=figure, x=room, units="points")
    style: Style = {"ha": "right", "va": "center_baseline", "color": LIGHT["muted"]}
    for text, at in zip(numbers, places, strict=True):
        axes.text(1, at, text, transform=end, **style)
