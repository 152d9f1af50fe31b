"""Runs an event loop in its own thread, apart from a notebook's loop and from Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import TimeoutError as NotYetError
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

T = TypeVar("T")
_TICK_S = 0.25
_GRACE_S = 1.0
"""Seconds that the remaining tasks may run after the loop was told to stop."""

fork_lock = threading.RLock()
"""`os.fork` waits for this lock, so that no child process inherits it in a locked state."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=fork_lock.acquire,
        after_in_parent=fork_lock.release,
        after_in_child=fork_lock.release,
    )


class BackgroundLoop:
    """Runs coroutines in a background thread, for code that is not async.

    The loop starts at the first call. It starts again after it was stopped, and in a forked
    process. A copied or unpickled object has a loop of its own. `held` keeps an object alive as
    long as the loop, so that the garbage collector does not take its tasks. Use it as a context
    manager, or end it with `stop_after`.

    """

    held: object = None

    def __init__(self) -> None:
        self._ending: Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_out_of_reach and (thread := self.stop_after()) is not None:
            thread.join()

    @property
    def is_out_of_reach(self) -> bool:
        """Whether waiting for the loop would never end.

        A generator that was not closed is closed when it is collected. That may happen when the
        interpreter ends (all threads have stopped), in a forked process, or in the loop's own
        thread.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        return not thread.is_alive() or sys.is_finalizing()

    def stop_after(
        self, close: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> threading.Thread | None:
        """Run `close` in the loop, then stop the loop; return its thread.

        This waits for nothing and takes no lock: the garbage collector may call it at any moment.
        """
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or loop.is_closed():
            return None
        self._thread = None  # the next call starts another loop

        async def end() -> None:
            try:
                if close is not None:
                    await close()
                if others := asyncio.all_tasks() - {asyncio.current_task()}:
                    _, late = await asyncio.wait(others, timeout=_GRACE_S)
                    for task in late:
                        task.cancel()
            finally:
                loop.stop()

        # kept, since an unreferenced task may be collected before it ends
        self._ending = asyncio.run_coroutine_threadsafe(end(), loop)
        return thread

    def run(
        self, coroutine: Coroutine[Any, Any, T], *, watch: Callable[[], None] | None = None
    ) -> T:
        """Run a coroutine and wait for its result; cancel it if the waiting is interrupted."""
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
        """Start a coroutine in the loop."""
        with fork_lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                _running[self._loop] = self
                self._thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


_running: dict[asyncio.AbstractEventLoop, BackgroundLoop] = {}
"""All running loops.

After a fork, the parent's loops stay here, so that they are not cleaned up.
"""


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    del _running[loop]


async def wait_for_result(future: Future[T], *, timeout_s: float) -> T:
    """Wait for a future of a background loop; cancel it after `timeout_s` (`TimeoutError`)."""
    waiting = asyncio.wrap_future(future)
    # else asyncio would log the error with its message, which may quote an item
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait([waiting], timeout=timeout_s)
    finally:
        waiting.cancel()  # its callback would use a loop that may have ended by then
    return future.result(timeout=0)
