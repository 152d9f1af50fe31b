"""Place numbers on the scales of tracks and charts: shares of a box that a browser stretches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.number_formats import decimal
from voirdire.reporting.pages.view import Scatter, Track

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.reporting.pages.view import Lines, Table


_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """From one number to another, with round numbers between them.

    Attributes
    ----------
    low, high : float
        The ends.
    ticks : tuple of float
        Round numbers, or those that were given.
    """

    low: float
    high: float
    ticks: tuple[float, ...] = ()

    @staticmethod
    def of(
        values: Iterable[float],
        *,
        ends: tuple[float, float] | None = None,
        ticks: tuple[float, ...] | None = None,
        room: float = 0.04,
        most: int = 6,
    ) -> Scale:
        """Find a scale for numbers, with some room at its ends, and at most so many ticks."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = ends or (min(finite), max(finite))
        pad = room * (high - low) or 0.05 * abs(high) or 0.05
        if ticks is None:
            rough = (high - low or 2 * pad) / most
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
            first = math.ceil(low / step - 1e-9)
            ticks = tuple(n * step for n in range(first, math.floor(high / step + 1e-9) + 1))
        return Scale(low=low - pad, high=high + pad, ticks=ticks)

    def share(self, value: float) -> float:
        """Tell how far along the scale a number stands, from 0 to 100."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def tick_text(self, value: float, *, leading_zero: bool) -> str:
        """Write a tick with the digits that tell it from the next one."""
        gaps = [b - a for a, b in zip(self.ticks, self.ticks[1:], strict=False)]
        step = min(gaps, default=abs(value) or 1.0)
        digits = next((n for n in range(6) if abs(round(step, n) - step) < 1e-9 * step), 6)
        digits = max(digits, next((n for n in range(6) if abs(round(value, n) - value) < 1e-9), 6))
        return f"{value:,.0f}" if not digits else decimal(value, digits=digits,
                                                          leading_zero=leading_zero)  # fmt: skip


def scales_of_tracks(table: Table) -> dict[int, Scale]:
    """Find the scale of each column of tracks, which the levels across it are on too."""
    columns: dict[int, list[float]] = {}
    for row in table.rows:
        for place, cell in enumerate(row):
            if isinstance(cell, Track):
                columns.setdefault(place, []).extend(cell.figures)
    levels = [level for level, _ in table.levels]
    return {place: Scale.of([*values, *levels]) for place, values in columns.items()}


def plane_of(chart: Lines | Scatter) -> tuple[Scale, Scale]:
    """Find the scales of a chart, across and up."""
    if isinstance(chart, Scatter):
        ends = [value for x, y, *_ in chart.points for value in (x, y)]
        low = max(math.floor((min(ends, default=0.0) - 0.05) * 10) / 10, 0.0)
        scale = Scale.of((), ends=(low, 1.0), room=0.03)
        return scale, scale
    if chart.is_square:
        scale = Scale.of((), ends=(0.0, 1.0), ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
        return scale, scale
    xs = [x for each in chart.series for x, _ in each.points]
    ys = [y for each in chart.series for _, y in each.points]
    ys += [end for each in chart.series for ends in each.ends for end in ends]
    ys += [level for level, _ in chart.levels]
    return (Scale.of(xs, ticks=chart.x_ticks), Scale.of(ys, ends=chart.y_scale, most=5))
