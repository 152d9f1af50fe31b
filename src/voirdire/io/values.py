"""Codes the values of a column, and writes each value as one text: 3 and 3.0 are ``"3"``.

Labels and names repeat, so each distinct value is read once, from text of a CSV, a typed column,
JSON, or Python's own types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import msgspec
import numpy as np
import polars as pl

from voirdire._messages import list_names, shorten
from voirdire.errors import InputError
from voirdire.io.rows import text_series
from voirdire.io.stray_rows import name_sheets
from voirdire.records import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.io.rows import Column, Table

Sort: TypeAlias = Literal["text", "number", "truth", "list", "object"]
"""Sorts of cells; whole numbers and fractions are one sort."""

_MAX_WHOLE = 9e18
"""Beyond this a float is not an exact integer."""

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
_MOST_NAMES = 20
_NESTED = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Null)


@dataclass(frozen=True)
class CodedColumn:
    """A column as its distinct values, in order of appearance, and their codes; -1 is None."""

    values: list[Any]
    codes: NDArray[np.int32]

    def where(self, kept: NDArray[np.bool_]) -> CodedColumn:
        """Return some rows; unused values are kept."""
        return CodedColumn(self.values, self.codes[kept])

    @cached_property
    def used_codes(self) -> list[int]:
        """The codes that rows have, in order of appearance."""
        n_rows = len(self.codes)
        first = np.full(len(self.values) + 1, n_rows)  # the last entry is that of code -1
        first[self.codes[::-1]] = np.arange(n_rows)[::-1]  # the last assignment counts
        order = np.argsort(first[:-1])
        return order[: np.count_nonzero(first[:-1] < n_rows)].tolist()  # type: ignore[no-any-return]

    def used(self) -> list[Any]:
        """List the values that rows have, in order of appearance."""
        return [self.values[code] for code in self.used_codes]

    def first_row(self, code: int) -> int:
        """Find the first row with a value."""
        return int(np.argmax(self.codes == code))

    def value(self, row: int) -> Any:
        """Return the value of a row; None where there is none."""
        code = self.codes[row]
        return None if code < 0 else self.values[code]

    def recode(self, values: Sequence[Any], *, nothing: Any = None) -> CodedColumn:
        """Replace the values; merge equal ones, and code None as -1."""
        known: dict[Any, int] = {}
        place = [
            -1 if value is None else known.setdefault(value, len(known))
            for value in (*values, nothing)
        ]
        return CodedColumn(list(known), np.array(place, np.int32)[self.codes])

    def under(self, other: CodedColumn) -> CodedColumn:
        """Return the values of another column where it has any, else these."""
        moved = np.where(other.codes < 0, self.codes, other.codes + len(self.values))
        return CodedColumn([*self.values, *other.values], moved)

    def series(self, dtype: Any) -> pl.Series:
        """Return the value of every row."""
        values = pl.Series([*self.values, None], dtype=dtype)
        return values.gather(np.where(self.codes < 0, len(self.values), self.codes))

    @staticmethod
    def constant(value: Any, n_rows: int) -> CodedColumn:
        """Make a column of one repeated value."""
        values = [] if value is None else [value]
        return CodedColumn(values, np.full(n_rows, len(values) - 1, np.int32))

    @staticmethod
    def join(parts: Sequence[CodedColumn]) -> CodedColumn:
        """Concatenate columns."""
        merged = code_values([value for part in parts for value in part.values])
        places = np.append(merged.codes, -1)
        starts = np.cumsum([0, *(len(part.values) for part in parts)])
        moved = [
            places[np.where(part.codes < 0, -1, part.codes + start)]
            for part, start in zip(parts, starts, strict=False)
        ]
        return CodedColumn(merged.values, np.concatenate(moved))


def plain_value(raw: Any) -> Any:
    """Turn values of numpy and pandas into Python's; their missing values become None."""
    if raw is None or isinstance(raw, str | bool | int | list | tuple | AbstractSet | Failure):
        return raw
    if isinstance(raw, float):
        return None if math.isnan(raw) else raw
    if type(raw).__name__ in ("NAType", "NaTType"):
        return None
    return plain_value(raw.tolist()) if hasattr(raw, "tolist") else raw


def code_values(column: Column | CodedColumn) -> CodedColumn:
    """Code a column; values of different types stay apart."""
    if isinstance(column, CodedColumn):
        return column
    if isinstance(column, pl.Series):
        if not isinstance(column.dtype, _NESTED):
            return _code_series(column)
        column = column.to_list()
    types = set(map(type, column)) - {type(None)}
    if not types <= {str, int, bool}:
        column = [plain_value(value) for value in column]
    keys = column
    if len(types) > 1 or not types <= {str, int, bool, float}:
        keys = [_key(value) for value in column]
    place = dict.fromkeys(keys)
    place.pop(None, None)
    distinct = list(place)
    place |= zip(distinct, range(len(distinct)), strict=True)
    place[None] = -1
    codes = np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))
    if keys is not column:
        first = dict(zip(reversed(keys), reversed(column), strict=True))
        distinct = [first[key] for key in distinct]
    return CodedColumn(distinct, codes)


def _code_series(column: pl.Series) -> CodedColumn:
    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    elif not column.dtype.is_numeric() and column.dtype != pl.Boolean:
        column = column.cast(pl.String)
    distinct = column.drop_nulls().unique(maintain_order=True)
    if len(distinct) == len(column):  # ids of a wide table
        return CodedColumn(distinct.to_list(), np.arange(len(distinct), dtype=np.int32))
    places = pl.int_range(len(distinct), dtype=pl.Int32, eager=True)
    codes = column.replace_strict(distinct, places, default=-1, return_dtype=pl.Int32)
    return CodedColumn(distinct.to_list(), codes.to_numpy())


def _key(value: Any) -> Any:
    """Return a hashable key that keeps values of different types apart."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if isinstance(value, AbstractSet):
        return frozenset(value), "set"
    if isinstance(value, Failure):
        return value.reason, "failure"
    return (value, kind) if isinstance(value, int | float) else (repr(value), kind)


def format_name(value: Any) -> str | None:
    """Write a value as text: 3, 3.0 and "3.0" are "3", but "1.10" stays; blank text is None."""
    if isinstance(value, str):
        whole = _WHOLE.fullmatch(value)
        return whole[1] if whole else value if value and not value.isspace() else None
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        is_whole = value.is_integer() and abs(value) < _MAX_WHOLE
        return str(int(value)) if is_whole else str(value).replace("e-0", "e-")
    if isinstance(value, AbstractSet):
        value = sorted(value, key=str)
    if isinstance(value, list | dict | tuple):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)


def code_names(column: Column | CodedColumn, *, source: str) -> CodedColumn:
    """Code a column of names: as text, blanks as None."""
    coded = code_values(column)
    names: list[Any] = coded.values
    is_text = set(map(type, names)) <= {str} and all(map(str.strip, names))
    if not is_text or ".0" in "\n".join(names):
        names = [format_name(value) for value in names]
    text_series(names, source=source)  # lone surrogates are refused
    return coded if names == coded.values else coded.recode(names)


def texts(column: Column, *, source: str) -> pl.Series:
    """Convert any column to text, blank text to null, lists and objects to JSON."""
    if isinstance(column, pl.Series) and (column.dtype == pl.String or column.dtype.is_integer()):
        text = column.cast(pl.String)
        if text.str.contains(".0", literal=True).any():
            text = text.str.replace(f"^{_WHOLE.pattern}$", "$1")
        return text.set(text.str.strip_chars() == "", None)
    return code_names(column, source=source).series(pl.String)


def numbers(column: Column) -> pl.Series:
    """Return a column of numbers as Float64; nan becomes null, too large numbers infinite."""
    if isinstance(column, list):
        column = pl.Series([_as_float(value) for value in column], dtype=pl.Float64)
    return column.cast(pl.Float64).fill_nan(None)


def _as_float(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return math.inf


def detect_sort(value: Any) -> Sort:
    """Return the sort of a value."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, AbstractSet | list | tuple):
        nested = any(isinstance(each, AbstractSet | list | tuple | dict) for each in value)
        return "object" if nested else "list"
    return "object"


def sorts_in(column: Column) -> set[Sort]:
    """Return the sorts of the values that a column holds."""
    if isinstance(column, pl.Series):
        column = numbers(column) if column.dtype.is_decimal() else column
        column = column.drop_nulls().head(1).to_list()
    kinds = dict(zip(map(type, column), column, strict=True))
    return {detect_sort(value) for value in kinds.values() if value is not None}


def is_unnamed(column: str) -> bool:
    """Return whether a column is the index that pandas writes without a name."""
    return not column.strip() or column.startswith("Unnamed: ")


def refuse_column(table: Table, name: str, *, way_out: str) -> NoReturn:
    """Refuse a table that lacks a column."""
    shown = list_names([shorten(repr(column)) for column in table.columns], most=_MOST_NAMES)
    if table.sheets:
        way_out = name_sheets(table.sheets)
    raise InputError(
        f"{table.source}: column `{shorten(name)}` must exist, got columns {shown}. {way_out}"
    )
