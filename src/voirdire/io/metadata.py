"""What is known about the items beside their labels: one row per item, a column per property."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, place
from voirdire.io.rows import open_frame, open_table
from voirdire.io.values import first_of_each_sort, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.declared import FileFormat
    from voirdire.io.files import Source
    from voirdire.io.rows import Column, Table

__all__ = ["metadata_from_frame", "read_metadata"]

ITEM = "item"
_MAX_NAMES_SHOWN = 20
_NUMBER = r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$"
"""No leading zeros: 007 is a name."""
_NO_NUMBER = ("nan", "na", "n/a", "null", "none")


def read_metadata(
    source: Source,
    *,
    item: str | None = None,
    columns: Sequence[str] | None = None,
    format: FileFormat | None = None,  # noqa: A002  # the word people use for it
) -> pl.DataFrame:
    r"""Read what is known about items from a file.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file.
    item : str, optional
        The column with the items' ids; by default `item`, or else `id`.
    columns : sequence of str, optional
        The other columns to read; by default all.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "xlsx"}, optional
        How the file is written; by default the ending of its name says, JSONL for a stream. A
        JSON file is a list of objects, or an object of objects by item.

    Returns
    -------
    polars.DataFrame
        A column `item` (String), each item once in order of appearance, and the others: Float64
        where all values are numbers, Boolean where all are truth values, otherwise String, with
        lists and objects as JSON. Blank text is null, and so is nan.

    Raises
    ------
    NoDataError
        If the file is empty or has no rows.
    InputError
        If the file cannot be read, lacks a column, has a row without an item, or gives an item
        two different values of a column; the message names the file and the line.

    Notes
    -----
    An item may have several rows, as in a file of annotations: a value that is missing in one row
    is taken from another. In CSV and TSV a column of numbers is a column of numbers, unless one
    has a leading zero; in other formats text stays text.

    Examples
    --------
    >>> import io
    >>> text = "id,source,length\n1,web,120\n2,chat,80\n2,,80\n"
    >>> read_metadata(io.BytesIO(text.encode()), format="csv").rows()
    [('1', 'web', 120.0), ('2', 'chat', 80.0)]
    """
    file = DataFile(source, format=format, held="item")
    is_text = file.format in ("csv", "tsv", "xlsx")
    table = open_table(file, id_column=item or ITEM)
    return _frame(table, item=item, columns=columns, untyped=is_text)


def metadata_from_frame(
    frame: Any,
    *,
    item: str | None = None,
    columns: Sequence[str] | None = None,
    source_name: str = "metadata",
) -> pl.DataFrame:
    """Take what is known about items from a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        One row per item. The index of a pandas frame is not a column.
    item, columns
        As for `read_metadata`.
    source_name : str, optional
        What errors call the frame.

    Returns
    -------
    polars.DataFrame
        As `read_metadata` gives it.

    Raises
    ------
    NoDataError
        If the frame has no rows.
    InputError
        As for `read_metadata`; also if `frame` is not a data frame, or a lazy one.

    Examples
    --------
    >>> import polars as pl
    >>> metadata_from_frame(pl.DataFrame({"id": [1, 2], "source": ["web", "chat"]})).rows()
    [('1', 'web'), ('2', 'chat')]
    """
    return _frame(open_frame(frame, source_name), item=item, columns=columns)


def _frame(
    table: Table, *, item: str | None, columns: Sequence[str] | None, untyped: bool = False
) -> pl.DataFrame:
    """Load, type and merge the columns; inside they go by number, for names may be patterns."""
    key = _item_column(table, item)
    names = _other_columns(table, key, columns)
    rows = table.load([key, *names])
    if rows.lines.is_empty():
        message = f"{table.source}: must hold at least one item, got no rows. Add some."
        raise NoDataError(message)
    items = _blank_to_null(texts(rows.columns[key], source=table.source))
    if items.null_count():
        line = rows.lines[items.is_null().arg_max() or 0]
        where = place(table.source, line=line, column=shorten(key))
        message = f"{where} must name an item, got nothing. Fill it, or take the row out."
        raise InputError(message)
    typed = [_typed(rows.columns[name], source=table.source, untyped=untyped) for name in names]
    frame = pl.DataFrame(
        {ITEM: items, "line": rows.lines} | {f"{n}": x for n, x in enumerate(typed)}
    )
    merged = _merged(frame, names=names, source=table.source)
    return pl.DataFrame({ITEM: merged[ITEM]} | {x: merged[f"{n}"] for n, x in enumerate(names)})


def _item_column(table: Table, item: str | None) -> str:
    wanted = (ITEM, "id") if item is None else (item,)
    known = next((name for name in wanted if name in table.columns), None)
    if known is None:
        _refuse_column(table, wanted[0])
    return known


def _other_columns(table: Table, key: str, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        chosen = [name for name in table.columns if name != key and not _is_unnamed(name)]
    else:
        chosen = [name for name in dict.fromkeys(columns) if name != key]
    for name in chosen:
        if name not in table.columns:
            _refuse_column(table, name)
        if name == ITEM:
            message = (
                f"{table.source}: column `{ITEM}` must hold the items where it exists, "
                f"got {shorten(key)!r} for them. Rename one of the two, or leave it out."
            )
            raise InputError(message)
        if not _is_writable(name):
            message = (
                f"{table.source}: columns must have names of Unicode text, got "
                f"{shorten(ascii(name))}. Write the character itself."
            )
            raise InputError(message)
    return chosen


def _is_unnamed(column: str) -> bool:
    """Tell the index column that pandas writes and reads without a name."""
    return not column.strip() or column.startswith("Unnamed: ")


def _is_writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_column(table: Table, name: str) -> NoReturn:
    shown = ", ".join(shorten(repr(column)) for column in table.columns[:_MAX_NAMES_SHOWN])
    more = len(table.columns) - _MAX_NAMES_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    message = (
        f"{table.source}: column `{shorten(name)}` must exist, got columns "
        f"{shown or 'of no name'}{rest}. Name one of these."
    )
    raise InputError(message)


def _typed(column: Column, *, source: str, untyped: bool) -> pl.Series:
    sorts = {sort for sort, _ in first_of_each_sort(column)}
    if sorts == {"number"}:
        return numbers(column)
    if sorts == {"truth"}:
        return pl.Series(column, dtype=pl.Boolean)
    text = _blank_to_null(texts(column, source=source))
    return _number_column(text) if untyped else text


def _number_column(text: pl.Series) -> pl.Series:
    """Numbers where every cell of a delimited file is one, or says that there is none."""
    frame = text.alias("x").to_frame().with_columns(x=pl.col("x").str.strip_chars())
    absent = pl.col("x").str.to_lowercase().is_in(_NO_NUMBER)
    found = frame.select(
        is_number=pl.col("x").str.contains(_NUMBER), is_absent=absent, x=pl.col("x")
    )
    if not found["is_number"].any() or not (found["is_number"] | found["is_absent"]).all():
        return text
    values = found.select(
        pl.when(pl.col("is_number")).then(pl.col("x")).cast(pl.Float64, strict=False)
    ).to_series()
    return text if values.is_infinite().any() else values


def _blank_to_null(text: pl.Series) -> pl.Series:
    frame = text.alias("x").to_frame()
    return frame.select(pl.when(pl.col("x").str.strip_chars() != "").then(pl.col("x"))).to_series()


def _merged(frame: pl.DataFrame, *, names: Sequence[str], source: str) -> pl.DataFrame:
    """Put the rows of an item together, if they do not contradict each other."""
    if frame[ITEM].n_unique() == frame.height:
        return frame
    numbered = [f"{number}" for number in range(len(names))]
    for number in numbered:
        _check_agreement(frame, number, name=names[int(number)], source=source)
    first = [pl.col(number).drop_nulls().first() for number in numbered]
    return frame.group_by(ITEM, maintain_order=True).agg(first)


def _check_agreement(frame: pl.DataFrame, number: str, *, name: str, source: str) -> None:
    known = frame.select(ITEM, "line", value=pl.col(number)).drop_nulls("value")
    firsts = known.unique(ITEM, keep="first", maintain_order=True)
    strange = known.join(firsts, on=ITEM, maintain_order="left").filter(
        pl.col("value") != pl.col("value_right")
    )
    if strange.is_empty():
        return
    row = strange.row(0, named=True)
    value, earlier = (shorten(repr(row[key])) for key in ("value", "value_right"))
    message = (
        f"{place(source, line=row['line'], column=shorten(name))} must be one value per item, got "
        f"{value} after {earlier} in line {row['line_right']} for item {shorten(row[ITEM])!r}. "
        "Keep one of them."
    )
    raise InputError(message)
