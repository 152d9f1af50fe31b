"""The record behind the page of an examination: the JSON of `voirdire examine --json`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from voirdire._types import EpsilonMode, Method, Outcome  # noqa: TC001  # msgspec reads them
from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records.plain import without_nan
from voirdire.reporting.json_reading import decode_json, describe_value, explain_mismatch
from voirdire.reporting.pages.frame import Dropped  # noqa: TC001  # msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.studies import Examination

__all__ = [
    "MOST_BYTES",
    "Annotator",
    "Comparison",
    "Control",
    "DisputedItem",
    "HumanAgreement",
    "JudgeResult",
    "Note",
    "Pooled",
    "Report",
    "Uncertainty",
    "WorstCase",
    "defined",
    "plain_content",
    "read_report",
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


class JudgeResult(Struct, frozen=True, kw_only=True):
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


class DisputedItem(Struct, frozen=True, kw_only=True):
    """An item on which judges and annotators disagree, with what everybody said of it."""

    item: str
    judges: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


class Ends(Struct, frozen=True, kw_only=True):
    """A figure with its interval."""

    estimate: Number = None
    low: Number = None
    high: Number = None


class Classification(Struct, frozen=True, kw_only=True):
    """A judge's labels beside others that count as true."""

    n_items: Count = 0
    figures: dict[str, Ends] = field(default_factory=dict)
    always: dict[str, Number] = field(default_factory=dict)
    confidence_level: Rate = 0.95


class BesideMajority(Struct, frozen=True, kw_only=True):
    """One judge beside the annotators' majority."""

    judge: str
    classification: Classification


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
    disputed: list[DisputedItem] = field(default_factory=list)
    against_majority: list[BesideMajority] = field(default_factory=list)


class Report(Struct, frozen=True, kw_only=True):
    """What `voirdire examine --json` prints."""

    examinations: Annotated[list[JudgeResult], Meta(min_length=1)]
    pooled: list[Pooled] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def as_report(content: Any) -> Report:
    """Turn plain values into records; `msgspec.ValidationError` says where they are not fit."""
    return msgspec.convert(content, Report, strict=True)


MOST_BYTES = 256 * 2**20
"""Longest JSON that a page is made of; the largest study in the tests has a tenth of it."""
_MADE_BY = "Make one with `voirdire examine --json`"
_SMALLER = "Examine fewer judges, alignments or ε at a time."


def plain_content(
    content: dict[str, Any] | Examination | str | bytes, *, source: str = "report.json"
) -> dict[str, Any]:
    """Return the JSON object behind a dict, an examination, or JSON as text or bytes.

    Parameters
    ----------
    content : dict, Examination, str or bytes
        What is read; nan becomes null.
    source : str, optional
        What errors call it.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If it is not JSON, longer than 256 MiB, or not the JSON of an examination.
    """
    if isinstance(content, str | bytes | bytearray):
        content = decode_json(
            content, source=source, most_bytes=MOST_BYTES, made_by=_MADE_BY, smaller=_SMALLER
        )
    elif not isinstance(content, dict):
        content = _of_examination(content)
    try:
        plain = without_nan(content)
    except RecursionError as error:
        msg = f"{source}: must be of sensible depth, got objects nested too deep. {_MADE_BY}."
        raise InputError(msg) from error
    _check_sort(plain, source)
    return dict(plain)


def read_report(plain: dict[str, Any], *, source: str = "report.json") -> Report:
    """Turn the JSON object of an examination into records, checked.

    Parameters
    ----------
    plain : dict
        As `plain_content` gives it. Keys of newer versions are left aside, keys that older
        versions do not have may be missing.
    source : str, optional
        What errors call it.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If a value is of a wrong type or outside its range.
    """
    try:
        report = as_report(plain)
    except msgspec.ValidationError as error:
        msg = explain_mismatch(error, plain, source=source, made_by=_MADE_BY)
        raise InputError(msg) from error
    for place, rows, sizes in _square_tables(report):
        if len(rows) not in sizes or any(len(row) != len(rows) for row in rows):
            wanted = " or ".join(f"{size} x {size}" for size in sizes)
            msg = f"{source}: {place} must be a table of {wanted}, got {len(rows)} rows."
            raise InputError(msg)
    return report


def _square_tables(report: Report) -> Iterator[tuple[str, list[Any], tuple[int, ...]]]:
    """Name the tables of raters and of labels, with their rows and how many there should be."""
    for number, question in enumerate(report.questions):
        matrix = question.agreement.matrix if question.agreement else None
        if matrix is not None:
            place, size = f"$.questions[{number}].agreement.matrix", len(matrix.raters)
            yield f"{place}.values", matrix.values, (size,)
            yield f"{place}.n_items", matrix.n_items, (0, size)
        judges = question.diagnosis.judges if question.diagnosis else []
        for order, judge in enumerate(judges):
            if judge.confusion is not None:
                place = f"$.questions[{number}].diagnosis.judges[{order}].confusion.counts"
                size = len(judge.confusion.labels)
                yield place, judge.confusion.counts, (size, size + 1)


def _of_examination(examination: Any) -> Any:
    from voirdire.reporting.as_json import examination_as_dict

    try:
        return examination_as_dict(examination)
    except AttributeError as error:
        msg = f"`content` must be an examination or its JSON, got {shorten(examination)}."
        raise InputError(msg) from error


_OTHER_SORTS = {
    "voirdire.reward/": "a reward. Make its page with `voirdire examine-reward --report`.",
    "voirdire.training/": "a file of a training run. Name the run's folder instead.",
}


def _check_sort(plain: Any, source: str) -> None:
    wanted = f"{source}: must be what `voirdire examine --json` prints"
    if not isinstance(plain, dict):
        msg = f"{wanted}, got {describe_value(plain)}. {_MADE_BY}."
        raise InputError(msg)
    for schema, what in _OTHER_SORTS.items():
        if str(plain.get("schema", "")).startswith(schema):
            msg = f"{wanted}, got {what}"
            raise InputError(msg)
    if "content_hash" in plain and "data_hash" in plain:
        msg = f"{wanted}, got a certificate, which lacks what a report shows. {_MADE_BY}."
        raise InputError(msg)
    if "examinations" not in plain:
        keys = ", ".join(repr(shorten(key, width=20)) for key in list(plain)[:5]) or "no keys"
        msg = f"{wanted}, with a key `examinations`, got an object with {keys}. {_MADE_BY}."
        raise InputError(msg)
    if plain["examinations"] == []:
        msg = f"{source}: $.examinations must hold at least one examination, got none. {_MADE_BY}."
        raise NoDataError(msg)
