"""Verdicts, behaviors and base rewards in, rewards out; what is missing stays missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rewards.certification import paying_propositions
from voirdire.rewards.scoring.scores import TOO_LARGE, Scores, is_reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rubrics import Rubric

__all__ = ["Combiner", "contributions", "paying_answers", "to_be_judged", "weighed"]

_NO_BEHAVIOR = "no behavior"


class Combiner:
    """Gives rewards by one model; everything that does not depend on items is settled once."""

    def __init__(self, model: RewardModel, *, center: bool = False) -> None:
        self.model = model
        self.weights = {name: model.weight_vector(name) for name in model.behaviors}
        self.centers = _centers(model) if center else {}
        self._known = {row.id for row in model.rubric.behaviors}
        self._needed = (*paying_propositions(model), *paying_answers(model, *model.behaviors))

    def check_asked(self, propositions: Sequence[str]) -> None:
        """Refuse verdicts that lack a proposition which the reward weighs."""
        lacking = [name for name in self._needed if name not in propositions]
        if lacking:
            msg = (
                "`verdicts` must be on every proposition that reward "
                f"{shorten(self.model.name)!r} weighs, got none on {', '.join(lacking)}. Judge "
                "with the rubric of the reward."
            )
            raise InputError(msg)

    def scores(
        self,
        judged: Verdicts,
        *,
        behaviors: Sequence[str | None],
        base: NDArray[np.float64],
        base_reasons: Mapping[str, str],
    ) -> Scores:
        """Score items.

        Parameters
        ----------
        judged : Verdicts
            Verdicts on these items, in their order.
        behaviors : sequence of str or None
            What the items say themselves; else the verdicts' behavior counts.
        base : ndarray of float, shape (n_items,)
            Base rewards; nan where `base_reasons` says why there is none.
        base_reasons : mapping of str to str
            By item id.
        """
        used = tuple(
            own if own is not None else theirs
            for own, theirs in zip(behaviors, judged.behaviors, strict=True)
        )
        rule = np.full(len(judged.items), np.nan)
        missing: dict[str, str] = {}
        features: dict[str, NDArray[np.float64]] = {}
        whole = _on_all(judged, self.model.columns)
        for behavior, rows in _rows_of(used).items():
            ids = [judged.items[row] for row in rows.tolist()]
            if behavior not in self.weights:
                missing |= dict.fromkeys(ids, self._why_not(behavior))
                continue
            found = self.model.feature_values(
                behavior, whole[rows], propositions=self.model.columns
            )
            features[behavior] = found
            center = self.centers.get(behavior, 0.0)
            rule[rows] = weighed(found, self.weights[behavior], center=center)
            weighs = self.weights[behavior] != 0
            lacks = np.asarray(np.isnan(found[:, weighs]).any(axis=1))
            for place in np.flatnonzero(~is_reward(rule[rows])).tolist():
                name = ids[place]
                missing[name] = _why_no_rule(judged, name) if lacks[place] else TOO_LARGE
        rule[~is_reward(rule)] = np.nan
        return Scores(
            items=judged.items,
            behaviors=used,
            rewards=_added(rule, base, judged.items, missing, base_reasons),
            base_rewards=base,
            rule_rewards=rule,
            missing=missing,
            features=features,
            centers=self.centers,
        )

    def _why_not(self, behavior: str | None) -> str:
        if behavior is None:
            return _NO_BEHAVIOR
        if behavior in self._known:
            return f"no weights for behavior {behavior!r}"
        return f"unknown behavior {shorten(behavior)!r}"


def paying_answers(model: RewardModel, *behaviors: str) -> list[str]:
    """Name the answers to scale and choice questions that have a weight in any of these."""
    return [
        name
        for name in model.columns[len(model.rubric.propositions) :]
        if any(model.behaviors[own].weights.get(name, 0.0) for own in behaviors)
    ]


def _why_no_rule(judged: Verdicts, name: str) -> str:
    reason = judged.missing.get(name)
    if reason is None:  # its verdicts are there, but give no class: nothing to normalise by
        return "no class probability"
    return NO_VERDICT if reason == NO_VERDICT else f"failed verdict: {shorten(reason)}"


def _added(
    rule: NDArray[np.float64],
    base: NDArray[np.float64],
    items: Sequence[str],
    missing: dict[str, str],
    base_reasons: Mapping[str, str],
) -> NDArray[np.float64]:
    """Add up, and say of the rest why there is none; the first reason stays."""
    with np.errstate(over="ignore"):
        found = np.asarray(rule + base)
    for place in np.flatnonzero(~is_reward(found)).tolist():
        name = items[place]
        missing.setdefault(name, base_reasons.get(name, TOO_LARGE))
    found[~is_reward(found)] = np.nan
    return found


def _centers(model: RewardModel) -> dict[str, float]:
    for row in model.behaviors.values():
        if not np.isfinite(row.mean):
            msg = (
                f"`center` must be left out for reward {shorten(model.name)!r}, got it: nobody "
                f"knows the mean of its behavior {row.behavior!r}. Fit it on comparisons."
            )
            raise InputError(msg)
    return {name: float(row.mean) for name, row in model.behaviors.items()}


def _rows_of(behaviors: Sequence[str | None]) -> dict[str | None, NDArray[np.int64]]:
    codes: dict[str | None, int] = {}
    numbers = [codes.setdefault(name, len(codes)) for name in behaviors]
    array = np.array(numbers, dtype=np.int64)
    return {name: np.flatnonzero(array == code) for name, code in codes.items()}


def _on_all(judged: Verdicts, propositions: tuple[str, ...]) -> NDArray[np.float64]:
    """Give a column for each proposition, nan for one that nobody was asked about."""
    if judged.questions == propositions:
        return judged.probabilities
    found = np.full((len(judged.items), len(propositions)), np.nan)
    for column, name in enumerate(propositions):
        if name in judged.questions:
            found[:, column] = judged.probability(name)
    return found


def to_be_judged(items: Sequence[Item], rubric: Rubric) -> list[Item]:
    """Leave out behaviors that the rubric does not have, which no judge takes."""
    known = {row.id for row in rubric.behaviors} | {None}
    return [
        item if item.behavior in known else msgspec.structs.replace(item, behavior=None)
        for item in items
    ]


def weighed(
    features: NDArray[np.float64], weights: NDArray[np.float64], *, center: float = 0.0
) -> NDArray[np.float64]:
    """Add up the weighted features of items, less a center; nan where one is missing."""
    counts = weights != 0
    # an item's sum must not depend on how many others there are, as that of a product of
    # matrices does: the same item is scored alone and among a million
    with np.errstate(over="ignore", invalid="ignore"):  # too large a number is the caller's to see
        parts = np.ascontiguousarray(features[:, counts] * weights[counts])
        return np.asarray(parts.sum(axis=1) - center)


def contributions(
    features: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Say what each feature adds: 0 where it weighs nothing, missing or not."""
    return np.where(weights == 0, 0.0, features * weights + 0.0)  # never -0
