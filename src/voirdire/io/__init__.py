"""Read items, human annotations and judge labels from files and tables.

Nothing heavy is imported here: polars arrives with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.io.frames import table_from_frame
    from voirdire.io.items.batches import ItemBatch, ItemTable
    from voirdire.io.items.declared import ItemColumn, ItemFormat
    from voirdire.io.items.item_frames import items_from_frame
    from voirdire.io.items.streaming import read_items, stream_items
    from voirdire.io.metadata import metadata_from_frame, read_metadata
    from voirdire.io.reading import read_labels
    from voirdire.io.request import FileFormat, Reading, Role
    from voirdire.io.table import LabelTable, join_tables

__all__ = [
    "FileFormat",
    "ItemBatch",
    "ItemColumn",
    "ItemFormat",
    "ItemTable",
    "LabelTable",
    "Reading",
    "Role",
    "items_from_frame",
    "join_tables",
    "metadata_from_frame",
    "read_items",
    "read_labels",
    "read_metadata",
    "stream_items",
    "table_from_frame",
]

_HOMES = {
    "FileFormat": "request",
    "ItemBatch": "items.batches",
    "ItemColumn": "items.declared",
    "ItemFormat": "items.declared",
    "ItemTable": "items.batches",
    "LabelTable": "table",
    "Reading": "request",
    "Role": "request",
    "items_from_frame": "items.item_frames",
    "join_tables": "table",
    "metadata_from_frame": "metadata",
    "read_items": "items.streaming",
    "read_labels": "reading",
    "read_metadata": "metadata",
    "stream_items": "items.streaming",
    "table_from_frame": "frames",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
