"""Run every judge and control past every annotator, a block of items at a time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.imbalance import imbalance_weights
from voirdire.stats.outcome_sums import OutcomeSums, sum_outcomes
from voirdire.stats.outcomes import HumanBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.alignment import Scorer
    from voirdire.stats.controls import Control
    from voirdire.stats.outcome_units import UnitCollector

__all__ = ["Comparison", "Raters", "RunSums"]

_CELLS_AT_ONCE = 1 << 18
"""Items times annotators of a block: small enough for the caches, large enough for numpy."""


@dataclass(frozen=True, kw_only=True)
class Raters:
    """The labels under examination.

    Attributes
    ----------
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    judges : ndarray, shape (n_items, n_judges)
        In the same form.
    failed : ndarray of bool, shape (n_items, n_judges), or None
        Where a judge was asked and gave no usable answer.
    reference : ndarray, shape (n_items,), or None
        Labels that replace "the others".
    clusters : ndarray of int, shape (n_items,), or None
        Independent units.
    codes : ndarray of int, shape (n_items, n_annotators), or None
        Label codes for imbalance weights, -1 for missing.
    reference_codes : ndarray of int, shape (n_items,), or None
        The reference in the same codes.
    """

    humans: NDArray[Any]
    judges: NDArray[Any]
    failed: NDArray[np.bool_] | None = None
    reference: NDArray[Any] | None = None
    clusters: NDArray[np.intp] | None = None
    codes: NDArray[Any] | None = None
    reference_codes: NDArray[Any] | None = None

    def n_codes_seen(self) -> int:
        """One more than the largest code; 0 where labels are numbers."""
        if self.humans.dtype.kind == "f":
            return 0
        given = (self.humans, self.judges, self.reference)
        return 1 + max(int(labels.max(initial=-1)) for labels in given if labels is not None)

    def n_weight_codes(self) -> int:
        """One more than the largest code that imbalance weights count; 0 without weights."""
        given = (self.codes, self.reference_codes)
        return 1 + max((int(x.max(initial=-1)) for x in given if x is not None), default=-1)

    def sorted_by_cluster(self) -> Raters:
        """Order the items so that every cluster is one run."""
        if self.clusters is None:
            return self
        return self._take(np.argsort(self.clusters, kind="stable"))

    def rows(self, items: slice) -> Raters:
        """Return the labels of some items."""
        return self._take(items)

    def _take(self, rows: Any) -> Raters:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        taken: dict[str, Any] = {
            name: labels if labels is None else labels[rows] for name, labels in given.items()
        }
        return Raters(**taken)


@dataclass(frozen=True, kw_only=True)
class RunSums:
    """The sums of a run: judges as they are, with failures lost, and controls.

    Attributes
    ----------
    judges, worst : OutcomeSums
        Of shape (n_judges, n_annotators).
    controls : OutcomeSums or None
        Of shape (n_controls, n_annotators).
    n_items : ndarray of int, shape (n_judges,)
        Items compared with at least one annotator.
    """

    judges: OutcomeSums
    worst: OutcomeSums
    controls: OutcomeSums | None
    n_items: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How judges and annotators are compared.

    Attributes
    ----------
    scorer : Scorer
        The alignment.
    quality : ndarray of float, shape (n_annotators,), or None
        Weights of annotators in S.
    min_annotators : int
        Fewest annotators on an item.
    n_codes : int
        Number of label codes, for imbalance weights.
    excluded : int or None
        The expert, whose own items do not count.
    """

    scorer: Scorer
    quality: NDArray[np.float64] | None
    min_annotators: int
    n_codes: int
    excluded: int | None = None

    def run(
        self,
        raters: Raters,
        controls: Sequence[Control],
        collectors: Sequence[UnitCollector] = (),
    ) -> RunSums:
        """Compare everyone; partitions of the items are summed as they come.

        With one collector per judge these gather the judges' units in passing.
        """
        total: RunSums | None = None
        raters = raters.sorted_by_cluster()
        for items in self._blocks(raters):
            part = self._run_block(raters.rows(items), controls, items, collectors)
            total = part if total is None else _added(total, part)
        return self._run_block(raters, controls, slice(None), ()) if total is None else total

    def _blocks(self, raters: Raters) -> Iterator[slice]:
        n_items, n_annotators = raters.humans.shape
        if raters.codes is not None:  # imbalance weights need all items at once
            yield slice(0, n_items)
            return
        step = max(256, _CELLS_AT_ONCE // (n_annotators * self.scorer.cell_width))
        edges = np.arange(0, max(n_items, 1), step)
        if raters.clusters is not None:
            known = raters.clusters[edges[edges < n_items]]
            edges = np.unique(np.append(0, np.searchsorted(raters.clusters, known)))
        for start, stop in zip(edges, [*edges[1:], n_items], strict=True):
            yield slice(int(start), int(stop))

    def block(self, raters: Raters) -> HumanBlock:
        """Make a block of some items' annotators, ready to meet judges."""
        return HumanBlock(
            raters.humans,
            scorer=self.scorer,
            quality=self.quality,
            reference=raters.reference,
            min_annotators=self.min_annotators,
        )

    def _run_block(
        self,
        raters: Raters,
        controls: Sequence[Control],
        items: slice,
        collectors: Sequence[UnitCollector],
    ) -> RunSums:
        block = self.block(raters)
        judges, worst, n_items = [], [], []
        for number in range(raters.judges.shape[1]):
            answers = np.ascontiguousarray(raters.judges[:, number])
            outcomes = block.outcomes(answers)
            judges.append(self._sum(outcomes, raters))
            compared = outcomes >= 0
            if self.excluded is not None:
                compared[self.excluded] = False
            n_items.append(np.count_nonzero(compared.any(axis=0)))
            failed = None if raters.failed is None else raters.failed[:, number]
            lost = outcomes
            if failed is not None and failed.any():
                lost = block.outcomes(answers, failed=failed)
            worst.append(judges[-1] if lost is outcomes else self._sum(lost, raters))
            if collectors:
                self._collect(collectors[number], outcomes, lost, raters)
        others = [
            self._sum(block.outcomes(self._answers(control, block, raters, items)), raters)
            for control in controls
        ]
        return RunSums(
            judges=OutcomeSums.stack(judges),
            worst=OutcomeSums.stack(worst),
            controls=OutcomeSums.stack(others) if others else None,
            n_items=np.asarray(n_items),
        )

    def _sum(self, outcomes: NDArray[np.int8], raters: Raters) -> OutcomeSums:
        weights = self.weights(outcomes, raters)
        return sum_outcomes(outcomes, weights=weights, clusters=raters.clusters)

    def weights(self, outcomes: NDArray[np.int8], raters: Raters) -> NDArray[np.float64] | None:
        """Weigh comparisons by the rarity of their labels, where that was asked for."""
        if raters.codes is None:
            return None
        return imbalance_weights(
            raters.codes.T,
            outcomes >= 0,
            n_codes=self.n_codes,
            reference=raters.reference_codes,
        )

    def _collect(
        self,
        collector: UnitCollector,
        outcomes: NDArray[np.int8],
        lost: NDArray[np.int8],
        raters: Raters,
    ) -> None:
        weights = self.weights(outcomes, raters)
        if collector.lost:
            if weights is not None:
                weights = np.concatenate([weights, self.weights(lost, raters)])
            outcomes = np.concatenate([outcomes, lost])
        collector.add(outcomes, weights=weights, clusters=raters.clusters)

    def _answers(
        self, control: Control, block: HumanBlock, raters: Raters, items: slice
    ) -> NDArray[Any]:
        """Labels of a control; the majority vote knows the annotators, never the reference."""
        if control.answers is not None:
            return control.answers[items]
        panel = block
        if raters.reference is not None:
            panel = HumanBlock(raters.humans, scorer=self.scorer, quality=self.quality)
        return raters.humans[np.arange(len(raters.humans)), panel.medoid()]


def _added(total: RunSums, part: RunSums) -> RunSums:
    both = total.controls is not None and part.controls is not None
    return RunSums(
        judges=total.judges + part.judges,
        worst=total.worst + part.worst,
        controls=total.controls + part.controls if both else None,  # type: ignore[operator]
        n_items=total.n_items + part.n_items,
    )
