"""Guards a reward for every adapter: it never raises, never hangs, and returns only numbers.

Wrong settings raise at once, before training. Later every error is a missing reward with its
reason.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import weakref
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from voirdire._validation import check_count
from voirdire.adapters.run_notes import RunNotes
from voirdire.errors import InputError
from voirdire.judging.background_loop import BackgroundLoop, fork_lock, wait_for_result
from voirdire.judging.settings import LiveSettings
from voirdire.models.reward_server import is_reward_server
from voirdire.rewards.against_demands import (
    describe_paid_against_demands,
    find_paid_against_demands,
)
from voirdire.rewards.live.live_reward import LiveReward
from voirdire.rewards.live.missing_numbers import MissingRewards
from voirdire.rewards.live.served_reward import ServedReward, read_served_reward
from voirdire.rewards.live.turns import LiveScores, make_missing_scores
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.training.step_figures import compute_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Thread

    from voirdire.judging.jury import JudgeLike
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

    _Started = dict[asyncio.AbstractEventLoop, asyncio.Task[LiveReward | ServedReward]]

__all__ = ["GuardedReward", "NumberReward"]

_GRACE_S = 5.0
"""Seconds after the deadline in which the reward returns the verdicts that it has."""

_LAST_S = 1.0
"""Seconds that a reward gets when the process ends, or when it is garbage collected."""

_PASSING = ("_made", "_started", "_notes", "_trouble", "_loop", "_at_end")
"""State of one process."""

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
    `JudgeUnavailableError` where `give_up_after` asks for it; what went wrong is logged, each kind
    a few times and without any text of a response. *Cancellation*: a request ends; what the judge
    was asked goes on, and is remembered. *Memory*, *Retries and caching*: as `LiveReward`.

    A request takes at most the deadline and 5 seconds. Threads may share it; a process that is
    forked off begins anew.
    """

    def _begin(self) -> None:
        """Have what belongs to one process, as yet without a thread."""
        self._made: LiveReward | ServedReward | None = None
        self._started: _Started = {}
        self._notes = RunNotes(self.name, record=self._record, give_up_after=self._give_up_after)
        self._trouble = self._notes.trouble
        self._loop = BackgroundLoop()
        self._loop.held = self._started
        self._at_end = weakref.finalize(self, _end, self._loop, self._started)

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        name: str | None = None,
        judge: JudgeLike | None = None,
        other_judge: bool = False,
        store: str | Path | None = None,
        center: bool = False,
        base_column: str | None = None,
        behavior: str | None = None,
        settings: LiveSettings | None = None,
        deadline_s: float | None = None,
        record: str | Path | None = None,
        framework: str = "python",
        give_up_after: int | None = None,
        late_steps: int = 0,
    ) -> None:
        self.settings = LiveSettings() if settings is None else settings
        if deadline_s is not None:
            self.settings = replace(self.settings, deadline_s=deadline_s)
        self._address = str(reward) if is_reward_server(reward) else None
        self.reward = _load_reward(reward)
        self.name = self.reward.name if name is None else name
        if behavior is not None:
            self.reward.behavior(behavior)
        if give_up_after is not None:
            check_count("give_up_after", give_up_after, minimum=1)
        check_count("late_steps", late_steps, minimum=0)
        self._behavior, self._named_base = behavior, base_column
        self.base_column = base_column or "base_reward"
        self._give_up_after = give_up_after
        self._asked: dict[str, Any] = {
            "judge": judge,
            "other_judge": other_judge,
            "store": store,
            "center": center,
        }
        if self._address is not None and any(self._asked.values()):
            msg = (
                "`judge`, `other_judge`, `store` and `center` must be left out where `reward` is "
                "the address of a server, which decides on them. Start the server with them."
            )
            raise InputError(msg)
        made = self._live()  # raise mistakes before training begins
        self._record: dict[str, Any] | None = None
        if record is not None:
            self._record = {
                "folder": str(record),
                "reward": self.reward,
                "name": self.name,
                "framework": framework,
                "judge_fingerprint": made.judge_fingerprint,
                "late_steps": late_steps,
            }
        self._begin()
        self._made = made
        self._notes.open()
        if said := describe_paid_against_demands(find_paid_against_demands(self.reward)):
            _log.warning("%s: %s", self.name, said)

    def __getstate__(self) -> dict[str, Any]:
        _check_travels(self._asked["judge"])
        return self._lasting()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__setstate__(self._lasting())
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()  # reward and judge do not change

    def _lasting(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _PASSING}

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
        """
        limit = self.settings.deadline_s if deadline_s is None else deadline_s
        try:
            future = self._loop.begin(self._ask(turns, limit, adds_base=adds_base))
            found = future.result(timeout=limit + _GRACE_S)
        except Exception as error:  # noqa: BLE001  # training goes on
            found = self.nothing(turns, error)
        if self._at_end.alive:  # else the process ends, and no caller reads the result
            self._notes.add(found, turns, step=step, recorded=recorded)
        return found

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
        JudgeUnavailableError
            As `scored` does.
        """
        limit = self.settings.deadline_s if deadline_s is None else deadline_s
        try:
            future = self._loop.begin(self._ask(turns, limit, adds_base=adds_base))
            found = await wait_for_result(future, timeout_s=limit + _GRACE_S)
        except Exception as error:  # noqa: BLE001  # training goes on
            found = self.nothing(turns, error)
        if self._at_end.alive:  # else the process ends, and no caller reads the result
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
            self._trouble.error(f"{self.name}: the reward failed", error)
        return make_missing_scores(self.reward, turns, why=why, behavior=self._behavior)

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait for open calls, then end; the next call starts again.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        with fork_lock:
            thread = _leave(self._loop, self._started, drain_s=drain_s)
        if thread is not None:
            thread.join(drain_s + _GRACE_S)
        self._notes.close()

    async def _ask(self, turns: Sequence[Turn], limit_s: float, *, adds_base: bool) -> LiveScores:
        """Ask the live reward, in its own loop; make both at the first call."""
        loop = asyncio.get_running_loop()
        if loop not in self._started:
            self._started[loop] = loop.create_task(self._start())
        # a cancelled caller must not cancel the others' work
        live = await asyncio.shield(self._started[loop])
        return await live.turn_rewards(
            turns, behavior=self._behavior, deadline_s=limit_s, adds_base=adds_base
        )

    async def _start(self) -> LiveReward | ServedReward:
        made, self._made = self._made, None
        try:
            live = self._live() if made is None else made
            await live.start()
        except BaseException:
            self._started.pop(asyncio.get_running_loop(), None)  # the next call tries again
            raise
        return live

    def _live(self) -> LiveReward | ServedReward:
        if self._address is not None:
            return ServedReward(
                self._address,
                reward=self.reward,
                base_column=self._named_base,
                settings=self.settings,
            )
        return LiveReward(
            self.reward, base_column=self._named_base, settings=self.settings, **self._asked
        )


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
    late_steps : int, optional
        As for `GuardedReward`.
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
        late_steps: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__(reward, framework=framework, late_steps=late_steps, **settings)
        center = settings.get("center", False)
        self.missing = MissingRewards(
            self.reward, declared=missing_reward, base_mean=base_mean, center=center
        )


def _leave(loop: BackgroundLoop, started: _Started, *, drain_s: float) -> Thread | None:
    """Close the live reward, then stop its loop; return the loop's thread."""

    async def close() -> None:
        starting = started.pop(asyncio.get_running_loop(), None)
        if starting is not None and (await asyncio.wait([starting], timeout=drain_s))[0]:
            await starting.result().close(drain_s=drain_s)

    return None if loop.is_out_of_reach else loop.stop_after(close)


def _end(loop: BackgroundLoop, started: _Started) -> None:
    """Close a reward that is garbage collected, or that runs when the process ends."""
    if (thread := _leave(loop, started, drain_s=0.0)) is not None:
        thread.join(_LAST_S)


def _load_reward(reward: RewardModel | str | Path) -> RewardModel:
    if not isinstance(reward, str | Path):
        return reward
    if is_reward_server(reward):
        return read_served_reward(str(reward))
    return load_reward(reward)


def _check_travels(judge: Any) -> None:
    """Refuse an object that cannot be sent to another process, with a clear message.

    Ray and others pickle more than Python does, and theirs may be in use.
    """
    if judge is None or isinstance(judge, str | Path):
        return
    others = [sys.modules.get(name) for name in ("cloudpickle", "ray.cloudpickle")]
    for dumps in (ForkingPickler.dumps, *(other.dumps for other in others if other is not None)):
        try:
            dumps(judge)
        except Exception as error:  # noqa: BLE001  # whatever objects of other people raise
            why = type(error).__name__
        else:
            return
    msg = (
        f"`judge` must be one that can be pickled to travel to another process, got "
        f"{type(judge).__name__} ({why}). Name the judge or its file, which is then made again "
        "there."
    )
    raise InputError(msg)
