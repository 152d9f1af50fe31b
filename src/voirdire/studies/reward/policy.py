"""A pre-flight on the policy's own responses: what a group-relative method would learn from."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_count
from voirdire.rewards.prompt_hash import prompt_hash
from voirdire.studies.reward.given_responses import (
    base_reward,
    judge_responses,
    numbered,
    read_responses,
)
from voirdire.studies.reward.policy_cost import policy_cost
from voirdire.studies.reward.ranking import TIE, per_prompt
from voirdire.studies.reward.rated_items import rate_items
from voirdire.studies.reward.result import PolicyCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.records import Dropped
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.rated_items import RatedItems

__all__ = ["check_policy"]

_NAN = float("nan")


def check_policy(
    policy: Any,
    reward: RewardModel,
    *,
    verdicts: Any = None,
    judge: Any = None,
    behavior: str | None = None,
    step_size: int = 512,
    store: str | Path | None = None,
    judging: Callable[[JudgingProgress], None] | None = None,
) -> tuple[PolicyCheck, tuple[Dropped, ...]]:
    """Score a sample of a policy's responses, and look at what training would see.

    Parameters
    ----------
    policy : path, binary file, data frame, or sequence of Item or of mapping
        Responses, several per prompt. Those of one `group` share a prompt; without groups those
        with the same messages. A base reward is read from `base_reward`.
    reward : RewardModel
        What scores them.
    verdicts, judge : optional
        As for `examine_reward`.
    behavior : str, optional
        Of responses that have none.
    step_size : int, optional
        Responses per step of training, at least 1.
    store : str or path, optional
        Where a language model's replies are kept.
    judging : callable, optional
        Told how far judging is.

    Returns
    -------
    tuple of PolicyCheck and tuple of Dropped
        The check, and responses without a reward or rows that are no responses.

    Raises
    ------
    InputError
        If `step_size` is below 1 or the responses cannot be read.

    Notes
    -----
    Standard deviations within groups divide by n - 1, as trainers do. A group with fewer than two
    rewards has no variance either: there is nothing to compare it with.
    """
    check_count("step_size", step_size, minimum=1)
    read = read_responses(policy, name="policy", reward=reward, behavior=behavior)
    found = judge_responses(
        read.items, reward, verdicts=verdicts, judge=judge, store=store, judging=judging
    )
    started = time.perf_counter()
    rated = rate_items(
        read.items,
        reward,
        judged=found.judged,
        prompts=numbered(read.items, lambda item: (item.group, _asked(item))),
        behaviors=[item.behavior for item in read.items],
        base_rewards=np.array([base_reward(item.metadata) for item in read.items]),
        source=read.source,
    )
    check = PolicyCheck(
        **_groups(rated),
        class_shares=_class_shares(rated),
        **policy_cost(
            found,
            reward,
            judge=judge,
            items=read.items,
            step_size=step_size,
            scoring_s=time.perf_counter() - started,
        ),
        step_size=step_size,
        behaviors=_behaviors(rated),
    )
    return check, (*read.dropped, *rated.dropped)


def _asked(item: Any) -> str | None:
    return None if item.group is not None else prompt_hash(item)


def _groups(rated: RatedItems) -> dict[str, Any]:
    """Figures of all groups together."""
    n = rated.n_prompts
    known = rated.is_rated
    rules = _spreads(rated, rated.rules)
    base = _spreads(rated, rated.signals["base"]) if rated.has_base else np.empty(0)
    base_spread, rule_spread = _mean(base), _mean(rules)
    return {
        "n_items": len(rated.items),
        "n_groups": n,
        "group_size": len(rated.items) / n,
        "n_without_variance": int(_is_flat(rated).sum()),
        "n_missing": int((~known).sum()),
        "base_spread": base_spread,
        "rule_spread": rule_spread,
        "spread_ratio": rule_spread / base_spread if base_spread > 0 else _NAN,
    }


def _spreads(rated: RatedItems, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the standard deviation within each group of at least two."""
    known = np.isfinite(rewards) & rated.is_rated
    prompts, values, n = rated.prompts[known], rewards[known], rated.n_prompts
    counts = per_prompt(prompts, None, n_prompts=n)
    sums = per_prompt(prompts, values, n_prompts=n)
    means = np.divide(sums, counts, out=np.zeros(n), where=counts > 0)
    squares = per_prompt(prompts, np.square(values - means[prompts]), n_prompts=n)
    several = counts > 1
    return np.sqrt(squares[several] / (counts[several] - 1))


def _is_flat(rated: RatedItems) -> NDArray[np.bool_]:
    """Tell which groups have no two rewards that differ."""
    known, n = rated.is_rated, rated.n_prompts
    prompts, values = rated.prompts[known], rated.signals["total"][known]
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, prompts, values)
    np.maximum.at(high, prompts, values)
    some = np.isfinite(low)
    flat = np.ones(n, dtype=bool)
    scale = np.maximum(1.0, np.maximum(np.abs(low[some]), np.abs(high[some])))
    flat[some] = high[some] - low[some] <= TIE * scale
    return flat


def _class_shares(rated: RatedItems) -> dict[str, float]:
    found = {}
    for behavior, features in rated.features.items():
        places = [k for k, name in enumerate(features.names) if name.startswith(f"{behavior}.")]
        classes = features.values[:, places]
        known = classes[~np.isnan(classes).any(axis=1)]
        likeliest = np.bincount(known.argmax(axis=1), minlength=len(places)) if known.size else None
        for k, place in enumerate(places):
            share = _NAN if likeliest is None else float(likeliest[k] / len(known))
            found[features.names[place]] = share
    return found


def _behaviors(rated: RatedItems) -> Mapping[str, Mapping[str, float]]:
    flat = _is_flat(rated)
    found = {}
    for behavior, features in rated.features.items():
        values = rated.signals["total"][features.rows]
        values = values[np.isfinite(values)]
        groups = np.unique(rated.prompts[features.rows])
        found[behavior] = {
            "n_items": int(features.rows.size),
            "n_groups": int(groups.size),
            "mean": _mean(values),
            "standard_deviation": float(values.std()) if values.size else _NAN,
            "share_without_variance": float(flat[groups].mean()),
        }
    return found


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else _NAN
