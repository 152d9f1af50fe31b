"""Writes and recognises files of verdicts, and joins their parts."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire.errors import InputError
from voirdire.records.verdicts import is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from voirdire._types import VerdictLayout

__all__ = [
    "VerdictFormat",
    "columns_of_file",
    "encode_part",
    "join_parts",
    "layout_of_file",
    "verdict_format",
]

VerdictFormat: TypeAlias = Literal["parquet", "jsonl", "csv"]
"""Formats of files of verdicts."""

_SUFFIXES: dict[str, VerdictFormat] = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
}
_HEAD_BYTES = 1 << 18


def verdict_format(output: Path) -> VerdictFormat:
    """Return the format of a file of verdicts, by the ending of its name."""
    found = _SUFFIXES.get(output.suffix.lower())
    if found is None:
        msg = f"`output` must end in .parquet, .jsonl or .csv, got {str(output)!r}. Rename it."
        raise InputError(msg)
    return found


def encode_part(frame: pl.DataFrame, written_as: VerdictFormat) -> bytes:
    """Write a part of a table; a CSV part has no header."""
    buffer = io.BytesIO()
    if written_as == "parquet":
        frame.write_parquet(buffer)
    elif written_as == "jsonl":
        frame.write_ndjson(buffer)
    else:
        frame.write_csv(buffer, include_header=False)
    return buffer.getvalue()


def join_parts(
    parts: Sequence[Path], target: Path, *, written_as: VerdictFormat, columns: Sequence[str]
) -> None:
    """Concatenate parts into one file, in bounded memory.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    if written_as == "parquet":
        _sink(parts, target)
        return
    with target.open("wb") as whole:
        if written_as == "csv":
            whole.write(_header(columns))
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, whole, 1 << 20)


def layout_of_file(path: Path) -> VerdictLayout | None:
    """Return whether a file holds verdicts of ours, by its columns, and in which layout."""
    return is_verdict_table(columns_of_file(path))


def columns_of_file(path: Path) -> tuple[str, ...]:
    """Return the columns of a table, of the first row in JSONL; none where it cannot be read."""
    try:
        return _columns(path, verdict_format(path))
    except (OSError, ValueError):
        return ()


def _sink(parts: Sequence[Path], target: Path) -> None:
    import polars as pl

    try:
        pl.scan_parquet(list(parts), glob=False).sink_parquet(target, maintain_order=True)
    except pl.exceptions.PolarsError as error:
        raise _as_os_error(error) from error


def _as_os_error(error: Exception) -> OSError:
    """Make an `OSError` from the message of a polars error."""
    why = str(error).partition("\n")[0]
    found = re.search(r"os error (\d+)", why)
    number = int(found[1]) if found else 0
    return OSError(number, os.strerror(number) if number else why)


def _header(columns: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(columns)
    return text.getvalue().encode()


def _columns(path: Path, written_as: VerdictFormat) -> tuple[str, ...]:
    if written_as == "parquet":
        import polars as pl

        try:
            with path.open("rb") as file:
                return tuple(pl.read_parquet_schema(file))
        except pl.exceptions.PolarsError as error:
            raise ValueError(str(error)) from error
    with path.open("rb") as file:
        first = file.read(_HEAD_BYTES).partition(b"\n")[0].decode()
    if written_as == "csv":
        return tuple(next(csv.reader([first]), []))
    row = json.loads(first)
    return tuple(row) if isinstance(row, dict) else ()
