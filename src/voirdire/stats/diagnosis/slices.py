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
from voirdire.stats.diagnosis.slice_sums import sum_slices
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.label_arrays import check_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.diagnosis.slice_sums import SliceSums

__all__ = ["SliceResult", "compare_slices", "quartile_codes"]

_ROUNDING = 1e-13
"""Squares of gaps below it, relative to the number of items, are rounding."""


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
    units = check_clusters(clusters, len(values))
    found = [
        row
        for place, codes in enumerate(columns)
        for row in sum_slices(
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


def _tested(found: SliceSums, level: float) -> SliceResult:
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


def _welch(found: SliceSums) -> tuple[float, float]:
    """Compute the standard error and its degrees of freedom, each side with its variance."""
    inside, elsewhere = found.inside, found.elsewhere
    first, second = inside.squared_error, elsewhere.squared_error
    error = np.sqrt(max(first + second - 2 * found.covariance, 0.0))
    most = float(found.n_units - 1)
    if first + second == 0:
        return float(error), most
    parts = first**2 / (inside.n_units - 1) + second**2 / (elsewhere.n_units - 1)
    return float(error), min((first + second) ** 2 / parts, most)


def _pooled(found: SliceSums) -> tuple[float, float]:
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
