"""A judge in this process, asked about whatever has gathered, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import math
from functools import partial
from typing import TYPE_CHECKING

from voirdire.judging.live.answers import CLOSED, LATE, LiveState, no_answer
from voirdire.judging.live.batch_answers import batch_answers
from voirdire.judging.live.bugs import tell_bug
from voirdire.judging.live.judge_thread import JudgeThread
from voirdire.judging.live.line import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.live.answers import Asked, LiveAnswer
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = ["ThreadAsker"]

_MOST_LEFT = 3
"""Threads that hang: each holds what the judge holds, for as long as the program runs."""

_DEADLINES = 2
"""A batch that takes so many deadlines brings nobody anything."""

_HANGS = f"the judge is out of order: {_MOST_LEFT} calls of it hang"
_log = logging.getLogger("voirdire")

Thread = JudgeThread["Sequence[Item]", "list[LiveAnswer]"]


class ThreadAsker:
    """Answers items with a plan whose judge is called like a function.

    Parameters
    ----------
    plan : JudgingPlan
        Who answers what.
    settings : LiveSettings
        How many items are asked about together, and how long that may take.

    Notes
    -----
    *Order*: each answer belongs to its own item; batches follow each other. *Errors*: where the
    judge raises, each item of the batch is asked about alone; what it raises then, and what is no
    probability, is that item's failure. A judge that hangs is left behind with its thread, and
    asked anew in another; after a few of these nothing is asked until one of them comes back.
    *Cancellation*: `close` waits for the batch that is being judged. *Memory*: the items that wait.
    *Retries and caching*: none but that.
    """

    def __init__(self, plan: JudgingPlan, settings: LiveSettings) -> None:
        self._plan = plan
        self._size = settings.batch_size
        self._bound_s = _DEADLINES * settings.deadline_s
        self._line: Line[Asked] = Line(self._drop, patience_s=settings.deadline_s)
        self._thread: Thread | None = None
        self._working: asyncio.Task[None] | None = None
        self._n_asked = self._n_calls = self._n_failures = self._n_left = 0
        self._is_closed = False

    @property
    def state(self) -> LiveState:
        """How it stands."""
        return LiveState(
            n_waiting=len(self._line) + self._n_asked,
            n_calls=self._n_calls,
            n_failures=self._n_failures,
            is_broken=self._out_of_order() is not None,
        )

    async def start(self) -> None:
        """Begin."""

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        if (why := self._out_of_order()) is not None:
            self._fail(asked, why)
            return
        self._line.add(asked)
        if self._working is None:  # what comes in the same moment is judged together
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def close(self, *, drain_s: float) -> None:
        """Take no more, and wait so long for the batch that is being judged."""
        self._is_closed = True
        self._fail(self._line.clear(), CLOSED)
        if self._working is not None:
            working = self._working
            try:
                await asyncio.wait([working], timeout=drain_s)
            finally:
                working.cancel()
            await asyncio.wait([working])
        if self._thread is not None:
            self._thread.leave()
            self._thread = None

    def _out_of_order(self) -> str | None:
        if self._is_closed:
            return CLOSED
        return _HANGS if self._n_left >= _MOST_LEFT else None

    async def _work(self) -> None:
        """Judge batch after batch, until nothing waits."""
        batch: list[Asked] = []
        try:
            while batch := self._taken():
                await self._judge(batch)
        finally:
            self._n_asked = 0
            self._working = None
            self._fail(batch, CLOSED)  # where this was cancelled

    def _taken(self) -> list[Asked]:
        batch: list[Asked] = []
        now = asyncio.get_running_loop().time()
        while len(batch) < self._size and (asked := self._line.next(now)) is not None:
            batch.append(asked)
        self._n_asked = len(batch)
        return batch

    async def _judge(self, batch: Sequence[Asked]) -> None:
        if self._thread is None:
            self._thread = Thread(partial(_judged, plan=self._plan))
        self._n_calls += 1
        done = self._thread.ask([asked.item for asked in batch])
        bound_s = self._longest_s(batch)
        await asyncio.wait([done], timeout=bound_s)
        if not done.done():
            self._leave(done)
            self._fail(batch, f"the judge did not answer within {bound_s:.3g} s")
            return
        found = done.result()
        if isinstance(found, BaseException):
            tell_bug(found)
            self._fail(batch, f"the judge raised {type(found).__name__}")
            return
        for asked, answer in zip(batch, found, strict=True):
            self._n_failures += answer.failure is not None
            asked.answer(answer)

    def _longest_s(self, batch: Sequence[Asked]) -> float:
        """Seconds that a batch may take: as long as somebody waits, and never for ever."""
        now = asyncio.get_running_loop().time()
        wanted = [each.wanted_until for each in batch if not math.isinf(each.wanted_until)]
        return max(self._bound_s, max(wanted, default=now) - now)

    def _leave(self, done: asyncio.Future[list[LiveAnswer] | BaseException]) -> None:
        """Leave a thread behind that hangs; what is left behind may still come back."""
        self._n_left += 1
        done.add_done_callback(self._come_back)
        if self._thread is not None:
            self._thread.leave()
            self._thread = None
        _log.warning("the judge hangs; its thread is left behind (%d of them now)", self._n_left)
        if (why := self._out_of_order()) is not None:
            self._fail(self._line.clear(), why)

    def _come_back(self, _: object) -> None:
        self._n_left -= 1

    def _fail(self, several: Sequence[Asked], why: str) -> None:
        for asked in several:
            if asked.is_answered:
                continue
            self._n_failures += 1
            n_propositions = len(self._plan.rubric.propositions)
            asked.answer(no_answer(n_propositions, why, behavior=asked.item.behavior))

    def _drop(self, asked: Asked) -> None:
        self._fail([asked], LATE)


def _judged(items: Sequence[Item], *, plan: JudgingPlan) -> list[LiveAnswer]:
    return batch_answers(items, plan)
