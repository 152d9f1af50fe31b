"""How many items all requests together hold, and what those are told who must wait."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from typing import TYPE_CHECKING

from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ItemQueue"]

_WINDOW_S = 10.0
_LONGEST_RETRY_S = 60
_LOOK_AGAIN_S = 0.1


class ItemQueue:
    """A bound on items under way.

    Parameters
    ----------
    most : int
        Items.
    n_waiting : callable
        Items that wait for the judge, also those whose requests were answered without them.
    """

    def __init__(self, most: int, *, n_waiting: Callable[[], int]) -> None:
        self.most = most
        self.n_held = 0
        self.is_closed = False
        self._n_waiting = n_waiting
        self._done: deque[tuple[float, int]] = deque()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def length(self) -> int:
        """Items under way."""
        return max(self.n_held, self._n_waiting())

    def check_open(self, n_items: int = 1) -> None:
        """Refuse a request: before its body is read, where it could not be taken anyway."""
        if self.is_closed:
            msg = "The server is about to end. Ask another one."
            raise RefusedError("ending", msg, retry_after_s=_LONGEST_RETRY_S // 6)
        if self.length + n_items > self.most:
            seconds = self.retry_after_s(n_items)
            msg = f"The server has as many items as it may hold. Ask again in {seconds} s."
            raise RefusedError("queue_full", msg, retry_after_s=seconds)

    def take(self, n_items: int) -> None:
        """Take the items of a request, or refuse it; then `give_back` them in any case."""
        self.check_open(n_items)
        self._hold(n_items)

    async def take_in_time(self, n_items: int, *, seconds: float) -> bool:
        """Wait so long until the items can be taken; tell whether they are."""
        end = time.monotonic() + seconds
        while self.is_closed or self.length + n_items > self.most:
            left = end - time.monotonic()
            if self.is_closed or left <= 0:
                return False
            await asyncio.sleep(min(_LOOK_AGAIN_S, left))
        self._hold(n_items)
        return True

    def give_back(self, n_items: int) -> None:
        """Let go of items that were taken."""
        self.n_held -= n_items
        if not self.n_held:
            self._empty.set()
        now = time.monotonic()
        self._done.append((now, n_items))
        while self._done[0][0] < now - _WINDOW_S:
            self._done.popleft()

    def _hold(self, n_items: int) -> None:
        self.n_held += n_items
        if self.n_held:
            self._empty.clear()

    async def emptied(self, *, seconds: float) -> None:
        """Wait so long until nothing is under way."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), seconds)

    def close(self) -> None:
        """Take no more."""
        self.is_closed = True

    def retry_after_s(self, n_items: int) -> int:
        """Estimate in how many seconds so many items have a place, from how many are done."""
        now = time.monotonic()
        recent = [(when, n) for when, n in self._done if when >= now - _WINDOW_S]
        if not recent:
            return math.ceil(_WINDOW_S / 2)
        rate = sum(n for _, n in recent) / max(now - recent[0][0], 1.0)
        too_many = max(self.length + n_items - self.most, 1)
        return min(max(math.ceil(too_many / max(rate, 1e-9)), 1), _LONGEST_RETRY_S)
