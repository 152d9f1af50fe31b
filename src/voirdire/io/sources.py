"""Bytes from a path, a stream or standard input, with every failure in our own words."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from voirdire.documents import NotRegularError, open_data
from voirdire.errors import InputError, NoDataError

if TYPE_CHECKING:
    from voirdire.io.request import FileFormat

__all__ = [
    "FORMATS_BY_SUFFIX",
    "Source",
    "check_bytes",
    "check_utf8",
    "format_of",
    "read_bytes",
    "source_name",
    "why_unreadable",
]

Source: TypeAlias = str | Path | IO[bytes]

FORMATS_BY_SUFFIX: dict[str, FileFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}
_CHUNK = 1 << 24
_STDIN = "<stdin>"


def source_name(source: Source) -> str:
    """Say what errors and drops call a source; whatever cannot be read at all is refused."""
    if isinstance(source, str | Path):
        return _STDIN if str(source) == "-" else str(source)
    if not hasattr(source, "read"):
        message = (
            f"`source` must be a path or an open binary file, got {type(source).__name__}. "
            "Read a data frame by `items_from_frame` or `table_from_frame`."
        )
        raise InputError(message)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def format_of(source: Source) -> FileFormat:
    """Tell the format by the ending of a name; JSONL for a stream."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return "jsonl"
    suffix = Path(source).suffix.lower()
    if suffix not in FORMATS_BY_SUFFIX:
        known = ", ".join(FORMATS_BY_SUFFIX)
        message = f"`source` must end in one of {known}, got {str(source)!r}. Declare its `format`."
        raise InputError(message)
    return FORMATS_BY_SUFFIX[suffix]


def read_bytes(source: Source, *, held: str = "label") -> bytes:
    """Everything in a source; at least one byte that is not white space.

    `held` says what it should hold.
    """
    data = _all_bytes(source)
    if not data.strip():
        message = (
            f"{source_name(source)}: must hold at least one {held}, got an empty file. Fill it."
        )
        raise NoDataError(message)
    return data


def check_utf8(data: bytes, *, source: str) -> None:
    """Refuse bytes that are not UTF-8, naming the line and the byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(view), _CHUNK):
        chunk = view[start : start + _CHUNK]
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk, final=start + _CHUNK >= len(view))
        except UnicodeDecodeError as error:
            at = start - kept + error.start
            line = data.count(b"\n", 0, at) + 1
            message = (
                f"{source}:{line}: text must be UTF-8, got byte 0x{data[at]:02x} at offset {at}. "
                "Save the file as UTF-8."
            )
            raise InputError(message) from error


def _all_bytes(source: Source) -> bytes:
    if not isinstance(source, str | Path):
        return check_bytes(source.read(), source=source_name(source))
    if str(source) == "-":
        return sys.stdin.buffer.read()
    try:
        with open_data(source) as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise InputError(why_unreadable(source, error)) from error


def check_bytes(data: object, *, source: str) -> bytes:
    """Refuse what a stream of text gives."""
    if not isinstance(data, bytes):
        message = f"{source}: stream must give bytes, got {type(data).__name__}. Open it with 'rb'."
        raise InputError(message)
    return data


def why_unreadable(source: str | Path, error: Exception) -> str:
    """Say why a path could not be opened."""
    name = str(source)
    if isinstance(error, FileNotFoundError):
        return f"`source` must be a file that exists, got {name!r}. Check the path."
    if isinstance(error, IsADirectoryError):
        return f"`source` must be a file, got the folder {name!r}. Name a file in it."
    if isinstance(error, NotRegularError):
        return f"`source` must be a file or a pipe, got {error.kind}: {name!r}. Name a file."
    why = getattr(error, "strerror", None) or str(error)
    return f"`source` must be a file that can be read, got {name!r} ({why}). Check the path."
