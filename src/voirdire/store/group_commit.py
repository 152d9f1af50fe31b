"""Claims and commits calls together that begin or end at about the same time."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from voirdire.errors import InputError
from voirdire.store.reply_store import CallKey, StoredCall

if TYPE_CHECKING:
    from typing import Self

    from voirdire.store.reply_store import ReplyStore

__all__ = ["GroupCommit"]

_MOST_AT_ONCE = 1_024
_ENOUGH, _GATHER_S = 16, 0.001
"""Calls, and seconds, for which a transaction soon after another one waits.

A transaction costs as much as a dozen calls.
"""

T = TypeVar("T")
Puts: TypeAlias = list[tuple[StoredCall, asyncio.Future[None]]]
Claims: TypeAlias = dict[CallKey, asyncio.Future[bool] | None]
"""Futures that wait for each call; None where a claim is renewed."""
Group: TypeAlias = tuple[Puts, Claims]
Work: TypeAlias = Future[set[CallKey]]


class GroupCommit:
    """Claims calls of one judge and puts them into a store, in one transaction at a time.

    While a transaction runs, and a few milliseconds after it, calls that arrive wait for the next
    one: alone, a call is committed at once; under load, many share a transaction. It belongs to
    the event loop in which it is used; close it before that one ends.

    Parameters
    ----------
    store : ReplyStore
        Where they go; it stays open.
    judge_id : int
        Whose they are, from `ReplyStore.judge_id`.
    claim_s : float, optional
        Seconds after which others may make a call that this one has claimed, where the process was
        killed. As long as it lives it renews its claims.

    Notes
    -----
    *Order*: calls are committed in the order in which `put` got them.
    *Errors*: what the store raises is raised for every call of that transaction; the next calls
    begin another one.
    *Cancellation*: a call whose waiter is cancelled is committed all the same, as long as the
    event loop lives until `close`; a claim whose waiter is cancelled is released.
    *Memory*: the calls that wait, one future each; the keys of the calls in flight; one thread.
    *Retries and caching*: the store's.
    """

    def __init__(self, store: ReplyStore, judge_id: int, *, claim_s: float = 30.0) -> None:
        self._store = store
        self._judge_id = judge_id
        self._claim_s = claim_s
        self._owner = uuid.uuid4().hex
        self._puts: Puts = []
        self._claims: Claims = {}
        self._held: set[CallKey] = set()
        self._released: list[CallKey] = []
        self._renewal: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-store")
        self._is_committing = False
        self._is_closed = False
        self._idle: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def put(self, call: StoredCall) -> None:
        """Put a call into the store, release its claim, and return when it is committed.

        Parameters
        ----------
        call : StoredCall
            One that is there already stays as it is.

        Raises
        ------
        InputError
            If the store refuses it, or if this is closed.
        """
        loop = self._open_loop("put")
        committed = loop.create_future()
        self._puts.append((call, committed))
        self._begin(loop)
        await committed

    async def claim(self, item: bytes, name: str, *, attempt: int) -> bool:
        """Claim a call just before it is made, so that no other run pays for it as well.

        Parameters
        ----------
        item, name, attempt
            As in the `StoredCall` that will come of it.

        Returns
        -------
        bool
            Whether it may be made. If not, another run (or another task of this one) is making it,
            or it has been stored since it was looked up: look it up again, and after a while claim
            it again.

        Raises
        ------
        InputError
            If the store refuses it, or if this is closed.
        """
        loop = self._open_loop("claim")
        key = (item, name, attempt)
        if key in self._held:
            return False
        self._held.add(key)
        claimed: asyncio.Future[bool] = loop.create_future()
        self._claims[key] = claimed
        if self._renewal is None:
            self._renewal = loop.call_later(self._claim_s / 3, self._renew, loop)
        self._begin(loop)
        return await claimed

    def release(self, item: bytes, name: str, *, attempt: int) -> None:
        """Release the claim of a call that ended without being put, so that others may make it.

        Parameters
        ----------
        item, name, attempt
            As in `claim`; a call that is not claimed stays as it is.
        """
        key = (item, name, attempt)
        if key in self._held:
            self._held.discard(key)
            self._claims.pop(key, None)  # it may be about to be renewed
            self._released.append(key)
            self._begin(asyncio.get_running_loop())

    async def close(self) -> None:
        """Commit waiting calls, release claims, and end the thread; a second call does nothing."""
        self._is_closed = True
        if self._renewal is not None:
            self._renewal.cancel()
        self._claims = {key: waiter for key, waiter in self._claims.items() if waiter is not None}
        self._released += self._held.difference(self._claims)
        self._held.intersection_update(self._claims)
        loop = asyncio.get_running_loop()
        if self._has_work:
            self._begin(loop)
        if self._is_committing:
            idle = loop.create_future()
            self._idle.append(idle)
            await idle
        self._thread.shutdown(wait=False)

    @property
    def _has_work(self) -> bool:
        return bool(self._puts or self._claims or self._released)

    def _open_loop(self, verb: str) -> asyncio.AbstractEventLoop:
        if self._is_closed:
            msg = f"`{verb}` must come before `close`, got a call after it. Make another "
            raise InputError(f"{msg}GroupCommit.")
        return asyncio.get_running_loop()

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        """Renew the claims of calls in flight; a claim that another run took meanwhile is lost."""
        for key in self._held:
            self._claims.setdefault(key, None)
        self._renewal = loop.call_later(self._claim_s / 3, self._renew, loop)
        if self._claims:
            self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_committing:
            self._commit(loop)

    def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for a few more calls before the next transaction, unless there are many."""
        if self._is_closed or len(self._puts) + len(self._claims) >= _ENOUGH:
            self._commit(loop)
        else:
            self._is_committing = True
            loop.call_later(_GATHER_S, self._commit, loop)

    # Not a task, which could be cancelled and lose calls.
    def _commit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pass the waiting calls to the thread."""
        self._is_committing = True
        puts, claims, released = self._puts[:_MOST_AT_ONCE], self._claims, self._released
        del self._puts[:_MOST_AT_ONCE]
        self._claims, self._released = {}, []
        work = self._thread.submit(
            self._store.exchange,
            self._judge_id,
            put=[call for call, _ in puts],
            release=[*released, *(call.key for call, _ in puts if call.key in self._held)],
            claim=list(claims),
            owner=self._owner,
            for_s=self._claim_s,
        )
        work.add_done_callback(partial(self._call_back, loop, (puts, claims)))

    def _call_back(self, loop: asyncio.AbstractEventLoop, group: Group, work: Work) -> None:
        """Call a function in the loop from the thread; do nothing where the loop has ended."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._finish, loop, group, work)

    def _finish(self, loop: asyncio.AbstractEventLoop, group: Group, work: Work) -> None:
        """Begin the next transaction, and set the results of this one."""
        puts, claims = group
        error = work.exception()
        for call, committed in puts:
            if error is None:
                self._held.discard(call.key)
            _tell(committed, None, error)
        for key, claimed in claims.items():
            is_ours = error is None and key in work.result()
            is_wanted = claimed is None or not (claimed.done() or self._is_closed)
            if not is_ours or not is_wanted:
                self._held.discard(key)
            if is_ours and not is_wanted:  # its waiter was cancelled
                self._released.append(key)
            if claimed is not None:
                _tell(claimed, is_ours and is_wanted, error)
        self._is_committing = False
        if self._has_work:
            self._gather(loop)
        else:
            for idle in self._idle:
                _tell(idle, None, None)


def _tell(waiter: asyncio.Future[T], result: T, error: BaseException | None) -> None:
    if waiter.done():  # it was cancelled
        return
    if error is None:
        waiter.set_result(result)
    else:
        waiter.set_exception(error)
