"""By how much a judge beats the annotators of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, NO_OUTCOME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.preparation import Prepared

__all__ = ["item_gaps"]

_CELLS_AT_ONCE = 1 << 18


def item_gaps(prepared: Prepared) -> NDArray[np.float64]:
    """Take, for each judge and item, the share of annotators beaten less the share who beat it.

    Parameters
    ----------
    prepared : Prepared
        The labels and how they are compared; an expert's own comparisons do not count, and
        neither do imbalance weights.

    Returns
    -------
    ndarray of float, shape (n_judges, n_items)
        In [-1, 1]; nan where the judge was compared with nobody.
    """
    raters, comparison = prepared.raters, prepared.comparison
    excluded = prepared.settings.excluded
    n_items, n_annotators = raters.humans.shape
    gaps = np.full((raters.judges.shape[1], n_items), np.nan)
    step = max(256, _CELLS_AT_ONCE // (n_annotators * comparison.scorer.cell_width))
    for start in range(0, n_items, step):
        rows = slice(start, start + step)
        part = raters.take(rows)
        block = comparison.block(part)
        for number, answers in enumerate(part.judges.T):
            outcomes = block.outcomes(np.ascontiguousarray(answers))
            if excluded is not None:
                outcomes[excluded] = NO_OUTCOME
            n_compared = np.count_nonzero(outcomes >= 0, axis=0)
            wins = np.count_nonzero(outcomes == JUDGE_WINS, axis=0)
            losses = np.count_nonzero(outcomes == HUMAN_WINS, axis=0)
            known = n_compared > 0
            gaps[number, rows][known] = (wins - losses)[known] / n_compared[known]
    return gaps
