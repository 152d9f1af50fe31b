"""A live reward with an event loop of its own, for trainers with another loop, or with none."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import weakref
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from voirdire.judging.engine.background_loop import BackgroundLoop
from voirdire.rewards.live.forks import forget_when_forked

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

__all__ = ["HostedReward", "wait_for_future"]

_GRACE_S = 5.0
"""Seconds beyond the draining after which an end is not waited for any longer."""

_LAST_S = 1.0
"""Seconds that each gets when the process ends."""


class Hosted(Protocol):
    """What can be hosted: it belongs to one event loop."""

    async def start(self) -> None:
        """Begin."""

    async def close(self, *, drain_s: float) -> None:
        """End."""


T = TypeVar("T")
R = TypeVar("R", bound=Hosted)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Running(Generic[R]):
    loop: BackgroundLoop
    started: Future[R]

    @property
    def has_failed(self) -> bool:
        done = self.started.done()
        return done and (self.started.cancelled() or self.started.exception() is not None)


_hosts: weakref.WeakSet[HostedReward[Any]] = weakref.WeakSet()
_of_parents: list[Any] = []
"""What a forked process left behind: it must not be cleaned up, which would disturb the parent."""


class HostedReward(Generic[R]):
    """Runs a live reward in a thread; made when it is first asked, anew in a forked process.

    Parameters
    ----------
    make : callable
        Makes the `LiveReward`, or what is like one; called in the thread. Where that fails, who
        asked gets the error, and the next who asks has it tried again.

    Notes
    -----
    *Order*, *Errors*, *Memory*, *Retries and caching*: as `LiveReward`. *Cancellation*: who waits
    may give up; what a judge was asked goes on, and is remembered.

    Any number of threads may ask. A process that ends without `close` waits a second at most, and
    one that nobody holds any more ends by itself.
    """

    def __init__(self, make: Callable[[], R]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._running: _Running[R] | None = None
        self._end_with: Any = None  # a finalizer, where something runs
        forget_when_forked(self)

    def forget(self) -> None:
        """Forget loop and thread, which a forked process does not have."""
        self._lock = threading.Lock()
        if self._running is not None:
            _of_parents.append(self._running)
            self._end_with.detach()
        self._running = None

    def start(self) -> R:
        """Begin, where that was not done yet in this process, and wait for it.

        Returns
        -------
        LiveReward
            What `make` made.
        """
        with self._lock:
            running = self._begun()
        return running.started.result()

    def begin(self, ask: Callable[[R], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin a request in the reward's own loop; wait for it as long as you like.

        Parameters
        ----------
        ask : callable
            Takes the reward and gives what is awaited, such as
            ``lambda live: live.turn_rewards(turns)``.

        Returns
        -------
        concurrent.futures.Future
            Of what was asked; `asyncio.wrap_future` makes it awaitable.
        """
        with self._lock:
            running = self._begun()
            return running.loop.begin(_asked(running.started, ask))

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew.

        Parameters
        ----------
        drain_s : float, optional
            Seconds.
        """
        with self._lock:
            running, self._running = self._running, None
            if running is not None:
                self._end_with.detach()
        if running is None or running.loop.is_out_of_reach:
            return
        ended = running.loop.begin(_ended(running.started, drain_s))
        try:
            ended.result(timeout=drain_s + _GRACE_S)
        except NotYetError:  # the loop is blocked, or something in it
            running.loop.leave(_nothing)
        except BaseException:
            running.loop.leave(_nothing)
            raise
        else:
            running.loop.__exit__()

    def _begun(self) -> _Running[R]:
        """Begin where nothing runs; call it with the lock."""
        running = self._running
        if running is None or running.has_failed or running.loop.is_out_of_reach:
            if running is not None:
                self._end_with()
            loop = BackgroundLoop()
            loop.__enter__()
            running = _Running(loop=loop, started=loop.begin(_made(self._make)))
            self._end_with = weakref.finalize(self, _leave, running)
            self._end_with.atexit = False
            self._running = running  # last: a process may be forked off at any moment
            _end_at_exit()
            _hosts.add(self)
        return running

    def _end_at_exit(self) -> None:
        running = self._running
        if running is not None and not running.loop.is_out_of_reach:
            with contextlib.suppress(Exception):  # nobody is there any more to be told
                running.loop.begin(_ended(running.started, 0.0)).result(timeout=_LAST_S)


@cache
def _end_at_exit() -> None:
    atexit.register(_end_all)


def _end_all() -> None:
    for host in list(_hosts):
        host._end_at_exit()


def _leave(running: _Running[Any]) -> None:
    """End what nobody holds any more, without waiting."""
    if not running.loop.is_out_of_reach:
        running.loop.leave(partial(_ended, running.started, 0.0))


async def _made(make: Callable[[], R]) -> R:
    live = make()
    await live.start()
    return live


async def _asked(started: Future[R], ask: Callable[[R], Coroutine[Any, Any, T]]) -> T:
    if not started.done():
        # who gives up waiting does not end what others wait for
        await asyncio.shield(asyncio.wrap_future(started))
    return await ask(started.result())


async def _ended(started: Future[R], drain_s: float) -> None:
    if not started.done():
        await wait_for_future(started, seconds=drain_s)
    if started.done() and not started.cancelled() and started.exception() is None:
        await started.result().close(drain_s=drain_s)


async def _nothing() -> None:
    """End at once."""


async def wait_for_future(future: Future[Any], *, seconds: float) -> None:
    """Wait so long for a future of another loop, whatever comes of it, and then give it up.

    Neither its cancellation nor its error is felt here, and asyncio does not log an error, with
    its message, of which it believes that nobody has read it.
    """
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(_heard)
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()  # it would come to a loop that may have ended by then


def _heard(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
