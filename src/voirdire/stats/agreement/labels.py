r"""Codes labels, and measures how far two labels agree: by equality, number or shared labels.

Agreement is :math:`w(a, b) = 1 - \delta(a, b)` with a disagreement :math:`\delta` in [0, 1]: 0 or 1
for names; :math:`|a - b| / R` (linear) or its square (quadratic) for numbers with the range R;
:math:`((a - b) / (a + b))^2` (ratio) for numbers from 0; the Jaccard distance for label sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.stats.alignment import unit_of
from voirdire.stats.label_arrays import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CodedLabels", "Disagreement", "Weights", "code_labels"]

Weights: TypeAlias = Literal["linear", "quadratic", "jaccard"]
"""Partial agreement of unequal labels; None for none."""

_CELLS_AT_ONCE = 1 << 22
_SETS_AT_ONCE = 512
_ITEMS_AT_ONCE = 1 << 15

_WIDEST_TABLE = 1 << 24
"""Largest range of integers that are coded by a table."""


class Disagreement:
    """Disagreement of coded labels; categories are declared, or those that occur."""

    def __init__(
        self,
        metric: Weights | Literal["ratio"] | None,
        values: NDArray[Any],
        categories: NDArray[np.intp],
    ) -> None:
        self.weights: Weights | None = "quadratic" if metric == "ratio" else metric
        self.categories = categories
        self._metric = metric
        self.n_labels, self._values = len(values), values
        if metric in ("linear", "quadratic"):
            shown = values / unit_of(float(np.abs(values).max(initial=0.0)))
            lowest, highest = (
                (shown[categories].min(), shown[categories].max()) if len(categories) else (0, 0)
            )
            self._values = (shown - lowest) / (highest - lowest or 1.0)

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return the disagreement of pairs of labels."""
        if self._metric is None:
            return first != second
        one, other = self._values[first], self._values[second]
        if self._metric == "jaccard":
            both, either = intersection_and_union(one, other)
            return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
        if self._metric == "linear":
            return np.abs(one - other)
        if self._metric == "quadratic":
            return (one - other) ** 2
        total = one + other
        return np.divide(one - other, total, out=np.zeros(total.shape), where=total > 0) ** 2

    def mean_to(
        self, group: NDArray[Any], label: NDArray[Any], share: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean disagreement of each label with all labels of its group, by share.

        Labels are sorted by group, and ascend within it.
        """
        if self._metric is None:
            return np.bincount(group, share)[group] - share
        if self._metric == "quadratic":
            values = self._values[label]
            apart = values - np.bincount(group, share * values)[group]
            return apart**2 + np.bincount(group, share * apart**2)[group]
        if self._metric == "linear":
            # Labels ascend: those before one are smaller, the others larger.
            values = self._values[label]
            mass, moment = np.cumsum(share), np.cumsum(share * values)
            first = np.searchsorted(group, group)
            mass, moment = (x - np.where(first > 0, x[first - 1], 0.0) for x in (mass, moment))
            all_mass, all_moment = np.bincount(group, share), np.bincount(group, share * values)
            return values * (2 * mass - all_mass[group]) + all_moment[group] - 2 * moment
        from scipy import sparse

        every = np.arange(self.n_labels)
        shape = (len(every), group.max(initial=0) + 1)
        shares = sparse.csr_array((share, (label, group)), shape=shape)
        result = np.empty(len(share))
        step = max(1, _CELLS_AT_ONCE // max(len(every), 1))
        for start in range(0, len(every), step):
            means = self._to_every_label(every[start : start + step]) @ shares
            here = (label >= start) & (label < start + step)
            result[here] = means[label[here] - start, group[here]]
        return result

    def _to_every_label(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        if self._metric != "jaccard":
            return self.between(rows[:, np.newaxis], np.arange(self.n_labels))
        both = (self._members[rows] @ self._members.T).toarray()
        size = self._members.sum(axis=1)
        both[(size[rows, np.newaxis] == 0) & (size == 0)] = 1  # two empty sets are equal
        either = np.maximum(size[rows, np.newaxis] + size - both, 1)
        return np.subtract(1, np.divide(both, either, out=both), out=both)

    @cached_property
    def _members(self) -> Any:
        """Which set holds which label."""
        from scipy import sparse

        words = np.ascontiguousarray(self._values).view(np.uint8)
        blocks = [words[k : k + _SETS_AT_ONCE] for k in range(0, len(words), _SETS_AT_ONCE)]
        rows: list[Any] = [
            sparse.csr_array(np.unpackbits(block, axis=1), dtype=float) for block in blocks
        ]
        return sparse.vstack(rows, format="csr")

    @cached_property
    def chance_factor(self) -> float:
        """Gwet's T_w / (q (q - 1)): nan with fewer than two categories."""
        n_categories = len(self.categories)
        if n_categories < 2:
            return float("nan")
        uniform = np.full(n_categories, 1 / n_categories)
        apart = self.mean_to(np.zeros_like(self.categories), self.categories, uniform)
        return n_categories * (1 - float(apart.mean())) / (n_categories - 1)


# Coded labels ---------------------------------------------------------------------------------


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

    def disagreement(self, raters: slice | list[int] = slice(None)) -> Disagreement:
        """Make the disagreement, with declared categories or those of some raters."""
        used = np.ones(self.n_labels + 1, dtype=np.bool_)
        if not self.declared:
            used[:] = False
            for column in self.codes[raters]:
                used[column] = True  # -1 marks the one beyond the end
        return Disagreement(self.weights, self.values, np.flatnonzero(used[:-1]))


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
    if weights is not None:
        check_choice("weights", weights, Weights)
    matrix = np.asarray(labels)
    if matrix.ndim != 2:
        msg = f"`labels` must have the shape (n_items, n_raters), got {matrix.shape}."
        raise InputError(msg)
    matrix = _check_type(matrix, weights)
    if weights == "jaccard" and label_sets is None:
        msg = "`label_sets` must be given for the weights 'jaccard', got None."
        raise InputError(msg)
    if weights != "jaccard" and label_sets is not None:
        msg = f"`label_sets` must be None unless `weights` is 'jaccard', got {weights!r}."
        raise InputError(msg)
    found = _find_labels(matrix)
    if weights == "jaccard":
        if categories is not None:
            msg = "`categories` must be None for the weights 'jaccard'; those that occur count."
            raise InputError(msg)
        return _code_sets(matrix, found, label_sets)
    values = found if categories is None else _check_categories(categories, found)
    return CodedLabels(
        codes=_look_up(matrix, found, values),
        values=values,
        weights=weights,
        declared=categories is not None,
    )


def _find_labels(matrix: NDArray[Any]) -> NDArray[Any]:
    """List the labels that occur, ascending."""
    n_cells = int(matrix.max(initial=-1)) + 2 if matrix.dtype.kind != "f" else _WIDEST_TABLE
    if n_cells < _WIDEST_TABLE:  # faster than sorting
        seen = np.zeros(n_cells, dtype=np.bool_)
        for start in range(0, len(matrix), _ITEMS_AT_ONCE):
            seen[matrix[start : start + _ITEMS_AT_ONCE]] = True  # -1 marks the last, no label
        return np.flatnonzero(seen[:-1])
    by_column = [np.unique(column) for column in matrix.T]
    labels = np.unique(np.concatenate([*by_column, np.zeros(0, dtype=matrix.dtype)]))
    return labels[~np.isnan(labels) if matrix.dtype.kind == "f" else labels >= 0]


def _look_up(matrix: NDArray[Any], found: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Replace each label by its place among the ascending values."""
    codes = np.empty(matrix.T.shape, dtype=np.min_scalar_type(-max(len(values), 1) - 1))
    table = np.zeros(0, dtype=codes.dtype)
    if matrix.dtype.kind != "f" and found.max(initial=-1) < _WIDEST_TABLE - 2:
        table = np.full(int(found.max(initial=-1)) + 2, -1, dtype=codes.dtype)
        table[found] = np.searchsorted(values, found)
    for start in range(0, len(matrix), _ITEMS_AT_ONCE):  # transposed within the cache
        block = np.ascontiguousarray(matrix[start : start + _ITEMS_AT_ONCE].T)
        if table.size:
            coded = table[block]
        else:
            missing = np.isnan(block) if matrix.dtype.kind == "f" else block < 0
            coded = np.where(missing, -1, np.searchsorted(values, block))
        codes[:, start : start + _ITEMS_AT_ONCE] = coded
    return codes


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


def _code_sets(
    matrix: NDArray[Any], used: NDArray[Any], label_sets: ArrayLike | LabelSets | None
) -> CodedLabels:
    if not isinstance(label_sets, LabelSets):
        label_sets = LabelSets.from_membership(np.asarray(label_sets))
    highest = int(used.max(initial=-1))
    if highest >= len(label_sets):
        n_sets = len(label_sets)
        msg = f"`label_sets` must hold a set for every code, got {n_sets} for code {highest}."
        raise InputError(msg)
    # Codes of equal sets become one.
    words, same = np.unique(label_sets.words[used], axis=0, return_inverse=True)
    table = np.full(highest + 2, -1, dtype=np.min_scalar_type(-max(len(words), 1) - 1))
    table[used] = same.reshape(-1)
    codes = np.ascontiguousarray(table[matrix].T)
    return CodedLabels(codes=codes, values=words, weights="jaccard", declared=False)
