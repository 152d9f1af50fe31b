"""JSONL: one object a line; every cell has its own type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.json_text import decode_line
from voirdire.io.raw import RawRows, RawTable, line_numbers
from voirdire.io.sources import check_utf8, read_bytes, source_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.sources import Source

__all__ = ["decode_rows", "table_of_objects"]

_BOM = b"\xef\xbb\xbf"


def decode_rows(source: Source) -> tuple[list[dict[str, Any]], list[int | None]]:
    """Decode a JSONL file: its objects and the line of each; blank lines are passed over."""
    name = source_name(source)
    data = read_bytes(source)
    check_utf8(data, source=name)
    rows: list[dict[str, Any]] = []
    lines: list[int | None] = []
    for number, text in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        if not text or text.isspace():
            continue
        row = decode_line(text, source=name, line=number)
        if type(row) is not dict:
            shown = shorten(text.decode().strip())
            message = f"{name}:{number}: line must be a JSON object, got {shown!r}. "
            raise InputError(message + 'Write {"item": ..., "label": ...}.')
        rows.append(row)
        lines.append(number)
    return rows, lines


def table_of_objects(
    rows: Sequence[dict[str, Any]], lines: Sequence[int | None], *, source: str
) -> RawTable:
    """Make a table of objects; its columns are the keys of all of them, in order of appearance."""
    names: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))

    def load(columns: Sequence[str]) -> RawRows:
        found = {name: [row.get(name) for row in rows] for name in columns}
        return RawRows(columns=dict(found), lines=line_numbers(lines))

    return RawTable(source=source, columns=tuple(names), load=load)
