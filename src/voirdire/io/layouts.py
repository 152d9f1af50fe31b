"""Knows tables that have names of their own for their columns, or several people in one row.

`LAYOUTS` is the table of them: columns that occur together only there, and which of them are the
item, the rater and the label. `name_columns` gives a table columns under our own names; where a
cell or a row holds several labels `find_answers` lists them.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from voirdire._messages import shorten
from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire.errors import InputError, NoDataError
from voirdire.io.criteria import META_EVALUATION, name_criterion
from voirdire.io.declared import split_names
from voirdire.io.files import place
from voirdire.io.pairs import EXCHANGED, PAIRS, exchange_pairs
from voirdire.io.rows import Table, table_rows
from voirdire.io.values import refuse_column, texts
from voirdire.records.items import IS_MET

if TYPE_CHECKING:
    from voirdire.io.declared import Request
    from voirdire.io.rows import Column


class Answer(NamedTuple):
    """A label of an export; with a reason, an entry that is not a label."""

    item: Any
    rater: Any
    question: Any = None
    label: Any = None
    line: int | None = None
    reason: str | None = None


REPLACED = "replaced by the person's later annotation"
"""Why the earlier one of two answers of a person is no label."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns that occur together only in one kind of file, and what they are.

    `item` are the columns that together name an item; of those of `rater` and `label` the first
    counts that the table has. The cells of `people` hold several people.
    """

    keys: set[str]
    item: tuple[str, ...] = ()
    rater: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    people: tuple[str, ...] = ()


_PRODIGY = Layout(
    keys={"_input_hash", "answer"},
    item=("_input_hash",),
    rater=("_annotator_id", "_session_id"),
    label=("accept", "label"),
)
_QUALTRICS = Layout(keys={"ResponseId", "StartDate", "Status"}, rater=("ResponseId",))
_FORMS = Layout(keys={"Timestamp"}, rater=("Email Address", "Email", "Username", "Name"))
LAYOUTS = (
    _PRODIGY,
    _QUALTRICS,
    Layout(  # MT-Bench, Chatbot Arena
        keys={"question_id", "model_a", "model_b", "winner"},
        item=("question_id", "model_a", "model_b", "turn"),
        rater=("judge",),
        label=("winner",),
    ),
    Layout(  # HealthBench, meta-evaluation
        keys={"completion_id", "binary_labels", "anonymized_physician_ids"},
        item=("completion_id",),
        rater=("anonymized_physician_ids",),
        label=("binary_labels",),
    ),
    Layout(  # Argilla 1, text classification
        keys={"annotation", "annotation_agent"}, rater=("annotation_agent",), label=("annotation",)
    ),
    Layout(keys={"HITId", "WorkerId"}, item=("HITId",), rater=("WorkerId",)),  # Mechanical Turk
    Layout(  # Toloka
        keys={"ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"},
        item=("ASSIGNMENT:task_id",),
        rater=("ASSIGNMENT:worker_id",),
    ),
    Layout(  # SummEval
        keys={"expert_annotations"}, item=("id", "model_id"), people=("expert_annotations",)
    ),
    Layout(  # HelpSteer3
        keys={"individual_preference"}, item=("id",), people=("individual_preference",)
    ),
    Layout(  # LeWiDi, JUDGE-BENCH
        keys={"annotations"}, item=("item",), people=("annotations",)
    ),
)
_STATUS = re.compile(r"(?:.*[_: ]|assignment)?(?:status|approval(?:_status)?)", re.I)
_MAY_BE_STATUS = re.compile(r"state|review|validity|(?:quality|attention)_?check", re.I)
_NOT_ACCEPTED = {
    *("rejected", "returned", "timed-out", "timed out", "discarded", "draft", "invalid"),
    *("skipped", "screened out", "cancelled", "canceled", "abandoned", "expired", "failed"),
    *("fail", "superseded", "spam", "deleted", "excluded", "incomplete", "reject", "ignored"),
}
_TRUTHS_OF_STATUS: dict[re.Pattern[str], Collection[str]] = {
    re.compile(r"(?:is_)?(?:valid|accepted|approved|included?|keep|kept|usable)|passed.*", re.I): (
        FALSE_WORDS
    ),
    re.compile(
        r"(?:is_|was_)?(?:excluded?|discarded|deleted|removed|rejected|invalid|ignored?|cancel(?:l?ed)"
        r"|skipped)|is_spam(?:mer)?",
        re.I,
    ): TRUE_WORDS,
}
"""Columns of truth values that say that a row counts or does not, with what says no."""
_RATER_KEYS = ("annotator", "annotator_id", "user_id", "worker", "worker_id", "rater")
_LABEL_KEYS = ("label", "value", "score", "rating", "answer", "choice", "winner")
"""Keys of a person within a cell."""

_MOST_NAMES = 10


def find_status_columns(columns: Sequence[str]) -> list[str]:
    """List the columns that may say which rows count."""
    patterns = (_STATUS, _MAY_BE_STATUS, *_TRUTHS_OF_STATUS)
    return [name for name in columns if any(x.fullmatch(name.strip()) for x in patterns)]


def keep_rows(table: Table, request: Request) -> Table:
    """Keep the rows that the caller wants; refuse a table that says of some that they do not count.

    A column that chooses rows is no rater.
    """
    wanted: dict[str, list[str]] = {}
    for condition in request.where:
        column, _, value = condition.partition("=")
        wanted.setdefault(column.strip(), []).append(value.strip())
    declared = {*(request.columns or {}).values(), *(request.named_raters or ()), *wanted}
    is_survey = _QUALTRICS.keys <= {*table.columns}
    patterns = _TRUTHS_OF_STATUS if request.kind != "multilabel" else {}
    patterns = {_STATUS: _NOT_ACCEPTED, _MAY_BE_STATUS: _NOT_ACCEPTED} | patterns
    for name, (pattern, words) in product(table.columns, patterns.items()):
        if is_survey or name in declared or not pattern.fullmatch(name.strip()):
            continue
        given = texts(table.load([name]).columns[name], source=table.source).drop_nulls()
        counts = Counter(given.str.strip_chars().to_list())
        bad = [value for value in counts if value.casefold() in words]
        if bad:
            n_bad, shown = sum(counts[value] for value in bad), " or ".join(map(shorten, bad))
            kept = [value for value in counts if value not in bad]
            lines = [
                " ".join(
                    f"--where {shlex.quote(f'{name}={value}')}" for value in values[:_MOST_NAMES]
                )
                for values in (kept, list(counts))
            ]
            raise InputError(
                f"{table.source}: column `{name}` says of {n_bad:,} of {len(given):,} rows that "
                f"they are {shown}. Keep the others with {lines[0] or '--where'}, or all of them "
                f"with {lines[1]}."
            )
    for column, values in wanted.items():
        table = _keep_values(table, column, values)
    free = tuple(
        name
        for name in table.columns
        if is_survey or name in declared or not _STATUS.fullmatch(name.strip())
    )
    chosen = {*wanted} - {*(request.columns or {}).values(), request.cluster}
    return replace(table, columns=tuple(name for name in free if name not in chosen))


def _keep_values(table: Table, column: str, values: Sequence[str]) -> Table:
    if column not in table.columns:
        refuse_column(table, column, way_out="Correct `where`.")
    given = texts(table.load([column]).columns[column], source=table.source).str.strip_chars()
    keep = given.is_in(list(values)).fill_null(value=False)
    if not keep.any():
        known = ", ".join(
            repr(shorten(value)) for value in given.drop_nulls().unique().sort()[:_MOST_NAMES]
        )
        wanted = " or ".join(map(repr, values))
        msg = f"{table.source}: column `{column}` must hold {wanted} somewhere, got {known}. "
        raise NoDataError(msg + "Correct `where`.")
    note = f"{int(keep.sum()):,} of {len(keep):,} rows of {table.source} have {column}="
    return table.change({}, places=keep.arg_true().to_list(), notes=[note + " or ".join(values)])


def name_columns(table: Table, request: Request) -> Table:
    """Give the columns of a known layout, and an item of several columns, our own names."""
    table = _read_flags(_keep_latest(exchange_pairs(table, request)), request)
    table, layout = name_item(table, request.column_named("item"))
    if layout is not None:
        for ours, theirs in ((request.role, layout.rater), ("label", layout.label)):
            if ours not in table.columns:
                there = [name for name in theirs if name in table.columns]
                table = _derive(table, ours, there[:1])
    rater = _first(request, "rater", (request.role, "rater", "annotator"), table.columns)
    label = _first(request, "label", ("label",), table.columns)
    if rater is not None and label is not None and {rater, label} <= {*table.columns}:
        table = _spread_lists(table, rater, label)
    if EXCHANGED in table.columns and "label" not in table.columns:  # no raters of a wide table
        sides = {*chain(*PAIRS)}
        free = tuple(name for name in table.columns if name.strip().casefold() not in sides)
        table = replace(table, columns=free)
    return table


def name_item(table: Table, declared: str | None) -> tuple[Table, Layout | None]:
    """Give an item of several columns, of a known layout or declared as ``a,b``, a column."""
    layout = next((each for each in LAYOUTS if each.keys <= {*table.columns}), None)
    if {*META_EVALUATION} <= {*table.columns}:
        table = _derive(table, "item", ["completion_id", "rubric"], write=_name_criterion)
        table = _derive(table, "question", ["rubric"], write=lambda _: IS_MET)
    elif layout is not None:
        table = _derive(table, "item", [name for name in layout.item if name in table.columns])
    if declared is not None and declared not in table.columns:
        parts = [name.strip() for name in declared.split(",")]
        if len(parts) > 1 and {*parts} <= {*table.columns}:
            table = _derive(table, declared, parts)
    return table, layout


def _keep_latest(table: Table) -> Table:
    """Keep the last annotation of a task by one person, in the small exports of Label Studio."""
    names = ("id", "annotator", "updated_at", "annotation_id")
    if not {*names} <= {*table.columns}:
        return table
    columns = table.load(names).columns
    rows = list(zip(*(texts(columns[x], source=table.source) for x in names), strict=True))
    by_time = sorted(range(len(rows)), key=lambda n: (rows[n][2] or "", len(rows[n][3] or ""), n))
    latest = {rows[n][:2]: n for n in by_time}
    places = sorted(latest.values())
    if len(places) == len(rows):
        return table
    n_early = len(rows) - len(places)
    note = f"{n_early:,} annotations were replaced by a later one of the same person"
    return table.change({}, places=places, notes=[note])


_FLAGS = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}


def _read_flags(table: Table, request: Request) -> Table:
    """Read rows that say of each label whether it applies: as sets, or as a question each."""
    columns = table.columns
    if not {"label", "value"} <= {*columns} or request.column_named("label"):
        return table
    item = _first(request, "item", ("item", "id"), columns)
    rater = _first(request, "rater", (request.role, "rater", "annotator"), columns)
    names = [name for name in (item, rater, "question") if name in columns and name is not None]
    rows = table.load([*names, "label", "value"])
    cells = {x: texts(rows.columns[x], source=table.source).to_list() for x in rows.columns}
    flags = [None if value is None else _FLAGS.get(value.casefold()) for value in cells["value"]]
    keys = list(zip(*(cells[name] for name in names), strict=True))
    is_other = any(x is None and y is not None for x, y in zip(flags, cells["value"], strict=True))
    if is_other or len({*keys}) == len(keys):
        return table
    if request.kind is None:
        raise InputError(
            f"{table.source}: `kind` must be given where rows say of each `label` whether it "
            "applies. Declare kind='multilabel' for one question whose answers are sets of them, "
            "kind='boolean' for a question each."
        )
    if request.kind == "boolean":
        table = _derive(table, "question", [x for x in ("question", "label") if x in columns])
        return _derive(table, "label", ["value"])
    if request.kind != "multilabel":
        return table
    sets: dict[Any, list[str]] = {key: [] for key in keys}
    first: dict[Any, int] = {}
    for row, (key, label, flag) in enumerate(zip(keys, cells["label"], flags, strict=True)):
        first.setdefault(key, row)
        sets[key] += [label] if flag and label is not None else []
    return table.change({"label": list(sets.values())}, places=list(first.values()))


def _derive(
    table: Table, name: str, parts: Sequence[str], *, write: Callable[..., str] | None = None
) -> Table:
    """Add a column: another one, or the texts of several with bars between, or as `write` has it.

    Where one of its parts is missing it has nothing.
    """
    if not parts or list(parts) == [name]:
        return table
    columns = table.load(parts).columns
    column = columns[parts[0]]
    if write is not None or len(parts) > 1:
        series = [texts(columns[each], source=table.source) for each in parts]
        column = pl.select(pl.concat_str(series, separator="|")).to_series()
    if write is not None:
        cells = zip(*series, strict=True)
        column = [None if None in each else write(*each) for each in cells]
    return table.change({name: column})


def _name_criterion(completion: str, text: str) -> str:
    """Name an item of HealthBench's meta-evaluation as verdicts do."""
    return f"{completion}:{name_criterion(text)}"


_GUESSES = {
    "rater": re.compile(
        "annotator|worker|rater|coder|label+er|user|participant|evaluator|reviewer|judge"
    ),
    "item": re.compile(
        "(item|text|doc|document|task|question|example|sample|comment|tweet|post|prompt|instance|"
        "sentence|row|record|unit|message|response|completion)?_?-?(id|ids|nr|no|num|number|index|"
        "key|uid|idx|hash)|item|text|sentence|tweet|comment|document"
    ),
    "label": re.compile(
        "(.*[_.:])?(label|rating|score|answer|class|category|code|choice|annotation|judgment|verdict|"
        "value|vote|winner|result|toxic|sentiment)"
    ),
}
"""How other tables call our columns."""


def explain_missing(table: Table, request: Request, name: str) -> str:
    """Return what to do about a table that lacks a column: the names that are missing, guessed."""
    own = {"item": ("item", "id"), "label": ("label", "value")}
    own |= {} if request.role == "judge" else {"rater": ("annotator", "rater")}
    there = {x: _first(request, x, names, table.columns) for x, names in own.items()}
    free = [column for column in table.columns if column not in there.values()]
    guesses: dict[str, str] = {}
    for concept, pattern in _GUESSES.items():
        found = [x for x in free if pattern.fullmatch(x.strip().casefold())]
        if concept == "rater":
            found = [x for x in free if pattern.search(x.strip().casefold())]
        if there.get(concept, "") is None and found:
            guesses[concept] = found[0]
            free.remove(found[0])
    is_long = all(there.get(x, "") is not None or x in guesses for x in ("rater", "label"))
    ours = {"item": "item", "rater": "annotator", "label": "label"}
    missing = [
        x for x in ours if there.get(x, "") is None and (is_long or x == "item" or ours[x] == name)
    ]
    named = ", ".join(
        f'"{ours[x]}": {json.dumps(guesses[x], ensure_ascii=False) if x in guesses else "..."}'
        for x in missing
    )
    wide = "" if name == "item" else ", or name the columns of a wide table with raters=[...]"
    if name == "annotator" and there["item"] in table.columns and "rater" not in guesses:
        items = table.load([there["item"] or ""]).columns[there["item"] or ""]
        if len(texts(items, source=table.source).unique()) == len(items) > 1:
            wide = (
                f". One label an item is gold: `--gold {shlex.quote(table.source)}` reads it. Or "
                f"--rater {shlex.quote(there['label'] or 'label')} takes it for one annotator's"
            )
    return f"Name {'it' if len(missing) < 2 else 'them'} with columns={{{named}}}{wide}."


# Several people in a row ------------------------------------------------------------------------


def find_answers(table: Table, request: Request) -> tuple[list[Answer], list[str]] | None:
    """List the labels, with notes, of a layout of which a row holds several; else None."""
    columns = {*table.columns}
    if _PRODIGY.keys <= columns:
        return list(_prodigy(table, request)), []
    declared = [request.column_named(concept) for concept in ("item", "label")]
    ours = ("item", "id", "label", "annotator", "judge")
    has_own = any(declared) or not columns.isdisjoint(ours)
    if _QUALTRICS.keys <= columns or (_FORMS.keys <= columns and not has_own):
        return _survey(table, request)
    return _nested(table, request)


def _first(request: Request, concept: str, known: Sequence[str], keys: Any) -> str | None:
    """Return the caller's own key, or the first known one that is there."""
    return request.column_named(concept) or next((name for name in known if name in keys), None)


def _prodigy(table: Table, request: Request) -> Iterator[Answer]:
    """Read what `prodigy db-out` writes: options that were accepted, or a label that was.

    Of two answers of one person to a task the later one counts.
    """
    keys = {*table.columns}
    label = _first(request, "label", _PRODIGY.label, keys)
    rater = _first(request, "rater", _PRODIGY.rater, keys)
    if label is None:
        rule = "column `accept` or `label` must exist in what Prodigy wrote"
        way_out = "Spans and relations cannot be compared"
        raise InputError(f"{rule}, got none. {way_out}.")
    if rater is None and request.role == "annotator" and request.rater_name is None:
        rule = "column `_annotator_id` or `_session_id` must exist in what Prodigy wrote"
        raise InputError(f'{rule}, got none. Name it with columns={{"annotator": ...}}.')
    item = request.column_named("item") or "_input_hash"
    rows = [(line, row) for line, row, _ in table_rows(table)]
    accepted = [row.get(label) for _, row in rows if row.get("answer") == "accept"]
    is_single = request.kind is None and all(
        isinstance(given, list) and len(given) == 1 for given in accepted
    )

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        question = row.get("label") if label == "label" else ""
        return str(row.get(item)), str(row.get(rater or "")), str(question)

    by_time = sorted(rows, key=lambda each: each[1].get("_timestamp") or 0)
    latest = {key(row): line for line, row in by_time}
    for line, row in rows:
        given, answer, question, reason = row.get(label), row.get("answer"), None, None
        if latest[key(row)] != line:
            reason = REPLACED
        elif answer == "ignore":
            reason = "ignored in Prodigy"
        elif label == "label" and isinstance(given, str):
            question, given = given, answer == "accept"
        elif answer == "reject" and label != "answer":
            reason = "rejected in Prodigy, so that no option is its answer"
        elif isinstance(given, list) and len(given) == 1:
            given = given[0] if is_single or request.kind in ("choice", "scale") else given
        who = request.single_rater if rater is None else row.get(rater)
        yield Answer(row.get(item), who, question, given, line, reason)


def _survey(table: Table, request: Request) -> tuple[list[Answer], list[str]]:
    """Read a form: a row is a person, and a column is an item."""
    layout = _QUALTRICS if _QUALTRICS.keys <= {*table.columns} else _FORMS
    rater = _first(request, "rater", layout.rater, table.columns)
    about = _ABOUT_PEOPLE | {rater}
    items = [name for name in table.columns if name not in about and name.strip()]
    found, finished = [], Counter[str]()
    for line, row, _ in table_rows(table):
        who = str(row.get(rater or "") or f"row {line}")
        if layout is _QUALTRICS and (who == "Response ID" or who.startswith("{")):
            continue  # the second and third of its header rows
        if layout is _QUALTRICS and str(row["Status"]) in ("Survey Preview", "Spam", "1", "8"):
            found.append(Answer(None, who, None, None, line, "a preview or spam of Qualtrics"))
            continue
        finished[str(row.get("Finished")).casefold()] += 1
        for name in items:
            blank = row[name] is None or not str(row[name]).strip()
            if not blank or request.kind == "multilabel":
                found.append(Answer(name, who, None, row[name], line))
    notes = [f"each row of {table.source} is a person, each of {len(items):,} columns an item"]
    for yes, no in (("True", "false"), ("1", "0")):
        if n_unfinished := finished[no] * bool(finished[yes.casefold()]):
            way_out = f"`--where Finished={yes}` leaves them out"
            notes.append(f"{n_unfinished:,} people of Qualtrics did not finish: {way_out}")
    return found, notes


_ABOUT_PEOPLE = {
    *("StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)"),
    *("Finished", "RecordedDate", "ResponseId", "RecipientLastName", "RecipientFirstName"),
    *("RecipientEmail", "ExternalReference", "LocationLatitude", "LocationLongitude"),
    *("DistributionChannel", "UserLanguage", "PROLIFIC_PID", "Timestamp", "Email Address"),
    *("Email", "Username", "Name", "Score", "Age", "Gender"),
}
"""Columns of Qualtrics and of Google Forms that are no items."""


def _nested(table: Table, request: Request) -> tuple[list[Answer], list[str]] | None:
    """Read cells that hold several people: lists of objects, or objects of labels by name."""
    columns = {*table.columns}
    declared = request.column_named("label")
    layout = next((each for each in LAYOUTS if each.people and each.keys <= columns), None)
    hub = [name for name in table.columns if f"{name}-suggestion" in columns]  # of Argilla 1
    wanted = [declared] if declared else hub or list(layout.people if layout else ())
    wanted = [name for name in wanted if name in columns]
    if not wanted or table.blank_is_null:
        return None
    first = _first_cell(table.load(wanted).columns[wanted[0]])
    if not (_people_in(first) or (isinstance(first, str) and "annotators" in columns)):
        return None
    item = request.column_named("item")
    names = [name for name in (layout.item if layout else ()) if name in columns]
    names = split_names([item], table.columns) if item else names
    for name in ("item", "id", "external_id"):
        if not names and name in columns and _first_cell(table.load([name]).columns[name]):
            names = [name]
    found: list[Answer] = []
    has_names = True
    for line, row, _ in table_rows(table):
        parts = [row.get(name) for name in names]
        identity: Any = None if None in parts else "|".join(map(str, parts)) or str(line)
        for column in wanted:
            question = column if hub else None
            if request.role == "judge" and hub:
                about = row.get(f"{column}-suggestion-metadata") or {}
                who = about.get("agent") or request.single_rater
                found.append(Answer(identity, who, question, row[f"{column}-suggestion"], line))
                continue
            cell = row[column]
            if isinstance(cell, str):  # LeWiDi: the people and their labels with commas between
                cell = dict(zip(row["annotators"].split(","), cell.split(","), strict=True))
            for name, number, asked, label, status in _people_in(cell):
                reason = f"{status} response" if status in _DRAFTS else None
                has_names &= name is not None
                who = name if name is not None else f"{column} {number}"
                found.append(Answer(identity, who, asked or question, label, line, reason))
    note = f"{table.source} names no people: they are called by their place in `{wanted[0]}`"
    return found, [] if has_names else [note]


_DRAFTS = ("discarded", "draft")


def _people_in(cell: Any) -> list[tuple[Any, ...]]:
    """List the people in a cell: name, number, question, label, status; none without people."""
    if isinstance(cell, Mapping):
        lists = [value for value in cell.values() if isinstance(value, list)]
        if len(lists) == len(cell) and not {*_RATER_KEYS}.isdisjoint(cell):
            rows = zip(*cell.values(), strict=False)  # a list of objects, as some Parquet has it
            return _people_in([dict(zip(cell, values, strict=True)) for values in rows])
        found: list[tuple[Any, ...]] = []
        for number, (name, value) in enumerate(cell.items(), start=1):
            if isinstance(value, Mapping):
                scores = value.get("individual_human_scores")  # JUDGE-BENCH
                if isinstance(scores, list):
                    found += [(None, n, name, x, None) for n, x in enumerate(scores, start=1)]
                else:
                    found += [(name, number, *each, None) for each in value.items()]
            elif not isinstance(value, list):
                found.append((name, number, None, value, None))
        return found
    found = []
    for number, person in enumerate(cell if isinstance(cell, list) else (), start=1):
        if not isinstance(person, Mapping):
            return []
        name = next((person[key] for key in _RATER_KEYS if key in person), None)
        key = next((key for key in _LABEL_KEYS if key in person), None)
        labels = (
            {None: person[key]}
            if key
            else {x: y for x, y in person.items() if x not in _RATER_KEYS}
        )
        status = person.get("status")
        found += [(name, number, *each, status) for each in labels.items()]
    return found


# Parallel lists ---------------------------------------------------------------------------------

_TOKEN = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s\[\]]+)""")


def _spread_lists(table: Table, rater: str, label: str) -> Table:
    """Give each person of rows with parallel lists of people and labels a row of their own."""
    rows = table.load([rater, label])
    sides = [rows.columns[rater], rows.columns[label]]
    is_list = all(_list_in(_first_cell(side)) is not None for side in sides)
    if not is_list or any(_list_in(x) is None for side in sides for x in side if x is not None):
        return table
    lists = [[_list_in(cell) or [] for cell in side] for side in sides]
    for number, (people, labels) in enumerate(zip(*lists, strict=True)):
        if len(people) != len(labels):
            where = place(table.source, line=rows.lines[number], column=label)
            raise InputError(
                f"{where} must hold a label for each of {len(people)} people in `{rater}`, "
                f"got {len(labels)}. Correct the lists."
            )
    people, labels = (list(chain.from_iterable(side)) for side in lists)
    places = [n for n, mine in enumerate(lists[0]) for _ in mine]
    return table.change({rater: people, label: labels}, places=places)


def _first_cell(column: Column) -> Any:
    """Return the first cell that is not null; a list of polars as Python's."""
    cell = next((cell for cell in column if cell is not None), None)
    return cell.to_list() if isinstance(cell, pl.Series) else cell


def _list_in(cell: Any) -> list[Any] | None:
    """Return the list in a cell, also as text of JSON, Python or NumPy; None for anything else."""
    if isinstance(cell, list | pl.Series):
        return list(cell)
    text = cell.strip() if isinstance(cell, str) else ""
    if not (text.startswith("[") and text.endswith("]")) or "[" in text[1:] or "]" in text[:-1]:
        return None
    if "," not in cell:
        return ["".join(parts) for parts in _TOKEN.findall(cell)]
    for read in (msgspec.json.decode, ast.literal_eval):
        try:
            value = read(cell.strip())
        except (msgspec.DecodeError, ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return value if isinstance(value, list) else None
    return None
