"""Lines of a binary stream, numbered, in bounded memory however long a line is."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import open_data
from voirdire.errors import InputError
from voirdire.io.sources import check_bytes, why_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io.sources import Source

__all__ = ["MAX_LINE_BYTES", "all_bytes", "check_text", "numbered_lines", "opened"]

MAX_LINE_BYTES = 1 << 24
"""The longest line, or record of a delimited file: 16 MiB."""

_BLOCK_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"
_KINDS = (
    (b"\x1f\x8b", "what gzip wrote", "Unpack it, or let its name end in .gz."),
    (b"PAR1\x15", "Parquet", "Declare format='parquet'."),
    (b"PK\x03\x04", "a workbook or a zip archive", "Save its table as CSV in UTF-8."),
    (b"\xff\xfe", "UTF-16", "Save it as UTF-8."),
    (b"\xfe\xff", "UTF-16", "Save it as UTF-8."),
)


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
        return open_data(path)
    except (OSError, ValueError) as error:
        raise InputError(why_unreadable(path, error)) from error


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
        if is_first:
            _check_kind(block, source=source)
            block = block.removeprefix(_BOM)
            is_first = False
        yield block


def _check_kind(start: bytes, *, source: str) -> None:
    """Name what is known by its first bytes, before they count as bytes that are not UTF-8."""
    for mark, kind, way_out in _KINDS:
        if start.startswith(mark):
            raise InputError(f"{source}: must be text, got {kind}. {way_out}")


def _read(stream: IO[bytes], *, source: str) -> bytes:
    try:
        data: object = stream.read(_BLOCK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{source}: must be a file that can be read, got {shorten(str(error))!r}. "
        raise InputError(message + "Write it again.") from error
    return check_bytes(data, source=source)


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
