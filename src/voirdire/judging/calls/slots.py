"""How many calls are in flight at once: fewer when the server complains, slowly more again.

Additive increase, multiplicative decrease, as TCP does it: the one rule under which many clients
of a server that only says "too many" come to share it.
"""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Slots"]


class Slots:
    """Places for calls in flight, given in the order in which they were asked for."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.n_taken = 0
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._n_sent_at_cut = -1
        self._is_closed = False

    async def take(self) -> bool:
        """Wait for a place; False where the slots were closed meanwhile."""
        if self._is_closed:
            return False
        if not self._waiting and self.n_taken < int(self.limit):
            self.n_taken += 1
            return True
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(granted)
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.result():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Free a place."""
        self.n_taken -= 1
        self._grant()

    def close(self) -> None:
        """Give no more places; whoever waits is told so."""
        self._is_closed = True
        while self._waiting:
            granted = self._waiting.popleft()
            if not granted.done():
                granted.set_result(False)

    def grow(self) -> None:
        """Note a success: one place more for every round of as many successes as places."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._grant()

    def shrink(self, *, sent: int, n_sent: int) -> None:
        """Note that the server had too many: half the places, at most once per round trip.

        A call that was sent before the last cut says nothing about what came of the cut.

        Parameters
        ----------
        sent : int
            Number of the call that the server refused, counted as they were sent.
        n_sent : int
            How many were sent by now.
        """
        if sent > self._n_sent_at_cut:
            self._n_sent_at_cut = n_sent
            self.limit = max(1.0, self.limit / 2)

    def _grant(self) -> None:
        while self._waiting and self.n_taken < int(self.limit):
            granted = self._waiting.popleft()
            if not granted.done():
                self.n_taken += 1
                granted.set_result(True)
