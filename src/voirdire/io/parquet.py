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
    on_disk = isinstance(source, str | Path) and str(source) != "-" and Path(source).is_file()
    # An empty or absent file is refused by `read_bytes` in the words of every other format.
    whole = on_disk and Path(str(source)).stat().st_size > 0
    opened: Path | io.BytesIO = Path(str(source)) if whole else io.BytesIO(read_bytes(source))
    try:
        columns = tuple(pl.read_parquet_schema(opened))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(_message(name, error)) from error

    def load(needed: Sequence[str]) -> RawRows:
        try:
            frame = pl.read_parquet(opened, columns=list(needed), glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(_message(name, error)) from error
        found = {column: frame[column] for column in needed}
        return RawRows(columns=dict(found), lines=row_numbers(frame.height))

    return RawTable(source=name, columns=columns, load=load)


def row_numbers(height: int) -> pl.Series:
    """1-based row numbers, which stand for lines where a table has none."""
    return pl.int_range(1, height + 1, dtype=pl.UInt32, eager=True).alias("line")


def _message(name: str, error: Exception) -> str:
    why = str(error).partition("\n")[0]
    return f"{name}: must be a whole Parquet file, got {why!r}. Write it again."
