"""What came of a call, as it can be stored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from voirdire.judging.calls.attempts import CallFailure
    from voirdire.records import Reply

__all__ = ["storable"]

_HALVES = re.compile("[\ud800-\udfff]")


def storable(attempt: Reply | CallFailure) -> Reply | CallFailure:
    """Replace halves of surrogate pairs, which UTF-8 lacks, by the replacement character.

    The reply that is read is then the one that is stored, now and later.
    """
    raw = msgspec.to_builtins(attempt)
    return msgspec.convert(_cleaned(raw), type(attempt))


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _cleaned(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value]
    return value
