"""Finds rows of a table that are no data: titles, comments, a second header, totals.

Spreadsheets and scripts write them around the rows of labels. They are left out, each with its
reason and line; a row that may be either stops the reading, with its line and a way out.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from contextlib import suppress
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.io.files import DataFile, csv_rows, find_delimiter
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_TOTAL_WORDS = (
    r"(?:(?:(?:grand ?|sub)?totals?|sum|average|avg|mean|median|mode|majority|n|count|std|sd|min|"
    r"max|agreement|kappa|alpha|accuracy|percent(?:age)?|[\w ]{0,20}%|overall|all|summe|gesamt\w*|"
    r"insgesamt|mittelwert|durchschnitt|moyenne|totaux|ensemble|promedio|media|most common|modal|"
    r"[合总小共][计和数]|平均[值数分]?|均值|中位数|众数|人数|标准差|"
    r"最[大小]值)(?: ?\([^)]*\))?[ .:：]*)"
)
"""What the first cell says of a row that sums up the columns above it."""

_TOTAL = re.compile(_TOTAL_WORDS, re.I)
_TOTAL_LINE = re.compile(rf'(?:[^,;\t|]*[,;\t|])?"?{_TOTAL_WORDS}(?:$|[",;\t|\r])', re.I)
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?[ \t]*\r?', re.I)
_MOST_TITLES = 10
_MOST_TOTALS = 8
_FEWEST_ROWS = 4
_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 1 << 14
_HEAD_ROWS = 50
_COMMENT, _TITLE, _AGAIN = "comment", "title above the header", "the header again"
_MOST_LINES = 3
_MOST_SHEETS = 20


def note_stray_rows(stray: Sequence[Dropped], *, file: DataFile) -> tuple[str, ...]:
    """Say which rows were left out, where there are any."""
    lines: dict[str, list[str]] = {}
    for row in stray:
        lines.setdefault(row.reason, []).append(str(row.line))
    parts = [
        f"{reason} in line {', '.join(at[:_MOST_LINES])}"
        + (f" and {len(at) - _MOST_LINES:,} more" if len(at) > _MOST_LINES else "")
        for reason, at in lines.items()
    ]
    return (f"{file.name}: left out as no data: {'; '.join(parts)}",) if parts else ()


def _drop(file: DataFile, reason: str, *, line: int, cells: Sequence[str]) -> Dropped:
    value = shorten(", ".join(filter(None, map(str.strip, cells))))
    return Dropped(reason=reason, source=file.name, line=line, value=value)


def name_sheets(sheets: Sequence[str]) -> str:
    """Name the sheets of a workbook, with the way to read another one."""
    names = ", ".join(repr(shorten(name)) for name in sheets[:_MOST_SHEETS])
    return f"The workbook has the sheets {names}: declare sheet={shorten(sheets[:2][-1])!r}."


# The header, and what stands above it -------------------------------------------------------------


def find_header(rows_from: Callable[[int], Sequence[Sequence[str]]], n_rows: int) -> int | None:
    """Find the row of the header: the first with about as many filled cells as the rows below it.

    A later row than the first must hold names that differ and are no numbers, unless one of them is
    `item` or `id`; None where no row is like this.
    """
    is_first = True
    for start in range(min(n_rows, _MOST_TITLES + 1)):
        header, *below = rows_from(start) or [[]]
        names = [cell.strip() for cell in header if cell.strip()]
        if not names:
            continue
        below = [row for row in below if any(map(str.strip, row))] or [header]
        n_fields = median(map(len, below))
        n_filled = median(sum(map(bool, map(str.strip, row))) for row in below)
        is_known = not {"item", "id"}.isdisjoint(x.lstrip("# ").casefold() for x in names)
        is_narrow = (
            names[0].startswith("#")
            or len(names) < n_filled - 1
            or min(len(names), n_fields) < 2 <= max(len(names), n_fields)
        )
        if is_known or not is_narrow:
            are_names = len({*names}) == len(names) and not any(x[0].isdigit() for x in names)
            return start if is_first or is_known or are_names else None
        is_first = False
    return None


# Lines of delimited text --------------------------------------------------------------------------


def blank_stray_lines(data: bytes, *, file: DataFile) -> tuple[bytes, str, list[Dropped]]:
    """Empty the lines of a delimited file that are no data, so that others keep their numbers.

    Returns the text, what separates its fields, and the rows that were left out.
    """
    head = data[:_HEAD_BYTES].decode(errors="replace").split("\n")[: _MOST_TITLES + _HEAD_ROWS]
    declared = _SEPARATOR_LINE.fullmatch(head[0])

    def delimiter_from(start: int) -> str:
        known = file.delimiter or (declared and declared[1])
        lines = (line.encode() for line in head[start:] if re.search(r"[,;\t|]", line))
        return known or find_delimiter(next(lines, b""))

    def rows_from(start: int) -> list[list[str]]:
        lines = [f"{line}\n" for line in head[start : start + _HEAD_ROWS]]
        with suppress(csv.Error):  # a fault is reported with its line once all is read
            return [] if declared and start == 0 else [*csv_rows(lines, delimiter_from(start))]
        return []

    n_above = find_header(rows_from, len(head))
    if n_above is None:
        filled = (at for at, line in enumerate(head) if line.strip() and (at or not declared))
        n_above = next(filled, 0)
    mark, header = delimiter_from(n_above), head[n_above].rstrip("\r").encode()
    stray: list[tuple[int, int, str]] = []
    at = 0
    for number, line in enumerate(head[:n_above]):
        end = data.index(b"\n", at)
        reason = _COMMENT if line.startswith("#") else _TITLE
        if line.strip():
            stray.append((at, end, "separator line" if declared and not number else reason))
        at = end + 1
    at += len(header)
    stray += _find_lines_below(data, at, header=header, mark=mark, file=file)
    kept, drops = [], []
    at, line_number = 0, 1
    for start, end, reason in stray:
        line_number += data.count(b"\n", at, start)
        kept.append(data[at:start])
        at = end
        cells = data[start:end].decode().split(mark)
        drops.append(_drop(file, reason, line=line_number, cells=cells))
    return b"".join([*kept, data[at:]]) if stray else data, mark, drops


def _find_lines_below(
    data: bytes, start: int, *, header: bytes, mark: str, file: DataFile
) -> list[tuple[int, int, str]]:
    """Find comments, and the header once more, outside of quotes."""
    has_comments = data.find(b"\n#", start) >= 0
    is_again = mark.encode() in header and data.find(b"\n" + header, start) >= 0
    if not (has_comments or is_again):
        return []
    pattern = re.compile(rb"^(?:#.*|%b\r?)$" % re.escape(header), re.M)
    found: list[tuple[int, int, str]] = []
    n_quotes, at = 0, start
    for match in pattern.finditer(data, start):
        n_quotes += data.count(b'"', at, match.start())
        at = match.start()
        if n_quotes % 2 == 0:
            at = match.end()
            is_comment = match[0].startswith(b"#")
            found.append((*match.span(), _COMMENT if is_comment else _AGAIN))
    comments = [(first, end) for first, end, reason in found if reason == _COMMENT]
    if 2 * len(comments) >= data.count(b"\n", start):  # ids of items that begin with it
        return [row for row in found if row[2] != _COMMENT]
    n_fields = header.count(mark.encode()) + 1
    for first, end in comments:
        fields = data[first:end].decode().split(mark)
        if len(fields) == n_fields and any(map(str.strip, fields[1:])):
            line = data.count(b"\n", 0, first) + 1
            raise file.fault(
                f"row must be a comment or an item, got {shorten(mark.join(fields))!r}, which "
                "begins with # and has as many fields as the header. Delete the line, or put its "
                "first cell in quotes if it is an item.",
                line=line,
            )
    return found


def find_stray_rows(
    frame: pl.DataFrame, lines: pl.Series, *, n_above: int, file: DataFile
) -> list[Dropped]:
    """Find titles, comments and the header again in a sheet whose header stands at `n_above`."""
    header = frame.row(n_above)
    first = frame.to_series()
    is_stray = (pl.int_range(len(first), eager=True) < n_above) | (first == header[0])
    found = []
    for at in (is_stray | first.str.starts_with("#")).arg_true():
        row = frame.row(at)
        is_comment = (row[0] or "").startswith("#") and len(row) > 1 and not any(row[1:])
        if at < n_above or is_comment or (row == header and at > n_above):
            reason = _COMMENT if is_comment else _TITLE if at < n_above else _AGAIN
            cells = [cell or "" for cell in row]
            found.append(_drop(file, reason, line=lines[at], cells=cells))
    return found


# Totals -------------------------------------------------------------------------------------------


def set_totals_aside(rows: Iterable[tuple[int, Any, int]], *, source: str) -> Iterator[Any]:
    """Drop rows at the end of a table of texts that hold a word for a total and figures alone."""
    held: deque[tuple[int, Any, int]] = deque()
    for found in rows:
        held.append(found)
        if len(held) > 2 * _MOST_TOTALS:
            yield held.popleft()
    cells_of = [
        [cell.strip() for cell in row.values()] if isinstance(row, dict) else ["", "no row"]
        for _, row, _ in held
    ]
    are_texts = [any(map(str.isalpha, "".join(cells[1:]))) for cells in cells_of]
    are_totals = [
        not text and _TOTAL.fullmatch(x[0]) for text, x in zip(are_texts, cells_of, strict=True)
    ]
    start = len(held) - len(list(takewhile(bool, reversed(are_totals))))
    is_found = start > 0 and all(are_texts[:start])
    for at, (line, row, size) in enumerate(held):
        if is_found and at >= start:
            cells = ", ".join(filter(None, row.values()))
            total = Dropped(reason="total", source=source, line=line, value=shorten(cells))
            yield line, total, size
        else:
            yield line, row, size


def has_total(data: bytes) -> bool:
    """Return whether one of the last lines of a delimited file begins like a total."""
    tail = data[-_TAIL_BYTES:].decode(errors="replace").rstrip().split("\n")[-_MOST_TOTALS:]
    return any(map(_TOTAL_LINE.match, tail))


def find_totals(
    frame: pl.DataFrame, header: Sequence[str], lines: pl.Series, *, file: DataFile
) -> list[Dropped]:
    """Find the rows at the end that hold sums, means or counts of the columns above them.

    The first cell under a name is a word for it, and most of the others are no labels that the rows
    above use, or all are such figures.
    """
    named = (at for at, name in enumerate(header) if name.strip() and "Unnamed: " not in name)
    first = next(named, 0)
    words = [cell or "" for cell in frame.to_series(first).tail(_MOST_TOTALS).reverse()]
    n_named = next(
        (at for at, word in enumerate(words) if not _TOTAL.fullmatch(word.strip())), len(words)
    )
    above = frame[: frame.height - n_named]
    if n_named == 0 or above.height < _FEWEST_ROWS:
        return []
    columns = above.get_columns()[first + 1 :]
    labels = {cell.strip() for column in columns for cell in column.unique() if cell}
    totals: list[Dropped] = []
    for number in range(1, n_named + 1):
        row, line = [cell or "" for cell in frame.row(-number)], lines[-number]
        cells = [(at, cell.strip()) for at, cell in enumerate(row) if at > first and cell.strip()]
        if 2 * sum(cell in labels for _, cell in cells) >= len(cells):
            if above.to_series(first).str.contains(r"\d").mean() in (None, 0):
                break  # words are items here
            if not all(_is_figure(cell, above.to_series(at)) for at, cell in cells):
                raise file.fault(
                    f"row must be an item, got {row[first]!r}, which is a word for a total, and "
                    "labels that others have. Delete the row, or rename the item.",
                    line=line,
                )
        totals.append(_drop(file, "total", line=line, cells=row))
    return totals[::-1]


def _is_figure(cell: str, column: pl.Series) -> bool:
    """Return whether a cell is the sum, mean, median, deviation or count of a column."""
    numbers = column.str.replace(",", ".").cast(pl.Float64, strict=False).drop_nulls()
    text = cell.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return False
    digits = len(text.partition(".")[2])
    known: tuple[Any, ...] = (numbers.sum(), numbers.mean(), numbers.median(), numbers.std())
    return any(
        each is not None and round(each, digits) == value for each in (*known, column.count())
    )
