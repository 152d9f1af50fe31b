"""The alt-test authors' JSON: ``{rater: {item: label}}``, or ``{item: label}`` for one judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.json_text import pairs_of
from voirdire.io.long_rows import LongRows
from voirdire.io.request import DEFAULT_QUESTION

if TYPE_CHECKING:
    from voirdire.io.raw import RawTable
    from voirdire.io.request import Request

__all__ = ["table_of_mapping"]


def table_of_mapping(document: dict[str, Any], *, source: str, request: Request) -> RawTable:
    """Nested mappings as a table; keys that repeat become rows that repeat."""
    rows = LongRows(source=source)
    question = request.question or DEFAULT_QUESTION
    nested = [isinstance(value, dict) for value in document.values()]
    if all(nested):
        for rater, answers in pairs_of(document):
            for item, label in pairs_of(answers):
                rows.add(item=item, rater=rater, label=label, question=question)
    elif any(nested) or (request.role == "annotator" and request.rater_name is None):
        first = next(value for value in document.values() if not isinstance(value, dict))
        message = (
            f"{source}: JSON must map each {request.role} to an object of labels, "
            f'got {shorten(repr(first))}. Write {{"name": {{"item": "label"}}}}.'
        )
        raise InputError(message)
    else:
        rater = request.single_rater
        for item, label in pairs_of(document):
            rows.add(item=item, rater=rater, label=label, question=question)
    return rows.table()
