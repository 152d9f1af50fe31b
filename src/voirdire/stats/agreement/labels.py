r"""Codes labels, and measures how far two labels agree: by equality, number or shared labels.

Agreement is :math:`w(a, b) = 1 - \delta(a, b)` with a disagreement :math:`\delta` in [0, 1]: 0 or 1
for names; :math:`|a - b| / R` (linear) or its square (quadratic) for numbers with the range R;
:math:`((a - b) / (a + b))^2` (ratio) for numbers from 0; the Jaccard distance for label sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.alignment import unit_of
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import LabelSets, intersection_and_union, is_present

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

Weights: TypeAlias = Literal["linear", "quadratic", "jaccard"]
"""Partial agreement of unequal labels; None for none."""

_CELLS_AT_ONCE, _ITEMS_AT_ONCE = 1 << 22, 1 << 15

_MOST_SMOOTHED = 10
"""With more labels none is so rare that an interval needs pseudo-items."""

_WIDEST_TABLE = 1 << 24
"""Largest range of integers that are coded by a table, which is faster than sorting."""


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels as codes, shape (n_raters, n_items), in the smallest type; -1 where missing.

    `values` are the ascending numbers or packed label sets of the codes, `used` the codes that
    occur, and `categories` those that count: all where they were declared, otherwise those used.
    `units` are the clusters that an interval takes as the sample; None where items are. An item
    stands for its number of `copies`, where there are any.
    """

    codes: NDArray[Any]
    values: NDArray[Any]
    weights: Weights | None
    is_ratio: bool = False
    used: NDArray[np.intp]
    categories: NDArray[np.intp]
    declared: bool
    units: NDArray[np.intp] | None
    confidence_level: float
    copies: NDArray[np.int64] | None = None

    def among(self, raters: Iterable[int]) -> Labels:
        """Return these labels with the codes that some raters use."""
        marks = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for rater in raters:
            marks[self.codes[rater]] = True  # -1 marks the one beyond the end
        used = np.flatnonzero(marks[:-1])
        return replace(self, used=used, categories=self.categories if self.declared else used)

    @cached_property
    def _places(self) -> NDArray[Any]:
        """What is compared: numbers as shares of the range of the categories."""
        if self.weights not in ("linear", "quadratic") or self.is_ratio:
            return self.values
        shown = self.values / unit_of(float(np.abs(self.values).max(initial=0.0)))
        used = shown[self.categories] if len(self.categories) else np.zeros(1)
        places: NDArray[Any] = (shown - used.min()) / (used.max() - used.min() or 1.0)
        return places

    def disagreement(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return the disagreement of pairs of codes."""
        if self.weights is None:
            return first != second
        one, other = self._places[first], self._places[second]
        if self.weights == "jaccard":
            both, either = intersection_and_union(one, other)
            return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
        if self.is_ratio:
            total = one + other
            return np.divide(one - other, total, out=np.zeros(total.shape), where=total > 0) ** 2
        return np.abs(one - other) if self.weights == "linear" else (one - other) ** 2

    def mean_disagreement(
        self, group: NDArray[Any], label: NDArray[Any], share: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean disagreement of each code with all codes of its group, by share."""
        if self.weights is None:
            return np.bincount(group, share)[group] - share
        if self.weights == "quadratic" and not self.is_ratio:
            values = self._places[label]
            apart = values - np.bincount(group, share * values)[group]
            return apart**2 + np.bincount(group, share * apart**2)[group]
        from scipy import sparse

        every = np.arange(len(self.values))
        shape = (len(every), group.max(initial=0) + 1)
        shares = sparse.csr_array((share, (label, group)), shape=shape)
        result = np.empty(len(share))
        step = max(1, _CELLS_AT_ONCE // max(len(every), 1))
        for start in range(0, len(every), step):
            rows = every[start : start + step]
            if self.weights == "jaccard":
                means = self._set_distances(rows) @ shares
            else:
                means = self.disagreement(rows[:, np.newaxis], every) @ shares
            here = (label >= start) & (label < start + step)
            result[here] = means[label[here] - start, group[here]]
        return result

    def _set_distances(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return the Jaccard distances of some sets to all, fast where sets are wide."""
        both = (self._members[rows] @ self._members.T).toarray()
        size = self._members.sum(axis=1)
        both[(size[rows, np.newaxis] == 0) & (size == 0)] = 1  # two empty sets are equal
        return 1 - both / np.maximum(size[rows, np.newaxis] + size - both, 1)

    @cached_property
    def _members(self) -> Any:
        """Which set holds which label."""
        from scipy import sparse

        words = np.ascontiguousarray(self.values).view(np.uint8)
        row, byte = np.nonzero(words)
        at, bit = np.nonzero(np.unpackbits(words[row, byte, np.newaxis], axis=1))
        shape = (len(words), words.shape[1] * 8)
        return sparse.csr_array((np.ones(len(at)), (row[at], byte[at] * 8 + bit)), shape=shape)

    @cached_property
    def pseudo_items(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """First and second labels, with weights, of the pseudo-items of an interval."""
        n = len(self.used) if len(self.used) <= _MOST_SMOOTHED else 0
        first, second = np.repeat(self.used[:n], n), np.tile(self.used[:n], n)
        return first, second, np.where(first == second, 1 / max(n, 1), 1 / max(n * (n - 1), 1))

    @cached_property
    def chance_factor(self) -> float:
        """Gwet's T_w / (q (q - 1)): nan with fewer than two categories."""
        n_categories = len(self.categories)
        if n_categories < 2:
            return float("nan")
        uniform = np.full(n_categories, 1 / n_categories)
        apart = self.mean_disagreement(np.zeros_like(self.categories), self.categories, uniform)
        return n_categories * (1 - float(apart.mean())) / (n_categories - 1)


def code_labels(
    labels: ArrayLike,
    *,
    weights: Weights | None,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Labels:
    """Check labels of shape (n_items, n_raters) and code them.

    Integers are codes with -1 for missing; floats, with numeric weights only, have nan.
    """
    matrix = _check_matrix(labels, weights)
    if weights == "jaccard" and label_sets is None:
        msg = "`label_sets` must be given for the weights 'jaccard', got None."
        raise InputError(msg)
    if weights != "jaccard" and label_sets is not None:
        msg = f"`label_sets` must be None unless `weights` is 'jaccard', got {weights!r}."
        raise InputError(msg)
    if weights == "jaccard" and categories is not None:
        msg = "`categories` must be None for the weights 'jaccard'; those that occur count."
        raise InputError(msg)
    found, codes = _find_labels(matrix)
    values, place = found, None
    if label_sets is not None:
        values, place = _find_sets(found, label_sets)
    elif categories is not None:
        values = _check_categories(categories, found)
        place = np.searchsorted(values, found)
    if place is not None:
        codes = np.append(place, -1).astype(_smallest_type(values))[codes]
    return Labels(
        codes=codes,
        values=values,
        weights=weights,
        used=np.arange(len(values)) if place is None else np.unique(place),
        categories=np.arange(len(values)),
        declared=categories is not None,
        units=check_units(clusters, len(matrix)),
        confidence_level=check_fraction("confidence_level", confidence_level),
    )


def _check_matrix(labels: ArrayLike, weights: Weights | None) -> NDArray[Any]:
    if weights is not None:
        check_choice("weights", weights, Weights)
    matrix = np.asarray(labels)
    if matrix.ndim != 2:
        msg = f"`labels` must have the shape (n_items, n_raters), got {matrix.shape}."
        raise InputError(msg)
    takes_numbers = weights in ("linear", "quadratic")
    if matrix.dtype.kind not in ("iuf" if takes_numbers else "iu"):
        numbers = ", or numbers with nan" if takes_numbers else ""
        msg = f"`labels` must be integer codes, -1 where missing{numbers}, got {matrix.dtype}."
        raise InputError(msg)
    if matrix.dtype.kind == "f" and np.isinf(matrix).any():
        msg = "`labels` must be finite numbers, nan where missing, got inf."
        raise InputError(msg)
    if matrix.dtype.kind != "f" and matrix.min(initial=0) < -1:
        msg = f"`labels` must be codes from 0, -1 where missing, got {int(matrix.min())}."
        raise InputError(msg)
    return matrix


def _find_labels(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """List the labels that occur, ascending, and the place of each rater's labels in the list."""
    is_number = matrix.dtype.kind == "f"
    if is_number or matrix.max(initial=-1) >= _WIDEST_TABLE:
        columns = np.ascontiguousarray(matrix.T)
        known = is_present(columns)
        values = np.unique(columns[known])
        codes = np.full(columns.shape, -1, dtype=_smallest_type(values))
        codes[known] = np.searchsorted(values, columns[known])
        return values, codes
    seen = np.zeros(int(matrix.max(initial=-1)) + 2, dtype=np.bool_)
    blocks = [slice(n, n + _ITEMS_AT_ONCE) for n in range(0, len(matrix), _ITEMS_AT_ONCE)]
    for block in blocks:  # to bound memory
        seen[matrix[block]] = True  # -1 marks the last, no label
    values = np.flatnonzero(seen[:-1])
    table = np.full(len(seen), -1, dtype=_smallest_type(values))
    table[values] = np.arange(len(values))
    coded = np.empty(matrix.T.shape, dtype=table.dtype)
    for block in blocks:
        coded[:, block] = table[matrix[block]].T
    return values, coded


def _smallest_type(values: NDArray[Any]) -> np.dtype[Any]:
    return np.min_scalar_type(-max(len(values), 1) - 1)


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


def _find_sets(
    used: NDArray[Any], label_sets: ArrayLike | LabelSets
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """List the distinct sets of the codes that occur, and the place of each code's."""
    if not isinstance(label_sets, LabelSets):
        label_sets = LabelSets.from_membership(np.asarray(label_sets))
    highest = int(used.max(initial=-1))
    if highest >= len(label_sets):
        n_sets = len(label_sets)
        msg = f"`label_sets` must hold a set for every code, got {n_sets} for code {highest}."
        raise InputError(msg)
    words, place = np.unique(label_sets.words[used], axis=0, return_inverse=True)
    return words, place.reshape(-1)
