"""CSV and TSV: every cell is text, and only the columns that are needed are parsed."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from voirdire.errors import InputError
from voirdire.io.csv_records import scan_records
from voirdire.io.raw import RawRows, RawTable
from voirdire.io.sources import check_utf8, read_bytes, source_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.csv_records import CsvRecords
    from voirdire.io.sources import Source

__all__ = ["read_delimited"]


def read_delimited(source: Source, *, separator: str) -> RawTable:
    """Open a delimited file: RFC 4180 quoting, UTF-8, one header."""
    name = source_name(source)
    data = read_bytes(source)
    check_utf8(data, source=name)
    records = scan_records(data, separator=separator, source=name)

    def load(columns: Sequence[str]) -> RawRows:
        return _parsed(records, columns, separator=separator, source=name)

    return RawTable(source=name, columns=records.header, load=load)


def _parsed(records: CsvRecords, columns: Sequence[str], *, separator: str, source: str) -> RawRows:
    lines = pl.Series("line", records.lines)
    if not len(records.lines):
        empty = {name: pl.Series(name, [], dtype=pl.String) for name in columns}
        return RawRows(columns=empty, lines=lines)
    # Positions instead of names: a header may hold names that polars would rename.
    positions = sorted(records.header.index(name) for name in columns)
    try:
        frame = pl.read_csv(
            io.BytesIO(records.body),
            has_header=False,
            separator=separator,
            schema={f"{index}": pl.String for index in range(len(records.header))},
            columns=positions,
        )
    except pl.exceptions.PolarsError as error:
        message = f"{source}: must be a well-formed delimited file, got {_first_line(error)}. "
        raise InputError(message + "Write it again with a CSV writer.") from error
    if frame.height != len(records.lines):
        message = (
            f"{source}: must be a well-formed delimited file, got {frame.height} rows where "
            f"{len(records.lines)} start. Write it again with a CSV writer."
        )
        raise InputError(message)
    found = {records.header[index]: frame[f"{index}"] for index in positions}
    return RawRows(columns=dict(found), lines=lines)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
