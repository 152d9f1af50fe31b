"""Labels as other programs write them: Label Studio, Argilla, and the authors' of two papers.

Which shape of JSON a document has is told by its top level alone, unless it was declared:

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

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.cells import Coded, code_names, name_text
from voirdire.io.files import DataFile, pairs_of, read_document
from voirdire.io.rows import Rows, Table, line_numbers, open_table, read_objects, table_of_objects
from voirdire.io.shapes import ID_COLUMNS
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io.declared import FileFormat, Request
    from voirdire.io.files import Source
    from voirdire.io.rows import Value

__all__ = ["open_labels", "table_of_mapping", "unflattened"]


def open_labels(source: Source, request: Request) -> Table:
    """Open a file of labels in any format."""
    declared = request.format
    shape = _SHAPES.get(declared or "")
    file = DataFile(
        source,
        format=_format_of(source, shape) if shape else declared,
        delimiter=request.delimiter,
        encoding=request.encoding,
        sheet=request.sheet,
    )
    if file.format == "jsonl":
        return _read_jsonl(file, declared=declared, request=request)
    if file.format == "json":
        return _read_json(file, declared=declared, request=request)
    column = request.column_named("question") or "question"
    only = None if request.question is None else (column, request.question)
    return unflattened(open_table(file, only=only), request)


_SHAPES = {"alttest": "json", "label-studio": "json", "argilla": "json", "rbr-gold": "jsonl"}
"""In which format a shape is written, where the file's name does not say JSON Lines."""


def _format_of(source: Source, shape: str) -> str:
    is_lines = isinstance(source, str | Path) and Path(source).suffix in (".jsonl", ".ndjson")
    return "jsonl" if is_lines else shape


def unflattened(table: Table, request: Request) -> Table:
    """Read Argilla's records out of columns, as its data sets are stored; other tables stay."""
    if not any(name.endswith(".responses.users") for name in table.columns):
        return table
    rows = table.load(table.columns)
    columns = {name: list(values) for name, values in rows.columns.items()}
    plain = [
        dict(zip(columns, (_to_list(cell) for cell in cells), strict=True))
        for cells in zip(*columns.values(), strict=True)
    ]
    return _table_of_records(plain, rows.lines.to_list(), source=table.source, request=request)


def _to_list(cell: Value) -> Value:
    return cell.to_list() if hasattr(cell, "to_list") else cell


def _read_json(file: DataFile, *, declared: FileFormat | None, request: Request) -> Table:
    """Open a JSON file of any of the shapes, one of which may be declared."""
    name = file.name
    document = read_document(file)
    if not isinstance(document, dict | list):
        message = f"{name}: JSON must be an object or a list, got {shorten(repr(document))}. "
        raise InputError(message + 'Write {"annotator": {"item": "label"}}.')
    if not document:
        message = f"{name}: must hold at least one label, got an empty {type(document).__name__}."
        raise NoDataError(f"{message} Add some.")
    shape = _shape(document) if declared in (None, "json") else declared
    if (shape == "alttest") != isinstance(document, dict):
        message = f"{name}: JSON must be {_TOP[shape]}, got a {type(document).__name__}. "
        raise InputError(message + "Leave out `format`.")
    if isinstance(document, dict):
        return table_of_mapping(document, source=name, request=request)
    if shape == "label-studio":
        return _table_of_tasks(document, source=name, request=request)
    _check_objects(document, source=name)
    rows = range(1, len(document) + 1)
    if shape == "argilla":
        return _table_of_records(document, rows, source=name, request=request)
    return table_of_objects(document, rows, source=name)


def _read_jsonl(file: DataFile, *, declared: FileFormat | None, request: Request) -> Table:
    """Open a JSONL file: rows, Argilla's records, or gold rows of the RBR authors."""
    name = file.name
    rows, lines = read_objects(file)
    if declared == "argilla" or _is_argilla(rows[:1]):
        return _table_of_records(rows, lines, source=name, request=request)
    if declared == "rbr-gold" or _is_gold(rows[:1]):
        return _table_of_gold(rows, lines, source=name, stem=file.stem, request=request)
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
    if _is_label_studio(document):
        return "label-studio"
    return "argilla" if _is_argilla(document) else "json"


def _check_objects(document: Sequence[Any], *, source: str) -> None:
    for number, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            message = (
                f"{source}:{number}: row must be a JSON object, got {shorten(repr(row))}. "
                'Write {"item": ..., "label": ...}.'
            )
            raise InputError(message)


# Rows of nested values ----------------------------------------------------------------------------


def objects_in(value: Value, *, name: str, source: str) -> list[dict[str, Any]]:
    """Check that a JSON value is a list of objects; nothing at all is an empty list."""
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(element, dict) for element in value):
        return value
    message = (
        f"{source}: `{name}` must be a list of objects, got {shorten(repr(value))}. "
        "Export the file again."
    )
    raise InputError(message)


def object_in(value: Value, *, name: str, source: str) -> dict[str, Any]:
    """Check that a JSON value is an object; nothing at all is an empty one."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    message = f"{source}: `{name}` must be an object, got {shorten(repr(value))}. "
    raise InputError(message + "Export the file again.")


class LongRows:
    """Labels one by one, and what was set aside on the way."""

    def __init__(self, *, source: str) -> None:
        self.source = source
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("question", "item", "rater", "label")
        }
        self._lines: list[int | None] = []
        self._dropped: list[Dropped] = []

    def add(
        self,
        *,
        item: Value,
        rater: Value,
        label: Value,
        question: str,
        line: int | None = None,
    ) -> None:
        """Take a label."""
        row = {"question": question, "item": item, "rater": rater, "label": label}
        for name, value in row.items():
            self._columns[name].append(value)
        self._lines.append(line)

    def set_aside(
        self,
        reason: str,
        *,
        item: Value,
        rater: Value,
        question: Value = None,
        line: int | None = None,
    ) -> None:
        """List something that is not a label."""
        names = [name_text(value) for value in (item, rater, question)]
        self._dropped.append(
            Dropped(
                reason=reason,
                source=self.source,
                line=line,
                item=names[0],
                rater=names[1],
                question=names[2],
            )
        )

    def table(self) -> Table:
        """Give what was gathered as a table in long form under our own names."""

        def load(columns: Sequence[str]) -> Rows:
            found = {name: self._columns[name] for name in columns}
            return Rows(columns=dict(found), lines=line_numbers(self._lines))

        return Table(
            source=self.source,
            columns=tuple(self._columns),
            load=load,
            tabular=False,
            dropped=tuple(self._dropped),
        )


# The alt-test authors' JSON, and dicts ------------------------------------------------------------


def table_of_mapping(
    document: Mapping[Any, Any], *, source: str, request: Request, typed: bool = False
) -> Table:
    """Read ``{rater: {item: label}}``, or ``{item: label}`` for one judge.

    Keys that repeat in JSON become rows that repeat; `typed` keeps the labels' own types.
    """
    if not document:
        msg = f"`{source}` must hold at least one label, got none."
        raise NoDataError(msg)
    question = request.question or "label"
    nested = [isinstance(value, Mapping) for value in document.values()]
    if all(nested):
        by_rater = [(rater, answers) for rater, answers in _pairs(document)]
    elif any(nested) or (request.role == "annotator" and request.rater_name is None):
        first = next(value for value in document.values() if not isinstance(value, Mapping))
        where = f"`{source}` must be a mapping {{rater: {{item: label}}}}" if typed else None
        msg = where or f"{source}: JSON must map each {request.role} to an object of labels"
        raise InputError(
            f'{msg}, got {shorten(repr(first))}. Write {{"name": {{"item": "label"}}}}.'
        )
    else:
        by_rater = [(request.single_rater, document)]
    pairs = [_pairs(answers) for _, answers in by_rater]
    n_pairs = [len(each) for each in pairs]
    raters = code_names([rater for rater, _ in by_rater], source=source)
    columns: dict[str, Any] = {  # coded ones where that is cheaper
        "question": Coded.constant(question, sum(n_pairs)),
        "item": [item for each in pairs for item, _ in each],
        "rater": Coded(raters.values, np.repeat(raters.codes, n_pairs)),
        "label": [label for each in pairs for _, label in each],
    }

    def load(names: Sequence[str]) -> Rows:
        return Rows(
            columns={name: columns[name] for name in names},
            lines=line_numbers([None] * sum(n_pairs)),
        )

    return Table(source=source, columns=tuple(columns), load=load, tabular=False)


def _pairs(value: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return pairs_of(value) if isinstance(value, dict) else list(value.items())


# Label Studio -------------------------------------------------------------------------------------

_LISTS = {"choices": "choices", "labels": "labels", "taxonomy": "taxonomy"}
_SINGLES = {"rating": "rating", "number": "number", "textarea": "text", "pairwise": "selected"}
"""The types of result that are labels of the whole item or of spans in it, and what they hold."""

_Answer: TypeAlias = tuple[dict[str, list[Any]], dict[str, str]]
"""The values of one answer by question, and the type of each question."""


def _is_label_studio(document: Sequence[Any]) -> bool:
    """Tasks are objects with `data` and a list of annotations or predictions."""
    return all(
        isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and (isinstance(task.get("annotations"), list) or isinstance(task.get("predictions"), list))
        for task in document
    )


def _table_of_tasks(tasks: Sequence[Any], *, source: str, request: Request) -> Table:
    """Read tasks: `from_name` is the question, `completed_by` the rater.

    A judge's labels are the task's `predictions`, named by their `model_version`. An answer with
    nothing ticked is the empty set of every question that asks for sets.
    """
    if not _is_label_studio(tasks):
        msg = (
            f"{source}: JSON must be a list of tasks with `data` and `annotations`, "
            f"got {shorten(repr(next(iter(tasks), [])))}. Export it from Label Studio as JSON."
        )
        raise InputError(msg)
    key = _task_key(tasks, source=source, request=request)
    rows = LongRows(source=source)
    part = "predictions" if request.role == "judge" else "annotations"
    answers: list[tuple[Value, Value, dict[str, list[Any]], dict[str, str]]] = []
    for task in tasks:
        item = task["data"].get(key) if key is not None else task.get("id")
        for answer in objects_in(task.get(part), name=part, source=source):
            rater = (
                answer.get("model_version") or request.single_rater
                if request.role == "judge"
                else _completed_by(answer.get("completed_by"))
            )
            if answer.get("was_cancelled"):
                rows.set_aside("cancelled annotation", item=item, rater=rater)
            else:
                answers.append((item, rater, *_results(rows, answer, item=item, rater=rater)))
    beside = "annotations" if request.role == "judge" else "predictions"
    found = [(values, types) for *_, values, types in answers]
    asks_for_sets = _questions_of_sets([*found, *_answers_beside(tasks, beside, source)], request)
    _check_nothing_ticked(found, asks_for_sets, source=source, request=request)
    for item, rater, values, types in answers:
        for question in asks_for_sets - values.keys():
            rows.add(item=item, rater=rater, label=[], question=question)
        if not values and not asks_for_sets:
            rows.set_aside("missing label", item=item, rater=rater)
        for question, found in values.items():
            if question in asks_for_sets:
                rows.add(item=item, rater=rater, label=found, question=question)
            else:
                _add_single(rows, found, types[question], item, rater, question, request)
    return rows.table()


def _answers_beside(tasks: Sequence[Any], part: str, source: str) -> Iterator[_Answer]:
    """Give the answers of the other side, which tell what is asked; nothing else is taken."""
    rows = LongRows(source=source)
    for task in tasks:
        given = task.get(part)
        for answer in given if isinstance(given, list) else []:
            if isinstance(answer, dict) and not answer.get("was_cancelled"):
                yield _results(rows, answer, item=None, rater=None)


def _check_nothing_ticked(
    answers: Sequence[_Answer], asks_for_sets: set[str], *, source: str, request: Request
) -> None:
    """Refuse to guess whether an answer with nothing ticked is one."""
    if request.kind is not None:
        return
    types = {question: kind for _, each in answers for question, kind in each.items()}
    wanted = types if request.question is None else {request.question} & types.keys()
    for question in sorted(set(wanted) - asks_for_sets):
        n_blank = sum(not values.get(question) for values, _ in answers)
        if types[question] in _LISTS and n_blank:
            msg = (
                f"{source}: `kind` must be given for {shorten(question)!r}, where {n_blank:,} of "
                f"{len(answers):,} answers have nothing ticked. Declare kind='multilabel' if that "
                "is an answer, kind='choice' if it is none."
            )
            raise InputError(msg)


def _questions_of_sets(answers: Sequence[_Answer], request: Request) -> set[str]:
    """Name the questions whose answers are sets: declared, or some answer has several labels."""
    found: set[str] = set()
    for values, types in answers:
        for question, labels in values.items():
            if types[question] in _LISTS and (
                request.kind == "multilabel" or (request.kind is None and len(labels) > 1)
            ):
                found.add(question)
    return found if request.question is None else found & {request.question}


def _task_key(tasks: Sequence[Any], *, source: str, request: Request) -> str | None:
    """Find the key of `data` that names items; None where the task's own id does."""
    keys = dict.fromkeys(key for task in tasks for key in task["data"])
    wanted = request.column_named("item")
    if wanted is None:
        return next((name for name in ("item", "id") if name in keys), None)
    if wanted not in keys:
        known = ", ".join(repr(key) for key in keys)
        msg = (
            f"{source}: `data` must hold the item's key, got {wanted!r} where the keys are "
            f"{shorten(known)}. Correct `columns`."
        )
        raise InputError(msg)
    return wanted


def _completed_by(rater: Value) -> Value:
    if not isinstance(rater, dict):
        return rater
    return rater.get("email") or rater.get("id")


def _results(
    rows: LongRows, answer: dict[str, Any], *, item: Value, rater: Value
) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Gather the values of an answer by question, and the type of each question."""
    values: dict[str, list[Any]] = defaultdict(list)
    types: dict[str, str] = {}
    for result in objects_in(answer.get("result"), name="result", source=rows.source):
        question, kind = result.get("from_name"), result.get("type")
        if not isinstance(question, str):  # a relation between regions belongs to no question
            continue
        if kind not in _LISTS and kind not in _SINGLES:
            reason = f"Label Studio results of type {kind!r} are not read"
            rows.set_aside(reason, item=item, rater=rater, question=question)
            continue
        types[question] = kind
        found = object_in(result.get("value"), name="value", source=rows.source).get(
            _LISTS.get(kind) or _SINGLES[kind]
        )
        if kind == "taxonomy" and isinstance(found, list):
            found = ["/".join(map(str, x)) if isinstance(x, list) else x for x in found]
        values[question] += found if isinstance(found, list) else [] if found is None else [found]
    return dict(values), types


def _add_single(
    rows: LongRows,
    found: list[Any],
    kind: str,
    item: Value,
    rater: Value,
    question: str,
    request: Request,
) -> None:
    label: Value = found[0] if found else None
    if len(found) > 1 and kind == "textarea":
        label = "\n".join(str(value) for value in found)
    elif len(found) > 1:
        reason = f"unknown label: must be one label, got {shorten(repr(found))}"
        rows.set_aside(reason, item=item, rater=rater, question=question)
        if request.role == "annotator":
            return
        label = None
    rows.add(item=item, rater=rater, label=label, question=question)


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


def _table_of_records(
    records: Sequence[Any],
    lines: Sequence[int | None],
    *,
    source: str,
    request: Request,
) -> Table:
    """Argilla's records as a table: each response is one label of one user.

    A judge's labels are the records' `suggestions`, named by their `agent`.
    """
    if not _is_argilla(records):
        message = (
            f"{source}: JSON must be a list of records with `responses`, "
            f"got {shorten(repr(next(iter(records), [])))}. Export it with `to_json`."
        )
        raise InputError(message)
    key = _record_key(records, source=source, request=request)
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


def _record_key(records: Sequence[Any], *, source: str, request: Request) -> str:
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


# The gold rows of the RBR authors -----------------------------------------------------------------

GOLD_RATER = "gold"

# Where their names of propositions are not those of the rubric `safety`.
_PROPOSITIONS = {
    "apology_acknowledges_emotional_state": "empathetic_apology",
    "gentle_encouragement_for_help": "gentle_encouragement",
    "illogical_continuation_of_prompt": "illogical_continuation",
}


def _is_gold(rows: Sequence[Any]) -> bool:
    """Tell gold rows by their `propositions` beside a `completion`."""
    return any(
        isinstance(row, dict) and isinstance(row.get("propositions"), dict) and "completion" in row
        for row in rows
    )


def _table_of_gold(
    rows: Sequence[dict[str, Any]],
    lines: Sequence[int | None],
    *,
    source: str,
    stem: str,
    request: Request,
) -> Table:
    """Gold rows as a table: each proposition is a question, labelled by one rater.

    An item without an id is called ``STEM:LINE``, as `stream_items` calls it.
    """
    if not _is_gold(rows):
        message = (
            f"{source}: rows must hold `propositions` beside a `completion`, "
            f"got {shorten(repr(next(iter(rows), {})))}. Leave out `format`."
        )
        raise InputError(message)
    table = LongRows(source=source)
    wanted = request.column_named("item")
    keys = ID_COLUMNS if wanted is None else (wanted,)
    rater = request.rater_name or GOLD_RATER
    for row, line in zip(rows, lines, strict=True):
        name = next((row[key] for key in keys if row.get(key) is not None), None)
        is_blank = name is None or (isinstance(name, str) and not name.strip())
        item = f"{stem}:{line}" if is_blank else name
        propositions = row.get("propositions")
        if not isinstance(propositions, dict):
            table.set_aside("no propositions", item=item, rater=rater, line=line)
            continue
        for theirs, label in propositions.items():
            ours = _PROPOSITIONS.get(theirs) or f"{theirs}"
            table.add(item=item, rater=rater, label=label, question=ours, line=line)
    return table.table()
