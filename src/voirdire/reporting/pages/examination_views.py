"""Sort an examination into what the templates show: questions, families of tests, glances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from voirdire.reporting.pages.examination_verdicts import judge_verdict
from voirdire.studies.findings import QuestionFindings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from voirdire._types import Outcome
    from voirdire.records import Dropped
    from voirdire.reporting.pages.examination_verdicts import Verdict
    from voirdire.stats import AltTestResult, AnnotatorResult
    from voirdire.studies import Examination

__all__ = [
    "Family",
    "Glance",
    "JudgeRows",
    "QuestionPart",
    "annotator_rows",
    "count_items",
    "group_by_question",
    "group_glances",
]

_MOST_JUDGES = 100
"""Judges of a question on the page; the JSON has all."""
_MOST_MARGINS = 20
"""Margins with a column of their own; the JSON has all."""
_MOST_FIGURED = 20
"""Questions with figures: drawing takes longer than all the rest."""


@dataclass(frozen=True, kw_only=True)
class JudgeRows:
    """One judge under one question and alignment: a row per ε, the smallest first."""

    judge: str
    rows: tuple[AltTestResult, ...]

    def at(self, epsilon: float) -> AltTestResult | None:
        """Return the row of a margin."""
        return next((row for row in self.rows if row.epsilon == epsilon), None)

    def select(self, outcome: Outcome) -> list[AltTestResult]:
        """Return the rows of an outcome."""
        return [row for row in self.rows if row.outcome == outcome]

    @property
    def deciding(self) -> AltTestResult:
        """The row at the smallest margin at which the judge passes, else at the widest."""
        return [*self.select("passed"), self.rows[-1]][0]

    @property
    def smallest_is_silent(self) -> bool:
        """Whether at the smallest margin with ω of one half there would be no evidence.

        Nothing is known between the margins examined: the next wider one speaks for it, or else
        the widest.
        """
        smallest = self.rows[0].smallest_epsilon
        if smallest is None:
            return False
        wider = (row for row in self.rows if row.epsilon >= smallest)
        return next(wider, self.rows[-1]).outcome == "no_evidence"


@dataclass(frozen=True, kw_only=True)
class Family:
    """One question under one alignment: judges with the highest ρ first, the smallest ε first."""

    question: str
    alignment: str
    judges: tuple[JudgeRows, ...]
    epsilons: tuple[float, ...]

    @property
    def shown(self) -> tuple[JudgeRows, ...]:
        """The judges in tables and sentences."""
        return self.judges[:_MOST_JUDGES]

    @property
    def margins(self) -> tuple[float, ...]:
        """The margins with a column of their own."""
        return self.epsilons[:_MOST_MARGINS]

    @property
    def rows(self) -> list[AltTestResult]:
        """The rows of all judges."""
        return [row for judge in self.judges for row in judge.rows]

    @property
    def first(self) -> AltTestResult:
        """Any row: what the family has in common is read from it."""
        return self.judges[0].rows[0]

    @property
    def fullest(self) -> AltTestResult:
        """The row on most items: its controls and its annotators' agreement stand for all."""
        return max((judge.rows[0] for judge in self.judges), key=lambda row: row.n_items)


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
    found : QuestionFindings
        What does not depend on ε; empty where the JSON is of an older version.
    dropped : tuple of Dropped
        What was set aside of it.
    """

    question: str
    number: int
    main: Family
    others: tuple[Family, ...]
    found: QuestionFindings
    dropped: tuple[Dropped, ...]

    @property
    def n_asked(self) -> int:
        """Items of the question, whether a judge answered them or not."""
        return max(self.found.n_items, self.main.fullest.n_items)

    @property
    def annotators(self) -> dict[str, None]:
        """The names of its annotators, tested or not, in their order."""
        return dict.fromkeys(
            name
            for judge in self.main.judges
            for name in (*(one.annotator for one in judge.rows[0].annotators),
                         *judge.rows[0].untested)
        )  # fmt: skip

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by judge."""
        alignment = self.main.alignment if self.others else ""
        return {
            judge.judge: judge_verdict(judge, n_asked=self.n_asked, alignment=alignment)
            for judge in self.main.shown
        }

    @property
    def anchor(self) -> str:
        """Where the part starts; made of its number, never of its name."""
        return f"q{self.number}"

    @property
    def is_drawn(self) -> bool:
        """Whether the question has figures on the page."""
        return self.number <= _MOST_FIGURED

    @property
    def has_failures(self) -> bool:
        """Whether any judge failed on any item."""
        return any(row.worst_case.n_failures for row in self.main.rows)


def group_by_question(report: Examination) -> tuple[QuestionPart, ...]:
    """Sort a report by question; labels set aside of no question concern the first."""
    findings = {row.question: row for row in report.questions}
    families: dict[str, dict[str, list[AltTestResult]]] = {}
    for row in report.results:
        families.setdefault(row.question, {}).setdefault(row.alignment, []).append(row)
    parts = []
    for number, (question, by_alignment) in enumerate(families.items(), start=1):
        main, *others = map(_family, by_alignment.values())
        concerned = (question, None) if number == 1 else (question,)
        part = QuestionPart(
            question=question,
            number=number,
            main=main,
            others=tuple(others),
            found=findings.get(question) or QuestionFindings(question=question),
            dropped=tuple(row for row in report.dropped if row.question in concerned),
        )
        parts.append(part)
    return tuple(parts)


def _family(rows: Sequence[AltTestResult]) -> Family:
    judges: dict[str, dict[float, AltTestResult]] = {}
    for row in sorted(rows, key=lambda row: row.epsilon):
        judges.setdefault(row.judge, {})[row.epsilon] = row
    order = dict.fromkeys(row.judge for row in rows)
    ranked = [JudgeRows(judge=judge, rows=tuple(judges[judge].values())) for judge in order]
    return Family(
        question=rows[0].question,
        alignment=rows[0].alignment,
        judges=tuple(sorted(ranked, key=_rank)),
        epsilons=tuple(sorted({row.epsilon for row in rows})),
    )


def _rank(judge: JudgeRows) -> float:
    advantage = judge.rows[0].advantage_probability
    return math.inf if math.isnan(advantage) else -advantage


def annotator_rows(
    family: Family,
) -> list[tuple[str, AnnotatorResult, list[AnnotatorResult | None]]]:
    """Lay out each judge against each annotator: at any margin, then at each, None if untested."""
    table = []
    for judge in family.judges:
        by_margin = {row.epsilon: {x.annotator: x for x in row.annotators} for row in judge.rows}
        people = {name: one for each in by_margin.values() for name, one in each.items()}
        for name, one in people.items():
            cells = [by_margin.get(margin, {}).get(name) for margin in family.margins]
            table.append((judge.judge, one, cells))
    return table


_MANY = 6
"""With more questions than this, their sentences and sections are folded."""

Member = TypeVar("Member")


@dataclass(frozen=True, kw_only=True)
class Glance:
    """Questions with judges in common, whose verdicts make one table, and the judges of these."""

    parts: tuple[QuestionPart, ...]
    judges: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """The judges in the table."""
        return self.judges[:_MOST_JUDGES]

    @property
    def is_tall(self) -> bool:
        """Whether questions go down the page: there are many, and fewer judges."""
        return len(self.parts) > max(_MANY, len(self.judges))


def group_glances(parts: Iterable[QuestionPart]) -> list[Glance]:
    """Put questions together that share a judge, directly or through others."""
    groups = _group_connected(parts, lambda part: [row.judge for row in part.main.judges])
    return [
        Glance(
            parts=tuple(group),
            judges=tuple(dict.fromkeys(row.judge for part in group for row in part.main.judges)),
        )
        for group in groups
    ]


def count_items(parts: Iterable[QuestionPart]) -> int:
    """Count the items: questions that share an annotator are asked about the same ones."""
    groups = _group_connected(parts, lambda part: part.annotators)
    return sum(max(part.n_asked for part in group) for group in groups)


def _group_connected(
    members: Iterable[Member], names: Callable[[Member], Collection[str]]
) -> list[list[Member]]:
    """Group members that share a name, directly or through others, in their order."""
    groups: list[tuple[set[str], list[Member]]] = []
    for member in members:
        shared = set(names(member))
        joined = [group for group in groups if not shared.isdisjoint(group[0])]
        place = groups.index(joined[0]) if joined else len(groups)
        together = [one for _, group in joined for one in group]
        merged = (shared.union(*(group[0] for group in joined)), [*together, member])
        groups = [group for group in groups if group not in joined]
        groups.insert(place, merged)
    return [group for _, group in groups]
