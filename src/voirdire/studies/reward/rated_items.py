"""Items with the rewards that are examined: the base reward, the rules, and both together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire.records import Dropped
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.scoring.combining import weighed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item, Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.result import Signal

__all__ = ["BehaviorFeatures", "RatedItems", "joined_probabilities", "rate_items"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorFeatures:
    """What the reward of one behavior is made of.

    Attributes
    ----------
    names : tuple of str
        The features.
    weights : ndarray of float, shape (n_features,)
        Of the reward.
    rows : ndarray of int, shape (n_rows,)
        Places of the items of this behavior, ascending.
    values : ndarray of float, shape (n_rows, n_features)
        The features of these items; nan where a verdict is missing.
    """

    names: tuple[str, ...]
    weights: NDArray[np.float64] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedItems:
    """Items with their rewards.

    Attributes
    ----------
    items : tuple of Item
        In their order.
    prompts : ndarray of int, shape (n_items,)
        Which prompt each answers, from 0 on.
    n_prompts : int
        How many there are.
    behaviors : tuple of str or None
        The behavior whose weights are used.
    probabilities : ndarray of float, shape (n_items, n_propositions)
        What the judge said; nan where it said nothing.
    propositions : tuple of str
        What these columns are.
    features : mapping of str to BehaviorFeatures
        By behavior, those with weights and items, in the order of the rubric.
    signals : mapping of {"base", "total", "rules"} to ndarray of float, shape (n_items,)
        ``"total"`` is always there, the others where there is a base reward; nan where missing.
    rules : ndarray of float, shape (n_items,)
        The rule reward, base or no base.
    dropped : tuple of Dropped
        Items without a reward, each with its reason.
    """

    items: tuple[Item, ...] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    n_prompts: int
    behaviors: tuple[str | None, ...] = field(repr=False)
    probabilities: NDArray[np.float64] = field(repr=False)
    propositions: tuple[str, ...] = field(repr=False)
    features: Mapping[str, BehaviorFeatures] = field(repr=False)
    signals: Mapping[Signal, NDArray[np.float64]] = field(repr=False)
    rules: NDArray[np.float64] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)

    @property
    def is_rated(self) -> NDArray[np.bool_]:
        """Which items have a reward."""
        return np.isfinite(self.signals["total"])

    @property
    def has_base(self) -> bool:
        """Whether there is a base reward beside the rules."""
        return "base" in self.signals


def rate_items(
    items: Sequence[Item],
    reward: RewardModel,
    *,
    judged: Verdicts,
    prompts: NDArray[np.int64],
    behaviors: Sequence[str | None],
    base_rewards: NDArray[np.float64],
    source: str,
) -> RatedItems:
    """Compute the rewards of items from verdicts.

    Parameters
    ----------
    items : sequence of Item
        Whose rewards.
    reward : RewardModel
        Weights and rubric.
    judged : Verdicts
        Verdicts; items that are not among them have no reward.
    prompts : ndarray of int, shape (n_items,)
        Which prompt each answers, from 0 on.
    behaviors : sequence of str or None
        Of the items.
    base_rewards : ndarray of float, shape (n_items,)
        nan where there is none. Where no item has one, the rules are the reward.
    source : str
        What messages call the items.

    Returns
    -------
    RatedItems
        With three signals where there is a base reward, else with one.
    """
    propositions = reward.columns
    probabilities = joined_probabilities(items, judged, propositions=propositions)
    features: dict[str, BehaviorFeatures] = {}
    rules = np.full(len(items), np.nan)
    named = np.array([name or "" for name in behaviors], dtype=object)
    for row in reward.rubric.behaviors:
        rows = np.flatnonzero(named == row.id)
        if row.id not in reward.behaviors or not rows.size:
            continue
        found = _features(reward, row.id, rows, probabilities, propositions)
        features[row.id] = found
        rules[rows] = weighed(found.values, found.weights)
    base = np.where(np.isfinite(base_rewards), base_rewards, np.nan)
    signals: dict[Signal, NDArray[np.float64]] = {"total": rules}
    if np.isfinite(base).any():
        signals = {"base": base, "total": base + rules, "rules": rules}
    return RatedItems(
        items=tuple(items),
        prompts=prompts,
        n_prompts=int(prompts.max()) + 1 if prompts.size else 0,
        behaviors=tuple(behaviors),
        probabilities=probabilities,
        propositions=propositions,
        features=features,
        signals=signals,
        rules=rules,
        dropped=tuple(_without_reward(items, behaviors, features, signals, judged, source=source)),
    )


def joined_probabilities(
    items: Sequence[Item], judged: Verdicts, *, propositions: Sequence[str]
) -> NDArray[np.float64]:
    """Put what the judge said in the order of items and propositions; nan for what it did not."""
    places = {name: place for place, name in enumerate(judged.items)}
    rows = np.array([places.get(item.id, -1) for item in items], dtype=np.int64)
    known = np.flatnonzero(rows >= 0)
    found = np.full((len(items), len(propositions)), np.nan)
    for column, name in enumerate(propositions):
        if name in judged.questions:
            said = judged.probabilities[:, judged.questions.index(name)]
            found[known, column] = said[rows[known]]
    return found


def _features(
    reward: RewardModel,
    behavior: str,
    rows: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    propositions: tuple[str, ...],
) -> BehaviorFeatures:
    values = reward.feature_values(behavior, probabilities[rows], propositions=propositions)
    return BehaviorFeatures(
        names=reward.feature_set(behavior).names,
        weights=reward.weight_vector(behavior),
        rows=rows,
        values=values,
    )


def _without_reward(
    items: Sequence[Item],
    behaviors: Sequence[str | None],
    features: Mapping[str, BehaviorFeatures],
    signals: Mapping[Signal, NDArray[np.float64]],
    judged: Verdicts,
    *,
    source: str,
) -> list[Dropped]:
    """Say of every item without a reward why it has none."""
    known = frozenset(judged.items)
    found = []
    for place in np.flatnonzero(~np.isfinite(signals["total"])).tolist():
        item, behavior = items[place], behaviors[place]
        if behavior is None:
            reason = "no behavior, so that no weights apply"
        elif behavior not in features:
            reason = f"the reward has no weights for behavior {behavior!r}"
        elif item.id not in known:
            reason = "no verdict"
        elif judged.missing.get(item.id, NO_VERDICT) != NO_VERDICT:
            reason = f"no verdict: {judged.missing[item.id]}"
        elif "base" in signals and not np.isfinite(signals["base"][place]):
            reason = "no base reward, where others have one"
        else:
            reason = "no verdict that the features need"
        found.append(Dropped(reason=reason, source=source, item=item.id))
    return found
