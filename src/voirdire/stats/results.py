"""What an examination found: frozen records with the names that the JSON uses."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from voirdire.stats.exact_test import exact_p_value

if TYPE_CHECKING:
    from voirdire._types import EpsilonMode, Method, Outcome
    from voirdire.records import Dropped
    from voirdire.stats.krippendorff import KrippendorffResult

__all__ = ["AltTestResult", "AnnotatorResult", "Caution", "ControlResult", "WorstCase"]


MOST_ITEMS_FOR_EXACT = 2_000


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
        Of the null hypothesis that the judge is worse by ε or more; in [0, 1], nan where
        undefined.
    rejected : bool
        Whether that hypothesis falls under Benjamini-Yekutieli: the judge wins this annotator.
    rejected_bh : bool
        The same under Benjamini-Hochberg, as a sensitivity check.
    n_judge_wins, n_ties, n_human_wins : int
        Items by outcome.
    """

    annotator: str
    n_items: int
    advantage_judge: float
    advantage_human: float
    mean_difference: float
    standard_error: float
    degrees_of_freedom: float
    p_value: float
    rejected: bool
    rejected_bh: bool
    n_judge_wins: int
    n_ties: int
    n_human_wins: int
    _exact: tuple[float, EpsilonMode] | None = field(default=None, repr=False, compare=False)

    @property
    def tie_share(self) -> float:
        """Share of the items on which both are equally close, in [0, 1]."""
        return self.n_ties / self.n_items

    @property
    def has_exact_p_value(self) -> bool:
        """Whether the exact test is computed: not under weights, clusters, or for many items."""
        return self._exact is not None and self.n_items <= MOST_ITEMS_FOR_EXACT

    @property
    def exact_p_value(self) -> float:
        """The exact test's p-value, computed when asked for.

        nan under weights or clusters, and above 2,000 items, where the t-test's size is right.
        """
        if self._exact is None or not self.has_exact_p_value:
            return math.nan
        epsilon, mode = self._exact
        return exact_p_value(
            n_judge_wins=self.n_judge_wins,
            n_ties=self.n_ties,
            n_human_wins=self.n_human_wins,
            epsilon=epsilon,
            epsilon_mode=mode,
        )

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON."""
        figures = {name: getattr(self, name) for name in _ANNOTATOR_FIELDS}
        return figures | {"tie_share": self.tie_share, "exact_p_value": self.exact_p_value}


_ANNOTATOR_FIELDS = (
    "annotator",
    "n_items",
    "advantage_judge",
    "advantage_human",
    "mean_difference",
    "standard_error",
    "degrees_of_freedom",
    "p_value",
    "rejected",
    "rejected_bh",
    "n_judge_wins",
    "n_ties",
    "n_human_wins",
)


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
        ω and ρ; nan where undefined.
    passed : bool
        Whether ω is at least .5.
    """

    control: Literal["constant", "random", "majority_vote"]
    label: str | None
    winning_rate: float
    advantage_probability: float
    passed: bool

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON."""
        return {
            "control": self.control,
            "label": self.label,
            "winning_rate": self.winning_rate,
            "advantage_probability": self.advantage_probability,
            "passed": self.passed,
        }


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The same examination with every failed item lost by the judge.

    Attributes
    ----------
    n_failures : int
        Items on which the judge was asked and gave no usable answer.
    winning_rate, advantage_probability : float
        ω and ρ with those items lost; equal to the main figures without failures.
    passed : bool
        Whether that ω is at least .5: what gates and certificates use.
    """

    n_failures: int
    winning_rate: float
    advantage_probability: float
    passed: bool

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON."""
        return {
            "n_failures": self.n_failures,
            "winning_rate": self.winning_rate,
            "advantage_probability": self.advantage_probability,
            "passed": self.passed,
        }


@dataclass(frozen=True, kw_only=True)
class Caution:
    """Something that weakens the figures.

    Attributes
    ----------
    code : str
        One of ``few_annotators``, ``untested_annotators``, ``many_ties``, ``correction``,
        ``failures``, ``weak_annotators``, ``undeclared_labels``, ``strange_labels``,
        ``strange_annotators``, ``not_judged``, ``no_controls``.
    sentence : str
        What it is, with its figures.
    """

    code: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class AltTestResult:
    """May the judge replace the annotators? One question, judge, alignment and ε.

    Attributes
    ----------
    question, judge, alignment : str
        What was examined.
    epsilon : float
        The cost-benefit margin, in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}
        How it enters.
    method : {"t", "exact"}
        Which p-values decide.
    n_items : int
        Items that took part in at least one comparison.
    n_annotators : int
        Annotators tested.
    winning_rate : float
        ω, the share (under quality weights: weighted share) of tested annotators whom the judge
        wins; in [0, 1], nan without any.
    winning_rate_bh : float
        ω under Benjamini-Hochberg.
    advantage_probability : float
        ρ, the mean of the annotators' `advantage_judge`; in [0, 1], nan without any.
    human_advantage : float
        The mean of the annotators' `advantage_human`.
    passed : bool
        ω ≥ .5, nothing else.
    outcome : {"passed", "failed", "no_evidence"}
        What to act on: failed items lost, and ``"no_evidence"`` where passing would mean nothing.
    outcome_reasons : tuple of str
        Why there is no evidence.
    annotators : tuple of AnnotatorResult
        One per tested annotator, in the order of the columns.
    untested : tuple of str
        Annotators with too few items.
    worst_case : WorstCase
        With the judge's failures counted against it.
    controls : tuple of ControlResult
        Constant, random and majority-vote judges under the same test.
    human_agreement : KrippendorffResult or None
        α among the annotators; None where the question has no metric.
    cautions : tuple of Caution
        What a reader should know before trusting the figures; `warnings` has the sentences.
    dropped : tuple of Dropped
        Labels that were set aside, each with its reason.
    settings : dict
        Everything else that determines the result, under the names of `voirdire.alt_test`, and
        the number of clusters.
    """

    question: str
    judge: str
    alignment: str
    epsilon: float
    epsilon_mode: EpsilonMode
    method: Method
    n_items: int
    n_annotators: int
    winning_rate: float
    winning_rate_bh: float
    advantage_probability: float
    human_advantage: float
    passed: bool
    outcome: Outcome
    outcome_reasons: tuple[str, ...]
    annotators: tuple[AnnotatorResult, ...] = field(repr=False)
    untested: tuple[str, ...] = field(repr=False)
    worst_case: WorstCase = field(repr=False)
    controls: tuple[ControlResult, ...] = field(repr=False)
    human_agreement: KrippendorffResult | None = field(repr=False)
    cautions: tuple[Caution, ...] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the figures, in sentences."""
        return tuple(caution.sentence for caution in self.cautions)

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; nan stays nan."""
        agreement = self.human_agreement
        figures = {name: getattr(self, name) for name in _RESULT_FIELDS}
        return figures | {
            "outcome_reasons": list(self.outcome_reasons),
            "annotators": [row.as_dict() for row in self.annotators],
            "untested": list(self.untested),
            "worst_case": self.worst_case.as_dict(),
            "controls": [row.as_dict() for row in self.controls],
            "human_agreement": None if agreement is None else asdict(agreement),
            "warnings": list(self.warnings),
            "settings": dict(self.settings),
        }


_RESULT_FIELDS = (
    "question",
    "judge",
    "alignment",
    "epsilon",
    "epsilon_mode",
    "method",
    "n_items",
    "n_annotators",
    "winning_rate",
    "winning_rate_bh",
    "passed",
    "outcome",
    "advantage_probability",
    "human_advantage",
)
