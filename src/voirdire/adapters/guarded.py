"""Guards a reward for every adapter: it never raises, never hangs, and returns only numbers.

Wrong settings raise at once, before training. Later every error is a missing reward with its
reason.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from voirdire._validation import check_choice, check_count
from voirdire.adapters.reward_loop import RewardLoop
from voirdire.adapters.run_notes import RunNotes
from voirdire.judging.background_loop import wait_for_result
from voirdire.judging.settings import LiveSettings
from voirdire.rewards.against_demands import (
    describe_paid_against_demands,
    find_paid_against_demands,
)
from voirdire.rewards.live.missing_numbers import MissingRewards
from voirdire.rewards.live.turns import (
    LiveScores,
    Truncated,
    drop_truncated,
    make_missing_scores,
)
from voirdire.rewards.training.run import AlarmKind
from voirdire.rewards.training.step_figures import compute_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

_GRACE_S = 5.0
"""Seconds after the deadline in which the reward returns the verdicts that it has."""

_log = logging.getLogger("voirdire")


class GuardedReward:
    """A reward for a trainer; can be pickled, and begins when it is first asked.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``, whose token, if it has
        one, is in the environment as ``VOIRDIRE_TOKEN``.
    name : str, optional
        What metrics call it; by default the reward's own name.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        As for `RewardModel.score`. An object travels to other processes where it can be pickled;
        one that is named is made again in each of them.
    other_judge : bool, optional
        Take another judge than the weights were fitted on.
    store : str or path, optional
        Where a language model's replies are kept, shared with the command line.
    center : bool, optional
        Take each behavior's mean off its rule rewards.
    base_column : str, optional
        The field of a completion's data with its base reward, which is added. By default
        `base_reward`, where the reward was fitted beside one; else it is left out, and the log
        says so once.
    behavior : str, optional
        Of turns that have none.
    settings : LiveSettings, optional
        Deadline, memory and bounds.
    deadline_s : float, optional
        Seconds for a request; by default what the settings say.
    record : str or path, optional
        A folder for figures and completions of the run.
    framework : str, optional
        Who trains, for the record.
    give_up_after : int, optional
        Requests in a row without a single reward after which the next of them raises, at least 1.
        By default training goes on, whatever happens.
    stop_on : sequence of str, optional
        Kinds of alarms, such as ``"nonsense"`` and ``"missing"``, after which the next request
        raises; see `Alarm`.
    truncated : {"paid", "missing"}, optional
        Whether responses that the trainer cut off have rewards.
    late_steps : int, optional
        So many steps back a request may be and still be recorded at its own step; from further
        back the training was begun again from a checkpoint.

    Attributes
    ----------
    reward : RewardModel
        What pays, read from its file or server.
    name : str
        What metrics call it.
    settings : LiveSettings
        Deadline, memory and bounds.

    Raises
    ------
    InputError
        If the reward, its judge or another argument breaks a rule, or the folder of the record is
        another run's.

    Notes
    -----
    *Order*: rewards follow the turns. *Errors*: after it was made nothing raises, but for
    `JudgeUnavailableError` where `give_up_after` asks for it, and `RewardStoppedError` where
    `stop_on` does; what went wrong is logged, each kind a few times and without any text of a
    response. *Cancellation*: a request ends; what the judge
    was asked goes on, and is remembered. *Memory*, *Retries and caching*: as `LiveReward`.

    A request takes at most the deadline and 5 seconds. Threads may share it; a process that is
    forked off begins anew.
    """

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        name: str | None = None,
        behavior: str | None = None,
        settings: LiveSettings | None = None,
        deadline_s: float | None = None,
        record: str | Path | None = None,
        framework: str = "python",
        give_up_after: int | None = None,
        stop_on: Sequence[AlarmKind] = (),
        truncated: Truncated = "paid",
        late_steps: int = 0,
        **judging: Any,
    ) -> None:
        self.settings = LiveSettings() if settings is None else settings
        if deadline_s is not None:
            self.settings = replace(self.settings, deadline_s=deadline_s)
        self._live = RewardLoop(reward, settings=self.settings, behavior=behavior, **judging)
        self.reward = self._live.reward
        self.name = self.reward.name if name is None else name
        self.base_column = judging.get("base_column") or "base_reward"
        if behavior is not None:
            self.reward.behavior(behavior)
        if give_up_after is not None:
            check_count("give_up_after", give_up_after, minimum=1)
        check_count("late_steps", late_steps, minimum=0)
        check_choice("truncated", truncated, Truncated)
        for kind in stop_on:
            check_choice("stop_on", kind, AlarmKind)
        self._behavior, self._truncated = behavior, truncated
        watched = None
        if record is not None or stop_on:
            watched = {
                "folder": None if record is None else str(record),
                "reward": self.reward,
                "name": self.name,
                "framework": framework,
                "judge_fingerprint": self._live.judge_fingerprint,
                "late_steps": late_steps,
            }
        self._notes = RunNotes(
            self.name, watched=watched, give_up_after=give_up_after, stop_on=tuple(stop_on)
        )
        self._notes.open()
        if said := describe_paid_against_demands(find_paid_against_demands(self.reward)):
            _log.warning("%s: %s", self.name, said)

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self) | {"_live": self._live.anew(), "_notes": self._notes.anew()})
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()  # reward and judge do not change

    def scored(
        self,
        turns: Sequence[Turn],
        *,
        step: int | None = None,
        deadline_s: float | None = None,
        recorded: bool = True,
        adds_base: bool = False,
    ) -> LiveScores:
        """Return the rewards of turns, from code that is not async.

        Parameters
        ----------
        turns : sequence of Turn
            Responses of the model in training.
        step : int, optional
            Of the trainer.
        deadline_s : float, optional
            Seconds; by default what the settings say.
        recorded : bool, optional
            Whether this belongs to the run that is written down; an evaluation does not.
        adds_base : bool, optional
            Add the turns' base rewards in any case.

        Returns
        -------
        LiveScores
            In the order of the turns.

        Raises
        ------
        JudgeUnavailableError
            If `give_up_after` requests in a row gave not one reward.
        RewardStoppedError
            If an alarm of `stop_on` began in an earlier request.
        """
        self._notes.check_stopped()
        limit = self.settings.deadline_s if deadline_s is None else deadline_s
        try:
            future = self._live.begin(turns, limit, adds_base=adds_base)
            found = future.result(timeout=limit + _GRACE_S)
        except Exception as error:  # noqa: BLE001  # training goes on
            found = self.nothing(turns, error)
        return self._note(found, turns, step=step, recorded=recorded)

    async def ascored(
        self,
        turns: Sequence[Turn],
        *,
        step: int | None = None,
        deadline_s: float | None = None,
        recorded: bool = True,
        adds_base: bool = False,
    ) -> LiveScores:
        """Return the rewards of turns, from any event loop; as `scored`.

        Parameters
        ----------
        turns : sequence of Turn
            Responses of the model in training.
        step, deadline_s, recorded, adds_base : optional
            As for `scored`.

        Returns
        -------
        LiveScores
            In the order of the turns.

        Raises
        ------
        JudgeUnavailableError, RewardStoppedError
            As `scored` does.
        """
        self._notes.check_stopped()
        limit = self.settings.deadline_s if deadline_s is None else deadline_s
        try:
            future = self._live.begin(turns, limit, adds_base=adds_base)
            found = await wait_for_result(future, timeout_s=limit + _GRACE_S)
        except Exception as error:  # noqa: BLE001  # training goes on
            found = self.nothing(turns, error)
        return self._note(found, turns, step=step, recorded=recorded)

    def _note(
        self, found: LiveScores, turns: Sequence[Turn], *, step: int | None, recorded: bool
    ) -> LiveScores:
        if self._truncated == "missing":
            found = drop_truncated(found, turns)
        if self._live.is_alive:  # else the process ends, and no caller reads the result
            self._notes.add(found, turns, step=step, recorded=recorded)
        return found

    def step_metrics(self, found: LiveScores, turns: Sequence[Turn]) -> dict[str, float]:
        """Compute the figures of a request.

        Parameters
        ----------
        found : LiveScores
            Rewards of the turns.
        turns : sequence of Turn
            Of the request.

        Returns
        -------
        dict of str to float
            Always the same names for one reward; nan where undefined.
        """
        return compute_metrics(self.reward, found, turns)

    def nothing(self, turns: Sequence[Turn], error: Exception) -> LiveScores:
        """Return missing rewards for all turns; the log has the place of the error.

        Parameters
        ----------
        turns : sequence of Turn
            Of the request.
        error : Exception
            What was raised.

        Returns
        -------
        LiveScores
            All missing, for that reason.
        """
        why = "no reward within the deadline"
        if not isinstance(error, TimeoutError):
            why = f"the reward raised {type(error).__name__}"
            self._notes.trouble.error(f"{self.name}: the reward failed", error)
        return make_missing_scores(self.reward, turns, why=why, behavior=self._behavior)

    def flush(self) -> None:
        """Write what waits of the record, as at a checkpoint."""
        self._notes.flush()

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait for open calls, then end; the next call starts again.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        self._live.close(drain_s=drain_s)
        self._notes.close()


class NumberReward(GuardedReward):
    """A reward for a trainer that takes numbers only.

    Parameters
    ----------
    reward : RewardModel, str or path
        As for `GuardedReward`.
    missing_reward, base_mean : float, optional
        What stands for a missing reward; see `MissingRewards`.
    framework : str, optional
        Who trains, for the record.
    **settings
        The other keywords of `GuardedReward`.

    Attributes
    ----------
    missing : MissingRewards
        What stands for a missing reward.

    Raises
    ------
    InputError
        As `GuardedReward` and `MissingRewards` do.
    """

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        missing_reward: float | None = None,
        base_mean: float = 0.0,
        framework: str = "python",
        **settings: Any,
    ) -> None:
        super().__init__(reward, framework=framework, **settings)
        center = settings.get("center", False)
        self.missing = MissingRewards(
            self.reward, declared=missing_reward, base_mean=base_mean, center=center
        )
