"""Items joined with labels: what a local judge learns from, and what is left out and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging.local.grouping import group_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.judging.label_votes import Votes
    from voirdire.records import Item

__all__ = ["LabelledItems", "LeftOut", "labelled_items"]

_MOST_SHOWN = 3
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A question that cannot be learnt, and why.

    Attributes
    ----------
    question : str
        Its id.
    reason : str
        What is missing.
    """

    question: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LabelledItems:
    """Items that have labels.

    Attributes
    ----------
    items : tuple of Item
        Those with a label for at least one of the questions.
    questions : tuple of str
        What can be learnt.
    labels : ndarray of float, shape (n_items, n_questions)
        1 is yes, 0 no, nan no label.
    groups : ndarray of int, shape (n_items,)
        Items that are kept together where judges are tried on held-out items.
    left_out : tuple of LeftOut
        Questions that cannot be learnt.
    n_unlabelled : int
        Items without any label.
    n_strangers : int
        Items that have labels and are not among the items.
    """

    items: tuple[Item, ...] = field(repr=False)
    questions: tuple[str, ...]
    labels: NDArray[np.float64] = field(repr=False)
    groups: NDArray[np.intp] = field(repr=False)
    left_out: tuple[LeftOut, ...] = ()
    n_unlabelled: int = 0
    n_strangers: int = 0


def labelled_items(
    items: Sequence[Item], votes: Votes, *, questions: Sequence[str], n_folds: int
) -> LabelledItems:
    """Join items with labels by id, and keep the questions that can be learnt.

    A question needs, for yes and for no, items of at least `n_folds` groups: otherwise some fold
    has nothing of one kind to be tried on. Items of one group, one cluster or one prompt, and of
    prompts that are nearly the same, are of one group.
    """
    places = {item.id: place for place, item in enumerate(items)}
    labelled = set(votes.frame["item"].unique().to_list())
    if not labelled & places.keys():
        _refuse_strangers(items, sorted(labelled))
    labels = _matrix(votes, places, questions)
    groups = group_items(items)
    left_out = [
        LeftOut(question=question, reason=reason)
        for question, column in zip(questions, labels.T, strict=True)
        if (reason := _why_not(column, groups, n_folds=n_folds)) is not None
    ]
    lost = {row.question for row in left_out}
    kept = [place for place, question in enumerate(questions) if question not in lost]
    if not kept:
        reasons = "; ".join(f"{row.question}: {row.reason}" for row in left_out[:_MOST_SHOWN])
        msg = f"`labels` must have yes and no for at least one question, got none ({reasons})."
        raise NoDataError(msg)
    chosen = labels[:, kept]
    rows = np.flatnonzero(~np.isnan(chosen).all(axis=1))
    return LabelledItems(
        items=tuple(items[int(row)] for row in rows),
        questions=tuple(questions[place] for place in kept),
        labels=chosen[rows],
        groups=groups[rows],
        left_out=tuple(left_out),
        n_unlabelled=len(items) - rows.size,
        n_strangers=len(labelled - places.keys()),
    )


def _matrix(votes: Votes, places: dict[str, int], questions: Sequence[str]) -> NDArray[np.float64]:
    columns = {question: place for place, question in enumerate(questions)}
    found = np.full((len(places), len(questions)), np.nan)
    for question, item, label in votes.frame.iter_rows():
        if question in columns and item in places:
            found[places[item], columns[question]] = label
    return found


def _why_not(column: NDArray[np.float64], groups: NDArray[np.intp], *, n_folds: int) -> str | None:
    """Say why a question cannot be learnt, if it cannot."""
    known = ~np.isnan(column)
    if not known.any():
        return "no labels"
    found = {
        word: len(set(groups[column == value].tolist()))
        for word, value in (("yes", 1.0), ("no", 0.0))
    }
    word = min(found, key=lambda each: found[each])
    if found[word] == 0:
        other = "no" if word == "yes" else "yes"
        return f"all {int(known.sum())} labels are {other}"
    if found[word] < n_folds:
        counted = "1 group" if found[word] == 1 else f"{found[word]} groups"
        return f"{word} for only {counted} of items; {n_folds} folds need {n_folds}"
    return None


def _refuse_strangers(items: Sequence[Item], labelled: Sequence[str]) -> None:
    ours = ", ".join(repr(shorten(item.id)) for item in items[:_MOST_SHOWN])
    theirs = ", ".join(repr(shorten(name)) for name in labelled[:_MOST_SHOWN]) or "none"
    msg = (
        f"`labels` must be about the items, got no id in common: items are called {ours}, labels "
        f'are about {theirs}. Name the items\' column with columns={{"id": ...}}.'
    )
    raise InputError(msg)
