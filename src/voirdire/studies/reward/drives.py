"""What each feature does to the rewards of its behavior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.against_demands import find_paid_against_demands
from voirdire.rewards.certification import certified
from voirdire.rewards.features import VETO
from voirdire.rewards.scores import compute_contributions
from voirdire.rubrics.rubric import write_demand
from voirdire.studies.reward.ranking import center_by_prompt, compute_mean, find_errors
from voirdire.studies.reward.result import FeatureDrive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.features import FeatureSet
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.responses import BehaviorComparisons, RatedComparisons

DEAD_SHARE = 0.001
"""A feature that makes less than this share of all spread has almost no effect."""

SEEN_SPREAD = 0.05
"""Standard deviation within prompts below which a class hardly occurs: that of a class that one
completion in 400 is of. How its weight stands to those of others is then no finding."""

_BLOCK_PAIRS = 50_000


def describe_drives(comparisons: RatedComparisons) -> tuple[FeatureDrive, ...]:
    r"""Tell what each feature does to rankings, and what would be lost without it.

    Parameters
    ----------
    comparisons : RatedComparisons
        Rated completions and comparisons.

    Returns
    -------
    tuple of FeatureDrive
        Per behavior the features in their order.

    Notes
    -----
    The spread of a feature is the pooled standard deviation of its contribution within prompts,
    :math:`\sqrt{\sum_p \sum_{i \in p} (c_i - \bar c_p)^2 / \sum_p (n_p - 1)}`: only differences
    within a prompt decide how its completions are ranked. Shares are of the sum of all spreads,
    which is not the spread of the reward: features go together.

    A feature is dead where its share of the spread is below `DEAD_SHARE`: it hardly varies, or has
    as good as no weight. A proposition is contradictory where `find_paid_against_demands` names
    it, dead or not: what these completions do not vary in, those of a policy may. Of two classes
    that vary by `SEEN_SPREAD`, the lower one in the order of labels is contradictory where it is
    paid better; the higher one where the lower one is dead, since only differences between classes
    count. That is about single weights: classes and propositions are computed from the same
    verdicts, so that what one of them pays against may be made up for by another.
    """
    statuses = certified(comparisons.reward)
    vouched_names = {name for name, status in statuses.items() if status.is_valid}
    drives: list[FeatureDrive] = []
    for row in comparisons.behaviors:
        reward, values = comparisons.reward, row.values
        about = reward.feature_set(row.behavior)
        demands = reward.behavior_rubric.behavior(row.behavior).demands
        prompts = comparisons.rated.prompts[row.rows]
        spreads = [
            _compute_spread_within(prompts, column)
            for column in compute_contributions(values, row.weights).T
        ]
        is_seen = [_compute_spread_within(prompts, column) >= SEEN_SPREAD for column in values.T]
        total = sum(x for x in spreads if np.isfinite(x))
        shares = [x / total if total > 0 and np.isfinite(x) else 0.0 for x in spreads]
        is_dead = [share < DEAD_SHARE for share in shares]
        without = _compute_errors_without(comparisons, row)
        payments = find_paid_against_demands(reward)
        paid_against = {each.proposition for each in payments if each.behavior == row.behavior}
        out_of_order = _find_misordered_classes(row, is_seen=is_seen, is_dead=is_dead)
        needed = _list_needed_propositions(reward, about)
        intervals = _read_intervals(reward, row.behavior)
        nowhere = (float("nan"), float("nan"))
        drives += [
            FeatureDrive(
                behavior=row.behavior,
                feature=name,
                weight=float(row.weights[k]),
                low=intervals.get(name, nowhere)[0],
                high=intervals.get(name, nowhere)[1],
                mean=compute_mean(values[:, k]),
                spread=spreads[k],
                share=shares[k],
                error_rate_without=without[k],
                is_dead=is_dead[k],
                is_contradictory=name in paid_against or (name in out_of_order and not is_dead[k]),
                demand=write_demand(demands[name]) if name in demands else "",
                is_certified=needed[name] <= vouched_names,
            )
            for k, name in enumerate(row.names)
        ]
    return tuple(drives)


def _compute_spread_within(prompts: NDArray[np.int64], values: NDArray[np.float64]) -> float:
    """Pooled standard deviation within prompts; nan where no prompt has two values."""
    is_known = ~np.isnan(values)
    deviations, counts = center_by_prompt(
        prompts[is_known], values[is_known], n_prompts=int(prompts.max(initial=0)) + 1
    )
    n_free = int(is_known.sum() - np.count_nonzero(counts))
    return float(np.sqrt(np.square(deviations).sum() / n_free)) if n_free else float("nan")


def _compute_errors_without(comparisons: RatedComparisons, row: BehaviorComparisons) -> list[float]:
    """Rank all comparisons once for each feature that is left out."""
    n_features = len(row.names)
    if not row.better.size:
        return [float("nan")] * n_features
    total = comparisons.rated.signals["total"]
    wrong = np.zeros(n_features)
    for start in range(0, row.better.size, _BLOCK_PAIRS):
        sides = []
        for places in (row.better, row.worse):
            chosen = places[start : start + _BLOCK_PAIRS]
            paid = compute_contributions(row.select(chosen), row.weights)
            sides.append(total[chosen, None] - paid)
        wrong += find_errors(*sides)[0].sum(axis=0)
    return [float(x) for x in wrong / row.better.size]


def _find_misordered_classes(
    row: BehaviorComparisons, *, is_seen: list[bool], is_dead: list[bool]
) -> set[str]:
    """Find the classes whose weights contradict the order of the classes."""
    prefix = f"{row.behavior}."
    classes = {
        name.removeprefix(prefix): k
        for k, name in enumerate(row.names)
        if name.startswith(prefix) and name.removeprefix(prefix) in row.order.labels and is_seen[k]
    }
    misordered = set()
    for high, above in classes.items():
        for low in row.order.better(high) & classes.keys():
            below = classes[low]
            if row.weights[below] > row.weights[above]:
                misordered.add(row.names[above if is_dead[below] else below])
    return misordered


def _list_needed_propositions(reward: RewardModel, about: FeatureSet) -> dict[str, set[str]]:
    """Name the propositions that each feature depends on."""
    if reward.criteria is not None:
        return {name: set(reward.rubric.propositions) for name in about.names}
    classes = set(reward.rubric.logic.compile_classes(about.behavior).variables)
    vetoed = set(about.vetoes)
    needed = {name: {name.partition("=")[0]} for name in about.asked}
    return needed | {VETO: vetoed} | dict.fromkeys(about.classes, classes)


def _read_intervals(reward: RewardModel, behavior: str) -> dict[str, tuple[float, float]]:
    """Read the intervals that the fit has left in the model's figures."""
    rows: Any = reward.behaviors[behavior].figures.get("weights")
    intervals = {}
    for name, row in rows.items() if isinstance(rows, dict) else ():
        low, high = (row.get("low"), row.get("high")) if isinstance(row, dict) else (None, None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            intervals[name] = (float(low), float(high))
    return intervals
