"""What the page is made from: the JSON of an examination, as records with types."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from voirdire._types import EpsilonMode, Method, Outcome  # noqa: TC001  # msgspec reads them
from voirdire.reporting.page_frame.dropped import Dropped  # noqa: TC001  # msgspec reads it

__all__ = [
    "Annotator",
    "Comparison",
    "Control",
    "Examination",
    "HumanAgreement",
    "Note",
    "Pooled",
    "Report",
    "Uncertainty",
    "WorstCase",
    "defined",
]

Number: TypeAlias = float | None
Rate: TypeAlias = Annotated[float, Meta(ge=-1e-9, le=1 + 1e-9)] | None
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**15)]
Margin: TypeAlias = Annotated[float, Meta(ge=0, lt=1)]


def defined(value: float | None) -> float:
    """Return a figure, nan where it is undefined."""
    return math.nan if value is None else value


class Note(Struct, frozen=True, kw_only=True):
    """A reason or a caution: a code for machines, a sentence for people, the figures in it."""

    code: str
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict)


class Annotator(Struct, frozen=True, kw_only=True):
    """The judge against one left-out annotator."""

    annotator: str
    n_items: Count
    advantage_judge: Rate
    advantage_human: Rate
    p_value: Rate
    rejected: bool
    rejected_bh: bool = False
    mean_difference: Number = None
    standard_error: Number = None
    degrees_of_freedom: Number = None
    n_judge_wins: Count = 0
    n_ties: Count = 0
    n_human_wins: Count = 0
    tie_share: Rate = None
    exact_p_value: Rate = None


class Control(Struct, frozen=True, kw_only=True):
    """A judge that knows nothing, or everything."""

    control: Literal["constant", "random", "majority_vote"]
    label: str | None = None
    winning_rate: Rate = None
    advantage_probability: Rate = None
    passed: bool = False


class HumanAgreement(Struct, frozen=True, kw_only=True):
    """Krippendorff's α among the annotators."""

    alpha: Number
    low: Number = None
    high: Number = None
    confidence_level: Rate = 0.95
    level: str = ""
    n_items: Count = 0
    n_labels: Count = 0
    n_clusters: Count | None = None
    reason: str | None = None


class WorstCase(Struct, frozen=True, kw_only=True):
    """The judge's failures counted as lost."""

    n_failures: Count = 0
    winning_rate: Rate = None
    advantage_probability: Rate = None
    passed: bool = False


class Uncertainty(Struct, frozen=True, kw_only=True):
    """How much ω and ρ owe to the items that happened to be drawn."""

    advantage_low: Rate = None
    advantage_high: Rate = None
    human_advantage_low: Rate = None
    human_advantage_high: Rate = None
    stability: Rate = None
    confidence_level: Rate = 0.95
    n_resamples: Count = 0
    n_units: Count = 0
    clustered: bool = False
    reason: str | None = None


class Examination(Struct, frozen=True, kw_only=True):
    """One question, judge, alignment and ε."""

    question: str
    judge: str
    alignment: str
    epsilon: Margin
    outcome: Outcome
    passed: bool
    winning_rate: Rate
    advantage_probability: Rate
    annotators: list[Annotator]
    epsilon_mode: EpsilonMode = "additive"
    method: Method = "t"
    n_items: Count = 0
    n_annotators: Count = 0
    winning_rate_bh: Rate = None
    human_advantage: Rate = None
    because: Note | None = None
    outcome_reasons: list[str] = field(default_factory=list)
    reasons: list[Note] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    cautions: list[Note] = field(default_factory=list)
    untested: list[str] = field(default_factory=list)
    worst_case: WorstCase = field(default_factory=WorstCase)
    controls: list[Control] = field(default_factory=list)
    human_agreement: HumanAgreement | None = None
    smallest_epsilon: Rate = None
    uncertainty: Uncertainty | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def n_won(self) -> int:
        """Annotators against whom the judge holds its own."""
        return sum(row.rejected for row in self.annotators)

    @property
    def all_reasons(self) -> list[Note]:
        """Why there is no evidence; without codes where the JSON is of an older version."""
        if self.because is not None:
            return [self.because] if self.outcome == "no_evidence" else []
        return self.reasons or [Note(code="", sentence=text) for text in self.outcome_reasons]

    @property
    def all_cautions(self) -> list[Note]:
        """What weakens the figures, likewise."""
        return self.cautions or [Note(code="", sentence=text) for text in self.warnings]


class PooledQuestion(Struct, frozen=True, kw_only=True):
    """One question's share of a pooled result."""

    question: str
    winning_rate: Rate
    winning_rate_alone: Rate = None
    passed: bool = False


class Pooled(Struct, frozen=True, kw_only=True):
    """One judge, alignment and ε over several questions."""

    judge: str
    alignment: str
    epsilon: Margin
    questions: list[PooledQuestion]
    epsilon_mode: EpsilonMode = "additive"
    n_tests: Count = 0


class Coefficient(Struct, frozen=True, kw_only=True):
    """A coefficient of agreement with its interval."""

    coefficient: str
    estimate: Number
    weights: str | None = None
    low: Number = None
    high: Number = None
    confidence_level: Rate = 0.95
    n_items: Count = 0
    n_raters: Count = 0
    n_clusters: Count | None = None
    reason: str | None = None


class JudgeAgreement(Struct, frozen=True, kw_only=True):
    """One judge's coefficients, against the annotators."""

    judge: str
    coefficients: list[Coefficient]


class Rater(Struct, frozen=True, kw_only=True):
    """A row of the matrix of raters."""

    name: str
    role: Literal["annotator", "judge"]


class RaterMatrix(Struct, frozen=True, kw_only=True):
    """Everybody's agreement with everybody."""

    coefficient: str
    raters: list[Rater]
    values: list[list[Number]]
    weights: str | None = None
    n_items: list[list[Count]] = field(default_factory=list)


class Agreement(Struct, frozen=True, kw_only=True):
    """How far the annotators agree with each other, and the judges with them."""

    panel: list[Coefficient] = field(default_factory=list)
    ceiling: list[Coefficient] = field(default_factory=list)
    judges: list[JudgeAgreement] = field(default_factory=list)
    matrix: RaterMatrix | None = None
    confidence_level: Rate = 0.95


class Comparison(Struct, frozen=True, kw_only=True):
    """Two judges on the items that both answered."""

    judge_a: str
    judge_b: str
    difference: Number
    alignment: str = ""
    advantage_a: Rate = None
    advantage_b: Rate = None
    low: Number = None
    high: Number = None
    p_value: Rate = None
    p_adjusted: Rate = None
    confidence_level: Rate = 0.95
    n_items: Count = 0
    reason: str | None = None


class AnnotatorDiagnosis(Struct, frozen=True, kw_only=True):
    """One annotator beside the others."""

    annotator: str
    n_items: Count = 0
    agreement: Number = None
    agreement_of_others: Number = None
    difference: Number = None
    p_value: Rate = None
    outlier: bool = False


class Opposed(Struct, frozen=True, kw_only=True):
    """An item on which the judge opposes a unanimous panel."""

    item: str
    panel_label: str
    judge_label: str
    n_annotators: Count = 0


class LabelConfusion(Struct, frozen=True, kw_only=True):
    """One label of a multi-label question: who gave it."""

    label: str
    both: Count = 0
    judge_only: Count = 0
    human_only: Count = 0
    neither: Count = 0


class Confusion(Struct, frozen=True, kw_only=True):
    """Rows: the annotators' labels; columns: the judge's; all other labels may come last."""

    labels: list[str]
    counts: list[list[Count]]
    n_other: Count = 0
    n_pairs: Count = 0
    per_label: list[LabelConfusion] | None = None


class Slice(Struct, frozen=True, kw_only=True):
    """A part of the items, and whether the judge does worse there."""

    column: str
    value: str
    n_items: Count = 0
    n_elsewhere: Count = 0
    gap: Number = None
    gap_elsewhere: Number = None
    difference: Number = None
    low: Number = None
    high: Number = None
    p_value: Rate = None
    p_adjusted: Rate = None
    confidence_level: Rate = 0.95
    worse: bool = False
    reason: str | None = None


class PanelCounts(Struct, frozen=True, kw_only=True):
    """Items by what the annotators and the judge did."""

    n_unanimous: Count = 0
    n_opposed: Count = 0
    n_unanimous_agreed: Count | None = None
    n_split: Count = 0
    n_split_with_majority: Count = 0
    n_split_with_tied: Count = 0
    n_split_with_minority: Count = 0
    n_split_with_nobody: Count = 0
    n_human_chances: Count = 0
    n_human_opposed: Count = 0
    n_judge_opposed: Count = 0

    @property
    def n_against(self) -> int:
        """Unanimous items on which the judge departs from the panel."""
        if self.n_opposed or self.n_unanimous_agreed is None:
            return self.n_opposed
        return max(self.n_unanimous - self.n_unanimous_agreed, 0)


class JudgeDiagnosis(Struct, frozen=True, kw_only=True):
    """Where one judge goes wrong."""

    judge: str
    panel: PanelCounts | None = None
    opposed: list[Opposed] = field(default_factory=list)
    n_opposed: Count = 0
    confusion: Confusion | None = None
    slices: list[Slice] = field(default_factory=list)


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Which annotators stand apart, and where each judge goes wrong."""

    annotators: list[AnnotatorDiagnosis] = field(default_factory=list)
    judges: list[JudgeDiagnosis] = field(default_factory=list)


class LabelCount(Struct, frozen=True, kw_only=True):
    """How often the annotators gave a label."""

    label: str
    n_human: Count = 0
    share: Rate = None


class Question(Struct, frozen=True, kw_only=True):
    """What was found about a question, whatever ε."""

    question: str
    kind: str = ""
    n_items: Count = 0
    annotators: list[str] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    labels: list[LabelCount] = field(default_factory=list)
    n_labels: Count = 0
    agreement: Agreement | None = None
    comparisons: list[Comparison] = field(default_factory=list)
    diagnosis: Diagnosis | None = None


class Report(Struct, frozen=True, kw_only=True):
    """What `voirdire examine --json` prints."""

    examinations: Annotated[list[Examination], Meta(min_length=1)]
    pooled: list[Pooled] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def as_report(content: Any) -> Report:
    """Turn plain values into records; `msgspec.ValidationError` says where they are not fit."""
    return msgspec.convert(content, Report, strict=True)
