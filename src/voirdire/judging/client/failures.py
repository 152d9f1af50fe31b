"""Decides when a run ends because nothing succeeds, and how long a failing judge is paused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.errors import (
    BadRequestError,
    ContentFilterError,
    ModelTimeoutError,
    NoAnswersError,
    RateLimitError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.judging.client.limits import LONGEST_WAIT_S

if TYPE_CHECKING:
    import random

    from voirdire.errors import ModelCallError, VoirdireError

__all__ = ["CircuitBreaker", "FailureMonitor", "is_transient", "make_no_logprobs_error"]


_FIRST_TRIES = 50
_FIRST_UNREACHED = 3
_RETRIES_UNREACHED = 2
_FIRST_PAUSE_S = 0.5
_LONG_PAUSE_S = 5.0
"""A call that could not connect this often waits for the results of other calls."""


class FailureMonitor:
    """Ends runs in which nothing succeeds.

    The run ends where the first 50 tries gave no answer, and after `most_in_a_row` calls in a row
    without one; None never ends it. `address` is empty where there is no server that could be
    unreachable. Without `ends_hopeless` only failures without a working server count.
    """

    def __init__(
        self,
        most_in_a_row: int | None,
        *,
        max_retries: int,
        address: str = "",
        ends_hopeless: bool = True,
    ) -> None:
        self._ends_hopeless = ends_hopeless
        self._most_in_a_row = most_in_a_row
        self._n_tries = 1 + min(max_retries, _RETRIES_UNREACHED)
        self._address = address
        self._waited_s = 0.0
        self._n_unreached = 0
        self._is_reached = False
        self._has_answer = False
        self._n_nothing = self._n_in_a_row = 0

    def note_answer(self) -> None:
        """Note a readable reply, of this run or an earlier one."""
        self._has_answer = True
        self._n_in_a_row = 0

    def note_reply(self) -> None:
        """Note that the server works."""
        self._is_reached = True
        self._waited_s = 0.0

    def note_unusable(self, error: VoirdireError, *, is_refusal: bool) -> ModelCallError | None:
        """Note an unusable reply; return the error that ends the run, if it should end.

        Sorted items may give many refusals in a row, so they count only before the first answer.
        """
        self._n_nothing += 1
        self._n_in_a_row += self._ends_hopeless and not is_refusal
        return self._judge_hopeless(error)

    def note_error(self, error: ModelCallError) -> ModelCallError | None:
        """Note a try without a reply; return the error that ends the run, if it should end.

        Rate limits do not count.
        """
        self._n_nothing += isinstance(error, ServerError | ModelTimeoutError)
        return self._judge_hopeless(error)

    def note_failure(self, error: ModelCallError) -> ModelCallError | None:
        """Note that a call failed for good; return the error that ends the run, if any."""
        self._n_nothing += isinstance(error, BadRequestError | RefusalError | ContentFilterError)
        self._n_in_a_row += is_transient(error)
        return self._judge_hopeless(error)

    def _judge_hopeless(self, error: VoirdireError) -> ModelCallError | None:
        if self._most_in_a_row is None:
            return None
        if self._ends_hopeless and not self._has_answer and self._n_nothing >= _FIRST_TRIES:
            what = f"None of the first {self._n_nothing} tries gave an answer."
        elif self._n_in_a_row >= self._most_in_a_row:
            what = f"{self._n_in_a_row} calls in a row gave no answer."
        else:
            return None
        msg = (
            f"{what} {_last(error)} Mend the server or the settings, or take another model, mode "
            "or probability, and run again with `--retry-failures`; `--keep-going` (in Python "
            "`keep_going=True`) goes on."
        )
        return ServerError(msg) if is_transient(error) else NoAnswersError(msg)

    def note_wait(self, seconds: float, error: ModelCallError) -> ModelCallError | None:
        """Note that the server asked for a wait; return the error that ends the run, if any.

        Waits without a reply between them count as one long wait.
        """
        self._waited_s += seconds
        if self._most_in_a_row is None or self._waited_s <= LONGEST_WAIT_S:
            return None
        minutes = f"{LONGEST_WAIT_S / 60:g} minutes"
        what = f"The server asked for waits of more than {minutes}, with no reply in between."
        msg = f"{what} {_last(error)} When it replies again, repeat the same run."
        return ServerError(msg, status=error.status)

    def is_unreached(self, error: ModelCallError) -> bool:
        """Return whether no server has answered in this run yet.

        It may be down, or the address wrong. An error with a status comes from a working server; a
        timeout tells neither.
        """
        has_answered = error.status is not None or error.retry_after_s is not None
        if has_answered or not isinstance(error, ServerError | ModelTimeoutError):
            self._is_reached = True
        is_nobody = isinstance(error, ServerError) and not self._is_reached
        return is_nobody and bool(self._address)

    def note_unreached(
        self, error: ModelCallError, *, n_tried: int, n_under_way: int
    ) -> ModelCallError | None:
        """Note a call that reached no server; return the error that ends the run, if any."""
        self._n_unreached += n_tried == self._n_tries
        # where no call in flight can connect, none of them ever makes room for another
        if self._n_unreached < min(_FIRST_UNREACHED, n_under_way):
            return None
        msg = (
            f"No call of this run got a reply from {self._address}. {_last(error)} Check that the "
            "server runs and that its address is right, then repeat the run."
        )
        return ServerError(msg)

    def pause_s(self, n_tried: int, *, rng: random.Random) -> float:
        """Seconds until a call that could not connect is made again; few, to find out soon."""
        if n_tried >= self._n_tries:
            return _LONG_PAUSE_S
        return rng.random() * _FIRST_PAUSE_S * n_tried


def make_no_logprobs_error(error: UnsupportedError) -> UnsupportedError:
    """Make the error for a server that refuses to give log-probabilities."""
    msg = (
        f"{str(error).rstrip('.')}. Use a server that gives log-probabilities, or choose another "
        "source: `--probability stated` or `--probability vote`."
    )
    return UnsupportedError(msg, feature="logprobs", status=error.status)


def _last(error: VoirdireError) -> str:
    return f"The last error: {shorten(str(error), width=240).rstrip('.')}."


_LONGEST_S = 60.0


class CircuitBreaker:
    """Pauses the calls to something that failed.

    Each pause after the first is twice as long, up to a minute.
    """

    def __init__(self, rest_s: float) -> None:
        self.reason: str | None = None
        self._first_s = self._next_s = rest_s
        self._until = 0.0

    def trip(self, reason: str, *, now: float, at_least_s: float = 0.0) -> None:
        """Note a failure, and pause; for `at_least_s` seconds at least."""
        self.reason = reason
        self._until = now + max(self._next_s, at_least_s)
        self._next_s = min(2 * self._next_s, max(_LONGEST_S, self._first_s))

    def mend(self) -> None:
        """Note a success."""
        self.reason = None
        self._next_s = self._first_s

    def pause_reason(self, now: float) -> str | None:
        """Return the reason of the failure during a pause; else None."""
        return self.reason if now < self._until else None


def is_transient(error: VoirdireError) -> bool:
    """Return whether the same call may succeed a little later."""
    return isinstance(error, RateLimitError | ModelTimeoutError | ServerError)
