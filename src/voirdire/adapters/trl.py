"""TRL: one reward function for its trainers that combines a base reward and a rule reward.

Nothing of TRL is imported: its trainers call whatever can be called.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.adapters.base_function import BaseFunction, number_of
from voirdire.adapters.guarded import GuardedReward
from voirdire.adapters.ranks import RanksTogether
from voirdire.errors import InputError, JudgeUnavailableError
from voirdire.judging.live.settings import LiveSettings
from voirdire.rewards.live.live_scores import nothing_scored
from voirdire.rewards.live.said_once import SaidOnce
from voirdire.rewards.live.turns import Turn
from voirdire.rewards.scoring.scores import LARGEST_REWARD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from voirdire.adapters.guarded import GuardedScores
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.model import RewardModel

__all__ = ["TrlReward"]

_LEAST_S = 1.0
"""Seconds that the judge has at least, when the base reward has used up the deadline."""

_log = logging.getLogger("voirdire")
_taken: set[str] = set()


class TrlReward:
    """A reward function for `GRPOTrainer` and `RLOOTrainer`.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, or its file.
    name : str, optional
        What TRL's metrics and tables call it. By default the reward's own name, followed by a
        number where another function of this process has that name.
    base : callable, optional
        Another reward function, sync or async, with the arguments that TRL gives; its rewards are
        added. Where it has none for a completion, there is none.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        As for `RewardModel.score`.
    other_judge : bool, optional
        Take another judge than the weights were fitted on.
    store : str or path, optional
        Where a language model's replies are kept, shared with the command line.
    center : bool, optional
        Take each behavior's mean off its rule rewards.
    behavior : str, optional
        Of prompts whose row in the dataset names none.
    behavior_column : str, optional
        Column of the dataset with the behavior that a prompt deserves.
    base_column : str, optional
        Column of the dataset with base rewards, added where there is one and no `base`.
    settings : LiveSettings, optional
        Memory and bounds.
    deadline_s : float, optional
        Seconds for base reward and judge together; by default what the settings say.
    record : str or path, optional
        A folder for figures and completions of the run.
    reference : str or path, optional
        The folder of an earlier run, which alarms compare with.
    give_up_after : int, optional
        Batches in a row without a single reward after which training ends with an error, at least
        1. By default it goes on, whatever happens. Of several ranks each counts its own batches;
        when one gives up, all raise its error.
    log : bool, optional
        Whether to give TRL figures (`log_metric`) and columns (`log_extra`), all of them named
        ``<name>/...``.

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
        name: str | None = None,
        base: Callable[..., Any] | None = None,
        judge: JudgeLike | None = None,
        other_judge: bool = False,
        store: str | Path | None = None,
        center: bool = False,
        behavior: str | None = None,
        behavior_column: str = "behavior",
        base_column: str = "base_reward",
        settings: LiveSettings | None = None,
        deadline_s: float | None = None,
        record: str | Path | None = None,
        reference: str | Path | None = None,
        give_up_after: int | None = None,
        log: bool = True,
    ) -> None:
        settings = LiveSettings() if settings is None else settings
        if deadline_s is not None:
            settings = replace(settings, deadline_s=deadline_s)
        self._base = None if base is None else BaseFunction(base)
        self._guarded = GuardedReward(
            reward,
            name=name,
            judge=judge,
            other_judge=other_judge,
            store=store,
            center=center,
            behavior=behavior,
            settings=settings,
            record=record,
            reference=reference,
            framework="trl",
            give_up_after=give_up_after,
        )
        self._ranks = None if give_up_after is None else RanksTogether()
        self._is_joined = False
        self._behavior_column = behavior_column
        self._base_column = base_column
        self._logs = log
        self._has_warned = False
        self._said = SaidOnce(_log)
        self.__name__ = _name_for(self._guarded.name, is_given=name is not None)

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
        """Give completions their rewards, as TRL asks for them.

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
        """
        given = {
            "prompts": prompts,
            "completions": completions,
            "completion_ids": completion_ids,
            "trainer_state": trainer_state,
            "log_extra": log_extra,
            "log_metric": log_metric,
            **columns,
        }
        self._join_ranks(trainer_state)
        ended: JudgeUnavailableError | None = None
        try:
            scored = await self._scored(given)
            live, metrics = scored.live, scored.metrics
        except JudgeUnavailableError as error:  # asked for by `give_up_after`
            ended, live, metrics = error, self._nothing(len(completions), error), {}
        except Exception as error:  # noqa: BLE001  # training goes on
            self._said.error(f"{self.__name__}: the reward function failed", error)
            live, metrics = self._nothing(len(completions), error), {}
        await self._end_together(ended)
        self._log(live, metrics, log_extra=log_extra, log_metric=log_metric)
        return live.rewards

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        self._guarded.close(drain_s=drain_s)
        if self._base is not None:
            self._base.close()

    def _join_ranks(self, trainer_state: Any) -> None:
        """Be ready to end together, where a trainer asks: it asks on all ranks, step by step."""
        self._is_joined = False
        if self._ranks is None or trainer_state is None:
            return
        try:
            self._ranks.join()
            self._is_joined = True
        except Exception as error:  # noqa: BLE001  # training goes on
            self._said.error(f"{self.__name__}: the ranks cannot end together", error)

    async def _end_together(self, ended: JudgeUnavailableError | None) -> None:
        """Raise where any rank gives up: the others would wait for it until they time out."""
        said = None if ended is None else str(ended)
        if self._ranks is not None and self._is_joined:
            try:
                said = await self._ranks.heard(said)
            except Exception as error:  # noqa: BLE001  # another rank has died, and the trainer knows
                self._said.error(f"{self.__name__}: the other ranks were not heard", error)
        if said is not None:
            raise JudgeUnavailableError(said) from ended

    async def _scored(self, given: dict[str, Any]) -> GuardedScores:
        trainer = getattr(given["log_metric"], "__self__", None)
        self._warn_once(trainer)
        began = time.monotonic()
        turns = self._turns(given, await self._base_rewards(given))
        limit = self._guarded.settings.deadline_s
        return await self._guarded.ascored(
            turns,
            step=getattr(given["trainer_state"], "global_step", None),
            deadline_s=min(limit, max(_LEAST_S, limit - (time.monotonic() - began))),
            recorded=_is_training(trainer),
        )

    def _nothing(self, n_completions: int, error: Exception) -> LiveScores:
        """Say of every completion that it has no reward: TRL's columns need a row for each."""
        turns = [Turn(response=None)] * n_completions
        why = f"the reward function raised {type(error).__name__}"
        return nothing_scored(self._guarded.reward, turns, why=why)

    async def _base_rewards(self, given: dict[str, Any]) -> Sequence[float | None]:
        """Give base rewards, nan where one is no number; all None where none are meant."""
        n_completions = len(given["completions"])
        if self._base is not None:
            limit = self._guarded.settings.deadline_s
            found = await self._base.rewards(n_completions, deadline_s=limit, given=given)
        elif given.get(self._base_column) is not None:
            found = [number_of(value) for value in given[self._base_column]]
        else:
            return [None] * n_completions
        if all(value is None for value in found):
            return [math.nan] * n_completions  # lacking, and never rewards by the rules alone
        return [value if value is None or _is_fit(value) else math.nan for value in found]

    def _turns(self, given: dict[str, Any], base: Sequence[float | None]) -> list[Turn]:
        nothing = [None] * len(base)
        behaviors = given.get(self._behavior_column)
        tokens = given["completion_ids"]
        return [
            Turn(
                prompt=prompt,
                response=response,
                behavior=None if behavior is None else str(behavior),
                base_reward=base_reward,
                n_tokens=None if ids is None else len(ids),
            )
            for prompt, response, behavior, base_reward, ids in zip(
                given["prompts"],
                given["completions"],
                nothing if behaviors is None else behaviors,
                base,
                nothing if tokens is None else tokens,
                strict=True,
            )
        ]

    def _log(
        self, live: LiveScores, metrics: Mapping[str, float], *, log_extra: Any, log_metric: Any
    ) -> None:
        """Tell the trainer; what goes wrong with that stops no training."""
        if not self._logs:
            return
        try:
            self._log_metrics(metrics, log_metric)
            self._log_columns(live, log_extra)
        except Exception as error:  # noqa: BLE001  # training goes on
            self._said.error(f"{self.__name__}: the figures are not shown", error)

    def _log_metrics(self, metrics: Mapping[str, float], log_metric: Any) -> None:
        """Give TRL what is defined: it adds up over ranks, where one nan would make all nan."""
        if log_metric is not None:
            for name, value in metrics.items():
                if _is_fit(value):
                    log_metric(f"{self.__name__}/{name}", value)

    def _log_columns(self, live: LiveScores, log_extra: Any) -> None:
        """Give TRL the same columns whatever happened, a row for each completion."""
        if log_extra is not None:
            for name, values in _columns(live).items():
                log_extra(f"{self.__name__}/{name}", values)

    def _warn_once(self, trainer: Any) -> None:
        functions = list(getattr(trainer, "reward_funcs", ()))
        if self._has_warned or len(functions) < 2:
            return
        self._has_warned = True
        _log.warning(
            "%s is not the only reward function: TRL counts a missing reward as 0 beside another. "
            "Give the other one as `base`.",
            self.__name__,
        )
        names = [getattr(function, "__name__", None) for function in functions]
        if names.count(self.__name__) > 1:
            _log.warning(
                "%s is the name of several reward functions: TRL mixes up their figures. Give "
                "each a `name`.",
                self.__name__,
            )


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


def _is_fit(value: float | None) -> bool:
    return value is not None and abs(value) <= LARGEST_REWARD


def _is_training(trainer: Any) -> bool:
    """Whether TRL trains: an evaluation in between asks in the same way."""
    return bool(getattr(getattr(trainer, "model", None), "training", True))


def _columns(live: LiveScores) -> dict[str, list[Any]]:
    scores, judged = live.scores, live.judged
    found: dict[str, list[Any]] = {
        "missing": [scores.missing.get(name) for name in scores.items],
        "base_reward": _listed(scores.base_rewards),
        "rule_reward": _listed(scores.rule_rewards),
    }
    for place, proposition in enumerate(judged.questions):
        found[proposition] = _listed(judged.probabilities[:, place])
    return found


def _listed(numbers: Any) -> list[float | None]:
    return [None if value != value else value for value in numbers.tolist()]  # nan
