r"""Krippendorff's α with an interval, for any number of raters and any missing labels.

With :math:`m_i \ge 2` labels on item i, n labels in all and :math:`\delta` the squared metric,

.. math:: \alpha = 1 - D_o / D_e, \quad
   D_o = \frac1n \sum_i \frac{\sum_{a \ne b} \delta(a, b)}{m_i - 1}, \quad
   D_e = \frac{1}{n(n-1)} \sum_{a \ne b} \delta(a, b),

the second sum over all pairs of labels whatever their item [1]_. Both are smooth functions of sums
over items, so the standard error of α follows from each item's influence on them, summed within
clusters where there are any; `agreement_interval` makes the interval from it, in Fisher's z.

References
----------
.. [1] K. Krippendorff, "Content Analysis", 4th edition, 2018, chapter 12.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.agreement.coefficient import check_units, make_interval
from voirdire.stats.label_distance import CodedMetric, Level, make_metric
from voirdire.stats.label_sets import LabelSets
from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["KrippendorffResult", "Level", "krippendorff_alpha"]

_ITEMS_AT_ONCE = 16_384


@dataclass(frozen=True, kw_only=True)
class KrippendorffResult:
    """Krippendorff's α and what it rests on.

    Attributes
    ----------
    alpha : float
        At most 1; 0 is chance. nan where it is undefined (see `reason`).
    low, high : float
        Ends of the interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    level : str
        The metric: nominal, ordinal, interval, ratio or sets.
    n_items : int
        Items with at least two labels.
    n_labels : int
        Labels on those items.
    n_clusters : int
        Independent units behind the interval.
    reason : str or None
        Why a figure is nan.
    """

    alpha: float
    low: float
    high: float
    confidence_level: float
    level: Level
    n_items: int
    n_labels: int
    n_clusters: int
    reason: str | None = None


def krippendorff_alpha(
    labels: ArrayLike,
    *,
    level: Level = "nominal",
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Measure how far raters agree beyond chance, missing labels allowed.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        For ``"nominal"`` and ``"sets"`` integer codes with -1 for missing; otherwise numbers
        with nan for missing.
    level : {"nominal", "ordinal", "interval", "ratio", "sets"}, optional
        The squared metric: unequal labels; difference of midranks; difference; difference over
        sum (labels must be positive or zero); Jaccard distance of label sets.
    label_sets : array_like of bool, shape (n_sets, n_labels), optional
        For ``"sets"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    KrippendorffResult
        α is nan without two labels on any item, or where all labels are equal; the interval is
        nan with fewer than two clusters, and closes on 1 under perfect agreement.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If α is undefined.

    Notes
    -----
    The interval takes the items, or clusters, as the random sample. Reference values in the tests
    come from the `krippendorff` package.

    Examples
    --------
    >>> result = krippendorff_alpha([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, -1]])
    >>> round(result.alpha, 3)
    0.667
    """
    result = measure_agreement(
        labels,
        level=level,
        label_sets=label_sets,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    if result.reason is not None:
        what = "α" if np.isnan(result.alpha) else "the interval of α"
        msg = f"{what} is undefined: {result.reason}."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    return result


def measure_agreement(
    labels: ArrayLike,
    *,
    level: Level,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Do what `krippendorff_alpha` does, but leave it to the caller to warn."""
    check_choice("level", level, Level)
    check_fraction("confidence_level", confidence_level)
    matrix = _check_labels(labels, level, label_sets)
    units = check_units(clusters, len(matrix))
    paired = _paired_items(matrix, level)
    if not paired.all():
        matrix, units = matrix[paired], None if units is None else units[paired]
    observed, expected, reason = _disagreements(matrix, level, label_sets)
    n_clusters = len(matrix) if units is None else len(np.unique(units))
    alpha, low, high = _interval(observed, expected, units, confidence_level, reason)
    if reason is None and n_clusters < 2:
        reason = "an interval needs at least two items, or two clusters"
    return KrippendorffResult(
        alpha=alpha,
        low=low,
        high=high,
        confidence_level=confidence_level,
        level=level,
        n_items=len(matrix),
        n_labels=int(expected.n_labels.sum()),
        n_clusters=n_clusters,
        reason=reason,
    )


def _check_labels(
    labels: ArrayLike, level: Level, label_sets: ArrayLike | LabelSets | None
) -> NDArray[Any]:
    matrix = np.asarray(labels)
    if matrix.ndim != 2:
        msg = f"`labels` must have the shape (n_items, n_raters), got {matrix.shape}."
        raise InputError(msg)
    coded = level in ("nominal", "sets")
    if coded and not np.issubdtype(matrix.dtype, np.integer):
        msg = f"`labels` must be integer codes for {level!r}, got {matrix.dtype}. Missing is -1."
        raise InputError(msg)
    if level == "sets" and label_sets is None:
        msg = "`label_sets` must be given for 'sets', got None."
        raise InputError(msg)
    if coded:
        _check_codes(matrix, label_sets if level == "sets" else None)
        return matrix
    numbers = matrix.astype(np.float64, copy=False)
    if np.isinf(numbers).any() or (level == "ratio" and (numbers < 0).any()):
        rule = "finite numbers, none below 0" if level == "ratio" else "finite numbers"
        msg = f"`labels` must be {rule} for {level!r}, nan where missing."
        raise InputError(msg)
    return numbers


def _check_codes(matrix: NDArray[Any], label_sets: ArrayLike | LabelSets | None) -> None:
    low, high = (int(matrix.min()), int(matrix.max())) if matrix.size else (0, 0)
    if low < -1:
        msg = f"`labels` must be codes from 0, -1 where missing, got {low}."
        raise InputError(msg)
    if label_sets is not None:
        n_sets = len(label_sets if isinstance(label_sets, LabelSets) else np.asarray(label_sets))
        if high >= n_sets:
            msg = f"`label_sets` must hold a set for every code, got {n_sets} for code {high}."
            raise InputError(msg)


def _present(matrix: NDArray[Any], level: Level) -> NDArray[np.bool_]:
    return matrix >= 0 if level in ("nominal", "sets") else ~np.isnan(matrix)


def _paired_items(matrix: NDArray[Any], level: Level) -> NDArray[np.bool_]:
    counts = np.zeros(len(matrix), dtype=np.int32)
    for column in matrix.T:
        counts += _present(column, level)
    return counts >= 2


def _disagreements(
    matrix: NDArray[Any], level: Level, label_sets: ArrayLike | LabelSets | None
) -> tuple[NDArray[np.float64], _Expected, str | None]:
    """Each item's share of n·D_o, the expected disagreement, and why α is undefined if it is."""
    metric = make_metric(matrix, level, label_sets)
    observed, per_item = np.zeros(len(matrix)), np.zeros(len(matrix))
    n_labels = np.zeros(len(matrix), dtype=np.int64)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):
        block = slice(start, start + _ITEMS_AT_ONCE)
        labels, present = matrix[block], _present(matrix[block], level)
        slots = pack_slots(present.T)
        if slots is not None:
            labels = np.take_along_axis(labels, slots.T, axis=1)
            present = _present(labels, level)
        values = metric.encode(labels, present)
        n_labels[block] = np.count_nonzero(present, axis=1)
        observed[block] = _pair_sums(metric, values, present) / np.maximum(n_labels[block] - 1, 1)
        per_item[block] = (metric.spread(values) * present).sum(axis=1)
    expected = _Expected(per_item=per_item, n_labels=n_labels)
    if not n_labels.any():
        return observed, expected, "no item has two labels"
    if metric.n_distinct < 2 or expected.total <= 0:
        return observed, expected, "all labels are equal"
    return observed, expected, None


def _pair_sums(
    metric: CodedMetric, values: NDArray[Any], present: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Distances over all ordered pairs of labels of each item."""
    total = np.zeros(len(values))
    for a in range(values.shape[1]):
        for b in range(a + 1, values.shape[1]):
            both = present[:, a] & present[:, b]
            total += 2 * metric.distance(values[:, a], values[:, b]) * both
    return total


@dataclass(frozen=True)
class _Expected:
    """Sums behind D_e: per item, the distances of its labels to all labels."""

    per_item: NDArray[np.float64]
    n_labels: NDArray[np.int64]

    @property
    def total(self) -> float:
        return float(self.per_item.sum())


def _interval(
    observed: NDArray[np.float64],
    expected: _Expected,
    units: NDArray[Any] | None,
    confidence_level: float,
    reason: str | None,
) -> tuple[float, float, float]:
    if reason is not None:
        return (float("nan"),) * 3
    n_labels = float(expected.n_labels.sum())
    ratio = float(observed.sum() / expected.total) * (n_labels - 1)
    n_clusters = len(observed) if units is None else len(np.unique(units))
    if n_clusters < 2:
        return 1 - ratio, float("nan"), float("nan")
    if ratio == 0:
        return 1.0, 1.0, 1.0
    # d log D_e: D_e is quadratic in the items, hence the 2, over n (n - 1).
    reach = (
        2 * expected.per_item / expected.total
        - expected.n_labels / n_labels
        - expected.n_labels / (n_labels - 1)
    )
    # d log D_o: D_o is linear in the items, over n; and d α = -(1 - α) (d log D_o - d log D_e).
    linear = observed / observed.sum() - expected.n_labels / n_labels
    interval = make_interval(
        1 - ratio,
        ratio * (reach - linear),
        reach=reach,
        compared=expected.n_labels > 0,
        units=None if units is None else np.unique(units, return_inverse=True)[1],
        confidence_level=confidence_level,
        least=-1.0,
    )
    return 1 - ratio, interval.low, interval.high
