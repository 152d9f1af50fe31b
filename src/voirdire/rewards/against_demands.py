"""Find weights that pay against the demands of the rubric, before a model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.rewards.features import VETO
from voirdire.rubrics.rubric import write_demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.model import RewardModel

_NEGLIGIBLE_SHARE = 0.01
"""A weight below this share of a behavior's largest weight changes almost nothing."""

_MOST_NAMED = 8


@dataclass(frozen=True, kw_only=True)
class AgainstDemand:
    """A proposition whose unwanted state is paid for.

    Attributes
    ----------
    behavior, proposition : str
        Which.
    demand : str
        In words, such as ``"undesired"``.
    pays : float
        What its weight adds where the proposition is true; positive where it should be false.
    """

    behavior: str
    proposition: str
    demand: str
    pays: float


def find_paid_against_demands(reward: RewardModel) -> tuple[AgainstDemand, ...]:
    """Find the propositions whose unwanted state is paid for, the largest first.

    Weights below a hundredth of the behavior's largest are left out. Only weights of propositions
    count: what classes pay comes on top, and may make up for it.
    """
    rows = []
    for behavior in () if reward.criteria else reward.behaviors:
        features, weights = reward.feature_set(behavior), reward.weight_vector(behavior)
        demands = reward.rubric.behavior(behavior).demands
        is_no_veto = [name != VETO for name in features.names]
        least = _NEGLIGIBLE_SHARE * abs(weights[is_no_veto]).max(initial=0.0)
        for name, is_flipped, weight in zip(
            features.propositions, features.flipped, weights.tolist(), strict=False
        ):
            wanted, pays = demands[name].demanded, -weight if is_flipped else weight
            if wanted is not None and abs(pays) > least and (pays > 0) is not wanted:
                words = write_demand(demands[name])
                rows.append(
                    AgainstDemand(behavior=behavior, proposition=name, demand=words, pays=pays)
                )
    return tuple(sorted(rows, key=lambda row: -abs(row.pays)))


def describe_paid_against_demands(rows: Sequence[AgainstDemand]) -> str:
    """Describe which weights pay against demands, and what each adds; empty without any."""
    if not rows:
        return ""
    listed = "; ".join(
        f"{shorten(row.behavior, width=40)}: {shorten(row.proposition, width=40)} ({row.demand}) "
        f"{row.pays:+.2f}"
        for row in rows[:_MOST_NAMED]
    )
    more = f"; and {len(rows) - _MOST_NAMED} smaller" if len(rows) > _MOST_NAMED else ""
    count = "1 weight pays" if len(rows) == 1 else f"{len(rows)} weights pay"
    return (
        f"{count} against what the rubric demands. Where the proposition is true, the reward "
        f"changes by: {listed}{more}. A model in training may find responses that earn this."
    )
