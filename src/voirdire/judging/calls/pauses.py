"""Waiting that a stop can end."""

from __future__ import annotations

import asyncio

__all__ = ["Pauses"]


class Pauses:
    """Everybody who waits for time to pass; all can be woken at once."""

    def __init__(self) -> None:
        self._asleep: set[asyncio.Future[None]] = set()

    async def pause(self, seconds: float) -> None:
        """Wait for so long, or until `wake`; infinity waits for `wake` alone."""
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        timer = None if seconds == float("inf") else loop.call_later(seconds, _wake, woken)
        self._asleep.add(woken)
        try:
            await woken
        finally:
            self._asleep.discard(woken)
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        """End every pause now; whoever paused looks again at what it waited for."""
        for woken in self._asleep:
            _wake(woken)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
