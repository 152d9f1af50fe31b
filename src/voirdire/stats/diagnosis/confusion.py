"""Which label a judge gives where annotators give another: counts over pairs of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_count
from voirdire.errors import InputError
from voirdire.stats.diagnosis.panel_items import is_present
from voirdire.stats.label_arrays import check_humans, check_judges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.label_sets import LabelSets

__all__ = [
    "Binning",
    "Confusion",
    "NumberBins",
    "SetConfusion",
    "SetLabelConfusion",
    "bin_codes",
    "confusion_counts",
    "confusion_of_sets",
]

Binning: TypeAlias = Literal["values", "nearest", "quantiles"]
"""How numbers became rows and columns."""

_FEW_CODES = 256
"""Up to here the table of all pairs of codes is small."""

_PAIRS_AT_ONCE = 1 << 20
_QUANTILES = (0.2, 0.4, 0.6, 0.8)


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


@dataclass(frozen=True, kw_only=True)
class SetLabelConfusion:
    """One label of a multi-label question: pairs by whose set holds it.

    Attributes
    ----------
    label : int
        Its place in the label universe.
    both, judge_only, human_only, neither : int
        Pairs of the judge's and an annotator's set.
    """

    label: int
    both: int
    judge_only: int
    human_only: int
    neither: int


@dataclass(frozen=True, kw_only=True)
class SetConfusion:
    """Labels of a multi-label question, the most frequent first, and how many are left out."""

    labels: tuple[SetLabelConfusion, ...]
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
    matrix, answers = _checked(judge, humans)
    seen = 1 + max(int(matrix.max(initial=-1)), int(answers.max(initial=-1)))
    size = seen if n_codes is None else check_count("n_codes", n_codes, minimum=seen)
    if size <= _FEW_CODES:
        full = _joint(matrix, answers, np.arange(size), size)
        totals = full.sum(axis=0) + full.sum(axis=1)
    else:
        totals = _totals(matrix, answers, size)
    ranked = np.argsort(-totals, kind="stable")
    ranked = ranked[totals[ranked] > 0]
    chosen = np.sort(ranked[:limit]) if in_order else ranked[:limit]
    n_other = len(ranked) - len(chosen)
    table = np.full(size, len(chosen))
    table[chosen] = np.arange(len(chosen))
    counts = _joint(matrix, answers, table, len(chosen) + (n_other > 0))
    return Confusion(
        codes=tuple(chosen.tolist()), counts=counts, n_other=n_other, n_pairs=int(counts.sum())
    )


@dataclass(frozen=True, kw_only=True)
class NumberBins:
    """How numbers are told apart in a table of few rows.

    Attributes
    ----------
    numbers : ndarray of float
        The annotators' distinct numbers where these are few, otherwise the upper ends of fifths
        of their labels.
    few : bool
        Which of them.
    max_labels : int
        How many are few.
    """

    numbers: NDArray[np.float64]
    few: bool
    max_labels: int

    @staticmethod
    def of(humans: NDArray[np.float64], *, max_labels: int = 12) -> NumberBins:
        """Look at the annotators' numbers, nan where missing."""
        distinct = _distinct(humans, most=max_labels)
        if distinct is not None:
            return NumberBins(numbers=distinct, few=True, max_labels=max_labels)
        known = humans[~np.isnan(humans)]
        edges = np.unique(np.quantile(known, _QUANTILES, method="inverted_cdf"))
        return NumberBins(numbers=edges, few=False, max_labels=max_labels)

    def beside(self, judge: NDArray[np.float64]) -> tuple[Binning, NDArray[np.float64]]:
        """Decide on the rows for one judge.

        Few numbers in all: each is a row. Few among the annotators only: the judge's go to the
        nearest. Otherwise a number belongs to the first edge that is not below it, and the row
        behind the last edge holds the rest.
        """
        if not self.few:
            return "quantiles", self.numbers
        own = _distinct(judge[:, np.newaxis], most=self.max_labels)
        if own is not None:
            together = np.unique(np.append(self.numbers, own))
            if len(together) <= self.max_labels:
                return "values", together
        return "nearest", self.numbers


def bin_codes(
    labels: NDArray[np.float64], numbers: NDArray[np.float64], *, binning: Binning
) -> NDArray[np.int64]:
    """Turn numbers into rows of a table, -1 where missing; arguments as `NumberBins` gives them."""
    edges = numbers
    if binning != "quantiles":  # halves, since the sum of two numbers may be beyond every float
        edges = numbers[:-1] / 2 + numbers[1:] / 2
    codes = np.searchsorted(edges, labels, side="left")
    codes[np.isnan(labels)] = -1
    return codes


def confusion_of_sets(
    judge: ArrayLike, humans: ArrayLike, *, label_sets: LabelSets, max_labels: int = 30
) -> SetConfusion:
    """Count, for each label of a multi-label question, whose set holds it.

    Parameters
    ----------
    judge, humans
        Codes of label sets, as for `confusion_counts`.
    label_sets : LabelSets
        The set of each code.
    max_labels : int, optional
        How many labels to give: those that most sets of the pairs hold. At least 1.

    Returns
    -------
    SetConfusion
        Labels that no set of a pair holds are left out.

    Raises
    ------
    InputError
        If shapes or codes break a rule above.
    """
    limit = check_count("max_labels", max_labels, minimum=1)
    matrix, answers = _checked(judge, humans)
    seen = 1 + max(int(matrix.max(initial=-1)), int(answers.max(initial=-1)))
    if seen > len(label_sets):
        msg = f"`label_sets` must hold a set for every code, got {len(label_sets)} for {seen}."
        raise InputError(msg)
    held = np.zeros((3, label_sets.n_labels), dtype=np.int64)  # both, judge, human
    n_pairs = 0
    for human, machine, count in _set_pairs(matrix, answers, len(label_sets)):
        n_pairs += int(count.sum())
        theirs, mine = _members(label_sets, human), _members(label_sets, machine)
        held += np.stack([count @ (theirs & mine), count @ mine, count @ theirs])
    both, by_judge, by_human = held
    ranked = np.argsort(-(by_judge + by_human), kind="stable")
    ranked = ranked[(by_judge + by_human)[ranked] > 0]
    rows = tuple(
        SetLabelConfusion(
            label=label,
            both=int(both[label]),
            judge_only=int(by_judge[label] - both[label]),
            human_only=int(by_human[label] - both[label]),
            neither=int(n_pairs - by_judge[label] - by_human[label] + both[label]),
        )
        for label in ranked[:limit].tolist()
    )
    return SetConfusion(labels=rows, n_other=len(ranked) - len(rows), n_pairs=n_pairs)


def _checked(judge: ArrayLike, humans: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    matrix = check_humans(humans, numeric=False)
    return matrix, check_judges(np.asarray(judge), None, matrix)[0][:, 0]


def _joint(
    humans: NDArray[Any], judge: NDArray[Any], table: NDArray[np.intp], size: int
) -> NDArray[np.int64]:
    """Count pairs after both labels went through `table`, which maps codes to rows below `size`."""
    table = np.append(table, size)  # -1, missing, is the last entry
    columns = table[judge]
    counts = np.zeros((size + 1) ** 2, dtype=np.int64)
    for labels in humans.T:
        counts += np.bincount(table[labels] * (size + 1) + columns, minlength=len(counts))
    return counts.reshape(size + 1, size + 1)[:size, :size]


def _totals(humans: NDArray[Any], judge: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Count in how many pairs each code occurs, on either side."""
    n_labels = np.zeros(len(judge), dtype=np.int64)
    totals = np.zeros(size, dtype=np.int64)
    known = is_present(judge)
    for labels in humans.T:
        paired = known & is_present(labels)
        n_labels += paired
        totals += np.bincount(labels[paired], minlength=size)
    by_judge = np.bincount(judge[known], n_labels[known], minlength=size)
    return totals + by_judge.astype(np.int64)


def _distinct(numbers: NDArray[np.float64], *, most: int) -> NDArray[np.float64] | None:
    """Give the distinct numbers, or None where there are more than `most`."""
    found = np.zeros(0)
    for column in numbers.T:
        for start in range(0, len(column), _PAIRS_AT_ONCE):
            part = column[start : start + _PAIRS_AT_ONCE]
            found = np.unique(np.append(found, part[~np.isnan(part)]))
            if len(found) > most:
                return None
    return found


def _set_pairs(humans: NDArray[Any], judge: NDArray[Any], size: int) -> Any:
    """Yield distinct pairs of codes with their counts, a bounded number at a time."""
    for labels in humans.T:
        for start in range(0, len(judge), _PAIRS_AT_ONCE):
            human = labels[start : start + _PAIRS_AT_ONCE].astype(np.int64)
            machine = judge[start : start + _PAIRS_AT_ONCE]
            paired = (human >= 0) & (machine >= 0)
            keys = human[paired] * size + machine[paired]
            distinct, counts = _unique_counts(keys, size * size)
            yield distinct // size, distinct % size, counts


def _unique_counts(
    keys: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if size <= _PAIRS_AT_ONCE:
        counts = np.bincount(keys, minlength=size)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    return np.unique(keys, return_counts=True)


def _members(label_sets: LabelSets, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which labels the sets hold, shape (n_codes, n_labels)."""
    as_bytes = np.ascontiguousarray(label_sets.words[codes]).view(np.uint8)
    bits = np.unpackbits(as_bytes, axis=1, count=label_sets.n_labels, bitorder="little")
    return bits.view(np.bool_)
