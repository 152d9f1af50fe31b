"""The error for a reply that cannot be read: what it had to be, and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import VerdictParseError

if TYPE_CHECKING:
    from voirdire.records import Reply

__all__ = ["unreadable"]


def unreadable(reply: Reply, rule: str) -> VerdictParseError:
    """Make the error; `rule` says what a reply must do."""
    hint = ""
    if reply.finish_reason == "length":
        hint = " It was cut off at its longest: allow more tokens with `max_tokens`."
    got = f"got {shorten(reply.text)!r}"
    return VerdictParseError(
        f"`reply` (asked for as {reply.form}) must {rule}, {got}.{hint}", reply=reply
    )
