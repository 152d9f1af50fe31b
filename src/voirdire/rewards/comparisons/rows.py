"""Rows of comparisons as they stand in a file or in memory: objects, and lists of two."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire.io.frames import known_frame
from voirdire.io.items.delimited_rows import delimited_rows
from voirdire.io.items.json_values import decoded, is_unicode
from voirdire.io.items.numbered_lines import (
    MAX_LINE_BYTES,
    all_bytes,
    check_text,
    numbered_lines,
    opened,
)
from voirdire.io.items.row_errors import RowError
from voirdire.io.json_text import decode_document, pairs_of
from voirdire.io.sources import check_utf8
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import IO

    from voirdire.io.items.declared import ItemFormat
    from voirdire.io.sources import Source

__all__ = ["RawRows", "file_rows", "frame_rows", "given_rows"]

RawRows: TypeAlias = "Iterator[tuple[int, Any]]"
"""Line (or row) and what stands there; a `Dropped` where it cannot be read."""

_STEP = 1_024


def file_rows(
    source: Source,
    *,
    name: str,
    written_as: ItemFormat,
    is_gzip: bool,
    numbers: Collection[str],
    is_row: Callable[[dict[str, Any]], bool],
    check_header: Callable[[Sequence[str]], None],
) -> RawRows:
    """Read the rows of a file, each for itself.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    name : str
        What errors call it.
    written_as : {"jsonl", "csv", "tsv", "json", "parquet"}
        How it is written.
    is_gzip : bool
        Whether it is compressed.
    numbers : collection of str
        Keys under which a NaN is told from nothing.
    is_row : callable
        Tells by its keys whether a whole JSON document is one row.
    check_header : callable
        Refuses a table that lacks a column.

    Yields
    ------
    tuple
        The line and what stands there.
    """
    if written_as == "parquet":
        from voirdire.io.items.parquet_rows import parquet_rows  # polars: 100 ms

        for line, row, _ in parquet_rows(source, name=name, check_header=check_header):
            yield line, row
        return
    with opened(source, is_gzip=is_gzip) as stream:
        if written_as == "jsonl":
            yield from _lines(stream, name=name, numbers=numbers)
        elif written_as == "json":
            yield from _document(stream, name=name, is_row=is_row)
        else:
            separator = "," if written_as == "csv" else "\t"
            for line, row, _ in delimited_rows(
                stream, separator=separator, source=name, check_header=check_header
            ):
                yield line, row


def given_rows(rows: Iterable[Any], *, name: str) -> RawRows:
    """Take rows in memory, with Python's values for those of NumPy."""
    for line, row in enumerate(rows, start=1):
        value = _plain(row)
        if is_unicode(value):
            yield line, value
        else:
            yield line, _not_unicode(name, line)


def frame_rows(frame: Any, *, name: str) -> tuple[tuple[str, ...], RawRows]:
    """Take the rows of a data frame, and its columns; nan is nothing there."""
    known = known_frame(frame, source=name)
    columns = tuple(known.columns)

    def rows() -> Iterator[dict[str, Any]]:
        for start in range(0, len(known), _STEP):
            part = known[start : start + _STEP]
            cells = [
                [
                    None if gone else value
                    for value, gone in zip(part[key].to_list(), part[key].is_null(), strict=True)
                ]
                for key in columns
            ]
            for values in zip(*cells, strict=True):
                yield {
                    key: None if isinstance(value, float) and math.isnan(value) else value
                    for key, value in zip(columns, values, strict=True)
                }

    return columns, given_rows(rows(), name=name)


def _lines(stream: IO[bytes], *, name: str, numbers: Collection[str]) -> RawRows:
    for line, text in numbered_lines(stream, source=name):
        if text is None:
            reason = f"line must be at most {MAX_LINE_BYTES >> 20} MiB, got more"
            yield line, Dropped(reason=reason, source=name, line=line)
            continue
        if not text or text.isspace():
            continue
        try:
            row = decoded(text)
        except RowError as error:
            yield line, error.dropped(source=name, line=line)
            continue
        except UnicodeDecodeError:
            check_text(text, source=name, line=line)
            raise
        yield line, _with_nan(row, text, numbers) if b"NaN" in text else row


def _with_nan(row: Any, text: bytes, numbers: Collection[str]) -> Any:
    """Put NaN back where a number should stand: elsewhere it is nothing."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return row

    def mend(value: Any, told: Any) -> None:
        if isinstance(value, dict) and isinstance(told, dict):
            for key, number in told.items():
                if key in numbers and isinstance(number, float) and math.isnan(number):
                    value[key] = number
                elif isinstance(number, list):
                    mend(value.get(key), number)
        elif isinstance(value, list) and isinstance(told, list):
            for one, other in zip(value, told, strict=True):
                mend(one, other)

    mend(row, raw)
    return row


def _document(stream: IO[bytes], *, name: str, is_row: Callable[[dict[str, Any]], bool]) -> RawRows:
    """Rows of a whole JSON document: a list, an object of them by id, or one row."""
    data = all_bytes(stream, source=name)
    check_utf8(data, source=name)
    document = decode_document(data, source=name) if data.strip() else []
    values: Iterable[Any] = [document]
    if isinstance(document, list):
        values = document
    elif isinstance(document, dict) and not is_row(document):
        values = [
            {**value, "id": key} if isinstance(value, dict) else [key, value]
            for key, value in pairs_of(document)
        ]
    for line, value in enumerate(values, start=1):
        yield line, value if is_unicode(value) else _not_unicode(name, line)


def _not_unicode(name: str, line: int) -> Dropped:
    reason = "text must be Unicode, got half a surrogate pair"
    return Dropped(reason=reason, source=name, line=line)


def _plain(value: Any) -> Any:
    """Give the Python value that JSON would hold for NumPy's scalars and arrays, however deep."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, Mapping):
        return {key: _plain(element) for key, element in value.items()}
    return value
