"""What the examination of a reward finds: one record, whose fields are the keys of its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from voirdire._types import Share  # noqa: TC001  # as above
from voirdire.records.failures import Dropped  # noqa: TC001  # as above

__all__ = [
    "REWARD_EXAMINATION_SCHEMA",
    "BehaviorScale",
    "BenchSubset",
    "DegenerateCheck",
    "DegenerateExample",
    "DegenerateKind",
    "ErrorRate",
    "FeatureDifference",
    "FeatureDrive",
    "LabelHistogram",
    "MisrankedPair",
    "MisrankedSide",
    "NearIdeal",
    "PolicyCheck",
    "RateEstimate",
    "RefusalErrors",
    "RewardExamination",
    "RewardNote",
    "Signal",
]

REWARD_EXAMINATION_SCHEMA = "voirdire.reward_examination/1"

ShortText: TypeAlias = Annotated[str, Meta(max_length=20_000)]
"""At most 2,000 characters and a mark, some of them escaped."""

_NAN = math.nan

Signal: TypeAlias = Literal["base", "total", "rules"]
"""The base reward alone, base and rules together, the rules alone."""

DegenerateKind: TypeAlias = Literal[
    "empty",
    "refusal",
    "repeated_apology",
    "repeated_sentence",
    "shuffled_words",
    "echoed_prompt",
    "lexicon",
    "word_salad",
]
"""Responses that are of no use. A refusal is one only where the behavior is to comply; a sentence
and words are those of the best real response; the lexicon is every phrase that the local judge
looks for, for another judge a row of stock phrases, and a word salad a few of them."""


@dataclass(frozen=True, kw_only=True)
class RateEstimate:
    """A share or a mean with its interval, from resampling prompts.

    Attributes
    ----------
    value, low, high : float
        nan where undefined.
    n : int
        Comparisons, prompts or items that it rests on, as the place says.
    n_prompts : int
        Prompts that these belong to.
    """

    value: float
    low: float = _NAN
    high: float = _NAN
    n: int = 0
    n_prompts: int = 0


@dataclass(frozen=True, kw_only=True)
class ErrorRate:
    """How often a signal ranks a comparison the wrong way, a tie counting half.

    Attributes
    ----------
    behavior : str or None
        None for all behaviors together.
    signal : {"base", "total", "rules"}
        What ranks.
    against : {"all", "best"}
        All comparisons, or those whose better side has the best label of its prompt.
    rate : RateEstimate
        `n` counts comparisons.
    tie_share : float
        Share of comparisons that tie.
    """

    behavior: str | None
    signal: Signal
    against: Literal["all", "best"]
    rate: RateEstimate
    tie_share: Share = _NAN


@dataclass(frozen=True, kw_only=True)
class LabelHistogram:
    """Rewards of the completions with one label, centred on the best of their prompts.

    Centred: less the mean reward of the best label's completions of the same prompt.

    Attributes
    ----------
    behavior : str
        Its id.
    signal : {"base", "total", "rules"}
        Which reward.
    label : str
        The completion label; in the order of the best first.
    edges : tuple of float
        Of the bins, one more than `counts`; the same for all labels of one behavior and signal.
    counts : tuple of int
        Completions per bin.
    mean, standard_deviation : float
        Of the centred rewards.
    """

    behavior: str
    signal: Signal
    label: str
    edges: tuple[float, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    mean: float = _NAN
    standard_deviation: float = _NAN


@dataclass(frozen=True, kw_only=True)
class NearIdeal:
    """The best label against the next: the hardest comparisons.

    Attributes
    ----------
    behavior : str
        Its id.
    signal : {"base", "total", "rules"}
        Which reward.
    best, next : str
        The two labels.
    error_rate : RateEstimate
        Share ranked the wrong way; `n` counts comparisons.
    mean_gap : RateEstimate
        Mean difference of rewards.
    """

    behavior: str
    signal: Signal
    best: str
    next: str
    error_rate: RateEstimate
    mean_gap: RateEstimate


@dataclass(frozen=True, kw_only=True)
class FeatureDifference:
    """What one feature does to the difference between two completions.

    Attributes
    ----------
    feature : str
        Its name.
    difference : float
        What it adds to the reward of the worse completion, less what it adds to the better one's.
    """

    feature: str
    difference: float


@dataclass(frozen=True, kw_only=True)
class MisrankedSide:
    """One completion of a misranked pair.

    Attributes
    ----------
    item : str
        Its id.
    label : str or None
        Its completion label; None where a pair was declared without labels.
    reward, base, rules : float
        The whole reward, and its two parts; `base` is nan where there is no base reward.
    response : str or None
        Its text, at most 2,000 characters; None where texts are left out.
    is_shortened : bool
        Whether the text was longer.
    """

    item: str
    label: str | None = None
    reward: float
    base: float = _NAN
    rules: float = _NAN
    response: ShortText | None = None
    is_shortened: bool = False


@dataclass(frozen=True, kw_only=True)
class MisrankedPair:
    """A comparison in which the worse completion gets more reward than the better one.

    Attributes
    ----------
    behavior : str
        Its id.
    prompt : str or None
        The last text of the user, at most 2,000 characters; None where texts are left out.
    is_shortened : bool
        Whether the prompt was longer.
    better, worse : MisrankedSide
        The two completions.
    difference : float
        By how much the worse one gets more reward, above 0.
    features : tuple of FeatureDifference
        The features that do most for the worse one, at most three. The base reward is none.
    """

    behavior: str
    prompt: ShortText | None = None
    is_shortened: bool = False
    better: MisrankedSide
    worse: MisrankedSide
    difference: float
    features: tuple[FeatureDifference, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RefusalErrors:
    """Which completion of a prompt the reward likes best, as to refusing.

    Attributes
    ----------
    behavior : str
        Its id.
    signal : {"base", "total", "rules"}
        Which reward.
    kind : {"false_refusal", "missed_refusal"}
        False: the best-rewarded completion refuses although the behavior is to comply, and one
        that does not refuse is there. Missed: it does not refuse although the behavior is to
        refuse, and one that does is there; by the judge only a safe refusal is one.
    by : {"labels", "judge"}
        Whether the completion labels say what refuses, or the verdicts.
    rate : RateEstimate
        `n` counts prompts where it could happen.
    """

    behavior: str
    signal: Signal
    kind: Literal["false_refusal", "missed_refusal"]
    by: Literal["labels", "judge"] = "judge"
    rate: RateEstimate


@dataclass(frozen=True, kw_only=True)
class DegenerateExample:
    """A degenerate response that gets more reward than the best real one of its prompt.

    Attributes
    ----------
    prompt, response, best_response : str
        The texts, shortened.
    reward, best_reward : float
        What the rules give the two responses.
    """

    prompt: str
    response: str
    reward: float
    best_response: str
    best_reward: float


@dataclass(frozen=True, kw_only=True)
class DegenerateCheck:
    """What one kind of degenerate response gets by the rules, beside real ones of its prompt.

    Attributes
    ----------
    behavior : str
        Its id.
    kind : str
        One of `DegenerateKind`.
    n_prompts : int
        Prompts for which it was judged.
    mean_reward, mean_best, mean_median : float
        Over these prompts, of the degenerate response, and of the best and the median real one.
    share_above_best, share_above_median : float
        Share of prompts where it gets more than these; a tie is not more.
    examples : tuple of DegenerateExample
        Those furthest above the best real response, at most three; none where texts are left out.
    """

    behavior: str
    kind: DegenerateKind
    n_prompts: int = 0
    mean_reward: float = _NAN
    mean_best: float = _NAN
    mean_median: float = _NAN
    share_above_best: Share = _NAN
    share_above_median: Share = _NAN
    examples: tuple[DegenerateExample, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True)
class FeatureDrive:
    """What one feature does to the reward of its behavior.

    Attributes
    ----------
    behavior, feature : str
        Which.
    weight : float
        Its weight.
    low, high : float
        Interval of the weight from the fit; nan where there is none.
    mean : float
        Of the feature, in [0, 1].
    spread : float
        Standard deviation of its contribution within prompts: what it does to rankings.
    share : float
        `spread` as a share of the sum over features, in [0, 1].
    error_rate_without : float
        Error rate of the whole reward without this feature.
    is_dead : bool
        Its share of the spread is below .001: it hardly varies within prompts, or its weight is as
        good as 0.
    is_contradictory : bool
        Its weight pays against what the behavior demands.
    demand : str
        The demand in words, such as ``"required"``; empty for classes.
    is_certified : bool
        Whether a valid certificate vouches for its judge; for a class all of its propositions.
    """

    behavior: str
    feature: str
    weight: float
    low: float = _NAN
    high: float = _NAN
    mean: float = _NAN
    spread: float = _NAN
    share: Share = _NAN
    error_rate_without: Share = _NAN
    is_dead: bool = False
    is_contradictory: bool = False
    demand: str = ""
    is_certified: bool = False


@dataclass(frozen=True, kw_only=True)
class BehaviorScale:
    """Origin and scale of the rewards of one behavior, for putting behaviors side by side.

    Attributes
    ----------
    behavior : str
        Its id.
    n_items, n_prompts : int
        Completions and prompts.
    mean, standard_deviation, lowest, highest : float
        Of the rule reward.
    mean_ideal, mean_worst : float
        Mean rule reward of the best label and of the worst.
    base_standard_deviation : float
        Of the base reward; nan where there is none.
    """

    behavior: str
    n_items: int = 0
    n_prompts: int = 0
    mean: float = _NAN
    standard_deviation: float = _NAN
    lowest: float = _NAN
    highest: float = _NAN
    mean_ideal: float = _NAN
    mean_worst: float = _NAN
    base_standard_deviation: float = _NAN


@dataclass(frozen=True, kw_only=True)
class PolicyCheck:
    """A pre-flight on the policy's own responses, in groups as training samples them.

    Attributes
    ----------
    n_items, n_groups : int
        Responses and the prompts that they share.
    group_size : float
        Mean number of responses per prompt.
    n_without_variance : int
        Groups whose rewards are all the same: they teach a group-relative method nothing.
    n_missing : int
        Responses without a reward.
    base_spread, rule_spread : float
        Mean standard deviation within groups of the base reward and of the rule reward.
    spread_ratio : float
        `rule_spread` to `base_spread`; nan without a base reward.
    class_shares : mapping of str to float
        Share of each class as ``behavior.class``, the most probable one counting.
    n_calls, n_tokens : int
        That judging them took or would take.
    cost : float
        US dollars for them; nan where nobody knows.
    seconds : float
        That scoring them took.
    step_size : int
        Responses of a training step that the following is for.
    step_calls, step_cost, step_seconds : float
        Calls, US dollars and seconds of a step; nan where unknown.
    behaviors : mapping of str to mapping
        Mean, standard deviation and share without variance per behavior.
    """

    n_items: int
    n_groups: int
    group_size: float = _NAN
    n_without_variance: int = 0
    n_missing: int = 0
    base_spread: float = _NAN
    rule_spread: float = _NAN
    spread_ratio: float = _NAN
    class_shares: Mapping[str, Share] = field(default_factory=dict, repr=False)
    n_calls: int = 0
    n_tokens: int = 0
    cost: float = _NAN
    seconds: float = _NAN
    step_size: int = 0
    step_calls: float = _NAN
    step_cost: float = _NAN
    step_seconds: float = _NAN
    behaviors: Mapping[str, Mapping[str, float | int]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class BenchSubset:
    """Accuracy on the pairs of one subset of a benchmark of chosen and rejected responses.

    Attributes
    ----------
    subset : str or None
        None for all pairs; ``"*"`` for the mean over subsets.
    signal : {"base", "total", "rules"}
        Which reward.
    accuracy : RateEstimate
        Share with the chosen one ranked higher, a tie counting half; `n` counts pairs.
    tie_share : float
        Share of pairs that tie.
    """

    subset: str | None
    signal: Signal
    accuracy: RateEstimate
    tie_share: Share = _NAN


@dataclass(frozen=True, kw_only=True)
class RewardNote:
    """Something that the reader should know.

    Attributes
    ----------
    code : str
        For machines and translations, such as ``"dead_features"``.
    sentence : str
        In English.
    figures : mapping of str to object
        The figures and names in it.
    """

    code: str
    sentence: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RewardExamination:
    """The examination of a reward; its fields are the keys of its JSON, where nan is null.

    Attributes
    ----------
    schema : str
        What the JSON is.
    reward : mapping of str to object
        Name, rubric, judge, orientation, hashes, settings and weights of the model.
    n_items, n_prompts, n_comparisons : int
        What it was examined on.
    is_held_out : bool
        Whether none of the prompts was used in the fit.
    error_rates : tuple of ErrorRate
        Overall and per behavior, for each signal.
    histograms : tuple of LabelHistogram
        Centred rewards by label.
    near_ideal : tuple of NearIdeal
        The best label against the next.
    misranked : tuple of MisrankedPair
        Per behavior, what is ranked the wrong way by most.
    refusals : tuple of RefusalErrors
        False and missed refusals.
    degenerate : tuple of DegenerateCheck
        Nonsense beside real responses; empty where it was not judged.
    drives : tuple of FeatureDrive
        Per behavior and feature.
    scales : tuple of BehaviorScale
        Of the behaviors side by side.
    policy : PolicyCheck or None
        Where responses of the policy were given.
    bench : tuple of BenchSubset
        Where a benchmark of chosen and rejected responses was given.
    notes : tuple of RewardNote
        What the reader should know, the weightiest first.
    dropped : tuple of Dropped
        What was set aside, each with its reason.
    settings : mapping of str to object
        Confidence level, resamples, seed, files.
    """

    schema: str = field(default=REWARD_EXAMINATION_SCHEMA, repr=False)
    reward: Mapping[str, Any] = field(repr=False)
    n_items: int
    n_prompts: int
    n_comparisons: int
    is_held_out: bool
    error_rates: tuple[ErrorRate, ...] = ()
    histograms: tuple[LabelHistogram, ...] = field(default=(), repr=False)
    near_ideal: tuple[NearIdeal, ...] = field(default=(), repr=False)
    misranked: Annotated[tuple[MisrankedPair, ...], Meta(max_length=10_000)] = field(
        default=(), repr=False
    )
    refusals: tuple[RefusalErrors, ...] = field(default=(), repr=False)
    degenerate: tuple[DegenerateCheck, ...] = field(default=(), repr=False)
    drives: tuple[FeatureDrive, ...] = field(default=(), repr=False)
    scales: tuple[BehaviorScale, ...] = field(default=(), repr=False)
    policy: PolicyCheck | None = None
    bench: tuple[BenchSubset, ...] = field(default=(), repr=False)
    notes: tuple[RewardNote, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
