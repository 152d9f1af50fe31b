"""What may be set on a model."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.models.openai_compatible.keys import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_extra", "check_number", "check_seconds", "check_word"]

# Fields of the body that have a place of their own, and which.
_PLACES = {
    "logprobs": "`top_logprobs` of a request",
    "max_completion_tokens": "`max_tokens`",
    "max_tokens": "`max_tokens`",
    "messages": "`messages` of a request",
    "model": "`model`",
    "random_seed": "`seed` of a request",
    "reasoning_effort": "`reasoning_effort`",
    "response_format": "`form` of a request",
    "seed": "`seed` of a request",
    "temperature": "`temperature`",
    "top_logprobs": "`top_logprobs` of a request",
    "top_p": "`top_p`",
}
_SECRET_NAME = re.compile(
    rb'"[^"]*(?:api[-_]?key|secret|password|authorization|access[-_]token)[^"]*":', re.IGNORECASE
)
_UNREAD = {"n": "one reply is read", "stream": "replies are read whole"}


def check_word(name: str, value: str) -> str:
    """Return `value` if it is text on one line."""
    text: object = value
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        msg = f"`{name}` must be a word on one line, got {shorten(value)!r}."
        raise InputError(f"{msg} Leave it out to take the default.")
    return value


def check_number(name: str, value: float | None, *, high: float) -> float | None:
    """Return `value` if it is None or a number in [0, `high`]."""
    if value is None:
        return None
    if not _is_number(value) or not 0 <= value <= high:
        msg = f"`{name}` must be a number in [0, {high:g}], got {shorten(value)!r}."
        raise InputError(f"{msg} Leave it out to take the server's own.")
    return value


def check_seconds(name: str, value: float) -> float:
    """Return `value` if it is a number of seconds above 0."""
    if not _is_number(value) or not 0 < value < math.inf:
        msg = f"`{name}` must be seconds above 0, got {shorten(value)!r}. Write a minute as 60."
        raise InputError(msg)
    return float(value)


def check_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return further fields of the body if they are JSON and none of those that are ours."""
    for name in extra:
        if name in _UNREAD:
            msg = f"`extra` must not hold {name!r}: {_UNREAD[name]}. Leave it out."
            raise InputError(msg)
        if name in _PLACES:
            msg = f"`extra` must not hold {name!r}, which has its own place."
            raise InputError(f"{msg} Set it as {_PLACES[name]}.")
    try:
        encoded = msgspec.json.encode(dict(extra))
    except (TypeError, ValueError, RecursionError):  # not JSON, or a circle
        msg = "`extra` must hold JSON values, got something else."
        raise InputError(f"{msg} Write numbers, words, lists and mappings.") from None
    if _SECRET_NAME.search(encoded) or looks_like_key(encoded.decode()):
        msg = "`extra` must hold no key and no password, got what looks like one."
        raise InputError(f"{msg} Name the environment variable that holds it: `api_key_env`.")
    fields: dict[str, Any] = msgspec.json.decode(encoded)
    return fields


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
