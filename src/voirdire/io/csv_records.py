"""Where the records of a delimited file start, and whether each has as many fields as the header.

polars parses such files fast but fills short rows with nulls and counts no physical lines, so the
bytes are scanned once with numpy first: quotes toggle, separators and newlines outside them count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from voirdire.errors import InputError, NoDataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CsvRecords", "scan_records"]

_CHUNK = 1 << 25
_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")
_BOM = b"\xef\xbb\xbf"

Bytes: TypeAlias = "NDArray[np.uint8]"
Positions: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, kw_only=True)
class CsvRecords:
    """The structure of a delimited file.

    Attributes
    ----------
    header : tuple of str
        Column names.
    body : bytes
        What follows the header, without blank lines.
    lines : ndarray of uint32
        The 1-based physical line on which each record of the body starts.
    """

    header: tuple[str, ...]
    body: memoryview
    lines: NDArray[np.uint32]


def scan_records(data: bytes, *, separator: str, source: str) -> CsvRecords:
    """Find the records of a delimited file and check their number of fields."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    buffer = np.frombuffer(data, dtype=np.uint8)
    scan = _Scan(data=data, buffer=buffer, start=start, separator=separator, source=source)
    records = _all_records(scan)
    ends, fields = np.concatenate(records.ends), np.concatenate(records.fields)
    starts = np.concatenate([[start], ends[:-1] + 1])
    lines = np.concatenate([[0], np.concatenate(records.lines)[:-1]]).astype(np.uint32) + 1
    filled = ~_is_blank(buffer, starts, ends)
    if not filled.any():
        message = f"{source}: must hold a header and at least one row, got blank lines. Fill it."
        raise NoDataError(message)
    first = int(filled.argmax())
    header = _header(data[starts[first] : ends[first]], separator, f"{source}:{lines[first]}")
    filled[: first + 1] = False
    ragged = filled & (fields != len(header))
    if ragged.any():
        row = int(ragged.argmax())
        message = (
            f"{source}:{lines[row]}: row must have {len(header)} fields like the header, "
            f"got {fields[row]}. Quote a field that holds the separator."
        )
        raise InputError(message)
    body = memoryview(data)[min(ends[first] + 1, len(data)) :]
    if filled.sum() < len(filled) - first - 1:
        pieces = zip(starts[filled].tolist(), ends[filled].tolist(), strict=True)
        body = memoryview(b"\n".join(data[begin:end] for begin, end in pieces))
    return CsvRecords(header=header, body=body, lines=lines[filled])


@dataclass(frozen=True, kw_only=True)
class _Scan:
    """What is scanned, and the words for its errors."""

    data: bytes
    buffer: Bytes
    start: int
    separator: str
    source: str


class _Records:
    """End, number of fields and last physical line of each record, gathered chunk by chunk."""

    def __init__(self) -> None:
        self.ends: list[Positions] = []
        self.fields: list[Positions] = []
        self.lines: list[Positions] = []
        self.depth = 0  # 1 inside quotes
        self.separators = 0  # of the record that the last chunk left unfinished
        self.line = 0  # newlines so far

    def take(self, scan: _Scan, at: Positions) -> None:
        """Take the marks (quotes, separators, newlines) of one chunk."""
        mark = scan.buffer[at]
        quotes = mark == _QUOTE
        line = self.line + np.cumsum(mark == _NEWLINE)
        self.line = int(line[-1]) if len(line) else self.line
        if self.depth or quotes.any():
            _check_quotes(scan, at[quotes], depth=self.depth)
            before = self.depth + np.cumsum(quotes) - quotes
            self.depth = (self.depth + int(quotes.sum())) % 2
            outside = (before % 2 == 0) & ~quotes
            at, mark, line = at[outside], mark[outside], line[outside]
        newline = np.flatnonzero(mark == _NEWLINE)
        counts = np.diff(newline, prepend=-1)
        trailing = len(mark)
        if len(counts):
            counts[0] += self.separators
            self.separators = 0
            trailing -= int(newline[-1]) + 1
        self.separators += trailing
        self.ends.append(at[newline])
        self.fields.append(counts)
        self.lines.append(line[newline])

    def close(self, end: int) -> None:
        """Finish a last record that no newline ends."""
        self.ends.append(np.array([end]))
        self.fields.append(np.array([self.separators + 1]))
        self.lines.append(np.array([self.line + 1]))


def _all_records(scan: _Scan) -> _Records:
    marks = np.zeros(256, dtype=bool)
    marks[[_QUOTE, _NEWLINE, ord(scan.separator)]] = True
    records = _Records()
    for begin in range(scan.start, len(scan.buffer), _CHUNK):
        records.take(scan, np.flatnonzero(marks[scan.buffer[begin : begin + _CHUNK]]) + begin)
    if records.depth:
        _refuse_open_quote(scan.data, source=scan.source)
    if scan.buffer[-1] != _NEWLINE:
        records.close(len(scan.buffer))
    return records


def _is_blank(buffer: Bytes, starts: Positions, ends: Positions) -> NDArray[np.bool_]:
    length = ends - starts
    blank: NDArray[np.bool_] = length == 0
    single = np.flatnonzero(length == 1)
    blank[single[buffer[starts[single]] == _RETURN]] = True
    return blank


def _check_quotes(scan: _Scan, at: Positions, *, depth: int) -> None:
    """Refuse a quote that does not open a field at its start or close it at its end."""
    opening, closing = at[depth::2], at[1 - depth :: 2]
    opening = opening[opening > scan.start]
    closing = closing[closing + 1 < len(scan.buffer)]
    before = np.isin(scan.buffer[opening - 1], [_QUOTE, _NEWLINE, ord(scan.separator)])
    after = np.isin(scan.buffer[closing + 1], [_QUOTE, _NEWLINE, _RETURN, ord(scan.separator)])
    stray = np.concatenate([opening[~before], closing[~after]])
    if len(stray):
        position = int(stray.min())
        line = scan.data.count(b"\n", 0, position) + 1
        text = scan.data[max(0, position - 20) : position + 20].decode(errors="replace")
        message = (
            f"{scan.source}:{line}: quotes must stand around a whole field, got {text!r}. "
            "Quote the whole field and double the quotes in it."
        )
        raise InputError(message)


def _refuse_open_quote(data: bytes, *, source: str) -> None:
    line = data.count(b"\n", 0, data.rindex(b'"')) + 1
    message = f"{source}:{line}: a quote must be closed, got the end of the file. Close it."
    raise InputError(message)


def _header(record: bytes, separator: str, where: str) -> tuple[str, ...]:
    fields = _fields(record.decode().removesuffix("\r"), separator)
    if any("\r" in field and not field.startswith('"') for field in fields):
        message = f"{where}: lines must end in a newline, got carriage returns. Save it again."
        raise InputError(message)
    names = [_unquoted(field) for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"{where}: column `{twice[0]}` must appear once, got it twice. Rename one."
        raise InputError(message)
    return tuple(names)


def _fields(record: str, separator: str) -> list[str]:
    """Split one record whose quotes have been checked; fields may be of any length."""
    fields: list[str] = []
    pieces = iter(record.split(separator))
    for piece in pieces:
        whole = piece
        while whole.count('"') % 2:
            whole += separator + next(pieces)
        fields.append(whole)
    return fields


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field
