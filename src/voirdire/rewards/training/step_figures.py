"""The figures of the steps of a run: a group-by over its completions; and those that trainers get.

Of one call for the trainer's metrics, of the step that just ended for the alarms, and of all parts
where a run is read. NumPy, since the first two are worked out where polars may hang: in a process
that was forked off.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.rewards.certification import list_paying_propositions
from voirdire.rewards.scoring.scores import list_paying_answers
from voirdire.rewards.training.completion_rows import (
    Call,
    RowLayout,
    class_column,
    proposition_column,
    rows_of,
)
from voirdire.rewards.training.run import TrainingStep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.parquet_part import Column

    Values = NDArray[np.float64]

__all__ = [
    "EQUAL_REWARDS",
    "FIGURE_COLUMNS",
    "asked_of",
    "class_names",
    "figures_of",
    "has_all_tokens",
    "step_metrics",
    "steps_of",
    "used_propositions",
]

FIGURE_COLUMNS = (
    "step",
    "behavior",
    "group",
    "base_reward",
    "reward",
    "rule_reward",
    "nonsense",
    "n_tokens",
    "n_characters",
    "answered_by",
    "time",
)
"""What figures are made of, beside propositions and classes."""

EQUAL_REWARDS = 1e-9
"""Rewards of a group that differ by less, as a share of their size, are taken for equal."""


def steps_of(
    rows: pl.DataFrame | Mapping[str, Column],
    layout: RowLayout,
    *,
    by_tokens: bool | None = None,
    began: float = math.nan,
) -> list[TrainingStep]:
    """Work out the figures of the steps that completions are of.

    Parameters
    ----------
    rows : polars.DataFrame or mapping of str to columns
        Completions with `FIGURE_COLUMNS` and the columns of the layout.
    layout : RowLayout
        Which propositions and classes to give figures of.
    by_tokens : bool, optional
        Whether lengths are counted in tokens, else in characters; by default tokens where those
        of every completion are known.
    began : float, optional
        When the run began, in seconds since 1970.

    Returns
    -------
    list of TrainingStep
        In their order, without alarms.
    """
    if by_tokens is None:
        by_tokens = has_all_tokens(rows)
    numbers, place = np.unique(np.asarray(rows["step"]), return_inverse=True)
    steps = _Groups(place, len(numbers))
    reward = _number(rows, "reward")
    known = ~np.isnan(reward)
    n, n_known = steps.count(np.ones(len(place), dtype=bool)), steps.count(known)
    length = _number(rows, "n_tokens" if by_tokens else "n_characters")
    time = steps.least(_number(rows, "time"))
    columns: dict[str, Any] = {
        "step": numbers,
        "n": n,
        "reward_mean": steps.mean(reward),
        "reward_sd": steps.deviation(reward),
        "rule_mean": steps.mean(np.where(known, _number(rows, "rule_reward"), np.nan)),
        "base_mean": steps.mean(np.where(known, _number(rows, "base_reward"), np.nan)),
        "missing_share": (n - n_known) / n,
        "length_mean": steps.mean(length),
        "length_reward_correlation": steps.correlation(length, reward),
        "n_missing": n - n_known,
        "seconds": np.where(np.isfinite(time), time - began, np.nan),
        **_group_figures(rows, steps, reward),
    }
    rates = {
        name: steps.mean(_number(rows, proposition_column(name))).tolist()
        for name in layout.propositions
    }
    shares, n_judged = _class_figures(rows, layout, steps)
    judges = _judge_figures(rows, steps, n)
    plain = {name: values.tolist() for name, values in columns.items()}
    return [
        TrainingStep(
            **{name: values[k] for name, values in plain.items()},
            proposition_rates={name: values[k] for name, values in rates.items()},
            class_shares={
                behavior: {name: values[k] for name, values in each.items()}
                for behavior, each in shares.items()
            },
            n_by_behavior={behavior: values[k] for behavior, values in n_judged.items()},
            answered_by={name: values[k] for name, values in judges.items() if values[k]},
        )
        for k in range(len(numbers))
    ]


def has_all_tokens(rows: pl.DataFrame | Mapping[str, Column]) -> bool:
    """Tell whether there are completions, and the tokens of each are known."""
    tokens = _number(rows, "n_tokens")
    return tokens.size > 0 and not np.isnan(tokens).any()


class _Groups:
    """Rows that belong to groups; figures of each group over the rows that have a value."""

    def __init__(self, place: NDArray[np.int64], n: int) -> None:
        self.place, self.n = place, n

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(self.place[chosen], minlength=self.n)

    def total(self, values: Values) -> Values:
        known = ~np.isnan(values)
        found = np.bincount(self.place[known], weights=values[known], minlength=self.n)
        return np.asarray(found, dtype=np.float64)

    def mean(self, values: Values) -> Values:
        known = ~np.isnan(values)
        place = self.place[known]
        n = np.bincount(place, minlength=self.n)
        total = np.bincount(place, weights=values[known], minlength=self.n)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def least(self, values: Values) -> Values:
        found = np.full(self.n, np.inf)
        np.fmin.at(found, self.place, values)
        return found

    def most(self, values: Values) -> Values:
        return -self.least(-values)

    def varies(self, values: Values) -> NDArray[np.bool_]:
        return np.asarray(self.least(values) < self.most(values))

    def deviation(self, values: Values) -> Values:
        """Give standard deviations with n - 1 degrees of freedom; nan of fewer than two."""
        n = self.count(~np.isnan(values))
        squares = self.total((values - self.mean(values)[self.place]) ** 2)
        found = np.where(self.varies(values), np.sqrt(squares / np.maximum(n - 1, 1)), 0.0)
        return np.where(n > 1, found, np.nan)

    def correlation(self, x: Values, y: Values) -> Values:
        """Give Pearson's correlations; nan where one of the two does not vary."""
        both = ~np.isnan(x) & ~np.isnan(y)
        x, y = np.where(both, x, np.nan), np.where(both, y, np.nan)
        dx, dy = x - self.mean(x)[self.place], y - self.mean(y)[self.place]
        scale = np.sqrt(self.total(dx**2)) * np.sqrt(self.total(dy**2))
        known = self.varies(x) & self.varies(y) & (scale > 0)
        found = self.total(dx * dy) / np.where(known, scale, 1.0)
        return np.where(known, np.clip(found, -1.0, 1.0), np.nan)


def _group_figures(
    rows: pl.DataFrame | Mapping[str, Column], steps: _Groups, reward: Values
) -> dict[str, Any]:
    """Look at the groups of each step: whose rewards are equal, and what nonsense gains in them."""
    code, names = _codes(rows["group"])
    is_nonsense = _codes(rows["nonsense"])[0] >= 0
    has_text = is_nonsense | (_number(rows, "n_characters") > 0)
    inside = ~np.isnan(reward) & (code >= 0)
    keys, place = np.unique(
        steps.place[inside] * max(len(names), 1) + code[inside], return_inverse=True
    )
    groups, found, odd = _Groups(place, len(keys)), reward[inside], is_nonsense[inside]
    of_step = _Groups(keys // max(len(names), 1), steps.n)
    low, high = groups.least(found), groups.most(found)
    is_shared = groups.count(np.ones(len(place), dtype=bool)) > 1
    is_flat = high - low <= EQUAL_REWARDS * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    gain = np.where(odd, found - groups.mean(np.where(odd, np.nan, found))[place], np.nan)
    return {
        "n_groups": of_step.count(is_shared),
        "zero_spread_share": of_step.mean(np.where(is_shared, is_flat, np.nan)),
        "n_nonsense": steps.count(is_nonsense),
        "nonsense_share": steps.mean(np.where(has_text, is_nonsense, np.nan)),
        "nonsense_gain": _Groups(steps.place[inside], steps.n).mean(gain),
    }


def _class_figures(
    rows: pl.DataFrame | Mapping[str, Column], layout: RowLayout, steps: _Groups
) -> tuple[dict[str, dict[str, list[float]]], dict[str, list[int]]]:
    """Give by behavior the mean of each class, and how many completions have one."""
    code, names = _codes(rows["behavior"])
    shares, n_judged = {}, {}
    for behavior, classes in layout.classes.items():
        own = code == (names.index(behavior) if behavior in names else -2)
        values = [np.where(own, _number(rows, class_column(name)), np.nan) for name in classes]
        shares[behavior] = {
            name: steps.mean(each).tolist() for name, each in zip(classes, values, strict=True)
        }
        n_judged[behavior] = steps.count(~np.isnan(values[0])).tolist() if values else [0] * steps.n
    return shares, n_judged


def _judge_figures(
    rows: pl.DataFrame | Mapping[str, Column], steps: _Groups, n: NDArray[np.int64]
) -> dict[str, list[float]]:
    code, names = _codes(rows["answered_by"])
    return {name: (steps.count(code == k) / n).tolist() for k, name in enumerate(names)}


def _number(rows: pl.DataFrame | Mapping[str, Column], name: str) -> Values:
    return np.asarray(rows[name], dtype=np.float64)


def _codes(values: pl.Series | Column) -> tuple[NDArray[np.int64], list[str]]:
    """Give different texts different numbers; -1 is none."""
    if isinstance(values, pl.Series):
        names = values.drop_nulls().unique(maintain_order=True)
        numbers = values.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
        return numbers.to_numpy(), names.to_list()
    known: dict[str, int] = {}
    found = [-1 if value is None else known.setdefault(value, len(known)) for value in values]
    return np.array(found, dtype=np.int64), list(known)


# What trainers get -------------------------------------------------------------------------------

_METRICS = {
    "reward": "reward_mean",
    "reward_sd": "reward_sd",
    "rule_reward": "rule_mean",
    "base_reward": "base_mean",
    "missing": "missing_share",
    "nonsense": "nonsense_share",
    "n_tokens": "length_mean",
    "length_reward_correlation": "length_reward_correlation",
    "groups_without_spread": "zero_spread_share",
}


def step_metrics(
    reward: RewardModel, scores: LiveScores, turns: Sequence[Turn]
) -> dict[str, float]:
    """Work out the figures of a step.

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
        text; ``proposition/<id>`` is the mean probability of a proposition
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
    >>> found = step_metrics(reward, asyncio.run(scored()), turns)
    >>> sorted(found)[-4:], found["proposition/apology"] > 0.9, found["missing"]
    (['proposition/apology', 'reward', 'reward_sd', 'rule_reward'], True, 0.0)
    """
    paying = used_propositions(reward)
    layout = RowLayout(propositions=paying, classes=class_names(reward))
    rows = rows_of([Call.of(scores, turns, step=0)], layout)
    found: dict[str, float] = {}
    for step in steps_of(rows, layout):  # one, or none without turns
        found = figures_of(step)
    names = [
        *_METRICS,
        *(f"proposition/{name}" for name in paying),
        *(f"class/{behavior}/{name}" for behavior, row in layout.classes.items() for name in row),
    ]
    if not has_all_tokens(rows):
        found["n_tokens"] = math.nan
    return {name: found.get(name, math.nan) for name in names}


def figures_of(step: TrainingStep) -> dict[str, float]:
    """Name the figures of a step as trainers get them; ``n_tokens`` is its length, in any unit."""
    found: dict[str, float] = {name: getattr(step, field) for name, field in _METRICS.items()}
    found |= {f"proposition/{name}": rate for name, rate in step.proposition_rates.items()}
    for behavior, shares in step.class_shares.items():
        found |= {f"class/{behavior}/{name}": share for name, share in shares.items()}
    return found


def asked_of(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List by behavior what its rewards depend on: propositions, and answers of other kinds."""
    return {
        name: (
            *list_paying_propositions(replace(reward, behaviors={name: row})),
            *list_paying_answers(reward, name),
        )
        for name, row in reward.behaviors.items()
    }


_USED: dict[str, tuple[str, ...]] = {}
"""By the hash of a reward; finding them takes longer than the figures of a call."""


def used_propositions(reward: RewardModel) -> tuple[str, ...]:
    """List what rewards depend on, as `asked_of` does; worked out once for a reward."""
    if reward.content_hash not in _USED:
        answers = list_paying_answers(reward, *reward.behaviors)
        _USED[reward.content_hash] = (*list_paying_propositions(reward), *answers)
    return _USED[reward.content_hash]


def class_names(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List the completion classes by behavior that the reward has weights for."""
    return {
        name: tuple(row.name for row in reward.rubric.behavior(name).classes)
        for name in reward.behaviors
    }
