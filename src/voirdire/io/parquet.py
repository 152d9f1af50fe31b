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

__all__ = ["BROKEN_PARQUET", "broken_parquet", "path_or_bytes", "read_parquet", "row_numbers"]

BROKEN_PARQUET = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises of a file that is none, or damaged; a panic is no Exception."""

_ROW = "row_number_"


def read_parquet(source: Source, *, only: tuple[str, str] | None = None) -> RawTable:
    """Open a Parquet file; of one on disk perhaps only the rows where a column has one value.

    Where no row has it, all are there, so that whoever asked can say what there is.
    """
    name = source_name(source)
    opened = path_or_bytes(source)
    try:
        # Through an open file, since polars takes the name of a file for a pattern.
        with opened.open("rb") if isinstance(opened, Path) else io.BytesIO(opened) as file:
            columns = tuple(pl.read_parquet_schema(file))
    except BROKEN_PARQUET as error:
        raise broken_parquet(name, error) from error

    def load(needed: Sequence[str]) -> RawRows:
        chosen = None if only is None else _chosen_rows(opened, needed, only=only)
        if chosen is not None:
            return chosen
        try:
            # by position and under another name: polars takes names such as * for patterns
            places = sorted(columns.index(column) for column in needed)
            frame = pl.read_parquet(opened, columns=places, glob=False)
        except BROKEN_PARQUET as error:
            raise broken_parquet(name, error) from error
        found = dict(zip((columns[place] for place in places), frame.get_columns(), strict=True))
        found = {column: values.alias("values") for column, values in found.items()}
        return RawRows(columns=found, lines=row_numbers(frame.height))

    return RawTable(source=name, columns=columns, load=load)


def path_or_bytes(source: Source, *, held: str = "label") -> Path | bytes:
    """Leave a file on disk where it is; everything else becomes bytes, or its own error.

    So a path that is no file, such as an address, is never handed to polars.
    """
    if isinstance(source, str | Path) and str(source) != "-":
        path = Path(source)
        if path.is_file() and path.stat().st_size > 0:
            return path
    return read_bytes(source, held=held)


def _chosen_rows(
    opened: Path | bytes, needed: Sequence[str], *, only: tuple[str, str]
) -> RawRows | None:
    """Load some rows without holding the others; None where that cannot be done."""
    column, value = only
    usual = all(name.isidentifier() and name != _ROW for name in needed)  # no patterns of polars
    if not (isinstance(opened, Path) and usual and column in needed):
        return None
    try:
        lazy = pl.scan_parquet(opened, glob=False, row_index_name=_ROW, row_index_offset=1)
        if lazy.collect_schema()[column] != pl.String:
            return None
        lazy = lazy.select(_ROW, *needed).filter(pl.col(column) == value)
        frame = lazy.collect(engine="streaming")
    except BROKEN_PARQUET:
        return None  # whatever is wrong is said where all rows are loaded
    if frame.is_empty():
        return None
    lines = frame[_ROW].cast(pl.UInt32).alias("line")
    return RawRows(columns={name: frame[name].alias("values") for name in needed}, lines=lines)


def row_numbers(height: int) -> pl.Series:
    """1-based row numbers, which stand for lines where a table has none."""
    return pl.int_range(1, height + 1, dtype=pl.UInt32, eager=True).alias("line")


def broken_parquet(source: str, error: BaseException) -> InputError:
    """Put what is wrong with a file in our words."""
    why = str(error).partition("\n")[0]
    return InputError(f"{source}: must be a whole Parquet file, got {why!r}. Write it again.")
