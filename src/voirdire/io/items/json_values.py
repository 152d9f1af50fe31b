"""One JSON value: decoded strictly where that is fast, forgivingly where tools write NaN."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from voirdire.io.items.row_errors import RowError, got
from voirdire.io.json_text import nan_is_null

__all__ = ["decoded", "is_unicode"]

_FAST = msgspec.json.Decoder()


def decoded(text: bytes | str, *, what: str = "line", column: str | None = None) -> Any:
    """Decode one JSON value; `what` it stands in is named where it cannot be.

    Raises
    ------
    RowError
        If it is not JSON, or holds what no file can hold.
    UnicodeDecodeError
        If the bytes are not UTF-8.
    """
    try:
        return _FAST.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError):
        return _slowly(text if isinstance(text, str) else text.decode(), what=what, column=column)


def is_unicode(value: Any) -> bool:
    """Whether all text in a value can be written: half a surrogate pair cannot."""
    try:
        msgspec.json.encode(value, enc_hook=str)
    except UnicodeEncodeError:
        return False
    except (TypeError, ValueError, OverflowError, RecursionError):  # not JSON, which may be
        return True
    return True


def _slowly(text: str, *, what: str, column: str | None) -> Any:
    try:
        value = json.loads(text, parse_constant=nan_is_null)
        msgspec.json.encode(value)
    except json.JSONDecodeError as error:
        found = text[error.pos : error.pos + 20]
        shown = got(found) if found else "the end"
        reason = f"{what} must be JSON, got {shown} at character {error.pos + 1} ({error.msg})"
        raise RowError(reason, column=column) from error
    except UnicodeEncodeError as error:
        reason = "text must be Unicode, got half a surrogate pair"
        raise RowError(reason, column=column) from error
    except (RecursionError, ValueError, OverflowError) as error:
        reason = f"{what} must be JSON of sensible depth and numbers, got {got(str(error))}"
        raise RowError(reason, column=column) from error
    return value
