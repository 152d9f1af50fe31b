"""An event loop in a thread of its own, which a notebook's loop and Ctrl-C do not disturb."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voirdire.errors import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["BackgroundLoop"]

T = TypeVar("T")
_TICK_S = 0.2


class BackgroundLoop:
    """Runs coroutines for code that is not async; a context manager."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._submit(self._loop.shutdown_default_executor()))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine, whatever happens."""
        return self._wait(self._submit(coroutine))

    def run_stoppable(
        self,
        coroutine: Coroutine[Any, Any, T],
        *,
        stop: Callable[[], None],
        watch: Callable[[], None],
        stopping: Callable[[], None],
    ) -> T:
        """Wait for a coroutine, and let it come to its end where it is interrupted.

        Parameters
        ----------
        coroutine : coroutine
            What is waited for.
        stop : callable
            Called in the loop on an interruption: the coroutine is to begin nothing more.
        watch : callable
            Called a few times a second; a `KeyboardInterrupt` that it raises is one.
        stopping : callable
            Called a few times a second while what is under way is waited for. It may raise
            `KeyboardInterrupt` to end that too, as a second Ctrl-C does.

        Returns
        -------
        object
            What the coroutine gives.
        """
        future = self._submit(coroutine)
        try:
            return self._wait(future, watch=watch)
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(stop)
            try:
                self._wait(future, watch=stopping)
            except StoppedError:
                pass
            except KeyboardInterrupt:
                future.cancel()
                raise
            raise

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _wait(self, future: Future[T], *, watch: Callable[[], None] | None = None) -> T:
        while True:
            if watch is not None:
                watch()
            try:
                return future.result(timeout=_TICK_S)
            except NotYetError:
                if future.done():  # the coroutine's own timeout, not ours
                    raise
