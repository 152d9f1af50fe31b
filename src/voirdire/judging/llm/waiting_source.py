"""The next of an iterator that may wait for ever, such as one that reads a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["next_of"]

T = TypeVar("T")


async def next_of(source: Iterator[T]) -> T | None:
    """Take the next of an iterator in a thread; None after the last.

    The thread is a daemon, not one of the loop's own: those are waited for when a program ends,
    and a read that waits for input would keep it.
    """
    loop = asyncio.get_running_loop()
    taken: asyncio.Future[T | None] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if taken.done():  # whoever waited was cancelled
            return
        if error is None:
            taken.set_result(value)
        else:
            taken.set_exception(error)

    def take() -> None:
        value: T | None = None
        failed: BaseException | None = None
        try:
            value = next(source, None)
        except BaseException as error:  # noqa: BLE001  # raised again where it is awaited
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=take, name="voirdire-items", daemon=True).start()
    return await taken
