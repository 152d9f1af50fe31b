"""Which shape of JSON a document has, told by its top level alone, unless it was declared.

==============================================  ====================================
top level                                       read as
==============================================  ====================================
object                                          alt-test authors' JSON
list of objects with `data` and `annotations`   Label Studio
list of objects with `responses`                Argilla
any other list of objects                       rows, as in JSONL
==============================================  ====================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.alttest_json import table_of_mapping
from voirdire.io.argilla import is_argilla, table_of_records
from voirdire.io.items.declared import item_stem
from voirdire.io.json_text import decode_document
from voirdire.io.jsonl import decode_rows, table_of_objects
from voirdire.io.label_studio import is_label_studio, table_of_tasks
from voirdire.io.rbr_gold import is_rbr_gold, table_of_gold
from voirdire.io.sources import check_utf8, read_bytes, source_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.raw import RawTable
    from voirdire.io.request import FileFormat, Request
    from voirdire.io.sources import Source

__all__ = ["read_json", "read_jsonl"]


def read_json(source: Source, *, declared: FileFormat, request: Request) -> RawTable:
    """Open a JSON file of any of the shapes; `declared` is ``"json"`` or one of them."""
    name = source_name(source)
    data = read_bytes(source)
    check_utf8(data, source=name)
    document = decode_document(data, source=name)
    if not isinstance(document, dict | list):
        message = f"{name}: JSON must be an object or a list, got {shorten(repr(document))}. "
        raise InputError(message + 'Write {"annotator": {"item": "label"}}.')
    if not document:
        message = f"{name}: must hold at least one label, got an empty {type(document).__name__}."
        raise NoDataError(f"{message} Add some.")
    shape = declared if declared != "json" else _shape(document)
    if (shape == "alttest") != isinstance(document, dict):
        message = f"{name}: JSON must be {_TOP[shape]}, got a {type(document).__name__}. "
        raise InputError(message + "Leave out `format`.")
    if isinstance(document, dict):
        return table_of_mapping(document, source=name, request=request)
    if shape == "label-studio":
        return table_of_tasks(document, source=name, request=request)
    _check_objects(document, source=name)
    rows = range(1, len(document) + 1)
    if shape == "argilla":
        return table_of_records(document, rows, source=name, request=request)
    return table_of_objects(document, rows, source=name)


def read_jsonl(source: Source, *, declared: FileFormat | None, request: Request) -> RawTable:
    """Open a JSONL file: rows, Argilla's records, or gold rows of the RBR authors."""
    name = source_name(source)
    rows, lines = decode_rows(source)
    if declared == "argilla" or is_argilla(rows[:1]):
        return table_of_records(rows, lines, source=name, request=request)
    if declared == "rbr-gold" or is_rbr_gold(rows[:1]):
        return table_of_gold(rows, lines, source=name, stem=item_stem(source), request=request)
    return table_of_objects(rows, lines, source=name)


_TOP = {
    "alttest": "an object of objects",
    "label-studio": "a list of tasks",
    "argilla": "a list of records",
    "json": "a list of objects",
}


def _shape(document: dict[str, Any] | list[Any]) -> FileFormat:
    if isinstance(document, dict):
        return "alttest"
    if is_label_studio(document):
        return "label-studio"
    return "argilla" if is_argilla(document) else "json"


def _check_objects(document: Sequence[Any], *, source: str) -> None:
    for number, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            message = (
                f"{source}:{number}: row must be a JSON object, got {shorten(repr(row))}. "
                'Write {"item": ..., "label": ...}.'
            )
            raise InputError(message)
