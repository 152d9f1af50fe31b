"""Weights, figures and what they rest on, put together into a reward model."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError
from voirdire.rewards.comparisons.data import labelled_by_class
from voirdire.rewards.comparisons.order import default_order
from voirdire.rewards.model import BehaviorReward
from voirdire.rewards.vetoes import VETO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.fitting.behavior_fitting import FittedBehavior
    from voirdire.rewards.fitting.judged_comparisons import JudgedComparisons
    from voirdire.rewards.fitting.result import BehaviorFit, Estimate
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rubrics import Rubric

__all__ = ["behavior_reward", "fit_figures", "now", "settings_record"]


def behavior_reward(
    fitted: FittedBehavior, compared: JudgedComparisons, rubric: Rubric
) -> BehaviorReward:
    """Make the reward of one behavior.

    Parameters
    ----------
    fitted : FittedBehavior
        Weights with their record and what they were fitted on.
    compared : JudgedComparisons
        What was compared.
    rubric : Rubric
        With the behavior.

    Returns
    -------
    BehaviorReward
        With origin and scale of the rule rewards over the completions of the fit.
    """
    weights = {row.feature: row.weight.value for row in fitted.record.weights}
    rule: NDArray[np.float64] = fitted.data.features @ fitted.weights
    rule += fitted.data.is_vetoed * weights.get(VETO, 0.0)
    is_best = _is_best(fitted, compared, rubric)
    return BehaviorReward(
        behavior=fitted.record.behavior,
        weights=weights,
        mean=float(rule.mean()),
        standard_deviation=float(rule.std(ddof=1)) if rule.size > 1 else math.nan,
        mean_ideal=float(rule[is_best].mean()) if is_best.any() else math.nan,
        vetoes=fitted.vetoes,
        figures=fit_figures(fitted.record),
    )


def fit_figures(record: BehaviorFit) -> dict[str, Any]:
    """Give the figures of a fit as plain JSON values; an undefined one is None.

    Parameters
    ----------
    record : BehaviorFit
        How the weights of a behavior came about.

    Returns
    -------
    dict
        The attributes of `BehaviorFit` under their names; `weights` by feature with `value`,
        `low`, `high` and `origin`; `l2_path` as pairs of λ and loss; `cycles` as an object.
    """
    return {
        "n_prompts": record.n_prompts,
        "n_items": record.n_items,
        "n_pairs": record.n_pairs,
        "l2": record.l2,
        "l2_path": [[l2, _plain(loss)] for l2, loss in record.l2_path.items()],
        "objective": record.objective,
        "bound": record.bound,
        "weights": {
            row.feature: {**_estimate(row.weight), "origin": row.origin} for row in record.weights
        },
        "error_rate": _estimate(record.error_rate),
        "error_rate_fitted": _plain(record.error_rate_fitted),
        "error_rate_base": _estimate(record.error_rate_base),
        "is_separable": record.is_separable,
        "loose": list(record.loose),
        "cycles": {
            **asdict(record.cycles),
            "examples": [list(ids) for ids in record.cycles.examples],
        },
        "notes": list(record.notes),
    }


def settings_record(
    settings: FitSettings,
    *,
    compared: JudgedComparisons,
    fitted: Sequence[FittedBehavior],
    use_base: bool,
    from_classes: bool,
) -> dict[str, Any]:
    """Give everything that a fit was asked for, as plain JSON values.

    Parameters
    ----------
    settings : FitSettings
        As given.
    compared : JudgedComparisons
        What was compared.
    fitted : sequence of FittedBehavior
        What came of it.
    use_base : bool
        Whether base rewards were part of the differences.
    from_classes : bool
        Whether labels were the classes of the judge's verdicts.

    Returns
    -------
    dict
        Among others `prompt_hashes`: the prompts whose comparisons the weights were fitted on, so
        that an examination can tell whether it looks at others.
    """
    from voirdire.rewards.prompt_hash import prompt_hash

    data = compared.data
    prompts = {place for row in fitted for place in _one_per_prompt(row, data)}
    behaviors = [row.record.behavior for row in fitted]
    return settings.as_dict() | {
        "orders": {
            behavior: str(compared.orders[behavior])
            for behavior in behaviors
            if len(compared.orders[behavior].labels) > 1
        },
        "use_base": use_base,
        "from_classes": from_classes,
        "prompt_hashes": sorted({prompt_hash(data.items[place]) for place in prompts}),
    }


def now() -> str:
    """UTC time, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_best(
    fitted: FittedBehavior, compared: JudgedComparisons, rubric: Rubric
) -> NDArray[np.bool_]:
    """Tell which completions have the best label, or class where nothing has a label."""
    behavior, places = fitted.record.behavior, fitted.data.items
    labels, best = compared.data.labels, compared.orders[behavior].best
    if all(labels[place] is None for place in places):
        try:
            best = default_order(rubric, behavior).best
        except InputError:  # nobody has said which of its classes is the best
            return np.zeros(places.size, dtype=bool)
        labels = labelled_by_class(compared.data, compared.told, rubric=rubric).labels
    return np.array([labels[place] in best for place in places], dtype=bool)


def _one_per_prompt(row: FittedBehavior, data: ComparisonData) -> list[int]:
    prompts = data.prompts[row.data.items]
    return [int(row.data.items[place]) for place in np.unique(prompts, return_index=True)[1]]


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {name: _plain(value) for name, value in asdict(estimate).items()}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
