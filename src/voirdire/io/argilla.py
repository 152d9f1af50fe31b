"""Argilla's exports: records with responses (people) and suggestions (models)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.long_rows import LongRows, object_in, objects_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.io.raw import RawTable, Value
    from voirdire.io.request import Request

__all__ = ["is_argilla", "table_of_records"]

_IDS = ("item", "id", "external_id")


def is_argilla(document: Sequence[Any]) -> bool:
    """Tell records by their `responses`, nested or flattened to ``x.responses``."""
    return any(
        isinstance(record, dict)
        and (
            isinstance(record.get("responses"), dict | list)
            or any(key.endswith(".responses.users") for key in record)
        )
        for record in document
    )


def table_of_records(
    records: Sequence[Any],
    lines: Sequence[int | None],
    *,
    source: str,
    request: Request,
) -> RawTable:
    """Argilla's records as a table: each response is one label of one user.

    A judge's labels are the records' `suggestions`, named by their `agent`.
    """
    if not is_argilla(records):
        message = (
            f"{source}: JSON must be a list of records with `responses`, "
            f"got {shorten(repr(next(iter(records), [])))}. Export it with `to_json`."
        )
        raise InputError(message)
    key = _item_key(records, source=source, request=request)
    rows = LongRows(source=source)
    for record, line in zip(records, lines, strict=True):
        item = _facts(record, source=source).get(key)
        if request.role == "judge":
            for question, value, agent in _suggestions(record, source=source):
                rater = agent or request.single_rater
                rows.add(item=item, rater=rater, label=value, question=question, line=line)
            continue
        for question, value, user, status in _responses(record, source=source):
            if status in ("discarded", "draft"):
                reason = f"{status} response"
                rows.set_aside(reason, item=item, rater=user, question=question, line=line)
            else:
                rows.add(item=item, rater=user, label=value, question=question, line=line)
    return rows.table()


def _facts(record: dict[str, Any], *, source: str) -> dict[str, Any]:
    """Where an item's id may stand: the record itself, its metadata, its fields."""
    fields = object_in(record.get("fields"), name="fields", source=source)
    metadata = object_in(record.get("metadata"), name="metadata", source=source)
    return {**fields, **metadata, **record}


def _item_key(records: Sequence[Any], *, source: str, request: Request) -> str:
    keys = {
        key
        for record in records
        for key, value in _facts(record, source=source).items()
        if value is not None
    }
    wanted = request.column_named("item")
    for name in _IDS if wanted is None else (wanted,):
        if name in keys:
            return name
    message = (
        f"{source}: records must hold the item's key, got no {wanted or 'item, id, external_id'}. "
        'Name it with columns={"item": ...}.'
    )
    raise InputError(message)


def _responses(
    record: dict[str, Any], *, source: str
) -> Iterator[tuple[str, Value, Value, str | None]]:
    """Question, value, user and status of each response, in any of the three shapes."""
    responses = record.get("responses")
    if isinstance(responses, dict):  # argilla 2
        for question, given in responses.items():
            for response in objects_in(given, name="responses", source=source):
                yield question, response.get("value"), response.get("user_id"), _status(response)
    elif isinstance(responses, list):  # argilla 1
        for response in objects_in(responses, name="responses", source=source):
            values = object_in(response.get("values"), name="values", source=source)
            # A discarded response may hold no answer at all; it is listed all the same.
            for question, value in (values or {"": None}).items():
                found = value.get("value") if isinstance(value, dict) else value
                yield question, found, response.get("user_id"), _status(response)
    else:
        yield from _flat_responses(record, source=source)


def _flat_responses(
    record: dict[str, Any], *, source: str
) -> Iterator[tuple[str, Value, Value, str | None]]:
    """Responses of argilla 2 flattened: lists of values, users and statuses side by side."""
    for key, values in record.items():
        users = record.get(f"{key}.users")
        if not key.endswith(".responses") or not isinstance(users, list):
            continue
        statuses = record.get(f"{key}.status") or [None] * len(users)
        if not isinstance(values, list) or not len(values) == len(users) == len(statuses):
            message = (
                f"{source}: `{key}` must be as long as its users, got {shorten(repr(values))} "
                f"for {len(users)}. Export the file again."
            )
            raise InputError(message)
        for value, user, status in zip(values, users, statuses, strict=True):
            yield key.removesuffix(".responses"), value, user, status


def _suggestions(record: dict[str, Any], *, source: str) -> Iterator[tuple[str, Value, Value]]:
    """Question, value and agent of each suggestion, in any of the three shapes."""
    suggestions = record.get("suggestions")
    if isinstance(suggestions, dict):  # argilla 2
        for question, given in suggestions.items():
            suggestion = object_in(given, name="suggestions", source=source)
            yield question, suggestion.get("value"), suggestion.get("agent")
    for suggestion in objects_in(
        suggestions if isinstance(suggestions, list) else None, name="suggestions", source=source
    ):  # argilla 1
        question = suggestion.get("question_name") or ""
        yield question, suggestion.get("value"), suggestion.get("agent")
    for key, value in record.items():  # argilla 2, flattened
        if key.endswith(".suggestion") and value is not None:
            yield key.removesuffix(".suggestion"), value, record.get(f"{key}.agent")


def _status(response: dict[str, Any]) -> str | None:
    status = response.get("status")
    return status if isinstance(status, str) else None
