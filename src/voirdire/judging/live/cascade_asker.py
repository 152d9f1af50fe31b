"""A cascade that lives long: the first judge answers what it is sure of, and passes the rest on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from voirdire.judging.live.answers import CLOSED, LATE, Asked, LiveState
from voirdire.judging.live.model_asker import ModelAsker
from voirdire.judging.live.thread_asker import ThreadAsker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from voirdire.judging.cascade.bound_cascade import BoundCascade
    from voirdire.judging.live.answers import LiveAnswer
    from voirdire.judging.live.settings import LiveSettings

__all__ = ["CascadeAsker"]

_OVER = (CLOSED, LATE)
"""Why the first judge was not asked at all: then nobody waits for the second either."""


class CascadeAsker:
    """Answers items with a first judge, and with a language model where that is unsure.

    Parameters
    ----------
    bound : BoundCascade
        Who answers what, and what is passed on.
    store : str or path, optional
        Where the language model's replies are kept and found again.
    settings : LiveSettings
        Of both.

    Raises
    ------
    InputError
        If the language model cannot be asked like this.

    Notes
    -----
    *Order*: each answer belongs to its own item, and is one judge's. *Errors*: what the first
    judge cannot answer is passed on, whatever the reason; what the language model does not answer
    is a failure, and late where it is late. *Cancellation*: `close` ends the first judge, then
    the second, within the same time. *Memory*: the items that wait. *Retries and caching*: the
    language model's.
    """

    def __init__(
        self, bound: BoundCascade, *, store: str | Path | None, settings: LiveSettings
    ) -> None:
        self._bound = bound
        self._first = ThreadAsker(bound.first, settings)
        self._then = ModelAsker(bound.then, store=store, settings=settings)
        self._called_first, self._called_then = bound.answerers
        self._unsure: list[Asked] = []
        self._n_over = 0

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

    async def close(self, *, drain_s: float) -> None:
        """Take no more; what the first judge is unsure of from now on is not called."""
        ends = asyncio.get_running_loop().time() + drain_s
        try:
            await self._first.close(drain_s=drain_s)
        finally:
            self._pass_on()
            rest_s = max(0.0, ends - asyncio.get_running_loop().time())
            await self._then.close(drain_s=rest_s)

    def _look(self, asked: Asked, answer: LiveAnswer) -> None:
        """Give an item the first judge's answer, or keep it for the second."""
        is_over = answer.failure in _OVER
        if is_over or not self._bound.goes_on(answer.probabilities[None, :])[0]:
            self._n_over += is_over
            asked.answered_by = None if is_over else self._called_first
            asked.answer(answer)
            return
        asked.answered_by = self._called_then
        if not self._unsure:  # what comes of one batch goes on together
            asyncio.get_running_loop().call_soon(self._pass_on)
        self._unsure.append(asked)

    def _pass_on(self) -> None:
        unsure, self._unsure = self._unsure, []
        if unsure:
            self._then.submit(unsure)


class _AtFirst(Asked):
    """An item as the first judge has it: its answer is looked at before anybody gets it."""

    def __init__(self, asked: Asked, look: Callable[[Asked, LiveAnswer], None]) -> None:
        super().__init__(asked.key, asked.item, asked.future)
        self._asked = asked
        self._look = look
        self._is_looked_at = False

    @property
    def is_answered(self) -> bool:
        """Whether the first judge has nothing to do about it any more."""
        return self._is_looked_at or self._asked.is_answered

    @property
    def wanted_until(self) -> float:
        """When the last who waits for it gives up; that may become later."""
        return self._asked.wanted_until

    @wanted_until.setter
    def wanted_until(self, until: float) -> None:
        """Leave it to whoever waits."""

    def answer(self, answer: LiveAnswer) -> None:
        """Have the first answer looked at."""
        if not self.is_answered:
            self._is_looked_at = True
            self._look(self._asked, answer)
