"""Lines of a binary stream, numbered, in bounded memory however long a line is."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io.sources import Source

__all__ = ["MAX_LINE_BYTES", "all_bytes", "check_text", "numbered_lines", "opened"]

MAX_LINE_BYTES = 1 << 24
"""The longest line, or record of a delimited file: 16 MiB."""

_BLOCK_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"


@contextmanager
def opened(source: Source, *, is_gzip: bool) -> Iterator[IO[bytes]]:
    """Open a path; give standard input and open files as they are, and leave them open."""
    if not isinstance(source, str | Path):
        yield source
    elif str(source) == "-":
        yield sys.stdin.buffer
    else:
        with _file(Path(source)) as file:
            if is_gzip:
                with gzip.open(file) as unpacked:
                    yield unpacked  # type: ignore[misc]  # a GzipFile reads like any file
            else:
                yield file


def _file(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        message = f"`source` must be a file that exists, got {str(path)!r}. Check the path."
        raise InputError(message) from error
    except IsADirectoryError as error:
        message = f"`source` must be a file, got the folder {str(path)!r}. Name a file in it."
        raise InputError(message) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = (
            f"`source` must be a file that can be read, got {str(path)!r} ({why}). Check the path."
        )
        raise InputError(message) from error


def numbered_lines(stream: IO[bytes], *, source: str) -> Iterator[tuple[int, bytes | None]]:
    """Every line without its newline, from 1; None for a line beyond `MAX_LINE_BYTES`."""
    number = 1
    pieces: list[bytes] = []  # of the line that the blocks so far left unfinished
    held = 0
    for block in _blocks(stream, source=source):
        *whole, rest = block.split(b"\n")
        for line in whole:
            if held or len(line) > MAX_LINE_BYTES:
                pieces.append(line)
                too_long = held + len(line) > MAX_LINE_BYTES
                yield number, None if too_long else b"".join(pieces)
                pieces.clear()
                held = 0
            else:
                yield number, line
            number += 1
        held += len(rest)
        if held > MAX_LINE_BYTES:
            pieces.clear()
        elif rest:
            pieces.append(rest)
    if held:
        yield number, None if held > MAX_LINE_BYTES else b"".join(pieces)


def all_bytes(stream: IO[bytes], *, source: str) -> bytes:
    """Everything in a stream, without a byte order mark."""
    return b"".join(_blocks(stream, source=source))


def _blocks(stream: IO[bytes], *, source: str) -> Iterator[bytes]:
    """Gather what a stream gives, however little at a time, into blocks of a useful size."""
    is_first = True
    while True:
        pieces = []
        n_bytes = 0
        while n_bytes < _BLOCK_BYTES:
            piece = _read(stream, source=source)
            if not piece:
                break
            pieces.append(piece)
            n_bytes += len(piece)
        if not pieces:
            return
        block = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        yield block.removeprefix(_BOM) if is_first else block
        is_first = False


def _read(stream: IO[bytes], *, source: str) -> bytes:
    try:
        data: object = stream.read(_BLOCK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{source}: must be a file that can be read, got {shorten(str(error))!r}. "
        raise InputError(message + "Write it again.") from error
    if not isinstance(data, bytes):
        message = f"{source}: stream must give bytes, got {type(data).__name__}. Open it with 'rb'."
        raise InputError(message)
    return data


def check_text(data: bytes, *, source: str, line: int) -> str:
    """Decode UTF-8, or name the line and the byte that is not."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        message = (
            f"{source}:{line}: text must be UTF-8, got byte 0x{data[error.start]:02x}. "
            "Save the file as UTF-8."
        )
        raise InputError(message) from error
