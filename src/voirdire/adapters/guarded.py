"""What every adapter holds: a reward that neither raises, nor hangs, nor gives what is no number.

A mistake in how it is set up is an error at once, before anything is trained. After that, whatever
happens is a missing reward with its reason.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.live.settings import LiveSettings
from voirdire.rewards.judged_items import JudgedItems
from voirdire.rewards.live.hosted import HostedReward
from voirdire.rewards.live.live_reward import LiveReward
from voirdire.rewards.live.live_scores import LiveScores
from voirdire.rewards.model_file import load_reward
from voirdire.rewards.scoring.scores import Scores
from voirdire.rewards.training.step_metrics import step_metrics
from voirdire.rewards.training.watch import TrainingWatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from voirdire.judging import Judge, LlmJudge
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["GuardedReward", "GuardedScores"]

_GRACE_S = 5.0
"""Seconds after the deadline in which the reward still answers, with what it has."""

_log = logging.getLogger("voirdire")


@dataclass(frozen=True, kw_only=True, eq=False)
class GuardedScores:
    """Rewards of a batch of turns.

    Attributes
    ----------
    live : LiveScores
        In the order of the turns.
    metrics : mapping of str to float
        Figures of the batch, always the same names for one reward; nan where undefined.
    """

    live: LiveScores = field(repr=False)
    metrics: Mapping[str, float]

    @property
    def rewards(self) -> list[float | None]:
        """Finite numbers, None where there is no reward."""
        return self.live.rewards


class GuardedReward:
    """A reward for a trainer; can be pickled, and begins when it is first asked.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, or its file.
    name : str, optional
        What metrics call it; by default the reward's own name.
    judge : Judge, LlmJudge, str or path, optional
        As for `RewardModel.score`.
    other_judge : bool, optional
        Take another judge than the weights were fitted on.
    store : str or path, optional
        Where a language model's replies are kept, shared with the command line.
    center : bool, optional
        Take each behavior's mean off its rule rewards.
    behavior : str, optional
        Of turns that have none.
    settings : LiveSettings, optional
        Deadline, memory and bounds.
    record : str or path, optional
        A folder for figures and completions of the run.
    reference : str or path, optional
        The folder of an earlier run, which alarms compare with.
    framework : str, optional
        Who trains, for the record.

    Raises
    ------
    InputError
        If the reward, its judge or another argument breaks a rule.
    """

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        name: str | None = None,
        judge: Judge | LlmJudge | str | Path | None = None,
        other_judge: bool = False,
        store: str | Path | None = None,
        center: bool = False,
        behavior: str | None = None,
        settings: LiveSettings | None = None,
        record: str | Path | None = None,
        reference: str | Path | None = None,
        framework: str = "python",
    ) -> None:
        self.reward = load_reward(reward) if isinstance(reward, str | Path) else reward
        self.name = self.reward.name if name is None else name
        self.settings = LiveSettings() if settings is None else settings
        if behavior is not None:
            self.reward.behavior(behavior)
        self._behavior = behavior
        self._asked = {
            "judge": judge,
            "other_judge": other_judge,
            "store": store,
            "center": center,
        }
        self._record = record
        self._reference = reference
        self._framework = framework
        self._begin()
        self._make()  # a mistake is told before anything is trained

    def _begin(self) -> None:
        self._hosted = HostedReward(self._make)
        self._watch: TrainingWatch | None = None

    def _make(self) -> LiveReward:
        return LiveReward(self.reward, settings=self.settings, **self._asked)  # type: ignore[arg-type]  # keywords of ours

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_hosted", "_watch")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def scored(self, turns: Sequence[Turn], *, step: int | None = None) -> GuardedScores:
        """Give turns their rewards, from code that is not async.

        Parameters
        ----------
        turns : sequence of Turn
            Responses of the model in training.
        step : int, optional
            Of the trainer.

        Returns
        -------
        GuardedScores
            In the order of the turns.
        """
        try:
            live = self._asked_for(turns).result(timeout=self._longest_s)
        except (Exception, NotYetError) as error:  # noqa: BLE001  # training goes on
            live = self._nothing(turns, error)
        return self._told(live, turns, step=step)

    async def ascored(self, turns: Sequence[Turn], *, step: int | None = None) -> GuardedScores:
        """Give turns their rewards, from any event loop; as `scored`."""
        try:
            future = asyncio.wrap_future(self._asked_for(turns))
            live = await asyncio.wait_for(future, timeout=self._longest_s)
        except Exception as error:  # noqa: BLE001  # training goes on
            live = self._nothing(turns, error)
        return self._told(live, turns, step=step)

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew."""
        self._hosted.close(drain_s=drain_s)
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    @property
    def _longest_s(self) -> float:
        return self.settings.deadline_s + _GRACE_S

    def _asked_for(self, turns: Sequence[Turn]) -> Future[LiveScores]:
        return self._hosted.begin(lambda live: live.turn_rewards(turns, behavior=self._behavior))

    def _nothing(self, turns: Sequence[Turn], error: BaseException) -> LiveScores:
        """Say of every turn that it has no reward, and why; the log has the traceback."""
        _log.error("no rewards for %d completions", len(turns), exc_info=error)
        why = f"the reward raised {type(error).__name__}"
        return _all_missing(self.reward, turns, why=why, behavior=self._behavior)

    def _told(self, live: LiveScores, turns: Sequence[Turn], *, step: int | None) -> GuardedScores:
        if self._record is not None:
            if self._watch is None:
                self._watch = TrainingWatch(
                    self._record,
                    reward=self.reward,
                    name=self.name,
                    framework=self._framework,
                    reference=self._reference,
                )
            for alarm in self._watch.add(live, turns, step=step):
                _log.warning("%s: %s", self.name, alarm)
        return GuardedScores(live=live, metrics=step_metrics(self.reward, live, turns))


def _all_missing(
    reward: RewardModel, turns: Sequence[Turn], *, why: str, behavior: str | None
) -> LiveScores:
    ids = tuple(str(place) for place in range(len(turns)))
    behaviors = tuple(behavior if turn.behavior is None else turn.behavior for turn in turns)
    nothing = np.full(len(turns), np.nan)
    propositions = reward.rubric.propositions
    return LiveScores(
        scores=Scores(
            items=ids,
            behaviors=behaviors,
            rewards=nothing,
            base_rewards=nothing,
            rule_rewards=nothing,
            missing=dict.fromkeys(ids, why),
        ),
        judged=JudgedItems(
            items=ids,
            propositions=propositions,
            probabilities=np.full((len(turns), len(propositions)), np.nan),
            behaviors=behaviors,
            failures=dict.fromkeys(ids, why),
            judge=reward.judge.name,
            fingerprint=reward.judge.fingerprint,
            threshold=reward.judge.threshold,
        ),
        seconds=0.0,
    )
