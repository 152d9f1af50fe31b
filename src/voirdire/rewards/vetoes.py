"""Vetoes: propositions that put a response below all others, whatever its other features are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.records.thresholds import get_thresholds
from voirdire.rewards.features import split_behavior

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Threshold
    from voirdire.rewards.features import FeatureSet
    from voirdire.rubrics import Rubric

__all__ = [
    "compute_veto_penalty",
    "compute_vetoes",
    "group_vetoes",
]


_BEYOND = 1.1
"""A veto costs this many times the range of rewards, so that the response is clearly lowest."""

_ROUNDING = 1e-9
"""An upper limit for the rounding error of a sum, as a share of the sum of absolute weights."""


def group_vetoes(
    vetoes: Sequence[str], rubric: Rubric, behaviors: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Group vetoes by behavior; refuse what is no proposition of the rubric."""
    ids = [row.id for row in rubric.behaviors]
    grouped: dict[str, list[str]] = {behavior: [] for behavior in behaviors}
    for veto in vetoes:
        behaviors_named, name = split_behavior(veto, ids)
        if name not in rubric.propositions:
            msg = (
                f"`veto` must be a proposition of rubric {shorten(rubric.name)!r}, got "
                f"{shorten(veto)!r}.{did_you_mean(name, rubric.propositions)}"
            )
            raise InputError(msg)
        for behavior in behaviors_named:
            grouped.get(behavior, []).append(name)
    return {behavior: tuple(dict.fromkeys(names)) for behavior, names in grouped.items()}


def compute_vetoes(
    vetoes: Sequence[str],
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str],
    threshold: Threshold,
) -> NDArray[np.float64]:
    """Compute 1 for each item that is vetoed, 0 for others, and nan where a verdict is missing.

    A veto holds from the judge's threshold on.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    values = values[:, [propositions.index(name) for name in vetoes]]
    is_vetoed = (values >= get_thresholds(threshold, vetoes)).any(axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, is_vetoed.astype(np.float64))


def compute_veto_penalty(
    features: FeatureSet, weights: Mapping[str, float], *, base_range: float = 0.0
) -> float:
    """Compute the penalty of a veto, which no weights and base rewards can make up for.

    It is a tenth more than the most by which features can put a vetoed response above another one.
    A proposition or scale answer changes the reward by at most its weight. Classes add up to 1,
    and so do the answers to a choice: at most, the best takes the place of the worst.
    Where the veto is a single proposition, the vetoed response has it and the other one has not, so
    that it counts only if it is paid.
    """
    reach = base_range + _measure_spread([weights.get(name, 0.0) for name in features.classes])
    choices: dict[str, list[float]] = {}
    for place, name in enumerate(features.asked):
        weight = weights.get(name, 0.0)
        head, is_of_choice, _ = name.partition("=")
        if is_of_choice:
            choices.setdefault(head, []).append(weight)
        elif features.vetoes == (name,):
            is_flipped = features.flipped[place]
            reach += max(0.0, -weight if is_flipped else weight)
        else:
            reach += abs(weight)
    reach += sum(map(_measure_spread, choices.values()))
    size = sum(map(abs, weights.values()))
    return max(_BEYOND * reach, reach + _ROUNDING * size) or 1.0


def _measure_spread(weights: Sequence[float]) -> float:
    return max(weights) - min(weights) if weights else 0.0
