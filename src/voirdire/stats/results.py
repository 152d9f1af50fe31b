"""Defines the frozen records of an examination."""

from __future__ import annotations

import json
import string
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from voirdire._messages import list_names, shorten
from voirdire._types import (  # noqa: TC001  # what reads the JSON looks at the types
    EpsilonMode,
    Finding,
    Margin,
    Outcome,
    Share,
)
from voirdire.records.items import Dropped  # noqa: TC001  # as above
from voirdire.records.tables import Tabular
from voirdire.stats.agreement import KrippendorffResult  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, kw_only=True)
class AnnotatorResult:
    """The judge against one left-out annotator.

    Attributes
    ----------
    annotator : str
        Who was left out.
    n_items : int
        Items compared.
    advantage_judge : float
        ρ^f, the share of items on which the judge is at least as close to the others, in [0, 1].
    advantage_human : float
        ρ^h, the same for the annotator, in [0, 1]; both count ties.
    mean_difference : float
        Mean of d = W^h - W^f (multiplicative ε: W^h - W^f / (1 - ε)).
    standard_error, degrees_of_freedom : float
        Of that mean; nan where undefined.
    p_value : float
        The t-test's, of the null hypothesis that the judge is worse by ε or more; in [0, 1], nan
        where undefined.
    rejected : bool
        Whether that hypothesis falls under Benjamini-Yekutieli by the t-test.
    rejected_bh : bool
        The same under Benjamini-Hochberg, as a sensitivity check.
    n_judge_wins, n_ties, n_human_wins : int
        Items by outcome.
    tie_share : float
        Share of the items on which both are equally close, in [0, 1].
    exact_p_value : float
        The exact test's p-value; with weights or clusters that of as many units as the items are
        worth, and never below the t-test's.
    deciding_p_value : float
        The same with the judge's failures lost: what ω goes by.
    shown : bool
        Whether the hypothesis falls by it, under Benjamini-Yekutieli: the judge wins this
        annotator.
    """

    annotator: str
    n_items: int
    advantage_judge: Share
    advantage_human: Share
    mean_difference: float
    standard_error: float
    degrees_of_freedom: float
    p_value: Share
    rejected: bool
    rejected_bh: bool
    n_judge_wins: int
    n_ties: int
    n_human_wins: int
    tie_share: Share
    exact_p_value: Share
    deciding_p_value: Share
    shown: bool

    @classmethod
    def of(cls, figures: Iterable[tuple[str, Any]]) -> AnnotatorResult:
        """Fill a row at once: of hundreds, field by field is a quarter of the test's time."""
        row = object.__new__(cls)
        vars(row).update(figures)
        return row


@dataclass(frozen=True, kw_only=True)
class ControlResult:
    """A judge that knows nothing, or everything, under the same test.

    Attributes
    ----------
    control : {"constant", "random", "majority_vote"}
        Always one label (of the frequent ones, the one that does best); labels drawn from the
        annotators' overall distribution; the label that agrees best with the annotators.
    label : str or None
        What a constant control always answers.
    winning_rate, advantage_probability : float
        ω by the exact test, and ρ; nan where undefined. No control passes by this: see `outcome` of
        `AltTestResult`.
    """

    control: Literal["constant", "random", "majority_vote"]
    label: str | None
    winning_rate: Share
    advantage_probability: Share


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """What the judge's failed items, which count as lost, change.

    Attributes
    ----------
    n_failures : int
        Items on which the judge was asked and gave no usable answer.
    winning_rate, passed : float, bool
        Those of the result.
    advantage_probability : float
        ρ with those items lost.
    winning_rate_answered : float
        ω with those items left out.
    """

    n_failures: int
    winning_rate: Share
    advantage_probability: Share
    passed: bool
    winning_rate_answered: Share


@dataclass(frozen=True, kw_only=True)
class TTest:
    """The test as published, by the t-test: it decides nothing here.

    Attributes
    ----------
    winning_rate : float
        ω by the t-test with failed items left out; nan where undefined.
    passed : bool
        Whether ω is at least .5 with them left out and with them lost.
    p_values : tuple of float
        In the order of `AltTestResult.annotators`.
    """

    winning_rate: Share
    passed: bool
    p_values: tuple[Share, ...]


@dataclass(frozen=True, kw_only=True)
class CrowdTest:
    """The judge against a random person of a crowd in which nobody has enough items alone.

    Attributes
    ----------
    epsilon : float
        The margin of this test: that of the result, but at most .1.
    n_items, n_people : int
        Items that two persons or more labelled, and these persons.
    human_agreement : float
        The mean alignment of a person with the others of the item, such as the share of them who
        gave the same label; nan for ``"neg_rmse"``.
    mean_difference : float
        Mean of d over the items, failed ones lost.
    p_value_t, p_value_exact, p_value : float
        Of the t-test in which items of one person are dependent; of the exact test; the larger of
        the two. In [0, 1].
    shown : bool
        Whether the judge is shown within ε of a random person: `p_value` is at most the false
        discovery rate (under a family of all judges by Benjamini-Yekutieli).
    constant : str
        The constant answer with the largest ρ.
    constant_advantage, constant_p_value : float
        Its ρ, and the p-value of the judge being closer to the persons than it.
    """

    epsilon: Margin
    n_items: int
    n_people: int
    human_agreement: float
    mean_difference: float
    p_value_t: Share
    p_value_exact: Share
    p_value: Share
    shown: bool
    constant: str
    constant_advantage: Share
    constant_p_value: Share


@dataclass(frozen=True, kw_only=True)
class Caution:
    """Something that weakens the figures, or that decided an outcome.

    Attributes
    ----------
    code : str
        A short name; the reference of `voirdire examine --json` lists them.
    sentence : str
        What it is, with its figures.
    figures : dict
        The same figures, counts and names by name: for other languages, and for machines.
    """

    code: str
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict, hash=False)


def format_p(p_value: float) -> str:
    """Write a p-value with two digits, or with those that tell it from .05."""
    if p_value < 0.001:
        return "p < 0.001"
    near = p_value > 0.05 and float(f"{p_value:.2g}") <= 0.05
    return f"p = {p_value:.4g}" if near else f"p = {p_value:.2g}"


@cache
def read_sentences() -> dict[str, str]:
    """Read the sentences of cautions by code; of a reward the weightiest first."""
    text = files("voirdire").joinpath("data", "cautions.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def _parse_sentence(code: str) -> list[tuple[str, str | None, str]]:
    """Part a sentence into texts, each with the name of the figure after it and its form."""
    pieces = string.Formatter().parse(read_sentences()[code])
    return [(text, name, form or "") for text, name, form, _ in pieces]


def _write_figure(value: Any, form: str) -> str:
    """Write a count with its noun, a list, a label, a p-value, or a number as tables do."""
    if not form:
        return str(value)
    if isinstance(value, float) and form != "p":
        return format(round(value, 12), form)
    if form.startswith("#"):
        one, _, many = form[1:].partition("|")
        return f"{value:,} {one if value == 1 else many or one + 's'}"
    if form == "list":
        return list_names(value, most=8)
    if form == "label":
        return repr(shorten(value))
    if form == "p":
        return format_p(value)
    return format(value, form)


def make_caution(code: str, words: Mapping[str, Any] | None = None, /, **figures: Any) -> Caution:
    """Make a caution of its code and its figures; `words` stand in its sentence alone."""
    values = figures | dict(words or {})
    if "annotators" in figures and "whom" not in values:
        whom = ", ".join(repr(shorten(name)) for name in figures["annotators"])
        more = figures.get("n", 0) - len(figures["annotators"])
        values["whom"] = f"{whom} and {more} more" if more > 0 else whom
    sentence = "".join(
        text if name is None else text + _write_figure(values[name], form)
        for text, name, form in _parse_sentence(code)
    )
    return Caution(code=code, sentence=sentence, figures=figures)


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """How much ω and ρ owe to the items that happened to be drawn.

    Attributes
    ----------
    advantage_low, advantage_high : float
        Ends of the interval of ρ, in [0, 1]; nan where undefined.
    human_advantage_low, human_advantage_high : float
        The same for the mean of the annotators' own advantage.
    panel_low, panel_high : float
        Ends of an interval of ρ for other annotators like these, on other items; nan with one
        annotator, and that over items alone where ρ is 0 or 1.
    stability : float
        Share of the resamples in which ω, by the exact test and with failures lost, is at least .5,
        in [0, 1]; nan under a family of all judges. Not a p-value: it is how often that would be
        found again.
    confidence_level : float
        Nominal coverage, in (0, 1).
    n_resamples : int
        Bootstrap resamples.
    n_units : int
        What was resampled: items, or clusters.
    clustered : bool
        Whether it was clusters.
    reason : str or None
        Why a figure is nan.
    """

    advantage_low: Share
    advantage_high: Share
    human_advantage_low: Share
    human_advantage_high: Share
    panel_low: Share
    panel_high: Share
    stability: Share
    confidence_level: Share
    n_resamples: int
    n_units: int
    clustered: bool
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class AltTestResult(Tabular, rows="annotators"):
    """May the judge replace the annotators? One question, judge, alignment and ε.

    Attributes
    ----------
    question, judge, alignment : str
        What was examined.
    epsilon : float
        The cost-benefit margin, in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}
        How it enters.
    n_items : int
        Items that took part in at least one comparison.
    n_annotators : int
        Annotators tested.
    winning_rate : float
        ω, the share (under quality weights: weighted share) of tested annotators whom the judge
        wins by the exact test, failed items lost; in [0, 1], nan without any.
    winning_rate_bh : float
        The same under Benjamini-Hochberg.
    advantage_probability : float
        ρ, the mean of the annotators' `advantage_judge`; in [0, 1], nan without any. In a crowd the
        mean over the items.
    human_advantage : float
        The mean of the annotators' `advantage_human`; in a crowd that over the items.
    passed : bool
        Whether `outcome` is ``"passed"``.
    outcome : {"passed", "passed_as_random_person", "failed", "no_evidence"}
        What to act on: ω of at least .5, and closer to the annotators than a constant answer;
        ``"passed_as_random_person"`` where `crowd` shows the like of a random person, which says
        nothing of any one; ``"no_evidence"`` where the judge could not be told from a useless one,
        or these labels could pass nobody.
    finding : {"passed", "passed_as_random_person", "not_shown", "worse", "no_evidence"}
        The same, with ``"failed"`` told apart: ``"not_shown"`` where the estimate lies within ε for
        at least half of the annotators (or of a random person of a crowd), so that more items may
        change it, else ``"worse"``.
    n_within, n_shown : int
        Annotators for whom the estimate lies within ε, and for whom this is shown; failed items
        lost.
    because : Caution
        What decided the outcome.
    smallest_epsilon : float or None
        The smallest margin, in steps of .001, at which ω is at least .5; None where there is none
        below 1, or without resamples. Found on these labels, it describes them: the ε of a test is
        fixed before.
    uncertainty : Uncertainty or None
        Interval of ρ and stability of ω; None without resamples.
    t_test : TTest
        The figures of the t-test, for comparison with publications.
    annotators : tuple of AnnotatorResult
        One per tested annotator, in the order of the columns.
    untested : tuple of str
        Annotators with too few items.
    worst_case : WorstCase
        With the judge's failures counted against it.
    controls : tuple of ControlResult
        Constant, random and majority-vote judges under the same test.
    crowd : CrowdTest or None
        Where no annotator has enough items, but at least 50 items have labels of two persons, and
        six persons or more labelled them: the test against a random one of them. None elsewhere,
        and with weights, clusters, gold or an expert.
    human_agreement : KrippendorffResult or None
        α among the annotators; None where the question has no metric.
    cautions : tuple of Caution
        What a reader should know before trusting the figures; `warnings` has the sentences.
    dropped : tuple of Dropped
        Labels that were set aside, each with its reason; not in the JSON.
    settings : dict
        Everything else that determines the result, under the names of `voirdire.alt_test`, and
        the number of clusters.
    """

    question: str
    judge: str
    alignment: str
    epsilon: Margin
    epsilon_mode: EpsilonMode
    n_items: int
    n_annotators: int
    winning_rate: Share
    winning_rate_bh: Share
    advantage_probability: Share
    human_advantage: Share
    passed: bool
    outcome: Outcome
    finding: Finding
    n_within: int
    n_shown: int
    because: Caution
    annotators: tuple[AnnotatorResult, ...] = field(repr=False)
    untested: tuple[str, ...] = field(repr=False)
    worst_case: WorstCase = field(repr=False)
    t_test: TTest = field(repr=False)
    controls: tuple[ControlResult, ...] = field(repr=False)
    human_agreement: KrippendorffResult | None = field(repr=False)
    cautions: tuple[Caution, ...] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False, metadata={"key": None})
    settings: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)
    smallest_epsilon: Share | None = field(default=None, repr=False)
    uncertainty: Uncertainty | None = field(default=None, repr=False)
    crowd: CrowdTest | None = field(default=None, repr=False)

    PLAIN: ClassVar = ("warnings",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the figures, in sentences."""
        return tuple(caution.sentence for caution in self.cautions)
