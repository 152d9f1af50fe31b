"""Confusion tables of every judge, with the names of labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.io.cells import label_text
from voirdire.stats.diagnosis.confusion import (
    NumberBins,
    bin_codes,
    confusion_counts,
    confusion_of_sets,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.stats.diagnosis.confusion import Binning
    from voirdire.stats.label_sets import LabelSets
    from voirdire.studies.aligning import LabelMatrix

__all__ = ["ConfusionTable", "LabelConfusion", "confusion_tables", "label_namer"]


@dataclass(frozen=True, kw_only=True)
class LabelConfusion:
    """One label of a multi-label question: pairs of sets by which of the two holds it."""

    label: str
    both: int
    judge_only: int
    human_only: int
    neither: int


@dataclass(frozen=True, kw_only=True)
class ConfusionTable:
    """Annotators' labels (rows) by the judge's label (columns), over (item, annotator) pairs.

    Attributes
    ----------
    labels : tuple of str
        Names of rows and columns, at most 12; empty for label sets.
    counts : tuple of tuple of int
        One row and column more than `labels` where `n_other` is positive: all other labels.
    n_other : int
        Labels that are not told apart, or not listed.
    n_pairs : int
        Pairs counted.
    binning : {"values", "nearest", "quantiles"} or None
        For scales how numbers became rows: each its own; the judge's to the nearest of the
        annotators'; fifths of the annotators' labels.
    per_label : tuple of LabelConfusion or None
        For label sets, at most 30 labels, the most frequent first.
    """

    labels: tuple[str, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    n_other: int
    n_pairs: int
    binning: Binning | None = None
    per_label: tuple[LabelConfusion, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the fields under the names of the JSON."""
        rows = self.per_label
        return {
            "labels": list(self.labels),
            "counts": [list(row) for row in self.counts],
            "n_other": self.n_other,
            "n_pairs": self.n_pairs,
            "binning": self.binning,
            "per_label": None if rows is None else [dict(vars(row)) for row in rows],
        }


def confusion_tables(matrix: LabelMatrix) -> list[ConfusionTable]:
    """Make the table of each judge; the labels must be ones that repeat."""
    columns = matrix.answers.T
    if matrix.label_sets is not None:
        return [_of_sets(matrix, matrix.label_sets, answers) for answers in columns]
    if matrix.humans.dtype.kind == "f":
        return _of_numbers(matrix)
    name = label_namer(matrix)
    size = len(matrix.categories)
    return [_of_codes(matrix.humans, answers, name, n_codes=size) for answers in columns]


def label_namer(matrix: LabelMatrix) -> Callable[[Any], str]:
    """Make a function that shows a label: a number, or the label behind a code."""
    if not matrix.categories:
        return lambda number: f"{float(number):g}"
    return lambda code: label_text(matrix.categories[int(code)])


def _of_codes(
    humans: NDArray[Any],
    answers: NDArray[Any],
    name: Callable[[Any], str],
    *,
    n_codes: int,
    binning: Binning | None = None,
) -> ConfusionTable:
    found = confusion_counts(answers, humans, n_codes=n_codes, in_order=binning is not None)
    return ConfusionTable(
        labels=tuple(name(code) for code in found.codes),
        counts=tuple(tuple(row) for row in found.counts.tolist()),
        n_other=found.n_other,
        n_pairs=found.n_pairs,
        binning=binning,
    )


def _of_numbers(matrix: LabelMatrix) -> list[ConfusionTable]:
    bins = NumberBins.of(matrix.humans)
    coded: dict[bytes, NDArray[Any]] = {}  # judges mostly share their rows
    tables = []
    for answers in matrix.answers.T:
        binning, numbers = bins.beside(answers)
        key = numbers.tobytes()
        if key not in coded:
            coded[key] = np.stack(
                [bin_codes(column, numbers, binning=binning) for column in matrix.humans.T], axis=1
            )
        name = _number_namer(numbers, binning)
        tables.append(
            _of_codes(
                coded[key],
                bin_codes(answers, numbers, binning=binning),
                name,
                n_codes=len(numbers) + 1,
                binning=binning,
            )
        )
    return tables


def _number_namer(numbers: NDArray[np.float64], binning: Binning) -> Callable[[Any], str]:
    texts = [f"{number:g}" for number in numbers.tolist()]
    if binning != "quantiles":
        return lambda code: texts[int(code)]
    ranges = [
        f"up to {texts[0]}",
        *(f"over {low} to {high}" for low, high in pairwise(texts)),
        f"over {texts[-1]}",
    ]
    return lambda code: ranges[int(code)]


def _of_sets(matrix: LabelMatrix, sets: LabelSets, answers: NDArray[Any]) -> ConfusionTable:
    found = confusion_of_sets(answers, matrix.humans, label_sets=sets)
    universe = matrix.universe or ()
    rows = tuple(
        LabelConfusion(
            label=label_text(universe[row.label]),
            both=row.both,
            judge_only=row.judge_only,
            human_only=row.human_only,
            neither=row.neither,
        )
        for row in found.labels
    )
    return ConfusionTable(n_other=found.n_other, n_pairs=found.n_pairs, per_label=rows)
