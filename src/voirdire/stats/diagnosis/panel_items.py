"""A judge on items where all annotators agree, and on items where they do not.

A judge that departs from people where they are sure is worse than one that departs where they
split. The panel's label is the one that most annotators gave; with several such labels the item is
tied. A judge departs from the panel where it gives no such label.

On scales a judge gives a label of the panel if it is less than one step away from it, a step being
the smallest difference between two labels that annotators gave.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_count
from voirdire.stats.label_arrays import check_humans, check_judges
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, NO_OUTCOME
from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.preparation import Prepared

__all__ = [
    "DiagnosisLevel",
    "PanelBlock",
    "PanelCounts",
    "PanelItems",
    "count_same",
    "is_present",
    "item_gaps",
    "panel_blocks",
    "panel_items",
]

DiagnosisLevel: TypeAlias = Literal["nominal", "interval", "sets"]
"""What labels are: equal or not, numbers, or codes of label sets."""

_CELLS_AT_ONCE = 1 << 18
_FEW_SLOTS = 16
"""Up to here comparing slots pair by pair is faster than sorting."""


@dataclass(frozen=True, kw_only=True)
class PanelBlock:
    """Some items as the annotators labelled them, packed where labels are sparse.

    Attributes
    ----------
    rows : ndarray of int, shape (n_items,), or slice
        Where the items stand.
    labels : ndarray, shape (n_slots, n_items)
        Codes with -1 for missing, or numbers with nan for missing.
    present : ndarray of bool, shape (n_slots, n_items)
        Which labels are there.
    raters : ndarray of int, shape (n_slots, n_items), or None
        Whose label each slot holds; None where slot j is annotator j.
    """

    rows: Any
    labels: NDArray[Any]
    present: NDArray[np.bool_]
    raters: NDArray[np.intp] | None

    @property
    def n_labels(self) -> NDArray[np.int64]:
        """Labels of each item."""
        return np.count_nonzero(self.present, axis=0)


def is_present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which labels are there."""
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def panel_blocks(
    labels: NDArray[Any], *, clusters: NDArray[np.intp] | None = None
) -> Iterator[PanelBlock]:
    """Walk over a label matrix of shape (n_items, n_annotators); clusters stay whole."""
    n_items, n_annotators = labels.shape
    step = max(256, _CELLS_AT_ONCE // max(n_annotators, 1))
    edges = np.arange(0, n_items, step)
    order = None
    if clusters is not None and n_items:
        order = np.argsort(clusters, kind="stable")
        edges = np.unique(np.searchsorted(clusters[order], clusters[order[edges]]))
    for start, stop in pairwise([*edges.tolist(), n_items]):
        yield _block(labels, slice(start, stop) if order is None else order[start:stop])


def _block(labels: NDArray[Any], rows: Any) -> PanelBlock:
    columns = np.ascontiguousarray(labels[rows].T)
    present = is_present(columns)
    raters = pack_slots(present)
    if raters is not None:
        columns = np.take_along_axis(columns, raters, axis=0)
        present = is_present(columns)
    return PanelBlock(rows=rows, labels=columns, present=present, raters=raters)


def count_same(block: PanelBlock) -> NDArray[np.int32]:
    """Count, for each label, the labels of its item that equal it, itself too; 0 where missing."""
    labels, present = block.labels, block.present
    if len(labels) > _FEW_SLOTS:
        return _count_by_sorting(labels, present)
    same = present.astype(np.int32)
    for a in range(len(labels)):
        for b in range(a + 1, len(labels)):
            equal = (labels[a] == labels[b]) & present[a]
            same[a] += equal
            same[b] += equal
    return same


def _count_by_sorting(labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Sort each item's labels: equal ones then stand together, however many annotators there are.

    Missing labels become one run of their own, which is taken out again.
    """
    order = np.argsort(labels, axis=0)
    ordered = np.take_along_axis(labels, order, axis=0).T
    starts = np.ones(ordered.shape, dtype=np.bool_)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = np.cumsum(starts.ravel()) - 1
    size = np.bincount(run)[run].reshape(ordered.shape).T
    same = np.zeros(labels.shape, dtype=np.int32)
    np.put_along_axis(same, order, size.astype(np.int32), axis=0)
    return same * present


# Gaps -----------------------------------------------------------------------------------------


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


# Sure and opposed items -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PanelCounts:
    """Items by what the annotators and the judge did; counts of two parts can be added.

    Attributes
    ----------
    n_unanimous, n_opposed : int
        Items that the judge answered and all of at least two annotators labelled alike; those of
        them on which the judge departs.
    n_split : int
        Items that the judge answered and annotators labelled differently.
    n_split_with_majority, n_split_with_tied, n_split_with_minority, n_split_with_nobody : int
        Of these: the judge gives the one most frequent label; one of several; a rarer one; one
        that no annotator gave.
    n_human_chances, n_human_opposed : int
        How often all others (at least two) of an annotator agree on an item that the judge
        answered, and how often the annotator then differs from them.
    n_judge_opposed : int
        How often the judge differs from those others.
    """

    n_unanimous: int = 0
    n_opposed: int = 0
    n_split: int = 0
    n_split_with_majority: int = 0
    n_split_with_tied: int = 0
    n_split_with_minority: int = 0
    n_split_with_nobody: int = 0
    n_human_chances: int = 0
    n_human_opposed: int = 0
    n_judge_opposed: int = 0
    PLAIN: ClassVar = (
        *("n_unanimous_agreed", "departs_from_unanimous", "departs_from_split"),
        *("human_opposes_others", "judge_opposes_others"),
    )

    def __add__(self, other: PanelCounts) -> PanelCounts:
        if not isinstance(other, PanelCounts):
            return NotImplemented
        names = [each.name for each in fields(self)]
        return PanelCounts(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def n_unanimous_agreed(self) -> int:
        """Unanimous items on which the judge agrees."""
        return self.n_unanimous - self.n_opposed

    @property
    def departs_from_unanimous(self) -> float:
        """Share of the unanimous items on which the judge departs; nan without any."""
        return _share(self.n_opposed, self.n_unanimous)

    @property
    def departs_from_split(self) -> float:
        """Share of the split items on which the judge gives no most frequent label; or nan."""
        return _share(self.n_split_with_minority + self.n_split_with_nobody, self.n_split)

    @property
    def human_opposes_others(self) -> float:
        """How often an annotator differs from unanimous others; nan without any."""
        return _share(self.n_human_opposed, self.n_human_chances)

    @property
    def judge_opposes_others(self) -> float:
        """How often the judge differs from the same unanimous others; nan without any."""
        return _share(self.n_judge_opposed, self.n_human_chances)


@dataclass(frozen=True, kw_only=True)
class OpposedItem:
    """An item on which a judge opposes a unanimous panel.

    Attributes
    ----------
    item : int
        Its row.
    panel_label, judge_label : int or float
        A code, or a number.
    n_annotators : int
        Who all gave `panel_label`.
    """

    item: int
    panel_label: Any
    judge_label: Any
    n_annotators: int


@dataclass(frozen=True, kw_only=True)
class PanelItems:
    """One judge beside the panel: the counts, and the first of the opposed items."""

    counts: PanelCounts
    opposed: tuple[OpposedItem, ...]


def panel_items(
    judges: ArrayLike, humans: ArrayLike, *, min_annotators: int = 2, max_listed: int = 50
) -> list[PanelItems]:
    """Count how judges stand to unanimous and to split panels.

    Parameters
    ----------
    judges : array_like, shape (n_items,) or (n_items, n_judges)
        Labels of the judges, in the form of `humans`.
    humans : array_like, shape (n_items, n_annotators)
        Integer codes (of labels, or of label sets) with -1 for missing, or numbers with nan for
        missing.
    min_annotators : int, optional
        Fewest labels for an item to count; at least 2.
    max_listed : int, optional
        How many opposed items to list: those with most annotators first, then in item order.

    Returns
    -------
    list of PanelItems
        One per judge.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Notes
    -----
    An item on which everyone agrees gives each of its annotators a chance to oppose the others
    (from three annotators on), and one on which a single annotator differs from all others gives
    that annotator the chance that was taken. `judge_opposes_others` is the judge's figure over the
    same chances, and hence the one to hold against `human_opposes_others`. Reference values in the
    tests come from plain loops.

    Examples
    --------
    >>> humans = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, -1]]
    >>> [found] = panel_items([0, 0, 0, 1], humans)
    >>> found.counts.n_unanimous, found.counts.n_opposed, found.opposed[0].item
    (2, 1, 1)
    >>> found.counts.n_split_with_majority, found.counts.n_split_with_tied
    (1, 1)
    """
    least = check_count("min_annotators", min_annotators, minimum=2)
    limit = check_count("max_listed", max_listed, minimum=0)
    matrix = np.asarray(humans)
    matrix = check_humans(matrix, numeric=matrix.dtype.kind == "f")
    answers, _ = check_judges(judges, None, matrix)
    step = _scale_step(matrix) if matrix.dtype.kind == "f" else 0.0
    counts = [PanelCounts()] * answers.shape[1]
    listed: list[list[OpposedItem]] = [[] for _ in counts]
    for block in panel_blocks(matrix):
        panel = _Panel.of(block, least)
        for number, labels in enumerate(answers[block.rows].T):
            part, opposed = panel.meet(labels, step=step)
            counts[number] += part
            new = panel.list_items(opposed, labels, limit=limit)
            listed[number] = _first([*listed[number], *new], limit)
    return [
        PanelItems(counts=count, opposed=tuple(items))
        for count, items in zip(counts, listed, strict=True)
    ]


def _scale_step(numbers: NDArray[np.float64]) -> float:
    """Give the smallest difference between two of the numbers; 0 where all are equal."""
    distinct = np.unique(np.concatenate([np.unique(column) for column in numbers.T]))
    with np.errstate(over="ignore"):  # the two largest numbers are more than a float apart
        gaps = np.diff(distinct[~np.isnan(distinct)])
    return float(gaps.min()) if gaps.size else 0.0


@dataclass(frozen=True, kw_only=True)
class _Panel:
    """The annotators' side of a block of items."""

    block: PanelBlock
    n_labels: NDArray[np.int64]
    at_top: NDArray[np.bool_]
    unanimous: NDArray[np.bool_]
    split: NDArray[np.bool_]
    tied: NDArray[np.bool_]
    lone: NDArray[np.bool_]

    @staticmethod
    def of(block: PanelBlock, min_annotators: int) -> _Panel:
        same = count_same(block)
        n_labels, top = block.n_labels, same.max(axis=0)
        enough = n_labels >= min_annotators
        at_top = block.present & (same == top)
        return _Panel(
            block=block,
            n_labels=n_labels,
            at_top=at_top,
            unanimous=enough & (top == n_labels),
            split=enough & (top < n_labels),
            tied=np.count_nonzero(at_top, axis=0) > top,
            lone=enough & (top == n_labels - 1) & (n_labels >= 3),
        )

    def meet(self, judge: NDArray[Any], *, step: float) -> tuple[PanelCounts, NDArray[np.bool_]]:
        """Count one judge's answers; tell the opposed items."""
        near = self.block.labels == judge
        if step:
            with np.errstate(invalid="ignore", over="ignore"):
                near |= np.abs(self.block.labels - judge) < step
        near &= self.block.present
        known, agrees = is_present(judge), (near & self.at_top).any(axis=0)
        given = near.any(axis=0)
        unanimous, split, lone = (x & known for x in (self.unanimous, self.split, self.lone))
        opposed = unanimous & ~agrees
        others = unanimous & (self.n_labels >= 3)
        counts = PanelCounts(
            n_unanimous=_count(unanimous),
            n_opposed=_count(opposed),
            n_split=_count(split),
            n_split_with_majority=_count(split & agrees & ~self.tied),
            n_split_with_tied=_count(split & agrees & self.tied),
            n_split_with_minority=_count(split & ~agrees & given),
            n_split_with_nobody=_count(split & ~given),
            n_human_chances=int(self.n_labels[others].sum()) + _count(lone),
            n_human_opposed=_count(lone),
            n_judge_opposed=int(self.n_labels[others & ~agrees].sum()) + _count(lone & ~agrees),
        )
        return counts, opposed

    def list_items(
        self, opposed: NDArray[np.bool_], judge: NDArray[Any], *, limit: int
    ) -> list[OpposedItem]:
        """Take the first opposed items of the block."""
        found = np.flatnonzero(opposed)
        found = found[np.lexsort((found, -self.n_labels[found]))[:limit]]
        first = self.block.present.argmax(axis=0)
        return [
            OpposedItem(
                item=self.block.rows.start + place,
                panel_label=self.block.labels[first[place], place].item(),
                judge_label=judge[place].item(),
                n_annotators=int(self.n_labels[place]),
            )
            for place in found.tolist()
        ]


def _first(items: list[OpposedItem], limit: int) -> list[OpposedItem]:
    return sorted(items, key=lambda item: (-item.n_annotators, item.item))[:limit]


def _count(flags: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(flags))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
