r"""Codes labels, and measures how far two labels agree: by equality, number or shared labels.

Agreement is :math:`w(a, b) = 1 - \delta(a, b)` with a disagreement :math:`\delta` in [0, 1]: 0 or 1
for names; :math:`|a - b| / R` (linear) or its square (quadratic) for numbers with the range R;
the Jaccard distance for label sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire.errors import InputError
from voirdire.stats.alignment import unit_of
from voirdire.stats.label_arrays import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CodedLabels",
    "Disagreement",
    "LabelKeys",
    "RatioDisagreement",
    "Weights",
    "code_labels",
]

Weights: TypeAlias = Literal["linear", "quadratic", "jaccard"]
"""Partial agreement of unequal labels; None for none."""

_MAX_TABLE = 2_048
"""Most distinct label sets with a table of all distances (32 MiB)."""

_CELLS_AT_ONCE = 1 << 22
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, kw_only=True)
class LabelKeys:
    """The distinct labels of each group, a row for each, sorted by group and then by label."""

    group: NDArray[Any]
    label: NDArray[Any]
    n_groups: int

    @staticmethod
    def of_one_group(labels: NDArray[Any]) -> LabelKeys:
        """Return the labels of a single group."""
        return LabelKeys(group=np.zeros(len(labels), dtype=np.intp), label=labels, n_groups=1)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values over the labels of each group."""
        sums = np.bincount(self.group, weights=values, minlength=self.n_groups)
        return sums.astype(np.float64, copy=False)


class Disagreement:
    """Disagreement of names, 0 or 1; categories are declared, or those that occur."""

    name: Weights | None = None

    def __init__(self, categories: NDArray[np.intp]) -> None:
        self.categories = categories

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return the disagreement of pairs of labels."""
        return first != second

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean disagreement of each key's label with its group's labels."""
        return keys.total(share)[keys.group] - share

    @property
    def chance_factor(self) -> float:
        """Gwet's T_w / (q (q - 1)): nan with fewer than two categories."""
        n_categories = len(self.categories)
        if n_categories < 2:
            return float("nan")
        uniform = np.full(n_categories, 1 / n_categories)
        apart = self.mean_to(LabelKeys.of_one_group(self.categories), uniform)
        mean_weight = 1 - float(apart.mean())
        return n_categories * mean_weight / (n_categories - 1)


class _Quadratic(Disagreement):
    """Disagreement of numbers: squared difference over the squared range of the categories."""

    name: Weights | None = "quadratic"

    def __init__(self, categories: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        super().__init__(categories)
        shown = values / unit_of(float(np.abs(values).max(initial=0.0)))
        used = shown[categories]
        lowest, highest = (used.min(), used.max()) if used.size else (0.0, 0.0)
        self._values = (shown - lowest) / (highest - lowest or 1.0)

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        return (self._values[first] - self._values[second]) ** 2

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        values = self._values[keys.label]
        apart = values - keys.total(share * values)[keys.group]
        return apart**2 + keys.total(share * apart**2)[keys.group]


class _Linear(_Quadratic):
    """Disagreement of numbers: absolute difference over the range of the categories."""

    name: Weights | None = "linear"

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        return np.abs(self._values[first] - self._values[second])

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        # Labels ascend: those before a key are smaller, the others larger.
        values = self._values[keys.label]
        mass, moment = np.cumsum(share), np.cumsum(share * values)
        before = np.searchsorted(keys.group, keys.group) - 1
        mass = mass - np.where(before >= 0, mass[before], 0.0)
        moment = moment - np.where(before >= 0, moment[before], 0.0)
        all_mass, all_moment = keys.total(share), keys.total(share * values)
        return values * (2 * mass - all_mass[keys.group]) + all_moment[keys.group] - 2 * moment


class RatioDisagreement(Disagreement):
    """Disagreement of numbers from 0: squared difference over squared sum."""

    def __init__(self, categories: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        super().__init__(categories)
        self._values = values

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return the disagreement of pairs of labels."""
        return self._squared_ratio(self._values[first], self._values[second])

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean disagreement of each label with all labels of one group."""
        values = self._values[keys.label]
        return np.concatenate(
            [
                self._squared_ratio(values[start : start + _ROWS_AT_ONCE, np.newaxis], values)
                @ share
                for start in range(0, max(len(values), 1), _ROWS_AT_ONCE)
            ]
        )

    @staticmethod
    def _squared_ratio(
        first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = first + second
        return np.divide(first - second, total, out=np.zeros(total.shape), where=total > 0) ** 2


class _SetDisagreement(Disagreement):
    """Disagreement of packed label sets: the Jaccard distance."""

    name: Weights | None = "jaccard"

    def __init__(
        self,
        categories: NDArray[np.intp],
        words: NDArray[Any],
        table: NDArray[np.float64] | None,
    ) -> None:
        super().__init__(categories)
        self._words = words
        self._table = table

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        if self._table is not None:
            return self._table[first, second]
        return _jaccard(self._words[first], self._words[second])

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        n_labels = len(self._words)
        result = np.empty(len(share))
        step = 1 if self._table is None else max(1, _CELLS_AT_ONCE // max(n_labels, 1))
        for start in range(0, keys.n_groups, step):
            low, high = np.searchsorted(keys.group, [start, start + step])
            place = (keys.group[low:high] - start, keys.label[low:high])
            shares = np.zeros((min(step, keys.n_groups - start), n_labels))
            shares[place] = share[low:high]
            if self._table is None:
                result[low:high] = _mean_distance(self._words, shares[0])[place[1]]
            else:
                result[low:high] = (shares @ self._table)[place]
        return result


def _measure_distances(words: NDArray[Any]) -> NDArray[np.float64] | None:
    """Compute the Jaccard distances of all packed sets; None where there are too many."""
    n_sets = len(words)
    if n_sets > _MAX_TABLE:
        return None
    rows = [_jaccard(row, words) for row in words]
    return np.array(rows, dtype=np.float64).reshape(n_sets, n_sets)


def _mean_distance(words: NDArray[Any], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean Jaccard distance of every set to all, without a table of all pairs."""
    blocks = [slice(k, k + _ROWS_AT_ONCE) for k in range(0, len(words), _ROWS_AT_ONCE)]
    if words.shape[1] == 1:
        near = [_jaccard(words[block, np.newaxis], words) @ share for block in blocks]
        return np.concatenate(near)
    # in a large universe most sets share no label: compute only those that do
    from scipy import sparse

    as_bytes = np.ascontiguousarray(words).view(np.uint8)
    rows: list[Any] = [
        sparse.csr_array(np.unpackbits(as_bytes[block], axis=1), dtype=float) for block in blocks
    ]
    member = sparse.vstack(rows, format="csr")
    size = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    same = np.where(size == 0, share[size == 0].sum(), 0.0)
    for block in blocks:
        both = (member[block] @ member.T).tocoo()
        row = both.row + block.start
        jaccard = both.data / (size[row] + size[both.col] - both.data)
        same += np.bincount(row, jaccard * share[both.col], minlength=len(size))
    return np.asarray(share.sum() - same)


def _jaccard(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    both, either = intersection_and_union(first, second)
    return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)


# Coded labels ---------------------------------------------------------------------------------

_WIDEST_LOOKUP = 1 << 24
"""Largest range of integers that are coded by a lookup table, not by sorting."""

_ITEMS_AT_ONCE = 1 << 15
"""Rows that are transposed at once, to fit the cache."""


@dataclass(frozen=True, kw_only=True)
class CodedLabels:
    """Labels as codes, shape (n_raters, n_items), in the smallest type; -1 where missing.

    `values` are the ascending numbers or packed label sets of the codes; `declared` is false where
    they were found among the labels.
    """

    codes: NDArray[Any]
    values: NDArray[Any]
    weights: Weights | None
    declared: bool

    @property
    def n_labels(self) -> int:
        """How many distinct labels there are."""
        return len(self.values)

    def disagreement(self, raters: slice | list[int]) -> Disagreement:
        """Make the disagreement, with declared categories or those of some raters."""
        categories = np.arange(self.n_labels)
        if not self.declared:
            categories = np.flatnonzero(self._used_labels[raters].any(axis=0))
        if self.weights is None:
            return Disagreement(categories)
        if self.weights == "jaccard":
            return _SetDisagreement(categories, self.values, self._distances)
        return (_Linear if self.weights == "linear" else _Quadratic)(categories, self.values)

    @cached_property
    def _used_labels(self) -> NDArray[np.bool_]:
        """Return which rater uses which label."""
        used = np.zeros((len(self.codes), self.n_labels + 1), dtype=np.bool_)
        for row, column in zip(used, self.codes, strict=True):
            row[column] = True  # -1 marks the one beyond the end
        return used[:, :-1]

    @cached_property
    def _distances(self) -> NDArray[np.float64] | None:
        return _measure_distances(self.values)


def code_labels(
    labels: ArrayLike,
    *,
    weights: Weights | None,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
) -> CodedLabels:
    """Check labels of shape (n_items, n_raters) and code them.

    Integers are codes with -1 for missing; floats, with numeric weights only, have nan.
    """
    matrix = np.asarray(labels)
    if matrix.ndim != 2:
        msg = f"`labels` must have the shape (n_items, n_raters), got {matrix.shape}."
        raise InputError(msg)
    matrix = _check_type(matrix, weights)
    if weights == "jaccard":
        if categories is not None:
            msg = "`categories` must be None for the weights 'jaccard'; those that occur count."
            raise InputError(msg)
        return _code_sets(matrix, label_sets)
    if label_sets is not None:
        msg = f"`label_sets` must be None unless `weights` is 'jaccard', got {weights!r}."
        raise InputError(msg)
    distinct = _find_distinct(matrix)
    declared = None if categories is None else _check_categories(categories, distinct)
    values = distinct if declared is None else declared
    return CodedLabels(
        codes=_look_up(matrix, values),
        values=values,
        weights=weights,
        declared=declared is not None,
    )


def _check_type(matrix: NDArray[Any], weights: Weights | None) -> NDArray[Any]:
    kind = matrix.dtype.kind
    if kind in "iu":
        if matrix.min(initial=0) < -1:
            msg = f"`labels` must be codes from 0, -1 where missing, got {int(matrix.min())}."
            raise InputError(msg)
        return matrix.astype(np.int64) if kind == "u" else matrix
    if kind != "f" or weights in (None, "jaccard"):
        numbers = ", or numbers with nan" if weights in ("linear", "quadratic") else ""
        msg = f"`labels` must be integer codes, -1 where missing{numbers}, got {matrix.dtype}."
        raise InputError(msg)
    if np.isinf(matrix).any():
        msg = "`labels` must be finite numbers, nan where missing, got inf."
        raise InputError(msg)
    return matrix


def _find_distinct(matrix: NDArray[Any]) -> NDArray[Any]:
    if matrix.dtype.kind == "f":
        return _find_numbers(matrix)
    if int(matrix.max(initial=-1)) >= _WIDEST_LOOKUP:
        return np.unique(matrix[matrix >= 0])
    seen = np.zeros(int(matrix.max(initial=-1)) + 2, dtype=np.bool_)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):
        seen[matrix[start : start + _ITEMS_AT_ONCE]] = True  # -1 marks the last, no label
    return np.flatnonzero(seen[:-1])


def _find_numbers(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Sort only the new numbers of each block, which on a short scale are few."""
    distinct = np.zeros(0)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):
        block = matrix[start : start + _ITEMS_AT_ONCE]
        numbers = block[~np.isnan(block)].astype(np.float64)
        if distinct.size:
            place = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
            numbers = numbers[distinct[place] != numbers]
        distinct = np.union1d(distinct, numbers)
    return distinct


def _check_categories(categories: ArrayLike, distinct: NDArray[Any]) -> NDArray[Any]:
    declared = np.asarray(categories)
    if declared.ndim != 1 or declared.dtype.kind not in "iuf":
        msg = f"`categories` must be a sequence of codes or numbers, got {categories!r}."
        raise InputError(msg)
    declared = np.unique(declared)
    unknown = np.setdiff1d(distinct, declared)
    if unknown.size:
        msg = f"`categories` must hold every label, got none for {unknown[0].item()!r}."
        raise InputError(msg)
    return declared


def _look_up(matrix: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Replace each label by its place among the ascending values."""
    kind = np.min_scalar_type(-max(len(values), 1) - 1)
    codes = np.empty(matrix.T.shape, dtype=kind)
    by_table = matrix.dtype.kind != "f" and values.max(initial=-1) < _WIDEST_LOOKUP
    if by_table:
        table = np.full(int(values.max(initial=-1)) + 2, -1, dtype=kind)
        whole = values[(values == np.floor(values)) & (values >= 0)]
        table[whole.astype(np.int64)] = np.searchsorted(values, whole)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):
        block = np.ascontiguousarray(matrix[start : start + _ITEMS_AT_ONCE].T)
        if by_table:
            found = table[block]
        else:
            missing = np.isnan(block) if matrix.dtype.kind == "f" else block < 0
            found = np.where(missing, -1, np.searchsorted(values, block))
        codes[:, start : start + _ITEMS_AT_ONCE] = found
    return codes


def _code_sets(matrix: NDArray[Any], label_sets: ArrayLike | LabelSets | None) -> CodedLabels:
    if label_sets is None:
        msg = "`label_sets` must be given for the weights 'jaccard', got None."
        raise InputError(msg)
    known = label_sets
    sets = known if isinstance(known, LabelSets) else LabelSets.from_membership(np.asarray(known))
    highest = int(matrix.max(initial=-1))
    if highest >= len(sets):
        msg = f"`label_sets` must hold a set for every code, got {len(sets)} for code {highest}."
        raise InputError(msg)
    used = _find_distinct(matrix)
    # Codes of equal sets become one.
    words, same = np.unique(sets.words[used], axis=0, return_inverse=True)
    table = np.full(highest + 2, -1, dtype=np.min_scalar_type(-max(len(words), 1) - 1))
    table[used] = same.reshape(-1)
    codes = np.ascontiguousarray(table[matrix].T)
    return CodedLabels(codes=codes, values=words, weights="jaccard", declared=False)
