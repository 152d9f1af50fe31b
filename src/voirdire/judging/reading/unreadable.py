"""The error for a reply that cannot be read: what it had to be, and what came."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import VerdictParseError
from voirdire.records import Failure

if TYPE_CHECKING:
    from voirdire.records import Reply

__all__ = ["as_failure", "unreadable"]


def unreadable(reply: Reply, rule: str) -> VerdictParseError:
    """Make the error; `rule` says what a reply must do."""
    hint = ""
    if reply.finish_reason == "length":
        hint = " It was cut off at its longest: allow more tokens with `max_tokens`."
    got = f"got {shorten(reply.text)!r}"
    return VerdictParseError(
        f"`reply` (asked for as {reply.form}) must {rule}, {got}.{hint}",
        reply=reply,
        is_refusal=_declines(reply.text),
    )


def as_failure(error: VerdictParseError) -> Failure:
    """Say of a reply that it cannot be read, as verdicts do."""
    return Failure(reason=f"{error.reason}: {shorten(str(error), width=240)}")


_DECLINES = re.compile(
    r"(?:i['’]?m|i am)(?: really| very| so| truly)? sorry|sorry, (?:but )?i|i apologi[sz]e"
    r"|(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|refuse)"
    r"|i(?: am|['’]?m) (?:not able|unable|not comfortable)"
    r"|as an ai|unfortunately, i"
    r"|(?:很|非常)?抱歉|对不起|我(?:不能|无法|不会)|作为(?:一个|一名)?(?:ai|人工智能)",
    re.IGNORECASE,
)


def _declines(text: str) -> bool:
    """Tell whether a reply without any JSON begins as refusals do."""
    return "{" not in text and _DECLINES.match(text.lstrip(" \t\r\n\"'*#>")) is not None
