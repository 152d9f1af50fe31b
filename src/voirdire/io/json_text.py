"""JSON decoded strictly where it is fast, forgivingly where people's tools write NaN."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from voirdire.errors import InputError

if TYPE_CHECKING:
    from voirdire.io.raw import Value

__all__ = ["RepeatedKeys", "decode_document", "decode_line", "nan_is_null", "pairs_of"]

PairsHook: TypeAlias = Callable[[list[tuple[str, Any]]], dict[str, Any]]

_FAST = msgspec.json.Decoder()


class RepeatedKeys(dict[str, Any]):
    """An object in which a key appears more than once; `pairs` has every appearance."""

    pairs: list[tuple[str, Any]]


def pairs_of(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every key with its value, also those that a later one hides."""
    return value.pairs if isinstance(value, RepeatedKeys) else list(value.items())


def decode_line(text: bytes, *, source: str, line: int) -> Value:
    """Decode one JSON value on one line."""
    try:
        return _FAST.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decoded(text.decode(), source=source, line=line)


def decode_document(data: bytes, *, source: str) -> Value:
    """Decode a whole JSON file; keys that repeat within an object are kept."""
    return _decoded(data.decode("utf-8-sig"), source=source, line=None, pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = RepeatedKeys(found)
    repeated.pairs = pairs
    return repeated


def nan_is_null(word: str) -> float | None:
    """Give what stands for NaN and the infinities, which are no JSON."""
    return None if word == "NaN" else float(word)


def _decoded(
    text: str, *, source: str, line: int | None, pairs_hook: PairsHook | None = None
) -> Value:
    try:
        return json.loads(text, parse_constant=nan_is_null, object_pairs_hook=pairs_hook)
    except json.JSONDecodeError as error:
        where = f"{source}:{line or error.lineno}:{error.colno}"
        found = text[error.pos : error.pos + 20]
        shown = repr(found) if found else "the end"
        message = f"{where}: text must be JSON, got {shown} ({error.msg}). Correct this line."
        raise InputError(message) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        where = source if line is None else f"{source}:{line}"
        message = f"{where}: JSON must be of sensible depth and numbers, got {error}. Shorten it."
        raise InputError(message) from error
