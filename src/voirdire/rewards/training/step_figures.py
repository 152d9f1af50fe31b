"""Compute the figures of the steps of a run, and the metrics that trainers get.

They are computed over one call for the trainer's metrics, over the step that just ended for the
alarms, and over all parts where a run is read. This module uses NumPy, since the first two run in
forked processes, in which polars may hang.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.rewards.certification import list_paying_propositions
from voirdire.rewards.scores import list_paying_answers
from voirdire.rewards.training.completion_rows import (
    Call,
    RowLayout,
    make_rows,
    name_class_column,
    name_proposition_column,
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
    "compute_metrics",
    "compute_steps",
    "find_paying_once",
    "has_all_tokens",
    "list_class_names",
    "list_paying_by_behavior",
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
)
"""Columns that figures are computed from, besides propositions and classes."""

EQUAL_REWARDS = 1e-9
"""Rewards of a group that differ by less, as a share of their size, count as equal."""


def compute_steps(
    rows: pl.DataFrame | Mapping[str, Column],
    layout: RowLayout,
    *,
    by_tokens: bool | None = None,
) -> list[TrainingStep]:
    """Compute the figures of the steps that completions belong to.

    Parameters
    ----------
    rows : polars.DataFrame or mapping of str to columns
        Completions with `FIGURE_COLUMNS` and the columns of the layout.
    layout : RowLayout
        Which propositions and classes to give figures of.
    by_tokens : bool, optional
        Whether lengths are counted in tokens, else in characters; by default tokens where those
        of every completion are known.

    Returns
    -------
    list of TrainingStep
        In their order, without alarms.
    """
    if by_tokens is None:
        by_tokens = has_all_tokens(rows)
    numbers, place = np.unique(np.asarray(rows["step"]), return_inverse=True)
    steps = _Groups(place, len(numbers))
    reward = _read_numbers(rows, "reward")
    has_reward = ~np.isnan(reward)
    n, n_known = steps.count(np.ones(len(place), dtype=bool)), steps.count(has_reward)
    length = _read_numbers(rows, "n_tokens" if by_tokens else "n_characters")
    columns: dict[str, Any] = {
        "step": numbers,
        "n": n,
        "reward_mean": steps.mean(reward),
        "reward_sd": steps.standard_deviation(reward),
        "rule_mean": steps.mean(np.where(has_reward, _read_numbers(rows, "rule_reward"), np.nan)),
        "base_mean": steps.mean(np.where(has_reward, _read_numbers(rows, "base_reward"), np.nan)),
        "missing_share": (n - n_known) / n,
        "length_mean": steps.mean(length),
        "length_reward_correlation": steps.correlation(length, reward),
        "n_missing": n - n_known,
        **_compute_group_figures(rows, steps, reward),
    }
    rates = {
        name: steps.mean(_read_numbers(rows, name_proposition_column(name))).tolist()
        for name in layout.propositions
    }
    shares = _compute_class_figures(rows, layout, steps)
    judges = _compute_judge_figures(rows, steps, n)
    plain = {name: values.tolist() for name, values in columns.items()}
    return [
        TrainingStep(
            **{name: values[k] for name, values in plain.items()},
            proposition_rates={name: values[k] for name, values in rates.items()},
            class_shares={
                behavior: {name: values[k] for name, values in each.items()}
                for behavior, each in shares.items()
            },
            answered_by={name: values[k] for name, values in judges.items() if values[k]},
        )
        for k in range(len(numbers))
    ]


def has_all_tokens(rows: pl.DataFrame | Mapping[str, Column]) -> bool:
    """Tell whether there are completions, and the tokens of each are known."""
    tokens = _read_numbers(rows, "n_tokens")
    return tokens.size > 0 and not np.isnan(tokens).any()


class _Groups:
    """Rows in groups; computes figures of each group over the rows that have a value."""

    def __init__(self, place: NDArray[np.int64], n: int) -> None:
        self.place, self.n = place, n

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(self.place[chosen], minlength=self.n)

    def sum(self, values: Values) -> Values:
        known = ~np.isnan(values)
        found = np.bincount(self.place[known], weights=values[known], minlength=self.n)
        return np.asarray(found, dtype=np.float64)

    def mean(self, values: Values) -> Values:
        known = ~np.isnan(values)
        place = self.place[known]
        n = np.bincount(place, minlength=self.n)
        total = np.bincount(place, weights=values[known], minlength=self.n)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def minimum(self, values: Values) -> Values:
        found = np.full(self.n, np.inf)
        np.fmin.at(found, self.place, values)
        return found

    def maximum(self, values: Values) -> Values:
        return -self.minimum(-values)

    def find_varying(self, values: Values) -> NDArray[np.bool_]:
        return np.asarray(self.minimum(values) < self.maximum(values))

    def standard_deviation(self, values: Values) -> Values:
        """Compute standard deviations with n - 1 degrees of freedom; nan of fewer than two."""
        n = self.count(~np.isnan(values))
        squares = self.sum((values - self.mean(values)[self.place]) ** 2)
        found = np.where(self.find_varying(values), np.sqrt(squares / np.maximum(n - 1, 1)), 0.0)
        return np.where(n > 1, found, np.nan)

    def correlation(self, x: Values, y: Values) -> Values:
        """Compute Pearson's correlations; nan where one of the two does not vary."""
        both = ~np.isnan(x) & ~np.isnan(y)
        x, y = np.where(both, x, np.nan), np.where(both, y, np.nan)
        dx, dy = x - self.mean(x)[self.place], y - self.mean(y)[self.place]
        scale = np.sqrt(self.sum(dx**2)) * np.sqrt(self.sum(dy**2))
        known = self.find_varying(x) & self.find_varying(y) & (scale > 0)
        found = self.sum(dx * dy) / np.where(known, scale, 1.0)
        return np.where(known, np.clip(found, -1.0, 1.0), np.nan)


def _compute_group_figures(
    rows: pl.DataFrame | Mapping[str, Column], steps: _Groups, reward: Values
) -> dict[str, Any]:
    """Compute for each step how many groups have equal rewards, and the share of nonsense."""
    code, names = _encode_texts(rows["group"])
    is_nonsense = _encode_texts(rows["nonsense"])[0] >= 0
    has_text = is_nonsense | (_read_numbers(rows, "n_characters") > 0)
    inside = ~np.isnan(reward) & (code >= 0)
    keys, place = np.unique(
        steps.place[inside] * max(len(names), 1) + code[inside], return_inverse=True
    )
    groups, rewards = _Groups(place, len(keys)), reward[inside]
    of_step = _Groups(keys // max(len(names), 1), steps.n)
    low, high = groups.minimum(rewards), groups.maximum(rewards)
    is_shared = groups.count(np.ones(len(place), dtype=bool)) > 1
    is_flat = high - low <= EQUAL_REWARDS * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    return {
        "n_groups": of_step.count(is_shared),
        "zero_spread_share": of_step.mean(np.where(is_shared, is_flat, np.nan)),
        "n_nonsense": steps.count(is_nonsense),
        "nonsense_share": steps.mean(np.where(has_text, is_nonsense, np.nan)),
    }


def _compute_class_figures(
    rows: pl.DataFrame | Mapping[str, Column], layout: RowLayout, steps: _Groups
) -> dict[str, dict[str, list[float]]]:
    """Compute by behavior the mean of each class."""
    code, names = _encode_texts(rows["behavior"])
    shares = {}
    for behavior, classes in layout.classes.items():
        own = code == (names.index(behavior) if behavior in names else -2)
        columns = {name: _read_numbers(rows, name_class_column(name)) for name in classes}
        shares[behavior] = {
            name: steps.mean(np.where(own, column, np.nan)).tolist()
            for name, column in columns.items()
        }
    return shares


def _compute_judge_figures(
    rows: pl.DataFrame | Mapping[str, Column], steps: _Groups, n: NDArray[np.int64]
) -> dict[str, list[float]]:
    code, names = _encode_texts(rows["answered_by"])
    return {name: (steps.count(code == k) / n).tolist() for k, name in enumerate(names)}


def _read_numbers(rows: pl.DataFrame | Mapping[str, Column], name: str) -> Values:
    return np.asarray(rows[name], dtype=np.float64)


def _encode_texts(values: pl.Series | Column) -> tuple[NDArray[np.int64], list[str]]:
    """Replace texts by numbers, equal texts by equal ones; None is -1."""
    if isinstance(values, pl.Series):
        names = values.drop_nulls().unique(maintain_order=True)
        numbers = values.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
        return numbers.to_numpy(), names.to_list()
    codes: dict[str, int] = {}
    found = [-1 if value is None else codes.setdefault(value, len(codes)) for value in values]
    return np.array(found, dtype=np.int64), list(codes)


# Metrics of trainers -----------------------------------------------------------------------------

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
    >>> metrics = compute_metrics(reward, asyncio.run(scored()), turns)
    >>> sorted(metrics)[-4:], metrics["proposition/apology"] > 0.9, metrics["missing"]
    (['proposition/apology', 'reward', 'reward_sd', 'rule_reward'], True, 0.0)
    """
    paying = find_paying_once(reward)
    layout = RowLayout(propositions=paying, classes=list_class_names(reward))
    rows = make_rows([Call.of(scores, turns, step=0)], layout)
    metrics: dict[str, float] = {}
    for step in compute_steps(rows, layout):  # one, or none without turns
        metrics = {name: getattr(step, field) for name, field in _METRICS.items()}
        metrics |= {f"proposition/{name}": rate for name, rate in step.proposition_rates.items()}
        for behavior, shares in step.class_shares.items():
            metrics |= {f"class/{behavior}/{name}": share for name, share in shares.items()}
    names = [
        *_METRICS,
        *(f"proposition/{name}" for name in paying),
        *(f"class/{behavior}/{name}" for behavior, row in layout.classes.items() for name in row),
    ]
    if not has_all_tokens(rows):
        metrics["n_tokens"] = math.nan
    return {name: metrics.get(name, math.nan) for name in names}


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
    if reward.content_hash not in _USED:
        answers = list_paying_answers(reward, *reward.behaviors)
        _USED[reward.content_hash] = (*list_paying_propositions(reward), *answers)
    return _USED[reward.content_hash]


def list_class_names(reward: RewardModel) -> dict[str, tuple[str, ...]]:
    """List the completion classes by behavior that the reward has weights for."""
    return {
        name: tuple(row.name for row in reward.rubric.behavior(name).classes)
        for name in reward.behaviors
    }
