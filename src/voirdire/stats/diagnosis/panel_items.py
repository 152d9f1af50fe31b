"""A judge on items where all annotators agree, and on items where they do not.

A judge that departs from people where they are sure is worse than one that departs where they
split. The panel's label is the one that most annotators gave; with several such labels the item is
tied. A judge departs from the panel where it gives no such label.

On scales a judge gives a label of the panel if it is less than one step away from it, a step being
the smallest difference between two labels that annotators gave.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_count
from voirdire.stats.label_arrays import check_humans, check_judges
from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "DiagnosisLevel",
    "PanelBlock",
    "PanelCounts",
    "PanelItems",
    "is_present",
    "panel_blocks",
    "panel_items",
]

DiagnosisLevel: TypeAlias = Literal["nominal", "interval", "sets"]
"""What labels are: equal or not, numbers, or codes of label sets."""

_CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, kw_only=True)
class PanelBlock:
    """Some items as the annotators labelled them, packed where labels are sparse.

    Arrays have the shape (n_slots, n_items) but for `n_labels`, the labels of each item; `rows`
    says where the items stand, and `raters` whose label each slot holds.
    """

    rows: Any
    labels: NDArray[Any]
    present: NDArray[np.bool_]
    raters: NDArray[np.intp]
    n_labels: NDArray[np.int64]

    def count_same(self) -> NDArray[np.int32]:
        """Count the labels of the item that equal each label, itself too; 0 where missing."""
        same = np.zeros(self.labels.shape, dtype=np.int32)
        for labels in self.labels:
            same += self.labels == labels
        return same * self.present


def is_present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which labels are there."""
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def panel_blocks(
    labels: NDArray[Any], *, clusters: NDArray[np.intp] | None = None
) -> Iterator[PanelBlock]:
    """Walk over a label matrix of shape (n_items, n_annotators); clusters stay whole."""
    n_items, n_annotators = labels.shape
    edges = np.arange(0, n_items, max(256, _CELLS_AT_ONCE // n_annotators))
    if clusters is not None:
        order = np.argsort(clusters, kind="stable")
        edges = np.unique(np.searchsorted(clusters[order], clusters[order[edges]]))
    for start, stop in pairwise([*edges.tolist(), n_items]):
        rows = slice(start, stop) if clusters is None else order[start:stop]
        columns = np.ascontiguousarray(labels[rows].T)
        present = is_present(columns)
        raters = pack_slots(present)
        if raters is None:
            raters = np.broadcast_to(np.arange(n_annotators)[:, np.newaxis], present.shape)
        else:
            columns = np.take_along_axis(columns, raters, axis=0)
            present = is_present(columns)
        yield PanelBlock(
            rows=rows,
            labels=columns,
            present=present,
            raters=raters,
            n_labels=np.count_nonzero(present, axis=0),
        )


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
        theirs = asdict(other)
        return PanelCounts(**{name: n + theirs[name] for name, n in asdict(self).items()})

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
    item : int or str
        Its row; in a diagnosis its name.
    panel_label, judge_label : int, float or str
        A code, or a number; in a diagnosis its name.
    n_annotators : int
        Who all gave `panel_label`.
    """

    item: Any
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
    n_labels, n_top, tied, agreeing, giving = _meet(matrix, answers)
    found = []
    for labels, agrees, given in zip(answers.T, agreeing, giving, strict=True):
        judged = is_present(labels) & (n_labels >= least)
        unanimous, split = judged & (n_top == n_labels), judged & (n_top < n_labels)
        opposed = unanimous & ~agrees
        sure = unanimous & (n_labels >= 3)
        lone = split & (n_top == n_labels - 1) & (n_labels >= 3)
        counts = PanelCounts(
            n_unanimous=_count(unanimous),
            n_opposed=_count(opposed),
            n_split=_count(split),
            n_split_with_majority=_count(split & agrees & ~tied),
            n_split_with_tied=_count(split & agrees & tied),
            n_split_with_minority=_count(split & ~agrees & given),
            n_split_with_nobody=_count(split & ~given),
            n_human_chances=int(n_labels[sure].sum()) + _count(lone),
            n_human_opposed=_count(lone),
            n_judge_opposed=int(n_labels[sure & ~agrees].sum()) + _count(lone & ~agrees),
        )
        rows = np.flatnonzero(opposed)
        rows = rows[np.argsort(-n_labels[rows], kind="stable")][:limit]
        items = tuple(
            OpposedItem(
                item=row,
                panel_label=matrix[row, is_present(matrix[row]).argmax()].item(),
                judge_label=labels[row].item(),
                n_annotators=int(n_labels[row]),
            )
            for row in rows.tolist()
        )
        found.append(PanelItems(counts=counts, opposed=items))
    return found


def _meet(matrix: NDArray[Any], answers: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Give each item's labels, how many have the most frequent one, and whether several do.

    And, for each judge, whether it gives a most frequent label, and one that anybody gave.
    """
    step = _scale_step(matrix) if matrix.dtype.kind == "f" else 0.0
    n_labels, n_top = np.zeros((2, len(matrix)), dtype=np.int64)
    tied = np.zeros(len(matrix), dtype=np.bool_)
    agrees, given = np.zeros((2, *answers.shape[::-1]), dtype=np.bool_)
    for block in panel_blocks(matrix):
        same, rows = block.count_same(), block.rows
        n_labels[rows], n_top[rows] = block.n_labels, same.max(axis=0)
        at_top = block.present & (same == n_top[rows])
        tied[rows] = np.count_nonzero(at_top, axis=0) > n_top[rows]
        for number, labels in enumerate(answers[rows].T):
            near = block.labels == labels
            if step:
                with np.errstate(invalid="ignore", over="ignore"):
                    near |= np.abs(block.labels - labels) < step
            near &= block.present
            given[number, rows] = near.any(axis=0)
            agrees[number, rows] = (near & at_top).any(axis=0)
    return n_labels, n_top, tied, agrees, given


def _scale_step(numbers: NDArray[np.float64]) -> float:
    """Give the smallest difference between two of the numbers; 0 where all are equal."""
    distinct = np.unique(np.concatenate([np.unique(column) for column in numbers.T]))
    with np.errstate(over="ignore"):  # the two largest numbers are more than a float apart
        gaps = np.diff(distinct[~np.isnan(distinct)])
    return float(gaps.min()) if gaps.size else 0.0


def _count(flags: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(flags))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
