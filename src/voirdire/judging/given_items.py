"""Reads items that are in memory: records, rows, or a data frame."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from voirdire.io import ItemReading

__all__ = ["read_items_in_memory"]


class _Rows(io.BytesIO):
    """Rows in memory in the place of a file; errors use this name."""

    name = "items"


def read_items_in_memory(
    items: Any, reading: ItemReading
) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    """Return records as they are; read rows as a file of items is read."""
    if hasattr(items, "columns"):
        from voirdire.io import items_from_frame

        found = items_from_frame(items, reading=reading)
        return found.items, found.dropped
    rows = _rows(items)
    if all(isinstance(row, Item) for row in rows):
        _check_ids(rows)
        return (rows, ()) if reading.images else _drop_items_with_images(rows)
    for row in rows:
        if not isinstance(row, Mapping):
            msg = (
                f"`items` must all be items or all be mappings, got {type(row).__name__} "
                f'({shorten(row)}). Write {{"prompt": ..., "response": ...}}.'
            )
            raise InputError(msg)
    from voirdire.io import read_items

    table = read_items(
        _Rows(b"\n".join(msgspec.json.encode(dict(row), enc_hook=_to_plain) for row in rows)),
        reading=reading,
        format="jsonl",
    )
    return table.items, table.dropped


def _rows(items: Any) -> list[Any]:
    if isinstance(items, Item | Mapping):
        return [items]
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        msg = (
            f"`items` must be a sequence of items or rows, got {type(items).__name__}. Judge a "
            "file with `voirdire.judging.judge_file`."
        )
        raise InputError(msg)
    return list(items)


def _drop_items_with_images(items: Sequence[Item]) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    """Drop items with images where the judge cannot see images."""
    from voirdire.io.files import RowError
    from voirdire.io.messages import check_images

    seen: list[Item] = []
    dropped: list[Dropped] = []
    for line, item in enumerate(items, start=1):
        try:
            check_images(item.prompt, are_seen=False)
        except RowError as error:
            dropped.append(error.dropped(source="items", line=line, item=item.id))
        else:
            seen.append(item)
    return seen, tuple(dropped)


def _check_ids(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            msg = f"`items` must have unique ids, got {shorten(item.id)!r} twice."
            raise InputError(msg)
        seen.add(item.id)


def _to_plain(value: Any) -> Any:
    """Convert NumPy's scalars and arrays, sets, and other objects to JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
