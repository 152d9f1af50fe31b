"""What was set aside, by reason: how often, and where the first stood."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DropReason", "Dropped", "drop_reasons"]

_MOST_REASONS = 50
_Line: TypeAlias = Annotated[int, Meta(ge=0, le=10**15)]


class Dropped(Struct, frozen=True, kw_only=True):
    """A label or a row that was set aside."""

    reason: str
    source: str = ""
    line: _Line | None = None
    column: str | None = None
    item: str | None = None
    rater: str | None = None
    question: str | None = None
    value: str | None = None

    def place(self) -> str:
        """Where it stood."""
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return where if self.column is None else f"{where}: {self.column}"


@dataclass(frozen=True, kw_only=True)
class DropReason:
    """Why labels were set aside, how many, and where the first stood."""

    reason: str
    n_rows: int
    first: Dropped


def drop_reasons(dropped: Sequence[Dropped]) -> tuple[list[DropReason], int]:
    """Count what was set aside by reason; also how many other reasons there are."""
    counts = Counter(row.reason for row in dropped)
    first = {row.reason: row for row in reversed(dropped)}
    shown = [
        DropReason(reason=reason, n_rows=count, first=first[reason])
        for reason, count in counts.most_common(_MOST_REASONS)
    ]
    return shown, len(counts) - len(shown)
