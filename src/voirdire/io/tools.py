"""Reads verdicts and labels that tools for evaluation export, known by their keys.

=========  ==========================================  ======================================
tool       known by                                    people are told from judges by
=========  ==========================================  ======================================
Langfuse   `source`, `traceId`                         `source`: ANNOTATION, EVAL
Phoenix    `annotator_kind`, `span_id`                 `annotator_kind`: HUMAN, LLM, CODE
MLflow     `assessments`, or `source.source_type`      `source_type`: HUMAN, LLM_JUDGE, CODE
promptfoo  `gradingResult`                             the assertion `human`
DeepEval   `metricsData` or `metrics_data`             (judges alone)
Inspect    a log that ends in ``.eval``                edits of a score by an author
=========  ==========================================  ======================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.rows import table_of_objects

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.io.declared import Request
    from voirdire.io.rows import Table

__all__ = ["read_eval_log", "read_tool_export"]


class _Entry(NamedTuple):
    """A label of a person or a judge; `is_human` is None where the export does not say."""

    item: Any
    question: Any
    label: Any
    is_human: bool | None
    rater: Any
    failure: str | None = None
    reason: str | None = None


_Entries = Iterator[_Entry]


def read_tool_export(document: Any, request: Request, *, source: str) -> Table | None:
    """Read an export of a tool; None where its keys are those of none."""
    rows = _find_rows(document)
    first = next((row for row in rows if isinstance(row, dict)), {})
    about = first.get("info")  # of a trace of MLflow
    names = {*first, *(about if isinstance(about, dict) else ())}
    for keys, read in _READERS:
        if keys <= names:
            entries = (x for row in rows if isinstance(row, dict) for x in read(row, request))
            return _make_table(entries, request, source=source)
    return None


def _find_rows(document: Any) -> list[Any]:
    """Find the list in an export: the document itself, or below one of a few names."""
    for _ in range(2):  # promptfoo's results stand in results
        if not isinstance(document, dict):
            break
        names = ("data", "annotations", "traces", "testCases", "test_results", "results")
        document = next((document[name] for name in names if name in document), None)
    return document if isinstance(document, list) else []


def _make_table(entries: _Entries, request: Request, *, source: str) -> Table:
    """Make a table of the labels of people or of judges, as `request` wants them."""
    is_human = request.role == "annotator"
    rows, n_others, n_unknown = [], 0, 0
    for entry in entries:
        if entry.is_human is None:
            n_unknown += 1
        elif entry.is_human is not is_human:
            n_others += 1
        else:
            about = {"item": entry.item, "question": entry.question, "label": entry.label}
            more = {request.role: entry.rater, "failure": entry.failure, "reason": entry.reason}
            rows.append(about | more)
    if not rows:
        whose, others = ("people", "judges") if is_human else ("judges", "people")
        msg = f"{source}: must hold labels of {whose}, got {n_others:,} of {others} and "
        raise NoDataError(f"{msg}{n_unknown:,} that say of neither. Name another file.")
    table = table_of_objects(rows, [None] * len(rows), source=source)
    if not n_unknown:
        return table
    note = f"{source}: {n_unknown:,} scores say neither person nor judge, and are left out"
    return replace(table, notes=(*table.notes, note))


def _get(row: Any, *keys: str) -> Any:
    """Get a value below keys; None where one is missing."""
    for key in keys:
        row = row.get(key) if isinstance(row, dict) else None
    return row


def _read_langfuse(row: dict[str, Any], _request: Request) -> _Entries:
    source, kind, value = row.get("source"), row.get("dataType"), row.get("value")
    label = row.get("stringValue") if kind == "CATEGORICAL" else value
    if kind == "BOOLEAN" and value in (0, 1):
        label = bool(value)
    is_human = {"ANNOTATION": True, "EVAL": False}.get(str(source))
    rater = row.get("authorUserId") or _get(row, "metadata", "model") or source
    item = row.get("observationId") or row.get("traceId")
    yield _Entry(item, row.get("name"), label, is_human, rater, reason=row.get("comment"))


def _read_phoenix(row: dict[str, Any], _request: Request) -> _Entries:
    kind, label = row.get("annotator_kind"), _get(row, "result", "label")
    label = _get(row, "result", "score") if label is None else label
    is_human = {"HUMAN": True, "LLM": False, "CODE": False}.get(str(kind))
    who = row.get("user_id") if is_human else _get(row, "metadata", "model")
    rater = who or row.get("identifier") or kind
    why = _get(row, "result", "explanation")
    yield _Entry(row["span_id"], row.get("name"), label, is_human, rater, reason=why)


def _read_mlflow(row: dict[str, Any], request: Request) -> _Entries:
    """Read the assessments of a trace, or one assessment."""
    about = row["info"] if isinstance(row.get("info"), dict) else row
    listed = about.get("assessments")
    if isinstance(listed, list):
        for each in listed:
            if isinstance(each, dict):
                yield from _read_mlflow({"trace_id": about.get("trace_id")} | each, request)
        return
    kind = _get(row, "source", "source_type")
    is_human = {"HUMAN": True, "LLM_JUDGE": False, "AI_JUDGE": False, "CODE": False}.get(str(kind))
    error = _get(row, "feedback", "error") or row.get("error")
    failure = None if not error else str(_get(error, "error_code") or error)
    label = _get(row, "feedback", "value") if "feedback" in row else row.get("value")
    if "expectation" in row:  # what a person expects is gold, and no label
        return
    question = row.get("assessment_name") or row.get("name")
    rater = _get(row, "source", "source_id") or kind
    item = row.get("trace_id")
    yield _Entry(item, question, label, is_human, rater, failure, row.get("rationale"))


def _read_promptfoo(row: dict[str, Any], request: Request) -> _Entries:
    item = f"{row.get('testIdx')}|{row.get('promptIdx')}"
    parts = _get(row, "gradingResult", "componentResults")
    for part in parts if isinstance(parts, list) else ():
        kind = _get(part, "assertion", "type")
        question = _get(part, "assertion", "metric") or kind
        label = part.get("score" if request.kind == "scale" else "pass")
        failure = _get(part, "error")
        yield _Entry(item, question, label, kind == "human", kind, failure, part.get("reason"))


def _read_deepeval(row: dict[str, Any], request: Request) -> _Entries:
    metrics = row.get("metricsData", row.get("metrics_data"))
    for each in metrics if isinstance(metrics, list) else ():
        label = each.get("score" if request.kind == "scale" else "success")
        rater = each.get("evaluationModel") or each.get("evaluation_model") or "deepeval"
        error = each.get("error")
        failure = None if error is None else str(error)
        why = each.get("reason")
        about = {"is_human": False, "rater": rater, "failure": failure, "reason": why}
        yield _Entry(row.get("name"), each.get("name"), label, **about)


_READERS: tuple[tuple[set[str], Callable[[dict[str, Any], Request], _Entries]], ...] = (
    ({"source", "traceId", "name"}, _read_langfuse),
    ({"annotator_kind", "span_id"}, _read_phoenix),
    ({"assessments"}, _read_mlflow),
    ({"assessment_name", "source"}, _read_mlflow),
    ({"gradingResult"}, _read_promptfoo),
    ({"metricsData"}, _read_deepeval),
    ({"metrics_data"}, _read_deepeval),
)
"""What a row has in the export of a tool, and what reads it."""


# Inspect ----------------------------------------------------------------------------------------

_GRADES = {"C": True, "I": False}


def read_eval_log(path: str | Path, request: Request) -> Table:
    """Read the scores of a log of Inspect, by its own reader; each scorer is a judge.

    A score that was edited has the scorer's value first; an author's is a person's.
    """
    try:
        from inspect_ai.log import read_eval_log_samples
    except ImportError:
        msg = f"{path}: a log of Inspect needs Inspect. Install it with `pip install inspect-ai`."
        raise InputError(msg) from None

    def read() -> _Entries:
        samples = read_eval_log_samples(str(path), all_samples_required=False)
        for sample in samples:
            item = sample.id if sample.epoch == 1 else f"{sample.id}:{sample.epoch}"
            for name, score in (sample.scores or {}).items():
                first, why = score.value, score.reason or "unscored"
                for edit in score.history:
                    author = getattr(edit.provenance, "author", None)
                    if author is None:
                        first = first if edit.value == "UNCHANGED" else edit.value
                    elif edit.value != "UNCHANGED":
                        yield from _list_values(item, name, edit.value, author=author, why=why)
                yield from _list_values(item, name, first, author=None, why=why)

    return _make_table(read(), request, source=str(path))


def _list_values(item: Any, name: str, value: Any, *, author: Any, why: str) -> _Entries:
    """List the values of a score, one for each question."""
    for question, each in value.items() if isinstance(value, dict) else ((name, value),):
        is_lost = each is None or (isinstance(each, float) and math.isnan(each))
        label = None if is_lost else _GRADES.get(each, each) if isinstance(each, str) else each
        failure = shorten(str(why)) if is_lost else None
        yield _Entry(item, question, label, author is not None, author or name, failure)
