r"""Where a judge does worse: its lead over the annotators in one slice of the items and elsewhere.

The gap of item i is the share of the annotators whom the judge beats on it less the share who
beat the judge, :math:`g_i = \operatorname{mean}_j (W^f_{ij} - W^h_{ij})`. The means of a slice and
of the items elsewhere are compared by Welch's t-test [1]_; where items come in clusters, residuals
are summed by cluster before they are squared, and clusters that reach into both sides count with
their covariance.

Gaps take few values, and the few items of a slice may by chance all have the same one, which
Welch's test takes for certainty. The p-value is hence the larger of Welch's and that of the t-test
with one variance for both; the interval uses that variance where one side has none.

References
----------
.. [1] B. L. Welch, "The generalization of 'Student's' problem when several different population
   variances are involved", Biometrika 34(1-2), 1947.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from voirdire._validation import check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import check_units
from voirdire.stats.fdr import adjust_p_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["SliceResult", "compare_slices", "quartile_codes"]

_ROUNDING = 1e-13
"""Squares of gaps below it, relative to the number of items, are rounding."""


@dataclass(frozen=True, kw_only=True)
class _Side:
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
class _SliceSums:
    """Both sides of one comparison; means are less `centre`, `covariance` is that of the means."""

    column: int
    value: int
    centre: float
    inside: _Side
    elsewhere: _Side
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


def _sum_slices(
    codes: NDArray[np.int64],
    gaps: NDArray[np.float64],
    *,
    units: NDArray[np.intp] | None,
    column: int,
    min_items: int,
) -> list[_SliceSums]:
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
        _SliceSums(
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

    def sides(self, value: int) -> tuple[_Side, _Side]:
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

    def sides(self, value: int, values: _Values) -> tuple[_Side, _Side, float]:
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


def _side_of_items(n_items: int, total: float, square: float) -> _Side:
    mean = total / n_items if n_items else float("nan")
    squares = _above_rounding(square - n_items * mean**2, n_items)
    return _Side(n_items=n_items, mean=mean, n_units=n_items, squares=squares, item_squares=squares)


def _clustered(side: _Side, moments: NDArray[np.float64], *, n_units: int) -> _Side:
    mean = side.mean
    squares = float(moments @ np.array([1.0, -2 * mean, mean**2]))
    return replace(side, n_units=n_units, squares=_above_rounding(squares, side.n_items))


def _above_rounding(squares: float, n_items: int) -> float:
    return 0.0 if squares <= _ROUNDING * n_items else squares


"""Squares of gaps below it, relative to the number of items, are rounding."""


# Comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SliceResult:
    """One slice of the items against the items elsewhere.

    Attributes
    ----------
    column, value : int
        Which slice: the place of its column, and its code there.
    n_items, n_elsewhere : int
        Items with a gap inside, and with another value of the column.
    gap, gap_elsewhere : float
        Mean gaps, in [-1, 1]; nan without items.
    difference : float
        `gap` - `gap_elsewhere`; negative where the judge does worse.
    low, high : float
        Ends of its interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    p_value : float
        Two-sided, of no difference; nan where undefined.
    p_adjusted : float
        After Benjamini-Yekutieli over all slices.
    worse : bool
        Whether `p_adjusted` is at most the false discovery rate and `difference` negative.
    reason : str or None
        Why a figure is nan.
    """

    column: int
    value: int
    n_items: int
    n_elsewhere: int
    gap: float
    gap_elsewhere: float
    difference: float
    low: float
    high: float
    confidence_level: float
    p_value: float
    p_adjusted: float = float("nan")
    worse: bool = False
    reason: str | None = None


def compare_slices(
    gaps: ArrayLike,
    columns: Sequence[ArrayLike],
    *,
    clusters: ArrayLike | None = None,
    min_items: int = 10,
    confidence_level: float = 0.95,
    false_discovery_rate: float = 0.05,
) -> list[SliceResult]:
    """Compare every slice of the items with the items elsewhere.

    Parameters
    ----------
    gaps : array_like of float, shape (n_items,)
        The gap of each item, in [-1, 1]; nan where the judge was not compared.
    columns : sequence of array_like of int, shape (n_items,)
        For each way to slice, the code of the slice of each item, -1 where unknown: such items
        are neither inside nor elsewhere.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    min_items : int, optional
        Fewest items with a gap for a slice to be listed, and elsewhere for it to be tested; at
        least 2.
    confidence_level : float, optional
        Nominal coverage of the intervals, a fraction in (0, 1).
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over all slices, in (0, 1).

    Returns
    -------
    list of SliceResult
        Column by column, slice by slice. Interval and p-values are nan, with a reason, with too
        few items elsewhere, with fewer than two clusters on a side, or where clusters leave no
        variance.

    Raises
    ------
    InputError
        If shapes or settings break a rule above.

    Notes
    -----
    Both slices of a column of two values have the same p-value. With clusters there are at most as
    many degrees of freedom as clusters, less one. Reference values in the tests come from
    `scipy.stats.ttest_ind` and plain loops.

    Examples
    --------
    >>> import numpy as np
    >>> kind = np.arange(120) % 3
    >>> gaps = np.where((kind == 2) & (np.arange(120) % 4 > 0), -1.0, 0.0)
    >>> [(row.value, round(row.difference, 2), row.worse) for row in compare_slices(gaps, [kind])]
    [(0, 0.38, False), (1, 0.38, False), (2, -0.75, True)]
    """
    min_items = check_count("min_items", min_items, minimum=2)
    level = check_fraction("confidence_level", confidence_level)
    rate = check_fraction("false_discovery_rate", false_discovery_rate)
    values = np.asarray(gaps, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        msg = f"`gaps` must be finite of the shape (n_items,), got the shape {values.shape}."
        raise InputError(msg)
    units = check_units(clusters, len(values))
    found = [
        row
        for place, codes in enumerate(columns)
        for row in _sum_slices(
            _check_codes(codes, len(values)),
            values,
            units=units,
            column=place,
            min_items=min_items,
        )
    ]
    rows = [_tested(slice_, level) for slice_ in found]
    adjusted = adjust_p_values([row.p_value for row in rows])
    return [
        replace(row, p_adjusted=p, worse=bool(p <= rate and row.difference < 0))
        for row, p in zip(rows, adjusted.tolist(), strict=True)
    ]


def quartile_codes(numbers: ArrayLike) -> NDArray[np.int64]:
    """Cut numbers into quarters; equal numbers stay together, so there may be fewer.

    Parameters
    ----------
    numbers : array_like of float, shape (n_items,)
        nan where unknown.

    Returns
    -------
    ndarray of int, shape (n_items,)
        0 for the lowest quarter and so on, -1 where unknown.

    Examples
    --------
    >>> quartile_codes([1, 2, 3, 4, 5, 6, 7, 8]).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    values = np.asarray(numbers, dtype=np.float64)
    known = values[~np.isnan(values)]
    if not known.size:
        return np.full(values.shape, -1)
    edges = np.unique(np.quantile(known, (0.25, 0.5, 0.75), method="inverted_cdf"))
    below = known[known < known.max()]
    if below.size and edges[0] == known.max():  # most are the largest: cut right below it
        edges = below.max(keepdims=True)
    codes = np.searchsorted(edges[edges < known.max()], values, side="left")
    return np.where(np.isnan(values), -1, codes)


def _tested(found: _SliceSums, level: float) -> SliceResult:
    inside, elsewhere = found.inside, found.elsewhere
    difference = inside.mean - elsewhere.mean
    reason = found.why_not()
    low = high = p_value = float("nan")
    if reason is None:
        welch, pooled = _welch(found), _pooled(found)
        p_value = max(_two_sided(difference, *welch), _two_sided(difference, *pooled))
        error, freedom = pooled if 0 in (inside.squares, elsewhere.squares) else welch
        half = float(stdtrit(freedom, (1 + level) / 2)) * error
        low, high = max(difference - half, -2.0), min(difference + half, 2.0)
    return SliceResult(
        column=found.column,
        value=found.value,
        n_items=inside.n_items,
        n_elsewhere=elsewhere.n_items,
        gap=inside.mean + found.centre,
        gap_elsewhere=elsewhere.mean + found.centre,
        difference=difference,
        low=low,
        high=high,
        confidence_level=level,
        p_value=p_value,
        reason=reason,
    )


def _welch(found: _SliceSums) -> tuple[float, float]:
    """Compute the standard error and its degrees of freedom, each side with its variance."""
    inside, elsewhere = found.inside, found.elsewhere
    first, second = inside.squared_error, elsewhere.squared_error
    error = np.sqrt(max(first + second - 2 * found.covariance, 0.0))
    most = float(found.n_units - 1)
    if first + second == 0:
        return float(error), most
    parts = first**2 / (inside.n_units - 1) + second**2 / (elsewhere.n_units - 1)
    return float(error), min((first + second) ** 2 / parts, most)


def _pooled(found: _SliceSums) -> tuple[float, float]:
    """Compute the same with one variance for both sides."""
    inside, elsewhere = found.inside, found.elsewhere
    n_units = inside.n_units + elsewhere.n_units
    squares = (inside.squares + elsewhere.squares) * n_units / (n_units - 2)
    variance = squares / (inside.n_items + elsewhere.n_items)
    squared = variance * (1 / inside.n_items + 1 / elsewhere.n_items) - 2 * found.covariance
    return float(np.sqrt(max(squared, 0.0))), min(n_units - 2.0, found.n_units - 1.0)


def _two_sided(difference: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if abs(difference) < _ROUNDING else 0.0
    return 2 * float(stdtr(freedom, -abs(difference) / error))


def _check_codes(codes: ArrayLike, n_items: int) -> NDArray[Any]:
    array = np.asarray(codes)
    if array.shape != (n_items,) or not np.issubdtype(array.dtype, np.integer):
        msg = (
            f"`columns` must hold integer codes of the shape ({n_items},), "
            f"got {array.dtype} of the shape {array.shape}."
        )
        raise InputError(msg)
    return array.astype(np.int64, copy=False)
