"""Score items with one function: in memory all at once, and from a file batch by batch."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging.settings import StoredReplies
from voirdire.rewards.guards import NOT_BEHIND
from voirdire.rewards.scores import (
    Combiner,
    choose_base_column,
    has_base,
    hide_unknown_behaviors,
    note_unused_base,
    read_given_base,
    read_item_base,
)
from voirdire.rewards.verdict_source import choose_source, collect_rests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scores import Scores
    from voirdire.rewards.verdict_source import VerdictSource

__all__ = ["BatchScorer", "ascore_items", "score_items"]


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
            base, reasons = read_item_base(items, column=self._choose_column(items))
        rests = self._combiner.guards.list_rests(items)
        behind = self._collect_rests(rests) if rests else None
        if rests and behind is None and NOT_BEHIND not in self.notes:
            self.notes = (*self.notes, NOT_BEHIND)
        return self._combiner.score(
            judged,
            behaviors=[item.behavior for item in items],
            base=base,
            base_reasons=reasons,
            items=items,
            behind=behind,
        )

    def check_base(self) -> None:
        """Refuse a column of base rewards that no item had."""
        if self._named is not None and not self._has_base:
            msg = (
                f"`base` must be a column of the items, got {shorten(self._named)!r}, which no "
                "item has. Name another column."
            )
            raise InputError(msg)

    def _choose_column(self, items: Sequence[Item]) -> str | None:
        if not self._is_begun:
            self._is_begun = True
            uses_base = self._model.uses_base
            self._column = choose_base_column(items, named=self._named, uses_base=uses_base)
            if self._column is None:
                self.notes = (*self.notes, *note_unused_base(items))
        if self._named is not None and not self._has_base:
            self._has_base = has_base(items, self._named)
        return self._column


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
    from voirdire.io.declared import ItemReading
    from voirdire.judging.items import read_items_in_memory

    if behavior is not None:
        model.rubric.behavior(behavior)
    reading = ItemReading(judged=model.judge.judged, behavior=behavior)
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


async def ascore_items(model: RewardModel, items: Any, settings: Mapping[str, Any]) -> Scores:
    """Score items while other tasks continue; see `RewardModel.ascore`."""
    if "stopping" in settings:
        msg = "`stopping` must be left out of `ascore`, got one. Cancel the task instead."
        raise InputError(msg)
    stopping = threading.Event()
    work = partial(score_items, model, items, stopping=stopping, **settings)
    scoring = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(scoring)
    except asyncio.CancelledError:
        stopping.set()
        with suppress(KeyboardInterrupt, Exception):  # how a run ends that is stopped
            await scoring
        raise
