"""Rewards of one request, with the verdicts behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.live.live_judge import LiveVerdicts
from voirdire.records import Verdicts
from voirdire.rewards.scoring.scores import Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["LiveScores", "nothing_scored"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveScores(LiveVerdicts):
    """Rewards of the items of one request.

    Attributes
    ----------
    scores : Scores
        Rewards in the order of the items; nan with a reason where there is none, never infinite.
    seconds : float
        How long it took.
    judged : Verdicts
        The verdicts behind them, in the same order.
    n_remembered, n_stored : int
        Items whose verdicts were in memory, and in the store.
    n_late : int
        Items whose verdicts did not come within the deadline.
    answered_by : tuple of str or None, or None
        By item which judge of a cascade it came to, answered or not; None for an item that came
        to neither, and as a whole where the judge is no cascade.
    """

    scores: Scores = field(repr=False)
    seconds: float

    @property
    def rewards(self) -> list[float | None]:
        """Plain numbers, None where there is no reward; what JSON and most trainers take."""
        found = self.scores.rewards.tolist()
        return [None if value != value else value for value in found]  # nan


def nothing_scored(
    reward: RewardModel, turns: Sequence[Turn], *, why: str, behavior: str | None = None
) -> LiveScores:
    """Say of every turn that it has no reward, and why; `behavior` is of turns that have none."""
    ids = tuple(str(place) for place in range(len(turns)))
    behaviors = tuple(behavior if turn.behavior is None else turn.behavior for turn in turns)
    propositions = reward.columns
    scores = Scores(
        items=ids,
        behaviors=behaviors,
        rewards=np.full(len(turns), np.nan),
        base_rewards=np.full(len(turns), np.nan),
        rule_rewards=np.full(len(turns), np.nan),
        missing=dict.fromkeys(ids, why),
    )
    judged = Verdicts(
        items=ids,
        questions=propositions,
        probabilities=np.full((len(turns), len(propositions)), np.nan),
        behaviors=behaviors,
        judge=reward.judge.name,
        fingerprint=reward.judge.fingerprint,
        threshold=reward.judge.threshold,
    ).with_reasons(dict.fromkeys(ids, why))
    return LiveScores(scores=scores, judged=judged, seconds=0.0)
