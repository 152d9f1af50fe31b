"""One canonical text per value, whatever type the format gave it: 3 and 3.0 are ``"3"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import polars as pl

from voirdire.io.rows import text_series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.io.rows import Column, Value

__all__ = ["Sort", "first_of_each_sort", "number_text", "numbers", "sort_of_type", "texts"]

Sort: TypeAlias = Literal["text", "number", "truth", "list", "object"]
"""What a cell holds, coarser than a dtype: whole numbers and fractions are one sort."""

_SORTS: dict[type, Sort] = {
    str: "text",
    bool: "truth",
    int: "number",
    float: "number",
    list: "list",
    dict: "object",
}
# Beyond this a float has no exact integer type to pass through.
_MAX_WHOLE = 9e18


def sort_of_type(dtype: pl.DataType) -> Sort | None:
    """Tell the sort of a typed column; None for a column of nulls."""
    if dtype == pl.Null:
        return None
    if dtype == pl.Boolean:
        return "truth"
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, pl.List | pl.Array):
        return "object" if dtype.inner.is_nested() else "list"
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum) or dtype.is_temporal():
        return "text"
    return "object"


def first_of_each_sort(column: Column) -> Iterator[tuple[Sort, int]]:
    """Each sort of value in a column, with the index of the first cell that holds it."""
    if isinstance(column, pl.Series):
        sort = sort_of_type(column.dtype)
        index = column.is_not_null().arg_max()
        if sort is not None and index is not None and column[index] is not None:
            yield sort, index
        return
    kinds = list(map(type, column))
    found: dict[Sort, int] = {}
    for kind in set(kinds) - {type(None)}:
        sort = _SORTS.get(kind, "object")
        found[sort] = min(kinds.index(kind), found.get(sort, len(kinds)))
    yield from found.items()


def number_text(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Numbers as text, whole ones without a fraction; nan becomes null."""
    if dtype.is_integer():
        return value.cast(pl.String)
    value = value.cast(pl.Float64)
    whole = (value == value.floor()) & (value.abs() < _MAX_WHOLE)
    return (
        pl.when(value.is_nan())
        .then(None)
        .when(whole)
        .then(value.cast(pl.Int64, strict=False).cast(pl.String))
        .otherwise(value.cast(pl.String))
    )


def texts(column: Column, *, source: str) -> pl.Series:
    """Any column as text; lists and objects become JSON."""
    if isinstance(column, list):
        return text_series(_value_texts(column), source=source)
    sort = sort_of_type(column.dtype)
    if sort == "number":
        return column.to_frame("x").select(number_text(pl.col("x"), column.dtype)).to_series()
    if sort in ("list", "object"):
        return text_series(_value_texts(column.to_list()), source=source)
    return column.cast(pl.String)


def numbers(column: Column) -> pl.Series:
    """Give a column of numbers as Float64; nan becomes null."""
    if isinstance(column, list):
        column = pl.Series([_as_float(value) for value in column], dtype=pl.Float64)
    return column.cast(pl.Float64).fill_nan(None)


def _as_float(value: Value) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # a whole number beyond every float
        return float("inf")


def _value_texts(values: Sequence[Any]) -> list[str | None]:
    kinds = set(map(type, values))
    if kinds <= {str, type(None)}:
        return list(values)
    floats = list({value for value in values if type(value) is float})
    frame = pl.DataFrame({"x": pl.Series(floats, dtype=pl.Float64)})
    written = frame.select(number_text(pl.col("x"), pl.Float64())).to_series().to_list()
    float_texts = dict(zip(floats, written, strict=True))
    return [_value_text(value, float_texts) for value in values]


def _value_text(value: Value, float_texts: dict[float, str | None]) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_texts.get(value)
    return msgspec.json.encode(value, enc_hook=str).decode()
