"""Reads labels from other programs: Label Studio, Argilla, and the alt-test authors' JSON.

The shape of JSON is recognised by its top level alone; JSON Lines are a list:

=============================================  =======================
top level                                      read as
=============================================  =======================
object                                         alt-test authors' JSON
list of objects with `data` and `annotations`  Label Studio
list of objects with `responses`               Argilla
keys of a tool, see `voirdire.io.tools`        its scores
any other list of objects                      rows
=============================================  =======================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, read_document
from voirdire.io.layouts import REPLACED, Answer, find_answers, keep_rows, name_columns
from voirdire.io.rows import (
    Table,
    line_numbers,
    open_table,
    read_objects,
    table_of_objects,
    table_rows,
)
from voirdire.io.tools import read_eval_log, read_tool_export
from voirdire.io.values import CodedColumn, code_names, format_name
from voirdire.records import Dropped

if TYPE_CHECKING:
    from voirdire.io.declared import Request
    from voirdire.io.files import Source


def open_labels(source: Source, request: Request) -> Table:
    """Open a file of labels in any format."""
    if isinstance(source, str | Path) and Path(source).suffix == ".eval":
        return read_eval_log(source, request)
    file = DataFile(
        source,
        format=request.format,
        delimiter=request.delimiter,
        encoding=request.encoding,
        sheet=request.sheet,
    )
    if file.format in ("json", "jsonl"):
        return _open_json(file, request)
    return unflatten(open_table(file), request)


def unflatten(table: Table, request: Request) -> Table:
    """Read the columns of exports that are known; return other tables unchanged."""
    if request.columns_only:
        return table
    table = keep_rows(table, request)
    if any(name.endswith(".responses.users") for name in table.columns):
        rows = {line: row for line, row, _ in table_rows(table)}
        return _long_table(_argilla(list(rows.values()), list(rows), request), source=table.source)
    answers = find_answers(table, request)
    if answers is None:
        return name_columns(table, request)
    found, notes = answers
    named = [row._replace(question=row.question or request.single_question) for row in found]
    return _long_table(named, source=table.source, notes=(*table.notes, *notes))


def _open_json(file: DataFile, request: Request) -> Table:
    """Open JSON of any shape."""
    name = file.name
    rows: Any
    lines: Sequence[int] = ()
    if file.format == "jsonl":
        rows, lines = read_objects(file)
    else:
        rows = read_document(file)
        _check_document(rows, source=name)
    if (export := read_tool_export(rows, request, source=name)) is not None:
        return export
    if isinstance(rows, dict):
        if (found := _rows_in(rows)) is None:
            return table_of_mapping(rows, source=name, request=request)
        rows = found
    if file.format == "json":
        lines = list(range(1, len(rows) + 1))
    if _is_label_studio(rows):
        return _long_table(_label_studio(rows, request), source=name)
    if _is_argilla(rows[:1]):
        return _long_table(_argilla(rows, lines, request), source=name)
    return unflatten(table_of_objects(rows, lines, source=name), request)


def _rows_in(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of an object that holds people: JUDGE-BENCH's, or LeWiDi's by item."""
    instances = document.get("instances")
    if isinstance(instances, list) and all(isinstance(row, dict) for row in instances):
        return instances
    if all(isinstance(row, dict) and "annotations" in row for row in document.values()):
        return [{"item": item, **row} for item, row in document.items()]
    return None


def _check_document(document: Any, *, source: str) -> None:
    if not isinstance(document, dict | list):
        message = f"{source}: JSON must be an object or a list, got {shorten(repr(document))}. "
        raise InputError(message + 'Write {"annotator": {"item": "label"}}.')
    kind = type(document).__name__
    if not document:
        message = f"{source}: must hold at least one label, got an empty {kind}. Add some."
        raise NoDataError(message)
    for number, row in enumerate(document if isinstance(document, list) else (), start=1):
        if not isinstance(row, dict):
            raise InputError(
                f"{source}:{number}: row must be a JSON object, got {shorten(repr(row))}. "
                'Write {"item": ..., "label": ...}.'
            )


# Rows of nested values ----------------------------------------------------------------------------


def _long_table(found: Iterable[Answer], *, source: str, notes: tuple[str, ...] = ()) -> Table:
    """Make a table in long form under our own names; errors name the file of the export."""
    try:
        answers = list(found)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    kept = [row for row in answers if row.reason is None]
    columns: Any = {name: [row[at] for row in kept] for at, name in enumerate(Answer._fields[:4])}
    dropped = [
        Dropped(reason=row.reason, source=source, line=row.line, item=format_name(row.item),
                rater=format_name(row.rater), question=format_name(row.question))
        for row in answers if row.reason is not None
    ]  # fmt: skip
    lines = [row.line for row in kept]
    counts = Counter(row.reason for row in dropped)
    notes += tuple(f"{counts[reason]:,} {_NOTES[reason]}" for reason in _NOTES if counts[reason])
    about = {"tabular": False, "dropped": tuple(dropped), "notes": notes}
    return Table.of(columns, line_numbers(lines), source=source, **about)


_GROUND_TRUTH = "ground truth, which is gold and no person's"
_SPAN = "a span with offsets, which cannot be compared"
_NOTES = {
    _GROUND_TRUTH: "annotations marked as ground truth are no person's: `--gold` reads them",
    REPLACED: "annotations were replaced by a later one of the same person",
    _SPAN: "answers are spans with offsets, which cannot be compared",
}
"""What is said, after their number, of answers that were set aside for these reasons."""


def _check_json_type(value: Any, kind: type[dict[Any, Any] | list[Any]], name: str) -> Any:
    """Check that a JSON value is an object, or a list of objects; null counts as empty."""
    if value is None:
        return kind()
    is_ours = isinstance(value, kind)
    if not is_ours or (kind is list and not all(isinstance(each, dict) for each in value)):
        rule = "an object" if kind is dict else "a list of objects"
        message = f"`{name}` must be {rule}, got {shorten(repr(value))}. Export the file again."
        raise InputError(message)
    return value


# The alt-test authors' JSON, and dicts ------------------------------------------------------------


def table_of_mapping(document: Mapping[Any, Any], *, source: str, request: Request) -> Table:
    """Read ``{rater: {item: label}}``, or ``{item: label}`` for one judge."""
    if not document:
        msg = f"`{source}` must hold at least one label, got none."
        raise NoDataError(msg)
    nested = [isinstance(value, Mapping) for value in document.values()]
    by_rater = [(request.single_rater, document)]
    if all(nested):
        by_rater = list(document.items())
    elif any(nested) or (request.role == "annotator" and request.rater_name is None):
        first = next(value for value in document.values() if not isinstance(value, Mapping))
        msg = f"`{source}` must be a mapping {{rater: {{item: label}}}}, got {shorten(repr(first))}"
        raise InputError(f'{msg}. Write {{"name": {{"item": "label"}}}}.')
    pairs = [list(answers.items()) for _, answers in by_rater]
    n_pairs = [len(each) for each in pairs]
    raters = code_names([rater for rater, _ in by_rater], source=source)
    columns: dict[str, Any] = {  # code the values where that is cheaper
        "question": CodedColumn.constant(request.single_question, sum(n_pairs)),
        "item": [item for each in pairs for item, _ in each],
        "rater": CodedColumn(raters.values, np.repeat(raters.codes, n_pairs)),
        "label": [label for each in pairs for _, label in each],
    }
    lines = line_numbers([None] * sum(n_pairs))
    return Table.of(columns, lines, source=source, tabular=False)


# Label Studio -------------------------------------------------------------------------------------

_SETS = ("choices", "labels", "taxonomy")
_HELD = {name: name for name in (*_SETS, "rating", "number")} | {
    "textarea": "text",
    "pairwise": "selected",
}
"""Types of results that are labels, and their key."""

_OFFSETS = {"start", "end", "globalOffsets", "ranges", "x", "points"}
_PAIRWISE = {"left": "A", "right": "B"}

_Answer: TypeAlias = dict[str, tuple[str, list[Any]]]
"""The type of each answered question, and its labels."""


def _is_label_studio(document: Sequence[Any]) -> bool:
    """Whether these are tasks: objects with `data` and a list of annotations or predictions."""
    return all(
        isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and (isinstance(task.get("annotations"), list) or isinstance(task.get("predictions"), list))
        for task in document
    )


def _label_studio(tasks: Sequence[Any], request: Request) -> Iterator[Answer]:
    """Read tasks: `from_name` is the question, `completed_by` the rater.

    A judge's labels are the task's `predictions`, named by their `model_version`. An answer with
    nothing ticked is the empty set of every question that asks for sets. The answers of the other
    side show which questions do, too. Annotations that are marked as ground truth are gold.
    """
    key = _task_key(tasks, request)
    sides = ("annotations", "predictions")
    is_gold = request.is_gold
    mine, beside = sides if is_gold or request.role == "annotator" else sides[::-1]
    given = [_check_json_type(task.get(mine), list, mine) for task in tasks]
    if is_gold and (truths := [_list_ground_truths(each) for each in given]) and any(truths):
        given = truths
    answers: list[tuple[Any, Any, _Answer]] = []
    for task, of_task in zip(tasks, given, strict=True):
        item = task["data"].get(key) if key is not None else task.get("id")
        latest = {format_name(_rater(each, request)): each for each in sorted(of_task, key=_age)}
        for answer in of_task:
            rater = _rater(answer, request)
            if not is_gold and answer in _list_ground_truths([answer]):
                yield Answer(item, rater, reason=_GROUND_TRUTH)
                continue
            if answer.get("was_cancelled"):
                yield Answer(item, rater, reason="cancelled annotation")
                continue
            if (
                mine == "annotations"
                and rater is not None
                and latest[format_name(rater)] is not answer
            ):
                yield Answer(item, rater, reason=REPLACED)
                continue
            found, unread = _results(answer)
            for question, reason in unread.items():
                yield Answer(item, rater, question, reason=reason)
            answers.append((item, rater, found))
    ours = [found for *_, found in answers]
    sets = _questions_of_sets([*ours, *_list_other_answers(tasks, beside)], request)
    _check_nothing_ticked(ours, sets, request)
    for item, rater, found in answers:
        yield from _labels_in(found, sets, item=item, rater=rater, request=request)


def _labels_in(
    answer: _Answer, sets: set[str], *, item: Any, rater: Any, request: Request
) -> Iterator[Answer]:
    if not answer and not sets:
        yield Answer(item, rater, reason="missing label")
    for question in sorted(sets - answer.keys()):
        yield Answer(item, rater, question, [])
    for question, (kind, labels) in answer.items():
        label: Any = labels[0] if labels else None
        if question in sets:
            label = labels
        elif kind == "textarea" and labels:
            label = "\n".join(map(str, labels))
        elif len(labels) > 1:
            reason = f"unknown label: must be one label, got {shorten(repr(labels))}"
            yield Answer(item, rater, question, reason=reason)
            if request.role == "annotator":
                continue
            label = None
        yield Answer(item, rater, question, label)


def _list_other_answers(tasks: Sequence[Any], part: str) -> Iterator[_Answer]:
    """Return the answers of the other side, which only show the kinds of the questions."""
    for task in tasks:
        given = task.get(part)
        for answer in given if isinstance(given, list) else []:
            if isinstance(answer, dict) and not answer.get("was_cancelled"):
                yield _results(answer)[0]


def _list_ground_truths(answers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [answer for answer in answers if answer.get("ground_truth") is True]


def _age(answer: dict[str, Any]) -> tuple[Any, ...]:
    """Return what sorts one person's annotations of a task, those that count last."""
    is_unused = bool(answer.get("was_cancelled") or answer.get("ground_truth"))
    times = [str(answer.get(name) or "") for name in ("updated_at", "created_at")]
    number = answer.get("id")
    return not is_unused, *times, number if isinstance(number, int) else 0


def _rater(answer: dict[str, Any], request: Request) -> Any:
    if answer.get("ground_truth") is True and request.is_gold:
        return request.single_rater
    if request.role == "judge" and not request.is_gold:
        return answer.get("model_version") or request.single_rater
    rater = answer.get("completed_by")
    return rater.get("email") or rater.get("id") if isinstance(rater, dict) else rater


def _results(answer: dict[str, Any]) -> tuple[_Answer, dict[str, str]]:
    """Collect the labels of an answer by question, and why results of others are not read."""
    found: _Answer = {}
    unread = {}
    for result in _check_json_type(answer.get("result"), list, "result"):
        question, kind = result.get("from_name"), result.get("type")
        if not isinstance(question, str):  # a relation between regions has no question
            continue
        if kind not in _HELD:
            unread[question] = f"Label Studio results of type {kind!r} are not read"
            continue
        body = _check_json_type(result.get("value"), dict, "value")
        if not _OFFSETS.isdisjoint(body):
            unread[question] = _SPAN
            continue
        value = body.get(_HELD[kind])
        if kind == "pairwise":
            value = _PAIRWISE.get(value, value)
        labels = value if isinstance(value, list) else [] if value is None else [value]
        if kind == "taxonomy":
            labels = ["/".join(map(str, x)) if isinstance(x, list) else x for x in labels]
        earlier = found[question][1] if question in found else []
        found[question] = kind, [*earlier, *labels]
    return found, unread


def _check_nothing_ticked(answers: Sequence[_Answer], sets: set[str], request: Request) -> None:
    """Refuse answers with nothing ticked where the kind is not declared."""
    if request.kind is not None:
        return
    types = {question: kind for answer in answers for question, (kind, _) in answer.items()}
    for question in sorted(types.keys() - sets):
        n_blank = sum(not (question in answer and answer[question][1]) for answer in answers)
        is_asked = request.question in (None, question)
        if is_asked and types[question] in _SETS and n_blank:
            raise InputError(
                f"`kind` must be given for {shorten(question)!r}, where {n_blank:,} of "
                f"{len(answers):,} answers have nothing ticked. Declare kind='multilabel' if that "
                "is an answer, kind='choice' if it is not."
            )


def _questions_of_sets(answers: Iterable[_Answer], request: Request) -> set[str]:
    """Return the questions whose answers are sets: declared so, or with several labels once."""
    if request.kind not in ("multilabel", None):
        return set()
    return {
        question
        for answer in answers
        for question, (kind, labels) in answer.items()
        if kind in _SETS
        and (request.kind == "multilabel" or len(labels) > 1)
        and request.question in (None, question)
    }


def _task_key(tasks: Sequence[Any], request: Request) -> str | None:
    """Find the key of `data` that names items; None where the task's own id names them."""
    keys = dict.fromkeys(key for task in tasks for key in task["data"])
    wanted = request.column_named("item")
    if wanted is None:
        return next((name for name in ("item", "id") if name in keys), None)
    if wanted not in keys:
        known = ", ".join(repr(key) for key in keys)
        raise InputError(
            f"`data` must hold the item's key, got {wanted!r} where the keys are "
            f"{shorten(known)}. Correct `columns`."
        )
    return wanted


# Argilla ------------------------------------------------------------------------------------------

_IDS = ("item", "id", "external_id")


def _is_argilla(document: Sequence[Any]) -> bool:
    """Tell records by their `responses`, nested or flattened to ``x.responses``."""
    return any(
        isinstance(record, dict)
        and (
            isinstance(record.get("responses"), dict | list)
            or any(key.endswith(".responses.users") for key in record)
        )
        for record in document
    )


def _argilla(
    records: Sequence[Any], lines: Sequence[int | None], request: Request
) -> Iterator[Answer]:
    """Read records: each response is one label of one user.

    A judge's labels are the records' `suggestions`, named by their `agent`.
    """
    keys = {
        key for record in records for key, value in _id_sources(record).items() if value is not None
    }
    wanted = request.column_named("item")
    key = next((name for name in ((wanted,) if wanted else _IDS) if name in keys), None)
    if key is None:
        raise InputError(
            f"records must hold the item's key, got no {wanted or ', '.join(_IDS)}. "
            'Name it with columns={"item": ...}.'
        )
    is_judge = request.role == "judge"
    for record, line in zip(records, lines, strict=True):
        item = _id_sources(record).get(key)
        for question, row in _list_given(record, "suggestions" if is_judge else "responses"):
            rater = row.get("agent") or request.single_rater if is_judge else row.get("user_id")
            status = row.get("status")
            reason = f"{status} response" if status in ("discarded", "draft") else None
            yield Answer(item, rater, question, row.get("value"), line, reason)


def _id_sources(record: dict[str, Any]) -> dict[str, Any]:
    """Return the mappings that may hold an item's id: the record, its metadata, its fields."""
    fields = _check_json_type(record.get("fields"), dict, "fields")
    metadata = _check_json_type(record.get("metadata"), dict, "metadata")
    return {**fields, **metadata, **record}


def _list_given(record: dict[str, Any], side: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """List the responses or suggestions of a record by question, in any of the three shapes."""
    given = record.get(side)
    if isinstance(given, dict):  # argilla 2
        for question, rows in given.items():
            listed = rows if side == "responses" else [rows or {}]
            yield from ((question, row) for row in _check_json_type(listed, list, side))
    elif isinstance(given, list):  # argilla 1
        for row in _check_json_type(given, list, side):
            values = {row.get("question_name") or "": row.get("value")}
            if side == "responses":  # a discarded one is listed even without an answer
                values = _check_json_type(row.get("values"), dict, "values") or {"": None}
            for question, value in values.items():
                is_inner = side == "responses" and isinstance(value, dict)
                yield question, row | {"value": value.get("value") if is_inner else value}
    else:
        yield from _list_flat(record, side)


def _list_flat(record: dict[str, Any], side: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """List those of argilla 2 flattened: lists of values, users and statuses side by side."""
    for key, values in record.items():
        if side == "suggestions" and key.endswith(".suggestion") and values is not None:
            agent = record.get(f"{key}.agent")
            yield key.removesuffix(".suggestion"), {"value": values, "agent": agent}
        users = record.get(f"{key}.users")
        if side == "suggestions" or not key.endswith(".responses") or not isinstance(users, list):
            continue
        statuses = record.get(f"{key}.status") or [None] * len(users)
        if not isinstance(values, list) or not len(values) == len(users) == len(statuses):
            raise InputError(
                f"`{key}` must be as long as its users, got {shorten(repr(values))} "
                f"for {len(users)}. Export the file again."
            )
        for value, user, status in zip(values, users, statuses, strict=True):
            row = {"value": value, "user_id": user, "status": status}
            yield key.removesuffix(".responses"), row
