"""What reading items gives: batches of them, or all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.io.items.seen_ids import SeenIds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io.items.conversion import Conversion
    from voirdire.io.items.row_errors import FoundRows
    from voirdire.records import Dropped, Item

__all__ = ["ItemBatch", "ItemTable", "batches_of"]

# A batch of long rows ends early, so that memory does not depend on how long they are.
_MAX_BATCH_BYTES = 1 << 25


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemBatch:
    """The items of some rows of a file.

    Attributes
    ----------
    items : list of Item
        In the order of the file. A row may give several, or none.
    dropped : tuple of Dropped
        What of these rows was set aside, with its reason and place.
    n_rows : int
        How many rows these were; blank lines are none.
    """

    items: list[Item]
    dropped: tuple[Dropped, ...] = ()
    n_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemTable:
    """All items of a file.

    Attributes
    ----------
    items : tuple of Item
        In the order of the file.
    dropped : tuple of Dropped
        What was set aside, with its reason and place.
    """

    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...] = ()


def batches_of(rows: FoundRows, *, conversion: Conversion, batch_size: int) -> Iterator[ItemBatch]:
    """Convert rows batch by batch, and see to it that ids are unique and that there are items.

    Raises
    ------
    InputError
        If an id comes twice, or no row has a column that was declared.
    NoDataError
        If no row gave an item.
    """
    seen = SeenIds(source=conversion.source)
    total = n_items = 0
    first_drop: Dropped | None = None
    while True:
        items: list[Item] = []
        lines: list[int] = []
        dropped: list[Dropped] = []
        n_rows = n_bytes = 0
        for line, row, size in rows:
            n_rows += 1
            n_bytes += size
            if isinstance(row, dict):
                dropped += conversion.take(row, line, items)
                lines += [line] * (len(items) - len(lines))
            else:
                dropped.append(row)
            if n_rows == batch_size or n_bytes >= _MAX_BATCH_BYTES:
                break
        if not n_rows:
            break
        seen.add([item.id for item in items], lines)
        n_items += len(items)
        total += n_rows
        first_drop = first_drop or next(iter(dropped), None)
        yield ItemBatch(items=items, dropped=tuple(dropped), n_rows=n_rows)
    conversion.check_declared()
    if not n_items:
        conversion.refuse_empty(n_rows=total, first=first_drop)
