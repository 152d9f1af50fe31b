"""Numbers that stand for missing rewards in trainers that take numbers only."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.records.items import is_share
from voirdire.rewards.scores import LARGEST_REWARD, is_reward

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.live.turns import LiveScores
    from voirdire.rewards.model import RewardModel

_NO_PROBABILITY = -1.0
"""Stands where there is no probability: finite, and no probability itself."""


class MissingRewards:
    """Numbers instead of missing rewards, declared beforehand; not neutral, whatever they are.

    Parameters
    ----------
    reward : RewardModel
        Whose rewards may be missing.
    declared : float or None, optional
        The number. By default the mean rule reward of the item's behavior over the completions
        that the reward was fitted on; over all behaviors where the behavior is unknown.
    base_mean : float, optional
        What is added to that mean where the reward stands beside a base reward.
    center : bool, optional
        Whether each behavior's mean is taken off its rule rewards: then that mean is 0.

    Raises
    ------
    InputError
        If a number is not finite or beyond 1e16, or none is declared and the reward knows no mean.
    """

    def __init__(
        self,
        reward: RewardModel,
        *,
        declared: float | None = None,
        base_mean: float = 0.0,
        center: bool = False,
    ) -> None:
        number_declared = 0.0 if declared is None else declared
        for name, number in (("missing_reward", number_declared), ("base_mean", base_mean)):
            if not _is_reward(number):
                msg = f"`{name}` must be a finite number, 1e16 at most, got {shorten(number)}."
                raise InputError(msg)
        self._declared = declared
        self._by_behavior = {
            name: (row.mean - row.mean if center else row.mean) + base_mean
            for name, row in reward.behaviors.items()
        }
        if declared is None and not all(map(_is_reward, self._by_behavior.values())):
            msg = (
                f"`missing_reward` must be declared for reward {shorten(reward.name)!r}, which "
                "knows no mean of its behaviors. Give a number in the range of its rewards."
            )
            raise InputError(msg)
        n_behaviors = len(self._by_behavior)
        self._over_all = math.fsum(mean / n_behaviors for mean in self._by_behavior.values())
        deviations = [row.standard_deviation for row in reward.behaviors.values()]
        variance = math.fsum(one * one for one in deviations) / max(1, len(deviations))
        self._spread = math.sqrt(variance) if _is_reward(variance) and variance > 0 else 1.0

    def unit_score(self, value: float) -> float:
        """Squeeze a reward into [0, 1] and keep the order.

        With z, the reward less the mean over all behaviors in standard deviations of the rule
        rewards, it is 1/2 + z / (2 (1 + abs(z))): 1/2 at the mean, 3/4 a deviation above. Where the
        reward knows no mean or deviation, 0 and 1 stand for them.
        """
        z = (value - (self._over_all if _is_reward(self._over_all) else 0.0)) / self._spread
        return 0.5 + 0.5 * z / (1.0 + abs(z))

    def of(self, behavior: str | None) -> float:
        """Return the number for an item of a behavior."""
        if self._declared is not None:
            return float(self._declared)
        mean = self._by_behavior.get(behavior) if isinstance(behavior, str) else None
        return self._over_all if mean is None else mean

    def columns(self, scores: LiveScores) -> dict[str, list[float]]:
        """Return rewards and their parts as finite numbers, for trainers that take no None.

        Parameters
        ----------
        scores : LiveScores
            Rewards of some turns.

        Returns
        -------
        dict of str to list of float
            Always the same columns for one reward, a number per turn in their order: ``score``;
            ``missing``, 1 where that is the number that stands for a reward, else 0;
            ``rule_reward`` and ``base_reward``, 0 where there is none; and ``proposition/<id>``,
            the probability, or -1 where there is none; of criteria the training record has the
            scores by tag.
        """
        values = scores.scores
        is_there = is_reward(values.rewards).tolist()
        rows = zip(values.rewards.tolist(), is_there, values.behaviors, strict=True)
        columns = {
            "score": [value if fits else self.of(behavior) for value, fits, behavior in rows],
            "missing": [0.0 if fits else 1.0 for fits in is_there],
            "rule_reward": _fill_missing(values.rule_rewards, 0.0),
            "base_reward": _fill_missing(values.base_rewards, 0.0),
        }
        for place, name in enumerate(scores.judged.questions):
            if not is_share(name):  # a score may be -1, and of most tags an item has none
                continue
            probabilities = scores.judged.probabilities[:, place]
            columns[f"proposition/{name}"] = _fill_missing(probabilities, _NO_PROBABILITY)
        return columns


def _fill_missing(column: NDArray[np.float64], instead: float) -> list[float]:
    numbers: list[float] = np.where(is_reward(column), column, instead).tolist()
    return numbers


def _is_reward(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(abs(value) <= LARGEST_REWARD)  # which nan is not
