"""Turns results into tables, a row for each entry of a list in their JSON, and prints them."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl


class Tabular:
    """A result with a list that is its table: `rows` is the key of that list in its JSON."""

    _rows: ClassVar[str]

    def __init_subclass__(cls, *, rows: str, **about: Any) -> None:
        """Keep which list it is."""
        super().__init_subclass__(**about)
        cls._rows = rows

    def __str__(self) -> str:
        """Write what a terminal prints: the one layout of results, loaded when it is used."""
        return str(import_module("voirdire.reporting").ResultTables(self))

    def _repr_html_(self) -> str:
        """Show the same in a notebook; every name is escaped."""
        return f"<pre>{escape(str(self))}</pre>"

    def frame(self, rows: str | None = None) -> pl.DataFrame:
        """Return a list of this result as a table, with the figures of its JSON.

        Parameters
        ----------
        rows : str, optional
            The key of the list in the JSON, or of one within it, as ``"examinations.annotators"``.
            By default the main one, which `--csv` prints too.

        Returns
        -------
        polars.DataFrame
            A row for each entry. A figure within a record is named by its way there, as
            ``worst_case.n_failures``; settings and other lists are left out; undefined is null.

        Raises
        ------
        InputError
            If the JSON has no such list.
        """
        from voirdire.records.plain import as_plain, without_nan

        plain = self.as_dict() if hasattr(self, "as_dict") else as_plain(self)
        return as_table(without_nan(plain), rows or self._rows)


def as_table(plain: dict[str, Any], rows: str | None = None) -> pl.DataFrame:
    """Make a table of a list of objects in JSON, by default the first; without any, a row."""
    import polars as pl

    if rows is None:
        lists = {key: x for key, x in plain.items() if isinstance(x, list)}
        rows = next((key for key, x in lists.items() if x and isinstance(x[0], dict)), "")
    key, _, inner = rows.partition(".")
    made = [row for each in _entries(plain, key) for row in _row_of_each(each, inner)]
    frame = pl.DataFrame(made, infer_schema_length=None, strict=False)
    empty = (name for name, kind in frame.schema.items() if kind == pl.Null)  # no record there
    return frame.drop(x for x in empty if any(y.startswith(f"{x}.") for y in frame.columns))


def _row_of_each(entry: dict[str, Any], rows: str) -> Iterator[dict[str, Any]]:
    """Make a row of an entry, or one of each entry of a list within it."""
    row = dict(_cells(entry, ""))
    if not rows:
        yield row
        return
    key, _, inner = rows.partition(".")
    for each in _entries(entry, key):
        for cells in _row_of_each(each, inner):
            yield row | {f"{key}.{name}": cell for name, cell in cells.items()}


def _entries(plain: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """List the entries under a key; those of an object have their names as `name`."""
    entries = plain.get(key) if key else [plain]
    if isinstance(entries, dict):
        entries = [{"name": name, **each} for name, each in entries.items()]
    if not isinstance(entries, list):
        lists = [name for name, value in plain.items() if isinstance(value, list)]
        msg = f"`rows` must name one of {', '.join(lists)}, got {shorten(repr(key))}."
        raise InputError(msg)
    return entries


def _cells(entry: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, dict) and key != "settings":
            yield from _cells(value, f"{prefix}{key}.")
        elif not isinstance(value, dict | list):
            yield f"{prefix}{key}", value
