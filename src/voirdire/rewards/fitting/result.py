"""What a fit gives: the reward model, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from voirdire.rewards.comparisons.pairs import PreferenceCycles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.records import Dropped
    from voirdire.rewards.model import RewardModel

__all__ = ["BehaviorFit", "Estimate", "FitProgress", "FittedWeight", "RewardFit"]


@dataclass(frozen=True, kw_only=True)
class FitProgress:
    """How far a fit is.

    Attributes
    ----------
    doing : {"judging", "fitting"}
        What is being done.
    n_done, n_total : int
        Completions that are judged, or problems that are solved: the fits themselves, those of
        cross-validation and those of resamples.
    """

    doing: Literal["judging", "fitting"]
    n_done: int
    n_total: int


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval.

    Attributes
    ----------
    value : float
        The figure; nan where it is undefined.
    low, high : float
        Ends of its interval; nan where there is none.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class FittedWeight:
    """The weight of one feature.

    Attributes
    ----------
    feature : str
        Its name.
    weight : Estimate
        With the interval of the bootstrap over prompts.
    origin : {"fitted", "fixed", "ignored", "undetermined", "veto"}
        Undetermined: no comparison tells anything of it. Veto: what the feature ``"(veto)"``
        takes off, more than all weights make up for.
    """

    feature: str
    weight: Estimate
    origin: str


@dataclass(frozen=True, kw_only=True)
class BehaviorFit:
    """How the weights of one behavior came about.

    Attributes
    ----------
    behavior : str
        Its id.
    n_prompts, n_items, n_pairs : int
        What it was fitted on: at least 1 pair.
    l2 : float
        λ that was used, at least 0.
    l2_path : mapping of float to float
        Held-out loss for each λ that was tried; empty where λ was given.
    objective, bound : float
        What the weights reach, and what none can go below.
    weights : tuple of FittedWeight
        In the order of the features.
    error_rate : Estimate
        Share of comparisons that the reward ranks the wrong way, a tie counting half: held out by
        prompt.
    error_rate_fitted : float
        The same on the comparisons that it was fitted on: too low.
    error_rate_base : Estimate
        The same by the base reward alone; nan where there is none.
    is_separable : bool
        Whether some weights rank every comparison right; without λ the size of the weights then
        says nothing.
    loose : tuple of str
        Directions of weights that no comparison tells anything of, beyond the gauge of the class
        features, in words.
    cycles : PreferenceCycles
        Comparisons that go in cycles, of all that were given for this behavior: also of prompts
        that are marked `test`, and of completions that were then dropped.
    notes : tuple of str
        What the reader should know.
    """

    behavior: str
    n_prompts: int
    n_items: int
    n_pairs: int
    l2: float
    l2_path: Mapping[float, float] = field(default_factory=dict, repr=False)
    objective: float
    bound: float
    weights: tuple[FittedWeight, ...] = field(repr=False)
    error_rate: Estimate
    error_rate_fitted: float
    error_rate_base: Estimate
    is_separable: bool
    loose: tuple[str, ...] = ()
    cycles: PreferenceCycles = field(default_factory=PreferenceCycles)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RewardFit:
    """A reward model with the record of its fit.

    Attributes
    ----------
    model : RewardModel
        Ready to score.
    behaviors : tuple of BehaviorFit
        One per behavior with comparisons.
    dropped : tuple of Dropped
        Completions and comparisons that were set aside, each with its reason.
    notes : tuple of str
        What the reader should know.
    """

    model: RewardModel
    behaviors: tuple[BehaviorFit, ...]
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
