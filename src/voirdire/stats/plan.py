"""Defines the plan of the test, which is fixed before the labels are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voirdire._types import EpsilonMode, Family, WeightScheme
from voirdire._validation import check_choice, check_count, check_epsilons, check_fraction
from voirdire.errors import InputError

FEWEST_RESAMPLES = 100


@dataclass(frozen=True, kw_only=True)
class TestPlan:
    """Settings of the alternative annotator test: margins, weights and sizes.

    Attributes
    ----------
    epsilon : float or sequence of float
        Cost-benefit margin ε in [0, 1), or several; fixed in advance. Guidance: .2 for experts,
        .15 for skilled annotators, .1 for crowd workers.
    epsilon_reason : str or None
        Why this ε was fixed in advance; shown in the report and the certificate.
    epsilon_mode : {"additive", "multiplicative"}
        Whether the annotator's advantage is reduced by ε or by the share ε of itself.
    weights : {"imbalance"} or None
        Inverse probability weights, for skewed labels.
    quality : mapping of str to float, or None
        Positive weight of an annotator; for all annotators or none.
    expert : str or None
        The annotator who is the reference for all others.
    similarity : callable or None
        For similarity: a function of two arrays of texts; by default the cosine of character
        1-to-3-grams.
    min_items : int
        Fewest items of a tested annotator, at least 2.
    min_annotators : int
        Fewest annotators on an item, at least 2.
    false_discovery_rate : float
        q of Benjamini-Yekutieli, in (0, 1).
    family : {"annotators", "judges"}
        What q covers: the annotators of each judge, or those of all judges together, where the
        best of several judges is kept.
    n_resamples : int
        Bootstrap resamples for the interval of ρ and the stability of ω: at least 100, or 0 for
        none.
    confidence_level : float
        Of every interval, in (0, 1).
    seed : int
        Of the random control and the resamples, at least 0.

    Raises
    ------
    InputError
        If a setting is out of its range.
    """

    epsilon: float | Sequence[float] = 0.2
    epsilon_reason: str | None = None
    epsilon_mode: EpsilonMode = "additive"
    weights: WeightScheme | None = None
    quality: Mapping[str, float] | None = None
    expert: str | None = None
    similarity: Callable[..., Any] | None = None
    min_items: int = 30
    min_annotators: int = 2
    false_discovery_rate: float = 0.05
    family: Family = "annotators"
    n_resamples: int = 1_000
    confidence_level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without labels."""
        object.__setattr__(self, "epsilon", check_epsilons(self.epsilon))
        check_choice("epsilon_mode", self.epsilon_mode, EpsilonMode)
        if self.weights is not None:
            check_choice("weights", self.weights, WeightScheme)
        check_count("min_items", self.min_items, minimum=2)
        check_count("min_annotators", self.min_annotators, minimum=2)
        check_fraction("false_discovery_rate", self.false_discovery_rate)
        check_choice("family", self.family, Family)
        check_count("n_resamples", self.n_resamples, minimum=0)
        if 0 < self.n_resamples < FEWEST_RESAMPLES:
            msg = (
                f"`n_resamples` must be 0 or at least {FEWEST_RESAMPLES}, got {self.n_resamples}. "
                "The ends of an interval are rare resamples."
            )
            raise InputError(msg)
        check_fraction("confidence_level", self.confidence_level)
        check_count("seed", self.seed, minimum=0)

    def as_settings(self) -> dict[str, Any]:
        """Return the plan as plain values, for results and certificates."""
        weights = self.quality
        return vars(self) | {
            "quality": None if weights is None else {str(x): w for x, w in weights.items()},
            "similarity": getattr(self.similarity, "__name__", None),
            "epsilon": list(check_epsilons(self.epsilon)),
        }
