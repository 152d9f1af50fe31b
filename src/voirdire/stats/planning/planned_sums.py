"""Outcome sums of many studies at several sizes: the first items of a study are a smaller study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.outcome_sums import OutcomeSums, sum_outcomes
from voirdire.stats.outcomes import HUMAN_WINS, JUDGE_WINS, TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["sums_at_sizes", "sums_at_sizes_by_cluster"]


def sums_at_sizes(outcomes: NDArray[np.int8], sizes: Sequence[int]) -> OutcomeSums:
    """Sum the outcomes of the first items of every study, for each size in one pass.

    Parameters
    ----------
    outcomes : ndarray of int8, shape (n_annotators, n_studies, n_items)
        As `HumanBlock.outcomes` gives them.
    sizes : sequence of int
        Numbers of items, ascending, the last at most n_items.

    Returns
    -------
    OutcomeSums
        Of shape (n_studies, n_sizes, n_annotators).
    """
    used = outcomes[..., : sizes[-1]]
    starts = [0, *sizes[:-1]]
    n_annotators, n_studies, _ = used.shape
    counts = np.empty((n_studies, len(sizes), n_annotators, 3), dtype=np.int64)
    for place, kind in enumerate((JUDGE_WINS, TIE, HUMAN_WINS)):
        parts = np.add.reduceat((used == kind).view(np.uint8), starts, axis=2, dtype=np.int64)
        counts[..., place] = parts.cumsum(axis=2).transpose(1, 2, 0)
    weights = counts.astype(np.float64)
    return OutcomeSums(
        counts=counts,
        weights=weights,
        squares=weights[..., np.newaxis] * np.eye(3),
        n_units=counts.sum(axis=-1),
    )


def sums_at_sizes_by_cluster(
    outcomes: NDArray[np.int8], clusters: NDArray[np.intp], sizes: Sequence[int]
) -> OutcomeSums:
    """Do the same where items share clusters; a size may cut through its last cluster.

    Parameters
    ----------
    outcomes : ndarray of int8, shape (n_annotators, n_studies, n_items)
        As above.
    clusters : ndarray of int, shape (n_studies, n_items)
        The independent unit of each item, ascending within a study.
    sizes : sequence of int
        As above.

    Returns
    -------
    OutcomeSums
        Of shape (n_studies, n_sizes, n_annotators).
    """
    studies = [
        OutcomeSums.stack(
            sum_outcomes(outcomes[:, study, :size], clusters=clusters[study, :size])
            for size in sizes
        )
        for study in range(outcomes.shape[1])
    ]
    return OutcomeSums.stack(studies)
