"""Why one row is set aside while the others are read on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire._validation import shorten
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FoundRow", "FoundRows", "RowError", "got"]

FoundRow: TypeAlias = tuple[int, dict[str, Any] | Dropped, int]
"""Line (or row), the row itself or why there is none, and how many bytes it took up."""

FoundRows: TypeAlias = "Iterator[FoundRow]"


class RowError(Exception):
    """A row that cannot be an item; never leaves this package.

    Attributes
    ----------
    reason : str
        The rule that it broke, in words.
    column : str or None
        The column or key at fault.
    """

    def __init__(self, reason: str, *, column: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column

    def dropped(self, *, source: str, line: int, item: str | None = None) -> Dropped:
        """Say where it happened."""
        column = None if self.column is None else shorten(self.column)
        return Dropped(reason=self.reason, source=source, line=line, column=column, item=item)


def got(value: object) -> str:
    """Show a value that was refused; text stands in quotes."""
    return repr(shorten(value)) if isinstance(value, str) else shorten(value)
