"""Watches a training run: figures step by step, alarms, and the completions behind them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["TrainingWatch"]


class TrainingWatch:
    """Writes down what a reward saw of a training run.

    Parameters
    ----------
    folder : str or path
        The run's folder; made where it is missing, gone on with where it is this reward's.
    reward : RewardModel
        What pays.
    name : str
        Of the reward among others in the same run.
    framework : str
        Such as ``"trl"``.
    reference : str or path, optional
        The folder of an earlier run, which alarms compare with.

    Raises
    ------
    InputError
        If the folder holds something else, or cannot be written.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        reward: RewardModel,
        name: str,
        framework: str,
        reference: str | Path | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.reward = reward
        self.name = name
        self.framework = framework
        self.reference = reference

    def add(
        self, scores: LiveScores, turns: Sequence[Turn], *, step: int | None = None
    ) -> tuple[str, ...]:
        """Take a request's rewards.

        Parameters
        ----------
        scores : LiveScores
            Of the turns.
        turns : sequence of Turn
            In the order of the scores.
        step : int, optional
            Of the trainer; without one, so many completions are a step.

        Returns
        -------
        tuple of str
            Alarms that began now, in words.
        """
        del scores, turns, step
        return ()

    def close(self) -> None:
        """Write what waits."""
