"""Compare raters pair by pair: all annotators with each other, or one judge with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.item_sums import Occurrences, OccurrenceSums, TablePairs, sum_tables
from voirdire.stats.agreement.pair_figures import Entries
from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.agreement.item_sums import ItemSums
    from voirdire.stats.agreement.labels import CodedLabels
    from voirdire.stats.agreement.weights import Disagreement

__all__ = ["MAX_CELLS", "RaterPairs"]

_MAX_TABLE_LABELS = 63
MAX_CELLS = 1 << 21
"""Cells of all tables together: 64 MiB of contributions."""

_MAX_COMPARISONS = 2_000_000_000
"""Items times pairs that are counted in tables: about ten seconds."""

_MAX_LISTED = 100_000_000
"""Items times pairs that are listed: about ten seconds."""

_MAX_SETS = 2_048
_MAX_PAIRS_OF_MANY_SETS = 20

_LISTED_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class RaterPairs:
    """Annotators and judges to compare.

    Attributes
    ----------
    labels : CodedLabels
        The labels, annotators first.
    n_humans : int
        How many of the raters are annotators.
    """

    labels: CodedLabels
    n_humans: int

    @property
    def humans(self) -> NDArray[Any]:
        """Codes of the annotators' labels, shape (n_humans, n_items)."""
        return self.labels.codes[: self.n_humans]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.labels.codes.shape[1])

    @cached_property
    def shifted(self) -> NDArray[Any]:
        """Codes from 1, 0 where missing."""
        codes = self.labels.codes
        return (codes + codes.dtype.type(1)).astype(np.min_scalar_type(self.labels.n_labels))

    @cached_property
    def slots(self) -> NDArray[np.intp] | None:
        """Annotators of each item in a crowd, shape (n_items, n_slots); None otherwise."""
        slots = pack_slots(self.humans >= 0)
        return None if slots is None else np.ascontiguousarray(slots.T)

    @cached_property
    def slot_codes(self) -> NDArray[Any]:
        """Codes of the labels in the slots, shape (n_items, n_slots)."""
        if self.slots is None:
            return np.ascontiguousarray(self.humans.T)
        return np.take_along_axis(self.humans.T, self.slots, axis=1)

    def among_humans(self, disagreement: Disagreement) -> ItemSums | str:
        """Compare every annotator with every other; or say why this would take too long."""
        raters = range(self.n_humans)
        if self.slots is None:
            return self.of_columns([(a, b) for a in raters for b in raters if a < b], disagreement)
        n_labels = np.count_nonzero(self.humans >= 0, axis=0)
        too_many = self._refuse(int((n_labels * (n_labels - 1) // 2).sum()), self.n_humans)
        return too_many or self._sum_lists(self._crowd_pairs(self.slots), disagreement)

    def with_judge(self, judge: int, disagreement: Disagreement) -> ItemSums | str:
        """Compare a judge, given by its number among all raters, with every annotator."""
        if self.slots is None:
            pairs = [(judge, human) for human in range(self.n_humans)]
            return self.of_columns(pairs, disagreement)
        n_labels = np.count_nonzero(self.humans >= 0)
        too_many = self._refuse(int(n_labels), self.n_humans)
        return too_many or self._sum_lists(self._crowd_beside(judge), disagreement)

    def of_columns(
        self, pairs: Sequence[tuple[int, int]], disagreement: Disagreement
    ) -> ItemSums | str:
        """Compare raters given by their numbers; or say why this would take too long."""
        n_labels, work = self.labels.n_labels, len(pairs) * self.n_items
        in_tables = (
            n_labels <= _MAX_TABLE_LABELS
            and len(pairs) * (n_labels + 1) ** 2 <= MAX_CELLS
            and work <= _MAX_COMPARISONS
        )
        if not in_tables:
            too_many = self._refuse(work, len(pairs))
            return too_many or self._sum_lists(self._columns(pairs), disagreement)
        table_pairs = TablePairs(
            first=[self.shifted[first] for first, _ in pairs],
            second=[self.shifted[second] for _, second in pairs],
            raters=pairs,
            n_labels=n_labels,
            n_second=n_labels,
        )
        return sum_tables(table_pairs, disagreement, n_items=self.n_items)

    def label_chunks(self) -> Iterator[tuple[range, NDArray[np.intp], NDArray[np.intp]]]:
        """Give the annotators' labels in chunks of whole annotators: who, rater, item."""
        raters, items = np.nonzero(self.humans >= 0)
        bounds = np.searchsorted(raters, np.arange(self.n_humans + 1))
        most = max(1, _LISTED_AT_ONCE // max(self.slot_codes.shape[1], 1))
        start = 0
        while start < self.n_humans:
            stop = int(np.searchsorted(bounds, bounds[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), self.n_humans)
            chunk = slice(bounds[start], bounds[stop])
            yield range(start, stop), raters[chunk], items[chunk]
            start = stop

    def _refuse(self, work: int, n_pairs: int) -> str | None:
        if work > _MAX_LISTED:
            return f"{work:,} comparisons of two labels would take too long"
        many_sets = self.labels.weights == "jaccard" and self.labels.n_labels > _MAX_SETS
        if many_sets and n_pairs > _MAX_PAIRS_OF_MANY_SETS:
            return f"{self.labels.n_labels:,} distinct label sets are too many for every pair"
        return None

    def _sum_lists(self, chunks: Iterator[Occurrences], disagreement: Disagreement) -> ItemSums:
        sums = OccurrenceSums(disagreement, n_labels=self.labels.n_labels, n_items=self.n_items)
        for chunk in chunks:
            sums.add(chunk)
        return sums.finish()

    def _columns(self, pairs: Sequence[tuple[int, int]]) -> Iterator[Occurrences]:
        codes = self.labels.codes
        for pair in pairs:
            item = np.flatnonzero((codes[pair[0]] >= 0) & (codes[pair[1]] >= 0))
            yield Occurrences(
                item=item,
                entries=Entries(
                    group=np.zeros(len(item), dtype=np.intp),
                    first=codes[pair[0]][item],
                    second=codes[pair[1]][item],
                    weight=np.ones(len(item)),
                    n_groups=1,
                ),
                raters=np.array([pair]),
            )

    def _crowd_pairs(self, slots: NDArray[np.intp]) -> Iterator[Occurrences]:
        slot_codes = self.slot_codes
        for _, raters, items in self.label_chunks():
            others = slots[items]
            row, slot = np.nonzero((others > raters[:, np.newaxis]) & (slot_codes[items] >= 0))
            keys = raters[row] * self.n_humans + others[row, slot]
            distinct, group = np.unique(keys, return_inverse=True)
            item = items[row]
            yield Occurrences(
                item=item,
                entries=Entries(
                    group=group,
                    first=self.humans[raters[row], item],
                    second=slot_codes[item, slot],
                    weight=np.ones(len(item)),
                    n_groups=len(distinct),
                ),
                raters=np.stack([distinct // self.n_humans, distinct % self.n_humans], axis=1),
            )

    def _crowd_beside(self, judge: int) -> Iterator[Occurrences]:
        own = self.labels.codes[judge]
        for who, raters, items in self.label_chunks():
            known = own[items] >= 0
            rater, item = raters[known], items[known]
            yield Occurrences(
                item=item,
                entries=Entries(
                    group=rater - who.start,
                    first=own[item],
                    second=self.humans[rater, item],
                    weight=np.ones(len(item)),
                    n_groups=len(who),
                ),
                raters=np.stack([np.full(len(who), judge), np.array(who)], axis=1),
            )
