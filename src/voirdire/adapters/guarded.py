"""What every adapter holds: a reward that neither raises, nor hangs, nor gives what is no number.

A mistake in how it is set up is an error at once, before anything is trained. After that, whatever
happens is a missing reward with its reason.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError, JudgeUnavailableError
from voirdire.judging.live.settings import LiveSettings
from voirdire.models.reward_server import is_reward_server
from voirdire.rewards.against_demands import paid_against_demands, said_of_demands
from voirdire.rewards.live.forks import forget_when_forked
from voirdire.rewards.live.hosted import HostedReward, wait_for_future
from voirdire.rewards.live.live_reward import LiveReward
from voirdire.rewards.live.live_scores import LiveScores, nothing_scored
from voirdire.rewards.live.said_once import SaidOnce
from voirdire.rewards.live.served import ServedReward, served_reward_model
from voirdire.rewards.model_file import load_reward
from voirdire.rewards.training.step_metrics import step_metrics
from voirdire.rewards.training.watch import TrainingWatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["GuardedReward", "GuardedScores"]

_GRACE_S = 5.0
"""Seconds after the deadline in which the reward still answers, with what it has."""

_PASSING = ("_hosted", "_watch", "_lock", "_said", "_made", "_n_vain")
"""What belongs to one process."""

_of_parents: list[Any] = []
"""Watches that a forked process must neither use nor clean up."""

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
    behavior : str, optional
        Of turns that have none.
    settings : LiveSettings, optional
        Deadline, memory and bounds.
    record : str or path, optional
        A folder for figures and completions of the run.
    reference : str or path, optional
        The folder of an earlier run, which alarms compare with; only with `record`.
    framework : str, optional
        Who trains, for the record.
    give_up_after : int, optional
        Requests in a row without a single reward after which the next of them raises, at least 1.
        By default training goes on, whatever happens.
    late_steps : int, optional
        So many steps back a request may be and still be recorded at its own step; from further
        back the training was begun again from a checkpoint.

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

    _made: LiveReward | ServedReward | None
    _watch: TrainingWatch | None

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        name: str | None = None,
        judge: JudgeLike | None = None,
        other_judge: bool = False,
        store: str | Path | None = None,
        center: bool = False,
        behavior: str | None = None,
        settings: LiveSettings | None = None,
        record: str | Path | None = None,
        reference: str | Path | None = None,
        framework: str = "python",
        give_up_after: int | None = None,
        late_steps: int = 0,
    ) -> None:
        self._address = str(reward) if is_reward_server(reward) else None
        self.reward = _loaded(reward)
        self.name = self.reward.name if name is None else name
        self.settings = LiveSettings() if settings is None else settings
        if reference is not None and record is None:
            msg = "`reference` must be left out without `record`, got one. Record the run too."
            raise InputError(msg)
        if behavior is not None:
            self.reward.behavior(behavior)
        if give_up_after is not None:
            check_count("give_up_after", give_up_after, minimum=1)
        check_count("late_steps", late_steps, minimum=0)
        self._late_steps = late_steps
        self._behavior = behavior
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
        self._record = record
        self._reference = reference
        self._framework = framework
        self._give_up_after = give_up_after
        self._begin()
        # a mistake is told before training begins
        self._made = made = self._new()
        self._judge_fingerprint = made.judge_fingerprint if isinstance(made, LiveReward) else ""
        if record is not None:
            self._watch = self._new_watch()
        if said := said_of_demands(paid_against_demands(self.reward)):
            _log.warning("%s: %s", self.name, said)
        nothing = nothing_scored(self.reward, (), why="")
        self._metric_names = tuple(step_metrics(self.reward, nothing, ()))
        forget_when_forked(self)

    def _begin(self) -> None:
        self._made = None
        self._hosted: HostedReward[LiveReward | ServedReward] = HostedReward(self._make)
        self._said = SaidOnce(_log)
        self._n_vain = 0
        self.forget()

    def forget(self) -> None:
        """Forget what belongs to another process; a forked one calls it by itself."""
        _of_parents.append(vars(self).get("_watch"))
        self._lock = threading.Lock()
        self._watch = None

    def _make(self) -> LiveReward | ServedReward:
        made, self._made = self._made, None
        return self._new() if made is None else made

    def _new(self) -> LiveReward | ServedReward:
        if self._address is not None:
            return ServedReward(self._address, reward=self.reward, settings=self.settings)
        return LiveReward(self.reward, settings=self.settings, **self._asked)

    def __getstate__(self) -> dict[str, Any]:
        _check_travels(self._asked["judge"])
        return self._lasting()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()
        forget_when_forked(self)

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
    ) -> GuardedScores:
        """Give turns their rewards, from code that is not async.

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

        Returns
        -------
        GuardedScores
            In the order of the turns.

        Raises
        ------
        JudgeUnavailableError
            If `give_up_after` requests in a row gave not one reward.
        """
        try:
            future = self._asked_for(turns, deadline_s=deadline_s)
            live = future.result(timeout=self._longest_s(deadline_s))
        except (Exception, NotYetError) as error:  # noqa: BLE001  # training goes on
            live = self._nothing(turns, error)
        return self._told(live, turns, step=step, recorded=recorded)

    async def ascored(
        self,
        turns: Sequence[Turn],
        *,
        step: int | None = None,
        deadline_s: float | None = None,
        recorded: bool = True,
    ) -> GuardedScores:
        """Give turns their rewards, from any event loop; as `scored`.

        Parameters
        ----------
        turns : sequence of Turn
            Responses of the model in training.
        step : int, optional
            Of the trainer.
        deadline_s : float, optional
            As for `scored`.
        recorded : bool, optional
            As for `scored`.

        Returns
        -------
        GuardedScores
            In the order of the turns.

        Raises
        ------
        JudgeUnavailableError
            As `scored` does.
        """
        try:
            future = self._asked_for(turns, deadline_s=deadline_s)
            await wait_for_future(future, seconds=self._longest_s(deadline_s))
            live = future.result(timeout=0)
        except Exception as error:  # noqa: BLE001  # training goes on
            live = self._nothing(turns, error)
        return self._told(live, turns, step=step, recorded=recorded)

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        self._hosted.close(drain_s=drain_s)
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _longest_s(self, deadline_s: float | None) -> float:
        return (self.settings.deadline_s if deadline_s is None else deadline_s) + _GRACE_S

    def _asked_for(self, turns: Sequence[Turn], *, deadline_s: float | None) -> Future[LiveScores]:
        return self._hosted.begin(
            lambda live: live.turn_rewards(turns, behavior=self._behavior, deadline_s=deadline_s)
        )

    def _nothing(self, turns: Sequence[Turn], error: BaseException) -> LiveScores:
        """Say of every turn that it has no reward, and why; the log says where."""
        if isinstance(error, NotYetError):
            why = "no reward within the deadline"
        else:
            why = f"the reward raised {type(error).__name__}"
            self._said.error(f"{self.name}: the reward failed", error)
        return nothing_scored(self.reward, turns, why=why, behavior=self._behavior)

    def _told(
        self,
        live: LiveScores,
        turns: Sequence[Turn],
        *,
        step: int | None,
        recorded: bool,
    ) -> GuardedScores:
        """Tell log, record and trainer; what goes wrong with that stops no training."""
        with self._lock:
            missing = live.scores.missing
            self._said.missing(missing.values(), name=self.name, n_items=len(turns))
            if self._record is not None and recorded:
                try:
                    self._watched(live, turns, step=step)
                except Exception as error:  # noqa: BLE001  # a full disk, such as it is
                    self._said.error(f"{self.name}: the training run is not recorded", error)
            try:
                metrics = step_metrics(self.reward, live, turns)
            except Exception as error:  # noqa: BLE001  # training goes on
                self._said.error(f"{self.name}: no figures of a step", error)
                metrics = dict.fromkeys(self._metric_names, math.nan)
        self._give_up(live)
        return GuardedScores(live=live, metrics=metrics)

    def _watched(self, live: LiveScores, turns: Sequence[Turn], *, step: int | None) -> None:
        if self._watch is None:
            self._watch = self._new_watch()
        for alarm in self._watch.add(live, turns, step=step):
            _log.warning("%s: %s", self.name, alarm)

    def _new_watch(self) -> TrainingWatch:
        return TrainingWatch(
            str(self._record),
            reward=self.reward,
            name=self.name,
            framework=self._framework,
            reference=self._reference,
            judge_fingerprint=self._judge_fingerprint,
            late_steps=self._late_steps,
        )

    def _give_up(self, live: LiveScores) -> None:
        n_items, n_missing = len(live.scores.items), len(live.scores.missing)
        if n_items == 0 or self._give_up_after is None:
            return
        self._n_vain = self._n_vain + 1 if n_missing == n_items else 0
        if self._n_vain >= self._give_up_after:
            last = next(iter(live.scores.missing.values()))
            msg = (
                f"reward {shorten(self.name)!r} gave nothing for {self._n_vain} requests in a row, "
                f"which `give_up_after` does not allow; the last reason: {shorten(last)}. See to "
                "the judge, and go on from the last checkpoint."
            )
            raise JudgeUnavailableError(msg)


def _loaded(reward: RewardModel | str | Path) -> RewardModel:
    if not isinstance(reward, str | Path):
        return reward
    if is_reward_server(reward):
        return served_reward_model(str(reward))
    return load_reward(reward)


def _check_travels(judge: Any) -> None:
    """Refuse an object that cannot be sent to another process, before a pickler does so in riddles.

    Ray's and others' pickler can do more than Python's, and may be the one that is at work.
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
