"""A commit that is not lost when whoever waits for it is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from voirdire.store import StoredCall

__all__ = ["Commit", "commit_surely"]

Commit: TypeAlias = "Callable[[StoredCall], Awaitable[None]]"
"""Stores a call and returns when it is there. Storing it twice is the same as storing it once."""

_LAST_CHANCE_S = 30.0
"""Nobody who was cancelled is kept for longer."""


async def commit_surely(commit: Commit, call: StoredCall) -> None:
    """Commit a call, even where the wait for it is cancelled; the cancellation goes on then.

    A cancelled commit may or may not have been made. As making it twice does no harm, it is made
    again, in a task that the cancellation does not reach. That costs the usual case nothing, which
    a task for every commit would not.
    """
    try:
        await commit(call)
    except asyncio.CancelledError:
        again = asyncio.ensure_future(_committed(commit, call))
        while not again.done():
            try:
                await asyncio.shield(again)
            except asyncio.CancelledError:
                continue
        if not again.cancelled():
            again.result()
        raise


async def _committed(commit: Commit, call: StoredCall) -> None:
    async with asyncio.timeout(_LAST_CHANCE_S):
        await commit(call)
