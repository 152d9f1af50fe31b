"""Another reward function of the same trainer, whose rewards are added: it may fail or hang."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import time
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.engine.background_loop import BackgroundLoop
from voirdire.rewards.live.forks import forget_when_forked
from voirdire.rewards.live.said_once import SaidOnce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["BaseFunction", "number_of", "said_base_reward"]

_log = logging.getLogger("voirdire")


class BaseFunction:
    """Asks a reward function, sync or async, in a thread of its own; can be pickled with it.

    Parameters
    ----------
    function : callable
        Takes what the trainer gives its reward functions, and gives one number per completion.

    Raises
    ------
    InputError
        If it is no function.

    Notes
    -----
    *Order*: rewards follow the completions. *Errors*: an exception, or what is no list of so many
    rewards, makes all rewards nan; the log says where. *Cancellation*: an async function is
    cancelled after the deadline; a sync one cannot be, and until it has ended nothing is asked.
    *Memory*: what the function keeps. *Retries and caching*: none.
    """

    def __init__(self, function: Any) -> None:
        if not callable(function):
            msg = (
                f"`base` must be a reward function, got {shorten(function)}. Name a column of the "
                "dataset as `base_column`."
            )
            raise InputError(msg)
        self._function = function
        self._begin()

    def _begin(self) -> None:
        self._said = SaidOnce(_log)
        self.forget()
        forget_when_forked(self)

    def forget(self) -> None:
        """Forget loop and thread, which a forked process does not have."""
        self._loop: BackgroundLoop | None = None
        self._running: dict[object, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_function": self._function}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    async def rewards(
        self, n_completions: int, *, deadline_s: float, given: dict[str, Any]
    ) -> list[float | None]:
        """Ask for the rewards of so many completions; nan where nothing came in time.

        Parameters
        ----------
        n_completions : int
            How many there are.
        deadline_s : float
            Seconds.
        given : dict
            The function's keyword arguments.
        """
        try:
            if self._is_stuck(deadline_s):
                raise TimeoutError("an earlier call has not ended")
            logs = _Logs(given)
            future = self._running_loop().begin(self._call(given | logs.instead))
            found = await asyncio.wait_for(asyncio.wrap_future(future), deadline_s)
            rewards = [number_of(value) for value in found]
            if len(rewards) != n_completions:
                msg = f"{len(rewards)} rewards for {n_completions} completions"
                raise ValueError(msg)
            logs.hand_over()
        except Exception as error:  # noqa: BLE001  # a user's function; training goes on
            self._said.error("the base reward failed", error)
            return [math.nan] * n_completions
        return rewards

    def close(self) -> None:
        """End the thread, as soon as it has nothing to do; asked again, it begins anew."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.leave(_nothing)

    def _is_stuck(self, limit: float) -> bool:
        """Whether a call blocks the thread that should have ended long ago."""
        now = time.monotonic()
        return any(now - began > limit for began in list(self._running.values()))

    async def _call(self, given: dict[str, Any]) -> Iterable[Any]:
        token = object()
        self._running[token] = time.monotonic()
        try:
            found = self._function(**given)
            rewards: Iterable[Any] = await found if inspect.isawaitable(found) else found
        finally:
            del self._running[token]
        return rewards

    def _running_loop(self) -> BackgroundLoop:
        if self._loop is None:
            self._running = {}
            self._loop = BackgroundLoop().__enter__()
        return self._loop


class _Logs:
    """Keeps what a function logs until it is in time: later it would be another step's."""

    def __init__(self, given: dict[str, Any]) -> None:
        names = ("log_extra", "log_metric")
        self._log = {name: given[name] for name in names if callable(given.get(name))}
        self._kept: list[tuple[str, tuple[Any, ...]]] = []
        self.instead = {name: self._keeper(name) for name in self._log}

    def _keeper(self, log: str) -> Callable[[str, Any], None]:
        return lambda name, value: self._kept.append((log, (name, value)))

    def hand_over(self) -> None:
        """Log what was kept."""
        for log, what in self._kept:
            self._log[log](*what)


async def _nothing() -> None:
    """End at once."""


def number_of(value: Any) -> float | None:
    """Read a base reward; None stays None, and what is no number is nan.

    Parameters
    ----------
    value : object
        A number, of whatever library, or None.

    Returns
    -------
    float or None
        May be infinite: who adds it up says that it is no reward.
    """
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan


def said_base_reward(row: Mapping[str, Any]) -> Any:
    """Read the base reward of a row that may say one.

    Parameters
    ----------
    row : mapping
        Of a data set, or what a program of its own adds for each response.

    Returns
    -------
    object
        None where the row says nothing about one; nan where it says that there is none: a base
        reward that is lacking never becomes a reward by the rules alone.
    """
    value = row.get("base_reward")
    return math.nan if value is None and "base_reward" in row else value
