"""Figures of one step of training: always the same names for one reward."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["step_metrics"]


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
        Constant keys for one reward; nan where a figure is undefined.
    """
    del reward, turns
    found = scores.scores.rewards
    is_there = [math.isfinite(value) for value in found.tolist()]
    n_items = len(is_there)
    mean = float(found[is_there].mean()) if any(is_there) else math.nan
    share = 1 - sum(is_there) / n_items if n_items else math.nan
    return {"reward": mean, "missing": share}
