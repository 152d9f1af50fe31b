"""The weights of one behavior as a convex problem: what is given is moved into the margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.solving.problem import RankingProblem, RankingSolution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import Loss
    from voirdire.rewards.fitting.behavior_data import BehaviorData
    from voirdire.rewards.fitting.feature_choice import FeatureChoice

__all__ = ["WeightProblem", "losses", "pair_weights"]

_LEAST_L2 = 1e-6
"""λ of the logistic loss on parts of the data, where a part may be separable and the whole not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightProblem:
    """Comparisons of one behavior, ready to be solved for any λ and any prompts.

    Attributes
    ----------
    data : BehaviorData
        The comparisons.
    choice : FeatureChoice
        Which weights are fitted.
    weight : ndarray of float, shape (n_pairs,)
        How much each comparison counts; adds up to 1.
    loss : {"hinge", "logistic"}
        What is minimised.
    """

    data: BehaviorData
    choice: FeatureChoice
    weight: NDArray[np.float64] = field(repr=False)
    loss: Loss

    @property
    def is_fitted(self) -> bool:
        """Whether there is any weight to fit."""
        return bool(self.choice.is_fitted.any())

    @cached_property
    def fitted_features(self) -> NDArray[np.float64]:
        """The features whose weights are fitted."""
        return np.ascontiguousarray(self.data.features[:, self.choice.is_fitted])

    @cached_property
    def given_gain(self) -> NDArray[np.float64]:
        """What base reward and given weights put the better one above the worse one."""
        given = np.nan_to_num(self.choice.given, nan=0.0)
        return self.data.base_gain + _differences(self.data, self.data.features @ given)

    def gain(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give what the whole reward puts the better one above the worse one.

        Parameters
        ----------
        weights : ndarray of float, shape (n_features,)
            All of them, also those that are given.
        """
        return self.data.base_gain + _differences(self.data, self.data.features @ weights)

    def losses(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the loss of each comparison."""
        return losses(self.data.margins - self.gain(weights), loss=self.loss)

    def ranking(self, l2: float, *, counts: NDArray[np.int64] | None = None) -> RankingProblem:
        """Make the problem of some of the prompts.

        Parameters
        ----------
        l2 : float
            λ.
        counts : ndarray of int, shape (n_prompts,), optional
            How many times each prompt is there; once by default. Comparisons of prompts that are
            not there are left out.
        """
        data, fitted = self.data, self.choice.is_fitted
        weight = self.weight if counts is None else self.weight * counts[data.prompts]
        kept = weight > 0
        features, better, worse = self.fitted_features, data.better[kept], data.worse[kept]
        if 2 * better.size < len(features):  # few of many: the others need not be looked at
            used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
            features, better, worse = features[used], places[: better.size], places[better.size :]
        return RankingProblem(
            features=features,
            better=better,
            worse=worse,
            gap=(data.margins - self.given_gain)[kept],
            weight=weight[kept] / weight[kept].sum(),
            l2=l2,
            lower=self.choice.lower[fitted],
            upper=self.choice.upper[fitted],
            loss=self.loss,
            order=self.choice.order if self.loss == "hinge" else (),
        )

    def solve(self, l2: float) -> tuple[NDArray[np.float64], RankingSolution]:
        """Find all weights of the behavior, with the proof of the fitted ones."""
        from voirdire.rewards.solving.solve import solve

        if not self.is_fitted:
            reached = float(self.weight @ self.losses(self.choice.given))
            nothing = RankingSolution(
                weights=np.zeros(0), objective=reached, bound=reached, n_iterations=0
            )
            return self.choice.given.copy(), nothing
        found = solve(self.ranking(l2))
        return self._with_given(found.weights), found

    def solve_part(
        self, l2: float, counts: NDArray[np.int64], *, start: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Find the weights on some of the prompts, each counted as often as `counts` says.

        Weights of the behavior that are near the answer, `start`, save steps and change nothing.
        A part may be separable where the whole is not, so that the logistic loss gets a λ of at
        least one in a million here.
        """
        from voirdire.rewards.solving.solve import solve

        if not self.is_fitted:
            return self.choice.given.copy()
        held = max(l2, _LEAST_L2) if self.loss == "logistic" else l2
        near = None if start is None else start[self.choice.is_fitted]
        found = solve(self.ranking(held, counts=counts), start=near)
        return self._with_given(found.weights)

    def _with_given(self, fitted: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = self.choice.given.copy()
        weights[self.choice.is_fitted] = fitted
        return weights


def pair_weights(prompts: NDArray[np.int64], *, equal_prompts: bool) -> NDArray[np.float64]:
    """Weigh comparisons, all alike or all prompts alike; above 0, adding up to 1.

    A prompt with ten completions has up to 45 comparisons, one with two has one.
    """
    if not equal_prompts:
        return np.full(prompts.size, 1.0 / max(prompts.size, 1))
    counts = np.bincount(prompts)
    return 1.0 / (counts[prompts] * np.count_nonzero(counts))


def losses(shortfall: NDArray[np.float64], *, loss: Loss) -> NDArray[np.float64]:
    """Give the loss of each comparison from how far it falls short of its margin."""
    if loss == "hinge":
        return np.maximum(shortfall, 0.0)
    return np.logaddexp(0.0, shortfall)


def _differences(data: BehaviorData, values: NDArray[np.float64]) -> NDArray[np.float64]:
    differences: NDArray[np.float64] = values[data.better] - values[data.worse]
    return differences
