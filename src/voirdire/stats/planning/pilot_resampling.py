"""Studies drawn from a pilot: its items with replacement, its annotators without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.outcomes import HumanBlock
from voirdire.stats.planning.gaps import ShareGiven
from voirdire.stats.planning.planned_sums import sums_at_sizes, sums_at_sizes_by_cluster
from voirdire.stats.planning.tally import PowerTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.alignment import Scorer
    from voirdire.stats.planning.grid import PowerGrid
    from voirdire.stats.planning.result import PowerRow

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
    scorer : Scorer
        The alignment.
    clusters : ndarray of int, shape (n_items,), or None
        Independent units.
    """

    humans: NDArray[Any]
    judge: NDArray[Any]
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
        """Compare the judge with some annotators alone: shape (n_annotators, n_items)."""
        columns = np.ascontiguousarray(self.humans[:, annotators])
        return HumanBlock(columns, scorer=self.scorer).outcomes(self.judge)


def resample_rows(pilot: PilotLabels, grid: PowerGrid, *, n_annotators: int) -> list[PowerRow]:
    """Find the power of studies with no more annotators than the pilot had.

    Every study draws some of the annotators, and items (or whole clusters of items) with
    replacement. Its first items are the smaller studies.

    Parameters
    ----------
    pilot : PilotLabels
        The labels.
    grid : PowerGrid
        What is asked.
    n_annotators : int
        At most as many as the pilot's.

    Returns
    -------
    list of PowerRow
    """
    tally = PowerTally(grid)
    for start, n_studies in grid.blocks():
        rng = np.random.default_rng([grid.seed, start, n_annotators])
        panels = _draw_panels(rng, pilot.humans.shape[1], n_annotators, n_studies)
        distinct, which = np.unique(panels, axis=0, return_inverse=True)
        compared = np.stack([pilot.outcomes(panel) for panel in distinct])
        items, clusters = _draw_items(rng, pilot, n_studies, grid.sizes[-1])
        drawn = compared.transpose(0, 2, 1)[which.reshape(-1, 1), items]
        outcomes = np.ascontiguousarray(drawn.transpose(2, 0, 1))
        if clusters is None:
            tally.add(sums_at_sizes(outcomes, grid.sizes))
        else:
            tally.add(sums_at_sizes_by_cluster(outcomes, clusters, grid.sizes))
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
