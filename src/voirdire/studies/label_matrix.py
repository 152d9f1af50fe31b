"""Labels of annotators and judges as arrays over the same items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voirdire.records import Dropped
    from voirdire.stats import LabelSets

__all__ = ["LabelMatrix", "with_typical_sets"]


@dataclass(frozen=True, kw_only=True)
class LabelMatrix:
    """One question's labels, aligned on items, ready for `voirdire.stats`.

    Attributes
    ----------
    items, annotators, judges : tuple of str
        Names of rows and columns.
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    answers : ndarray, shape (n_items, n_judges)
        The judges' labels in the same form.
    failed : ndarray of bool, shape (n_items, n_judges)
        Where a judge was asked and gave no usable answer.
    gold : ndarray, shape (n_items,), or None
        Gold labels in the same form.
    clusters : ndarray of int, shape (n_items,), or None
        The independent unit of each item.
    categories : tuple
        The label of each code; empty where labels are numbers.
    label_sets : LabelSets or None
        For multi-label questions the sets behind the codes.
    universe : tuple of str or None
        The label universe of a multi-label question, or the declared labels.
    declared : bool
        Whether the universe was declared.
    dropped : tuple of Dropped
        What was set aside.
    n_unjudged : dict of str to int
        Annotated items that a judge was not asked about, by judge.
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    judges: tuple[str, ...]
    humans: NDArray[Any]
    answers: NDArray[Any]
    failed: NDArray[np.bool_]
    gold: NDArray[Any] | None = None
    clusters: NDArray[np.intp] | None = None
    categories: tuple[Any, ...] = ()
    label_sets: LabelSets | None = None
    universe: tuple[Any, ...] | None = None
    declared: bool = False
    dropped: tuple[Dropped, ...] = ()
    n_unjudged: dict[str, int] = field(default_factory=dict)

    def rows(self, kept: NDArray[np.bool_]) -> LabelMatrix:
        """Return the matrix of some items only."""
        return replace(
            self,
            items=tuple(item for item, keep in zip(self.items, kept.tolist(), strict=True) if keep),
            humans=self.humans[kept],
            answers=self.answers[kept],
            failed=self.failed[kept],
            gold=None if self.gold is None else self.gold[kept],
            clusters=None if self.clusters is None else self.clusters[kept],
        )

    def judge(self, name: str) -> LabelMatrix:
        """Return the matrix of one judge only."""
        column = self.judges.index(name)
        return replace(
            self,
            judges=(name,),
            answers=self.answers[:, column : column + 1],
            failed=self.failed[:, column : column + 1],
        )


def with_typical_sets(
    categories: Sequence[frozenset[str]], counts: Sequence[int]
) -> list[frozenset[str]]:
    """Add the empty set and the labels that most answers hold: constants worth trying.

    Parameters
    ----------
    categories : sequence of frozenset of str
        The sets that occur.
    counts : sequence of int
        How often annotators gave each.
    """
    held: dict[str, int] = {}
    for labels, count in zip(categories, counts, strict=True):
        for label in labels:
            held[label] = held.get(label, 0) + count
    half = sum(counts) / 2
    majority = frozenset(label for label, count in held.items() if count > half)
    return list(dict.fromkeys([*categories, frozenset(), majority]))
