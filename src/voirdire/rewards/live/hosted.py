"""A live reward with an event loop of its own, for trainers with another loop, or with none."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire.judging.llm.background_loop import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

    from voirdire.rewards.live.live_reward import LiveReward

__all__ = ["HostedReward"]

T = TypeVar("T")


class HostedReward:
    """Runs a live reward in a thread; made when it is first asked, anew in a forked process.

    Parameters
    ----------
    make : callable
        Makes the `LiveReward`.

    Notes
    -----
    *Order*, *Errors*, *Memory*, *Retries and caching*: as `LiveReward`. *Cancellation*: who waits
    may give up; what was asked goes on until its own deadline.
    """

    def __init__(self, make: Callable[[], LiveReward]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._owner = -1
        self._live: LiveReward | None = None
        self._loop: BackgroundLoop | None = None

    def start(self) -> LiveReward:
        """Begin, where that was not done yet in this process."""
        with self._lock:
            if self._live is None or self._owner != os.getpid():
                live = self._make()
                loop = BackgroundLoop()
                loop.__enter__()
                loop.run(live.start())
                self._live, self._loop, self._owner = live, loop, os.getpid()
            return self._live

    def begin(self, ask: Callable[[LiveReward], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin a request in the reward's own loop; wait for it as long as you like.

        Parameters
        ----------
        ask : callable
            Takes the reward and gives what is awaited, such as
            ``lambda live: live.turn_rewards(turns)``.

        Returns
        -------
        concurrent.futures.Future
            Of what was asked; `asyncio.wrap_future` makes it awaitable.
        """
        live = self.start()
        return self._running_loop().begin(ask(live))

    def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end; asked again, it begins anew."""
        with self._lock:
            live, loop = self._live, self._loop
            is_mine = self._owner == os.getpid()
            self._live = self._loop = None
        if live is not None and loop is not None and is_mine:
            loop.run(live.close(drain_s=drain_s))
            loop.__exit__()

    def _running_loop(self) -> BackgroundLoop:
        loop = self._loop
        if loop is None:
            msg = "a hosted reward that runs has a loop"
            raise RuntimeError(msg)
        return loop
