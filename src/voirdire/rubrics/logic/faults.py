"""How the errors of class logic are worded: where, what was expected, what stood there."""

from __future__ import annotations

from voirdire._validation import shorten
from voirdire.errors import LogicError

__all__ = ["at", "fault"]


def fault(rule: str, *, where: tuple[str, ...] = (), column: int | None = None) -> LogicError:
    """Make a `LogicError` that says first where it is: ``column 3: expected …, got 'xor'.``."""
    error = LogicError(rule if column is None else f"column {column}: {rule}", column=column)
    return at(error, where) if where else error


def at(error: LogicError, where: tuple[str, ...]) -> LogicError:
    """Give an error that knows its column the place of its expression."""
    place = " > ".join(shorten(part, width=40) for part in where)
    return LogicError(f"{place}: {error}", where=where, column=error.column)
