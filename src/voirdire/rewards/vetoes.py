"""Vetoes: conditions that put a response below all others, whatever its other features are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, LogicError
from voirdire.records.thresholds import get_thresholds
from voirdire.rewards.features import FeatureSet, split_behavior
from voirdire.rubrics import expression_probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Threshold
    from voirdire.rubrics import Rubric

__all__ = [
    "compute_veto_penalty",
    "compute_vetoes",
    "group_vetoes",
    "list_veto_propositions",
]


_BEYOND = 1.1
"""A veto costs this many times the range of rewards, so that the response is clearly lowest."""

_ROUNDING = 1e-9
"""An upper limit for the rounding error of a sum, as a share of the sum of absolute weights."""


_WORD = re.compile(r"[\w-]+")

_LARGEST = 1e15
"""The largest penalty: a trainer cannot take rewards from 1e16 on."""


def group_vetoes(
    vetoes: str | Sequence[str], rubric: Rubric, behaviors: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Group vetoes by behavior; refuse vetoes that have no meaning in the rubric."""
    ids = [row.id for row in rubric.behaviors]
    grouped: dict[str, dict[str, None]] = {behavior: {} for behavior in behaviors}
    for veto in [vetoes] if isinstance(vetoes, str) else vetoes:
        behaviors_named, expression = split_behavior(veto, ids)
        head, _, rest = expression.partition(":")
        if rest and _WORD.fullmatch(head.strip()):
            msg = (
                f"`veto` must name a behavior of rubric {shorten(rubric.name)!r} before the colon, "
                f"got {shorten(veto)!r}. Behaviors are: {', '.join(ids)}."
            )
            raise InputError(msg)
        weightless = sorted(set(behaviors_named) - grouped.keys())
        if len(behaviors_named) == 1 and weightless:
            msg = (
                f"`veto` must be of a behavior that has weights, got {shorten(veto)!r}. Give "
                f"{weightless[0]!r} weights, or leave the veto out."
            )
            raise InputError(msg)
        affected = [
            name for name in behaviors_named if list_veto_propositions(rubric, name, [expression])
        ]
        if not affected:
            msg = (
                f"`veto` must depend on a proposition, got {shorten(veto)!r}, which is the same "
                "for every response. Name a proposition."
            )
            raise InputError(msg)
        for behavior in affected:
            grouped.get(behavior, {})[expression] = None
    return {behavior: tuple(row) for behavior, row in grouped.items()}


def list_veto_propositions(rubric: Rubric, behavior: str, vetoes: Iterable[str]) -> set[str]:
    """List the propositions that vetoes depend on."""
    names: set[str] = set()
    for veto in vetoes:
        try:
            names.update(rubric.logic.compile_expression(veto, behavior).variables)
        except LogicError as error:
            msg = (
                "`veto` must be a proposition, named expression or condition of rubric "
                f"{shorten(rubric.name)!r}, got {shorten(veto)!r}: {error}"
            )
            raise InputError(msg) from error
    return names


def compute_vetoes(
    rubric: Rubric,
    behavior: str,
    vetoes: Sequence[str],
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str],
    threshold: Threshold,
) -> NDArray[np.float64]:
    """Compute 1 for each item that is vetoed, 0 for others, and nan where a verdict is missing.

    A veto holds from the judge's threshold on; the threshold of an expression is the lowest one of
    its propositions.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    is_vetoed, is_unknown = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    for veto in vetoes:
        degrees = expression_probability(
            rubric, veto, probabilities=values, propositions=propositions, behavior=behavior
        )
        names = sorted(list_veto_propositions(rubric, behavior, [veto]))
        is_vetoed |= degrees >= get_thresholds(threshold, names).min()
        is_unknown |= np.isnan(degrees)
    return np.where(is_unknown, np.nan, is_vetoed.astype(np.float64))


def compute_veto_penalty(
    features: FeatureSet, weights: Mapping[str, float], *, base_range: float = 0.0
) -> float:
    """Compute the penalty of a veto, which no weights and base rewards can make up for.

    It is a tenth more than the most by which features can put a vetoed response above another one.
    A proposition or scale answer changes the reward by at most its weight times its cap. Classes
    add up to 1, and so do the answers to a choice: at most, the best takes the place of the worst.
    Where the veto is a single proposition, the vetoed response has it and the other one has not, so
    that it counts only if it is paid.
    """
    reach = base_range + _measure_spread([weights.get(name, 0.0) for name in features.classes])
    choices: dict[str, list[float]] = {}
    for place, name in enumerate(features.asked):
        weight, cap = weights.get(name, 0.0), features.caps.get(name, 1.0)
        head, is_of_choice, _ = name.partition("=")
        if is_of_choice and not any(each.startswith(f"{head}=") for each in features.caps):
            choices.setdefault(head, []).append(weight)
        elif features.vetoes == (name,):
            is_flipped = features.flipped[place]
            reach += cap * max(0.0, -weight if is_flipped else weight)
        else:
            reach += cap * abs(weight)
    reach += sum(map(_measure_spread, choices.values()))
    size = sum(map(abs, weights.values()))
    penalty = max(_BEYOND * reach, reach + _ROUNDING * size) or 1.0
    if not penalty <= _LARGEST:
        msg = (
            "`veto` must stand beside weights and base rewards that are far below "
            f"{_LARGEST:g}, got a penalty of {penalty:g}. Rescale them."
        )
        raise InputError(msg)
    return penalty


def _measure_spread(weights: Sequence[float]) -> float:
    return max(weights) - min(weights) if weights else 0.0
