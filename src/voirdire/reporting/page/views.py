"""Everything that the templates show of a question, computed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.controls import control_sentences
from voirdire.reporting.page.diagnoses import (
    diagnosed_judges,
    outlier_sentences,
    panel_sentences,
    slice_sentences,
)
from voirdire.reporting.page.differences import comparisons_of, difference_sentences
from voirdire.reporting.page.evidence import (
    agreement_sentences,
    ceiling_rows,
    fixed_bar_sentences,
)
from voirdire.reporting.page.paper import write_paper
from voirdire.reporting.page.sensitivity import warnings_of
from voirdire.reporting.page.verdicts import judge_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import (
        AnnotatorDiagnosis,
        Comparison,
        JudgeDiagnosis,
        Report,
    )
    from voirdire.reporting.page.evidence import CeilingRow
    from voirdire.reporting.page.grouping import Family, QuestionPart
    from voirdire.reporting.page.noted import Warned
    from voirdire.reporting.page.paper import Paper
    from voirdire.reporting.page.verdicts import Verdict
    from voirdire.reporting.page_frame.dropped import Dropped
    from voirdire.reporting.page_frame.speech import Said

__all__ = ["JudgeDiagnosisView", "QuestionView", "question_view"]

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
        return not (self.panel or self.slices or self.found.opposed or self.found.confusion)


@dataclass(frozen=True, kw_only=True)
class QuestionView:
    """A question's part of the page."""

    part: QuestionPart
    verdicts: tuple[Verdict, ...]
    agreement: tuple[Said, ...]
    ceiling_columns: tuple[str, ...]
    ceiling: tuple[CeilingRow, ...]
    fixed_bar: tuple[Said, ...]
    controls: tuple[Said, ...]
    differences: tuple[Said, ...]
    comparisons: tuple[Comparison, ...]
    annotators: tuple[AnnotatorDiagnosis, ...]
    outliers: tuple[Said, ...]
    diagnosed: tuple[JudgeDiagnosisView, ...]
    n_undiagnosed: int
    warnings: tuple[Warned, ...]
    n_warnings: int
    paper: Paper

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


def question_view(part: QuestionPart, report: Report, *, version: str) -> QuestionView:
    """Compute what is shown of a question."""
    columns, rows = ceiling_rows(part)
    diagnosed = [_diagnosed(row) for row in diagnosed_judges(part)]
    diagnosed = [view for view in diagnosed if not view.is_empty]
    annotators = part.found.diagnosis.annotators if part.found.diagnosis else []
    warnings = warnings_of(part.main, _dropped_of(part, report.dropped))
    settings = part.main.first.settings
    alignment = part.main.alignment if part.others else ""
    return QuestionView(
        part=part,
        verdicts=tuple(
            judge_verdict(judge, n_asked=part.n_asked, alignment=alignment)
            for judge in part.main.shown
        ),
        agreement=agreement_sentences(part),
        ceiling_columns=columns,
        ceiling=rows,
        fixed_bar=fixed_bar_sentences(part),
        controls=control_sentences(part.main),
        differences=difference_sentences(part),
        comparisons=comparisons_of(part),
        annotators=tuple(annotators),
        outliers=outlier_sentences(annotators),
        diagnosed=tuple(diagnosed[:_MOST_DIAGNOSED]),
        n_undiagnosed=max(len(diagnosed) - _MOST_DIAGNOSED, 0),
        warnings=tuple(warnings[:_MOST_WARNINGS]),
        n_warnings=len(warnings),
        paper=write_paper(part, version=version, false_discovery_rate=_rate(settings)),
    )


def _diagnosed(found: JudgeDiagnosis) -> JudgeDiagnosisView:
    return JudgeDiagnosisView(
        found=found, panel=panel_sentences(found.panel), slices=slice_sentences(found.slices)
    )


def _dropped_of(part: QuestionPart, dropped: Sequence[Dropped]) -> list[Dropped]:
    """Rows that were set aside of a question; those of no question concern the first."""
    return [
        row
        for row in dropped
        if row.question == part.question or (row.question is None and part.number == 1)
    ]


def _rate(settings: dict[str, Any]) -> float:
    rate = settings.get("false_discovery_rate")
    return rate if isinstance(rate, float) and 0 < rate < 1 else 0.05
