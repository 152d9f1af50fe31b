"""Sums behind the comparison of a slice of the items with the items elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Side", "SliceSums", "sum_slices"]

_ROUNDING = 1e-13
"""Squares of gaps below it, relative to the number of items, are rounding."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """The items on one side: their number, mean gap, and squares of residuals.

    `squares` are summed over units (items, or clusters), `item_squares` over items.
    """

    n_items: int
    mean: float
    n_units: int
    squares: float
    item_squares: float

    @property
    def scale(self) -> float:
        """What makes the sum of squares of residuals an unbiased one."""
        return self.n_units / (self.n_units - 1)

    @property
    def squared_error(self) -> float:
        """Of the mean."""
        return self.squares * self.scale / self.n_items**2


@dataclass(frozen=True, kw_only=True)
class SliceSums:
    """Both sides of one comparison; means are less `centre`, `covariance` is that of the means."""

    column: int
    value: int
    centre: float
    inside: Side
    elsewhere: Side
    covariance: float
    n_units: int
    min_items: int

    def why_not(self) -> str | None:
        """Say why it cannot be tested."""
        if self.elsewhere.n_items < self.min_items:
            return f"fewer than {self.min_items} items elsewhere"
        if min(self.inside.n_units, self.elsewhere.n_units) < 2:
            return "fewer than two clusters on one side"
        squares = self.inside.squares + self.elsewhere.squares
        items = self.inside.item_squares + self.elsewhere.item_squares
        return "the clusters leave no variance to test with" if squares == 0 < items else None


def sum_slices(
    codes: NDArray[np.int64],
    gaps: NDArray[np.float64],
    *,
    units: NDArray[np.intp] | None,
    column: int,
    min_items: int,
) -> list[SliceSums]:
    """Sum every slice of at least `min_items` items, and the items elsewhere.

    Parameters
    ----------
    codes : ndarray of int, shape (n_items,)
        The slice of each item, -1 where unknown.
    gaps : ndarray of float, shape (n_items,)
        nan where the judge was not compared.
    units : ndarray of int, shape (n_items,), or None
        Clusters.
    column : int
        The place of the column.
    min_items : int
        Fewest items with a gap.
    """
    kept = ~np.isnan(gaps) & (codes >= 0)
    codes, centred = codes[kept], gaps[kept]
    if not codes.size:
        return []
    centre = float(centred.mean())  # so that sums of squares keep their digits
    values = _Values.of(codes, centred - centre)
    listed = np.flatnonzero(values.items >= min_items).tolist()
    if units is None:
        found = ((value, *values.sides(value), 0.0, len(codes)) for value in listed)
    else:
        clusters = _Clusters.of(codes, centred - centre, units[kept])
        found = ((value, *clusters.sides(value, values), clusters.n_units) for value in listed)
    return [
        SliceSums(
            column=column,
            value=value,
            centre=centre,
            inside=inside,
            elsewhere=elsewhere,
            covariance=covariance,
            n_units=n_units,
            min_items=min_items,
        )
        for value, inside, elsewhere, covariance, n_units in found
    ]


@dataclass(frozen=True, kw_only=True)
class _Values:
    """Per slice: items, their gaps added up, and the squares of these."""

    items: NDArray[np.int64]
    gaps: NDArray[Any]
    squares: NDArray[Any]

    @staticmethod
    def of(codes: NDArray[np.int64], gaps: NDArray[np.float64]) -> _Values:
        return _Values(
            items=np.bincount(codes),
            gaps=np.bincount(codes, gaps),
            squares=np.bincount(codes, gaps**2),
        )

    def sides(self, value: int) -> tuple[Side, Side]:
        """Give the slice and the rest, every item a unit."""
        own = int(self.items[value]), float(self.gaps[value]), float(self.squares[value])
        whole = int(self.items.sum()), float(self.gaps.sum()), float(self.squares.sum())
        rest = (whole[0] - own[0], whole[1] - own[1], whole[2] - own[2])
        return _side_of_items(*own), _side_of_items(*rest)


@dataclass(frozen=True, kw_only=True)
class _Totals:
    """Sums per unit: of the gaps, and of the items."""

    gaps: NDArray[Any]
    items: NDArray[np.int64]

    def moments(self) -> NDArray[np.float64]:
        """Σg², Σgn and Σn² over units: what squares of residuals around any mean are made of."""
        n = self.items.astype(np.float64)
        return np.array([(self.gaps**2).sum(), (self.gaps * n).sum(), (n * n).sum()])


@dataclass(frozen=True, kw_only=True)
class _Clusters:
    """Sums per cluster, and per slice and cluster; `ends` cuts the latter by slice."""

    whole: _Totals
    inside: _Totals
    cluster: NDArray[np.int64]
    ends: NDArray[np.intp]

    @property
    def n_units(self) -> int:
        return len(self.whole.items)

    @staticmethod
    def of(
        codes: NDArray[np.int64], gaps: NDArray[np.float64], units: NDArray[np.intp]
    ) -> _Clusters:
        units = np.unique(units, return_inverse=True)[1]
        whole = _Totals(gaps=np.bincount(units, gaps), items=np.bincount(units))
        pairs, place = np.unique(codes * len(whole.items) + units, return_inverse=True)
        owner, cluster = np.divmod(pairs, len(whole.items))
        return _Clusters(
            whole=whole,
            inside=_Totals(gaps=np.bincount(place, gaps), items=np.bincount(place)),
            cluster=cluster,
            ends=np.searchsorted(owner, np.arange(int(codes.max()) + 2)),
        )

    def sides(self, value: int, values: _Values) -> tuple[Side, Side, float]:
        """Give the slice, the rest, and the covariance of their means through shared clusters."""
        part = slice(self.ends[value], self.ends[value + 1])
        touched = self.cluster[part]
        own = _Totals(gaps=self.inside.gaps[part], items=self.inside.items[part])
        before = _Totals(gaps=self.whole.gaps[touched], items=self.whole.items[touched])
        rest = _Totals(gaps=before.gaps - own.gaps, items=before.items - own.items)
        shared = rest.items > 0
        by_item = values.sides(value)
        n_rest = self.n_units - int(np.count_nonzero(~shared))
        moments = self.whole.moments() - before.moments() + rest.moments()
        inside = _clustered(by_item[0], own.moments(), n_units=len(touched))
        elsewhere = _clustered(by_item[1], moments, n_units=n_rest)
        if not shared.any() or min(inside.n_units, elsewhere.n_units) < 2:
            return inside, elsewhere, 0.0
        ours = own.gaps - inside.mean * own.items
        theirs = rest.gaps - elsewhere.mean * rest.items
        scale = (inside.scale * elsewhere.scale) ** 0.5 / (inside.n_items * elsewhere.n_items)
        return inside, elsewhere, float((ours * theirs)[shared].sum()) * scale


def _side_of_items(n_items: int, total: float, square: float) -> Side:
    mean = total / n_items if n_items else float("nan")
    squares = _above_rounding(square - n_items * mean**2, n_items)
    return Side(n_items=n_items, mean=mean, n_units=n_items, squares=squares, item_squares=squares)


def _clustered(side: Side, moments: NDArray[np.float64], *, n_units: int) -> Side:
    mean = side.mean
    squares = float(moments @ np.array([1.0, -2 * mean, mean**2]))
    return replace(side, n_units=n_units, squares=_above_rounding(squares, side.n_items))


def _above_rounding(squares: float, n_items: int) -> float:
    return 0.0 if squares <= _ROUNDING * n_items else squares
