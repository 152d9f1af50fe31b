"""The engine: items are looked up, planned, called, stored and combined, each by itself."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from voirdire.judging.client.failures import CircuitBreaker
from voirdire.judging.engine.batch import Batch
from voirdire.judging.engine.bugs import tell_bug
from voirdire.judging.engine.call_queue import CLOSED, CallQueue, RunQueue
from voirdire.judging.engine.combining import failed_verdict
from voirdire.judging.engine.port import Engine, LiveState
from voirdire.judging.engine.queues import FairQueue
from voirdire.judging.engine.service_queue import ServiceQueue, plainly
from voirdire.store import GroupCommit, ReplyStore, open_store
from voirdire.store.stored_calls import blobs_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.bound import BoundJudge
    from voirdire.judging.client import Call, Client, ClientState, Outcome
    from voirdire.judging.engine.batch import Asked
    from voirdire.judging.live.settings import LiveSettings

__all__ = ["ModelEngine", "RunModelEngine", "ServiceModelEngine"]

_LOOKED_UP = 256
"""Items in a query of a judge in service: the event loop reads so many replies without a pause."""

_UNREADABLE = "the store cannot be read"
_log = logging.getLogger("voirdire")


class ModelEngine(Engine):
    """Answers items with a language model.

    Parameters
    ----------
    bound : BoundJudge
        Who answers what.
    queue : CallQueue
        Makes the calls.
    most : int or None
        Items that are looked up together; None is those that came together.
    store : ReplyStore, str or path, optional
        Where replies are kept and found again: one that is open, or one that is opened here.
    retry_failures : bool, optional
        Whether calls that failed in an earlier run are made again.

    Notes
    -----
    *Order*: each answer belongs to its own item. *Errors*: what fails about an item is a failure
    in its verdict; what would fail about every item ends a run, and lets a judge in service rest.
    *Cancellation*: `close` waits for the calls that are sent, then cancels them. *Memory*: the
    items that wait, and a bounded number of workers. *Retries and caching*: one `Client` holds the
    limits over everything; stored replies are used before anything is called, calls in flight are
    shared by equal items, and each reply is stored before it is used.
    """

    def __init__(
        self,
        bound: BoundJudge,
        queue: CallQueue,
        *,
        most: int | None,
        store: ReplyStore | str | Path | None = None,
        retry_failures: bool = False,
    ) -> None:
        super().__init__()
        self._bound = bound
        self._queue = queue
        self._waiting: FairQueue[Asked] = FairQueue(most)
        self._retry_failures = retry_failures
        self._place = store
        self._store: ReplyStore | None = None
        self._commit: GroupCommit | None = None
        self._judge_id = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-look-up")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None
        self._n_to_check = 0
        self._is_closed = False

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
        self._queue.start(self._commit)

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        self._n_waiting += len(asked)
        if self._is_closed:
            self._refuse(asked)
            return
        self._waiting.add(asked)
        if self._looking is None:  # what comes in the same moment is looked up together
            self._looking = asyncio.get_running_loop().create_task(self._look_up())

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more, let the calls that are sent come to their end, and answer the rest."""
        if self._is_closed or self._loop is None:
            self._is_closed = True
            return
        self._is_closed = True
        ends = None if drain_s is None else self._loop.time() + drain_s
        self._queue.stop()
        self._refuse(self._waiting.clear())
        try:
            if self._looking is not None:
                await asyncio.wait([self._looking], timeout=drain_s)
            left_s = None if ends is None else max(0.0, ends - self._loop.time())
            await self._queue.close(drain_s=left_s)
        finally:
            if self._looking is not None:
                self._looking.cancel()
            await self._let_go()

    async def _begin(self, asked: Sequence[Asked]) -> None:
        """Answer what is stored, and have the rest called."""
        raise NotImplementedError

    def _refuse(self, asked: Sequence[Asked]) -> None:
        """Answer items that come too late."""
        verdict = failed_verdict(len(self._bound.rubric.questions), CLOSED)
        for each in asked:
            self._note(verdict)
            each.answer(verdict)

    def _opened(self, place: ReplyStore | str | Path) -> tuple[ReplyStore, int]:
        described = self._bound.described
        store = place if isinstance(place, ReplyStore) else open_store(place)
        try:
            return store, store.judge_id(self._bound.reply_fingerprint, description=described)
        except BaseException:
            if store is not place:
                store.close()
            raise

    async def _let_go(self) -> None:
        """Commit what came, and close everything."""
        try:
            if self._commit is not None:
                await self._commit.close()
            await self._bound.judge.chat_model.close()
        finally:
            if self._store is not None and self._store is not self._place:
                self._thread.submit(self._store.close)
            self._thread.shutdown(wait=False)

    async def _look_up(self) -> None:
        """Look up what has gathered, batch by batch."""
        try:
            while taken := self._waiting.take():
                asked = [each for each in taken if not each.is_answered]
                self._n_waiting -= len(taken) - len(asked)
                await self._begin(asked)
        finally:
            self._looking = None

    async def look_up(self, keys: Sequence[bytes]) -> Mapping[bytes, Mapping[str, Sequence[bytes]]]:
        """Give what is stored of items by their hashes."""
        if self._store is None:
            await asyncio.sleep(0)  # others have their turn between two batches
            return {}
        get = self._store.get
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, get, self._judge_id, keys)
        return {key: blobs_by_name(calls) for key, calls in found.items()}

    def _call(self, batch: Batch, stored: Mapping[bytes, Mapping[str, Sequence[bytes]]]) -> None:
        reader = self._queue.reader
        units = batch.units(
            stored=stored,
            reuse=self._reused,
            together=reader.goes_together,
            samples=reader.gives_samples,
        )
        self._queue.add(units)

    def _reused(self, call: Call[Any], blobs: Sequence[bytes]) -> Outcome[Any] | None:
        reader: Client = self._queue.reader
        return reader.reuse(call, blobs, retry_failures=self._retry_failures)


class RunModelEngine(ModelEngine):
    """The engine of a run: batches are looked up as they come; an error ends the run.

    Raises
    ------
    InputError
        If the limits hold a cost and nobody knows the price.
    """

    def __init__(
        self,
        bound: BoundJudge,
        *,
        store: ReplyStore | str | Path | None = None,
        retry_failures: bool = False,
    ) -> None:
        self._run_queue = RunQueue(bound, look_up=self.look_up, end=self.end)
        super().__init__(
            bound, self._run_queue, most=None, store=store, retry_failures=retry_failures
        )
        self._n_to_check = bound.calls.n_check

    @property
    def state(self) -> LiveState:
        """How it stands."""
        state = self.calls
        return LiveState(
            n_waiting=self._n_waiting,
            n_calls=state.n_calls,
            n_failures=self._n_failures,
            cost=state.cost,
        )

    @property
    def calls(self) -> ClientState:
        """How the calls stand."""
        return self._run_queue.state

    def stop(self) -> None:
        """Begin nothing more."""
        self._queue.stop()

    def _refuse(self, asked: Sequence[Asked]) -> None:
        """Answer nobody: where a run is closed, nobody waits."""

    async def _begin(self, asked: Sequence[Asked]) -> None:
        n_check = min(self._n_to_check, len(asked))
        self._n_to_check -= n_check
        try:
            batch = Batch(asked, self._bound, note=self._note, n_check=n_check)
            self._call(batch, await self.look_up(batch.keys))
        except Exception as error:  # noqa: BLE001  # raised again where results are waited for
            self.end(error)


class ServiceModelEngine(ModelEngine):
    """The engine of a judge in service: everybody who asks has a turn; an error lets it rest.

    Raises
    ------
    InputError
        If the limits hold a cost and nobody knows the price.
    """

    def __init__(
        self,
        bound: BoundJudge,
        *,
        store: ReplyStore | str | Path | None,
        settings: LiveSettings,
    ) -> None:
        _ = bound.calls  # refuses here what cannot be asked
        self._calls = ServiceQueue(bound, look_up=self.look_up, settings=settings)
        retry_failures = settings.retry_failures
        super().__init__(
            bound, self._calls, most=_LOOKED_UP, store=store, retry_failures=retry_failures
        )
        self._reading = CircuitBreaker(settings.rest_s)

    @property
    def state(self) -> LiveState:
        """How it stands."""
        at = self._loop.time() if self._loop is not None else 0.0
        return LiveState(
            n_waiting=self._n_waiting,
            n_calls=self._calls.clients.n_calls,
            n_failures=self._n_failures,
            cost=self._calls.clients.cost,
            is_broken=bool(self._calls.out_of_order(at) or self._reading.rests(at)),
        )

    async def _begin(self, asked: Sequence[Asked]) -> None:
        batch = Batch(asked, self._bound, note=self._note)
        try:
            self._call(batch, await self.look_up(batch.keys))
        except _NoStoreError as error:
            batch.give_up(str(error))
        except Exception as error:  # noqa: BLE001  # told, and nobody waits for ever
            tell_bug(error)
            batch.give_up(f"the judge raised {type(error).__name__}")
        except asyncio.CancelledError:
            batch.give_up(CLOSED)
            raise

    async def look_up(self, keys: Sequence[bytes]) -> Mapping[bytes, Mapping[str, Sequence[bytes]]]:
        """Give what is stored of items; a store that is out of order rests as well."""
        at = asyncio.get_running_loop().time()
        if (why := self._reading.rests(at)) is not None:
            raise _NoStoreError(why)
        try:
            found = await super().look_up(keys)
        except Exception as error:
            why = f"{_UNREADABLE}: {type(error).__name__}"
            self._reading.trip(why, now=asyncio.get_running_loop().time())
            _log.warning(why)
            raise _NoStoreError(why) from error
        self._reading.mend()
        return found

    def _reused(self, call: Call[Any], blobs: Sequence[bytes]) -> Outcome[Any] | None:
        found = super()._reused(call, blobs)
        return None if found is None else plainly(found)


class _NoStoreError(Exception):
    """The store cannot be read; the message is a reason for those concerned."""
