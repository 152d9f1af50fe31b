"""The engine of a language model: looks up, calls, stores and combines for each item."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from voirdire.judging.client import ClientState
from voirdire.judging.engine.batch import Batch
from voirdire.judging.engine.call_queue import CLOSED, CallQueue, RunQueue, Stored
from voirdire.judging.engine.combining import failed_verdict
from voirdire.judging.engine.port import Engine, LiveState
from voirdire.judging.engine.queues import FairQueue
from voirdire.judging.engine.service_queue import ServiceQueue
from voirdire.store import GroupCommit, ReplyStore, open_store
from voirdire.store.reply_store import group_by_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.judging.binding import BoundJudge
    from voirdire.judging.engine.batch import ItemRequest
    from voirdire.judging.settings import LiveSettings, StoredReplies

__all__ = ["ModelEngine"]

_LOOKED_UP = 256
"""Items in one query of a live judge: the event loop reads this many replies without a pause."""


class ModelEngine(Engine):
    """Answers items with a language model: in a run, or live where there are `settings`.

    In a run, items are looked up as they come. A live judge serves its callers in turn. `RunQueue`
    and `ServiceQueue` handle errors.

    *Order*: each answer belongs to its own item. *Errors*: an error about one item is a failure in
    its verdict; an error that concerns every item ends a run, and pauses a live judge; a cost limit
    without a known price is an `InputError` before anything is called. *Cancellation*: `close`
    waits for the calls that are sent, then cancels them. *Memory*: the items that wait, and a
    bounded number of workers. *Retries and caching*: one `Client` applies the limits to all calls;
    stored replies are used before anything is called, calls in flight are shared by equal items,
    and each reply is stored before it is used.
    """

    def __init__(
        self,
        bound: BoundJudge,
        replies: StoredReplies,
        *,
        settings: LiveSettings | None = None,
    ) -> None:
        super().__init__()
        _ = bound.calls  # raises where the judge cannot be asked
        self._bound = bound
        self._is_run = settings is None
        self._waiting: FairQueue[ItemRequest] = FairQueue(None if self._is_run else _LOOKED_UP)
        self._queue: CallQueue
        if settings is None:
            self._queue = RunQueue(bound, look_up=self._look_up, end=self.end)
        else:
            self._queue = ServiceQueue(bound, look_up=self._look_up, settings=settings)
        self._replies = replies
        self._store: ReplyStore | None = None
        self._commit: GroupCommit | None = None
        self._judge_id = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-look-up")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def state(self) -> LiveState:
        """State of the engine."""
        spending = self._queue.spending
        return LiveState(
            n_waiting=self._n_waiting,
            n_calls=spending.n_calls,
            n_failures=self._n_failures,
            cost=spending.cost,
            is_broken=self._loop is not None and self._queue.is_resting(self._loop.time()),
        )

    @property
    def calls(self) -> ClientState | None:
        """State of the calls of a run."""
        spending = self._queue.spending
        return spending if isinstance(spending, ClientState) else None

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self._queue.stop()

    async def start(self) -> None:
        """Open the store and start; raise an `InputError` where the store cannot be used."""
        self._loop = asyncio.get_running_loop()
        if self._replies.store:
            opening = self._loop.run_in_executor(
                self._thread, self._open_store, self._replies.store
            )
            store, self._judge_id = await opening
            self._store, self._commit = store, GroupCommit(store, self._judge_id)
        self._queue.start(self._commit)

    def submit(self, asked: Sequence[ItemRequest]) -> None:
        """Take items."""
        self._n_waiting += len(asked)
        if self._is_closed:
            self._refuse(asked)
            return
        self._waiting.add(asked)
        if self._looking is None:  # items that come at the same moment are looked up together
            self._looking = asyncio.get_running_loop().create_task(self._take())

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, let the calls that are sent finish, and answer the other items."""
        was_closed, self._is_closed = self._is_closed, True
        if was_closed or self._loop is None:
            return
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
            await self._close_all()

    async def _take(self) -> None:
        """Begin with the items that have gathered, batch by batch."""
        try:
            while taken := self._waiting.take():
                asked = [each for each in taken if not each.is_answered]
                self._n_waiting -= len(taken) - len(asked)
                await self._begin(asked)
        finally:
            self._looking = None

    async def _begin(self, asked: Sequence[ItemRequest]) -> None:
        """Answer from the store, and queue the other calls."""
        queue, batch = self._queue, None
        try:
            batch = Batch(asked, self._bound, note=self._note)
            units = batch.units(
                stored=await self._look_up(batch.keys),
                reuse=partial(queue.reuse, retry_failures=self._replies.retry_failures),
                samples=queue.reader.gives_samples,
            )
            queue.add(units)
        except BaseException as error:  # noqa: BLE001  # it is raised again unless the items are answered
            queue.give_up(batch, error)

    async def _look_up(self, keys: Sequence[bytes]) -> Stored:
        """Return the stored attempts for item hashes."""
        if self._store is None:
            await asyncio.sleep(0)  # other tasks run between two batches
            return {}
        return await self._queue.watch_store(partial(self._read, self._store, keys))

    async def _read(self, store: ReplyStore, keys: Sequence[bytes]) -> Stored:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, store.get, self._judge_id, keys)
        return {key: group_by_name(calls) for key, calls in found.items()}

    def _refuse(self, asked: Sequence[ItemRequest]) -> None:
        """Answer items that come after the end; in a closed run no caller waits."""
        if self._is_run:
            return
        verdict = failed_verdict(len(self._bound.rubric.questions), CLOSED)
        for each in asked:
            self._note(verdict)
            each.answer(verdict)

    def _open_store(self, place: ReplyStore | str | Path) -> tuple[ReplyStore, int]:
        described = self._bound.described
        store = place if isinstance(place, ReplyStore) else open_store(place)
        try:
            return store, store.judge_id(self._bound.reply_fingerprint, description=described)
        except BaseException:
            if store is not place:
                store.close()
            raise

    async def _close_all(self) -> None:
        """Commit the replies that came, and close everything."""
        try:
            if self._commit is not None:
                await self._commit.close()
            await self._bound.judge.chat_model.close()
        finally:
            if self._store is not None and self._store is not self._replies.store:
                self._thread.submit(self._store.close)
            self._thread.shutdown(wait=False)
