r"""Exact p-values of very many tables, as far as Benjamini-Yekutieli looks at them.

The step-up procedure over m annotators compares p-values with a few thresholds only. Among tables
of one number of items the exact p-value grows with the score statistic, so each threshold cuts
the tables, in the order of that statistic, in two. Bisection finds the cuts with a few p-values
each, where a simulation meets hundreds of tables; what is known of a cut serves the next tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# Tables are in the order of the test itself; there is no other way to ask for it.
from voirdire.stats.exact_test import SAME, Boundary, exact_p_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.figures import TestSettings

__all__ = ["ExactDecisions"]

_BELOW = 1 - 1e-12
"""A bound stays on its side of the threshold that it is compared with, whatever is rounded."""


class ExactDecisions:
    """Bounds exact p-values, and remembers between which statistics every cut lies.

    Parameters
    ----------
    test : TestSettings
        ε, its mode and the false discovery rate.
    """

    def __init__(self, test: TestSettings) -> None:
        self._test = test
        self._cuts: dict[tuple[int, float, float], tuple[float, float]] = {}

    def bounds(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the smallest threshold of the procedure that each exact p-value does not exceed.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_annotators, 3)
            Items by outcome: the judge wins, tie, the human wins.

        Returns
        -------
        ndarray of float, shape (..., n_epsilons, n_annotators)
            Upper bounds of the p-values that lead to the same rejections; 1 above every
            threshold, nan without items.
        """
        test = self._test
        thresholds = _thresholds(counts.shape[-2], test.false_discovery_rate)
        tables, place = _distinct(counts.reshape(-1, 3))
        bounds = np.full((len(tables), len(test.epsilons)), np.nan)
        n_items = tables.sum(axis=1)
        for size in np.unique(n_items[n_items > 0]).tolist():
            rows = np.flatnonzero(n_items == size)
            for position, epsilon in enumerate(test.epsilons.tolist()):
                bounds[rows, position] = self._bounds_of(tables[rows], thresholds, size, epsilon)
        every = bounds[place].reshape(*counts.shape[:-1], len(test.epsilons))
        return np.moveaxis(every, -1, -2)

    def _bounds_of(
        self, tables: NDArray[np.int64], thresholds: NDArray[np.float64], size: int, epsilon: float
    ) -> NDArray[np.float64]:
        """Bound the p-values of tables of one number of items."""
        statistics = Boundary(epsilon, self._test.mode).statistic(*tables.T)
        order = np.argsort(statistics, kind="stable")
        bounds = np.ones(len(tables))
        for threshold in thresholds[::-1].tolist():
            cut = self._cut(tables[order], statistics[order], (size, epsilon, threshold))
            bounds[order[:cut]] = threshold * _BELOW
        return bounds

    def _cut(
        self,
        tables: NDArray[np.int64],
        statistics: NDArray[np.float64],
        key: tuple[int, float, float],
    ) -> int:
        """Count the tables, in order, whose p-value does not exceed a threshold."""
        _, epsilon, threshold = key
        inside, outside = self._cuts.get(key, (-np.inf, np.inf))
        low = int(np.searchsorted(statistics, inside + SAME, side="right"))
        high = int(np.searchsorted(statistics, outside - SAME, side="left"))
        while low < high:
            middle = (low + high) // 2
            minus, ties, plus = tables[middle].tolist()
            p_value = exact_p_value(
                n_judge_wins=minus,
                n_ties=ties,
                n_human_wins=plus,
                epsilon=epsilon,
                epsilon_mode=self._test.mode,
            )
            if p_value <= threshold:
                low, inside = middle + 1, float(statistics[middle])
            else:
                high, outside = middle, float(statistics[middle])
        self._cuts[key] = (inside, outside)
        return low


def _thresholds(n_annotators: int, rate: float) -> NDArray[np.float64]:
    """Every threshold of Benjamini-Yekutieli for up to that many tested annotators, ascending."""
    harmonic = np.cumsum(1 / np.arange(1, n_annotators + 1))
    found = [
        rank * rate / (n_tested * harmonic[n_tested - 1])
        for n_tested in range(1, n_annotators + 1)
        for rank in range(1, n_tested + 1)
    ]
    return np.unique(found)


def _distinct(tables: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Distinct rows, and which of them each row is."""
    base = int(tables.max(initial=0)) + 1
    keys = (tables[:, 0] * base + tables[:, 1]) * base + tables[:, 2]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return tables[first], place
