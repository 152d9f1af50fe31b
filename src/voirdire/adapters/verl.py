"""Gives verl functions for its reward managers, with settings from its configuration.

Nothing of verl is imported: it loads this module, as ``pkg://voirdire.adapters.verl``.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from numbers import Integral
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.adapters.guarded import NumberReward
from voirdire.errors import InputError
from voirdire.judging.background_loop import fork_lock
from voirdire.judging.settings import LiveSettings
from voirdire.rewards.live.turns import make_turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.rewards.live.turns import LiveScores, Turn

_PROMPTS = ("prompt", "messages", "raw_prompt")
_OF_VERL = {"reward_router_address", "reward_model_tokenizer"}
"""Arguments of verl that are not used here."""


async def compute_score(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """Return the reward of one response, for the async reward managers of verl's reward loop.

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
        added where the reward was fitted beside one or ``base_column`` names it. ``criteria``, and
        ``reference``, where the reward pays criteria.
        ``global_steps``, which verl's rollout says to the managers that pass it on, is the step of
        what is recorded.
    **reward_kwargs
        ``reward``, the file of the reward or the address of a running ``voirdire serve``, must be
        there. There may be ``missing_reward`` and ``base_mean``, as for `MissingRewards`;
        ``judge``, ``other_judge``, ``store``, ``center``, ``base_column``, ``behavior``, ``name``,
        ``record`` and ``give_up_after``, as for `GuardedReward`; and ``deadline_s`` and the
        other fields of `LiveSettings`.

    Returns
    -------
    dict of str to float
        ``score``, then the other columns of `MissingRewards.columns`, always the same and finite;
        ``reward_mask`` is ``missing`` the other way round, to be multiplied with; ``no_prompt`` is
        1 where `extra_info` holds no prompt, so that the response was judged
        alone.

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
    reward = _reward_of(reward_kwargs)
    turn = _turn(reward, solution_str, ground_truth, extra_info)
    return _rows(reward, [turn], await reward.ascored([turn], step=_step([extra_info])))[0]


def compute_score_sync(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """Return the reward of one response, without an event loop; as `compute_score`.

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
    columns = [solution_str], [ground_truth], [extra_info]
    return compute_score_batch(None, *columns, **reward_kwargs)[0]


def compute_score_batch(
    data_sources: Any = None,
    solution_strs: Sequence[str] = (),
    ground_truths: Sequence[Any] | None = None,
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    **reward_kwargs: Any,
) -> list[dict[str, float]]:
    """Return the rewards of responses in one request, for verl's older batch manager.

    Parameters
    ----------
    data_sources, solution_strs, ground_truths, extra_infos, **reward_kwargs
        As for `compute_score`, a sequence of each; None where there are none.

    Returns
    -------
    list of dict of str to float
        As `compute_score` gives them.
    """
    del data_sources
    reward = _reward_of(reward_kwargs)
    nothing = [None] * len(solution_strs)
    truths = nothing if ground_truths is None else ground_truths
    infos = nothing if extra_infos is None else extra_infos
    rows = zip(solution_strs, truths, infos, strict=True)
    turns = [_turn(reward, response, truth, info) for response, truth, info in rows]
    return _rows(reward, turns, reward.scored(turns, step=_step(infos)))


def close_rewards(*, drain_s: float = 30.0) -> None:
    """Close the rewards of this process, each after so many seconds for open calls."""
    with fork_lock:
        rewards = list(_made.values())
        _made.clear()
        _kept.clear()
    for reward in rewards:
        reward.close(drain_s=drain_s)


_LIVE = {row.name for row in fields(LiveSettings)} - {"deadline_s"}
_KNOWN = {
    "reward", "missing_reward", "base_mean", "name", "judge", "other_judge", "store", "center",
    "base_column", "behavior", "deadline_s", "record", "give_up_after",
}  # fmt: skip
_made: dict[tuple[tuple[str, str], ...], NumberReward] = {}
_kept: list[object] = []
"""Settings that are objects: the keys hold their ids."""


def _reward_of(reward_kwargs: Mapping[str, Any]) -> NumberReward:
    """Return the reward of this process with these settings; make it where there is none."""
    settings = {name: value for name, value in reward_kwargs.items() if name not in _OF_VERL}
    key = tuple(sorted((name, _identity(value)) for name, value in settings.items()))
    if (found := _made.get(key)) is not None:
        return found
    if unknown := sorted(set(settings) - _KNOWN - _LIVE):
        msg = f"`reward_kwargs` must be settings of voirdire, got {shorten(unknown[0])!r}."
        raise InputError(f"{msg} Those are {', '.join(sorted(_KNOWN | _LIVE))}.")
    given = {name: value for name, value in settings.items() if value is not None}
    if "reward" not in given:
        msg = "`reward` must be the file of a reward, but it is not set. Add it to verl's"
        raise InputError(f"{msg} `reward.custom_reward_function.reward_kwargs`.")
    live = {name: given.pop(name) for name in _LIVE & set(given)}
    with fork_lock:
        if key not in _made:
            _kept.extend(settings.values())
            _made[key] = NumberReward(
                **given,
                settings=LiveSettings(**live),
                framework="verl",
                late_steps=sys.maxsize,  # who goes back to a checkpoint begins new processes
            )
        return _made[key]


def _rows(
    reward: NumberReward, turns: Sequence[Turn], scores: LiveScores
) -> list[dict[str, float]]:
    columns = reward.missing.columns(scores)
    columns["reward_mask"] = [1.0 - lacks for lacks in columns["missing"]]
    columns["no_prompt"] = [0.0 if turn.prompt else 1.0 for turn in turns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _identity(value: Any) -> str:
    plain = value is None or isinstance(value, str | int | float | bool)
    return repr(value) if plain else f"object {id(value)}"


def _turn(
    reward: NumberReward,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None,
) -> Turn:
    told: Mapping[str, Any] = {} if extra_info is None else extra_info
    behavior = told.get("behavior")
    if behavior is None and isinstance(ground_truth, str):
        behavior = ground_truth
    prompts = (told[name] for name in _PROMPTS if told.get(name) is not None)
    return make_turn(
        told if reward.reward.criteria else {},
        response=solution_str,
        prompt=next(prompts, None),
        behavior=behavior,
        base_reward=told.get(reward.base_column),
    )


def _step(extra_infos: Sequence[Mapping[str, Any] | None]) -> int | None:
    """Return the version of the weights behind the responses, which is the number of steps before.

    verl's rollout says it, in ``tool_extra_fields``; None where the manager does not pass it on.
    """
    said = {None if info is None else _count(info.get("global_steps")) for info in extra_infos}
    return said.pop() if len(said) == 1 else None


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    number = int(value)
    return number if number >= 0 else None
