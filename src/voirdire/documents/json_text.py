"""Reads JSON documents (one small object of finite numbers), and hashes their content."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.documents.files import write_whole
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "MOST_BYTES",
    "WrongJsonError",
    "content_digest",
    "hash_content",
    "parse_object",
    "plain_json",
    "to_canonical_json",
    "write_json",
]

MOST_BYTES = 64 * 1024 * 1024
_MOST_LEVELS = 64


def plain_json(content: Any) -> Any:
    """Turn what was computed into what JSON has: text keys, lists, null for what is no number."""
    if hasattr(content, "tolist"):  # arrays and numbers of NumPy
        content = content.tolist()
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(key): plain_json(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain_json(value) for value in content]
    if isinstance(content, set | frozenset):
        return sorted(plain_json(value) for value in content)
    if content is None or isinstance(content, str | bool | int):
        return content
    if hasattr(content, "items"):
        return {str(key): plain_json(value) for key, value in content.items()}
    return str(content)


def content_digest(content: Mapping[str, Any]) -> str:
    """Hash what was computed, in canonical JSON."""
    return hash_content(plain_json(content))


def hash_content(content: Any) -> str:
    """``sha256:`` and 64 hexadecimal digits over canonical JSON."""
    return f"sha256:{hashlib.sha256(to_canonical_json(content)).hexdigest()}"


def to_canonical_json(content: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write one JSON object to a file, whole or not at all; an `InputError` where that fails."""
    text = json.dumps(plain_json(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_whole(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name a file that can be."
        raise InputError(msg) from error


def parse_object(data: bytes, *, what: str) -> dict[str, Any]:
    """Read the text of one JSON object; a `ValueError` says what it is instead, and where."""
    text = data.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    try:
        found = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise _too_deep(what) from None
    if not isinstance(found, dict):
        msg = f"{what} must be a JSON object, got {_kind(found)}."
        raise WrongJsonError(msg)
    if _is_deep(found):
        raise _too_deep(what)
    return found


class WrongJsonError(ValueError):
    """JSON, and not what it should be; in our words."""


def _is_deep(content: Any) -> bool:
    """Return whether it has too many levels for recursive functions."""
    level = [content]
    for _ in range(_MOST_LEVELS):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _too_deep(what: str) -> WrongJsonError:
    return WrongJsonError(
        f"{what} must be a JSON object of at most {_MOST_LEVELS} levels, got one that is nested "
        "too deeply."
    )


def _kind(found: Any) -> str:
    return {list: "a list", str: "text", type(None): "null", bool: "true or false"}.get(
        type(found), "a number"
    )


def _refuse_constant(word: str) -> float:
    msg = f"{word} is no number of JSON"
    raise ValueError(msg)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = f"{shorten(digits)} is too large a number"
        raise ValueError(msg)
    return number
