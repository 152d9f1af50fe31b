"""A judge that lives long: answers in memory, one call for equal items, a deadline per request."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire._validation import check_positive
from voirdire.judging.engine.batch import Asked
from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.engine.combining import failed_verdict
from voirdire.judging.engine.engines import engine_of
from voirdire.judging.live.settings import LiveSettings
from voirdire.judging.plan import is_cascade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging.engine.combining import ItemVerdict
    from voirdire.judging.engine.port import LiveState
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = ["TOO_MANY", "LiveJudge", "LiveVerdicts"]

TOO_MANY = "too many items wait for the judge"

_ROOM_S = 0.1
"""Where too many wait, it is looked at most so often who of them is still waited for."""


# A hundred thousand of them are remembered: a struct takes a fifth of the time to make.
class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a judge said of one item.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_propositions,)
        In the order of the rubric, in [0, 1]; nan where the judge failed.
    behavior : str or None
        The item's own.
    failure : str or None
        Why a probability is missing, where one is; without any text of the item.
    is_stored : bool
        Whether it came from the store, and nothing was called.
    answered_by : str or None
        Which judge of a cascade it came to, answered or not; None where there is only one, and
        where it came to none.
    """

    probabilities: NDArray[np.float64]
    behavior: str | None = None
    failure: str | None = None
    is_stored: bool = False
    answered_by: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveVerdicts:
    """What a judge said of items by the deadline.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_items, n_propositions)
        In [0, 1]; nan where there is none.
    behaviors : tuple of str or None
        By item.
    failures : tuple of str or None
        By item why a probability is missing.
    n_remembered : int
        Items whose answer was in memory.
    n_stored : int
        Items whose answer was in the store.
    n_late : int
        Items whose answer did not come in time.
    answered_by : tuple of str or None, or None
        By item which judge of a cascade it came to; None where there is only one judge.
    """

    probabilities: NDArray[np.float64] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    failures: tuple[str | None, ...] = field(repr=False)
    n_remembered: int = 0
    n_stored: int = 0
    n_late: int = 0
    answered_by: tuple[str | None, ...] | None = field(default=None, repr=False)


class _Waited(Asked):
    """An item that requests wait for."""

    __slots__ = ("_places", "future", "key")

    def __init__(self, key: bytes, item: Item, until: float, places: Sequence[int]) -> None:
        super().__init__(item, until)
        self.key = key
        self.future: asyncio.Future[LiveAnswer] = asyncio.get_running_loop().create_future()
        self._places = places

    @property
    def is_answered(self) -> bool:
        return self.future.done()

    def answer(self, verdict: ItemVerdict) -> None:
        if self.future.done():
            return
        reasons = [why.reason for place, why in verdict.failures if place in self._places]
        values = [verdict.values[place] for place in self._places]
        self.future.set_result(
            LiveAnswer(
                probabilities=np.array(values, dtype=np.float64),  # None becomes nan
                behavior=self.item.behavior,
                failure=reasons[0] if reasons else None,
                is_stored=verdict.is_stored,
                answered_by=verdict.answered_by or self.answered_by,
            )
        )


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
        questions = plan.rubric.questions
        self._n_questions = len(questions)
        self._places = [place for place, row in enumerate(questions) if row.kind == "boolean"]
        self._is_cascade = is_cascade(plan.judge)
        self._remembered = _Remembered(self.settings.remembered)
        self._under_way: dict[bytes, _Waited] = {}
        self._engine = engine_of(plan, store=store, settings=self.settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._room_was_made = -math.inf

    @property
    def state(self) -> LiveState:
        """How the judge stands."""
        return self._engine.state

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge, also those whose requests were answered without them."""
        return len(self._under_way)

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
                await self._engine.start()
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
                asked.answer(self._failed(CLOSED))

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
            limit = check_positive("deadline_s", deadline_s)
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
    ) -> dict[bytes, _Waited]:
        """Have asked what nobody has asked yet; give what is waited for."""
        loop = asyncio.get_running_loop()
        until = loop.time() + limit_s
        waiting: dict[bytes, _Waited] = {}
        new: list[_Waited] = []
        for place in missing:
            key, item = keys[place], items[place]
            if key in waiting:
                continue
            asked = self._under_way.get(key)
            if asked is None or _is_in_vain(asked):
                asked = _Waited(key, item, until, self._places)
                if (why := self._refusal(loop.time())) is None:
                    new.append(asked)
                    self._under_way[key] = asked
                    asked.future.add_done_callback(partial(self._ended, asked))
                else:
                    asked.answer(self._failed(why))
            elif asked.wanted_until < until:
                asked.wanted_until = until
            waiting[key] = asked
        if new:
            self._engine.submit(new)
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
            asked.answer(self._failed(LATE))

    def _ended(self, asked: _Waited, future: asyncio.Future[LiveAnswer]) -> None:
        if self._under_way.get(asked.key) is asked:
            del self._under_way[asked.key]
        if future.cancelled():
            return
        answer = future.result()
        if answer.failure is None:
            self._remembered.put(asked.key, answer)

    def _failed(self, why: str) -> ItemVerdict:
        return failed_verdict(self._n_questions, why)

    def _late(self, asked: _Waited) -> LiveAnswer:
        return LiveAnswer(
            probabilities=np.full(len(self._places), np.nan),
            behavior=asked.item.behavior,
            failure=LATE,
            answered_by=asked.answered_by,
        )

    def _verdicts(
        self, found: Sequence[LiveAnswer | None], missing: Sequence[int], *, n_late: int
    ) -> LiveVerdicts:
        """Put answers together; `missing` are the places of those that were not remembered."""
        answers = [answer for answer in found if answer is not None]
        who = tuple([answer.answered_by for answer in answers]) if self._is_cascade else None
        rows = [answer.probabilities for answer in answers]
        flat = np.concatenate(rows) if rows else np.empty(0)
        return LiveVerdicts(
            probabilities=flat.reshape(len(rows), len(self._places)),
            behaviors=tuple([answer.behavior for answer in answers]),
            failures=tuple([answer.failure for answer in answers]),
            n_remembered=len(rows) - len(missing),
            n_stored=sum([answers[place].is_stored for place in missing]),
            n_late=n_late,
            answered_by=who,
        )


def _is_in_vain(asked: _Waited) -> bool:
    """Whether it failed; one that has just been answered is not asked about again."""
    return asked.is_answered and asked.future.result().failure is not None


async def _all_of(several: Iterable[_Waited], *, limit_s: float) -> None:
    """Wait until all are answered, so long at most."""
    futures = [asked.future for asked in several if not asked.is_answered]
    if futures:
        await asyncio.wait(futures, timeout=limit_s)


class _Remembered:
    """A bounded memory of answers by the content of their items."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[bytes, LiveAnswer] = OrderedDict()

    def get(self, key: bytes) -> LiveAnswer | None:
        """Find an answer, or None."""
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, key: bytes, answer: LiveAnswer) -> None:
        """Keep an answer, and give up the oldest where there are too many."""
        if self._most == 0:
            return
        self._answers[key] = answer
        self._answers.move_to_end(key)
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)
