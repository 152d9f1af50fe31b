"""Distances between labels, at every level of measurement, and their sums over all labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire.stats.label_sets import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CodedMetric", "Level", "make_metric", "unit_of"]

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio", "sets"]

_EXTREME_EXPONENT = 200
"""Squares of labels with exponents below it neither overflow nor vanish."""

_BLOCK = 512
"""Distinct labels compared at once: memory is O(_BLOCK * n_distinct), never their square."""


class CodedMetric:
    """Distances between labels that are given by codes; equal or not."""

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self._counts = counts
        self.n_distinct = int(np.count_nonzero(counts))
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


class PairMetric(CodedMetric):
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


class RatioMetric(PairMetric):
    """Ratio distances between numbers: labels are looked up among the distinct ones."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        values, counts = np.unique(numbers, return_counts=True)
        super().__init__(counts.astype(np.float64), values, sets=False)

    def encode(self, matrix: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        return np.searchsorted(self._values, np.where(present, matrix, self._values[:1].sum()))


class IntervalMetric(CodedMetric):
    """Squared differences of numbers, or of their midranks: sums in closed form."""

    def __init__(self, numbers: NDArray[np.float64], *, ordinal: bool) -> None:
        self._distinct, counts = np.unique(numbers, return_counts=True)
        self._unit = unit_of(float(np.abs(self._distinct).max(initial=0.0)))
        ranks = np.cumsum(counts) - counts / 2
        self._ranks = ranks if ordinal else None
        shown = ranks if ordinal else self._distinct / self._unit
        self._n = int(counts.sum())
        self._centre = float((shown * counts).sum() / max(self._n, 1))
        self._square = float(((shown - self._centre) ** 2 * counts).sum())
        super().__init__(counts.astype(np.float64))

    def encode(self, matrix: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        filled = np.where(present, matrix, self._distinct[:1].sum())
        if self._ranks is not None:
            return self._ranks[np.searchsorted(self._distinct, filled)] - self._centre
        return filled / self._unit - self._centre

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        return (a - b) ** 2

    def spread(self, values: NDArray[Any]) -> NDArray[np.float64]:
        return self._n * values**2 + self._square


def unit_of(scale: float) -> float:
    """Return a power of two by which labels of extreme size can be divided before squaring."""
    exponent = int(np.frexp(scale)[1])
    return 1.0 if abs(exponent) < _EXTREME_EXPONENT else float(np.ldexp(1.0, exponent))


def make_metric(
    matrix: NDArray[Any], level: Level, label_sets: ArrayLike | LabelSets | None
) -> CodedMetric:
    """Make the metric of a level for a label matrix of shape (n_items, n_raters)."""
    if level not in ("nominal", "sets"):
        numbers = matrix[~np.isnan(matrix)]
        if level == "ratio":
            return RatioMetric(numbers)
        return IntervalMetric(numbers, ordinal=level == "ordinal")
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
        return CodedMetric(counts[1:])
    return PairMetric(counts[1:], sets.words, sets=True)
