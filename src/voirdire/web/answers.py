"""What a client is answered: rewards, why they are missing, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from voirdire.rewards.scoring.combining import contributions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.model import RewardModel
    from voirdire.web.requests import RewardsRequest

__all__ = [
    "Contributions",
    "Probabilities",
    "RewardDescription",
    "RewardName",
    "RewardsAnswer",
    "Status",
    "rewards_answer",
]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """That the server answers, or takes requests."""

    status: str


class RewardDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What pays: the reward, its judge, and the whole document that it was loaded from.

    `fingerprint` is that of the verdicts which are paid for, `judge` the name of who gives them.
    """

    name: str
    content_hash: str
    fingerprint: str
    judge: str
    rubric: str
    rubric_version: str
    behaviors: list[str]
    propositions: list[str]
    uses_base: bool
    document: dict[str, Any]


class RewardName(msgspec.Struct, frozen=True, kw_only=True):
    """Which reward paid: its name and hash, and the fingerprint of the verdicts it was given."""

    name: str
    content_hash: str
    fingerprint: str


class Probabilities(msgspec.Struct, frozen=True, kw_only=True):
    """That each proposition is true: a row per item, a column per proposition, null if unknown."""

    propositions: tuple[str, ...]
    values: list[list[float | None]]


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


def rewards_answer(
    asked: RewardsRequest,
    found: Sequence[LiveScores],
    *,
    reward: RewardModel,
    name: RewardName,
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
    name : RewardName
        What it is called in the answer.
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
        reward=name,
        ids=ids if any(own is not None for own in ids) else UNSET,
        probabilities=_probabilities(found) if asked.verdicts else UNSET,
        contributions=_contributions(found, reward) if asked.explain else UNSET,
        answered_by=_answered_by(found) if asked.verdicts else UNSET,
    )


def _numbers(
    found: Sequence[LiveScores], column: Callable[[LiveScores], NDArray[np.float64]]
) -> list[float | None]:
    """Put columns one below the other; nan is written as null."""
    return [value for part in found for value in column(part).tolist()]


def _answered_by(found: Sequence[LiveScores]) -> list[str | None] | UnsetType:
    """Name the judge of a cascade by item; of one judge there is nothing to tell apart."""
    names = [name for part in found if part.answered_by for name in part.answered_by]
    return names if len(names) == sum(len(part.scores.items) for part in found) else UNSET


def _probabilities(found: Sequence[LiveScores]) -> Probabilities:
    rows = [row for part in found for row in part.judged.probabilities.tolist()]
    return Probabilities(propositions=found[0].judged.questions, values=rows)


def _contributions(found: Sequence[LiveScores], reward: RewardModel) -> Contributions:
    features: dict[str, list[str]] = {}
    values = [row for part in found for row in _contributed(part, reward, features)]
    return Contributions(features=features, values=values)


def _contributed(
    part: LiveScores, reward: RewardModel, features: dict[str, list[str]]
) -> list[list[float | None] | None]:
    """Give the rows of a part, and note the names of their features."""
    rows: list[list[float | None] | None] = [None] * len(part.scores.items)
    for behavior, numbers in part.scores.features.items():
        names, added = _added(reward, behavior, numbers, part.scores.centers.get(behavior))
        features[behavior] = names
        places = [place for place, own in enumerate(part.scores.behaviors) if own == behavior]
        for place, row in zip(places, added.tolist(), strict=True):
            rows[place] = row
    return rows


def _added(
    reward: RewardModel, behavior: str, numbers: NDArray[np.float64], center: float | None
) -> tuple[list[str], NDArray[np.float64]]:
    names = list(reward.feature_set(behavior).names)
    added = contributions(numbers, reward.weight_vector(behavior))
    if center is None:
        return names, added
    last = np.full((len(added), 1), -center)
    return [*names, "(center)"], np.concatenate([added, last], axis=1)
