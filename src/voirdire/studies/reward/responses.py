"""Responses with verdicts on them and the rewards that these give: base, rules, and both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire.io import ItemReading
from voirdire.judging.items import read_items_in_memory
from voirdire.judging.settings import StoredReplies
from voirdire.records import Dropped
from voirdire.rewards.comparisons.data import hash_prompt
from voirdire.rewards.scores import Combiner, select_columns
from voirdire.rewards.verdict_source import (
    JudgeSource,
    collect_rests,
    open_reward_verdicts,
    plan_judge,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scores import Scores
    from voirdire.stats import Caution
    from voirdire.studies.reward.result import Signal
    from voirdire.studies.reward.settings import RewardExaminationSettings

NamedColumn: TypeAlias = "tuple[Sequence[str], NDArray[np.float64]]"
"""The name of the prompt and the value of each item."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExaminationRequest:
    """The arguments of `examine_reward` that its parts share."""

    reward: RewardModel
    settings: RewardExaminationSettings
    judge: Any = None
    judging: Callable[[JudgingProgress], None] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """What one part of an examination gives: fields of the record, and what settings say of it.

    Attributes
    ----------
    columns : mapping of str to (sequence of str, ndarray of float)
        By figure the names of prompts, and the values whose mean it is.
    """

    figures: Mapping[str, Any]
    notes: Sequence[Caution]
    dropped: Sequence[Dropped]
    settings: Mapping[str, Any]
    columns: Mapping[str, NamedColumn] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedItems:
    """Items with their rewards.

    Attributes
    ----------
    prompts : ndarray of int, shape (n_items,)
        Which prompt each answers, from 0 on.
    probabilities : ndarray of float, shape (n_items, n_propositions)
        What the judge said; nan where it said nothing.
    scores : Scores
        As `score` gives them, with the features of all behaviors that have weights.
    signals : mapping of {"base", "total", "rules"} to ndarray of float, shape (n_items,)
        ``"total"`` is always there, the others where there is a base reward; nan where missing.
    dropped : tuple of Dropped
        Items without a reward, each with its reason.
    n_not_behind : int
        Responses of which nobody judged what they say beside their refusal.
    """

    items: tuple[Item, ...] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    n_prompts: int
    probabilities: NDArray[np.float64] = field(repr=False)
    propositions: tuple[str, ...] = field(repr=False)
    scores: Scores = field(repr=False)
    signals: Mapping[Signal, NDArray[np.float64]] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    n_not_behind: int = 0

    @property
    def rules(self) -> NDArray[np.float64]:
        """The rule reward, base or no base."""
        return self.scores.rule_rewards

    @property
    def is_rated(self) -> NDArray[np.bool_]:
        """Which items have a reward."""
        return np.isfinite(self.signals["total"])

    @property
    def has_base(self) -> bool:
        """Whether there is a base reward beside the rules."""
        return "base" in self.signals


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorComparisons:
    """Comparisons of one behavior, both sides with a reward.

    Attributes
    ----------
    names : tuple of str
        The features that its reward is made of.
    weights : ndarray of float, shape (n_features,)
        Theirs.
    rows : ndarray of int, shape (n_rows,)
        Places of its items with a reward, ascending.
    values : ndarray of float, shape (n_rows, n_features)
        The features of these items.
    better, worse, prompts : ndarray of int, shape (n_pairs,)
        Places of the items of each comparison, and their prompt; sorted by prompt.
    is_best : ndarray of bool, shape (n_pairs,)
        Whether the better side is one of the best of its prompt: worse than nothing.
    """

    behavior: str
    order: LabelOrder
    names: tuple[str, ...]
    weights: NDArray[np.float64] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    is_best: NDArray[np.bool_] = field(repr=False)

    def select(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the features of items by their places."""
        chosen: NDArray[np.float64] = self.values[np.searchsorted(self.rows, places)]
        return chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedComparisons:
    """Rated completions with their labels and comparisons.

    Attributes
    ----------
    labels : ndarray of object, shape (n_items,)
        None where there is none.
    is_labelled_by_people : bool
        Whether the labels are not the judge's own classes.
    has_unused_base : bool
        Whether completions have a base reward that the reward does not add.
    behaviors : tuple of BehaviorComparisons
        Those with weights and completions, in the order of the rubric.
    """

    reward: RewardModel = field(repr=False)
    rated: RatedItems = field(repr=False)
    labels: NDArray[np.object_] = field(repr=False)
    is_labelled_by_people: bool
    has_unused_base: bool
    behaviors: tuple[BehaviorComparisons, ...]


def judge_responses(items: Sequence[Item], request: ExaminationRequest, verdicts: Any) -> Verdicts:
    """Take stored verdicts; None judges now."""
    reward, judge = request.reward, request.judge
    if verdicts is not None:
        named = judge if isinstance(judge, str) else None
        return open_reward_verdicts(reward, verdicts, judge=named).collect(items)
    plan = plan_judge(reward, judge)
    reading = ItemReading(
        judged=plan.judged, pairs=plan.asks_about_pairs, criteria=plan.rubric.of_item
    )
    items, _ = read_items_in_memory(items, reading)
    source = JudgeSource(plan=plan, rubric=reward.rubric, questions=reward.questions)
    return source.collect(
        items, replies=StoredReplies(request.settings.store), progress=request.judging
    )


def rate_items(data: ComparisonData, request: ExaminationRequest, judged: Verdicts) -> RatedItems:
    """Compute the rewards of items as `score` pays them.

    A base reward is added where the reward was fitted with one or a column of them is named, and
    where an item has one; else the rules are the reward.
    """
    reward = request.reward
    items, ids = data.items, [item.id for item in data.items]
    behaviors, given = tuple(data.behaviors), None
    if reward.criteria is None:
        taken = replace(judged.take(ids), behaviors=behaviors)
    else:
        taken, given = reward.criteria.combine(items, judged, not_asked={})
        behaviors = taken.behaviors
    base = np.where(np.isfinite(data.base_rewards), data.base_rewards, np.nan)
    is_due = reward.uses_base or request.settings.base is not None
    has_base = is_due and bool(np.isfinite(base).any())
    without_base = [ids[place] for place in np.flatnonzero(np.isnan(base)).tolist()]
    combiner, behind = Combiner(reward), None
    rests = combiner.guards.list_rests(list(items))
    if rests and judged.fingerprint == reward.judge.fingerprint:
        behind = collect_rests(rests, model=reward, source=None)
    scores = combiner.score(
        taken,
        behaviors=behaviors,
        base=base if has_base else np.zeros(len(items)),
        base_reasons=dict.fromkeys(without_base, "no base reward, where others have one"),
        items=list(items),
        behind=behind,
        given=given,
    )
    signals: dict[Signal, NDArray[np.float64]] = {"total": scores.rule_rewards}
    if has_base:
        signals = {"base": base, "total": scores.rewards, "rules": scores.rule_rewards}
    return RatedItems(
        items=tuple(items),
        prompts=data.prompts,
        n_prompts=int(data.prompts.max(initial=-1)) + 1,
        probabilities=select_columns(taken, reward.columns),
        propositions=reward.columns,
        scores=scores,
        signals=signals,
        dropped=tuple(
            Dropped(reason=scores.missing[ids[place]], source=data.source, item=ids[place])
            for place in np.flatnonzero(~np.isfinite(signals["total"])).tolist()
        ),
        n_not_behind=0 if behind is not None else len(rests),
    )


def find_seen_prompts(
    reward: RewardModel, items: Iterable[Item], *, data_hash: str = ""
) -> tuple[int, int, bool]:
    """Count the prompts of items, and those that a fit has seen; tell whether that is known.

    Weights given by hand have seen none. A fit that left no hashes of its prompts is recognised by
    the hash of its data.
    """
    hashes = {hash_prompt(item) for item in items}
    fit_hashes = reward.settings.get("prompt_hashes")
    if isinstance(fit_hashes, list | tuple | set | frozenset):
        return len(hashes), len(hashes & set(fit_hashes)), True
    is_known = not reward.data_hash or data_hash == reward.data_hash
    return len(hashes), len(hashes) if reward.data_hash and is_known else 0, is_known
