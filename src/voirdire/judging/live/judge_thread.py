"""A thread for a judge in this process, which can be left behind where the judge hangs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JudgeThread"]

T = TypeVar("T")
R = TypeVar("R")


class JudgeThread(Generic[T, R]):
    """Does one piece of work after another; a thread that hangs keeps no program from ending.

    Parameters
    ----------
    work : callable
        Takes what `ask` gets, in the thread.
    """

    def __init__(self, work: Callable[[T], R]) -> None:
        self._work = work
        self._todo: SimpleQueue[tuple[T, asyncio.Future[R | BaseException]] | None] = SimpleQueue()
        thread = threading.Thread(target=self._serve, name="voirdire-judge", daemon=True)
        thread.start()

    def ask(self, task: T) -> asyncio.Future[R | BaseException]:
        """Have something done.

        Parameters
        ----------
        task : object
            What is worked on.

        Returns
        -------
        asyncio.Future
            What came of it, or what was raised: whatever it is, even what no future may raise.
        """
        done: asyncio.Future[R | BaseException] = asyncio.get_running_loop().create_future()
        self._todo.put((task, done))
        return done

    def leave(self) -> None:
        """Let the thread end after what it is at."""
        self._todo.put(None)

    def _serve(self) -> None:
        while (given := self._todo.get()) is not None:
            task, done = given
            found: R | BaseException
            try:
                found = self._work(task)
            except BaseException as raised:  # noqa: BLE001  # whoever waits decides
                found = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits there
                done.get_loop().call_soon_threadsafe(_settle, done, found)
            del given, task, done, found  # nothing is kept while it waits


def _settle(done: asyncio.Future[R | BaseException], found: R | BaseException) -> None:
    if not done.done():
        done.set_result(found)
