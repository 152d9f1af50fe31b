"""A cascade: the first judge answers what it is sure of, and passes the rest on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.judging.engine.batch import PassedOn
from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.engine.port import Engine, LiveState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.bound import BoundCascade
    from voirdire.judging.client import ClientState
    from voirdire.judging.engine.batch import Asked
    from voirdire.judging.engine.combining import ItemVerdict

__all__ = ["CascadeEngine"]

_OVER = (CLOSED, LATE)
"""Why the first judge was not asked at all: then nobody waits for the second either."""


class CascadeEngine(Engine):
    """Answers items with a first engine, and with a second where the first judge is unsure.

    Parameters
    ----------
    bound : BoundCascade
        Who answers what, and what is passed on.
    first, then : Engine
        Those of both judges.

    Notes
    -----
    *Order*: each answer belongs to its own item, and is one judge's. *Errors*: what the first
    judge cannot answer is passed on, whatever the reason; what the language model does not answer
    is a failure, and late where it is late; what ends a run of either ends it. *Cancellation*:
    `close` ends the first judge, then the second, within the same time. *Memory*: the items that
    wait. *Retries and caching*: the language model's.
    """

    def __init__(self, bound: BoundCascade, *, first: Engine, then: Engine) -> None:
        super().__init__()
        self._bound = bound
        self._first, self._then = first, then
        self.end_with(self.ended)
        self._called_first, self._called_then = bound.answerers
        self._unsure: list[Asked] = []
        self._n_over = self._n_kept = 0
        kinds = [row.kind for row in bound.rubric.questions]
        self._places = [place for place, kind in enumerate(kinds) if kind == "boolean"]

    @property
    def state(self) -> LiveState:
        """How it stands: calls, cost and order are the language model's."""
        then = self._then.state
        return LiveState(
            n_waiting=self._first.state.n_waiting + len(self._unsure) + then.n_waiting,
            n_calls=then.n_calls,
            n_failures=self._n_over + then.n_failures,
            cost=then.cost,
            is_broken=then.is_broken,
        )

    @property
    def error(self) -> BaseException | None:
        """What ended the run."""
        return self._error or self._first.error or self._then.error

    @property
    def n_answered(self) -> int:
        """Items that have an answer."""
        return self._n_kept + self._then.n_answered

    @property
    def calls(self) -> ClientState | None:
        """How the calls of a run stand."""
        return self._then.calls

    def end_with(self, ended: asyncio.Event) -> None:
        """Set this event where the run of either judge ends."""
        self.ended = self._first.ended = self._then.ended = ended

    def stop(self) -> None:
        """Begin nothing more; what is sent comes to its end."""
        self._then.stop()

    async def start(self) -> None:
        """Begin.

        Raises
        ------
        InputError
            If the store cannot be used.
        """
        await self._then.start()
        await self._first.start()

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        self._first.submit([_AtFirst(each, self._look) for each in asked])

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more; what the first judge is unsure of from now on is not called."""
        loop = asyncio.get_running_loop()
        ends = None if drain_s is None else loop.time() + drain_s
        try:
            await self._first.close(drain_s=drain_s)
        finally:
            self._pass_on()
            left_s = None if ends is None else max(0.0, ends - loop.time())
            await self._then.close(drain_s=left_s)

    def _look(self, asked: Asked, verdict: ItemVerdict) -> None:
        """Give an item the first judge's answer, or keep it for the second."""
        is_over = bool(verdict.failures) and verdict.failures[0][1].reason in _OVER
        values = np.array([verdict.values[place] for place in self._places], dtype=np.float64)
        if is_over or not self._bound.goes_on(values[None, :])[0]:
            self._n_over += is_over
            self._n_kept += not is_over
            asked.answered_by = None if is_over else self._called_first
            asked.answer(msgspec.structs.replace(verdict, answered_by=asked.answered_by))
            return
        asked.answered_by = self._called_then
        if not self._unsure:  # what comes of one batch goes on together
            asyncio.get_running_loop().call_soon(self._pass_on)
        self._unsure.append(_AtThen(asked))

    def _pass_on(self) -> None:
        unsure, self._unsure = self._unsure, []
        if unsure:
            self._then.submit(unsure)


class _AtFirst(PassedOn):
    """An item at the first judge, whose answer is looked at before anybody gets it."""

    __slots__ = ("_is_looked_at", "_look")

    def __init__(self, asked: Asked, look: Callable[[Asked, ItemVerdict], None]) -> None:
        super().__init__(asked)
        self._look = look
        self._is_looked_at = False

    @property
    def is_answered(self) -> bool:
        """Whether the first judge has nothing to do about it any more."""
        return self._is_looked_at or self.asked.is_answered

    def answer(self, verdict: ItemVerdict) -> None:
        """Have the first answer looked at."""
        if not self.is_answered:
            self._is_looked_at = True
            self._look(self.asked, verdict)


class _AtThen(PassedOn):
    """An item at the second judge, whose answer says that it is that one's."""

    __slots__ = ()

    def answer(self, verdict: ItemVerdict) -> None:
        """Hand the answer on."""
        answered_by = self.asked.answered_by
        self.asked.answer(msgspec.structs.replace(verdict, answered_by=answered_by))
