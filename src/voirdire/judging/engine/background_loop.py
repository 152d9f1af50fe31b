"""Runs an event loop in its own thread, apart from a notebook's loop and from Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from concurrent.futures import TimeoutError as NotYetError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from concurrent.futures import Future

__all__ = ["BackgroundLoop", "collect_garbage_less_often", "fork_lock", "result_of"]

T = TypeVar("T")
_TICK_S = 0.25
_LAST_S = 1.0
"""Seconds that tasks get to end when their loop does."""

fork_lock = threading.RLock()
"""A fork waits for this lock: no process begins with it held by a thread that it does not have."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=fork_lock.acquire,
        after_in_parent=fork_lock.release,
        after_in_child=fork_lock.release,
    )


class BackgroundLoop:
    """Runs coroutines for code that is not async; a context, or closed with `leave`.

    It begins when it is first asked, and begins anew when it is asked in a process that was forked
    off, or after it was left. A copy, or one that was pickled, is a new one.

    Attributes
    ----------
    held : object
        What lives as long as the loop: the collector must not take its tasks before it is closed.
    """

    held: object = None

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_out_of_reach and (thread := self.leave(_do_nothing)) is not None:
            thread.join()

    @property
    def is_out_of_reach(self) -> bool:
        """Whether waiting for the loop would never end.

        A generator that nobody closed is closed by whoever collects it: the interpreter at its
        end, which has stopped all threads; a process that was forked off; or this very thread.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        return not thread.is_alive() or sys.is_finalizing()

    def leave(self, close: Callable[[], Coroutine[Any, Any, None]]) -> threading.Thread | None:
        """Have the loop end after something, and give the thread that ends with it.

        Nobody is waited for, and no lock is taken: the collector may call this at any moment.
        """
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or loop.is_closed():
            return None
        self._thread = None  # whoever asks from now on gets another loop

        def begin() -> None:  # a task that nobody holds may be collected before its end
            self._ending.add(task := loop.create_task(end()))
            task.add_done_callback(self._ending.discard)

        async def end() -> None:
            try:
                await close()
                if others := asyncio.all_tasks() - {asyncio.current_task()}:
                    _, late = await asyncio.wait(others, timeout=_LAST_S)
                    for task in late:
                        task.cancel()
            finally:
                loop.stop()

        loop.call_soon_threadsafe(begin)
        return thread

    def run(
        self, coroutine: Coroutine[Any, Any, T], *, watch: Callable[[], None] | None = None
    ) -> T:
        """Wait for a coroutine, which is cancelled where the waiting ends before it."""
        future = self.begin(coroutine)
        try:
            while True:
                if watch is not None:
                    watch()
                try:
                    return future.result(timeout=_TICK_S)
                except NotYetError:
                    if future.done():  # the coroutine's own timeout, not ours
                        raise
        except BaseException:
            future.cancel()
            raise

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine in the loop."""
        with fork_lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                _running[self._loop] = self
                self._thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


_running: dict[asyncio.AbstractEventLoop, BackgroundLoop] = {}
"""Those of the process that this one was forked off stay here: they must not be cleaned up."""


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    del _running[loop]


async def _do_nothing() -> None:
    """End at once."""


async def result_of(future: Future[T], *, timeout_s: float) -> T:
    """Wait so long at most, in any event loop, for what was begun in a background loop.

    Raises
    ------
    TimeoutError
        If it took longer; it is cancelled then.
    """
    waiting = asyncio.wrap_future(future)
    # asyncio would log an error, with its message, as one that nobody has read
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([waiting], timeout=timeout_s)
    finally:
        waiting.cancel()  # it would come to a loop that may have ended by then
    return future.result(timeout=0)


_YOUNG = 20_000
"""Objects between two looks at the young ones: Python's own 700 cost a run a tenth of its time."""

_lock = threading.Lock()
_n_running = 0
_before = (0, 0, 0)


@contextmanager
def collect_garbage_less_often() -> Iterator[None]:
    """Look for reference cycles less often, in the whole process, and as before afterwards.

    Calls and verdicts are freed as soon as nobody holds them; only cycles wait longer. Whoever
    collects even less often, or not at all, is left in peace.
    """
    global _n_running, _before  # noqa: PLW0603  # the collector is one for the process as well
    with _lock:
        if not _n_running:
            _before = gc.get_threshold()
            if 0 < _before[0] < _YOUNG:
                gc.set_threshold(_YOUNG, *_before[1:])
        _n_running += 1
    try:
        yield
    finally:
        with _lock:
            _n_running -= 1
            if not _n_running and gc.get_threshold()[0] == _YOUNG:
                gc.set_threshold(*_before)
