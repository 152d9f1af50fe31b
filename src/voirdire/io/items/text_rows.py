"""Rows of JSON Lines and of JSON documents."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.items.json_values import decoded, is_unicode
from voirdire.io.items.numbered_lines import (
    MAX_LINE_BYTES,
    all_bytes,
    check_text,
    numbered_lines,
)
from voirdire.io.items.row_errors import FoundRow, RowError, got
from voirdire.io.json_text import decode_document, pairs_of
from voirdire.io.sources import check_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from voirdire.io.items.row_errors import FoundRows

__all__ = ["document_rows", "jsonl_rows"]

_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


def jsonl_rows(stream: IO[bytes], *, source: str) -> FoundRows:
    """One object a line; blank lines are passed over, unreadable ones set aside."""
    for number, text in numbered_lines(stream, source=source):
        if text is None:
            error = RowError(f"line must be at most {MAX_LINE_BYTES >> 20} MiB, got more")
            yield number, error.dropped(source=source, line=number), 0
            continue
        try:
            row = decoded(text) if text else None
        except RowError as error:
            if not text.isspace():
                yield number, error.dropped(source=source, line=number), len(text)
            continue
        except UnicodeDecodeError:
            check_text(text, source=source, line=number)
            raise
        if text:
            yield _found(row, number=number, source=source, size=len(text))


def document_rows(
    stream: IO[bytes], *, source: str, id_column: str, is_row: Callable[[dict[str, Any]], bool]
) -> FoundRows:
    """Rows of a whole JSON document: a list of objects, an object of objects by id, or one row.

    `is_row` tells an object that is a row by its keys; the keys of any other are ids, and go into
    `id_column`.
    """
    data = all_bytes(stream, source=source)
    check_utf8(data, source=source)
    if not data.strip():
        message = f"{source}: must hold at least one item, got an empty file. Fill it."
        raise NoDataError(message)
    document = decode_document(data, source=source)
    if isinstance(document, dict) and not is_row(document):
        values: Iterable[Any] = (
            {**value, id_column: key} if isinstance(value, dict) else value
            for key, value in pairs_of(document)
        )
    elif isinstance(document, dict):
        values = [document]
    elif isinstance(document, list):
        values = document
    else:
        message = (
            f"{source}: JSON must be a list of objects, or an object of objects by id, "
            f'got {shorten(repr(document))}. Write [{{"prompt": ..., "response": ...}}].'
        )
        raise InputError(message)
    may_be_torn = _HALF_PAIR.search(data) is not None
    for number, value in enumerate(values, start=1):
        if may_be_torn and not is_unicode(value):
            error = RowError("text must be Unicode, got half a surrogate pair")
            yield number, error.dropped(source=source, line=number), 0
        else:
            yield _found(value, number=number, source=source, size=0)


def _found(row: Any, *, number: int, source: str, size: int) -> FoundRow:
    if isinstance(row, dict):
        return number, row, size
    error = RowError(f"row must be a JSON object, got {got(row)}")
    return number, error.dropped(source=source, line=number), size
