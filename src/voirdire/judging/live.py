"""Answers requests by a deadline, with answers kept in memory and one call for equal items."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from voirdire._validation import check_positive
from voirdire.judging.binding import BoundCascade
from voirdire.judging.combine import failed_verdict, reorder_criteria
from voirdire.judging.engine import CLOSED, LATE, make_engine
from voirdire.judging.settings import LiveSettings, StoredReplies
from voirdire.judging.tables import make_columns, split_answer
from voirdire.records import Verdicts
from voirdire.records.items import split_criteria

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.combine import ItemVerdict
    from voirdire.judging.engine import LiveState
    from voirdire.records import Item

TOO_MANY = "too many items wait for the judge"


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveVerdicts:
    """Verdicts on the items of a request by its deadline.

    Attributes
    ----------
    judged : Verdicts
        In the order of the items, of criteria each an item as `split_criteria` names it; missing,
        with its reason, where it failed or was late.
    n_remembered, n_stored : int
        Items whose verdicts were in memory, and in the store.
    n_late : int
        Items whose verdicts did not come within the deadline.
    answered_by : tuple of str or None, or None
        By item the judge of a cascade that it was passed to, answered or not; None for an item that
        was passed to neither, and as a whole where the judge is not a cascade.
    """

    judged: Verdicts = field(repr=False)
    n_remembered: int = 0
    n_stored: int = 0
    n_late: int = 0
    answered_by: tuple[str | None, ...] | None = field(default=None, repr=False)


_Answer: TypeAlias = "tuple[ItemVerdict, Item | None]"
"""A verdict, and of criteria the item with these in its order."""


class LiveJudge:
    """Answers the propositions of one rubric about items, and further questions as numbers.

    *Order*: verdicts follow the items of their request. *Errors*: an item that gets no answer has a
    failure; no request raises for an error of the judge. *Cancellation*: a request may be
    cancelled, or reach its deadline; its calls that are sent go on and are stored, its other items
    are given up. *Memory*: the remembered verdicts and the waiting items, both bounded. *Retries
    and caching*: the limits of a language model apply to all requests together; equal items are
    asked about once, and whole answers are remembered.

    It belongs to the event loop in which it is started, is started once and closed once.
    """

    def __init__(
        self,
        plan: JudgingPlan,
        *,
        store: str | Path | None = None,
        settings: LiveSettings | None = None,
        numbers_of: Collection[str] = (),
    ) -> None:
        self.plan = plan
        self.settings = LiveSettings() if settings is None else settings
        questions = plan.rubric.questions
        self._n_questions = len(questions)
        asked = [place for place, row in enumerate(questions) if row.kind == "boolean"]
        names = [questions[place].id for place in asked]
        self._columns = {place: column for column, place in enumerate(asked)}
        self._others = [(k, row) for k, row in enumerate(questions) if row.id in numbers_of]
        for place, row in self._others:
            self._columns[place] = len(names)
            names += row.number_names
        self._asked, self._names = asked, tuple(names)
        self._is_cascade = isinstance(plan.judge, BoundCascade)
        self._remembered: OrderedDict[bytes, _Answer] = OrderedDict()
        replies = StoredReplies(store, self.settings.retry_failures)
        self._engine = make_engine(plan, replies, live=self.settings)
        self._engine.on_verdict = self._remember
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._waiting: Counter[bytes] = Counter()

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the columns of its verdicts: the propositions, then numbers."""
        return self._names

    @property
    def state(self) -> LiveState:
        """State of the judge."""
        return self._engine.state

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge, also those whose requests were answered without them."""
        return max(len(self._waiting), self._engine.n_waiting)

    async def start(self) -> None:
        """Start, in the event loop that asks; a second call does nothing."""
        async with self._starting:
            if self._is_closed:
                msg = "a live judge that is closed cannot start again; make another"
                raise RuntimeError(msg)
            if self._loop is None:
                await self._engine.start()
                self._loop = asyncio.get_running_loop()
        self._check_loop()

    async def close(self, *, drain_s: float = 30.0) -> None:
        """Take no more items, and end; a second call does nothing.

        Wait `drain_s` seconds for calls that are sent, so that paid replies are stored. Other items
        fail.
        """
        limit = check_positive("drain_s", drain_s, zero=True)
        was_closed, self._is_closed = self._is_closed, True
        if not was_closed and self._loop is not None:
            self._check_loop()
            await self._engine.close(drain_s=limit)

    async def ask(
        self,
        items: Sequence[Item],
        *,
        not_asked: Mapping[str, str] = MappingProxyType({}),
        deadline_s: float | None = None,
    ) -> LiveVerdicts:
        """Answer the propositions about items, as far as possible by the deadline.

        Parameters
        ----------
        items : sequence of Item
            Equal ones are asked about once.
        not_asked : mapping of str to str, optional
            Reasons by item id why an item is not asked about.
        deadline_s : float, optional
            Seconds; by default those of the settings.
        """
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_positive("deadline_s", deadline_s)
        self._check_loop()
        keys = [b"" if item.id in not_asked else item.content_hash() for item in items]
        answers: dict[bytes, _Answer] = {}
        new: dict[bytes, Item] = {}
        why, most = CLOSED if self._is_closed else TOO_MANY, self.settings.most_waiting
        for key, item in zip(keys, items, strict=True):
            if key and key not in answers and key not in new:
                if key in self._remembered:
                    self._remembered.move_to_end(key)
                    answers[key] = self._remembered[key]
                elif self._is_closed or (key not in self._waiting and self.n_waiting >= most):
                    answers[key] = self._failed_answer(why)
                else:
                    self._waiting[key] += 1
                    new[key] = item
        n_remembered = sum(key in answers and not answers[key][0].failures for key in keys)
        try:
            verdicts = await self._engine.ask(list(new.values()), deadline_s=limit) if new else []
        finally:
            for key in new:
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key]
        answers |= dict(zip(new, map(self._answer, verdicts, new.values()), strict=True))
        found = [
            answers[key] if key else self._failed_answer(not_asked[item.id])
            for key, item in zip(keys, items, strict=True)
        ]
        rows, asked = [row for row, _ in found], list(items)
        n_late = sum(bool(row.failures) and row.failures[0][1].reason == LATE for row in rows)
        if self.plan.rubric.of_item:
            rows = [
                each
                for item, (row, other) in zip(items, found, strict=True)
                for each in split_answer(item, reorder_criteria(row, other or item, item))
            ]
            asked = [each for item in items for each in split_criteria(item)]
        values = [row.values for row in rows]
        numbers = [row.to_numbers([each[k] for each in values]) for k, row in self._others]
        judged = Verdicts(
            items=tuple([item.id for item in asked]),
            behaviors=tuple([item.behavior for item in asked]),
            questions=self._names,
            probabilities=np.hstack([make_columns(values, self._asked), *numbers]),
            failures={
                (row, self._columns[place]): why
                for row, verdict in enumerate(rows)
                for place, why in verdict.failures
                if place in self._columns
            },
            judge=self.plan.judge.name,
            fingerprint=self.plan.fingerprint,
            threshold=self.plan.threshold,
        )
        return LiveVerdicts(
            judged=judged,
            n_remembered=n_remembered,
            n_stored=sum(answers[key][0].is_stored for key in keys if key in new),
            n_late=n_late,
            answered_by=tuple(row.answered_by for row in rows) if self._is_cascade else None,
        )

    def _check_loop(self) -> None:
        if self._loop is None and not self._is_closed:
            msg = "a live judge must be started before it is asked: `await judge.start()`"
            raise RuntimeError(msg)
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            msg = (
                "a live judge belongs to the event loop in which it was started, and was used in "
                "another; make one for each"
            )
            raise RuntimeError(msg)

    def _remember(self, item: Item, verdict: ItemVerdict) -> None:
        """Remember a whole answer; forget the oldest where there are too many."""
        if verdict.failures:
            return
        self._remembered[item.content_hash()] = self._answer(verdict, item)
        if len(self._remembered) > self.settings.remembered:
            self._remembered.popitem(last=False)

    def _answer(self, verdict: ItemVerdict, item: Item) -> _Answer:
        return verdict, item if self.plan.rubric.of_item else None

    def _failed_answer(self, why: str) -> _Answer:
        return failed_verdict(self._n_questions, why), None
