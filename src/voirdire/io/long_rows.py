"""Rows gathered from nested JSON, where no column has a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io.raw import RawRows, RawTable, line_numbers, shortened
from voirdire.io.values import texts
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.errors import InputError
from voirdire.io.raw import Value

__all__ = ["LongRows", "object_in", "objects_in"]


def objects_in(value: Value, *, name: str, source: str) -> list[dict[str, Any]]:
    """Check that a JSON value is a list of objects; nothing at all is an empty list."""
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(element, dict) for element in value):
        return value
    message = (
        f"{source}: `{name}` must be a list of objects, got {shortened(repr(value))}. "
        "Export the file again."
    )
    raise InputError(message)


def object_in(value: Value, *, name: str, source: str) -> dict[str, Any]:
    """Check that a JSON value is an object; nothing at all is an empty one."""
    return objects_in([value or {}], name=name, source=source)[0]


class LongRows:
    """Labels one by one, and what was set aside on the way."""

    def __init__(self, *, source: str) -> None:
        self.source = source
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("question", "item", "rater", "label")
        }
        self._lines: list[int | None] = []
        self._dropped: list[dict[str, Any]] = []

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

    def set_aside(self, reason: str, **facts: Value) -> None:
        """List something that is not a label; `facts` are fields of `Dropped`."""
        self._dropped.append({"reason": reason, **facts})

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
            dropped=tuple(_dropped(facts, self.source) for facts in self._dropped),
        )


def _dropped(facts: dict[str, Any], source: str) -> Dropped:
    words = {
        name: _short(value, source) for name, value in facts.items() if name not in _NOT_SHORTENED
    }
    return Dropped(source=source, reason=facts["reason"], line=facts.get("line"), **words)


_NOT_SHORTENED = ("reason", "line")


def _short(value: Value, source: str) -> str | None:
    text = texts([value], source=source)[0]
    return None if text is None else shortened(text)
