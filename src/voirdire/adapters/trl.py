"""Gives TRL's trainers one reward function that combines a base reward and a rule reward.

Nothing of TRL is imported: its trainers call whatever can be called.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Self, get_args

from voirdire._messages import shorten
from voirdire.adapters.base_function import BaseFunction
from voirdire.adapters.guarded import GuardedReward
from voirdire.adapters.rank_group import RankGroup
from voirdire.errors import InputError, JudgeUnavailableError, RewardStoppedError
from voirdire.rewards.live.turns import Turn, find_criteria, make_turns
from voirdire.rewards.scores import LARGEST_REWARD
from voirdire.rewards.training.run import AlarmKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from voirdire.rewards.live.turns import LiveScores
    from voirdire.rewards.model import RewardModel

_LEAST_S = 1.0
"""Seconds that the judge has at least, when the base reward has used up the deadline."""

_log = logging.getLogger("voirdire")
_taken: set[str] = set()


class TrlReward(GuardedReward):
    """A reward function for `GRPOTrainer` and `RLOOTrainer`.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    name : str, optional
        What TRL's metrics and tables call it. By default the reward's own name, followed by a
        number where another function of this process has that name.
    base : callable, optional
        Another reward function, sync or async, with the arguments that TRL gives; its rewards are
        added. Where it has none for a completion, there is none.
    behavior_column : str, optional
        Column of the dataset with the behavior that a prompt deserves.
    base_column : str, optional
        Column of the dataset with base rewards, which are added. By default `base_reward`, where
        the reward was fitted beside one; else it is left out, and the log says so once.
    deadline_s : float, optional
        Seconds for base reward and judge together; by default what the settings say.
    give_up_after : int, optional
        Batches in a row without a single reward after which training ends with an error, at least
        1. By default it goes on, whatever happens. Of several ranks each counts its own batches;
        when one gives up, all raise its error.
    stop_on : sequence of str, optional
        Kinds of alarms after which training ends as if it were over (`should_training_stop`), on
        all ranks.
    log : bool, optional
        Whether to give TRL figures (`log_metric`) and columns (`log_extra`), all of them named
        ``<name>/...``.
    **settings
        The other keywords of `GuardedReward`.

    Raises
    ------
    InputError
        If the reward, its judge or another argument breaks a rule.

    Notes
    -----
    *Order*: rewards follow the completions. *Errors*: after it was made it never raises, but for
    `give_up_after`; a completion without a reward gets None, which moves no other's advantage as
    long as this is the trainer's only function. *Cancellation*: what was asked goes on until its
    deadline. *Memory*: bounded by the settings. *Retries and caching*: equal completions are
    judged once.
    """

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        base: Callable[..., Any] | None = None,
        behavior_column: str = "behavior",
        log: bool = True,
        **settings: Any,
    ) -> None:
        self._base = None if base is None else BaseFunction(base)
        super().__init__(reward, framework="trl", **settings)
        self._behavior_column = behavior_column
        self._logs = log
        may_end = settings.get("give_up_after") is not None or settings.get("stop_on")
        self._ranks = RankGroup() if may_end else None
        self._has_met = False
        self.__name__ = _name_for(self.name, is_given=settings.get("name") is not None)

    def __copy__(self) -> Self:
        twin = super().__copy__()
        twin._ranks = None if self._ranks is None else RankGroup()
        return twin

    async def __call__(
        self,
        /,
        *,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the rewards of completions, as TRL asks for them.

        Parameters
        ----------
        prompts, completions : sequence of str, or of lists of messages
            As many of either.
        completion_ids : sequence of sequence of int, optional
            Tokens of the completions.
        trainer_state : object, optional
            Its `global_step` is the step of what is recorded.
        log_extra, log_metric : callable, optional
            Of the trainer.
        **columns : sequence
            The dataset's columns, a row for each completion.

        Returns
        -------
        list of float or None
            None where there is no reward.

        Raises
        ------
        JudgeUnavailableError
            If `give_up_after` batches in a row gave not one reward, here or on another rank.
        RewardStoppedError
            If an alarm of `stop_on` began and no trainer is there to be stopped.
        """
        ranks = None if trainer_state is None else self._ranks  # a trainer asks on all ranks
        if ranks is not None:
            ranks.join(self._notes.trouble)  # before anything is awaited
        trainer = getattr(log_metric, "__self__", None)
        self._meet(trainer)
        began, limit = time.monotonic(), self.settings.deadline_s
        turns = [Turn(response=None)] * len(completions)
        ended: Exception | None = None
        try:
            base = columns.get(self.base_column)
            if self._base is not None:
                given = {
                    "prompts": prompts,
                    "completions": completions,
                    "completion_ids": completion_ids,
                    "trainer_state": trainer_state,
                    "log_extra": log_extra,
                    "log_metric": log_metric,
                }
                base = await self._base.rewards(
                    len(completions), deadline_s=limit, given=given | columns
                )
            behaviors, ids = columns.get(self._behavior_column), completion_ids
            if behaviors is not None:
                behaviors = [None if name is None else str(name) for name in behaviors]
            turns = make_turns(
                prompt=prompts,
                response=completions,
                behavior=behaviors,
                base_reward=base,
                n_tokens=None if ids is None else list(map(len, ids)),
                truncated=_find_truncated(trainer, ids, columns.get("completion_mask")),
                **find_criteria(columns if self.reward.criteria else {}),
            )
            found = await self.ascored(
                turns,
                step=getattr(trainer_state, "global_step", None),
                deadline_s=min(limit, max(_LEAST_S, limit - (time.monotonic() - began))),
                adds_base=self._base is not None,
                recorded=bool(getattr(getattr(trainer, "model", None), "training", True)),
            )
        except Exception as error:  # noqa: BLE001  # training goes on
            if isinstance(error, JudgeUnavailableError | RewardStoppedError):
                ended = error  # asked for by `give_up_after` or `stop_on`
            found = self.nothing(turns, error)
        if ended is None and self._notes.stopped is not None:
            ended = RewardStoppedError(self._notes.stopped)
        if ranks is not None:  # the others would wait for one that ends alone
            ended = await ranks.agree(ended, self._notes.trouble)
        control = getattr(trainer, "control", None)
        self._notes.raises = control is None
        if isinstance(ended, RewardStoppedError) and control is not None:
            control.should_training_stop = True
        elif ended is not None:
            raise ended
        self._show(found, turns, log_extra=log_extra, log_metric=log_metric)
        return found.rewards

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        super().close(drain_s=drain_s)
        if self._base is not None:
            self._base.close()

    def _show(
        self, found: LiveScores, turns: Sequence[Turn], *, log_extra: Any, log_metric: Any
    ) -> None:
        """Pass figures and columns to TRL, a row for each completion.

        Errors do not stop the training.
        """
        if not self._logs:
            return
        scores, judged = found.scores, found.judged
        columns = {
            "missing": [scores.missing.get(item) for item in scores.items],
            "base_reward": _replace_nan(scores.base_rewards),
            "rule_reward": _replace_nan(scores.rule_rewards),
            **dict(zip(judged.questions, map(_replace_nan, judged.probabilities.T), strict=True)),
        }
        try:
            figures = self.step_metrics(found, turns)
            if self._notes.watches:
                kinds = [alarm.kind for alarm in self._notes.began]
                figures |= {f"alarm/{x}": float(kinds.count(x)) for x in get_args(AlarmKind)}
            # TRL adds up over ranks, where one nan would make all nan
            for name, value in figures.items():
                if log_metric is not None and abs(value) <= LARGEST_REWARD:
                    log_metric(f"{self.__name__}/{name}", value)
            for name, values in columns.items():
                if log_extra is not None:
                    log_extra(f"{self.__name__}/{name}", values)
        except Exception as error:  # noqa: BLE001  # training goes on
            self._notes.trouble.error(f"{self.__name__}: the figures are not shown", error)

    def _meet(self, trainer: Any) -> None:
        """Write the record where a trainer saves, and warn of functions beside this one."""
        if trainer is None or self._has_met:
            return
        self._has_met = True
        if self._notes.watches and hasattr(trainer, "add_callback"):
            trainer.add_callback(_FlushAtSave(self))
        names = [getattr(row, "__name__", None) for row in getattr(trainer, "reward_funcs", ())]
        if len(names) > 1:
            _log.warning(
                "%s is not the only reward function: TRL counts a missing reward as 0 beside "
                "another. Give the other one as `base`.",
                self.__name__,
            )
        if names.count(self.__name__) > 1:
            _log.warning(
                "%s is the name of several reward functions: TRL mixes up their figures. Give "
                "each a `name`.",
                self.__name__,
            )


class _FlushAtSave:
    """A callback of transformers: every event is a method, of which one does something."""

    def __init__(self, reward: TrlReward) -> None:
        self._reward = reward

    def __getattr__(self, event: str) -> Callable[..., None]:
        if not event.startswith("on_"):
            raise AttributeError(event)
        return lambda *_, **__: self._reward.flush() if event == "on_save" else None


def _find_truncated(trainer: Any, ids: Any, mask: Any) -> list[bool] | None:
    """Tell which completions were cut off: masked wholly, or without a token that ends them."""
    if mask is not None:
        return [not any(row) for row in mask]
    ends = {*(getattr(trainer, "eos_token_ids", None) or ())}
    if not ends or ids is None:
        return None
    ends.add(getattr(getattr(trainer, "_tokenizer", None), "pad_token_id", None))
    return [len(row) > 0 and row[-1] not in ends for row in ids]


def _replace_nan(numbers: Any) -> list[Any]:
    return [None if value != value else value for value in numbers.tolist()]


def _name_for(name: Any, *, is_given: bool) -> str:
    """Tell functions of one process apart: on every rank in the order they are made."""
    if not (isinstance(name, str) and name.strip()):
        msg = f"`name` must be text, got {shorten(name)!r}. Leave it out to take the reward's own."
        raise InputError(msg)
    found, number = str(name), 1
    while found in _taken and not is_given:
        number += 1
        found = f"{name}-{number}"
    _taken.add(found)
    return found
