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
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.rows import table_of_objects

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.io.declared import Request
    from voirdire.io.rows import Table

_Entries = Iterator[dict[str, Any]]
"""An item, a question, a label, its rater, a failure and a reason; with `is_human`, None where the
export does not say whether it is a person's."""

# Langfuse, Phoenix, MLflow, promptfoo, DeepEval
_KNOWN_BY = ("source traceId name", "annotator_kind span_id",
             "assessments, assessment_name source", "gradingResult",
             "metricsData, metrics_data")  # fmt: skip
_PATHS = {
    "entries": (
        "", "", "info.assessments assessments", "gradingResult.componentResults",
        "metricsData metrics_data"),
    "item": (
        "observationId traceId", "span_id", "trace_id row.info.trace_id row.trace_id",
        "row.testIdx|row.promptIdx", "row.name"),
    "question": (
        "name", "name", "assessment_name name", "assertion.metric assertion.type", "name"),
    "label": (
        "stringValue value", "result.label result.score", "feedback.value value", "pass",
        "success"),
    "scale": ("value", "result.score result.label", "feedback.value value", "score", "score"),
    "by": ("source", "annotator_kind", "source.source_type", "assertion.type", ""),
    "annotator": (
        "authorUserId source", "user_id identifier annotator_kind",
        "source.source_id source.source_type", "assertion.type", ""),
    "judge": (
        "metadata.model source", "metadata.model identifier annotator_kind",
        "source.source_id source.source_type", "assertion.type",
        "evaluationModel evaluation_model"),
    "failure": (
        "", "", "feedback.error.error_code feedback.error error.error_code error", "error",
        "error"),
    "reason": ("comment", "result.explanation", "rationale", "reason", "reason"),
}  # fmt: skip
"""The keys by which rows of each tool are known, and the paths to what they say.

Of several paths the first that holds something counts. They begin in a row, or in each of its
`entries` where there is such a list; then ``row.`` leads to the row.
"""

_BY = dict.fromkeys(("ANNOTATION", "HUMAN", "human"), True)
_BY |= dict.fromkeys(("EVAL", "LLM", "CODE", "LLM_JUDGE", "AI_JUDGE"), False)
_FIRST_OF_JUDGES = 3
"""Tools from here on have no other scores than judges', but for people's own."""


def read_tool_export(document: Any, request: Request, *, source: str) -> Table | None:
    """Read an export of a tool; None where its keys are those of none."""
    for _ in range(2):  # promptfoo's results stand in results
        if isinstance(document, dict):
            names = ("data", "annotations", "traces", "testCases", "test_results", "results")
            document = next((document[name] for name in names if name in document), None)
    rows = [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []
    first = next(iter(rows), {})
    about = first.get("info")  # of a trace of MLflow
    known = {*first, *(about if isinstance(about, dict) else ())}
    tool = next((place for place, sets in enumerate(_KNOWN_BY)
                 if any({*keys.split()} <= known for keys in sets.split(","))), None)  # fmt: skip
    if tool is None:
        return None
    is_other_human = False if tool >= _FIRST_OF_JUDGES else None
    label = "scale" if request.kind == "scale" else "label"

    def read() -> _Entries:
        for row in rows:
            listed = _find(row, _PATHS["entries"][tool])
            alone = [row] if is_other_human is None else []
            for part in listed if isinstance(listed, list) else alone:
                # what a person expects, in MLflow, is gold and no label
                if isinstance(part, dict) and "expectation" not in part:
                    about = {x: _find({**part, "row": row}, y[tool]) for x, y in _PATHS.items()}
                    is_human = _BY.get(str(about["by"]), is_other_human)
                    rater = about[request.role] or "deepeval"
                    failure = None if about["failure"] is None else str(about["failure"])
                    changed = {"label": about[label], "rater": rater, "failure": failure}
                    yield about | changed | {"is_human": is_human}

    return _make_table(read(), request, source=source)


def _find(row: Any, paths: str) -> Any:
    """Find the first value that is something below some paths, each of keys with dots between.

    Bars part the paths of several values, which are joined.
    """
    for path in paths.split():
        found = []
        for each in path.split("|"):
            value = row
            for key in each.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            found.append(value)
        if found[0] not in (None, ""):
            return found[0] if len(found) == 1 else "|".join(map(str, found))
    return None


def _make_table(entries: _Entries, request: Request, *, source: str) -> Table:
    """Make a table of the labels of people or of judges, as `request` wants them."""
    is_human = request.role == "annotator"
    known: dict[bool | None, list[dict[str, Any]]] = {True: [], False: [], None: []}
    for entry in entries:
        known[entry["is_human"]].append(entry)
    names = ("item", "question", "label", "failure", "reason")
    rows = [
        {x: row.get(x) for x in names} | {request.role: row["rater"]} for row in known[is_human]
    ]
    n_others, n_unknown = len(known[not is_human]), len(known[None])
    if not rows:
        whose, others = ("people", "judges") if is_human else ("judges", "people")
        msg = f"{source}: must hold labels of {whose}, got {n_others:,} of {others} and "
        raise NoDataError(f"{msg}{n_unknown:,} that say of neither. Name another file.")
    table = table_of_objects(rows, [None] * len(rows), source=source)
    note = f"{source}: {n_unknown:,} scores say neither person nor judge, and are left out"
    return table.change({}, notes=[note] if n_unknown else [])


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
        about = {"item": item, "question": question, "label": label, "rater": author or name}
        failure = shorten(str(why)) if is_lost else None
        yield about | {"failure": failure, "is_human": author is not None}
