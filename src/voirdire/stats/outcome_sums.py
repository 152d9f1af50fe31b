r"""Mergeable sufficient statistics of the alternative annotator test, per annotator.

The difference :math:`d = W^h - W^f` (or :math:`W^h - W^f/(1-\varepsilon)`) takes one value per
outcome, so the means, variances and cluster-robust errors of *every* ε and ε mode follow from the
weight of each outcome and from the second moments of those weights over independent units:

.. math:: w = \sum_g u_g, \qquad S = \sum_g u_g u_g^\top, \qquad u_g \in \mathbb{R}^3,

where :math:`u_g` is the weight that unit :math:`g` (an item, or a cluster of items) puts on each
outcome. Both are sums over units: partitions that keep every cluster whole can be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.outcomes import HUMAN_WINS, JUDGE_WINS, TIE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["OutcomeSums", "sum_outcomes"]

_OUTCOMES = (JUDGE_WINS, TIE, HUMAN_WINS)


@dataclass(frozen=True, kw_only=True)
class OutcomeSums:
    """How often each outcome occurred; `a + b` are the sums of both partitions together.

    Attributes
    ----------
    counts : ndarray of int, shape (..., n_annotators, 3)
        Items per outcome: the judge wins, tie, the human wins.
    weights : ndarray of float, shape (..., n_annotators, 3)
        Total weight per outcome; equals `counts` without weights.
    squares : ndarray of float, shape (..., n_annotators, 3, 3)
        Second moments of the units' weights.
    n_units : ndarray of int, shape (..., n_annotators)
        Independent units: items, or clusters.
    """

    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_units: NDArray[np.int64]

    def __add__(self, other: OutcomeSums) -> OutcomeSums:
        if not isinstance(other, OutcomeSums):
            return NotImplemented
        return OutcomeSums(
            counts=self.counts + other.counts,
            weights=self.weights + other.weights,
            squares=self.squares + other.squares,
            n_units=self.n_units + other.n_units,
        )

    @property
    def n_items(self) -> NDArray[np.int64]:
        """Items compared, shape (..., n_annotators)."""
        return self.counts.sum(axis=-1)

    def columns(self, kept: slice) -> OutcomeSums:
        """Return the sums of some annotators only."""
        return OutcomeSums(
            counts=self.counts[..., kept, :],
            weights=self.weights[..., kept, :],
            squares=self.squares[..., kept, :, :],
            n_units=self.n_units[..., kept],
        )

    def judge(self, number: int) -> OutcomeSums:
        """Return the sums of one judge, the first axis kept."""
        only = slice(number, number + 1)
        return OutcomeSums(
            counts=self.counts[only],
            weights=self.weights[only],
            squares=self.squares[only],
            n_units=self.n_units[only],
        )

    @staticmethod
    def stack(parts: Iterable[OutcomeSums]) -> OutcomeSums:
        """Put the sums of several judges along a new first axis."""
        listed = list(parts)
        return OutcomeSums(
            counts=np.stack([part.counts for part in listed]),
            weights=np.stack([part.weights for part in listed]),
            squares=np.stack([part.squares for part in listed]),
            n_units=np.stack([part.n_units for part in listed]),
        )


def sum_outcomes(
    outcomes: NDArray[np.int8],
    *,
    weights: NDArray[np.float64] | None = None,
    clusters: NDArray[np.intp] | None = None,
) -> OutcomeSums:
    """Sum the outcomes of a block of items.

    Parameters
    ----------
    outcomes : ndarray of int8, shape (n_annotators, n_items)
        As `HumanBlock.outcomes` gives them.
    weights : ndarray of float, shape (n_annotators, n_items), optional
        The weight of each comparison.
    clusters : ndarray of int, shape (n_items,), optional
        The independent unit of each item, ascending.

    Returns
    -------
    OutcomeSums
    """
    counts = np.stack([np.count_nonzero(outcomes == kind, axis=1) for kind in _OUTCOMES], axis=-1)
    if clusters is not None:
        return _sum_by_cluster(outcomes, counts, weights=weights, clusters=clusters)
    if weights is None:
        total, squared = counts.astype(np.float64), counts.astype(np.float64)
    else:
        total = np.stack([(weights * (outcomes == kind)).sum(axis=1) for kind in _OUTCOMES], -1)
        square = weights * weights
        squared = np.stack([(square * (outcomes == kind)).sum(axis=1) for kind in _OUTCOMES], -1)
    return OutcomeSums(
        counts=counts,
        weights=total,
        squares=squared[..., np.newaxis] * np.eye(3),
        n_units=counts.sum(axis=-1),
    )


def _sum_by_cluster(
    outcomes: NDArray[np.int8],
    counts: NDArray[np.int64],
    *,
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.intp],
) -> OutcomeSums:
    if not clusters.size:
        zeros = np.zeros((len(counts), 3, 3))
        n_units = np.zeros(len(counts), dtype=np.int64)
        return OutcomeSums(counts=counts, weights=zeros[..., 0], squares=zeros, n_units=n_units)
    starts = np.flatnonzero(np.concatenate([[True], clusters[1:] != clusters[:-1]]))
    mass = np.ones(outcomes.shape) if weights is None else weights
    units = np.stack(
        [np.add.reduceat(mass * (outcomes == kind), starts, axis=1) for kind in _OUTCOMES], axis=-1
    )
    compared = np.add.reduceat((outcomes >= 0).astype(np.int64), starts, axis=1) > 0
    return OutcomeSums(
        counts=counts,
        weights=units.sum(axis=1),
        squares=np.einsum("jgr,jgs->jrs", units, units),
        n_units=np.count_nonzero(compared, axis=1),
    )
