"""Writes files of verdicts in parts, recognises them by their columns, and reads them in parts."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from voirdire.errors import InputError
from voirdire.io.files import FORMATS_BY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

VerdictFormat: TypeAlias = Literal["parquet", "jsonl", "csv"]
"""Formats of files of verdicts."""

_HEAD_BYTES = 1 << 18
_MOST_ITEMS, _MOST_ROWS = 1 << 15, 1 << 17
_BLOCK_BYTES = 1 << 23
"""Rows of a wide or long table, and bytes of JSONL, that are read together."""


def verdict_format(output: Path) -> VerdictFormat:
    """Return the format of a file of verdicts, by the ending of its name."""
    found: Any = FORMATS_BY_SUFFIX.get(output.suffix.lower())
    if found not in get_args(VerdictFormat):
        msg = f"`output` must end in .parquet, .jsonl or .csv, got {str(output)!r}. Rename it."
        raise InputError(msg)
    return found  # type: ignore[no-any-return]


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
        import polars as pl

        try:
            pl.scan_parquet(list(parts), glob=False).sink_parquet(target, maintain_order=True)
        except pl.exceptions.PolarsError as error:
            why = str(error).partition("\n")[0]
            number = re.search(r"os error (\d+)", why)
            raise OSError(
                *(int(number[1]), os.strerror(int(number[1]))) if number else (0, why)
            ) from error
        return
    with target.open("wb") as whole:
        if written_as == "csv":
            text = io.StringIO(newline="")
            csv.writer(text, lineterminator="\n").writerow(columns)
            whole.write(text.getvalue().encode())
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, whole, 1 << 20)


def columns_of_file(path: Path) -> tuple[str, ...]:
    """Return the columns of a table, of the first row in JSONL; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            if verdict_format(path) == "parquet":
                import polars as pl

                try:
                    return tuple(pl.read_parquet_schema(file))
                except pl.exceptions.PolarsError:
                    return ()
            first = file.read(_HEAD_BYTES).partition(b"\n")[0].decode()
        row = (
            json.loads(first) if verdict_format(path) == "jsonl" else next(csv.reader([first]), [])
        )
    except (OSError, ValueError):
        return ()
    return tuple(row) if isinstance(row, dict | list) else ()


def read_parts(paths: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """Read files that `voirdire judge` wrote in parts, each with all rows of its items.

    Rows of an item must lie together. Cells of CSV are text, and of JSONL but for the numbers of a
    long table. No error knows a place.
    """
    import polars as pl

    rest: pl.DataFrame | None = None
    for path in paths:
        for frame in _read_frames(path):
            # the rows of the last item wait for the next frame
            rest = frame if rest is None else pl.concat([rest, frame])
            items = rest["item"]
            is_other = items.ne_missing(items[-1]).reverse()
            if n_last := is_other.arg_max() if is_other.any() else 0:
                yield rest[:-n_last]
                rest = rest[-n_last:]
    if rest is not None:
        yield rest


def _read_frames(path: Path) -> Iterator[pl.DataFrame]:
    import polars as pl

    columns = columns_of_file(path)
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String)
    written_as = verdict_format(path)
    if written_as == "jsonl":
        if "question" in columns:
            # a row may say that it is negated where the first one does not
            schema |= {"probability": pl.Float64, "threshold": pl.Float64, "negated": pl.String}
        with path.open("rb") as file:  # block by block: a scan would keep the whole file mapped
            while block := file.read(_BLOCK_BYTES) + file.readline():
                yield pl.read_ndjson(block, schema=schema)
        return
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        if written_as == "csv":
            scanned = pl.scan_csv(path, schema=schema, glob=False)
            path = Path(folder) / "verdicts.parquet"
            scanned.sink_parquet(path, maintain_order=True)
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        start, n_rows = 0, _MOST_ROWS if "question" in columns else _MOST_ITEMS
        while (frame := table.slice(start, n_rows).collect()).height:
            yield frame
            start += frame.height
