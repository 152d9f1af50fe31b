"""Verdicts of a model on many items as arrays, and as a `Verdicts`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire.records.verdicts import CallDetails

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.asking import Answer
    from voirdire.judging.llm.combining import ItemVerdict
    from voirdire.records import Failure
    from voirdire.rubrics import Rubric

__all__ = ["AnswerArrays", "answer_arrays"]


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerArrays:
    """What a model said of several items.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_items, n_propositions)
        In [0, 1]; nan where it failed.
    failures : mapping of (int, int) to Failure
        By place of the item and of the proposition.
    details : CallDetails
        Answers of other kinds, and how the calls went.
    """

    probabilities: NDArray[np.float64] = field(repr=False)
    failures: Mapping[tuple[int, int], Failure]
    details: CallDetails


def answer_arrays(verdicts: Sequence[ItemVerdict], rubric: Rubric) -> AnswerArrays:
    """Lay the verdicts of several items out in arrays."""
    kinds = [row.kind for row in rubric.questions]
    asked = [place for place, kind in enumerate(kinds) if kind == "boolean"]
    others = [place for place, kind in enumerate(kinds) if kind != "boolean"]
    column = {place: number for number, place in enumerate(asked)}
    failures: dict[tuple[int, int], Failure] = {}
    other_failures: dict[tuple[int, str], Failure] = {}
    for row, verdict in enumerate(verdicts):
        for place, failure in verdict.failures:
            if place in column:
                failures[row, column[place]] = failure
            else:
                other_failures[row, rubric.questions[place].id] = failure
    n_all = len(kinds)
    shifts = [row.shift for row in verdicts]
    return AnswerArrays(
        probabilities=_numbers([row.values for row in verdicts], asked, n_all=n_all),
        failures=failures,
        details=CallDetails(
            labels={rubric.questions[k].id: _column(verdicts, k) for k in others},
            label_failures=other_failures,
            missing_mass=_numbers([row.missing_mass for row in verdicts], asked, n_all=n_all),
            shift=_numbers(shifts, asked, n_all=n_all),
            label_shift={
                rubric.questions[k].id: _numbers(shifts, [k], n_all=n_all)[:, 0] for k in others
            },
            forms=tuple(row.form for row in verdicts),
            attempts=np.array([row.attempts for row in verdicts], dtype=np.int64),
            numeric=frozenset(row.id for row in rubric.questions if row.kind == "scale"),
        ),
    )


def _numbers(
    rows: Sequence[Sequence[Answer | None] | None], places: Sequence[int], *, n_all: int
) -> NDArray[np.float64]:
    """Give the chosen columns of rows, nan where there is nothing."""
    if all(row is None for row in rows):
        return np.full((len(rows), len(places)), np.nan)
    nothing = (None,) * n_all
    if len(places) == n_all:
        given = [nothing if row is None else row for row in rows]
    else:
        given = [[nothing[0] if row is None else row[place] for place in places] for row in rows]
    return np.array(given, dtype=np.float64).reshape(len(rows), len(places))


def _column(verdicts: Sequence[ItemVerdict], place: int) -> tuple[Answer | None, ...]:
    return tuple(row.values[place] for row in verdicts)
