"""Defines the interface of engines, and logs where a judge raised an unexpected error."""

from __future__ import annotations

import asyncio
import logging
import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire.errors import StoppedError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from voirdire.judging.client import ClientState
    from voirdire.judging.engine.batch import ItemRequest
    from voirdire.judging.engine.combining import ItemVerdict

__all__ = ["Engine", "LiveState", "log_bug", "make_exit_error"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """State of a live judge.

    Attributes
    ----------
    n_waiting : int
        Items that a caller waits for.
    n_calls, n_failures : int
        Calls made, and items that failed, since it started.
    cost : float or None
        US dollars spent; None where the price is not known.
    is_broken : bool
        Whether the judge is out of order now, so that it makes no calls.
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
        """The error that ended the run."""
        return self._error

    def end_with(self, ended: asyncio.Event) -> None:
        """Use this event for the end of the run, as the other engines of the run do."""
        self.ended = ended

    def end(self, error: BaseException) -> None:
        """Keep the first meaningful error, and begin no more calls."""
        if self._error is None or type(self._error) is StoppedError:
            self._error = error
        self.stop()
        self.ended.set()

    async def wait_unless_ended(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for something, or raise the error that ended the run meanwhile."""
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
        """Take items and answer each of them later; never raises, never waits.

        Where an error ends a run, `error` holds it, and items may stay without an answer.
        """

    @abstractmethod
    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, and wait `drain_s` seconds for open calls; None waits for all."""

    @property
    def calls(self) -> ClientState | None:
        """State of the calls of a run; None for a live judge, and where no calls are made."""
        return None

    def stop(self) -> None:  # noqa: B027  # an engine without calls has nothing to stop
        """Begin no more calls; calls that are sent may finish."""

    @property
    @abstractmethod
    def state(self) -> LiveState:
        """State of the engine."""

    def _note(self, verdict: ItemVerdict) -> None:
        """Count an answer."""
        self._n_waiting -= 1
        self._n_answered += 1
        self._n_failures += bool(verdict.failures)


_MAX_LOGGED = 100
_log = logging.getLogger("voirdire")
_logged: set[tuple[str, str, int]] = set()


def log_bug(error: BaseException) -> None:
    """Log the place of an unexpected error once, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = (type(error).__name__, last.filename if last else "", (last.lineno or 0) if last else 0)
    if place in _logged or len(_logged) >= _MAX_LOGGED:
        return
    _logged.add(place)
    _log.error(
        "the judge raised %s; the items concerned have no verdict\n%s",
        type(error).__name__,
        "".join(frames.format()).rstrip(),
    )


def make_exit_error(who: str, error: BaseException) -> RuntimeError:
    """Turn an exception that would end the program, such as `SystemExit`, into an error."""
    exit_error = RuntimeError(f"{who} must not raise {type(error).__name__}, which ends a run")
    exit_error.__cause__ = error
    return exit_error
