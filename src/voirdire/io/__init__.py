"""Read items, human annotations, judge labels and verdicts from files and tables.

Nothing heavy is imported here: polars is imported when the first name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.io.declared import (
        FileFormat,
        ItemColumn,
        ItemFormat,
        ItemLayout,
        ItemReading,
        Reading,
        Role,
    )
    from voirdire.io.items import (
        ItemBatch,
        ItemTable,
        items_from_frame,
        read_items,
        stream_items,
    )
    from voirdire.io.label_reading import read_labels
    from voirdire.io.labels import LabelTable, join_tables
    from voirdire.io.metadata import metadata_from_frame, read_metadata
    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.io.verdicts import read_verdicts

__all__ = [
    "FileFormat",
    "ItemBatch",
    "ItemColumn",
    "ItemFormat",
    "ItemLayout",
    "ItemReading",
    "ItemTable",
    "LabelTable",
    "Reading",
    "Role",
    "VerdictFormat",
    "items_from_frame",
    "join_tables",
    "metadata_from_frame",
    "read_items",
    "read_labels",
    "read_metadata",
    "read_verdicts",
    "stream_items",
]

_HOMES = {
    "FileFormat": "declared",
    "ItemBatch": "items",
    "ItemColumn": "declared",
    "ItemFormat": "declared",
    "ItemLayout": "declared",
    "ItemReading": "declared",
    "ItemTable": "items",
    "LabelTable": "labels",
    "Reading": "declared",
    "Role": "declared",
    "VerdictFormat": "verdict_files",
    "items_from_frame": "items",
    "join_tables": "labels",
    "metadata_from_frame": "metadata",
    "read_items": "items",
    "read_labels": "label_reading",
    "read_metadata": "metadata",
    "read_verdicts": "verdicts",
    "stream_items": "items",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
