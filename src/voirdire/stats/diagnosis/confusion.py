"""Counts which label a judge gives where annotators give another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_count
from voirdire.stats.label_arrays import check_humans, check_judges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.label_arrays import LabelSets

__all__ = ["Binning", "Confusion", "bin_numbers", "confusion_counts", "confusion_of_sets"]

Binning: TypeAlias = Literal["values", "nearest", "quantiles"]
"""How numbers are turned into rows and columns."""

_FEW_PAIRS = 1 << 20
"""Most cells of a table of all pairs of codes; beyond it sorting is faster."""


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Annotators' labels (rows) by the judge's label (columns), over (item, annotator) pairs.

    Attributes
    ----------
    codes : tuple of int
        The label of each row and column.
    counts : ndarray of int, shape (k, k)
        k is the number of `codes`, and one more for all other labels together where there are any.
    n_other : int
        Labels put together in the last row and column; 0 where there is no such row.
    n_pairs : int
        Pairs counted.
    """

    codes: tuple[int, ...]
    counts: NDArray[np.int64]
    n_other: int
    n_pairs: int


def confusion_counts(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    n_codes: int | None = None,
    max_labels: int = 12,
    in_order: bool = False,
) -> Confusion:
    """Count annotators' labels by the judge's label over (item, annotator) pairs.

    Parameters
    ----------
    judge : array_like of int, shape (n_items,)
        The judge's labels: codes from 0, -1 where missing.
    humans : array_like of int, shape (n_items, n_annotators)
        The annotators' labels in the same codes.
    n_codes : int, optional
        Number of codes; by default the largest plus one.
    max_labels : int, optional
        How many labels to tell apart: those that occur in most pairs. At least 1.
    in_order : bool, optional
        Whether rows go by code; by default by frequency, the most frequent first.

    Returns
    -------
    Confusion
        Labels that occur in no pair have no row.

    Raises
    ------
    InputError
        If shapes or codes break a rule above.

    Notes
    -----
    An item counts once for each annotator who labelled it. Reference values in the tests come from
    `sklearn.metrics.confusion_matrix`.

    Examples
    --------
    >>> found = confusion_counts([0, 1, 1], [[0, 0], [0, 1], [1, -1]])
    >>> found.codes, found.counts.tolist()
    ((0, 1), [[2, 1], [0, 2]])
    """
    limit = check_count("max_labels", max_labels, minimum=1)
    matrix = check_humans(humans, numeric=False)
    answers = check_judges(np.asarray(judge), None, matrix)[0][:, 0]
    seen = 1 + max(int(matrix.max(initial=-1)), int(answers.max(initial=-1)))
    size = seen if n_codes is None else check_count("n_codes", n_codes, minimum=seen)
    human, machine, counts = _count_pairs(matrix, answers, size)
    totals = np.bincount(human, counts, size) + np.bincount(machine, counts, size)
    ranked = np.argsort(-totals, kind="stable")
    ranked = ranked[totals[ranked] > 0]
    chosen = np.sort(ranked[:limit]) if in_order else ranked[:limit]
    n_other = len(ranked) - len(chosen)
    place = np.full(size, len(chosen))
    place[chosen] = np.arange(len(chosen))
    table = np.zeros((len(chosen) + (n_other > 0),) * 2, dtype=np.int64)
    np.add.at(table, (place[human], place[machine]), counts)
    return Confusion(
        codes=tuple(chosen.tolist()), counts=table, n_other=n_other, n_pairs=int(counts.sum())
    )


def confusion_of_sets(
    judge: NDArray[Any], humans: NDArray[Any], label_sets: LabelSets
) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Count, for each label, the pairs of sets by which of the two contains it; and all pairs."""
    human, machine, counts = _count_pairs(humans, judge, len(label_sets))
    as_bytes = np.ascontiguousarray(label_sets.words).view(np.uint8)
    held = np.unpackbits(as_bytes, axis=1, count=label_sets.n_labels, bitorder="little")
    both = counts.astype(np.float64) @ (held[human] & held[machine])
    by_human, by_judge = (
        np.bincount(codes, counts, len(held)) @ held for codes in (human, machine)
    )
    found = {
        "both": both,
        "judge_only": by_judge - both,
        "human_only": by_human - both,
        "neither": counts.sum() - by_human - by_judge + both,
    }
    return {kind: n.astype(np.int64) for kind, n in found.items()}, int(counts.sum())


def _count_pairs(
    humans: NDArray[Any], judge: NDArray[Any], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the distinct pairs of an annotator's and the judge's code."""
    size += 1  # since -1, missing, is a code here
    answers = judge.astype(np.int64) + 1
    columns = ((labels.astype(np.int64) + 1) * size + answers for labels in humans.T)
    if size**2 <= _FEW_PAIRS:
        table = np.zeros(size**2, dtype=np.int64)
        for keys in columns:
            table += np.bincount(keys, minlength=size**2)
        keys = np.flatnonzero(table)
        counts = table[keys]
    else:
        labelled = [keys[keys >= size] for keys in columns]
        keys, counts = np.unique(np.concatenate(labelled), return_counts=True)
    human, machine = np.divmod(keys, size)
    known = (human > 0) & (machine > 0)
    return human[known] - 1, machine[known] - 1, counts[known]


# Numbers --------------------------------------------------------------------------------------


def bin_numbers(
    humans: NDArray[np.float64], judges: NDArray[np.float64], *, most: int = 12
) -> Iterator[tuple[Binning, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]]:
    """Turn numbers into codes of few rows, judge by judge.

    Few numbers in all: each is a row. Few among the annotators only: the judge's go to the
    nearest. Otherwise the rows are fifths of the annotators' labels: a number belongs to the first
    edge that is not below it, and the row behind the last edge holds the rest. The codes of
    annotators and judge, -1 where missing, come with the numbers of the rows, or the edges.
    """
    people = np.zeros(0)
    for column in humans.T:
        people = np.unique(np.append(people, column[~np.isnan(column)]))
        if len(people) > most:
            break
    fifths = np.zeros(0)
    if len(people) > most:
        known = humans[~np.isnan(humans)]
        fifths = np.unique(np.quantile(known, (0.2, 0.4, 0.6, 0.8), method="inverted_cdf"))
    coded: dict[bytes, NDArray[np.int64]] = {}  # judges mostly have the same rows
    for answers in judges.T:
        binning: Binning = "quantiles"
        numbers = edges = fifths
        if len(people) <= most:
            together = np.unique(np.append(people, answers[~np.isnan(answers)]))
            binning = "values" if len(together) <= most else "nearest"
            numbers = together if binning == "values" else people
            # halves, since the sum of two numbers may overflow
            edges = numbers[:-1] / 2 + numbers[1:] / 2
        key = edges.tobytes()
        if key not in coded:
            coded[key] = _codes(humans, edges)
        yield binning, numbers, coded[key], _codes(answers, edges)


def _codes(labels: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(np.isnan(labels), -1, np.searchsorted(edges, labels))
