"""Studies drawn from a pilot: its items with replacement, its annotators without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.comparison import HumanBlock
from voirdire.stats.noise_model import ShareGiven
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, TIE, OutcomeSums
from voirdire.stats.power_analysis import Moments, PowerTally, StudySums, gain_p_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.alignment import Scorer
    from voirdire.stats.power_analysis import PowerGrid, PowerRow

__all__ = ["PilotLabels", "resample_rows"]


@dataclass(frozen=True, kw_only=True)
class PilotLabels:
    """The labels of a pilot study.

    Attributes
    ----------
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    judge : ndarray, shape (n_items,)
        In the same form.
    constants : sequence
        Labels that the constant judge may give.
    scorer : Scorer
        The alignment.
    clusters : ndarray of int, shape (n_items,), or None
        Independent units.
    """

    humans: NDArray[Any]
    judge: NDArray[Any]
    constants: Sequence[Any]
    scorer: Scorer
    clusters: NDArray[np.intp] | None = None

    @property
    def given(self) -> ShareGiven:
        """How much of the pilot is labelled; studies that are drawn from it are alike."""
        present = self.scorer.is_present
        return ShareGiven(
            humans=float(present(self.humans).mean()), judge=float(present(self.judge).mean())
        )

    def outcomes(self, annotators: NDArray[np.intp]) -> NDArray[np.int8]:
        """Compare the judge, then each constant, with some annotators alone.

        The shape is (1 + n_constants, n_items, n_annotators).
        """
        block = HumanBlock(np.ascontiguousarray(self.humans[:, annotators]), scorer=self.scorer)
        judges = [self.judge, *(np.full_like(self.judge, label) for label in self.constants)]
        return np.stack([block.outcomes(labels).T for labels in judges])


def resample_rows(pilot: PilotLabels, grid: PowerGrid, *, n_annotators: int) -> list[PowerRow]:
    """Find the power of studies with no more annotators than the pilot had.

    Every study draws some of the annotators, and items (or whole clusters of items) with
    replacement. Its first items are the smaller studies.
    """
    tally = PowerTally(grid)
    for start, n_studies in grid.blocks():
        rng = np.random.default_rng([grid.seed, start, n_annotators])
        panels = _draw_panels(rng, pilot.humans.shape[1], n_annotators, n_studies)
        distinct, which = np.unique(panels, axis=0, return_inverse=True)
        compared = np.stack([pilot.outcomes(panel) for panel in distinct])
        items, clusters = _draw_items(rng, pilot, n_studies, grid.sizes[-1])
        judge, *constants = (
            np.ascontiguousarray(compared[which.reshape(-1, 1), number, items].transpose(2, 0, 1))
            for number in range(compared.shape[1])
        )
        if clusters is None:
            tally.add(StudySums.of(judge, constants, grid.sizes))
        else:
            tally.add(_sums_by_cluster(judge, constants, clusters, grid.sizes))
    return tally.rows(n_annotators, route="resampling", label_share=pilot.given.humans)


def _draw_panels(
    rng: np.random.Generator, n_pilot: int, n_annotators: int, n_studies: int
) -> NDArray[np.intp]:
    """Draw annotators for every study, without replacement, in the pilot's order."""
    everyone = np.tile(np.arange(n_pilot), (n_studies, 1))
    return np.sort(rng.permuted(everyone, axis=1)[:, :n_annotators], axis=1)


def _draw_items(
    rng: np.random.Generator, pilot: PilotLabels, n_studies: int, n_items: int
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Draw items for every study, and, with clusters, the unit to which each then belongs."""
    if pilot.clusters is None:
        return rng.integers(len(pilot.judge), size=(n_studies, n_items)), None
    order = np.argsort(pilot.clusters, kind="stable")
    sizes = np.unique(pilot.clusters, return_counts=True)[1]
    starts = np.cumsum(sizes) - sizes
    drawn = rng.integers(len(sizes), size=(n_studies, -(-n_items // int(sizes.min()))))
    items = np.empty((n_studies, n_items), dtype=np.intp)
    units = np.empty((n_studies, n_items), dtype=np.intp)
    for study, chosen in enumerate(drawn):
        lengths = sizes[chosen]
        unit = np.repeat(np.arange(len(chosen)), lengths)[:n_items]
        before = (np.cumsum(lengths) - lengths)[unit]
        items[study] = order[starts[chosen][unit] + np.arange(n_items) - before]
        units[study] = unit
    return items, units


def _sums_by_cluster(
    judge: NDArray[np.int8],
    constants: Iterable[NDArray[np.int8]],
    clusters: NDArray[np.intp],
    sizes: Sequence[int],
) -> StudySums:
    """Sum outcomes of shape (n_annotators, n_studies, n_items) whose items share clusters.

    Clusters, of shape (n_studies, n_items), ascend within a study; a size may cut through its last
    one.
    """
    cuts = _Cuts.of(clusters[:, : sizes[-1]], sizes)
    kinds = np.array([JUDGE_WINS, TIE, HUMAN_WINS])
    found = [
        cuts.sum_up((row[..., : sizes[-1]].ravel()[:, np.newaxis] == kinds).astype(np.float64))
        for row in judge
    ]
    counts, squares, n_units = (np.stack(parts, axis=2) for parts in zip(*found, strict=True))
    sums = OutcomeSums(
        counts=counts.astype(np.int64),
        weights=counts,
        squares=squares,
        n_units=n_units.astype(np.int64),
    )

    def sum_up(values: NDArray[Any], kind: Any) -> NDArray[Any]:
        rows = values[..., : sizes[-1]].reshape(len(values), -1).astype(kind)
        return np.stack([cuts.sum_up(row[:, np.newaxis])[0][..., 0] for row in rows])

    def moments(gains: NDArray[np.float64], met: NDArray[np.bool_]) -> Moments:
        pair = np.stack([gains[:, : sizes[-1]].ravel(), met[:, : sizes[-1]].ravel()], axis=-1)
        total, products, units = cuts.sum_up(pair.astype(np.float64))
        return Moments(
            n_items=total[..., 1],
            n_units=units,
            total=total[..., 0],
            squares=products[..., 0, 0],
            mixed=products[..., 0, 1],
            sizes=products[..., 1, 1],
        )

    return StudySums(
        judge=sums, gain_p_values=gain_p_values(judge, constants, sums, sum_up, moments)
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
        self, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Sum values of shape (n_items of all studies, k) up to each size of each study.

        Returns their sums, the second moments of the clusters' sums, and how many clusters have
        any. What is whole before a size is taken from running sums over closed clusters; the
        cluster that the size cuts through adds the part of it that lies before.
        """
        pieces = np.add.reduceat(values, self.starts, axis=0)
        before = _running(pieces)
        parts = before[1:] - before[self.opening]
        moments = parts[:, :, np.newaxis] * parts[:, np.newaxis]
        units = np.asarray(parts.any(axis=-1), dtype=np.float64)
        cut_through: NDArray[np.bool_] = ~self.closing[self.last]
        products = self._between(moments * self.closing[:, np.newaxis, np.newaxis])
        products += moments[self.last] * cut_through[..., np.newaxis, np.newaxis]
        n_units = self._between(units * self.closing) + units[self.last] * cut_through
        return self._between(pieces), products, n_units

    def _between(self, pieces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum pieces from the first of a study to the last of a size."""
        before = _running(pieces)
        found: NDArray[np.float64] = before[self.last + 1] - before[self.first]
        return found


def _running(pieces: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum up what stands before each piece, and before the end."""
    sums = np.zeros((len(pieces) + 1, *pieces.shape[1:]))
    np.cumsum(pieces, axis=0, out=sums[1:])
    return sums
