"""Read human annotations and judge labels from files and tables into one long form.

Nothing heavy is imported here: polars arrives with the first name that is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire.io.frames import table_from_frame
    from voirdire.io.reading import read_labels
    from voirdire.io.request import FileFormat, Role
    from voirdire.io.table import LabelTable, join_tables

__all__ = [
    "FileFormat",
    "LabelTable",
    "Role",
    "join_tables",
    "read_labels",
    "table_from_frame",
]

_HOMES = {
    "FileFormat": "request",
    "LabelTable": "table",
    "Role": "request",
    "join_tables": "table",
    "read_labels": "reading",
    "table_from_frame": "frames",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
