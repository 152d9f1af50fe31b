"""Must-haves: what puts a response below all others, whatever else it earns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, LogicError
from voirdire.records.thresholds import get_thresholds
from voirdire.rubrics import expression_probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Threshold
    from voirdire.rewards.features import FeatureSet
    from voirdire.rubrics import Rubric

__all__ = [
    "VETO",
    "part_behavior",
    "veto_penalty",
    "veto_propositions",
    "veto_values",
    "vetoes_by_behavior",
]


VETO = "(veto)"
"""What the feature is called that is 1 where a response is vetoed, else 0."""

_BEYOND = 1.1
"""Times the range of rewards: a vetoed response lies clearly below others."""

_ROUNDING = 1e-9
"""Of the sizes of all weights: what sums of their products may be off, with room to spare."""


_WORD = re.compile(r"[\w-]+")

_LARGEST = 1e15
"""What rewards keep clear of: from 1e16 on a trainer cannot take them."""


def part_behavior(name: str, behaviors: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Part the behavior off a name that begins with one, as ``behavior:feature``; else it is all's.

    A behavior before a colon with nothing behind it is part of the name.
    """
    known = tuple(behaviors)
    head, _, rest = name.partition(":")
    is_one = bool(rest) and head.strip() in known
    return ((head.strip(),), rest.strip()) if is_one else (known, name.strip())


def vetoes_by_behavior(
    said: str | Sequence[str], rubric: Rubric, behaviors: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Settle what is vetoed in each behavior; refuse what has no meaning in the rubric."""
    known = [row.id for row in rubric.behaviors]
    found: dict[str, dict[str, None]] = {behavior: {} for behavior in behaviors}
    for veto in [said] if isinstance(said, str) else said:
        named, expression = part_behavior(veto, known)
        head, _, rest = expression.partition(":")
        if rest and _WORD.fullmatch(head.strip()):
            msg = (
                f"`veto` must name a behavior of rubric {shorten(rubric.name)!r} before the colon, "
                f"got {shorten(veto)!r}. Behaviors are: {', '.join(known)}."
            )
            raise InputError(msg)
        idle = sorted(set(named) - found.keys())
        if len(named) == 1 and idle:
            msg = (
                f"`veto` must be of a behavior that has weights, got {shorten(veto)!r}. Give "
                f"{idle[0]!r} weights, or leave the veto out."
            )
            raise InputError(msg)
        open_in = [name for name in named if veto_propositions(rubric, name, [expression])]
        if not open_in:
            msg = (
                f"`veto` must depend on a proposition, got {shorten(veto)!r}, which no response "
                "can change."
            )
            raise InputError(msg)
        for behavior in open_in:
            found.get(behavior, {})[expression] = None
    return {behavior: tuple(row) for behavior, row in found.items()}


def veto_propositions(rubric: Rubric, behavior: str, vetoes: Iterable[str]) -> set[str]:
    """Name the propositions that vetoes depend on."""
    found: set[str] = set()
    for veto in vetoes:
        try:
            found.update(rubric.logic.flow(veto, behavior).variables)
        except LogicError as error:
            msg = (
                "`veto` must be a proposition, named expression or condition of rubric "
                f"{shorten(rubric.name)!r}, got {shorten(veto)!r}: {error}"
            )
            raise InputError(msg) from error
    return found


def veto_values(
    rubric: Rubric,
    behavior: str,
    vetoes: Sequence[str],
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str],
    threshold: Threshold,
) -> NDArray[np.float64]:
    """Give 1 for each item that is vetoed, 0 for others, and nan where a verdict is missing.

    A veto holds from the judge's threshold on; that of an expression is the lowest of those of its
    propositions.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    is_vetoed, is_unknown = np.zeros(len(given), dtype=bool), np.zeros(len(given), dtype=bool)
    for veto in vetoes:
        found = expression_probability(
            rubric, veto, probabilities=given, propositions=propositions, behavior=behavior
        )
        names = sorted(veto_propositions(rubric, behavior, [veto]))
        is_vetoed |= found >= get_thresholds(threshold, names).min()
        is_unknown |= np.isnan(found)
    return np.where(is_unknown, np.nan, is_vetoed.astype(np.float64))


def veto_penalty(
    features: FeatureSet, weights: Mapping[str, float], *, base_range: float = 0.0
) -> float:
    """Give what a veto takes off: neither weights nor base rewards so far apart make up for it.

    It is a tenth more than the most by which features can put a vetoed response above another:
    what is asked moves by its weight up to its cap, and of classes, as of the answers to a choice,
    which add up to 1, the best takes the place of the worst. A proposition that is all there is to
    the veto tells the two apart: where it costs something, it puts no vetoed response above.
    """
    reach = base_range + _spread([weights.get(name, 0.0) for name in features.classes])
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
    reach += sum(map(_spread, choices.values()))
    size = sum(map(abs, weights.values()))
    penalty = max(_BEYOND * reach, reach + _ROUNDING * size) or 1.0
    if not penalty <= _LARGEST:
        msg = (
            "`veto` must stand beside weights and base rewards that are far below "
            f"{_LARGEST:g}, got a penalty of {penalty:g}. Rescale them."
        )
        raise InputError(msg)
    return penalty


def _spread(weights: Sequence[float]) -> float:
    return max(weights) - min(weights) if weights else 0.0
