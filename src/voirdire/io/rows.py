"""Reads the rows of any file, stream or frame, each with its place.

`open_table` returns a whole table by columns, for labels, metadata and verdicts; `stream_rows`
yields one row after another in bounded memory, for items and comparisons.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import accumulate, chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io.files import (
    FORMATS_BY_SUFFIX,
    MAX_COLUMNS,
    DataFile,
    check_header,
    decode_windows_1252,
    find_delimiter,
    is_unicode,
    json_lines,
    numbered_lines,
    plain_value,
    read_document,
    split_records,
)
from voirdire.io.stray_rows import (
    blank_stray_lines,
    find_header,
    find_stray_rows,
    find_totals,
    has_total,
    name_sheets,
    note_stray_rows,
    set_totals_aside,
)
from voirdire.records import Dropped

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray

Column: TypeAlias = pl.Series | list[Any]
"""A typed column, or plain Python values where each cell may have its own type: text, a number, a
truth value, a list, an object, or None."""

FoundRows: TypeAlias = Iterator[tuple[int, Any, int]]
"""Line (or row), its content (a `Dropped` where it cannot be read), and its size in bytes."""

HeaderCheck: TypeAlias = Callable[[Sequence[str]], None]

BROKEN_PARQUET = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Errors of polars for a damaged file; a panic is not an `Exception`."""

_SLICE_BYTES = 1 << 24
_MAX_LINE_BYTES = 1 << 28
_MIN_ROWS, _MAX_ROWS = 64, 1 << 17
_MAX_GROWTH = 16  # later rows may be longer than the first ones
_STEP = 1_024
_SAMPLE_BYTES = 1 << 22
_HEAD_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The loaded columns, all as long as `lines`."""

    columns: Mapping[str, Column]
    lines: pl.Series

    def take(self, places: list[int]) -> Rows:
        """Return the rows at these places, from 0."""
        chosen = {
            name: [cells[at] for at in places] if isinstance(cells, list) else cells.gather(places)
            for name, cells in self.columns.items()
        }
        return Rows(columns=chosen, lines=self.lines.gather(places))


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose columns are loaded when they are needed.

    Attributes
    ----------
    source : str
        Its name in errors and drops.
    columns : tuple of str
        The names of its columns.
    load : callable
        Loads the given columns.
    tabular : bool
        False where the format has a fixed shape and no column names.
    dropped : tuple of Dropped
        Rows that the format marks as cancelled or drafts.
    blank_is_null : bool
        Whether an empty cell means null, as in CSV.
    notes : tuple of str
        Notes about the reading of the file, one sentence each.
    sheets : tuple of str
        The sheets of its workbook, where there are several and none was declared.
    """

    source: str
    columns: tuple[str, ...]
    load: Callable[[Sequence[str]], Rows]
    tabular: bool = True
    dropped: tuple[Dropped, ...] = ()
    blank_is_null: bool = False
    notes: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()

    @staticmethod
    def of(columns: Mapping[str, Column], lines: pl.Series, **about: Any) -> Table:
        """Make a table of columns in memory."""

        def load(names: Sequence[str]) -> Rows:
            return Rows(columns={name: columns[name] for name in names}, lines=lines)

        return Table(columns=tuple(columns), load=load, **about)

    def change(
        self,
        columns: Mapping[str, Column],
        *,
        places: list[int] | None = None,
        notes: Sequence[str] = (),
    ) -> Table:
        """Return the table of the rows at some places, with further or other columns."""

        def load(names: Sequence[str]) -> Rows:
            others = [name for name in names if name not in columns]
            rows = self.load(others or self.columns[:1])
            rows = rows if places is None else rows.take(places)
            own = {x: columns[x] if x in columns else rows.columns[x] for x in names}
            return Rows(columns=own, lines=rows.lines)

        more = tuple(name for name in columns if name not in self.columns)
        return replace(self, columns=(*more, *self.columns), load=load, notes=(*self.notes, *notes))


def open_table(file: DataFile, *, id_column: str = "item") -> Table:
    """Open a file as a table.

    Parameters
    ----------
    file : DataFile
        Cells of CSV and of workbooks are text, and blank rows of theirs are passed over. CSV that
        is neither UTF-8 nor UTF-16 is taken for Windows-1252, which `notes` then say.
    id_column : str, optional
        Where the keys go of a JSON object that holds rows by their ids.

    Returns
    -------
    Table
        Its columns, none of them loaded yet.
    """
    _check_format(file)
    if file.format in ("csv", "tsv"):
        return _open_delimited(file)
    if file.format == "parquet":
        return _open_parquet(file)
    if file.format == "xlsx":
        return _open_workbook(file)
    if file.format == "jsonl":
        return table_of_objects(*read_objects(file), source=file.name)
    rows = list(_rows_of_document(read_document(file), file=file, id_column=id_column))
    for number, row in enumerate(rows, start=1):
        _check_object(row, file=file, line=number)
    if not rows:
        raise file.no_data("no rows")
    return table_of_objects(rows, range(1, len(rows) + 1), source=file.name)


def stream_rows(
    file: DataFile,
    *,
    check_header: HeaderCheck,
    is_row: Callable[[dict[str, Any]], bool],
    id_column: str = "id",
) -> FoundRows:
    """Read rows in bounded memory; only JSON documents and workbooks are held as a whole.

    Parameters
    ----------
    file : DataFile
        Its text must be UTF-8 or UTF-16 unless another encoding is declared.
    check_header : callable
        Refuses a table that lacks a column.
    is_row : callable
        Tells by its keys whether a whole JSON document is one row.
    id_column : str, optional
        Where the keys go of a JSON object that holds rows by their ids.

    Returns
    -------
    iterator of (int, value, int)
        The line (or row), what stands there (a `Dropped` where it cannot be read), and its bytes.
    """
    _check_format(file)
    if file.format == "jsonl":
        return json_lines(file)
    if file.format == "json":
        document = read_document(file)
        rows: Iterable[Any] = [document]
        if not (isinstance(document, dict) and is_row(document)):
            rows = _rows_of_document(document, file=file, id_column=id_column)
        return read_given_rows(rows, source=file.name)
    if file.format == "parquet":
        return _parquet_rows(file, check_header)
    if file.format == "xlsx":
        table = _open_workbook(file)
        check_header(table.columns)
        return chain(((row.line or 0, row, 0) for row in table.dropped), table_rows(table))
    return set_totals_aside(_delimited_rows(file, check_header), source=file.name)


def _check_format(file: DataFile) -> None:
    known = dict.fromkeys(FORMATS_BY_SUFFIX.values())
    if file.format not in known:
        listed = ", ".join(map(repr, known))
        raise InputError(f"`format` must be one of {listed}, got {file.format!r}.")


def line_numbers(lines: Iterable[int | None]) -> pl.Series:
    """Convert line numbers to the type of tables."""
    return pl.Series("line", lines, dtype=pl.UInt32)


def row_numbers(height: int) -> pl.Series:
    """Return 1-based row numbers, for tables without lines."""
    return pl.int_range(1, height + 1, dtype=pl.UInt32, eager=True).alias("line")


def text_series(values: Sequence[str | None], *, source: str) -> pl.Series:
    """Make a column of Python text; refuse lone surrogates, which no file can hold."""
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError as error:
        message = (
            f"{source}: text must be Unicode, got half a surrogate pair in "
            f"{shorten(ascii(error.object))}. Write the character itself."
        )
        raise InputError(message) from error


def _rows_of_frame(
    frame: pl.DataFrame, names: Sequence[str], *, lines: pl.Series | None = None
) -> Rows:
    """Return the columns of a frame, in the order of `names`."""
    # all with the same name: polars takes names such as * for patterns
    cells = zip(names, frame.get_columns(), strict=True)
    columns = {name: values.alias("values") for name, values in cells}
    return Rows(columns=columns, lines=row_numbers(frame.height) if lines is None else lines)


# Delimited text -------------------------------------------------------------------------------


def _open_delimited(file: DataFile) -> Table:
    """Parse with polars; count lines and fields first, since polars does not."""
    data = file.read()
    file.check_kind(data)
    latin = None if file.encoding else decode_windows_1252(data)
    notes: tuple[str, ...] = ()
    if latin is None:
        data = file.join(file.decode(_slices(data)))
    else:
        data = latin.encode()
        rule = f"{file.name} was read as Windows-1252, since it is not UTF-8"
        notes = (f"{rule}; declare another encoding if letters look wrong",)
    data, mark, stray = blank_stray_lines(data, file=file)
    body = data.lstrip(b"\r\n")
    first = data.count(b"\n", 0, len(data) - len(body)) + 1
    header, lines, n_fields = _scan_records(body, delimiter=mark, file=file, first=first)
    width = len(header)
    while len(header) > 1 and not header[-1].strip():
        header.pop()
    check_header(header, file=file, line=first)

    def parse(positions: Sequence[int]) -> tuple[pl.DataFrame, pl.Series]:
        frame = _parse_csv(body, mark, positions, n_fields=n_fields, width=width, file=file)
        is_filled = n_fields[1:] > 0
        return frame.filter(pl.Series(is_filled)), line_numbers(lines[1:][is_filled])

    if has_total(body):
        frame, numbers = parse(range(width))
        totals = find_totals(frame, header, numbers, file=file)
        n_fields[np.isin(lines, [row.line or 0 for row in totals])] = 0
        stray += totals
    ragged = {*lines[(n_fields > 0) & (n_fields != width)].tolist()}
    found = numbered_lines(_slices(body), first=first) if ragged else ()
    for line, fields, _ in split_records(found, delimiter=mark, file=file):
        # cells without a name may be there or not, as long as they are empty
        n_named = len(header)
        if line in ragged and (len(fields) < n_named or any(map(str.strip, fields[n_named:]))):
            is_header = line == lines[1] and len({*fields}) == len(fields) > width
            lacks_name = (n_fields[1:][n_fields[1:] > 0] == width + 1).all()
            way_out = _IS_HEADER if is_header else _LACKS_NAME if lacks_name else _NO_ROW
            raise _ragged_row_error(file, line, way_out, n_wanted=width, n_found=len(fields))
    notes += note_stray_rows(stray, file=file)
    if width > len(header):
        notes += (f"{file.name}: its last columns have no name and were left out",)

    def load(columns: Sequence[str]) -> Rows:
        positions = sorted(header.index(column) for column in columns)
        frame, numbers = parse(positions)
        return _rows_of_frame(frame, [header[index] for index in positions], lines=numbers)

    return Table(
        source=file.name,
        columns=tuple(header),
        load=load,
        blank_is_null=True,
        dropped=tuple(stray),
        notes=notes,
    )


def _parse_csv(
    data: bytes,
    delimiter: str,
    positions: Sequence[int],
    *,
    n_fields: NDArray[np.int64],
    width: int,
    file: DataFile,
) -> pl.DataFrame:
    """Parse columns below the header, by position instead of name, since polars renames some."""
    schema = {f"{index}": pl.String for index in range(width)}
    found = ""
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=delimiter,
            schema=schema,
            columns=positions,
            truncate_ragged_lines=bool((n_fields > width).any()),
        )[1:]
        if frame.height != len(n_fields) - 1:
            found = f"{frame.height} rows where {len(n_fields) - 1} start"
    except pl.exceptions.PolarsError as error:
        found = str(error).partition("\n")[0]
    if found:
        rule = f"must be a well-formed delimited file, got {found}. "
        raise file.fault(rule + "Write it again with a CSV writer.")
    return frame


def _slices(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _SLICE_BYTES] for start in range(0, len(data), _SLICE_BYTES))


def _scan_records(
    data: bytes, *, delimiter: str, file: DataFile, first: int
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return the header, and first line and number of fields of every record; a blank one has 0."""
    if b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
        lines = numbered_lines(_slices(data), first=first)
        header: list[str] = []
        records = []
        for line, fields, _ in split_records(lines, delimiter=delimiter, file=file):
            header = header or fields
            records.append((line, len(fields)))
        return header, *np.array(records, dtype=np.int64).T
    buffer = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(buffer == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.append(0, ends[:-1] + 1)
    if (ends - starts).max() > _MAX_LINE_BYTES:
        rule = f"row must be at most {_MAX_LINE_BYTES >> 20} MiB, got more. Shorten it."
        raise file.fault(rule, line=first + int(np.argmax(ends - starts)))
    marks = np.flatnonzero(buffer == ord(delimiter))
    n_fields = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
    is_return = (ends - starts == 1) & (buffer[starts] == ord("\r"))
    n_fields[(ends == starts) | is_return] = 0
    header = data[: ends[0]].decode().removesuffix("\r").split(delimiter)
    return header, np.arange(first, first + len(ends)), n_fields


def _delimited_rows(file: DataFile, check: HeaderCheck) -> FoundRows:
    """Yield one row per record, with text cells; lines of the first block may be no data.

    Stop at an error, since later rows may be wrong.
    """
    blocks = file.decode(file.blocks())
    first = next(blocks, b"")
    cut = first.rfind(b"\n") + 1
    head, mark = first[:cut], file.delimiter
    if head.strip():
        head, mark, stray = blank_stray_lines(head, file=file)
        yield from ((row.line or 0, row, 0) for row in stray)
    lines = numbered_lines(chain([head, first[cut:]], blocks))
    start = next((found for found in lines if found[1] is None or found[1].strip(b"\r")), None)
    if start is None:
        raise file.no_data("no lines")
    mark = mark or find_delimiter(start[1] or b"")
    header: list[str] = []
    for line, fields, size in split_records(chain([start], lines), delimiter=mark, file=file):
        if not header:
            header = fields
            check_header(header, file=file, line=line)
            check(header)
        elif fields == header:  # of another file that was put behind the first
            yield line, Dropped(reason="the header again", source=file.name, line=line), size
        elif len(fields) == len(header):
            yield line, dict(zip(header, fields, strict=True)), size
        elif fields:
            raise _ragged_row_error(file, line, _NO_ROW, n_wanted=len(header), n_found=len(fields))


_NO_ROW = "Quote a field that holds the separator, or delete the line if it is no row."
_IS_HEADER = "If it is the header, delete the lines above it; else quote such a field."
_LACKS_NAME = "All rows have one more than the header: write the name that it lacks, such as item."


def _ragged_row_error(
    file: DataFile, line: int, way_out: str, *, n_wanted: int, n_found: int
) -> InputError:
    rule = f"row must have {n_wanted} fields like the header, got {n_found}. "
    return file.fault(rule + way_out, line=line)


# Workbooks ------------------------------------------------------------------------------------


def _open_workbook(file: DataFile) -> Table:
    """Read the cells of a sheet as text, so that 3 is not 3.0; number rows as shown."""
    try:
        import fastexcel
    except ImportError as error:
        rule = "a workbook needs fastexcel. Install it with `pip install 'voirdire[xlsx]'`."
        raise file.fault(rule) from error
    data = file.read()
    try:
        sheets = fastexcel.read_excel(data).sheet_names
        if file.sheet is not None and file.sheet not in sheets:
            raise file.fault(f"`sheet` must exist, got {file.sheet!r}. {name_sheets(sheets)}")
        frame = pl.read_excel(
            io.BytesIO(data),
            sheet_name=file.sheet,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
            read_options={"skip_rows": 0},
            raise_if_empty=False,
        )
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError) as error:
        why = str(error).partition("\n")[0]
        raise file.fault(f"must be a workbook, got {why!r}. Save it again as .xlsx.") from error
    blank = frame.select(pl.all().str.strip_chars().fill_null("") == "")
    is_filled = ~blank.select(pl.all_horizontal(pl.all())).to_series()
    frame, lines = frame.filter(is_filled), row_numbers(frame.height).filter(is_filled)
    others = sheets if len(sheets) > 1 and file.sheet is None else []
    if frame.is_empty() and not others:
        raise file.no_data("an empty sheet")
    head = [[cell or "" for cell in row] for row in frame.head(_HEAD_ROWS).iter_rows()] or [[]]
    n_above = find_header(lambda start: head[start:], len(head)) or 0
    header = head[n_above]
    if others and sum(map(bool, header)) < 2:
        found = next(filter(None, header), "")
        rule = f"the first sheet, {sheets[0]!r}, must hold a table, got {shorten(found)!r}."
        raise file.fault(f"{rule} {name_sheets(others)}")
    stray = find_stray_rows(frame, lines, n_above=n_above, file=file)
    is_row = ~lines.is_in([lines[n_above], *(row.line for row in stray)])
    frame, numbers = frame.filter(is_row), lines.filter(is_row)
    stray += find_totals(frame, header, numbers, file=file)
    while len(header) > 1 and not header[-1].strip():
        header.pop()
    check_header(header, file=file, line=lines[n_above])
    is_row = ~numbers.is_in([row.line for row in stray])
    frame = frame.filter(is_row)[:, : len(header)]
    whole = _rows_of_frame(frame, header, lines=numbers.filter(is_row))
    notes = note_stray_rows(stray, file=file)
    if others:
        notes += (f"{file.name}: its first sheet was read. {name_sheets(others)}",)
    return Table.of(
        whole.columns,
        whole.lines,
        source=file.name,
        blank_is_null=True,
        dropped=tuple(stray),
        notes=notes,
        sheets=tuple(others),
    )


# JSON -----------------------------------------------------------------------------------------


def read_objects(file: DataFile) -> tuple[list[dict[str, Any]], list[int]]:
    """Read a whole JSONL file: its objects and the line of each."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for line, row, _ in json_lines(file):
        _check_object(row, file=file, line=line)
        rows.append(row)
        lines.append(line)
    if not rows:
        raise file.no_data("an empty file")
    return rows, lines


def table_of_objects(
    rows: Sequence[dict[str, Any]], lines: Iterable[int | None], *, source: str
) -> Table:
    """Make a table of objects; its columns are the keys of all of them, in order of appearance."""
    names: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
        if len(names) > MAX_COLUMNS:
            raise InputError(
                f"{source}: a table must have at most {MAX_COLUMNS:,} columns, got more. Write a "
                "row for each label."
            )

    def load(columns: Sequence[str]) -> Rows:
        found = {name: [row.get(name) for row in rows] for name in columns}
        return Rows(columns=dict(found), lines=line_numbers(lines))

    return Table(source=source, columns=tuple(names), load=load)


def _check_object(row: Any, *, file: DataFile, line: int) -> None:
    if not isinstance(row, dict):
        rule = f"row must be a JSON object, got {shorten(repr(row))}"
        reason = row.reason if isinstance(row, Dropped) else rule
        raise file.fault(f"{reason}. Correct it.", line=line)


def _rows_of_document(document: Any, *, file: DataFile, id_column: str) -> Iterable[Any]:
    """Return the rows of a list, or of an object that holds them by their ids."""
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        return (
            {**value, id_column: key} if isinstance(value, dict) else [key, value]
            for key, value in document.items()
        )
    rule = "JSON must be a list of objects, or an object of objects by id"
    raise file.fault(f'{rule}, got {shorten(repr(document))}. Write [{{"{id_column}": ...}}].')


def read_given_rows(
    rows: Iterable[Any], *, lines: Iterable[int] | None = None, source: str
) -> FoundRows:
    """Read rows in memory, with NumPy values as Python's."""
    for line, row in zip(count(1) if lines is None else lines, rows, strict=False):
        value = plain_value(row)
        if not is_unicode(value):
            reason = "text must be Unicode, got half a surrogate pair"
            value = Dropped(reason=reason, source=source, line=line)
        yield line, value, 0


def table_rows(table: Table) -> FoundRows:
    """Return the rows of a table, a few at once as Python values."""
    rows = table.load(table.columns)

    def objects() -> Iterator[dict[str, Any]]:
        for start in range(0, len(rows.lines), _STEP):
            parts = [column[start : start + _STEP] for column in rows.columns.values()]
            cells = (part if isinstance(part, list) else part.to_list() for part in parts)
            for values in zip(*cells, strict=True):
                yield dict(zip(rows.columns, values, strict=True))

    return read_given_rows(objects(), lines=rows.lines, source=table.source)


# Parquet --------------------------------------------------------------------------------------


@contextmanager
def explain_broken_parquet(source: str) -> Iterator[None]:
    """Turn what polars raises for a damaged file into our error."""
    try:
        yield
    except BROKEN_PARQUET as error:
        why = str(error).partition("\n")[0]
        message = f"{source}: must be a whole Parquet file, got {why!r}. Write it again."
        raise InputError(message) from error


def _path_or_bytes(file: DataFile) -> Path | bytes:
    """Return the path of a file on disk, else bytes, or raise.

    So polars never gets a path that is not a file, such as an address.
    """
    if isinstance(file.source, str | Path) and file.name != "<stdin>":
        path = Path(file.source)
        if path.is_file() and path.stat().st_size > 0:
            return path
    return file.read()


def _open_parquet(file: DataFile) -> Table:
    """Load only the needed columns."""
    opened = _path_or_bytes(file)
    # Through an open file, since polars takes file names for patterns.
    opening = opened.open("rb") if isinstance(opened, Path) else io.BytesIO(opened)
    with explain_broken_parquet(file.name), opening as stream:
        columns = tuple(pl.read_parquet_schema(stream))

    def load(needed: Sequence[str]) -> Rows:
        # by position: polars takes names such as * for patterns
        places = sorted(columns.index(column) for column in needed)
        with explain_broken_parquet(file.name):
            frame = pl.read_parquet(opened, columns=places, glob=False)
        return _rows_of_frame(frame, [columns[at] for at in places])

    return Table(source=file.name, columns=columns, load=load)


def _parquet_rows(file: DataFile, check: HeaderCheck) -> FoundRows:
    """Yield rows slice by slice.

    A stream is held as a whole, since Parquet is read from its end.
    """
    opened = _path_or_bytes(file)
    rows = file.rows or range(sys.maxsize)
    first = start = rows.start
    n_rows = _MIN_ROWS
    while start < rows.stop:
        with explain_broken_parquet(file.name):
            place = io.BytesIO(opened) if isinstance(opened, bytes) else opened
            scanned = pl.scan_parquet(place, glob=False, hive_partitioning=False)
            if start == first:
                check(scanned.collect_schema().names())
            n_rows = min(n_rows, rows.stop - start)
            frame = scanned.slice(start, n_rows).collect()
        bytes_a_row = max(int(frame.estimated_size() / max(frame.height, 1)), 1)
        names = frame.columns
        # by number: polars takes names such as * for patterns
        frame.columns = [f"{number}" for number in range(len(names))]
        frame = frame.with_columns(cs.float().fill_nan(None))
        for line, values in enumerate(frame.iter_rows(buffer_size=256), start + 1):
            yield line, dict(zip(names, values, strict=True)), bytes_a_row
        if frame.height < n_rows:
            return
        start += n_rows
        wanted = min(_SLICE_BYTES // bytes_a_row, n_rows * _MAX_GROWTH, _MAX_ROWS)
        n_rows = max(wanted, _MIN_ROWS)


# Frames ---------------------------------------------------------------------------------------


def open_frame(frame: Any, source: str) -> Table:
    """Make a table from a data frame of any library, whose columns have unique text names."""
    import narwhals.stable.v2 as nw  # files need none of it

    try:
        known: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        message = (
            f"`frame` must be a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "Collect a lazy frame first."
        )
        raise InputError(message) from error
    except nw.exceptions.DuplicateError as error:
        why = " ".join(str(error).split())
        message = f"{source}: columns must have unique names, got: {why}. Rename one."
        raise InputError(message) from error
    names: tuple[object, ...] = tuple(known.columns)
    others = [name for name in names if not isinstance(name, str)]
    if others:
        message = f"{source}: columns must have names of text, got {others[0]!r}. "
        raise InputError(f"{message}Rename them with `frame.columns = [...]`.")

    def load(needed: Sequence[str]) -> Rows:
        found: dict[str, Column] = {name: _column(known[name]) for name in needed}
        return Rows(columns=found, lines=row_numbers(len(known)))

    return Table(source=source, columns=tuple(known.columns), load=load)


def _column(series: nw.Series[Any]) -> Column:
    """Return a typed column, or plain values where pandas holds Python objects."""
    import narwhals.stable.v2 as nw

    if series.dtype not in (nw.Object, nw.Unknown):
        # without pyarrow, or with text that it refuses
        with suppress(ImportError, TypeError, ValueError):
            return pl.Series(series.to_polars()).alias("values")  # * is a pattern to polars
    absent = series.is_null().to_list()
    return [
        None if gone else plain_value(value)
        for value, gone in zip(series.to_list(), absent, strict=True)
    ]


def estimate_rows(source: str) -> int | None:
    """Estimate how many rows a file has from its first bytes; None where they do not say."""
    path = Path(source)
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
        if suffix not in (".jsonl", ".ndjson", ".csv", ".tsv"):
            return None
        with path.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
        lines = sample.splitlines()
        n_rows = len(lines)
        if suffix in (".csv", ".tsv"):  # a line end between quotes ends no row
            quotes = accumulate(line.count(b'"') for line in lines)
            n_rows = sum(n_quotes % 2 == 0 for n_quotes in quotes) - 1
        return max(round(n_rows * path.stat().st_size / len(sample)), 1) if sample else None
    except Exception:  # noqa: BLE001  # whatever is wrong with it is said where it is read
        return None
