"""Rows gathered from nested JSON, where no column has a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.raw import RawRows, RawTable, line_numbers
from voirdire.io.values import texts
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Sequence

from voirdire.io.raw import Value

__all__ = ["LongRows", "object_in", "objects_in"]


def objects_in(value: Value, *, name: str, source: str) -> list[dict[str, Any]]:
    """Check that a JSON value is a list of objects; nothing at all is an empty list."""
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(element, dict) for element in value):
        return value
    message = (
        f"{source}: `{name}` must be a list of objects, got {shorten(repr(value))}. "
        "Export the file again."
    )
    raise InputError(message)


def object_in(value: Value, *, name: str, source: str) -> dict[str, Any]:
    """Check that a JSON value is an object; nothing at all is an empty one."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    message = f"{source}: `{name}` must be an object, got {shorten(repr(value))}. "
    raise InputError(message + "Export the file again.")


class LongRows:
    """Labels one by one, and what was set aside on the way."""

    def __init__(self, *, source: str) -> None:
        self.source = source
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("question", "item", "rater", "label")
        }
        self._lines: list[int | None] = []
        self._dropped: list[Dropped] = []

    def add(
        self,
        *,
        item: Value,
        rater: Value,
        label: Value,
        question: str,
        line: int | None = None,
    ) -> None:
        """Take a label."""
        row = {"question": question, "item": item, "rater": rater, "label": label}
        for name, value in row.items():
            self._columns[name].append(value)
        self._lines.append(line)

    def set_aside(
        self,
        reason: str,
        *,
        item: Value,
        rater: Value,
        question: Value = None,
        line: int | None = None,
    ) -> None:
        """List something that is not a label."""
        names = texts([item, rater, question], source=self.source).to_list()
        self._dropped.append(
            Dropped(
                reason=reason,
                source=self.source,
                line=line,
                item=names[0],
                rater=names[1],
                question=names[2],
            )
        )

    def table(self) -> RawTable:
        """Give what was gathered as a table in long form under our own names."""

        def load(columns: Sequence[str]) -> RawRows:
            found = {name: self._columns[name] for name in columns}
            return RawRows(columns=dict(found), lines=line_numbers(self._lines))

        return RawTable(
            source=self.source,
            columns=tuple(self._columns),
            load=load,
            tabular=False,
            dropped=tuple(self._dropped),
        )
