"""Lines of JSON that are appended whole, and read again even where the last one is not."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["AppendedLines", "BadLine", "json_line", "lines_of", "opened_file", "without_nan"]

_OWNER_ONLY = 0o600
_MOST_BYTES = 1 << 26
"""Bytes of a line at most; what is longer was never written by us."""


class AppendedLines:
    """A file that lines are appended to; each reaches the system whole, and readers at once.

    Parameters
    ----------
    path : path
        Made at the first line, for its owner only.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append a line for each; an `OSError` where the disk refuses."""
        data = b"".join(map(json_line, rows))
        if self._file is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            self._file = os.open(self._path, flags, _OWNER_ONLY)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class BadLine:
    """A line that cannot be read.

    Attributes
    ----------
    place : str
        File and line.
    reason : str
        Why.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def json_line(row: dict[str, Any]) -> bytes:
    """Write a line; halves of surrogate pairs, which are no text, as escapes."""
    try:
        return msgspec.json.encode(row) + b"\n"
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, msgspec.MsgspecError):
        text = json.dumps(row, separators=(",", ":"), ensure_ascii=True, default=str)
        return text.encode() + b"\n"


def opened_file(path: Path) -> BinaryIO:
    """Open a file of a run, which may be a stranger's; an `OSError` where it cannot be read.

    A pipe or a device, which may never end, is no file.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return path.open("rb")


def lines_of(path: Path) -> Iterator[dict[str, Any] | BadLine]:
    """Read the objects of a file one after the other; an `OSError` where it cannot be read."""
    with opened_file(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(_MOST_BYTES), b""), start=1):
            place = f"{path.name}:{number}"
            if not line.endswith(b"\n"):
                yield BadLine(place, "the line is cut off, and left out")
                continue
            try:
                found = _decoded(line)
            except (ValueError, RecursionError):
                yield BadLine(place, "the line is no JSON, and left out")
                continue
            if isinstance(found, dict):
                yield found
            else:
                yield BadLine(place, "the line is no object, and left out")


def without_nan(value: Any) -> Any:
    """Put None where a number is not finite, which JSON has no word for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return value


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:  # such as half a surrogate pair
        return json.loads(line)
