"""Rewards and what they are made of, as finite numbers: for trainers that take nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.scoring.scores import is_reward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.missing import MissingRewards

__all__ = ["NO_PROBABILITY", "number_columns"]

NO_PROBABILITY = -1.0
"""Stands where there is no probability: finite, and no probability itself."""


def number_columns(
    scores: LiveScores, missing: MissingRewards, *, propositions: Sequence[str] | None = None
) -> dict[str, list[float]]:
    """Give columns of finite numbers, always the same ones for one reward.

    Parameters
    ----------
    scores : LiveScores
        Rewards of some turns.
    missing : MissingRewards
        What stands for a reward that is missing.
    propositions : sequence of str, optional
        Which have a column; by default those that were asked about.

    Returns
    -------
    dict of str to list of float
        ``score``; ``missing``, 1 where it is the number that stands for a reward, else 0;
        ``rule_reward`` and ``base_reward``, 0 where there is none; and ``proposition/<id>``, the
        probability, or -1 where there is none. One number per turn, in their order.
    """
    found = scores.scores
    values = found.rewards.tolist()
    is_there = is_reward(found.rewards).tolist()
    columns = {
        "score": [
            value if fits else missing.of(behavior)
            for value, fits, behavior in zip(values, is_there, found.behaviors, strict=True)
        ],
        "missing": [0.0 if fits else 1.0 for fits in is_there],
        "rule_reward": _filled(found.rule_rewards, 0.0),
        "base_reward": _filled(found.base_rewards, 0.0),
    }
    asked = scores.judged.questions
    nothing = np.full(len(values), NO_PROBABILITY)
    for name in asked if propositions is None else propositions:
        column = scores.judged.probabilities[:, asked.index(name)] if name in asked else nothing
        columns[f"proposition/{name}"] = _filled(column, NO_PROBABILITY)
    return columns


def _filled(column: NDArray[np.float64], instead: float) -> list[float]:
    filled: list[float] = np.where(is_reward(column), column, instead).tolist()
    return filled
