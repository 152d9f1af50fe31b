"""An examination sorted for reading: by question, the first alignment first, judges best first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.reporting.page.content import Examination, Question, defined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.reporting.page.content import Report

__all__ = ["MOST_JUDGES", "MOST_MARGINS", "Family", "JudgeRows", "QuestionPart", "question_parts"]

MOST_JUDGES = 100
"""Judges of a question on the page; the JSON has all."""
MOST_MARGINS = 20
"""Margins with a column of their own; the JSON has all."""


@dataclass(frozen=True, kw_only=True)
class JudgeRows:
    """One judge under one question and alignment.

    Attributes
    ----------
    judge : str
        Which.
    rows : tuple of Examination
        One per ε, the smallest first.
    """

    judge: str
    rows: tuple[Examination, ...]

    @cached_property
    def _by_margin(self) -> dict[float, Examination]:
        return {row.epsilon: row for row in self.rows}

    def at(self, epsilon: float) -> Examination | None:
        """Return the row of a margin."""
        return self._by_margin.get(epsilon)

    @property
    def smallest_is_silent(self) -> bool:
        """Whether at the smallest margin with ω of one half there would be no evidence.

        Nothing is known between the margins examined: the next wider one speaks for it, or else
        the widest.
        """
        smallest = self.rows[0].smallest_epsilon
        if smallest is None:
            return False
        wider = [row for row in self.rows if row.epsilon >= smallest]
        return (wider[0] if wider else self.rows[-1]).outcome == "no_evidence"

    @property
    def advantage(self) -> float:
        """ρ, which is the same at every margin; nan where undefined."""
        return defined(self.rows[0].advantage_probability)


@dataclass(frozen=True, kw_only=True)
class Family:
    """One question under one alignment.

    Attributes
    ----------
    question, alignment : str
        Which.
    judges : tuple of JudgeRows
        The one with the highest ρ first.
    epsilons : tuple of float
        The margins, the smallest first.
    """

    question: str
    alignment: str
    judges: tuple[JudgeRows, ...]
    epsilons: tuple[float, ...]

    @property
    def shown(self) -> tuple[JudgeRows, ...]:
        """The judges in tables and sentences."""
        return self.judges[:MOST_JUDGES]

    @property
    def margins(self) -> tuple[float, ...]:
        """The margins with a column of their own."""
        return self.epsilons[:MOST_MARGINS]

    @property
    def first(self) -> Examination:
        """Any row: what the family has in common is read from it."""
        return self.judges[0].rows[0]

    @property
    def fullest(self) -> JudgeRows:
        """The judge on most items: its controls and its annotators' agreement stand for all."""
        return max(self.judges, key=lambda judge: judge.rows[0].n_items)


@dataclass(frozen=True, kw_only=True)
class QuestionPart:
    """Everything about one question.

    Attributes
    ----------
    question : str
        Which.
    number : int
        Its place on the page, from 1.
    main : Family
        Under the first alignment: what the verdict goes by.
    others : tuple of Family
        Under the other alignments.
    found : Question
        What does not depend on ε; empty where the JSON is of an older version.
    """

    question: str
    number: int
    main: Family
    others: tuple[Family, ...]
    found: Question

    @property
    def n_asked(self) -> int:
        """Items of the question, whether a judge answered them or not."""
        return max(self.found.n_items, self.main.fullest.rows[0].n_items)


def question_parts(report: Report) -> tuple[QuestionPart, ...]:
    """Sort a report by question."""
    found = {row.question: row for row in report.questions}
    families: dict[str, dict[str, list[Examination]]] = {}
    for row in report.examinations:
        families.setdefault(row.question, {}).setdefault(row.alignment, []).append(row)
    parts = []
    for number, (question, by_alignment) in enumerate(families.items(), start=1):
        main, *others = (_family(rows) for rows in by_alignment.values())
        parts.append(
            QuestionPart(
                question=question,
                number=number,
                main=main,
                others=tuple(others),
                found=found.get(question) or Question(question=question),
            )
        )
    return tuple(parts)


def _family(rows: Iterable[Examination]) -> Family:
    judges: dict[str, dict[float, Examination]] = {}
    for row in rows:
        judges.setdefault(row.judge, {})[row.epsilon] = row
    sorted_rows = [
        JudgeRows(judge=judge, rows=tuple(by_epsilon[epsilon] for epsilon in sorted(by_epsilon)))
        for judge, by_epsilon in judges.items()
    ]
    ranked = sorted(sorted_rows, key=_rank)
    return Family(
        question=ranked[0].rows[0].question,
        alignment=ranked[0].rows[0].alignment,
        judges=tuple(ranked),
        epsilons=tuple(sorted({row.epsilon for judge in ranked for row in judge.rows})),
    )


def _rank(judge: JudgeRows) -> float:
    return math.inf if math.isnan(judge.advantage) else -judge.advantage
