"""JSON files of ours: small enough, one object, finite numbers, and a hash over what they say."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics.given_file import NotRegularError, open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["content_digest", "parsed_object", "plain", "read_object", "write_object"]

_MOST_BYTES = 64 * 1024 * 1024
_MOST_LEVELS = 64


def plain(content: Any) -> Any:
    """Turn what was computed into what JSON has: text keys, lists, null for what is no number."""
    if hasattr(content, "tolist"):  # arrays and numbers of NumPy
        content = content.tolist()
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, set | frozenset):
        return sorted(plain(value) for value in content)
    if content is None or isinstance(content, str | bool | int):
        return content
    if hasattr(content, "items"):
        return {str(key): plain(value) for key, value in content.items()}
    return str(content)


def content_digest(content: Mapping[str, Any]) -> str:
    """``sha256:`` and 64 digits over canonical JSON: sorted keys, no spaces."""
    text = json.dumps(
        plain(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def read_object(path: str | Path, *, what: str) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Parameters
    ----------
    path : str or path
        A regular file.
    what : str
        What it should hold, for messages: ``"a reward"``.

    Raises
    ------
    InputError
        If it cannot be read, is larger than 64 MiB, or is not one JSON object of finite numbers.
    """
    source = shorten(str(path), width=200)
    try:
        with open_regular(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except NotRegularError as error:
        msg = f"{source}: must be a regular file, got {error.kind}. Name a file."
        raise InputError(msg) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{source}: must be a file that can be read ({why}). Check the path."
        raise InputError(msg) from error
    if len(data) > _MOST_BYTES:
        msg = f"{source}: {what} must be at most {_MOST_BYTES:,} bytes, got more."
        raise InputError(msg)
    return parsed_object(data, source=source, what=what)


def parsed_object(data: bytes, *, source: str, what: str) -> dict[str, Any]:
    """Read one JSON object; see `read_object`."""
    try:
        found = json.loads(
            data, parse_constant=_refused, parse_float=_finite, object_pairs_hook=_once
        )
    except RecursionError as error:
        raise _too_deep(source, what=what) from error
    except ValueError as error:  # also what is no UTF-8, and a number of thousands of digits
        found = shorten(str(error)) if data.strip() else "the file is empty"
        msg = (
            f"{source}: {what} must be a JSON object, got something else ({found}). Check the path."
        )
        raise InputError(msg) from error
    if not isinstance(found, dict):
        msg = f"{source}: {what} must be a JSON object, got {type(found).__name__}."
        raise InputError(msg)
    if _is_deep(found):
        raise _too_deep(source, what=what)
    return found


def write_object(path: Path, content: Mapping[str, Any]) -> None:
    """Write one JSON object to a file, whole or not at all; the mode of a file is kept.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    text = json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    target = path.resolve()
    unfinished = None
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".partial"
        )
        unfinished = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        unfinished.chmod(_mode(target))
        unfinished.replace(target)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name a file that can be."
        raise InputError(msg) from error
    finally:
        if unfinished is not None:
            with suppress(OSError):
                unfinished.unlink()


def _is_deep(content: Any) -> bool:
    """Tell whether it has more levels than are walked through by functions that call themselves."""
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


def _too_deep(source: str, *, what: str) -> InputError:
    return InputError(
        f"{source}: {what} must be a JSON object of at most {_MOST_LEVELS} levels, got one that is "
        "nested too deeply."
    )


def _mode(target: Path) -> int:
    """Mode of the file that is replaced, or of a new one."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _refused(word: str) -> float:
    msg = f"{word} is no number of JSON"
    raise ValueError(msg)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = f"{shorten(digits)} is too large a number"
        raise ValueError(msg)
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        msg = f"the key {shorten(twice)!r} is there twice"
        raise ValueError(msg)
    return found
