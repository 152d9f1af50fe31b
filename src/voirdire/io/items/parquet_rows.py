"""Rows of Parquet, a slice at a time; only the pages of that slice are unpacked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from voirdire.errors import InputError
from voirdire.io.sources import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.io.items.row_errors import FoundRows
    from voirdire.io.sources import Source

__all__ = ["frame_rows", "parquet_rows"]

# Of a file with wrong bytes inside, polars may also panic, which is no Exception.
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_SLICE_BYTES = 1 << 24
_FIRST_ROWS = 4_096
_MIN_ROWS, _MAX_ROWS = 64, 1 << 17
_STEP = 256


def parquet_rows(
    source: Source, *, name: str, check_header: Callable[[Sequence[str]], None]
) -> FoundRows:
    """One row a row. A stream is held in memory whole, since Parquet is read from its end."""
    place = _place(source)
    start, n_rows = 0, _FIRST_ROWS
    while True:
        try:
            scanned = pl.scan_parquet(place, glob=False, hive_partitioning=False)
            if start == 0:
                check_header(scanned.collect_schema().names())
            frame = scanned.slice(start, n_rows).collect()
        except _BROKEN as error:
            why = str(error).partition("\n")[0]
            message = f"{name}: must be a whole Parquet file, got {why!r}. Write it again."
            raise InputError(message) from error
        yield from frame_rows(frame, start=start)
        if frame.height < n_rows:
            return
        start += n_rows
        bytes_a_row = max(frame.estimated_size() / frame.height, 1)
        n_rows = min(max(int(_SLICE_BYTES / bytes_a_row), _MIN_ROWS), _MAX_ROWS)


def _place(source: Source) -> Path | io.BytesIO:
    # A path that is no file on disk, such as an address, is never handed to polars.
    if isinstance(source, str | Path) and str(source) != "-" and Path(source).is_file():
        return Path(source)
    return io.BytesIO(read_bytes(source))


def frame_rows(frame: pl.DataFrame, *, start: int = 0) -> FoundRows:
    """Rows of a frame, numbered on from `start`; nan is nothing there."""
    names = frame.columns
    # by number: polars takes names such as * for patterns
    frame.columns = [f"{number}" for number in range(len(names))]
    frame = frame.with_columns(cs.float().fill_nan(None))
    line = start
    for first in range(0, frame.height, _STEP):  # Python objects for few rows at once
        for values in frame.slice(first, _STEP).rows():
            line += 1
            yield line, dict(zip(names, values, strict=True)), 0
