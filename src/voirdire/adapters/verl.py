"""Rewards for verl: functions that its reward managers call, with settings from its configuration.

Nothing of verl is imported: it loads this module, as ``pkg://voirdire.adapters.verl``.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import fields
from numbers import Integral
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.adapters.base_function import said_base_reward
from voirdire.adapters.guarded import GuardedReward
from voirdire.adapters.number_columns import number_columns
from voirdire.errors import InputError
from voirdire.judging.live.settings import LiveSettings
from voirdire.rewards.live.forks import forget_when_forked
from voirdire.rewards.live.missing import MissingRewards
from voirdire.rewards.live.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.adapters.guarded import GuardedScores

__all__ = ["close_rewards", "compute_score", "compute_score_batch", "compute_score_sync"]

_PROMPTS = ("prompt", "messages", "raw_prompt")
_OF_VERL = {"reward_router_address", "reward_model_tokenizer"}
"""What verl hands over of its own accord, and is of no use here."""

_GUARDED = {
    "name",
    "judge",
    "other_judge",
    "store",
    "center",
    "behavior",
    "record",
    "reference",
    "give_up_after",
}
_MISSING = {"missing_reward", "base_mean"}
_SETTINGS = {row.name for row in fields(LiveSettings)}


async def compute_score(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """Give one response its reward; for the reward managers that await, in verl's reward loop.

    Parameters
    ----------
    data_source : optional
        Ignored.
    solution_str : str
        The response.
    ground_truth : str, optional
        The behavior that the prompt deserves, where `extra_info` says none.
    extra_info : mapping, optional
        ``prompt``, ``messages`` or ``raw_prompt``: what the response answers, text or messages;
        without one the response is judged alone. ``behavior``, and ``base_reward``, which is
        added: the reward is missing where that is there and None. ``global_steps``, which verl's
        rollout says to the managers that pass it on, is the step of what is recorded.
    **reward_kwargs
        ``reward``, the file of the reward or the address of a running ``voirdire serve``, must be
        there. There may be ``missing_reward`` and ``base_mean``, as for `MissingRewards`;
        ``judge``, ``other_judge``, ``store``, ``center``, ``behavior``, ``name``, ``record``,
        ``reference`` and ``give_up_after``, as for `GuardedReward`; and ``deadline_s`` and the
        other fields of `LiveSettings`.

    Returns
    -------
    dict of str to float
        ``score``, then the other columns of `number_columns`: finite, and always the same names.

    Raises
    ------
    InputError
        If a setting breaks a rule. Whatever the judge does raises nothing.
    JudgeUnavailableError
        If ``give_up_after`` responses in a row had no reward.

    Notes
    -----
    *Order*: one response, one reward. *Errors*: a missing reward is the number that stands for
    it, with ``missing`` 1. *Cancellation*: what was asked goes on until its deadline. *Memory*:
    one reward per process and settings, made at the first call. *Retries and caching*: responses
    that are asked about at the same time are judged together, equal ones once.
    """
    del data_source
    scorer = _scorers.of(reward_kwargs)
    turn = _turn(solution_str, ground_truth, extra_info)
    return scorer.rows(await scorer.reward.ascored([turn], step=_step([extra_info])))[0]


def compute_score_sync(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """Give one response its reward, without an event loop; as `compute_score`.

    Parameters
    ----------
    data_source, solution_str, ground_truth, extra_info, **reward_kwargs
        As for `compute_score`.

    Returns
    -------
    dict of str to float
        As `compute_score` gives it.
    """
    del data_source
    scorer = _scorers.of(reward_kwargs)
    turn = _turn(solution_str, ground_truth, extra_info)
    return scorer.rows(scorer.reward.scored([turn], step=_step([extra_info])))[0]


def compute_score_batch(
    data_sources: Any = None,
    solution_strs: Sequence[str] = (),
    ground_truths: Sequence[Any] = (),
    extra_infos: Sequence[Mapping[str, Any] | None] = (),
    **reward_kwargs: Any,
) -> list[dict[str, float]]:
    """Give responses their rewards in one request, for verl's older batch manager.

    Parameters
    ----------
    data_sources, solution_strs, ground_truths, extra_infos, **reward_kwargs
        As for `compute_score`, a sequence of each.

    Returns
    -------
    list of dict of str to float
        As `compute_score` gives them.
    """
    del data_sources
    scorer = _scorers.of(reward_kwargs)
    given = zip(solution_strs, ground_truths, extra_infos, strict=True)
    turns = [_turn(said, truth, info) for said, truth, info in given]
    return scorer.rows(scorer.reward.scored(turns, step=_step(extra_infos)))


def close_rewards(*, drain_s: float = 30.0) -> None:
    """End the rewards of this process, each after so many seconds for what is on its way."""
    _scorers.close(drain_s=drain_s)


class _Scorer:
    """One reward, and what stands for it where it is missing."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        given = {name: value for name, value in settings.items() if value is not None}
        if "reward" not in given:
            msg = "`reward` must be the file of a reward, but it is not set. Add it to verl's"
            raise InputError(f"{msg} `reward.custom_reward_function.reward_kwargs`.")
        self.kept = tuple(settings.values())  # their identities stand in the key
        self.reward = GuardedReward(
            given["reward"],
            settings=LiveSettings(**{name: given[name] for name in _SETTINGS & set(given)}),
            framework="verl",
            late_steps=sys.maxsize,  # who goes back to a checkpoint begins new processes
            **{name: given[name] for name in _GUARDED & set(given)},
        )
        self._missing = MissingRewards(
            self.reward.reward,
            declared=given.get("missing_reward"),
            base_mean=given.get("base_mean", 0.0),
            center=bool(given.get("center", False)),
        )

    def rows(self, scores: GuardedScores) -> list[dict[str, float]]:
        propositions = self.reward.reward.rubric.propositions
        columns = number_columns(scores.live, self._missing, propositions=propositions)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class _Scorers:
    """The rewards of this process, by their settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[tuple[str, str], ...], _Scorer] = {}
        forget_when_forked(self)

    def forget(self) -> None:
        """Forget a lock that somebody in another process may hold."""
        self._lock = threading.Lock()

    def of(self, reward_kwargs: Mapping[str, Any]) -> _Scorer:
        """Give the one with these settings, made now where there is none."""
        settings = {name: value for name, value in reward_kwargs.items() if name not in _OF_VERL}
        key = tuple(sorted((name, _identity(value)) for name, value in settings.items()))
        found = self._made.get(key)
        if found is not None:
            return found
        _check_names(settings)
        with self._lock:
            if key not in self._made:
                self._made[key] = _Scorer(settings)
            return self._made[key]

    def close(self, *, drain_s: float) -> None:
        """End all."""
        with self._lock:
            scorers, self._made = list(self._made.values()), {}
        for scorer in scorers:
            scorer.reward.close(drain_s=drain_s)


_scorers = _Scorers()


def _identity(value: Any) -> str:
    plain = value is None or isinstance(value, str | int | float | bool)
    return repr(value) if plain else f"object {id(value)}"


def _check_names(settings: Mapping[str, Any]) -> None:
    known = {"reward", *_GUARDED, *_MISSING, *_SETTINGS}
    unknown = sorted(set(settings) - known)
    if unknown:
        msg = f"`reward_kwargs` must be settings of voirdire, got {shorten(unknown[0])!r}."
        raise InputError(f"{msg} Those are {', '.join(sorted(known))}.")


def _turn(solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Turn:
    told: Mapping[str, Any] = {} if extra_info is None else extra_info
    behavior = told.get("behavior")
    if behavior is None and isinstance(ground_truth, str):
        behavior = ground_truth
    prompts = (told[name] for name in _PROMPTS if told.get(name) is not None)
    return Turn(
        response=solution_str,
        prompt=next(prompts, None),
        behavior=None if isinstance(behavior, str) and not behavior else behavior,
        base_reward=said_base_reward(told),
    )


def _step(extra_infos: Sequence[Mapping[str, Any] | None]) -> int | None:
    """Give the version of the weights that wrote the responses: as many steps were made before.

    verl's rollout says it, in ``tool_extra_fields``; None where the manager does not pass it on.
    """
    said = {None if info is None else _count(info.get("global_steps")) for info in extra_infos}
    return said.pop() if len(said) == 1 else None


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    number = int(value)
    return number if number >= 0 else None
