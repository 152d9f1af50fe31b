"""A judge that lives long: answers in memory, one call for equal items, a deadline per request."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.judging.live.answers import (
    CLOSED,
    LATE,
    TOO_MANY,
    Asked,
    LiveVerdicts,
    no_answer,
)
from voirdire.judging.live.askers import asker_of
from voirdire.judging.live.remembered import Remembered
from voirdire.judging.live.settings import LiveSettings, check_drain, check_seconds
from voirdire.judging.plan import is_cascade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from voirdire.judging.live.answers import LiveAnswer, LiveState
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = ["LiveJudge"]

_ROOM_S = 0.1
"""Where too many wait, it is looked at most so often who of them is still waited for."""


class LiveJudge:
    """Answers the propositions of one rubric about items, request by request.

    Parameters
    ----------
    plan : JudgingPlan
        Who answers what.
    store : str or path, optional
        Where a language model's replies are kept and found again, shared with the command line.
    settings : LiveSettings, optional
        Deadline, memory and bounds.

    Raises
    ------
    InputError
        If the judge cannot be asked like this, such as a limit of cost without a price.

    Notes
    -----
    *Order*: verdicts follow the items of their request. *Errors*: an item that gets no answer has
    a failure; no request raises for what the judge does. *Cancellation*: a request may be
    cancelled, or reach its deadline; calls that it has made go on, and are stored. What is not
    begun yet comes after everything that somebody waits for. *Memory*: the verdicts that are
    remembered, and the items that wait, both bounded. *Retries and caching*: the limits of a
    language model hold over all requests together; equal items are asked about once, and whole
    answers are remembered.

    It belongs to the event loop in which it is started, is started once and closed once.

    Examples
    --------
    >>> import asyncio
    >>> from voirdire.judging.live.live_judge import LiveJudge
    >>> from voirdire.judging.plan import plan_judging
    >>> from voirdire.records import Item
    >>> async def ask():
    ...     judge = LiveJudge(plan_judging("local", "safety"))
    ...     await judge.start()
    ...     verdicts = await judge.ask([Item(id="a", response="I'm sorry, I can't help.")])
    ...     await judge.close()
    ...     return verdicts
    >>> asyncio.run(ask()).probabilities.shape
    (1, 21)
    """

    def __init__(
        self,
        plan: JudgingPlan,
        *,
        store: str | Path | None = None,
        settings: LiveSettings | None = None,
    ) -> None:
        self.plan = plan
        self.settings = LiveSettings() if settings is None else settings
        self._n_propositions = len(plan.rubric.propositions)
        self._is_cascade = is_cascade(plan.judge)
        self._remembered = Remembered(self.settings.remembered)
        self._under_way: dict[bytes, Asked] = {}
        self._asker = asker_of(plan, store=store, settings=self.settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._room_was_made = -math.inf

    @property
    def state(self) -> LiveState:
        """How the judge stands."""
        return self._asker.state

    async def start(self) -> None:
        """Begin; call it in the event loop that asks. A second time does nothing.

        Raises
        ------
        InputError
            If the store cannot be used.
        RuntimeError
            If it is closed, or was started in another event loop.
        """
        async with self._starting:
            if self._is_closed:
                msg = "a live judge that is closed does not start again; make another"
                raise RuntimeError(msg)
            if self._loop is None:
                await self._asker.start()
                self._loop = asyncio.get_running_loop()
        self._check_loop()

    async def close(self, *, drain_s: float = 30.0) -> None:
        """Take no more, and end; a second time does nothing.

        Parameters
        ----------
        drain_s : float, optional
            Seconds, at least 0, for which calls that are sent are waited for, so that what is
            paid for is stored. The rest fails.

        Raises
        ------
        RuntimeError
            If it was started in another event loop.
        """
        limit = check_drain(drain_s)
        if self._is_closed or self._loop is None:
            self._is_closed = True
            return
        self._check_loop()
        self._is_closed = True
        try:
            await self._asker.close(drain_s=limit)
        finally:
            for asked in list(self._under_way.values()):
                asked.answer(self._failed(asked.item, CLOSED))

    async def ask(self, items: Sequence[Item], *, deadline_s: float | None = None) -> LiveVerdicts:
        """Answer the propositions about items.

        Parameters
        ----------
        items : sequence of Item
            Equal ones are asked about once.
        deadline_s : float, optional
            Seconds; by default what the settings say.

        Returns
        -------
        LiveVerdicts
            In the order of the items; what was late or failed is missing, with its reason.

        Raises
        ------
        InputError
            If `deadline_s` is no number of seconds.
        RuntimeError
            If it was not started, or in another event loop.
        """
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_seconds("deadline_s", deadline_s)
        self._check_loop()
        keys = [item.content_hash() for item in items]
        found = [self._remembered.get(key) for key in keys]
        missing = [place for place, answer in enumerate(found) if answer is None]
        n_late = 0
        if missing:
            waiting = self._begun(keys, items, missing, limit_s=limit)
            await _all_of(waiting.values(), limit_s=limit)
            for place in missing:
                asked = waiting[keys[place]]
                n_late += not asked.is_answered
                found[place] = asked.future.result() if asked.is_answered else self._late(asked)
        return self._verdicts(found, missing, n_late=n_late)

    def _check_loop(self) -> None:
        if self._loop is None and not self._is_closed:
            msg = "a live judge must be started before it is asked: `await judge.start()`"
            raise RuntimeError(msg)
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            msg = (
                "a live judge belongs to the event loop in which it was started, and was used in "
                "another; make one for each, or let a `HostedReward` hold it"
            )
            raise RuntimeError(msg)

    def _begun(
        self,
        keys: Sequence[bytes],
        items: Sequence[Item],
        missing: Sequence[int],
        *,
        limit_s: float,
    ) -> dict[bytes, Asked]:
        """Have asked what nobody has asked yet; give what is waited for."""
        loop = asyncio.get_running_loop()
        until = loop.time() + limit_s
        waiting: dict[bytes, Asked] = {}
        new: list[Asked] = []
        for place in missing:
            key, item = keys[place], items[place]
            if key in waiting:
                continue
            asked = self._under_way.get(key)
            if asked is None or _is_in_vain(asked):
                asked = Asked(key, item, loop.create_future(), until)
                if (why := self._refusal(loop.time())) is None:
                    new.append(asked)
                    self._under_way[key] = asked
                    asked.future.add_done_callback(partial(self._ended, asked))
                else:
                    asked.answer(self._failed(item, why))
            elif asked.wanted_until < until:
                asked.wanted_until = until
            waiting[key] = asked
        if new:
            self._asker.submit(new)
        return waiting

    def _refusal(self, now: float) -> str | None:
        """Say why nothing more can be asked; None where it can."""
        if self._is_closed:
            return CLOSED
        if len(self._under_way) >= self.settings.most_waiting:
            self._make_room(now)
            if len(self._under_way) >= self.settings.most_waiting:
                return TOO_MANY
        return None

    def _make_room(self, now: float) -> None:
        """Give up on what nobody waits for; the asker goes on with what it has begun of it."""
        if now < self._room_was_made + _ROOM_S:
            return
        self._room_was_made = now
        for asked in [each for each in self._under_way.values() if each.wanted_until < now]:
            del self._under_way[asked.key]
            asked.answer(self._failed(asked.item, LATE))

    def _ended(self, asked: Asked, future: asyncio.Future[LiveAnswer]) -> None:
        if self._under_way.get(asked.key) is asked:
            del self._under_way[asked.key]
        if future.cancelled():
            return
        answer = future.result()
        if answer.failure is None:
            self._remembered.put(asked.key, answer)

    def _failed(self, item: Item, why: str) -> LiveAnswer:
        return no_answer(self._n_propositions, why, behavior=item.behavior)

    def _late(self, asked: Asked) -> LiveAnswer:
        answer = self._failed(asked.item, LATE)
        return msgspec.structs.replace(answer, answered_by=asked.answered_by)

    def _verdicts(
        self, found: Sequence[LiveAnswer | None], missing: Sequence[int], *, n_late: int
    ) -> LiveVerdicts:
        """Put answers together; `missing` are the places of those that were not remembered."""
        answers = [answer for answer in found if answer is not None]
        who = tuple([answer.answered_by for answer in answers]) if self._is_cascade else None
        rows = [answer.probabilities for answer in answers]
        flat = np.concatenate(rows) if rows else np.empty(0)
        return LiveVerdicts(
            probabilities=flat.reshape(len(rows), self._n_propositions),
            behaviors=tuple([answer.behavior for answer in answers]),
            failures=tuple([answer.failure for answer in answers]),
            n_remembered=len(rows) - len(missing),
            n_stored=sum([answers[place].is_stored for place in missing]),
            n_late=n_late,
            answered_by=who,
        )


def _is_in_vain(asked: Asked) -> bool:
    """Whether it failed; one that has just been answered is not asked about again."""
    return asked.is_answered and asked.future.result().failure is not None


async def _all_of(several: Iterable[Asked], *, limit_s: float) -> None:
    """Wait until all are answered, so long at most."""
    futures = [asked.future for asked in several if not asked.is_answered]
    if futures:
        await asyncio.wait(futures, timeout=limit_s)
