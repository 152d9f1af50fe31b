"""Verdicts in JSON Lines: ours by the column, anybody's by the row."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import polars as pl

from voirdire.io.files import DataFile
from voirdire.io.rows import Rows, Table, open_table, row_numbers
from voirdire.judging.table import LONG_COLUMNS, is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["read_verdict_lines"]

_NUMBERS = ("probability", "threshold")
_TYPES = {name: pl.Float64 if name in _NUMBERS else pl.String for name in LONG_COLUMNS}
# What the typed reading would not see, or would count otherwise: then rows are read one by one.
_UNSEEN = (b'"negated"', b"\n\n", b"\n\r\n")


class _Named(io.BytesIO):
    """Bytes that errors call by the name of their file."""

    name = ""


def read_verdict_lines(file: DataFile) -> Table:
    """Open a JSONL file of verdicts.

    A long table has a row for every question about an item, so that a file of a hundred thousand
    items has millions. Those that `voirdire judge` wrote are read by their columns, in a tenth of
    the time and memory; where that fails, row by row, which says what is wrong and where.
    """
    data = file.read()
    frame = _typed(data)
    if frame is None:
        stream = _Named(data)
        stream.name = file.name
        return open_table(DataFile(stream, held=file.held))

    def load(needed: Sequence[str]) -> Rows:
        columns = {column: frame[column].alias("values") for column in needed}
        return Rows(columns=dict(columns), lines=row_numbers(frame.height))

    return Table(source=file.name, columns=tuple(frame.columns), load=load)


def _typed(data: bytes) -> pl.DataFrame | None:
    """Read a long table of ours; None where it is not one from the first row to the last."""
    try:
        first = json.loads(data[: data.find(b"\n") + 1] or data)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(first, dict) and is_verdict_table(tuple(first)) == "long"
    if not is_ours or any(mark in data for mark in _UNSEEN):
        return None
    try:
        return pl.read_ndjson(io.BytesIO(data), schema=_TYPES)
    except pl.exceptions.PolarsError:
        return None
