"""Read human annotations and judge labels from files and tables into one long form.

Nothing heavy is imported here: polars arrives with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.io.frames import table_from_frame
    from voirdire.io.metadata import metadata_from_frame, read_metadata
    from voirdire.io.reading import read_labels
    from voirdire.io.request import FileFormat, Role
    from voirdire.io.table import LabelTable, join_tables

__all__ = [
    "FileFormat",
    "LabelTable",
    "Role",
    "join_tables",
    "metadata_from_frame",
    "read_labels",
    "read_metadata",
    "table_from_frame",
]

_HOMES = {
    "FileFormat": "request",
    "LabelTable": "table",
    "Role": "request",
    "join_tables": "table",
    "metadata_from_frame": "metadata",
    "read_labels": "reading",
    "read_metadata": "metadata",
    "table_from_frame": "frames",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
