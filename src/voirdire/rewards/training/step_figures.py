"""Figures of a step: of one call for the trainer, of the latest step for alarms, of a whole run.

NumPy and no polars, which hangs in the forked processes that some trainers ask rewards in.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.certification import list_paying_propositions
from voirdire.rewards.scores import list_paying_answers
from voirdire.rewards.training.completion_rows import (
    NO_CODE,
    Call,
    RowLayout,
    make_columns,
    name_class_column,
    name_proposition_column,
)
from voirdire.rewards.training.run import TrainingStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.completion_rows import Columns

_EQUAL_REWARDS = 1e-9
"""Rewards of a group that differ by less, as a share of their size, count as equal."""


def measure_step(
    number: int, columns: Columns, layout: RowLayout, *, by_tokens: bool
) -> TrainingStep:
    """Compute the figures of a step; lengths are in tokens or else in characters.

    The columns are those of rows, with `code_texts` in place of `behavior`, `group` and `nonsense`.
    """
    reward = columns["reward"]
    there = ~np.isnan(reward)
    rewards = reward[there]
    length = columns["n_tokens"] if by_tokens else columns["n_characters"].astype(np.float64)
    is_nonsense = columns["nonsense"]
    has_text = is_nonsense | (columns["n_characters"] > 0)
    n_groups, flat = _compare_groups(rewards, columns["group"][there])
    judges = columns["answered_by"]
    shares = {}
    for code, (name, classes) in enumerate(layout.classes.items()):
        own = columns["behavior"] == code
        shares[name] = {x: _mean(columns[name_class_column(x)][own]) for x in classes}
    return TrainingStep(
        step=number,
        n=reward.size,
        n_missing=reward.size - rewards.size,
        n_groups=n_groups,
        n_nonsense=int(is_nonsense.sum()),
        reward_mean=_mean(rewards),
        reward_sd=_deviation(rewards),
        rule_mean=_mean(columns["rule_reward"][there]),
        base_mean=_mean(columns["base_reward"][there]),
        missing_share=1 - rewards.size / reward.size,
        length_mean=_mean(length),
        length_reward_correlation=_correlate(length[there], rewards),
        zero_spread_share=flat,
        nonsense_share=_mean(is_nonsense[has_text]),
        gated_share=_mean(columns["gated"]),
        capped_share=_mean(columns["capped"]),
        margin_mean=_mean(columns["margin"]),
        truncated_share=_mean(columns["truncated"]),
        proposition_rates={
            name: _mean(columns[name_proposition_column(name)]) for name in layout.propositions
        },
        class_shares=shares,
        answered_by={
            name: judges.count(name) / len(judges)
            for name in dict.fromkeys(judges)
            if name is not None
        },
    )


def code_texts(columns: Columns, layout: RowLayout) -> Columns:
    """Give columns in which behaviors and groups are codes, and nonsense is yes or no."""
    behaviors = {name: code for code, name in enumerate(layout.classes)}
    groups: dict[str, int] = {}
    coded = {
        "behavior": [behaviors.get(name, NO_CODE) for name in columns["behavior"]],
        "group": [
            NO_CODE if name is None else groups.setdefault(name, len(groups))
            for name in columns["group"]
        ],
        "nonsense": [kind is not None for kind in columns["nonsense"]],
    }
    return columns | {name: np.array(values) for name, values in coded.items()}


def has_all_tokens(columns: Columns) -> bool:
    """Tell whether there are completions, and the tokens of each are known."""
    return columns["n_tokens"].size > 0 and not np.isnan(columns["n_tokens"]).any()


def _mean(values: NDArray[Any]) -> float:
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(known.mean()) if known.size else math.nan


def _deviation(values: NDArray[np.float64]) -> float:
    """Compute the standard deviation with n - 1 degrees of freedom; 0 where none differ."""
    if values.size < 2:
        return math.nan
    return float(values.std(ddof=1)) if values.min() < values.max() else 0.0


def _correlate(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Compute Pearson's correlation; nan where one of the two does not vary."""
    both = ~np.isnan(x)
    x, y = x[both], y[both]
    if x.size < 2 or x.min() == x.max() or y.min() == y.max():
        return math.nan
    dx, dy = x - x.mean(), y - y.mean()
    scale = math.sqrt(dx @ dx) * math.sqrt(dy @ dy)
    return float(np.clip(dx @ dy / scale, -1.0, 1.0)) if scale > 0 else math.nan


def _compare_groups(rewards: NDArray[np.float64], codes: NDArray[np.int64]) -> tuple[int, float]:
    """Count groups of two rewards or more, and compute the share whose rewards are all equal."""
    rewards, codes = rewards[codes != NO_CODE], codes[codes != NO_CODE]
    if not codes.size:
        return 0, math.nan
    order = np.lexsort((rewards, codes))
    rewards, codes = rewards[order], codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    ends = np.r_[starts[1:], codes.size] - 1
    low, high = rewards[starts[ends > starts]], rewards[ends[ends > starts]]
    size = np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    return low.size, _mean(high - low <= _EQUAL_REWARDS * size)


# Metrics of trainers -----------------------------------------------------------------------------

_METRICS = {
    "reward": "reward_mean",
    "reward_sd": "reward_sd",
    "rule_reward": "rule_mean",
    "base_reward": "base_mean",
    "missing": "missing_share",
    "nonsense": "nonsense_share",
    "gated": "gated_share",
    "capped": "capped_share",
    "margin": "margin_mean",
    "truncated": "truncated_share",
    "n_tokens": "length_mean",
    "length_reward_correlation": "length_reward_correlation",
    "groups_without_spread": "zero_spread_share",
}


def compute_metrics(
    reward: RewardModel, scores: LiveScores, turns: Sequence[Turn]
) -> dict[str, float]:
    """Compute the metrics of a call for the trainer.

    Parameters
    ----------
    reward : RewardModel
        What paid.
    scores : LiveScores
        Of the turns.
    turns : sequence of Turn
        In the order of the scores.

    Returns
    -------
    dict of str to float
        Constant keys for one reward; nan where a figure is undefined. ``reward``, ``reward_sd``,
        ``rule_reward`` and ``base_reward`` are over the completions with a reward; ``missing`` is
        the share of those without; ``nonsense`` the share of nonsense among the completions with
        text; ``gated`` and ``capped`` are the shares that the reward's gate stops and that are paid
        its cap, ``margin`` the mean distance beyond the gate's threshold, ``truncated`` the share
        that the trainer cut off; ``proposition/<id>`` is the mean probability of a proposition
        that the reward depends on; ``class/<behavior>/<class>`` the mean probability of a
        completion class over the completions of its behavior; ``n_tokens`` the mean length, nan
        where the tokens of a completion are not known; ``length_reward_correlation`` is Pearson's,
        with characters where tokens are not known; ``groups_without_spread`` the share of the
        groups of two or more rewards whose rewards are all equal.

    Examples
    --------
    >>> import asyncio
    >>> from voirdire.rewards import reward_of_weights
    >>> from voirdire.rewards.live import LiveReward, Turn
    >>> reward = reward_of_weights({"hard_refuse": {"apology": 2}}, rubric="safety")
    >>> turns = [Turn(response="I'm sorry, I can't help with that.", behavior="hard_refuse")]
    >>> async def scored():
    ...     live = LiveReward(reward)
    ...     await live.start()
    ...     scores = await live.turn_rewards(turns)
    ...     await live.close()
    ...     return scores
    >>> metrics = compute_metrics(reward, asyncio.run(scored()), turns)
    >>> metrics["proposition/apology"] > 0.9, metrics["missing"], metrics["gated"]
    (True, 0.0, 0.0)
    """
    layout = RowLayout(propositions=find_paying_once(reward), classes=list_class_names(reward))
    names = [
        *_METRICS,
        *(f"proposition/{name}" for name in layout.propositions),
        *(f"class/{behavior}/{name}" for behavior, row in layout.classes.items() for name in row),
    ]
    if not turns:
        return dict.fromkeys(names, math.nan)
    columns = code_texts(make_columns([Call.of(scores, turns)], layout), layout)
    by_tokens = has_all_tokens(columns)
    step = measure_step(0, columns, layout, by_tokens=by_tokens)
    metrics = {name: getattr(step, field) for name, field in _METRICS.items()}
    metrics |= {"n_tokens": step.length_mean if by_tokens else math.nan}
    shares = [share for row in step.class_shares.values() for share in row.values()]
    return metrics | dict(
        zip(names[len(_METRICS) :], [*step.proposition_rates.values(), *shares], strict=True)
    )


def list_paying_by_behavior(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List by behavior what its rewards depend on: propositions, and answers of other kinds."""
    return {
        name: (
            *list_paying_propositions(replace(reward, behaviors={name: row})),
            *list_paying_answers(reward, name),
        )
        for name, row in reward.behaviors.items()
    }


_USED: dict[str, tuple[str, ...]] = {}
"""Paying propositions by the hash of a reward, since finding them takes longer than a call's
figures."""


def find_paying_once(reward: RewardModel) -> tuple[str, ...]:
    """List what rewards depend on, as `list_paying_by_behavior`; computed once for a reward."""
    if reward.criteria is not None:
        return reward.columns
    if reward.content_hash not in _USED:
        answers = list_paying_answers(reward, *reward.behaviors)
        _USED[reward.content_hash] = (*list_paying_propositions(reward), *answers)
    return _USED[reward.content_hash]


def list_class_names(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List the completion classes by behavior that the reward has weights for."""
    return {
        name: ()
        if reward.criteria
        else tuple(row.name for row in reward.rubric.behavior(name).classes)
        for name in reward.behaviors
    }
