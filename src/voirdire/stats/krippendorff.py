r"""Krippendorff's α with an interval, for any number of raters and any missing labels.

With :math:`m_i \ge 2` labels on item i, n labels in all and :math:`\delta` the squared metric,

.. math:: \alpha = 1 - D_o / D_e, \quad
   D_o = \frac1n \sum_i \frac{\sum_{a \ne b} \delta(a, b)}{m_i - 1}, \quad
   D_e = \frac{1}{n(n-1)} \sum_{a \ne b} \delta(a, b),

the second sum over all pairs of labels whatever their item [1]_. Both are smooth functions of sums
over items, so the standard error of :math:`\log(1 - \alpha) = \log D_o - \log D_e` follows from
each item's influence on them (the delta method), summed within clusters where there are any.

References
----------
.. [1] K. Krippendorff, "Content Analysis", 4th edition, 2018, chapter 12.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.label_sets import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["KrippendorffResult", "Level", "krippendorff_alpha"]

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio", "sets"]

_BLOCK = 512
"""Distinct labels compared at once: memory is O(_BLOCK * n_distinct), never their square."""
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
        msg = f"α is undefined: {result.reason}."
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
    units = _check_clusters(clusters, len(matrix))
    paired = _paired_items(matrix, level)
    if not paired.all():
        matrix, units = matrix[paired], None if units is None else units[paired]
    observed, expected, reason = _disagreements(matrix, level, label_sets)
    alpha, low, high = _interval(observed, expected, units, confidence_level, reason)
    return KrippendorffResult(
        alpha=alpha,
        low=low,
        high=high,
        confidence_level=confidence_level,
        level=level,
        n_items=len(matrix),
        n_labels=int(expected.n_labels.sum()),
        n_clusters=len(matrix) if units is None else len(np.unique(units)),
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
    return matrix if coded else matrix.astype(np.float64, copy=False)


def _check_clusters(clusters: ArrayLike | None, n_items: int) -> NDArray[Any] | None:
    if clusters is None:
        return None
    units = np.asarray(clusters)
    if units.shape != (n_items,):
        msg = f"`clusters` must have the shape ({n_items},), got {units.shape}."
        raise InputError(msg)
    return units


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
    metric = _make_metric(matrix, level, label_sets)
    observed, per_item = np.zeros(len(matrix)), np.zeros(len(matrix))
    n_labels = np.zeros(len(matrix), dtype=np.int64)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):
        block = slice(start, start + _ITEMS_AT_ONCE)
        present = _present(matrix[block], level)
        values = metric.encode(matrix[block], present)
        n_labels[block] = np.count_nonzero(present, axis=1)
        observed[block] = _pair_sums(metric, values, present) / np.maximum(n_labels[block] - 1, 1)
        per_item[block] = (metric.spread(values) * present).sum(axis=1)
    expected = _Expected(per_item=per_item, n_labels=n_labels)
    if not n_labels.any():
        return observed, expected, "no item has two labels"
    if expected.total <= 0:
        return observed, expected, "all labels are equal"
    return observed, expected, None


def _pair_sums(
    metric: _CodedMetric, values: NDArray[Any], present: NDArray[np.bool_]
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
    # d log(1 - α): D_o is linear in the items; D_e is quadratic, hence the 2; n enters both.
    influence = (
        observed / observed.sum()
        - 2 * expected.per_item / expected.total
        + expected.n_labels / (n_labels - 1)
    )
    if units is not None:
        _, index = np.unique(units, return_inverse=True)
        influence = np.bincount(index, weights=influence)
    centred = influence - influence.mean()
    error = np.sqrt(n_clusters / (n_clusters - 1) * (centred**2).sum())
    half = stdtrit(n_clusters - 1, (1 + confidence_level) / 2) * error
    return 1 - ratio, float(1 - ratio * np.exp(half)), float(1 - ratio * np.exp(-half))


class _CodedMetric:
    """Distances between labels that are given by codes; equal or not."""

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self._counts = counts
        self._to_all = self._distance_to_all()

    def encode(self, matrix: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        """Turn labels into what `distance` and `spread` work on; missing ones into anything."""
        return np.where(present, matrix, 0)

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Distance of labels, pair by pair."""
        return a != b

    def spread(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum of the distances of each label to all labels."""
        return self._to_all[values]

    def _distance_to_all(self) -> NDArray[np.float64]:
        return self._counts.sum() - self._counts


class _PairMetric(_CodedMetric):
    """Distances that need the labels themselves: sets, and ratios of numbers."""

    def __init__(self, counts: NDArray[np.float64], values: NDArray[Any], *, sets: bool) -> None:
        self._values = values
        self._sets = sets
        super().__init__(counts)

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return self._between(self._values[a], self._values[b])

    def _distance_to_all(self) -> NDArray[np.float64]:
        if self._sets and self._values.shape[1] > 1:
            return self._sparse_distance_to_all()
        result = np.zeros(len(self._counts))
        for start in range(0, len(result), _BLOCK):
            block = self._values[start : start + _BLOCK, np.newaxis]
            result[start : start + _BLOCK] = (
                self._between(block, self._values[np.newaxis]) @ self._counts
            )
        return result

    def _sparse_distance_to_all(self) -> NDArray[np.float64]:
        """Over a large universe most sets share nothing: only those that do are multiplied out."""
        from scipy import sparse

        as_bytes = np.ascontiguousarray(self._values).view(np.uint8)
        member = sparse.vstack(
            [
                sparse.csr_array(
                    np.unpackbits(as_bytes[start : start + _BLOCK], axis=1).astype(float)
                )
                for start in range(0, len(as_bytes), _BLOCK)
            ],
            format="csr",
        )
        size = np.bitwise_count(self._values).sum(axis=1, dtype=np.int64)
        near = np.where(size == 0, self._counts[size == 0].sum(), 0.0)
        for start in range(0, len(size), _BLOCK):
            both = (member[start : start + _BLOCK] @ member.T).tocoo()
            rows = both.row + start
            jaccard = both.data / (size[rows] + size[both.col] - both.data)
            near += np.bincount(rows, jaccard * self._counts[both.col], minlength=len(size))
        return self._counts.sum() - near

    def _between(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
        if self._sets:
            both, either = intersection_and_union(a, b)
            return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
        total = a + b
        return np.divide(a - b, total, out=np.zeros(np.shape(total)), where=total > 0) ** 2


class _RatioMetric(_PairMetric):
    """Ratio distances between numbers: labels are looked up among the distinct ones."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        values, counts = np.unique(numbers, return_counts=True)
        super().__init__(counts.astype(np.float64), values, sets=False)

    def encode(self, matrix: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        return np.searchsorted(self._values, np.where(present, matrix, self._values[:1].sum()))


class _IntervalMetric(_CodedMetric):
    """Squared differences of numbers, or of their midranks: sums in closed form."""

    def __init__(self, numbers: NDArray[np.float64], *, ordinal: bool) -> None:
        self._distinct, counts = np.unique(numbers, return_counts=True)
        ranks = np.cumsum(counts) - counts / 2
        self._ranks = ranks if ordinal else None
        shown = ranks if ordinal else self._distinct
        self._n = int(counts.sum())
        self._centre = float((shown * counts).sum() / max(self._n, 1))
        self._square = float(((shown - self._centre) ** 2 * counts).sum())
        super().__init__(counts.astype(np.float64))

    def encode(self, matrix: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        filled = np.where(present, matrix, self._distinct[:1].sum())
        if self._ranks is not None:
            filled = self._ranks[np.searchsorted(self._distinct, filled)]
        return filled - self._centre

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return (a - b) ** 2

    def spread(self, values: NDArray[Any]) -> NDArray[np.float64]:
        return self._n * values**2 + self._square


def _make_metric(
    matrix: NDArray[Any], level: Level, label_sets: ArrayLike | LabelSets | None
) -> _CodedMetric:
    if level not in ("nominal", "sets"):
        numbers = matrix[~np.isnan(matrix)]
        if level == "ratio":
            return _RatioMetric(numbers)
        return _IntervalMetric(numbers, ordinal=level == "ordinal")
    sets = None
    if level == "sets":
        sets = (
            label_sets
            if isinstance(label_sets, LabelSets)
            else LabelSets.from_membership(np.asarray(label_sets))
        )
    n_codes = int(matrix.max(initial=0)) + 1 if sets is None else len(sets)
    counts = np.zeros(n_codes + 1)
    for column in matrix.T:  # code -1 lands in front and is left out
        counts += np.bincount(column.astype(np.int64) + 1, minlength=n_codes + 1)
    if sets is None:
        return _CodedMetric(counts[1:])
    return _PairMetric(counts[1:], sets.words, sets=True)
