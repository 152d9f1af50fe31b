"""Answers requests by a deadline, with answers kept in memory and one call for equal items."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire._validation import check_positive
from voirdire.judging.binding import is_cascade
from voirdire.judging.engine.batch import ItemRequest
from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.engine.combining import failed_verdict
from voirdire.judging.engine.engines import make_engine
from voirdire.judging.settings import LiveSettings, StoredReplies
from voirdire.records import Failure, Verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.engine.combining import ItemVerdict
    from voirdire.judging.engine.port import LiveState
    from voirdire.records import Item
    from voirdire.rubrics import Question

__all__ = ["TOO_MANY", "LiveJudge", "LiveVerdicts"]

TOO_MANY = "too many items wait for the judge"

_ROOM_S = 0.1
"""Seconds between two checks which waiting items are abandoned."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveVerdicts:
    """Verdicts on the items of a request by its deadline.

    Attributes
    ----------
    judged : Verdicts
        In the order of the items; missing, with its reason, where it failed or was late.
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


# A struct is made five times faster, and a hundred thousand of them are kept.
class _Answer(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Answers about one item: a number per column, nan where there is none."""

    probabilities: NDArray[np.float64]
    failures: tuple[tuple[int, Failure], ...] = ()
    is_stored: bool = False
    answered_by: str | None = None


class _Columns:
    """The columns of an answer: propositions, and other answers as numbers."""

    def __init__(self, questions: Sequence[Question], numbers_of: Collection[str]) -> None:
        asked = [place for place, row in enumerate(questions) if row.kind == "boolean"]
        names = [questions[place].id for place in asked]
        self.places = {place: column for column, place in enumerate(asked)}
        self._n_asked = len(asked)
        self._others = [(place, row) for place, row in enumerate(questions) if row.id in numbers_of]
        for place, row in self._others:
            self.places[place] = len(names)
            names += row.number_names
        self.names = tuple(names)

    def numbers(self, verdict: ItemVerdict) -> NDArray[np.float64]:
        asked = [verdict.values[place] for place in list(self.places)[: self._n_asked]]
        said = np.array(asked, dtype=np.float64)  # None becomes nan
        others = [row.to_numbers([verdict.values[place]])[0] for place, row in self._others]
        return np.concatenate([said, *others]) if others else said


class _PendingItem(ItemRequest):
    """An item that requests wait for."""

    __slots__ = ("_columns", "future", "key")

    def __init__(self, key: bytes, item: Item, until: float, columns: _Columns) -> None:
        super().__init__(item, until)
        self.key = key
        self.future: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._columns = columns

    @property
    def is_answered(self) -> bool:
        return self.future.done()

    def answer(self, verdict: ItemVerdict) -> None:
        if self.future.done():
            return
        columns = ((self._columns.places.get(place), why) for place, why in verdict.failures)
        answer = _Answer(
            probabilities=self._columns.numbers(verdict),
            failures=tuple([(column, why) for column, why in columns if column is not None]),
            is_stored=verdict.is_stored,
            answered_by=verdict.answered_by or self.answered_by,
        )
        self.future.set_result(answer)


class LiveJudge:
    """Answers the propositions of one rubric about items, and further questions as numbers.

    *Order*: verdicts follow the items of their request. *Errors*: an item that gets no answer has a
    failure; no request raises for an error of the judge. *Cancellation*: a request may be
    cancelled, or reach its deadline; its calls in flight go on and are stored. Its other items come
    after all items that a caller waits for. *Memory*: the remembered verdicts and the waiting
    items, both bounded. *Retries and caching*: the limits of a language model apply to all requests
    together; equal items are asked about once, and whole answers are remembered.

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
        self._columns = _Columns(questions, numbers_of)
        self._is_cascade = is_cascade(plan.judge)
        self._remembered: OrderedDict[bytes, _Answer] = OrderedDict()
        self._under_way: dict[bytes, _PendingItem] = {}
        replies = StoredReplies(store, self.settings.retry_failures)
        self._engine = make_engine(plan, replies, settings=self.settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._room_was_made = -math.inf

    @property
    def state(self) -> LiveState:
        """State of the judge."""
        return self._engine.state

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge, also those whose requests were answered without them."""
        return len(self._under_way)

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
        if self._is_closed or self._loop is None:
            self._is_closed = True
            return
        self._check_loop()
        self._is_closed = True
        try:
            await self._engine.close(drain_s=limit)
        finally:
            for asked in list(self._under_way.values()):
                asked.answer(failed_verdict(self._n_questions, CLOSED))

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
        keys = [item.content_hash() for item in items]
        found = [
            self._failed_answer(not_asked[item.id]) if item.id in not_asked else self._recall(key)
            for key, item in zip(keys, items, strict=True)
        ]
        new = [row for row, answer in enumerate(found) if answer is None]
        n_late = 0
        if new:
            waiting = self._submit_new({keys[row]: items[row] for row in new}, limit_s=limit)
            await _wait_for_all(waiting.values(), limit_s=limit)
            for row in new:
                asked = waiting[keys[row]]
                n_late += not asked.is_answered
                found[row] = (
                    asked.future.result() if asked.is_answered else self._late_answer(asked)
                )
        answers = [answer for answer in found if answer is not None]
        return LiveVerdicts(
            judged=self._verdicts(items, answers),
            n_remembered=len(items) - len(not_asked) - len(new),
            n_stored=sum([answers[row].is_stored for row in new]),
            n_late=n_late,
            answered_by=tuple([a.answered_by for a in answers]) if self._is_cascade else None,
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

    def _submit_new(
        self, new: Mapping[bytes, Item], *, limit_s: float
    ) -> dict[bytes, _PendingItem]:
        """Submit items that are not yet asked about; return the items to wait for."""
        now = asyncio.get_running_loop().time()
        until = now + limit_s
        waiting: dict[bytes, _PendingItem] = {}
        submitted: list[_PendingItem] = []
        for key, item in new.items():
            asked = self._under_way.get(key)
            if asked is None or _has_failed(asked):
                asked = _PendingItem(key, item, until, self._columns)
                if (why := self._refusal(now)) is None:
                    submitted.append(asked)
                    self._under_way[key] = asked
                    asked.future.add_done_callback(partial(self._remember, asked))
                else:
                    asked.answer(failed_verdict(self._n_questions, why))
            elif asked.deadline < until:
                asked.deadline = until
            waiting[key] = asked
        if submitted:
            self._engine.submit(submitted)
        return waiting

    def _refusal(self, now: float) -> str | None:
        """Return why no more items can be asked about; None where they can."""
        if self._is_closed:
            return CLOSED
        if len(self._under_way) >= self.settings.most_waiting:
            self._make_room(now)
            if len(self._under_way) >= self.settings.most_waiting:
                return TOO_MANY
        return None

    def _make_room(self, now: float) -> None:
        """Drop items that no caller waits for; the engine finishes those that it has begun."""
        if now < self._room_was_made + _ROOM_S:
            return
        self._room_was_made = now
        for asked in [each for each in self._under_way.values() if each.deadline < now]:
            del self._under_way[asked.key]
            asked.answer(failed_verdict(self._n_questions, LATE))

    def _recall(self, key: bytes) -> _Answer | None:
        """Find an answer in memory."""
        answer = self._remembered.get(key)
        if answer is not None:
            self._remembered.move_to_end(key)
        return answer

    def _remember(self, asked: _PendingItem, future: asyncio.Future[_Answer]) -> None:
        """Remember an answer; forget the oldest where there are too many."""
        if self._under_way.get(asked.key) is asked:
            del self._under_way[asked.key]
        if future.cancelled() or future.result().failures:
            return
        self._remembered[asked.key] = future.result()
        self._remembered.move_to_end(asked.key)
        if len(self._remembered) > self.settings.remembered:
            self._remembered.popitem(last=False)

    def _failed_answer(self, why: str, *, answered_by: str | None = None) -> _Answer:
        columns = range(len(self._columns.names))
        return _Answer(
            probabilities=np.full(len(columns), np.nan),
            failures=tuple([(column, Failure(reason=why)) for column in columns]),
            answered_by=answered_by,
        )

    def _late_answer(self, asked: _PendingItem) -> _Answer:
        return self._failed_answer(LATE, answered_by=asked.answered_by)

    def _verdicts(self, items: Sequence[Item], answers: Sequence[_Answer]) -> Verdicts:
        rows = [answer.probabilities for answer in answers]
        flat = np.concatenate(rows) if rows else np.empty(0)
        return Verdicts(
            items=tuple([item.id for item in items]),
            behaviors=tuple([item.behavior for item in items]),
            questions=self._columns.names,
            probabilities=flat.reshape(len(rows), len(self._columns.names)),
            failures={
                (row, column): why
                for row, answer in enumerate(answers)
                for column, why in answer.failures
            },
            judge=self.plan.judge.name,
            fingerprint=self.plan.fingerprint,
            threshold=self.plan.threshold,
        )


def _has_failed(asked: _PendingItem) -> bool:
    """Whether its answer has a failure, so that it is asked about again."""
    return asked.is_answered and bool(asked.future.result().failures)


async def _wait_for_all(several: Iterable[_PendingItem], *, limit_s: float) -> None:
    """Wait until all are answered, at most `limit_s` seconds."""
    futures = [asked.future for asked in several if not asked.is_answered]
    if futures:
        await asyncio.wait(futures, timeout=limit_s)
