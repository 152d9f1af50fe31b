"""Turns a judge's answers to questions of any kind into numbers and codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.records.thresholds import get_thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rubrics import Question

__all__ = ["Answers", "Codes"]

_PAIR_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Answers to questions about items; missing ones are nan and -1.

    Attributes
    ----------
    values : ndarray of float, shape (n_items, n_questions)
        Probabilities; numbers on a scale as shares of its range, where it has ends; 1 for A, 1/2
        for a tie and 0 for B; nan where answers have no order.
    labels : ndarray of int, shape (n_items, n_questions)
        Codes of labels, as in the shared `Codes`.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.int64]

    def rows(self, places: Sequence[int]) -> Answers:
        """Return the answers about some of the items."""
        kept = list(places)
        return Answers(values=self.values[kept], labels=self.labels[kept])

    def expand_to(self, places: Sequence[int], n_items: int) -> Answers:
        """Return answers for all items, missing for items without one."""
        values = np.full((n_items, self.values.shape[1]), np.nan)
        labels = np.full(values.shape, -1, dtype=np.int64)
        values[list(places)], labels[list(places)] = self.values, self.labels
        return Answers(values=values, labels=labels)


class Codes:
    """Codes of labels, shared by all versions of all items."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions
        self._known: dict[str, dict[Any, int]] = {row.id: {} for row in questions}

    def of(self, question: str, label: Any) -> int:
        """Return the code of a label; -1 for none."""
        codes = self._known[question]
        label = (
            tuple(sorted(label)) if isinstance(label, tuple) else label
        )  # in any order of labels
        return -1 if label is None else codes.setdefault(label, len(codes))

    def answers(self, verdicts: Verdicts, items: Sequence[str]) -> Answers:
        """Return the answers about these items, in their order."""
        places = [verdicts.places[name] for name in items]
        columns = [self._encode_answers(row, verdicts, places) for row in self.questions]
        shape = (len(items), len(columns))
        return Answers(
            values=np.array([values for values, _ in columns], dtype=np.float64).T.reshape(shape),
            labels=np.array([labels for _, labels in columns], dtype=np.int64).T.reshape(shape),
        )

    def unswap(self, answers: Answers) -> Answers:
        """Return answers about swapped pairs with A and B swapped back."""
        sides = [[self.of(row.id, side) for side in ("A", "B")] for row in self.questions]
        labels = answers.labels.copy()
        for column, (a, b) in zip(labels.T, sides, strict=True):
            is_a, is_b = column == a, column == b
            column[is_a], column[is_b] = b, a
        return Answers(values=1 - answers.values, labels=labels)

    def _encode_answers(
        self, question: Question, verdicts: Verdicts, places: list[int]
    ) -> tuple[list[float], list[int]]:
        if question.kind == "boolean":
            probabilities = verdicts.probability(question.id)[places]
            [threshold] = get_thresholds(verdicts.threshold, [question.id])
            codes = np.where(np.isnan(probabilities), -1, probabilities >= threshold).astype(
                np.int64
            )
            return probabilities.tolist(), codes.tolist()
        answers = verdicts.answers(question.id)
        labels = [answers[place] for place in places]
        values = [_read_value(question, label) for label in labels]
        return values, [self.of(question.id, label) for label in labels]


def _read_value(question: Question, label: Any) -> float:
    """Map an answer to [0, 1], where answers have an order."""
    if label is None:
        return float("nan")
    if question.kind == "pairwise":
        return _PAIR_VALUES[label]
    if question.kind == "scale":
        low, high = question.minimum, question.maximum
        if low is None or high is None:
            return float(label)
        return (float(label) - low) / (high - low)
    return float("nan")
