"""Rows of CSV and TSV in bounded memory: RFC 4180 quoting, UTF-8, one header, text cells."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.items.numbered_lines import MAX_LINE_BYTES, check_text, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.io.items.row_errors import FoundRows

__all__ = ["delimited_rows"]


def delimited_rows(
    stream: IO[bytes],
    *,
    separator: str,
    source: str,
    check_header: Callable[[Sequence[str]], None],
) -> FoundRows:
    """One row a record, every cell as text.

    Raises
    ------
    InputError
        If quotes do not stand around whole fields, or a record has more or fewer fields than the
        header: what follows could not be trusted.
    """
    records = _records(stream, source=source)
    first = next(records, None)
    if first is None:
        message = f"{source}: must hold a header and at least one row, got no lines. Fill it."
        raise NoDataError(message)
    line, text, _ = first
    split = _Splitter(separator=separator, source=source)
    header = _checked_header(split(text, line=line), source=source, line=line)
    check_header(header)
    for line, text, n_bytes in records:
        fields = split(text, line=line)
        if len(fields) != len(header):
            message = (
                f"{source}:{line}: row must have {len(header)} fields like the header, "
                f"got {len(fields)}. Quote a field that holds the separator."
            )
            raise InputError(message)
        yield line, dict(zip(header, fields, strict=True)), n_bytes


def _checked_header(header: Sequence[str], *, source: str, line: int) -> Sequence[str]:
    where = f"{source}:{line}"
    if any("\r" in name for name in header):
        message = f"{where}: lines must end in a newline, got carriage returns. Save it again."
        raise InputError(message)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        message = f"{where}: column `{shorten(twice)}` must appear once, got it twice. Rename one."
        raise InputError(message)
    return header


def _records(stream: IO[bytes], *, source: str) -> Iterator[tuple[int, str, int]]:
    """First line, text and size of each record: lines up to one where every quote is closed."""
    start = n_bytes = 0
    pieces: list[bytes] = []
    for number, line in numbered_lines(stream, source=source):
        n_bytes += MAX_LINE_BYTES + 1 if line is None else len(line) + 1
        if line is None or n_bytes > MAX_LINE_BYTES + 1:
            message = (
                f"{source}:{start or number}: row must be at most {MAX_LINE_BYTES >> 20} MiB, "
                "got more. Close the quote that is left open, or shorten it."
            )
            raise InputError(message)
        is_odd = line.count(b'"') % 2 == 1
        if not pieces and not is_odd:
            record = line.removesuffix(b"\r")
            if record:
                yield number, check_text(record, source=source, line=number), n_bytes
            n_bytes = 0
            continue
        start = start or number
        pieces.append(line)
        if is_odd and len(pieces) > 1:
            record = b"\n".join(pieces).removesuffix(b"\r")
            yield start, check_text(record, source=source, line=start), n_bytes
            pieces.clear()
            start = n_bytes = 0
    if pieces:
        message = f"{source}:{start}: a quote must be closed, got the end of the file. Close it."
        raise InputError(message)


class _Splitter:
    """Split records into fields, in time linear in their length whatever stands in them."""

    def __init__(self, *, separator: str, source: str) -> None:
        self.separator = separator
        self.source = source
        # possessive: a quoted field is never tried again
        self._field = re.compile(rf'"([^"]*+(?:""[^"]*+)*+)"|([^"{separator}]*+)')

    def __call__(self, text: str, *, line: int) -> list[str]:
        if '"' not in text:
            return text.split(self.separator)
        fields: list[str] = []
        at = 0
        while True:
            match = self._field.match(text, at)
            quoted, plain = match.groups() if match else (None, None)
            fields.append(plain if quoted is None else quoted.replace('""', '"'))  # type: ignore[arg-type]
            at = match.end() if match else at
            if at == len(text):
                return fields
            if text[at] != self.separator:
                shown = text[max(0, at - 20) : at + 20]
                message = (
                    f"{self.source}:{line}: quotes must stand around a whole field, got "
                    f"{shorten(shown)!r}. Quote the whole field and double the quotes in it."
                )
                raise InputError(message)
            at += 1
