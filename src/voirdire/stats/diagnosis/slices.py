r"""Compares a judge's lead over the annotators in one slice of the items and elsewhere.

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

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import check_codes
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, NO_OUTCOME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.preparation import Prepared

__all__ = ["ROUNDING", "SliceResult", "above_rounding", "compare_slices", "item_gaps"]

ROUNDING = 1e-13
"""Squares and means below it, relative to the number of items, are rounding errors."""


@dataclass(frozen=True, kw_only=True)
class SliceResult:
    """One slice of the items against the items elsewhere.

    Attributes
    ----------
    column, value : int or str
        Which slice: the place of its column and its code there; in a diagnosis their names.
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

    column: int | str
    value: int | str
    n_items: int
    n_elsewhere: int
    gap: float
    gap_elsewhere: float
    difference: float
    low: float
    high: float
    confidence_level: Share
    p_value: Share
    p_adjusted: Share = float("nan")
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
    rows = [
        row
        for place, codes in enumerate(columns)
        for row in _compare_column(
            _check_codes(codes, len(values)),
            values,
            units=units,
            column=place,
            min_items=min_items,
            level=level,
        )
    ]
    adjusted = adjust_p_values([row.p_value for row in rows])
    return [
        replace(row, p_adjusted=p, worse=bool(p <= rate and row.difference < 0))
        for row, p in zip(rows, adjusted.tolist(), strict=True)
    ]


def _check_codes(codes: ArrayLike, n_items: int) -> NDArray[Any]:
    array = check_codes("columns", codes)
    if array.shape != (n_items,):
        msg = f"`columns` must hold integer codes of the shape ({n_items},), got {array.shape}."
        raise InputError(msg)
    return array.astype(np.int64, copy=False)


def _compare_column(
    codes: NDArray[np.int64],
    gaps: NDArray[np.float64],
    *,
    units: NDArray[np.intp] | None,
    column: int,
    min_items: int,
    level: float,
) -> list[SliceResult]:
    """Compare all slices of a column.

    Arrays of two rows hold the slices and the items elsewhere.
    """
    kept = ~np.isnan(gaps) & (codes >= 0)
    codes, gaps = codes[kept], gaps[kept]
    if not codes.size:
        return []
    centre = float(gaps.mean())  # to keep the precision of sums of squares
    gaps = gaps - centre
    inside = np.stack([np.bincount(codes, weights) for weights in (gaps**2, gaps, None)])
    sums = np.stack([inside, inside.sum(axis=1, keepdims=True) - inside], axis=1)
    n_items = sums[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[1] / n_items
        item_squares = above_rounding(sums[0] - n_items * means**2, n_items)
        n_units, squares, n_all = n_items, item_squares, len(codes)
        shared = np.zeros(means.shape[1])
        if units is not None:
            n_units, squares, shared, n_all = _sum_clusters(codes, gaps, units[kept], means)
            squares = above_rounding(squares, n_items)
    cases = {
        f"fewer than {min_items} items elsewhere": n_items[1] < min_items,
        "fewer than two clusters on one side": n_units.min(axis=0) < 2,
        "the clusters leave no variance to test with": (squares.sum(axis=0) == 0)
        & (item_squares.sum(axis=0) > 0),
    }
    reasons = np.select([*cases.values()], [*cases], default="")
    difference = means[0] - means[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tests = _t_tests(
            difference, squares, shared, n_items=n_items, n_units=n_units, n_all=n_all, level=level
        )
    p_value, half = np.where(reasons == "", tests, np.nan)
    figures = {
        "value": np.arange(len(reasons)),
        "n_items": n_items[0].astype(np.int64),
        "n_elsewhere": n_items[1].astype(np.int64),
        "gap": means[0] + centre,
        "gap_elsewhere": means[1] + centre,
        "difference": difference,
        "low": np.maximum(difference - half, -2.0),
        "high": np.minimum(difference + half, 2.0),
        "p_value": p_value,
        "reason": np.where(reasons == "", np.array(None), reasons),
    }
    listed = n_items[0] >= min_items
    rows = zip(*(array[listed].tolist() for array in figures.values()), strict=True)
    return [
        SliceResult(column=column, confidence_level=level, **dict(zip(figures, row, strict=True)))
        for row in rows
    ]


def _sum_clusters(
    codes: NDArray[np.int64],
    gaps: NDArray[np.float64],
    units: NDArray[np.intp],
    means: NDArray[np.float64],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Count clusters, and sum their squares and products on both sides.

    A cluster's items elsewhere are all of its items less those in the slice.
    """
    whole = np.stack([np.bincount(units, gaps), np.bincount(units)])
    n_all = int(np.count_nonzero(whole[1]))
    pairs, place = np.unique(codes * whole.shape[1] + units, return_inverse=True)
    value, cluster = np.divmod(pairs, whole.shape[1])
    inside = np.stack([np.bincount(place, gaps), np.bincount(place)])
    before = whole[:, cluster]
    rest = before - inside

    def residuals(sums: NDArray[Any], side: int) -> NDArray[np.float64]:
        return sums[0] - means[side, value] * sums[1]

    def total(weights: NDArray[Any] | None) -> NDArray[Any]:
        return np.bincount(value, weights, means.shape[1])

    ours, theirs = residuals(inside, 0), residuals(rest, 1)
    mean = means[1]
    untouched = (
        whole[0] @ whole[0] - 2 * mean * (whole[0] @ whole[1]) + mean**2 * (whole[1] @ whole[1])
    )
    untouched -= total(residuals(before, 1) ** 2)
    squares = np.stack([total(ours**2), untouched + total(theirs**2)])
    n_units = np.stack([total(None), n_all - total(rest[1] == 0)])
    return n_units, squares, total(ours * theirs), n_all


def _t_tests(
    difference: NDArray[np.float64],
    squares: NDArray[np.float64],
    shared: NDArray[np.float64],
    *,
    n_items: NDArray[Any],
    n_units: NDArray[Any],
    n_all: int,
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the larger p-value of both tests, and half the width of the interval."""
    scale, both = (
        n_units / (n_units - 1),
        n_units.sum(axis=0),
    )  # factors that make the squares unbiased
    covariance = shared * np.sqrt(scale.prod(axis=0)) / n_items.prod(axis=0)
    variances = squares * scale / n_items**2
    parts = (variances**2 / (n_units - 1)).sum(axis=0)
    freedom = np.where(parts == 0, n_all, variances.sum(axis=0) ** 2 / parts)
    variance = squares.sum(axis=0) * both / (both - 2) / n_items.sum(axis=0)
    squared = np.stack([variances.sum(axis=0), variance * (1 / n_items).sum(axis=0)])
    errors = np.sqrt(np.maximum(squared - 2 * covariance, 0.0))  # Welch's, and with one variance
    degrees = np.minimum([freedom, both - 2], n_all - 1)
    certain = np.where(np.abs(difference) < ROUNDING, 1.0, 0.0)
    p_values = np.where(errors == 0, certain, 2 * stdtr(degrees, -np.abs(difference) / errors))
    halves = stdtrit(degrees, (1 + level) / 2) * errors
    return p_values.max(axis=0), np.where((squares == 0).any(axis=0), halves[1], halves[0])


def above_rounding(squares: NDArray[np.float64], n_items: NDArray[Any]) -> NDArray[np.float64]:
    """Set sums of squares to 0 that are only rounding errors."""
    return np.where(squares <= ROUNDING * n_items, 0.0, squares)


def item_gaps(prepared: Prepared) -> list[NDArray[np.float64]]:
    """Return, by judge and item, the share of annotators that it beats less the share who beat it.

    An expert's own comparisons and imbalance weights are not used; nan where there is no
    comparison.
    """
    gaps = []
    for outcomes in prepared.comparison.outcomes(prepared.raters):
        if prepared.settings.excluded is not None:
            outcomes[prepared.settings.excluded] = NO_OUTCOME
        wins, losses, nobody = (
            np.count_nonzero(outcomes == outcome, axis=0)
            for outcome in (JUDGE_WINS, HUMAN_WINS, NO_OUTCOME)
        )
        with np.errstate(invalid="ignore"):
            gaps.append((wins - losses) / (len(outcomes) - nobody))
    return gaps
