"""What the store holds of a call: an answer, a failure, or attempts that came to nothing yet."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.calls.attempts import CallFailure, decode_attempt
from voirdire.judging.calls.call import Outcome
from voirdire.judging.reading import as_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.calls.call import Call

__all__ = ["n_unreadable", "partial_outcome", "stored_outcome"]

T = TypeVar("T")

_log = logging.getLogger("voirdire")


def stored_outcome(
    call: Call[T], stored: Sequence[bytes], *, max_attempts: int
) -> Outcome[T] | None:
    """Read what is stored of a call.

    The first reply that can be read is the answer, whatever came before it: a reader that has
    learnt something since finds its answer in an old reply, and nothing is called again.

    Parameters
    ----------
    call : Call
        What was asked.
    stored : sequence of bytes
        Its attempts in their order.
    max_attempts : int
        After so many unreadable replies the call has failed.

    Returns
    -------
    Outcome or None
        None where the call is not at its end, or was never made.
    """
    last: CallFailure | VerdictParseError | None = None
    n_unread = 0
    for blob in stored:
        attempt = decode_attempt(blob)
        if attempt is None:
            _log.warning(
                "a stored reply is damaged and counts for nothing: call %r of item hash %s",
                call.name,
                call.item.hex(),
            )
            continue
        if isinstance(attempt, CallFailure):
            last, n_unread = attempt, 0
            continue
        try:
            value = call.read(attempt)
        except VerdictParseError as error:
            last, n_unread = error, n_unread + 1
        except UnsupportedError:
            # the server gave no log-probabilities then; it may now
            last = None
        else:
            return Outcome(value=value, form=attempt.form, attempts=len(stored), is_reused=True)
    if isinstance(last, CallFailure):
        failure, form = last.failure(), last.form
    elif last is not None and (last.is_refusal or n_unread >= max_attempts):
        if last.partial is not None:
            return partial_outcome(last, attempts=len(stored), is_reused=True)
        failure, form = as_failure(last), last.reply.form
    else:
        return None
    return Outcome(failure=failure, form=form, attempts=len(stored), is_reused=True)


def partial_outcome(
    error: VerdictParseError, *, attempts: int, is_reused: bool = False
) -> Outcome[Any]:
    """Take what can be read of a reply of which the rest cannot."""
    return Outcome(
        value=error.partial,
        form=error.reply.form,
        attempts=attempts,
        is_reused=is_reused,
        is_partial=True,
    )


def n_unreadable(call: Call[T], stored: Sequence[bytes]) -> int:
    """Count the unreadable replies since the last failure."""
    count = 0
    for blob in stored:
        attempt = decode_attempt(blob)
        if attempt is None:
            continue
        if isinstance(attempt, CallFailure):
            count = 0
            continue
        try:
            call.read(attempt)
        except VerdictParseError:
            count += 1
        except UnsupportedError:
            continue
    return count
