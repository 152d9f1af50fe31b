"""An event loop in a thread of its own, which a notebook's loop and Ctrl-C do not disturb."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from concurrent.futures import TimeoutError as NotYetError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from concurrent.futures import Future

__all__ = ["BackgroundLoop", "collected_seldom"]

T = TypeVar("T")
_TICK_S = 0.25


class BackgroundLoop:
    """Runs coroutines for code that is not async; a context.

    Attributes
    ----------
    held : object
        What lives as long as the loop: the collector must not take its tasks before it is closed.
    """

    held: object = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._ending: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    @property
    def is_out_of_reach(self) -> bool:
        """Whether waiting for the loop would never end.

        A generator that nobody closed is closed by whoever collects it: the interpreter at its
        end, which has stopped all threads; a process that was forked off; or this very thread.
        """
        own = self._thread is threading.current_thread()
        return own or not self._thread.is_alive() or sys.is_finalizing()

    def leave(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have the loop end after something, if it still runs, and do not wait for it."""

        async def end() -> None:
            try:
                await close()
            finally:
                self._loop.stop()

        def begin() -> None:
            self._ending = self._loop.create_task(end())

        self._loop.call_soon_threadsafe(begin)

    def _serve(self) -> None:
        self._loop.run_forever()
        if self._ending is not None:  # nobody waits for the thread, to close the loop after it
            self._loop.close()

    def __exit__(self, *_: object) -> None:
        if self.is_out_of_reach:
            return
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(
        self, coroutine: Coroutine[Any, Any, T], *, watch: Callable[[], None] | None = None
    ) -> T:
        """Wait for a coroutine, which is cancelled where the waiting ends before it."""
        future = self.begin(coroutine)
        try:
            return self.wait(future, watch=watch)
        except BaseException:
            future.cancel()
            raise

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def wait(self, future: Future[T], *, watch: Callable[[], None] | None = None) -> T:
        """Wait for what was begun, looking around a few times a second; it is not cancelled."""
        while True:
            if watch is not None:
                watch()
            try:
                return future.result(timeout=_TICK_S)
            except NotYetError:
                if future.done():  # the coroutine's own timeout, not ours
                    raise

    def call(self, do: Callable[[], None]) -> None:
        """Have the loop call something soon."""
        self._loop.call_soon_threadsafe(do)


_YOUNG = 20_000
"""Objects between two looks at the young ones: Python's own 700 cost a run a tenth of its time."""

_lock = threading.Lock()
_running = 0
_before = (0, 0, 0)


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Look for reference cycles less often, in the whole process, and as before afterwards.

    Calls and verdicts are freed as soon as nobody holds them; only cycles wait longer. Whoever
    collects even less often, or not at all, is left in peace.
    """
    global _running, _before  # noqa: PLW0603  # the collector is one for the process as well
    with _lock:
        if not _running:
            _before = gc.get_threshold()
            if 0 < _before[0] < _YOUNG:
                gc.set_threshold(_YOUNG, *_before[1:])
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running and gc.get_threshold()[0] == _YOUNG:
                gc.set_threshold(*_before)
