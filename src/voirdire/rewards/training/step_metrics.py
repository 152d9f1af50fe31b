"""Figures of one step of training: always the same names for one reward."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from voirdire.rewards.certification import paying_propositions
from voirdire.rewards.training.completion_rows import Call, RowLayout, rows_of
from voirdire.rewards.training.step_figures import has_all_tokens, steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.run import TrainingStep

__all__ = ["asked_of", "class_names", "figures_of", "step_metrics", "used_propositions"]

_FIGURES = {
    "reward": "reward_mean",
    "reward_sd": "reward_sd",
    "rule_reward": "rule_mean",
    "base_reward": "base_mean",
    "missing": "missing_share",
    "nonsense": "nonsense_share",
    "n_tokens": "length_mean",
    "length_reward_correlation": "length_reward_correlation",
    "groups_without_spread": "zero_spread_share",
}


def step_metrics(
    reward: RewardModel, scores: LiveScores, turns: Sequence[Turn]
) -> dict[str, float]:
    """Work out the figures of a step.

    Parameters
    ----------
    reward : RewardModel
        What paid.
    scores : LiveScores
        Of the turns.
    turns : sequence of Turn
        In the order of the scores.

    Returns
    -------
    dict of str to float
        Constant keys for one reward; nan where a figure is undefined. ``reward``, ``reward_sd``,
        ``rule_reward`` and ``base_reward`` are over the completions with a reward; ``missing`` is
        the share of those without; ``nonsense`` the share of nonsense among the completions with
        text; ``proposition/<id>`` is the mean probability of a proposition
        that the reward depends on; ``class/<behavior>/<class>`` the mean probability of a
        completion class over the completions of its behavior; ``n_tokens`` the mean length, nan
        where the tokens of a completion are not known; ``length_reward_correlation`` is Pearson's,
        with characters where tokens are not known; ``groups_without_spread`` the share of the
        groups of two or more rewards whose rewards are all equal.

    Examples
    --------
    >>> import asyncio
    >>> from voirdire.rewards import reward_of_weights
    >>> from voirdire.rewards.live import LiveReward, Turn
    >>> reward = reward_of_weights({"hard_refuse": {"apology": 2}}, rubric="safety")
    >>> turns = [Turn(response="I'm sorry, I can't help with that.", behavior="hard_refuse")]
    >>> async def scored():
    ...     live = LiveReward(reward)
    ...     await live.start()
    ...     scores = await live.turn_rewards(turns)
    ...     await live.close()
    ...     return scores
    >>> found = step_metrics(reward, asyncio.run(scored()), turns)
    >>> sorted(found)[-4:], found["proposition/apology"] > 0.9, found["missing"]
    (['proposition/apology', 'reward', 'reward_sd', 'rule_reward'], True, 0.0)
    """
    paying = used_propositions(reward)
    layout = RowLayout(propositions=paying, classes=class_names(reward))
    rows = rows_of([Call.of(scores, turns, step=0)], layout)
    found: dict[str, float] = {}
    for step in steps_of(rows, layout):  # one, or none without turns
        found = figures_of(step)
    names = [
        *_FIGURES,
        *(f"proposition/{name}" for name in paying),
        *(f"class/{behavior}/{name}" for behavior, row in layout.classes.items() for name in row),
    ]
    if not has_all_tokens(rows):
        found["n_tokens"] = math.nan
    return {name: found.get(name, math.nan) for name in names}


def figures_of(step: TrainingStep) -> dict[str, float]:
    """Name the figures of a step as trainers get them; ``n_tokens`` is its length, in any unit."""
    found: dict[str, float] = {name: getattr(step, field) for name, field in _FIGURES.items()}
    found |= {f"proposition/{name}": rate for name, rate in step.proposition_rates.items()}
    for behavior, shares in step.class_shares.items():
        found |= {f"class/{behavior}/{name}": share for name, share in shares.items()}
    return found


def asked_of(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List by behavior the propositions that its rewards depend on."""
    return {
        name: paying_propositions(replace(reward, behaviors={name: row}))
        for name, row in reward.behaviors.items()
    }


class _ByContent:
    """A reward, equal to others with the same content."""

    def __init__(self, reward: RewardModel) -> None:
        self.reward = reward

    def __hash__(self) -> int:
        return hash(self.reward.content_hash)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _ByContent) and self.reward.content_hash == other.reward.content_hash
        )


def used_propositions(reward: RewardModel) -> tuple[str, ...]:
    """List the propositions that rewards depend on; worked out once for a reward."""
    return _used(_ByContent(reward))


def class_names(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List the completion classes by behavior that the reward has weights for."""
    return {
        name: tuple(row.name for row in reward.rubric.behavior(name).classes)
        for name in reward.behaviors
    }


@lru_cache(maxsize=16)
def _used(key: _ByContent) -> tuple[str, ...]:
    return paying_propositions(key.reward)
