"""A language model that is asked again and again: looked up, called, stored, within one limit."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from voirdire.judging.client.breaker import CircuitBreaker
from voirdire.judging.live.answers import CLOSED, LiveState, no_answer
from voirdire.judging.live.bugs import tell_bug
from voirdire.judging.live.calling import Calling
from voirdire.judging.live.job import plainly
from voirdire.judging.live.rounds import Rounds
from voirdire.judging.live.stretch import Stretch
from voirdire.store import GroupCommit, open_store
from voirdire.store.stored_calls import blobs_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.client.call import Call, Outcome
    from voirdire.judging.live.answers import Asked, LiveAnswer
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.store import ReplyStore

__all__ = ["ModelAsker"]

_LOOKED_UP = 256
"""Items in a query: the event loop reads so many replies without a pause."""

_UNREADABLE = "the store cannot be read"
_log = logging.getLogger("voirdire")


class ModelAsker:
    """Answers items with a language model.

    Parameters
    ----------
    bound : BoundJudge
        Who answers what.
    store : str or path, optional
        Where replies are kept and found again.
    settings : LiveSettings
        How it rests when it is out of order, and whether failures are called again.

    Raises
    ------
    InputError
        If the judge cannot be asked like this, such as a limit of cost without a price.

    Notes
    -----
    *Order*: each answer belongs to its own item. *Errors*: whatever happens is an item's failure;
    what every call would meet (no access, a server that is away, a store that takes nothing) lets
    the judge rest, then one call is made to try it. A limit of cost that is reached is final.
    *Cancellation*: `close` waits for the calls that are sent, then cancels them. *Memory*: the
    items that wait, and a bounded number of workers. *Retries and caching*: one `Client` holds the
    limits over everything; stored replies are used before anything is called, and each reply is
    stored before it is used.
    """

    def __init__(
        self, bound: BoundJudge, *, store: str | Path | None, settings: LiveSettings
    ) -> None:
        self._bound = bound
        self._plan = bound.calls  # refuses here what cannot be asked
        self._place = store
        self._retry_failures = settings.retry_failures
        kinds = [question.kind for question in bound.rubric.questions]
        self._places = [place for place, kind in enumerate(kinds) if kind == "boolean"]
        self._calling = Calling(bound, settings=settings)
        self._reading = CircuitBreaker(settings.rest_s)
        self._store: ReplyStore | None = None
        self._commit: GroupCommit | None = None
        self._judge_id = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-look-up")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fresh: Rounds[Asked] = Rounds()
        self._looking: asyncio.Task[None] | None = None
        self._n_waiting = self._n_failures = 0
        self._is_closed = False

    @property
    def state(self) -> LiveState:
        """How it stands."""
        now = self._loop.time() if self._loop is not None else 0.0
        callers = self._calling.callers
        return LiveState(
            n_waiting=self._n_waiting,
            n_calls=callers.n_calls,
            n_failures=self._n_failures,
            cost=callers.cost,
            is_broken=bool(self._calling.out_of_order(now) or self._reading.rests(now)),
        )

    async def start(self) -> None:
        """Open the store, and begin.

        Raises
        ------
        InputError
            If the store cannot be used.
        """
        self._loop = asyncio.get_running_loop()
        if self._place is not None:
            opening = self._loop.run_in_executor(self._thread, self._opened, self._place)
            store, self._judge_id = await opening
            self._store, self._commit = store, GroupCommit(store, self._judge_id)
        self._calling.start(self._commit)

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        self._n_waiting += len(asked)
        if self._is_closed:
            self._refuse(asked)
            return
        self._fresh.add(asked)
        if self._looking is None:  # what comes in the same moment is looked up together
            self._looking = asyncio.get_running_loop().create_task(self._look_up())

    async def close(self, *, drain_s: float) -> None:
        """Take no more, let the calls that are sent come to their end, and answer the rest."""
        if self._is_closed or self._loop is None:
            self._is_closed = True
            return
        self._is_closed = True
        ends = self._loop.time() + drain_s
        self._calling.stop()
        self._refuse(self._fresh.clear())
        try:
            if self._looking is not None:
                await asyncio.wait([self._looking], timeout=drain_s)
            await self._calling.close(drain_s=max(0.0, ends - self._loop.time()))
        finally:
            if self._looking is not None:
                self._looking.cancel()
            await self._let_go()

    async def _let_go(self) -> None:
        """Commit what came, and close everything."""
        try:
            if self._commit is not None:
                await self._commit.close()
            await self._bound.judge.model.close()
        finally:
            if self._store is not None:
                self._thread.submit(self._store.close)
            self._thread.shutdown(wait=False)

    def _opened(self, place: str | Path) -> tuple[ReplyStore, int]:
        store = open_store(place)
        try:
            judge = self._bound.judge
            described = {"name": judge.name, "asking": judge.asking}
            return store, store.judge_id(self._bound.reply_fingerprint, description=described)
        except BaseException:
            store.close()
            raise

    async def _look_up(self) -> None:
        """Look up what has gathered, stretch by stretch."""
        try:
            while self._fresh:
                taken = self._fresh.take(_LOOKED_UP)
                asked = [each for each in taken if not each.is_answered]
                self._n_waiting -= len(taken) - len(asked)
                await self._begin(asked)
        finally:
            self._looking = None

    async def _begin(self, asked: Sequence[Asked]) -> None:
        """Answer what is stored, and have the rest called."""
        stretch = Stretch.about(asked, self._bound, places=self._places, tell=self._note)
        try:
            stored = await self._stored(stretch)
            units = stretch.units(
                self._plan,
                stored=stored,
                reuse=self._reused,
                n_check=0,
                together=self._calling.together,
            )
            self._calling.add(stretch, units)
        except _NoStoreError as error:
            stretch.give_up(str(error))
        except Exception as error:  # noqa: BLE001  # told, and nobody waits for ever
            tell_bug(error)
            stretch.give_up(f"the judge raised {type(error).__name__}")
        except asyncio.CancelledError:
            stretch.give_up(CLOSED)
            raise

    async def _stored(self, stretch: Stretch) -> Mapping[bytes, Mapping[str, Sequence[bytes]]]:
        """Look up what the store has; a store that is out of order rests as well."""
        if self._store is None:
            await asyncio.sleep(0)  # others have their turn between two stretches
            return {}
        loop = asyncio.get_running_loop()
        if (why := self._reading.rests(loop.time())) is not None:
            raise _NoStoreError(why)
        get, keys = self._store.get, stretch.all_keys
        try:
            found = await loop.run_in_executor(self._thread, get, self._judge_id, keys)
        except Exception as error:
            why = f"{_UNREADABLE}: {type(error).__name__}"
            self._reading.trip(why, now=loop.time())
            _log.warning(why)
            raise _NoStoreError(why) from error
        self._reading.mend()
        return {key: blobs_by_name(calls) for key, calls in found.items()}

    def _reused(self, call: Call[Any], blobs: Sequence[bytes]) -> Outcome[Any] | None:
        reader = self._calling.callers.reader
        found = reader.reuse(call, blobs, retry_failures=self._retry_failures)
        return None if found is None else plainly(found)

    def _note(self, answer: LiveAnswer) -> None:
        self._n_waiting -= 1
        self._n_failures += answer.failure is not None

    def _refuse(self, asked: Sequence[Asked]) -> None:
        n_propositions = len(self._places)
        for each in asked:
            answer = no_answer(n_propositions, CLOSED, behavior=each.item.behavior)
            self._note(answer)
            each.answer(answer)


class _NoStoreError(Exception):
    """The store cannot be read; the message is a reason for those concerned."""
