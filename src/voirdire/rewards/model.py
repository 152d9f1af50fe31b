"""A reward: weights per behavior, with everything that says what they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Judged, Orientation
    from voirdire.records import Certificate
    from voirdire.rubrics import Rubric

__all__ = ["REWARD_SCHEMA", "BehaviorReward", "RewardJudge", "RewardModel"]

REWARD_SCHEMA = "voirdire.reward/1"


@dataclass(frozen=True, kw_only=True)
class RewardJudge:
    """Whose verdicts the weights were fitted on, and may be used with.

    Attributes
    ----------
    name : str
        What verdicts call it.
    fingerprint : str
        Of its verdicts; empty where the weights were given by hand.
    threshold : float
        In (0, 1): a proposition is true from this probability on.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.
    made_by : mapping of str to object
        How to make the judge again: ``judge`` as the command line takes it, and for a language
        model mode, probability, language and so on. Never a key.
    """

    name: str
    fingerprint: str = ""
    threshold: float = 0.5
    judged: Judged = "final_answer"
    made_by: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BehaviorReward:
    """The reward of one behavior.

    Attributes
    ----------
    behavior : str
        Its id.
    weights : mapping of str to float
        By feature, in the order of the features; every feature has one.
    mean, standard_deviation : float
        Of the rule reward over the completions that it was fitted on: where its origin and scale
        are; nan where it was fitted on none.
    mean_ideal : float
        Mean rule reward of the best label or class; nan where there is none.
    figures : mapping of str to object
        Figures of the fit: numbers of prompts and pairs, λ, error rates and intervals.
    """

    behavior: str
    weights: Mapping[str, float] = field(repr=False)
    mean: float = float("nan")
    standard_deviation: float = float("nan")
    mean_ideal: float = float("nan")
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class RewardModel:
    r"""A linear reward: :math:`R = R_{base} + \sum_k w_k \varphi_k`, one w per behavior.

    Attributes
    ----------
    name : str
        What scores call it.
    rubric : Rubric
        Whole, so that a score needs nothing else.
    orientation : {"plain", "rule", "demanded"}
        Of the features.
    judge : RewardJudge
        Whose verdicts it takes.
    behaviors : mapping of str to BehaviorReward
        By id; a behavior that is not here has no reward.
    settings : mapping of str to object
        How it was fitted.
    data_hash : str
        Of the comparisons; empty where the weights were given by hand.
    certificates : tuple of Certificate
        Of the examinations of its judge.
    created : str
        UTC time, ISO 8601.
    versions : mapping of str to str
        voirdire, Python and the numerical libraries.
    """

    name: str
    rubric: Rubric
    orientation: Orientation = "plain"
    judge: RewardJudge
    behaviors: Mapping[str, BehaviorReward]
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    data_hash: str = ""
    certificates: tuple[Certificate, ...] = field(default=(), repr=False)
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
