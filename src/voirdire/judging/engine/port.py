"""Defines what every engine does: it takes items and answers each of them later."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire.errors import StoppedError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from voirdire.judging.client import ClientState
    from voirdire.judging.engine.batch import ItemRequest
    from voirdire.judging.engine.combining import ItemVerdict

__all__ = ["Engine", "LiveState"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """How a judge stands.

    Attributes
    ----------
    n_waiting : int
        Items that somebody waits for.
    n_calls, n_failures : int
        Calls made, and items that failed, since it started.
    cost : float or None
        US dollars spent; None where nobody knows.
    is_broken : bool
        Whether the judge is out of order just now, so that nothing is called.
    """

    n_waiting: int = 0
    n_calls: int = 0
    n_failures: int = 0
    cost: float | None = None
    is_broken: bool = False


class Engine(ABC):
    """Answers items; belongs to one event loop.

    Attributes
    ----------
    ended : asyncio.Event
        Whether an error ended the run.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._error: BaseException | None = None
        self._n_waiting = self._n_answered = self._n_failures = 0

    @property
    def error(self) -> BaseException | None:
        """What ended the run."""
        return self._error

    def end_with(self, ended: asyncio.Event) -> None:
        """Set this event where the run ends, as other engines of one run do."""
        self.ended = ended

    def end(self, error: BaseException) -> None:
        """Remember the first error that says something, and begin nothing more."""
        if self._error is None or type(self._error) is StoppedError:
            self._error = error
        self.stop()
        self.ended.set()

    async def wait_unless_ended(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for something, or raise what ended the run meanwhile."""
        task = asyncio.ensure_future(waiting)
        ended = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and self.error is not None:
                raise self.error
            return await task
        finally:
            for each in (task, ended):
                each.cancel()

    @property
    def n_answered(self) -> int:
        """Items that have an answer."""
        return self._n_answered

    @abstractmethod
    async def start(self) -> None:
        """Begin."""

    @abstractmethod
    def submit(self, asked: Sequence[ItemRequest]) -> None:
        """Take items, each of which gets its answer; never raises, never waits.

        Where an error ends a run, it is in `error`, and items may stay without an answer.
        """

    @abstractmethod
    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more, and wait so long for what is on its way; None waits for all of it."""

    @property
    def calls(self) -> ClientState | None:
        """How the calls of a run stand; None in service, and where none are made."""
        return None

    def stop(self) -> None:  # noqa: B027  # an engine that calls nobody has nothing to stop
        """Begin nothing more; what is sent comes to its end."""

    @property
    @abstractmethod
    def state(self) -> LiveState:
        """How it stands."""

    def _note(self, verdict: ItemVerdict) -> None:
        """Count an answer that was given."""
        self._n_waiting -= 1
        self._n_answered += 1
        self._n_failures += bool(verdict.failures)
