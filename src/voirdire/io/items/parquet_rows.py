"""Rows of Parquet, a slice at a time; only the pages of that slice are unpacked."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from voirdire.io.parquet import BROKEN_PARQUET, broken_parquet, path_or_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.io.items.row_errors import FoundRows
    from voirdire.io.sources import Source

__all__ = ["parquet_rows"]

_SLICE_BYTES = 1 << 24
_MIN_ROWS, _MAX_ROWS = 64, 1 << 17
_MAX_GROWTH = 16  # the rows so far may be shorter than those to come
_STEP = 256


def parquet_rows(
    source: Source, *, name: str, check_header: Callable[[Sequence[str]], None]
) -> FoundRows:
    """One row a row. A stream is held in memory whole, since Parquet is read from its end."""
    place = path_or_bytes(source, held="item")
    start, n_rows = 0, _MIN_ROWS
    while True:
        try:
            opened = io.BytesIO(place) if isinstance(place, bytes) else place
            scanned = pl.scan_parquet(opened, glob=False, hive_partitioning=False)
            if start == 0:
                check_header(scanned.collect_schema().names())
            frame = scanned.slice(start, n_rows).collect()
        except BROKEN_PARQUET as error:
            raise broken_parquet(name, error) from error
        bytes_a_row = max(int(frame.estimated_size() / max(frame.height, 1)), 1)
        yield from _frame_rows(frame, start=start, bytes_a_row=bytes_a_row)
        if frame.height < n_rows:
            return
        start += n_rows
        wanted = min(_SLICE_BYTES // bytes_a_row, n_rows * _MAX_GROWTH, _MAX_ROWS)
        n_rows = max(wanted, _MIN_ROWS)


def _frame_rows(frame: pl.DataFrame, *, start: int, bytes_a_row: int) -> FoundRows:
    """Rows of a frame, numbered on from `start`; nan is nothing there."""
    names = frame.columns
    # by number: polars takes names such as * for patterns
    frame.columns = [f"{number}" for number in range(len(names))]
    frame = frame.with_columns(cs.float().fill_nan(None))
    line = start
    for first in range(0, frame.height, _STEP):  # Python objects for few rows at once
        for values in frame.slice(first, _STEP).rows():
            line += 1
            yield line, dict(zip(names, values, strict=True)), bytes_a_row
