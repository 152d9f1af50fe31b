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
from voirdire.reporting.plots.words import estimate_widest_px, wrap_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style

__all__ = ["LINE", "RANGE", "REFERENCE", "DotRow", "draw_dots", "make_dot_row", "make_heading_rows"]

_STEP_PX = 24.0
_GROUP_GAP = 0.6
_MOST_BESIDE = 0.42
"""Labels that need more of the width than this stand above their rows."""

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
    the interval; `marks` are further points with their styles; `number` is written at the end
    instead of the value.
    """

    label: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reference: float = math.nan
    range_: tuple[float, float] = (math.nan, math.nan)
    outcome: str | None = None
    colour: str = LIGHT["series-1"]
    marks: tuple[tuple[str, float, Style], ...] = ()
    number: str | None = None
    starts_group: bool = False
    is_heading: bool = False

    @property
    def figures(self) -> list[float]:
        """Every number that must be on the scale."""
        more = [value for _, value, _ in self.marks]
        return [self.value, self.low, self.high, self.reference, *self.range_, *more]


def make_dot_row(record: Any, figure: str, **row: Any) -> DotRow:
    """Make a row of a figure and its interval; without a record they are undefined."""
    value, low, high = (getattr(record, name, math.nan) for name in (figure, "low", "high"))
    return DotRow(value=value, low=low, high=high, **row)


def make_heading_rows(text: str, frame: Frame) -> list[DotRow]:
    """Begin a group with a heading, in as many lines as it needs."""
    lines = wrap_text(text, size=1.08 * FONT_PX, width=frame.width)
    return [
        DotRow(label=line, is_heading=True, starts_group=place == 0)
        for place, line in enumerate(lines)
    ]


def draw_dots(
    frame: Frame,
    rows: Sequence[DotRow],
    *,
    heading: str,
    alt: str,
    x_title: str,
    key: Key,
    limits: tuple[float, float] = (math.nan, math.nan),
    bounds: tuple[float, float] = (-math.inf, math.inf),
    line: float = math.nan,
    band: tuple[float, float] = (math.nan, math.nan),
    note: str = "",
) -> Figure:
    """Draw rows on one scale.

    It always shows `limits` and never goes beyond `bounds`; `line` is upright, `band` shaded.
    """
    widest = estimate_widest_px((row.label for row in rows if not row.is_heading), FONT_PX) + 10
    is_above = frame.ax is None and widest > _MOST_BESIDE * frame.width
    left = 8.0 if is_above else widest
    steps = [
        (1.0 if row.is_heading or not is_above else 1.9) + _GROUP_GAP * (row.starts_group and n > 0)
        for n, row in enumerate(rows)
    ]
    places = [place - 0.5 for place in accumulate(steps)]
    texts = [frame.say.two_digits(row.value) if row.number is None else row.number
               for row in rows]  # fmt: skip
    numbers = ["" if row.is_heading else text for row, text in zip(rows, texts, strict=True)]
    right = estimate_widest_px(numbers) + 12

    def draw(axes: Axes) -> None:
        low, high = _compute_limits(rows, [line, *limits, *band], bounds)
        if math.isfinite(band[0]):
            axes.axvspan(*band, color=LIGHT["region-1"], linewidth=0, zorder=0.4, gid="band")
        if math.isfinite(line) and not is_above:
            axes.axvline(line, zorder=1.5, gid="line", **LINE)
        elif math.isfinite(line):  # names stand between the rows
            lows, highs = ([at + end for at in places] for end in (-0.3, 0.4))
            axes.vlines([line] * len(places), lows, highs, zorder=1.5, gid="line", **LINE)
        for place, (row, at) in enumerate(zip(rows, places, strict=True)):
            _draw_row(axes, row, place=place, at=at)
        axes.set_ylim(sum(steps) + 0.1, 0)
        set_scale(axes.xaxis, low, high, frame.say)
        if frame.ax is None:
            _write_numbers(axes, numbers, places, room=right)
        _write_labels(axes, rows, places, is_above=is_above, left=None if frame.ax else left)

    panel = Panel(draw=draw, height=(sum(steps) + 0.1) * _STEP_PX, left=left, right=right,
                  x_title=x_title, note=note, above=2.0)  # fmt: skip
    return draw_chart(frame, heading=heading, alt=alt, panels=[panel], key=key)


def _compute_limits(
    rows: Sequence[DotRow], shown: Sequence[float], bounds: tuple[float, float]
) -> tuple[float, float]:
    values = keep_finite([*shown, *(figure for row in rows for figure in row.figures)]) or [
        0.0,
        1.0,
    ]
    low, high = min(values), max(values)
    pad = 0.04 * (high - low) or 0.05
    return max(low - pad, bounds[0] - pad), min(high + pad, bounds[1] + pad)


def _draw_row(axes: Axes, row: DotRow, *, place: int, at: float) -> None:
    value = style_mark(row.outcome, row.colour)
    marks: Any = (
        ("range", row.range_, RANGE | {"zorder": 1.8}),
        ("interval", (row.low, row.high), {"color": row.colour, "zorder": 2}),
        ("reference", (row.reference,), REFERENCE | {"zorder": 2.5}),
        ("value", (row.value,), value | {"zorder": 3}),
        *((name, (x,), style | {"zorder": 2.5}) for name, x, style in row.marks),
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
        if text:
            axes.text(1, at, text, transform=end, **style)


def _write_labels(
    axes: Axes,
    rows: Sequence[DotRow],
    places: Sequence[float],
    *,
    is_above: bool,
    left: float | None,
) -> None:
    """Write names beside their rows or above them; headings, in bold, begin at `left`."""
    up = [0.78 if is_above and not row.is_heading else 0.0 for row in rows]
    at = [place - offset for place, offset in zip(places, up, strict=True)]
    set_ticks(axes.yaxis, at, [row.label for row in rows], fontsize=FONT_PX)
    for tick, row in zip(axes.yaxis.get_major_ticks(), rows, strict=True):
        if left is not None and (is_above or row.is_heading):
            tick.set_pad(left)
            tick.label1.set_horizontalalignment("left")
        tick.label1.set_color(LIGHT["muted" if row.outcome == "control" else "ink"])
        tick.label1.set_fontweight("bold" if row.is_heading else "normal")
