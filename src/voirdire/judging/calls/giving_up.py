"""When calls fail for a reason that is the run's and not theirs, the run ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import BadRequestError, ServerError
from voirdire.judging.calls.tries import is_transient

if TYPE_CHECKING:
    from voirdire.errors import ModelCallError

__all__ = ["GivingUp"]

_FIRST_REFUSED = 10


class GivingUp:
    """Watches for runs in which nothing succeeds.

    Parameters
    ----------
    most_in_a_row : int or None
        Failures for want of a working server that are borne with no reply between them.
    """

    def __init__(self, most_in_a_row: int | None) -> None:
        self._most_in_a_row = most_in_a_row
        self._n_in_a_row = 0
        self._n_refused = 0
        self._has_reply = False

    def note_reply(self) -> None:
        """Note that the server works."""
        self._has_reply = True
        self._n_in_a_row = 0

    def note_failure(self, error: ModelCallError) -> ModelCallError | None:
        """Note that a call failed for good; give the error that ends the run, if one should."""
        if isinstance(error, BadRequestError) and not self._has_reply:
            self._n_refused += 1
            if self._n_refused >= _FIRST_REFUSED:
                msg = (
                    f"The server refused the first {self._n_refused} calls. {_last(error)} Put "
                    "the judge's settings right, then run again with `--retry-failures`."
                )
                return BadRequestError(msg, status=error.status)
        if is_transient(error):
            self._n_in_a_row += 1
            if self._most_in_a_row is not None and self._n_in_a_row >= self._most_in_a_row:
                msg = (
                    f"{self._n_in_a_row} calls failed one after another. {_last(error)} When the "
                    "server works, run again with `--retry-failures`."
                )
                return ServerError(msg, status=error.status)
        return None


def _last(error: ModelCallError) -> str:
    return f"The last of them: {shorten(str(error), width=240)}"
