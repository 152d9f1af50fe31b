"""Builds the answers to clients: rewards, why some are missing, and their contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from voirdire.models.reward_server import Probabilities, RewardName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voirdire.rewards.live.turns import LiveScores
    from voirdire.rewards.model import RewardModel
    from voirdire.web.requests import RewardsRequest

__all__ = [
    "Contributions",
    "OpenRLHFAnswer",
    "RewardDescription",
    "RewardsAnswer",
    "Status",
    "rewards_answer",
]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """That the server answers, or takes requests."""

    status: str


class RewardDescription(RewardName, frozen=True, kw_only=True):
    """What pays: the reward, its judge, and the whole document that it was loaded from.

    `fingerprint` is that of the verdicts which are paid for, `judge` the name of who gives them.
    """

    judge: str
    rubric: str
    rubric_version: str
    behaviors: list[str]
    propositions: list[str]
    uses_base: bool
    document: dict[str, Any]


class Contributions(msgspec.Struct, frozen=True, kw_only=True):
    """What each feature adds: a row per item, in the order of the features of its behavior.

    A row and the base reward add up to the reward; null where the item has no weights. The feature
    `(center)` is what is taken off where rewards are centred.
    """

    features: dict[str, list[str]]
    values: list[list[float | None] | None]


class RewardsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Rewards in the order of the items, null where `missing` says why; never infinite.

    `partial` tells that `n_late` verdicts did not come within the deadline: ask again later, and
    those that came meanwhile cost nothing. `n_remembered` and `n_stored` count items whose verdicts
    were there already. `answered_by` tells which judge of a cascade each item came to; it is there
    together with `probabilities`, and only where the judge is a cascade.
    """

    rewards: list[float | None]
    rule_rewards: list[float | None]
    base_rewards: list[float | None]
    behaviors: list[str | None]
    missing: list[str | None]
    partial: bool
    n_late: int
    n_remembered: int
    n_stored: int
    seconds: float
    reward: RewardName
    ids: list[str | int | None] | UnsetType = UNSET
    probabilities: Probabilities | UnsetType = UNSET
    contributions: Contributions | UnsetType = UNSET
    answered_by: list[str | None] | UnsetType = UNSET


class OpenRLHFAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What OpenRLHF reads: finite numbers only, the same names every time.

    `scores` are the rewards squeezed into 0 to 1, in the same order; in `extra_logs`, `missing` is
    1 where the declared number stands for a reward that is missing.
    """

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


def rewards_answer(
    asked: RewardsRequest,
    found: Sequence[LiveScores],
    *,
    reward: RewardModel,
    seconds: float,
) -> RewardsAnswer:
    """Put the answer to a request together.

    Parameters
    ----------
    asked : RewardsRequest
        Whose ids and wishes count.
    found : sequence of LiveScores
        Which one after the other follow its items.
    reward : RewardModel
        What paid.
    seconds : float
        That it took.
    """
    n_late = sum(part.n_late for part in found)
    ids = [item.id for item in asked.items]
    return RewardsAnswer(
        rewards=_numbers(found, lambda part: part.scores.rewards),
        rule_rewards=_numbers(found, lambda part: part.scores.rule_rewards),
        base_rewards=_numbers(found, lambda part: part.scores.base_rewards),
        behaviors=[name for part in found for name in part.scores.behaviors],
        missing=[
            part.scores.missing.get(item)  # their places, part by part
            for part in found
            for item in part.scores.items
        ],
        partial=n_late > 0,
        n_late=n_late,
        n_remembered=sum(part.n_remembered for part in found),
        n_stored=sum(part.n_stored for part in found),
        seconds=seconds,
        reward=RewardName(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=found[0].judged.fingerprint,
        ),
        ids=ids if any(own is not None for own in ids) else UNSET,
        probabilities=_probabilities(found) if asked.verdicts else UNSET,
        contributions=_contributions(found, reward) if asked.explain else UNSET,
        answered_by=_list_answerers(found) if asked.verdicts else UNSET,
    )


def _numbers(
    found: Sequence[LiveScores], column: Callable[[LiveScores], NDArray[np.float64]]
) -> list[float | None]:
    """Put columns one below the other; nan is written as null."""
    return [value for part in found for value in column(part).tolist()]


def _list_answerers(found: Sequence[LiveScores]) -> list[str | None] | UnsetType:
    """Name the judge of a cascade by item; of one judge there is nothing to tell apart."""
    names = [name for part in found if part.answered_by for name in part.answered_by]
    return names if len(names) == sum(len(part.scores.items) for part in found) else UNSET


def _probabilities(found: Sequence[LiveScores]) -> Probabilities:
    rows = [row for part in found for row in part.judged.probabilities.tolist()]
    return Probabilities(propositions=found[0].judged.questions, values=rows)


def _contributions(found: Sequence[LiveScores], reward: RewardModel) -> Contributions:
    features: dict[str, list[str]] = {}
    values: list[list[float | None] | None] = []
    for part in found:
        added: dict[str, list[float | None]] = {}
        rows = reward.explain(part.scores).group_by("item", "behavior", maintain_order=True)
        columns = ("item", "behavior", "feature", "contribution")
        for item, behavior, names, numbers in rows.all().select(columns).iter_rows():
            features[behavior], added[item] = names, numbers
        values += [added.get(item) for item in part.scores.items]
    return Contributions(features=features, values=values)
