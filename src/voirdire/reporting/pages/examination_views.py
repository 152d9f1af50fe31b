"""Compute what the templates show of an examination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from voirdire._validation import is_number
from voirdire.reporting.pages.examination_items import make_disputed_cards
from voirdire.reporting.pages.examination_paper import write_paper
from voirdire.reporting.pages.examination_sections import (
    agreement_sentences,
    ceiling_rows,
    comparisons_of,
    control_sentences,
    diagnosed_judges,
    difference_sentences,
    fixed_bar_sentences,
    outlier_sentences,
    panel_sentences,
    slice_sentences,
    warnings_of,
)
from voirdire.reporting.pages.examination_verdicts import headline, judge_verdict, next_step
from voirdire.reporting.pages.speech import Count, say
from voirdire.stats.figures import MeanDifference, winning_rates_at
from voirdire.studies.findings import QuestionFindings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Dropped
    from voirdire.reporting.pages.examination_paper import Paper
    from voirdire.reporting.pages.examination_sections import CeilingRow
    from voirdire.reporting.pages.examination_verdicts import Verdict, Warned
    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.pages.speech import Said
    from voirdire.stats import AltTestResult, AnnotatorResult, JudgeDifference
    from voirdire.studies import Examination
    from voirdire.studies.diagnosis import AnnotatorDiagnosis, JudgeDiagnosis

__all__ = [
    "EXPLORED",
    "MOST_JUDGES",
    "MOST_MARGINS",
    "AnnotatorRow",
    "Family",
    "FamilyTables",
    "Glance",
    "JudgeDiagnosisView",
    "JudgeRows",
    "QuestionPart",
    "QuestionView",
    "count_items",
    "explore_margins",
    "family_tables",
    "group_by_question",
    "group_glances",
    "question_view",
]

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
    rows : tuple of AltTestResult
        One per ε, the smallest first.
    """

    judge: str
    rows: tuple[AltTestResult, ...]

    @cached_property
    def _by_margin(self) -> dict[float, AltTestResult]:
        return {row.epsilon: row for row in self.rows}

    def at(self, epsilon: float) -> AltTestResult | None:
        """Return the row of a margin."""
        return self._by_margin.get(epsilon)

    @property
    def deciding(self) -> AltTestResult:
        """The row at the smallest margin at which the judge passes, else at the widest."""
        passing = (row for row in self.rows if row.outcome == "passed")
        return next(passing, self.rows[-1])

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
        return self.rows[0].advantage_probability


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
    def first(self) -> AltTestResult:
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
    found : QuestionFindings
        What does not depend on ε; empty where the JSON is of an older version.
    """

    question: str
    number: int
    main: Family
    others: tuple[Family, ...]
    found: QuestionFindings

    @property
    def n_asked(self) -> int:
        """Items of the question, whether a judge answered them or not."""
        return max(self.found.n_items, self.main.fullest.rows[0].n_items)


def group_by_question(report: Examination) -> tuple[QuestionPart, ...]:
    """Sort a report by question."""
    found = {row.question: row for row in report.questions}
    families: dict[str, dict[str, list[AltTestResult]]] = {}
    for row in report.results:
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
                found=found.get(question) or QuestionFindings(question=question),
            )
        )
    return tuple(parts)


def _family(rows: Iterable[AltTestResult]) -> Family:
    judges: dict[str, dict[float, AltTestResult]] = {}
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


_MANY = 6
"""With more questions than this, their sentences and sections are folded."""

Member = TypeVar("Member")


@dataclass(frozen=True, kw_only=True)
class Glance:
    """Questions with judges in common, whose verdicts make one table.

    Attributes
    ----------
    views : tuple of QuestionView
        The questions, in their order.
    judges : tuple of str
        The judges that are shown, in their order.
    n_judges : int
        All of them.
    """

    views: tuple[QuestionView, ...]
    judges: tuple[str, ...]
    n_judges: int

    @property
    def is_tall(self) -> bool:
        """Whether questions go down the page: there are many, and fewer judges."""
        return len(self.views) > max(_MANY, self.n_judges)


def group_glances(views: Sequence[QuestionView]) -> tuple[Glance, ...]:
    """Put questions together that share a judge, directly or through others."""
    groups = _group_connected(views, lambda view: {row.judge for row in view.main.judges})
    return tuple(_glance(group) for group in groups)


def count_items(parts: Sequence[QuestionPart]) -> int:
    """Count the items: questions that share an annotator are asked about the same ones."""
    groups = _group_connected(parts, _annotators)
    return sum(max(_n_items(part) for part in group) for group in groups)


def _glance(views: Sequence[QuestionView]) -> Glance:
    judges = list(dict.fromkeys(row.judge for view in views for row in view.main.judges))
    return Glance(views=tuple(views), judges=tuple(judges[:MOST_JUDGES]), n_judges=len(judges))


def _annotators(part: QuestionPart) -> set[str]:
    first_rows = (judge.rows[0] for judge in part.main.judges)
    return {
        name
        for row in first_rows
        for name in (*(one.annotator for one in row.annotators), *row.untested)
    }


def _n_items(part: QuestionPart) -> int:
    return max([part.found.n_items, *(row.rows[0].n_items for row in part.main.judges)])


def _group_connected(
    members: Iterable[Member], names: Callable[[Member], Collection[str]]
) -> list[list[Member]]:
    """Group members that share a name, directly or through others, in their order."""
    groups: list[tuple[set[str], list[Member]]] = []
    for member in members:
        known = set(names(member))
        joined = [group for group in groups if not known.isdisjoint(group[0])]
        together = [one for _, group in joined for one in group]
        merged = (known.union(*(group[0] for group in joined)), [*together, member])
        if joined:
            groups[groups.index(joined[0])] = merged
            groups = [group for group in groups if group not in joined[1:]]
        else:
            groups.append(merged)
    return [group for _, group in groups]


MOST_ROWS = 1_500
"""Rows of one sort of table over the whole page: longer ones nobody reads; the JSON has all."""


@dataclass(frozen=True, kw_only=True)
class AnnotatorRow:
    """One judge against one annotator: one cell per margin, None where not tested."""

    judge: str
    annotator: str
    any: AnnotatorResult
    cells: tuple[AnnotatorResult | None, ...]


@dataclass(frozen=True, kw_only=True)
class FamilyTables:
    """The tables of one question and alignment."""

    family: Family
    rows: tuple[AltTestResult, ...]
    n_rows: int
    annotators: tuple[AnnotatorRow, ...]
    n_annotators: int


def family_tables(parts: Sequence[QuestionPart]) -> list[FamilyTables]:
    """Lay out every figure, main alignments first, until the rows are used up."""
    families = [part.main for part in parts] + [other for part in parts for other in part.others]
    left_rows, left_annotators = MOST_ROWS, MOST_ROWS
    tables = []
    for family in families:
        rows = [row for judge in family.judges for row in judge.rows]
        people = [row for judge in family.judges for row in _annotator_rows(family, judge)]
        tables.append(
            FamilyTables(
                family=family,
                rows=tuple(rows[:left_rows]),
                n_rows=len(rows),
                annotators=tuple(people[:left_annotators]),
                n_annotators=len(people),
            )
        )
        left_rows = max(left_rows - len(rows), 0)
        left_annotators = max(left_annotators - len(people), 0)
    return tables


def _annotator_rows(family: Family, judge: JudgeRows) -> list[AnnotatorRow]:
    by_margin = {row.epsilon: {one.annotator: one for one in row.annotators} for row in judge.rows}
    known = {name: one for people in by_margin.values() for name, one in people.items()}
    return [
        AnnotatorRow(
            judge=judge.judge,
            annotator=name,
            any=one,
            cells=tuple(by_margin.get(margin, {}).get(name) for margin in family.margins),
        )
        for name, one in known.items()
    ]


EXPLORED = tuple(step / 100 for step in range(51))
"""Margins at which a reader may look at ω."""


def explore_margins(family: Family) -> dict[str, list[float]]:
    """Compute ω of each judge at other margins, by the t-test; nothing where that cannot be."""
    rows = [judge.rows[0] for judge in family.judges]
    names = list(dict.fromkeys(one.annotator for row in rows for one in row.annotators))
    if family.first.epsilon_mode != "additive" or not names:
        return {}
    shape = (3, len(rows), len(names))
    figures, tested = np.full(shape, np.nan), np.zeros(shape[1:], dtype=bool)
    for place, row in enumerate(rows):
        for one in row.annotators:
            column = names.index(one.annotator)
            given = (one.mean_difference, one.standard_error, one.degrees_of_freedom)
            figures[:, place, column] = given
            tested[place, column] = True
    if np.isnan(figures[0][tested]).any():  # of an older version
        return {}
    mean, error, freedom = figures
    difference = MeanDifference(
        mean=mean, standard_error=error, degrees_of_freedom=freedom, target=np.zeros(1)
    )
    settings = family.first.settings
    rates = winning_rates_at(
        np.array(EXPLORED),
        difference,
        tested,
        false_discovery_rate=_rate(settings),
        family="judges" if settings.get("family") == "judges" else "annotators",
        quality=_quality(settings.get("quality"), names),
    )
    return {row.judge: found for row, found in zip(rows, rates.tolist(), strict=True)}


def _quality(given: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Read the weights of annotators, where the settings have one for each."""
    if not isinstance(given, dict) or not all(is_number(given.get(name)) for name in names):
        return None
    return np.array([float(given[name]) for name in names])


_MOST_DIAGNOSED = 8
"""Judges whose diagnosis is on the page; the JSON has all."""
_MOST_WARNINGS = 100
"""Warnings of a question on the page; the JSON has all."""
_MOST_FIGURED = 20
"""Questions with figures: drawing takes longer than all the rest."""


@dataclass(frozen=True, kw_only=True)
class JudgeDiagnosisView:
    """One judge's diagnosis with the sentences about it."""

    found: JudgeDiagnosis
    panel: tuple[Said, ...]
    slices: tuple[Said, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.panel or self.slices or self.found.confusion)


@dataclass(frozen=True, kw_only=True)
class QuestionView:
    """A question's part of the page."""

    part: QuestionPart
    verdicts: tuple[Verdict, ...]
    headline: tuple[Said, ...]
    brief: Said
    next_step: Said
    agreement: tuple[Said, ...]
    ceiling_columns: tuple[str, ...]
    ceiling: tuple[CeilingRow, ...]
    fixed_bar: tuple[Said, ...]
    controls: tuple[Said, ...]
    differences: tuple[Said, ...]
    comparisons: tuple[JudgeDifference, ...]
    annotators: tuple[AnnotatorDiagnosis, ...]
    outliers: tuple[Said, ...]
    diagnosed: tuple[JudgeDiagnosisView, ...]
    n_undiagnosed: int
    warnings: tuple[Warned, ...]
    n_warnings: int
    paper: Paper
    items: tuple[ItemCard, ...] = ()

    @property
    def anchor(self) -> str:
        """Where the part starts; made of its number, never of its name."""
        return f"q{self.part.number}"

    @property
    def main(self) -> Family:
        """The question under its first alignment."""
        return self.part.main

    @cached_property
    def by_judge(self) -> dict[str, Verdict]:
        """The verdicts by judge."""
        return {verdict.judge: verdict for verdict in self.verdicts}

    @property
    def is_drawn(self) -> bool:
        """Whether the question has figures on the page."""
        return self.part.number <= _MOST_FIGURED

    @property
    def has_silent_smallest(self) -> bool:
        """Whether any judge's smallest margin lies where there is no evidence."""
        return any(judge.smallest_is_silent for judge in self.main.shown)

    @property
    def has_uncertainty(self) -> bool:
        """Whether any judge has an interval."""
        return any(row.uncertainty for judge in self.main.judges for row in judge.rows)

    @property
    def has_failures(self) -> bool:
        """Whether any judge failed on any item."""
        return any(judge.rows[0].worst_case.n_failures for judge in self.main.judges)

    @property
    def has_smallest(self) -> bool:
        """Whether any judge has a smallest margin."""
        return any(judge.rows[0].smallest_epsilon is not None for judge in self.main.judges)


def question_view(
    part: QuestionPart, report: Examination, *, version: str, n_questions: int
) -> QuestionView:
    """Compute what is shown of a question."""
    columns, rows = ceiling_rows(part)
    diagnosed = [_make_diagnosis_view(row) for row in diagnosed_judges(part)]
    diagnosed = [view for view in diagnosed if not view.is_empty]
    annotators = part.found.diagnosis.annotators if part.found.diagnosis else ()
    warnings = warnings_of(part.main, _select_dropped(part, report.dropped))
    settings = part.main.first.settings
    alignment = part.main.alignment if part.others else ""
    verdicts = tuple(
        judge_verdict(judge, n_asked=part.n_asked, alignment=alignment) for judge in part.main.shown
    )
    return QuestionView(
        part=part,
        verdicts=verdicts,
        headline=headline(part, verdicts),
        brief=say(
            "headline.brief.margins" if part.main.epsilons[1:] else "headline.brief",
            fit=sum(verdict.state in ("passed", "depends") for verdict in verdicts),
            judges=Count(len(verdicts), "judges"),
        ),
        next_step=next_step(verdicts),
        agreement=agreement_sentences(part),
        ceiling_columns=columns,
        ceiling=rows,
        fixed_bar=fixed_bar_sentences(part),
        controls=control_sentences(part.main),
        differences=difference_sentences(part),
        comparisons=comparisons_of(part),
        annotators=annotators,
        outliers=outlier_sentences(annotators),
        diagnosed=tuple(diagnosed[:_MOST_DIAGNOSED]),
        n_undiagnosed=max(len(diagnosed) - _MOST_DIAGNOSED, 0),
        warnings=tuple(warnings[:_MOST_WARNINGS]),
        n_warnings=len(warnings),
        paper=write_paper(part, version=version, false_discovery_rate=_rate(settings)),
        items=make_disputed_cards(part.found, n_questions=n_questions),
    )


def _make_diagnosis_view(found: JudgeDiagnosis) -> JudgeDiagnosisView:
    return JudgeDiagnosisView(
        found=found, panel=panel_sentences(found.panel), slices=slice_sentences(found.slices)
    )


def _select_dropped(part: QuestionPart, dropped: Sequence[Dropped]) -> list[Dropped]:
    """Rows that were set aside of a question; those of no question concern the first."""
    return [
        row
        for row in dropped
        if row.question == part.question or (row.question is None and part.number == 1)
    ]


def _rate(settings: dict[str, Any]) -> float:
    rate = settings.get("false_discovery_rate")
    return rate if isinstance(rate, float) and 0 < rate < 1 else 0.05
