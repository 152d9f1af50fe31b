"""Compute rewards of items from verdicts, and what each feature adds to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.declared import ItemReading
from voirdire.judging.items import read_items_in_memory
from voirdire.judging.settings import StoredReplies
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rewards.certification import list_paying_propositions
from voirdire.rewards.criteria import CRITERIA
from voirdire.rewards.guards import NOT_BEHIND, REST, Guards
from voirdire.rewards.verdict_source import choose_source, collect_rests

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Dropped, Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.verdict_source import VerdictSource
    from voirdire.rubrics import Rubric

LARGEST_REWARD = 1e16
"""Trainers keep rewards in 32 bits: the variance of larger ones would be infinite there."""

TOO_LARGE = "the reward is too large a number"


def is_reward(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers a trainer can take: neither nan nor larger than `LARGEST_REWARD`."""
    return np.asarray(np.abs(values) <= LARGEST_REWARD)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Rewards of items, and what they are made of.

    Attributes
    ----------
    items : tuple of str
        Ids, in their order.
    behaviors : tuple of str or None
        The behavior whose weights were used.
    rewards : ndarray of float, shape (n_items,)
        Base and rule reward together; nan where it is missing, as one beyond 1e16 is.
    base_rewards : ndarray of float, shape (n_items,)
        What another reward model gave; 0 where the reward uses none.
    rule_rewards : ndarray of float, shape (n_items,)
        The weighted features, after gate, cap and the look behind refusals; nan where a verdict
        is missing.
    missing : mapping of str to str
        By item id why there is no reward.
    features : mapping of str to ndarray of float
        By behavior the features of its items, in their order, for `explain`: shape (n_items of
        the behavior, n_features). Only behaviors that the reward has weights for.
    gated : ndarray of bool, shape (n_items,)
        Which responses the gate stopped: their rule reward is the floor of their behavior.
    capped : ndarray of bool, shape (n_items,)
        Which are paid the cap of their behavior, and would be paid as much or more without it.
    margins : ndarray of float, shape (n_items,)
        How far a response is beyond the threshold of the gate; nan where it did not look.
    guarded : ndarray of float, shape (n_items,)
        What gate, cap and the look behind refusals added to the weighted features.
    centers : mapping of str to float
        By behavior what was taken off its rule rewards; empty where nothing was.
    dropped : tuple of Dropped
        Rows that are no items, each with its reason.
    notes : tuple of str
        What the reader should know.
    """

    items: tuple[str, ...] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    rewards: NDArray[np.float64] = field(repr=False)
    base_rewards: NDArray[np.float64] = field(repr=False)
    rule_rewards: NDArray[np.float64] = field(repr=False)
    gated: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    capped: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    margins: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    guarded: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    missing: Mapping[str, str] = field(default_factory=dict, repr=False)
    features: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    centers: Mapping[str, float] = field(default_factory=dict, repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()


_NO_BEHAVIOR = "no behavior"


class Combiner:
    """Computes rewards by one model; prepares once what does not depend on items."""

    def __init__(self, model: RewardModel, *, center: bool = False) -> None:
        self.model = model
        self.weights = {name: model.weight_vector(name) for name in model.behaviors}
        self.centers = {x: float(row.mean) for x, row in model.behaviors.items() if center}
        for name, mean in self.centers.items():
            if not math.isfinite(mean):
                msg = (
                    f"`center` must be left out for reward {shorten(model.name)!r}, got it: the "
                    f"mean of its behavior {name!r} is unknown. Fit the reward on comparisons."
                )
                raise InputError(msg)
        self.guards = Guards(
            model.gate,
            {name: row.guard for name, row in model.behaviors.items()},
        )
        self._needed = (
            *list_paying_propositions(model),
            *list_paying_answers(model, *model.behaviors),
        )

    def check_questions(self, propositions: Sequence[str]) -> None:
        """Refuse verdicts that lack a proposition which the reward weighs."""
        lacking = [name for name in self._needed if name not in propositions]
        if lacking:
            msg = (
                "`verdicts` must be on every proposition that reward "
                f"{shorten(self.model.name)!r} weighs, got none on {', '.join(lacking)}. Judge "
                "with the rubric of the reward."
            )
            raise InputError(msg)

    def score(
        self,
        judged: Verdicts,
        *,
        behaviors: Sequence[str | None],
        base: NDArray[np.float64],
        base_reasons: Mapping[str, str],
        items: Sequence[Item | None] = (),
        behind: Verdicts | None = None,
        given: tuple[NDArray[np.float64], Mapping[str, str]] | None = None,
    ) -> Scores:
        """Score items.

        Parameters
        ----------
        judged : Verdicts
            Verdicts on these items, in their order.
        behaviors : sequence of str or None
            Behaviors of the items; where one is None, the verdicts' behavior counts.
        base : ndarray of float, shape (n_items,)
            Base rewards; nan where `base_reasons` says why there is none.
        base_reasons : mapping of str to str
            By item id.
        items : sequence of Item, optional
            The items, whose texts the guards read; needed where the reward has any.
        behind : Verdicts, optional
            Verdicts on what `guards.list_rests` lists of the items.
        given : tuple of ndarray of float and mapping of str to str, optional
            Rule rewards that are computed already, by another process or of criteria, nan where
            there is none; and why, by item id.
        """
        item_behaviors = tuple(
            own if own is not None else theirs
            for own, theirs in zip(behaviors, judged.behaviors, strict=True)
        )
        ids = judged.items
        rule, missing, features = self._weigh(judged, item_behaviors)
        gated, guarded = np.zeros(len(ids), dtype=bool), np.zeros(len(ids))
        capped, margins = gated, np.full(len(ids), np.nan)
        if given is not None:
            rule, reasons = np.array(given[0]), given[1]
            lacking = [ids[row] for row in np.flatnonzero(~is_reward(rule)).tolist()]
            missing = {name: reasons[name] for name in lacking if name in reasons}
        if self.guards:
            rests = np.full(len(ids), np.nan)
            if behind is not None:
                rows = [judged.places[name.removesuffix(REST)] for name in behind.items]
                rests[rows], why, _ = self._weigh(behind, [item_behaviors[row] for row in rows])
                for row in rows:
                    if np.isnan(rests[row]) and ids[row] not in missing and given is None:
                        rule[row], missing[ids[row]] = np.nan, why[ids[row] + REST]
            paid, gated, capped, margins = self.guards.apply(rule, rests, items, item_behaviors)
            if given is None:  # a server has done this
                guarded = np.where(np.isnan(rule), 0.0, paid - rule)
                missing = {
                    name: why
                    for name, why in missing.items()
                    if np.isnan(paid[judged.places[name]])
                }
                rule = paid
        if given is None:
            rule -= [self.centers.get(name, 0.0) if name else 0.0 for name in item_behaviors]
        rule[~is_reward(rule)] = np.nan
        with np.errstate(over="ignore"):
            rewards = np.asarray(rule + base)
        for place in np.flatnonzero(~is_reward(rewards)).tolist():
            missing.setdefault(ids[place], base_reasons.get(ids[place], TOO_LARGE))
        rewards[~is_reward(rewards)] = np.nan
        return Scores(
            items=ids,
            behaviors=item_behaviors,
            rewards=rewards,
            base_rewards=base,
            rule_rewards=rule,
            gated=gated,
            capped=capped,
            margins=margins,
            guarded=guarded,
            missing=missing,
            features=features,
            centers=self.centers,
        )

    def _weigh(
        self, judged: Verdicts, behaviors: Sequence[str | None]
    ) -> tuple[NDArray[np.float64], dict[str, str], dict[str, NDArray[np.float64]]]:
        """Add up the weighted features of items; say why some have none, and give the features."""
        rule = np.full(len(judged.items), np.nan)
        missing: dict[str, str] = {}
        features: dict[str, NDArray[np.float64]] = {}
        probabilities = select_columns(judged, self.model.columns)
        for behavior, rows in group_rows(behaviors).items():
            ids = [judged.items[row] for row in rows.tolist()]
            if behavior not in self.weights:
                is_known = behavior in {row.id for row in self.model.rubric.behaviors}
                why = f"no weights for behavior {behavior!r}"
                if not is_known:
                    unknown = f"unknown behavior {shorten(behavior or '')!r}"
                    why = _NO_BEHAVIOR if behavior is None else unknown
                missing |= dict.fromkeys(ids, why)
                continue
            values = self.model.feature_values(
                behavior, probabilities[rows], propositions=self.model.columns
            )
            features[behavior] = values
            rule[rows] = sum_features(values, self.weights[behavior])
            weighs = self.weights[behavior] != 0
            lacks = np.asarray(np.isnan(values[:, weighs]).any(axis=1))
            for place in np.flatnonzero(~is_reward(rule[rows])).tolist():
                # its verdicts may be there, but the probabilities of all classes be 0
                why = judged.missing.get(ids[place], "no class probability")
                if why != NO_VERDICT and ids[place] in judged.missing:
                    why = f"failed verdict: {shorten(why)}"
                missing[ids[place]] = why if lacks[place] else TOO_LARGE
        return rule, missing, features


def list_paying_answers(model: RewardModel, *behaviors: str) -> list[str]:
    """Name the answers to scale and choice questions that have a weight in any of these."""
    return [
        name
        for name in model.columns[len(model.rubric.propositions) :]
        if any(model.behaviors[own].weights.get(name, 0.0) for own in behaviors)
    ]


def group_rows(behaviors: Sequence[str | None]) -> dict[str | None, NDArray[np.int64]]:
    """List the rows of each behavior."""
    codes: dict[str | None, int] = {}
    numbers = [codes.setdefault(name, len(codes)) for name in behaviors]
    array = np.array(numbers, dtype=np.int64)
    return {name: np.flatnonzero(array == code) for name, code in codes.items()}


def select_columns(judged: Verdicts, propositions: Sequence[str]) -> NDArray[np.float64]:
    """Return a column for each proposition, nan where it was not asked."""
    if judged.questions == tuple(propositions):
        return judged.probabilities
    selected = np.full((len(judged.items), len(propositions)), np.nan)
    for column, name in enumerate(propositions):
        if name in judged.questions:
            selected[:, column] = judged.probability(name)
    return selected


def hide_unknown_behaviors(items: Sequence[Item], rubric: Rubric) -> list[Item]:
    """Take behaviors off items where the rubric lacks them, since no judge accepts them."""
    behaviors = {row.id for row in rubric.behaviors} | {None}
    return [
        item if item.behavior in behaviors else msgspec.structs.replace(item, behavior=None)
        for item in items
    ]


def sum_features(
    features: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up the weighted features of items; nan where one is missing."""
    counts = weights != 0
    # The sum of an item must not depend on how many other items there are. That of a matrix
    # product does: the same item would score differently alone and among a million.
    with np.errstate(over="ignore", invalid="ignore"):  # the caller handles numbers too large
        parts = np.ascontiguousarray(features[:, counts] * weights[counts])
        return np.asarray(parts.sum(axis=1))


def compute_contributions(
    features: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute what each feature adds: 0 where its weight is 0, even if it is missing."""
    return np.where(weights == 0, 0.0, features * weights + 0.0)  # never -0


# Items in memory ----------------------------------------------------------------------------------


class BatchScorer:
    """Gives batches of items their rewards, by verdicts and base rewards.

    Parameters
    ----------
    model : RewardModel
        The reward.
    source : VerdictSource
        Of the verdicts on what stands behind refusals.
    replies : StoredReplies
        Where those of a language model are kept.
    center : bool
        Whether each behavior's mean is taken off.
    base : str, optional
        The items' column of base rewards; by default a usual column of the first batch.

    Attributes
    ----------
    notes : tuple of str
        What the reader should know of the verdicts and of the first batch.
    """

    def __init__(
        self,
        model: RewardModel,
        source: VerdictSource,
        *,
        replies: StoredReplies,
        center: bool,
        base: str | None = None,
    ) -> None:
        self.notes = source.notes
        self._model, self._named = model, base
        self._collect_rests = partial(collect_rests, model=model, source=source, replies=replies)
        self._combiner = Combiner(model, center=center)
        self._column: str | None = None
        self._is_begun = self._has_base = False

    def score(
        self,
        items: Sequence[Item],
        judged: Verdicts,
        *,
        base_rewards: ArrayLike | Mapping[str, float] | None = None,
    ) -> Scores:
        """Score a batch by verdicts on it; base rewards are its own where none are given."""
        self._combiner.check_questions(judged.questions)
        ids = [item.id for item in items]
        if base_rewards is not None:
            base, reasons = read_given_base(base_rewards, ids)
        else:
            if not self._is_begun:
                uses_base, self._is_begun = self._model.uses_base, True
                choice = choose_base_column(items, named=self._named, uses_base=uses_base)
                self._column, self.notes = choice[0], (*self.notes, *choice[1])
            if self._named is not None and not self._has_base:
                self._has_base = has_base(items, self._named)
            base, reasons = read_item_base(items, column=self._column)
        behaviors, given = [item.behavior for item in items], None
        if (rule := self._model.criteria) is not None:
            judged, given = rule.combine(items, judged, not_asked={})
            behaviors = [CRITERIA] * len(items)
        rests = self._combiner.guards.list_rests(items)
        behind = self._collect_rests(rests) if rests else None
        if rests and behind is None and NOT_BEHIND not in self.notes:
            self.notes = (*self.notes, NOT_BEHIND)
        return self._combiner.score(
            judged,
            behaviors=behaviors,
            base=base,
            base_reasons=reasons,
            items=items,
            behind=behind,
            given=given,
        )

    def check_base(self) -> None:
        """Refuse a column of base rewards that no item had."""
        if self._named is not None and not self._has_base:
            msg = (
                f"`base` must be a column of the items, got {shorten(self._named)!r}, which no "
                "item has. Name another column."
            )
            raise InputError(msg)


def score_items(
    model: RewardModel,
    items: Any,
    *,
    verdicts: Any = None,
    judge: JudgeLike | None = None,
    base_rewards: ArrayLike | Mapping[str, float] | None = None,
    behavior: str | None = None,
    center: bool = False,
    store: str | Path | None = None,
    retry_failures: bool = False,
    other_judge: bool = False,
    stopping: threading.Event | None = None,
) -> Scores:
    """Judge items in memory where there are no verdicts, and score them: `RewardModel.score`."""
    if behavior is not None:
        model.rubric.behavior(behavior)
    of_item = model.rubric.of_item
    reading = ItemReading(judged=model.judge.judged, behavior=behavior, criteria=of_item)
    read, dropped = read_items_in_memory(items, reading)
    if not read:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    change = msgspec.structs.replace
    read = [x if x.behavior is not None else change(x, behavior=behavior) for x in read]
    replies = StoredReplies(store, retry_failures)
    source = choose_source(model, verdicts, judge=judge, other_judge=other_judge)
    scorer = BatchScorer(model, source, replies=replies, center=center)
    asked = hide_unknown_behaviors(read, model.rubric)
    judged = source.collect(asked, replies=replies, stopping=stopping)
    scores = scorer.score(read, judged, base_rewards=base_rewards)
    return replace(scores, dropped=tuple(dropped), notes=scorer.notes)


# Explanations -----------------------------------------------------------------------------------

GUARDS = "(guards)"
"""Name of what gate, cap and the look behind refusals add to the weighted features."""

CENTER = "(center)"
"""Name of the mean that is subtracted from a behavior's rule rewards."""

_PREFIX = "contribution:"
_SCHEMA = {
    "item": pl.String,
    "behavior": pl.String,
    "feature": pl.String,
    "value": pl.Float64,
    "weight": pl.Float64,
    "contribution": pl.Float64,
    "place": pl.Int64,
}


def explain_scores(model: RewardModel, scores: Scores) -> pl.DataFrame:
    """Make one row per item and feature; see `RewardModel.explain`.

    What the guards add, and the center, are features too.
    """
    ids, own = pl.Series(scores.items, dtype=pl.String), np.array(scores.behaviors, dtype=object)
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for behavior, features in scores.features.items():
        values, weights = features, model.weight_vector(behavior)
        names, rows = model.feature_set(behavior).names, np.flatnonzero(own == behavior)
        if values.shape[1] != weights.size:
            msg = (
                f"`scores` must be by this reward, got {values.shape[1]} features of {behavior!r} "
                f"instead of {weights.size}. Score the items with it."
            )
            raise InputError(msg)
        if behavior in scores.centers:
            names, weights = (*names, CENTER), np.append(weights, -scores.centers[behavior])
            values = np.column_stack([values, np.ones(len(values))])
        if model.behaviors[behavior].guard is not None:
            names, weights = (*names, GUARDS), np.append(weights, 1.0)
            values = np.column_stack([values, scores.guarded[rows]])
        width = len(names)
        columns = {
            "item": ids.gather(np.repeat(rows, width)),
            "behavior": pl.repeat(behavior, rows.size * width, dtype=pl.String, eager=True),
            "feature": list(names) * rows.size,
            "value": values.ravel(),
            "weight": np.tile(weights, rows.size),
            "contribution": compute_contributions(values, weights).ravel(),
            "place": np.repeat(rows, width),
        }
        parts.append(pl.DataFrame(columns, schema=_SCHEMA))
    frame = pl.concat(parts).with_columns(pl.col("value", "contribution").fill_nan(None))
    return frame.sort("place", maintain_order=True).drop("place")


def name_contributions(model: RewardModel, *, center: bool) -> tuple[str, ...]:
    """Name the columns of contributions of all behaviors, each once."""
    names = [name for behavior in model.behaviors for name in model.feature_set(behavior).names]
    if any(row.guard for row in model.behaviors.values()):
        names.append(GUARDS)
    if center:
        names.append(CENTER)
    return tuple(f"{_PREFIX}{name}" for name in dict.fromkeys(names))


def make_contribution_frame(model: RewardModel, scores: Scores) -> pl.DataFrame:
    """Make one row per item and a column per feature, null where the item lacks the feature."""
    columns = name_contributions(model, center=bool(scores.centers))
    named = explain_scores(model, scores).with_columns(feature=_PREFIX + pl.col("feature"))
    wide = named.pivot("feature", index="item", values="contribution")
    table = pl.DataFrame({"item": scores.items}, schema={"item": pl.String})
    table = table.join(wide, on="item", how="left", maintain_order="left")
    lacking = [pl.lit(None, pl.Float64).alias(x) for x in columns if x not in table.columns]
    return table.with_columns(lacking).select(columns)


# Base rewards: from an argument, a column of the items, or a file ---------------------------------

BASE_COLUMNS = ("base_reward", "rm_score")
"""Columns that hold a base reward where no column is named."""

_SIDES = ("chosen", "rejected")

NOT_ADDED = (
    "base rewards are not added: the reward was fitted without one. Name `base_column` to add them"
)
NO_BASE = "no base reward"
NO_NUMBER = "the base reward is no finite number"

BaseRewards = tuple["NDArray[np.float64]", dict[str, str]]
"""The numbers, nan where there is none, and the reasons for nan by item."""


def read_given_base(given: ArrayLike | Mapping[str, float], items: Sequence[str]) -> BaseRewards:
    """Read base rewards that a caller gives: one per item in order, or by item id."""
    if isinstance(given, Mapping):
        return _check_numbers([given.get(name) for name in items], items)
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.shape != (len(items),):
        got = f"shape {np.shape(given)}" if array.size else shorten(given)
        msg = (
            f"`base_rewards` must be one number for each of the {len(items)} items, got {got}. "
            "Where some are missing, give a mapping by item id."
        )
        raise InputError(msg)
    return _check_numbers(array.tolist(), items)


def read_item_base(items: Sequence[Item], *, column: str | None) -> BaseRewards:
    """Take base rewards from the items' own column; 0 for all where there is none to take.

    The sides of a pair have a column each, such as ``chosen_base_reward``.
    """
    ids = [item.id for item in items]
    if column is None:
        return np.zeros(len(items)), {}
    values = [item.metadata.get(column) for item in items]
    for place, item in enumerate(items):
        side = item.metadata.get("preference")
        if side in _SIDES:
            own = item.metadata.get(f"{side}_{column}")
            values[place] = values[place] if own in (None, "") else own  # CSV writes "" for none
    return _check_numbers(values, ids)


def has_base(items: Sequence[Item], column: str) -> bool:
    """Tell whether any item has this column, or any pair one for each of its sides."""
    names = (column, *(f"{side}_{column}" for side in _SIDES))
    return any(name in item.metadata for item in items for name in names)


def choose_base_column(
    items: Sequence[Item], *, named: str | None, uses_base: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Choose the named column; else, where the reward needs a base, a usual column of the items.

    Where it needs none, none is chosen, and a note says that the items have one.
    """
    if named is not None:
        return named, ()
    usual = next((name for name in BASE_COLUMNS if has_base(items, name)), None)
    if uses_base or usual is None:
        return (usual or BASE_COLUMNS[0]) if uses_base else None, ()
    what = f"the items' `{usual}` is not added: the reward was made without a base reward"
    return None, (f"{what}. Name the column to add it.",)


def _check_numbers(values: Sequence[Any], items: Sequence[str]) -> BaseRewards:
    numbers = [_read_number(value) for value in values]
    rewards = np.array(numbers, dtype=np.float64)
    reasons = {
        items[place]: NO_BASE if values[place] is None else NO_NUMBER
        for place in np.flatnonzero(~np.isfinite(rewards)).tolist()
    }
    rewards[~np.isfinite(rewards)] = np.nan
    return rewards, reasons


def _read_number(value: Any) -> float:
    """Read a number; a cell of CSV is text."""
    if type(value) is float:
        return value
    if value is None or isinstance(value, bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a tensor of several numbers
        return math.nan
