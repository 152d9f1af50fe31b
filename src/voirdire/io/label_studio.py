"""Label Studio's JSON export: tasks with annotations (people) and predictions (models)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.long_rows import LongRows, object_in, objects_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.raw import RawTable, Value
    from voirdire.io.request import Request

__all__ = ["is_label_studio", "table_of_tasks"]

# The types of result that are labels of the whole item or of spans in it, and what they hold.
_LISTS = {"choices": "choices", "labels": "labels", "taxonomy": "taxonomy"}
_SINGLES = {"rating": "rating", "number": "number", "textarea": "text", "pairwise": "selected"}


def is_label_studio(document: Sequence[Any]) -> bool:
    """Tasks are objects with `data` and a list of annotations or predictions."""
    return all(
        isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and (isinstance(task.get("annotations"), list) or isinstance(task.get("predictions"), list))
        for task in document
    )


def table_of_tasks(tasks: Sequence[Any], *, source: str, request: Request) -> RawTable:
    """Label Studio's tasks as a table: `from_name` is the question, `completed_by` the rater.

    A judge's labels are the task's `predictions`, named by their `model_version`.
    """
    if not is_label_studio(tasks):
        message = (
            f"{source}: JSON must be a list of tasks with `data` and `annotations`, "
            f"got {shorten(repr(next(iter(tasks), [])))}. Export it from Label Studio as JSON."
        )
        raise InputError(message)
    key = _item_key(tasks, source=source, request=request)
    rows = LongRows(source=source)
    by_judge = request.role == "judge"
    part = "predictions" if by_judge else "annotations"
    for task in tasks:
        item = task["data"].get(key) if key is not None else task.get("id")
        for answer in objects_in(task.get(part), name=part, source=source):
            if by_judge:
                rater = answer.get("model_version") or request.single_rater
            else:
                rater = _rater(answer.get("completed_by"))
            if answer.get("was_cancelled"):
                rows.set_aside("cancelled annotation", item=item, rater=rater)
            else:
                _take(rows, answer, item=item, rater=rater, request=request)
    return rows.table()


def _item_key(tasks: Sequence[Any], *, source: str, request: Request) -> str | None:
    """Find the key of `data` that names items; None where the task's own id does."""
    keys = dict.fromkeys(key for task in tasks for key in task["data"])
    wanted = request.column_named("item")
    if wanted is None:
        return next((name for name in ("item", "id") if name in keys), None)
    if wanted not in keys:
        known = ", ".join(repr(key) for key in keys)
        message = (
            f"{source}: `data` must hold the item's key, got {wanted!r} where the keys are "
            f"{shorten(known)}. Correct `columns`."
        )
        raise InputError(message)
    return wanted


def _rater(completed_by: Value) -> Value:
    if not isinstance(completed_by, dict):
        return completed_by
    return completed_by.get("email") or completed_by.get("id")


def _take(
    rows: LongRows, answer: dict[str, Any], *, item: Value, rater: Value, request: Request
) -> None:
    values: dict[str, list[Any]] = defaultdict(list)
    types: dict[str, str] = {}
    results = objects_in(answer.get("result"), name="result", source=rows.source)
    if not results:
        rows.set_aside("missing label", item=item, rater=rater)
    for result in results:
        question, kind = result.get("from_name"), result.get("type")
        if not isinstance(question, str):  # a relation between regions belongs to no question
            continue
        if kind not in _LISTS and kind not in _SINGLES:
            reason = f"Label Studio results of type {kind!r} are not read"
            rows.set_aside(reason, item=item, rater=rater, question=question)
            continue
        types[question] = kind
        value = object_in(result.get("value"), name="value", source=rows.source)
        values[question] += _values(kind, value)
    for question, found in values.items():
        label = _label(found, kind=types[question], request=request)
        if isinstance(label, list) and request.kind != "multilabel":
            reason = f"unknown label: must be one label, got {shorten(repr(label))}"
            rows.set_aside(reason, item=item, rater=rater, question=question)
            label = None
            if request.role == "annotator":
                continue
        rows.add(item=item, rater=rater, label=label, question=question)


def _values(kind: str, value: dict[str, Any]) -> list[Any]:
    found = value.get(_LISTS.get(kind) or _SINGLES[kind])
    if kind == "taxonomy" and isinstance(found, list):
        return [_path(entry) for entry in found]
    if isinstance(found, list):
        return found
    return [] if found is None else [found]


def _path(entry: Value) -> Value:
    return "/".join(f"{step}" for step in entry) if isinstance(entry, list) else entry


def _label(values: list[Any], *, kind: str, request: Request) -> Value:
    """Take one value on its own, unless a set of labels was asked for."""
    if kind in _LISTS and request.kind == "multilabel":
        return values
    if len(values) > 1:
        return "\n".join(f"{value}" for value in values) if kind == "textarea" else values
    return values[0] if values else None
