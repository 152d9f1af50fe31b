"""Outcome sums of many studies at several sizes: the first items of a study are a smaller study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.outcome_sums import OutcomeSums
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
    cuts = _Cuts.of(clusters[:, : sizes[-1]], sizes)
    shape = (outcomes.shape[1], len(sizes), len(outcomes))
    counts = np.empty((*shape, 3), dtype=np.int64)
    squares = np.empty((*shape, 3, 3))
    n_units = np.empty(shape, dtype=np.int64)
    for annotator, compared in enumerate(outcomes[..., : sizes[-1]]):
        sums = cuts.sum_up(compared.ravel())
        counts[:, :, annotator], squares[:, :, annotator], n_units[:, :, annotator] = sums
    return OutcomeSums(
        counts=counts, weights=counts.astype(np.float64), squares=squares, n_units=n_units
    )


@dataclass(frozen=True, kw_only=True)
class _Cuts:
    """Pieces of all studies, one after another: items of one cluster between two sizes.

    Attributes
    ----------
    starts : ndarray of int, shape (n_pieces,)
        Where each piece starts in the items of all studies.
    opening : ndarray of int, shape (n_pieces,)
        The first piece of each piece's cluster.
    closing : ndarray of bool, shape (n_pieces,)
        Whether its cluster ends with the piece.
    first, last : ndarray of int, shape (n_studies, 1) and (n_studies, n_sizes)
        First piece of each study, and last one of each size.
    """

    starts: NDArray[np.intp]
    opening: NDArray[np.intp]
    closing: NDArray[np.bool_]
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @staticmethod
    def of(clusters: NDArray[np.intp], sizes: Sequence[int]) -> _Cuts:
        """Cut studies with these clusters, of shape (n_studies, n_items)."""
        begins = np.ones(clusters.shape, dtype=np.bool_)
        begins[:, 1:] = clusters[:, 1:] != clusters[:, :-1]
        cut = begins.copy()
        cut[:, list(sizes[:-1])] = True
        starts = np.flatnonzero(cut)
        opens = begins.ravel()[starts]
        offsets = np.arange(len(clusters))[:, np.newaxis] * clusters.shape[1]
        return _Cuts(
            starts=starts,
            opening=np.maximum.accumulate(np.where(opens, np.arange(len(starts)), 0)),
            closing=np.append(opens[1:], True),
            first=np.searchsorted(starts, offsets),
            last=np.searchsorted(starts, offsets + np.asarray(sizes)) - 1,
        )

    def sum_up(
        self, outcomes: NDArray[np.int8]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return one annotator's counts, second moments and units, by study and size.

        What is whole before a size is taken from running sums over closed clusters; the cluster
        that the size cuts through adds the part of it that lies before.
        """
        pieces = np.stack(
            [
                np.add.reduceat((outcomes == kind).view(np.uint8), self.starts, dtype=np.int64)
                for kind in (JUDGE_WINS, TIE, HUMAN_WINS)
            ],
            axis=-1,
        )
        before = _running(pieces)
        parts = before[1:] - before[self.opening]
        moments = parts[:, :, np.newaxis] * parts[:, np.newaxis]
        units = np.asarray(parts.any(axis=-1), dtype=np.int64)
        cut_through: NDArray[np.bool_] = ~self.closing[self.last]
        squares = self._between(moments * self.closing[:, np.newaxis, np.newaxis])
        squares += moments[self.last] * cut_through[..., np.newaxis, np.newaxis]
        n_units = self._between(units * self.closing) + units[self.last] * cut_through
        return self._between(pieces), squares.astype(np.float64), n_units

    def _between(self, pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum pieces from the first of a study to the last of a size."""
        before = _running(pieces)
        found: NDArray[np.int64] = before[self.last + 1] - before[self.first]
        return found


def _running(pieces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum up what stands before each piece, and before the end."""
    sums = np.zeros((len(pieces) + 1, *pieces.shape[1:]), dtype=np.int64)
    np.cumsum(pieces, axis=0, out=sums[1:])
    return sums
