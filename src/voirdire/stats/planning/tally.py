"""Count how many simulated studies a judge passes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.figures import passes
from voirdire.stats.paired_test import mean_difference, t_test_p_values
from voirdire.stats.planning.exact_decisions import ExactDecisions
from voirdire.stats.planning.result import PowerRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.figures import TestSettings
    from voirdire.stats.outcome_sums import OutcomeSums
    from voirdire.stats.planning.grid import PowerGrid
    from voirdire.stats.planning.result import Route

__all__ = ["PowerTally", "winning_rates"]


def winning_rates(
    sums: OutcomeSums, test: TestSettings, *, exact: ExactDecisions | None = None
) -> NDArray[np.float64]:
    """Find ω of every study, as `voirdire.stats.figures.compute_figures` does for a judge.

    Parameters
    ----------
    sums : OutcomeSums
        Of shape (..., n_annotators).
    test : TestSettings
        Without weights of annotators and without an expert.
    exact : ExactDecisions, optional
        What is known of the exact test from earlier sums.

    Returns
    -------
    ndarray of float, shape (..., n_epsilons)
        In [0, 1]; nan where no annotator has enough items.
    """
    tested = sums.n_items >= test.min_items
    if test.method == "exact":
        p_values = (exact or ExactDecisions(test)).bounds(sums.counts)
    else:
        p_values = t_test_p_values(
            mean_difference(sums, test.epsilons, mode=test.mode, design=test.design)
        )
    # An undefined p-value of a tested annotator speaks for nobody: it counts as 1.
    family = np.where(np.isnan(p_values), 1.0, p_values)
    family[np.broadcast_to(~tested[..., np.newaxis, :], family.shape)] = np.nan
    rejected = benjamini_yekutieli(family, false_discovery_rate=test.false_discovery_rate)
    n_tested = np.count_nonzero(tested, axis=-1)[..., np.newaxis]
    won = np.count_nonzero(rejected, axis=-1)
    return np.divide(won, n_tested, out=np.full(won.shape, np.nan), where=n_tested > 0)


class PowerTally:
    """How many studies with some number of annotators were passed, by size and ε."""

    def __init__(self, grid: PowerGrid) -> None:
        self._grid = grid
        self._exact = ExactDecisions(grid.test)
        shape = (len(grid.sizes), len(grid.epsilons))
        self._n_passed = np.zeros(shape, dtype=np.int64)
        self._n_defined = np.zeros(shape, dtype=np.int64)
        self._rate_sum = np.zeros(shape)
        self._n_studies = 0

    def add(self, sums: OutcomeSums) -> None:
        """Count studies, given their sums of shape (n_studies, n_sizes, n_annotators)."""
        rates = winning_rates(sums, self._grid.test, exact=self._exact)
        self._n_studies += len(rates)
        self._n_passed += np.count_nonzero(passes(rates), axis=0)
        self._n_defined += np.count_nonzero(~np.isnan(rates), axis=0)
        self._rate_sum += np.nansum(rates, axis=0)

    def rows(self, n_annotators: int, *, route: Route, label_share: float = 1.0) -> list[PowerRow]:
        """Report the counts, size by size."""
        return [
            replace(self._row(place, position, n_annotators, route), label_share=label_share)
            for place in range(len(self._grid.sizes))
            for position in range(len(self._grid.epsilons))
        ]

    def _row(self, place: int, position: int, n_annotators: int, route: Route) -> PowerRow:
        power = int(self._n_passed[place, position]) / self._n_studies
        n_defined = int(self._n_defined[place, position])
        reason = None
        if not n_defined:
            reason = f"no annotator has the {self._grid.test.min_items} items of `min_items`"
        return PowerRow(
            n_items=self._grid.sizes[place],
            n_annotators=n_annotators,
            epsilon=self._grid.epsilons[position],
            power=power,
            standard_error=math.sqrt(power * (1 - power) / self._n_studies),
            winning_rate=float(self._rate_sum[place, position]) / n_defined
            if n_defined
            else math.nan,
            n_simulations=self._n_studies,
            route=route,
            reason=reason,
        )
