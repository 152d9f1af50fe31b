"""Parquet: typed columns, of which only the needed ones are read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from voirdire.errors import InputError
from voirdire.io.raw import RawRows, RawTable
from voirdire.io.sources import read_bytes, source_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.sources import Source

__all__ = ["read_parquet", "row_numbers"]


def read_parquet(source: Source) -> RawTable:
    """Open a Parquet file."""
    name = source_name(source)
    opened = _opened(source)
    try:
        # Through an open file, since polars takes the name of a file for a pattern.
        with opened.open("rb") if isinstance(opened, Path) else io.BytesIO(opened) as file:
            columns = tuple(pl.read_parquet_schema(file))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(_message(name, error)) from error

    def load(needed: Sequence[str]) -> RawRows:
        try:
            # by position and under another name: polars takes names such as * for patterns
            places = sorted(columns.index(column) for column in needed)
            frame = pl.read_parquet(opened, columns=places, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(_message(name, error)) from error
        found = dict(zip((columns[place] for place in places), frame.get_columns(), strict=True))
        found = {column: values.alias("values") for column, values in found.items()}
        return RawRows(columns=found, lines=row_numbers(frame.height))

    return RawTable(source=name, columns=columns, load=load)


def _opened(source: Source) -> Path | bytes:
    """Leave a file on disk where it is; everything else becomes bytes, or its own error."""
    if isinstance(source, str | Path) and str(source) != "-":
        path = Path(source)
        if path.is_file() and path.stat().st_size > 0:
            return path
    return read_bytes(source)


def row_numbers(height: int) -> pl.Series:
    """1-based row numbers, which stand for lines where a table has none."""
    return pl.int_range(1, height + 1, dtype=pl.UInt32, eager=True).alias("line")


def _message(name: str, error: Exception) -> str:
    why = str(error).partition("\n")[0]
    return f"{name}: must be a whole Parquet file, got {why!r}. Write it again."
