"""Calls that end at about the same time, committed together."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.store.stored_calls import StoredCall, check_call

if TYPE_CHECKING:
    from typing import Self

    from voirdire.store.reply_store import ReplyStore

__all__ = ["GroupCommit"]

_MOST_AT_ONCE = 1_024
_ENOUGH, _GATHER_S = 16, 0.001
"""A transaction costs as much as a dozen calls: one soon after another waits for so many calls,
but no longer than so many seconds."""

Group = list[tuple[StoredCall, asyncio.Future[None]]]
Work = Future[None]


class GroupCommit:
    """Puts calls of one judge into a store from async code, in one transaction at a time.

    While a transaction runs, and a few milliseconds after it, calls that arrive wait for the next
    one: alone, a call is committed at once; under load, many share a transaction. It belongs to
    the event loop in which it is
    used; close it before that one ends.

    Parameters
    ----------
    store : ReplyStore
        Where they go; it stays open.
    judge_id : int
        Whose they are, from `ReplyStore.judge_id`.

    Notes
    -----
    *Order*: calls are committed in the order in which `put` got them.
    *Errors*: what `ReplyStore.put` raises is raised for every call of that transaction; the next
    calls begin another one.
    *Cancellation*: a call whose waiter is cancelled is committed all the same, as long as the
    event loop lives until `close`.
    *Memory*: the calls that wait, one future each; one thread.
    *Retries and caching*: the store's.
    """

    def __init__(self, store: ReplyStore, judge_id: int) -> None:
        self._store = store
        self._judge_id = judge_id
        self._waiting: list[tuple[StoredCall, asyncio.Future[None]]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-store")
        self._is_committing = False
        self._is_closed = False
        self._idle: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def put(self, call: StoredCall) -> None:
        """Put a call into the store, and return when it is committed.

        Parameters
        ----------
        call : StoredCall
            One that is there already stays as it is.

        Raises
        ------
        InputError
            If the store refuses it, or if this is closed.
        """
        if self._is_closed:
            msg = "`put` must come before `close`, got a call after it. Make another GroupCommit."
            raise InputError(msg)
        check_call(call)  # here, since one that is refused later would take its group with it
        loop = asyncio.get_running_loop()
        committed = loop.create_future()
        self._waiting.append((call, committed))
        if not self._is_committing:
            self._commit(loop)
        await committed

    async def close(self) -> None:
        """Commit what waits and let the thread go; calling it twice is fine."""
        self._is_closed = True
        if self._is_committing:
            idle = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle
        self._thread.shutdown(wait=False)

    def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let a few more calls come before the next transaction, unless there are many already."""
        if self._is_closed or len(self._waiting) >= _ENOUGH:
            self._commit(loop)
        else:
            self._is_committing = True
            loop.call_later(_GATHER_S, self._commit, loop)

    # No task: one could be cancelled together with everything else, and take calls with it.
    def _commit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand the calls that wait to the thread."""
        group = self._waiting[:_MOST_AT_ONCE]
        del self._waiting[:_MOST_AT_ONCE]
        self._is_committing = True
        calls = [call for call, _ in group]
        work = self._thread.submit(self._store.put, self._judge_id, calls)
        work.add_done_callback(partial(self._call_back, loop, group))

    def _call_back(self, loop: asyncio.AbstractEventLoop, group: Group, work: Work) -> None:
        """Go back from the thread to the loop; where it has ended, nobody waits there."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._finish, loop, group, work)

    def _finish(self, loop: asyncio.AbstractEventLoop, group: Group, work: Work) -> None:
        """Begin the next transaction, and tell those who wait about this one."""
        self._is_committing = False
        if self._waiting:
            self._gather(loop)
        error = work.exception()
        for _, committed in group:
            if committed.done():  # its waiter was cancelled
                continue
            if error is None:
                committed.set_result(None)
            else:
                committed.set_exception(error)
        if not self._is_committing:
            _wake(self._idle)


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()
