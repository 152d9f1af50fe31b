"""Adds the rewards of the trainer's own reward function, which may fail or hang."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.adapters.run_notes import TroubleLog
from voirdire.errors import InputError
from voirdire.judging.background_loop import BackgroundLoop, wait_for_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future

_log = logging.getLogger("voirdire")


class BaseFunction:
    """Asks a reward function, sync or async, in a thread of its own; can be pickled with it.

    *Order*: rewards follow the completions. *Errors*: an exception, or a result that is not a list
    of one reward each, makes all rewards None; the log has the place. *Cancellation*: an async
    function is cancelled after the deadline; a sync one cannot be, and until it has ended it is not
    called again. *Memory*: that of the function. *Retries and caching*: none.
    """

    def __init__(self, function: Any) -> None:
        if not callable(function):
            msg = (
                f"`base` must be a reward function, got {shorten(function)}. Name a column of the "
                "dataset as `base_column`."
            )
            raise InputError(msg)
        self._function = function
        self._trouble = TroubleLog(_log)
        self._loop = BackgroundLoop()
        self._blocked: Future[None] | None = None  # done when the loop goes on

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return type(self), (self._function,)

    async def rewards(
        self, n_completions: int, *, deadline_s: float, given: dict[str, Any]
    ) -> Sequence[Any]:
        """Call the function for the rewards of completions; None where they are not in time."""
        if self._loop.is_out_of_reach:
            self._blocked = None
        try:
            if self._blocked is not None and not self._blocked.done():
                msg = "an earlier call has not ended"
                raise TimeoutError(msg)
            self._blocked = None
            logs = _KeptLogs(given)
            future = self._loop.begin(self._call(given | logs.instead))
            found = list(await wait_for_result(future, timeout_s=deadline_s))
            if len(found) != n_completions:
                msg = f"{len(found)} rewards for {n_completions} completions"
                raise ValueError(msg)
            logs.hand_over()
        except Exception as error:  # noqa: BLE001  # a user's function; training goes on
            if isinstance(error, TimeoutError) and self._blocked is None:
                self._blocked = self._loop.begin(asyncio.sleep(0))
            self._trouble.error("the base reward failed", error)
            return [None] * n_completions
        return found

    def close(self) -> None:
        """End the thread when it is idle; the next call starts another."""
        self._loop.stop_after()

    async def _call(self, given: dict[str, Any]) -> Iterable[Any]:
        try:
            found = self._function(**given)
            rewards: Iterable[Any] = await found if inspect.isawaitable(found) else found
        except (SystemExit, KeyboardInterrupt) as error:  # they would end the loop
            msg = "the base function would end the process"
            raise RuntimeError(msg) from error
        return rewards


class _KeptLogs:
    """Holds back a function's log calls until it is in time.

    Late ones would belong to another step.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        names = ("log_extra", "log_metric")
        self._log = {name: given[name] for name in names if callable(given.get(name))}
        self._kept: list[tuple[str, tuple[Any, ...]]] = []
        self.instead = {
            log: lambda *what, log=log: self._kept.append((log, what)) for log in self._log
        }

    def hand_over(self) -> None:
        """Make the log calls that were held back."""
        for log, what in self._kept:
            self._log[log](*what)
