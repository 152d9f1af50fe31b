"""What the examination of a reward finds: one record, whose fields are the keys of its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from voirdire._types import Share  # noqa: TC001  # as above
from voirdire.records.items import Dropped  # noqa: TC001  # as above
from voirdire.records.tables import Tabular

__all__ = [
    "REWARD_EXAMINATION_SCHEMA",
    "BenchSubset",
    "DegenerateCheck",
    "DegenerateExample",
    "DegenerateKind",
    "ErrorRate",
    "FeatureDrive",
    "RateEstimate",
    "RefusalErrors",
    "RewardExamination",
    "RewardNote",
    "Signal",
]

REWARD_EXAMINATION_SCHEMA: Final = "voirdire.reward_examination/1"

_NAN = math.nan

Signal: TypeAlias = Literal["base", "total", "rules"]
"""The base reward alone, base and rules together, the rules alone."""

DegenerateKind: TypeAlias = Literal["empty", "repeated_sentence", "shuffled_words", "echoed_prompt"]
"""Responses that are of no use; a sentence and words are those of the best real response."""


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
        Those furthest above the best real response, at most three.
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
class RewardExamination(Tabular, rows="error_rates"):
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
    refusals : tuple of RefusalErrors
        False and missed refusals.
    degenerate : tuple of DegenerateCheck
        Nonsense beside real responses; empty where it was not judged.
    drives : tuple of FeatureDrive
        Per behavior and feature.
    bench : tuple of BenchSubset
        Where a benchmark of chosen and rejected responses was given.
    notes : tuple of RewardNote
        What the reader should know, the weightiest first.
    dropped : tuple of Dropped
        What was set aside, each with its reason.
    settings : mapping of str to object
        Confidence level, resamples, seed, files.
    """

    schema: Literal["voirdire.reward_examination/1"] = field(
        default=REWARD_EXAMINATION_SCHEMA, repr=False
    )
    reward: Mapping[str, Any] = field(repr=False)
    n_items: int
    n_prompts: int
    n_comparisons: int
    is_held_out: bool
    error_rates: tuple[ErrorRate, ...] = ()
    refusals: tuple[RefusalErrors, ...] = field(default=(), repr=False)
    degenerate: tuple[DegenerateCheck, ...] = field(default=(), repr=False)
    drives: tuple[FeatureDrive, ...] = field(default=(), repr=False)
    bench: tuple[BenchSubset, ...] = field(default=(), repr=False)
    notes: tuple[RewardNote, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
