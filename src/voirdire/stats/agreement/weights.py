r"""How far two labels agree: not at all unless equal, or in part by number or by shared labels.

Agreement is :math:`w(a, b) = 1 - \delta(a, b)` with a disagreement :math:`\delta` in [0, 1]: 0 or 1
for names; :math:`|a - b| / R` (linear) or its square (quadratic) for numbers with the range R;
the Jaccard distance for label sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire.stats.label_distance import PairMetric, unit_of
from voirdire.stats.label_sets import intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Disagreement", "LabelKeys", "Weights", "measure_distances"]

Weights: TypeAlias = Literal["linear", "quadratic", "jaccard"]
"""How unequal labels agree in part; None stands for not at all."""

MAX_TABLE = 2_048
"""Distinct label sets up to which all their distances are kept: 32 MiB."""

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class LabelKeys:
    """Which labels occur in which group, one row for each, sorted by group and then by label.

    Attributes
    ----------
    group, label : ndarray of int, shape (n_keys,)
        Numbers from 0.
    n_groups : int
        How many groups there are.
    """

    group: NDArray[Any]
    label: NDArray[Any]
    n_groups: int

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values over the labels of each group."""
        sums = np.bincount(self.group, weights=values, minlength=self.n_groups)
        return sums.astype(np.float64, copy=False)


class Disagreement:
    """Labels that agree only where they are equal.

    Parameters
    ----------
    categories : ndarray of int, shape (n_categories,)
        Codes of the categories: those that are declared, or those that occur.
    """

    name: Weights | None = None

    def __init__(self, categories: NDArray[np.intp]) -> None:
        self.categories = categories

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Disagreement of labels, pair by pair."""
        return first != second

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean disagreement of each key's label with its group's labels, given their shares."""
        return keys.total(share)[keys.group] - share

    @property
    def chance_factor(self) -> float:
        """Gwet's T_w / (q (q - 1)): nan with fewer than two categories."""
        n_categories = len(self.categories)
        if n_categories < 2:
            return float("nan")
        keys = LabelKeys(
            group=np.zeros(n_categories, dtype=np.intp), label=self.categories, n_groups=1
        )
        uniform = np.full(n_categories, 1 / n_categories)
        mean_weight = 1 - float(self.mean_to(keys, uniform).mean())
        return n_categories * mean_weight / (n_categories - 1)


class Quadratic(Disagreement):
    """Numbers, by squared difference over the squared range of the categories.

    Parameters
    ----------
    categories : ndarray of int, shape (n_categories,)
        Codes of the categories.
    values : ndarray, shape (n_labels,)
        The number that each code stands for, ascending.
    """

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


class Linear(Quadratic):
    """Numbers, by absolute difference over the range of the categories."""

    name: Weights | None = "linear"

    def between(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        return np.abs(self._values[first] - self._values[second])

    def mean_to(self, keys: LabelKeys, share: NDArray[np.float64]) -> NDArray[np.float64]:
        # Labels ascend: those up to a key lie below it, the rest above it.
        values = self._values[keys.label]
        mass, moment = np.cumsum(share), np.cumsum(share * values)
        before = np.searchsorted(keys.group, keys.group) - 1
        mass = mass - np.where(before >= 0, mass[before], 0.0)
        moment = moment - np.where(before >= 0, moment[before], 0.0)
        all_mass, all_moment = keys.total(share), keys.total(share * values)
        return values * (2 * mass - all_mass[keys.group]) + all_moment[keys.group] - 2 * moment


class SetDisagreement(Disagreement):
    """Label sets, by their Jaccard distance.

    Parameters
    ----------
    categories : ndarray of int, shape (n_categories,)
        Codes of the categories.
    words : ndarray of unsigned int, shape (n_sets, n_words)
        The distinct sets by code, packed as in `LabelSets`.
    table : ndarray, shape (n_sets, n_sets), or None
        What `measure_distances` gives for them.
    """

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
                result[low:high] = PairMetric(shares[0], self._words, sets=True).spread(place[1])
            else:
                result[low:high] = (shares @ self._table)[place]
        return result


def measure_distances(words: NDArray[Any]) -> NDArray[np.float64] | None:
    """Compute the Jaccard distances of all packed sets; None where there are too many."""
    n_sets = len(words)
    if n_sets > MAX_TABLE:
        return None
    rows = [_jaccard(row, words) for row in words]
    return np.array(rows, dtype=np.float64).reshape(n_sets, n_sets)


def _jaccard(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    both, either = intersection_and_union(first, second)
    return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
