"""A table as it was found: named columns, and where each row stood."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from voirdire.records import Dropped

__all__ = [
    "Column",
    "RawRows",
    "RawTable",
    "Value",
    "line_numbers",
    "place",
    "text_series",
]

Value: TypeAlias = Any
"""What a decoded cell may hold: text, a number, a truth value, a list, an object, nothing."""

Column: TypeAlias = pl.Series | list[Value]
"""A typed column, or plain Python values where a format lets every cell have its own type."""


@dataclass(frozen=True, kw_only=True)
class RawRows:
    """The loaded columns, all as long as `lines`."""

    columns: Mapping[str, Column]
    lines: pl.Series

    def where(self, keep: pl.Series) -> RawRows:
        """Only the rows for which `keep` is true."""
        chosen = {name: _filtered(column, keep) for name, column in self.columns.items()}
        return RawRows(columns=chosen, lines=self.lines.filter(keep))


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """A table whose columns are loaded once it is known which are needed.

    Attributes
    ----------
    source : str
        What errors and drops call it.
    columns : tuple of str
        The names of its columns.
    load : callable
        Gives the rows of the columns asked for.
    tabular : bool
        False where the shape is fixed and no column has a name that the caller knows.
    dropped : tuple of Dropped
        What the format itself set aside (cancelled annotations, drafts).
    """

    source: str
    columns: tuple[str, ...]
    load: Callable[[Sequence[str]], RawRows]
    tabular: bool = True
    dropped: tuple[Dropped, ...] = field(default=())


def line_numbers(lines: Iterable[int | None]) -> pl.Series:
    """Line numbers in the type that every table keeps them in."""
    return pl.Series("line", lines, dtype=pl.UInt32)


def place(source: str, *, line: int | None = None, column: str | None = None) -> str:
    """Write ``source:line: column `x``` as far as it is known."""
    where = source if line is None else f"{source}:{line}"
    return where if column is None else f"{where}: column `{column}`"


def text_series(values: Sequence[str | None], *, source: str) -> pl.Series:
    """Python text as a column; half a surrogate pair is refused, since no file can hold it."""
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError as error:
        message = (
            f"{source}: text must be Unicode, got half a surrogate pair in "
            f"{shorten(ascii(error.object))}. Write the character itself."
        )
        raise InputError(message) from error


def _filtered(column: Column, keep: pl.Series) -> Column:
    if isinstance(column, pl.Series):
        return column.filter(keep)
    return list(compress(column, keep.to_list()))
