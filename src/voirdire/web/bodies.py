"""Read the bodies of requests: no more than is allowed, and no longer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

__all__ = ["BodyBudget", "ClientGoneError", "announced_bytes", "discard_body", "read_body"]

_RETRY_S = 2
_MOST_DIGITS = 19


class ClientGoneError(Exception):
    """The client left before its request had arrived."""


class BodyBudget:
    """Bytes that the bodies of all requests under way may take together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.n_bytes = 0

    def hold(self, n_bytes: int) -> None:
        """Take so many more, or refuse the request."""
        if self.n_bytes + n_bytes > self._most:
            msg = "The server holds as many bytes of requests as it may. Send the request again."
            raise RefusedError("queue_full", msg, retry_after_s=_RETRY_S, closes=True)
        self.n_bytes += n_bytes

    def release(self, n_bytes: int) -> None:
        """Give so many back."""
        self.n_bytes -= n_bytes


async def read_body(
    scope: Scope, receive: Receive, *, most: int, seconds: float, budget: BodyBudget
) -> bytes:
    """Read a body; whoever calls releases its bytes from the budget when they are done.

    Parameters
    ----------
    scope, receive
        Of the request.
    most : int
        Bytes.
    seconds : float
        In which it must arrive.
    budget : BodyBudget
        What all bodies share.

    Raises
    ------
    RefusedError
        If it is too large, too slow, or one too many.
    ClientGoneError
        If the client left.
    """
    announced = announced_bytes(scope)
    if announced is not None and announced > most:
        await discard_body(receive, most=most, seconds=seconds)
        raise _too_large(most)
    pieces: list[bytes] = []
    n_bytes = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                piece, is_last = await _next(receive)
                if n_bytes + len(piece) > most:
                    raise _too_large(most)
                budget.hold(len(piece))
                n_bytes += len(piece)
                pieces.append(piece)
                if is_last:
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except TimeoutError:
        budget.release(n_bytes)
        msg = f"The body must arrive within {seconds:g} seconds."
        raise RefusedError("too_slow", msg, closes=True) from None
    except BaseException:
        budget.release(n_bytes)
        raise


async def discard_body(receive: Receive, *, most: int, seconds: float) -> bool:
    """Read and forget a body, so that the client hears the answer; tell whether that was all.

    A connection that is closed with bytes unread is reset, and many a client then reports that
    and not what it was told.
    """
    n_bytes = 0
    try:
        async with asyncio.timeout(seconds):
            while n_bytes <= most:
                piece, is_last = await _next(receive)
                n_bytes += len(piece)
                if is_last:
                    return True
    except TimeoutError:
        return False
    return False


def announced_bytes(scope: Scope) -> int | None:
    """Read the length that the head of a request names, if it does."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) <= _MOST_DIGITS else None
    return None


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), not message.get("more_body", False)


def _too_large(most: int) -> RefusedError:
    msg = f"The body must have at most {most} bytes. Send the items in several requests."
    return RefusedError("too_large", msg, closes=True)
