"""Reads metadata of items: one row per item, one column per property."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.declared import Request
from voirdire.io.files import DataFile, place
from voirdire.io.items import stream_items
from voirdire.io.layouts import name_item
from voirdire.io.pairs import EXCHANGED, exchange_pairs
from voirdire.io.rows import open_frame, open_table
from voirdire.io.values import is_unnamed, numbers, refuse_column, sorts_in, texts
from voirdire.records.items import split_criteria

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.declared import FileFormat
    from voirdire.io.files import Source
    from voirdire.io.rows import Column, Table

ITEM = "item"
_NUMBER = r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$"
"""Numbers without leading zeros: 007 is a name."""
_NO_NUMBER = ("nan", "na", "n/a", "null", "none")


def read_metadata(
    source: Any,
    *,
    item: str | None = None,
    columns: Sequence[str] | None = None,
    format: FileFormat | None = None,  # noqa: A002  # the word people use for it
) -> pl.DataFrame:
    r"""Read metadata of items from a file or a data frame.

    Parameters
    ----------
    source : str, path, binary file or data frame
        A path, ``"-"`` for standard input, or an open binary file; a pandas, polars or pyarrow
        table, of which the index is no column.
    item : str, optional
        The column with the items' ids, or several as ``a,b``; by default `item`, or else `id`.
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
    is_written = False  # as text in every cell
    if isinstance(source, str | Path) or hasattr(source, "read"):
        file = DataFile(source, format=format, held="item")
        is_written = file.format in ("csv", "tsv", "xlsx")
        table = open_table(file, id_column=item or ITEM)
    else:
        table = open_frame(source, "metadata")
    wanted = (ITEM, "id") if item is None else (item,)
    if not {*wanted} & {*table.columns}:  # several columns, as labels have them
        table, _ = name_item(exchange_pairs(table, Request(role="annotator")), item)
    key = next((name for name in wanted if name in table.columns), None)
    if key is None:
        way_out = "Rename the column of the ids to `item` or `id`."
        refuse_column(table, wanted[0], way_out=way_out if item is None else "Correct `item`.")
    names = _other_columns(table, key, columns)
    rows = table.load([key, *names])
    if rows.lines.is_empty():
        message = f"{table.source}: must hold at least one item, got no rows. Add some."
        raise NoDataError(message)
    items = texts(rows.columns[key], source=table.source)
    if items.null_count():
        line = rows.lines[items.is_null().arg_max() or 0]
        where = place(table.source, line=line, column=shorten(key))
        message = f"{where} must name an item, got nothing. Fill it, or take the row out."
        raise InputError(message)
    known: dict[str, pl.Series] = {}
    for name in names:
        values = _parse_column(rows.columns[name], source=table.source, is_written=is_written)
        frame = pl.DataFrame({"item": items, "line": rows.lines, "value": values})
        known[name] = _take_value_per_item(frame, column=name, source=table.source)
    return pl.DataFrame({ITEM: items.unique(maintain_order=True), **known})


def read_criteria_metadata(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Read what is known of the criteria that the items of a file bring, each an item of its own.

    Parameters
    ----------
    source, columns
        As for `read_metadata`.

    Returns
    -------
    tuple of polars.DataFrame and dict
        Metadata as `read_metadata` gives it: `sign` of the points (positive, negative, none), `tag`
        or, of a tag such as ``axis:accuracy``, a column `axis`, and the texts `prompt`, `response`
        and `criterion`; and the cluster of each item, its prompt.

    Raises
    ------
    NoDataError
        If no row brings criteria.
    InputError
        As `stream_items` does.
    """
    rows: list[dict[str, str]] = []
    clusters: dict[str, str] = {}
    for batch in stream_items(source, criteria=True):
        for part in (part for item in batch.items for part in split_criteria(item)):
            [each] = part.criteria
            signs = {0: "none", 1: "positive", -1: "negative"}
            texts_of = {"response": part.response, "criterion": each.text}
            if part.prompt:
                texts_of["prompt"] = part.prompt[-1].content
            named = (tag.partition(":") for tag in each.tags)
            tags = {name if value else "tag": value or name for name, _, value in named}
            sign = signs[(each.points > 0) - (each.points < 0)]
            rows.append(tags | {"item": part.id, "sign": sign} | texts_of)
            clusters[part.id] = part.cluster or part.id
    names = ["item", *dict.fromkeys(name for row in rows for name in row if name != "item")]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), infer_schema_length=None)
    for name in columns or ():
        if name not in frame.columns:
            msg = f"`columns` must be among {', '.join(map(repr, names[1:]))}, got {name!r}."
            raise InputError(msg)
    return frame.select("item", *columns) if columns else frame, clusters


def _other_columns(table: Table, key: str, columns: Sequence[str] | None) -> list[str]:
    given = [name for name in table.columns if not is_unnamed(name) and name != EXCHANGED]
    chosen = [name for name in dict.fromkeys(given if columns is None else columns) if name != key]
    for name in chosen:
        if name not in table.columns:
            refuse_column(table, name, way_out="Name one of these.")
        if name == ITEM:
            raise InputError(
                f"{table.source}: column `{ITEM}` must hold the items where it exists, "
                f"got {shorten(key)!r} for them. Rename one of the two, or leave it out."
            )
    return chosen


def _parse_column(column: Column, *, source: str, is_written: bool) -> pl.Series:
    """Type a column; one of a delimited file is of numbers where every cell is one or missing."""
    sorts = sorts_in(column)
    if sorts == {"number"}:
        return numbers(column)
    if sorts == {"truth"}:
        return pl.Series(column, dtype=pl.Boolean)
    text = texts(column, source=source)
    cells = text.str.strip_chars()
    is_number = cells.str.contains(_NUMBER)
    is_absent = cells.str.to_lowercase().is_in(_NO_NUMBER)
    if not is_written or not is_number.any() or not (is_number | is_absent).all():
        return text
    values = cells.set(~is_number, None).cast(pl.Float64, strict=False)
    return text if values.is_infinite().any() else values


def _take_value_per_item(frame: pl.DataFrame, *, column: str, source: str) -> pl.Series:
    """Return the value of each item; some of its rows may lack it."""
    if frame["item"].is_unique().all():
        return frame["value"]
    known = frame.drop_nulls("value").unique(["item", "value"], keep="first", maintain_order=True)
    again = known.filter(~pl.col("item").is_first_distinct())
    if not again.is_empty():
        row = again.row(0, named=True)
        first = known.filter(pl.col("item") == row["item"]).row(0, named=True)
        value, earlier = (shorten(repr(each["value"])) for each in (row, first))
        raise InputError(
            f"{place(source, line=row['line'], column=shorten(column))} must be one value per "
            f"item, got {value} after {earlier} in line {first['line']} for item "
            f"{shorten(row['item'])!r}. Keep one of them."
        )
    first_value = pl.col("value").drop_nulls().first()
    return frame.group_by("item", maintain_order=True).agg(first_value)["value"]
