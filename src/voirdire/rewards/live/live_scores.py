"""Rewards of one request, with the verdicts behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["LiveScores"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveScores:
    """Rewards of the items of one request.

    Attributes
    ----------
    scores : Scores
        Rewards in the order of the items; nan with a reason where there is none, never infinite.
    judged : JudgedItems
        The verdicts behind them, in the same order.
    seconds : float
        How long it took.
    n_remembered, n_stored : int
        Items whose verdicts were in memory, and in the store.
    n_late : int
        Items whose verdicts did not come within the deadline.
    """

    scores: Scores = field(repr=False)
    judged: JudgedItems = field(repr=False)
    seconds: float
    n_remembered: int = 0
    n_stored: int = 0
    n_late: int = 0

    @property
    def rewards(self) -> list[float | None]:
        """Plain numbers, None where there is no reward; what JSON and most trainers take."""
        found = self.scores.rewards.tolist()
        return [None if value != value else value for value in found]  # nan
