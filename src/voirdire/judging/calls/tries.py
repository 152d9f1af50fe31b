"""One call on its way: how often it was made, and whether to make it again after an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from voirdire._validation import shorten
from voirdire.errors import ModelTimeoutError, RateLimitError, ServerError
from voirdire.judging.calls.attempts import CallFailure
from voirdire.judging.calls.pace import LONGEST_WAIT_S

if TYPE_CHECKING:
    import random

    from voirdire._types import ReplyForm
    from voirdire.errors import ModelCallError
    from voirdire.judging.calls.call import Call
    from voirdire.judging.calls.limits import Limits
    from voirdire.models import ChatRequest

__all__ = ["Tries", "is_transient"]

T = TypeVar("T")

_FIRST_BACKOFF_S = 1.0
_LONGEST_BACKOFF_S = 60.0
_MOST_LIMITED = 5
"""Rate limits that are nobody's fault are borne for so many times `max_retries`."""


class Tries(Generic[T]):
    """A call and what has become of it so far.

    Parameters
    ----------
    call : Call
        What is asked.
    n_kept : int, optional
        Attempts of it that are stored.
    n_unreadable : int, optional
        How many of them count against `Limits.max_attempts`.
    n_replies : int, optional
        Replies to any call of the run so far.
    """

    __slots__ = (
        "call",
        "end",
        "n_cut",
        "n_errors",
        "n_kept",
        "n_limited",
        "n_replies_before",
        "n_tried",
        "n_unreached",
        "n_unreadable",
        "wait_s",
    )

    def __init__(
        self, call: Call[T], *, n_kept: int = 0, n_unreadable: int = 0, n_replies: int = 0
    ) -> None:
        self.call = call
        self.n_kept = n_kept
        self.n_unreadable = n_unreadable
        self.n_tried = 0
        self.n_cut = 0
        self.n_errors = 0
        self.n_limited = 0
        self.n_replies_before = n_replies
        self.n_unreached = 0
        self.wait_s = 0.0
        self.end: ModelCallError | None = None

    def request(self, form: ReplyForm) -> ChatRequest:
        """Make the request, with twice as many tokens as the one whose reply was cut off."""
        request = self.call.request(form)
        if not self.n_cut or request.max_tokens is None:
            return request
        return msgspec.structs.replace(request, max_tokens=request.max_tokens * 2**self.n_cut)

    def after(
        self,
        error: ModelCallError,
        *,
        form: ReplyForm,
        limits: Limits,
        n_replies: int,
        rng: random.Random,
    ) -> CallFailure | None:
        """Decide what follows an error: another try after `wait_s`, or a failure.

        A rate limit does not count against the call where other calls got replies since it last
        failed: the server works, and this call was unlucky.

        Parameters
        ----------
        error : ModelCallError
            What the model raised.
        form : {"json_schema", "json_object", "text"}
            How the reply was asked for.
        limits : Limits
            How often to try.
        n_replies : int
            Replies to any call of the run by now.
        rng : random.Random
            Spreads the waiting.

        Returns
        -------
        CallFailure or None
            The end of the call; None if it is to be made again.
        """
        if not is_transient(error):
            return self._failed(error, form=form)
        if isinstance(error, RateLimitError) and n_replies > self.n_replies_before:
            self.n_limited += 1
        else:
            self.n_errors += 1
        self.n_replies_before = n_replies
        is_over = (
            self.n_errors > limits.max_retries
            or self.n_limited > _MOST_LIMITED * limits.max_retries
            or (error.retry_after_s or 0.0) > LONGEST_WAIT_S
        )
        if is_over:
            return self._failed(error, form=form)
        # what the server asks for is waited for by every call, so here nothing is added to it
        self.wait_s = 0.0 if error.retry_after_s is not None else self._backoff_s(rng)
        return None

    def _backoff_s(self, rng: random.Random) -> float:
        n_before = self.n_errors + self.n_limited - 1
        longest = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** min(n_before, 10))
        return rng.random() * longest

    def _failed(self, error: ModelCallError, *, form: ReplyForm) -> CallFailure:
        often = f" (tried {self.n_tried} times)" if self.n_tried > 1 else ""
        return CallFailure(
            reason=error.reason,
            message=shorten(str(error), width=240) + often,
            form=form,
            status=error.status,
            n_tries=self.n_tried,
        )


def is_transient(error: ModelCallError) -> bool:
    """Say whether the same call may get a reply a little later."""
    return isinstance(error, RateLimitError | ModelTimeoutError | ServerError)
