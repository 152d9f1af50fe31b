"""Reading labels: what the caller declares, the shape of a table, and the labels in it.

A table is *long* where it has a column for the rater and one for the label, *wide* where raters
have columns, and *one-hot* where every label of a set has a column of 0 and 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import numpy as np
import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.cells import (
    CellReader,
    Coded,
    check_sorts,
    code_names,
    code_values,
    find_kind,
    name_text,
    unfold_choices,
)
from voirdire.io.declared import LabelSource, Reading, ReadingFields, Request, Role
from voirdire.io.files import place
from voirdire.io.labels import (
    DUPLICATE_ROW,
    LabelTable,
    check_spellings,
    fold,
    label_words,
    without_repeats,
)
from voirdire.records import Dropped, Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import QuestionKind
    from voirdire.io.rows import Column, Rows, Table

__all__ = ["DEFAULT_QUESTION", "assemble", "read_labels"]

DEFAULT_QUESTION = "label"
"""The name of the only question where a table has no question column."""

DEFAULT_THRESHOLD = 0.5
"""The probability from which on a boolean label is true, where nobody declares another."""

_MOST_UNREAD = 0.1
_MOST_NAMES = 20
_FEWEST_TO_COMPARE = 5
"""Labels of a column from which on it should have one in common with others."""
_OF_THRESHOLDS = ("boolean", "choice", None)
"""Kinds under which verdicts with a threshold are read, the second only to be refused."""
_NO_FAILURE = ("", "false", "0")
_BARE_FAILURE = ("true", "1")
"""Texts in a failure column that say there was none, and that say no more than that."""


def read_labels(
    source: LabelSource,
    *,
    role: Role,
    reading: Reading | None = None,
    question: str | None = None,
    rater_name: str | None = None,
    source_name: str | None = None,
    **settings: Unpack[ReadingFields],
) -> LabelTable:
    r"""Read the labels of annotators or judges, from a file, a data frame, or dicts.

    A table is *long* where it has a column for the rater (`annotator` or `judge` by role, or
    `rater`) and one for the label (`label`; for judges also `value` or `probability`), *one-hot*
    where, for sets, it has a rater and one column of 0 and 1 per label, and *wide* otherwise: a
    column `item` (or `id`) and one column per rater. A judge's file with `item` and a label but no
    rater holds one judge. Optional columns: `question`, `cluster`, `seen_judge` (the judge whose
    answer an annotator had seen, or true for any), and for judges `failure`, `threshold` and
    `fingerprint`.

    Parameters
    ----------
    source : str, path, binary file, data frame or mapping
        A path, ``"-"`` for standard input, or an open binary file; a pandas, polars or pyarrow
        table; or ``{rater: {item: label}}``, for one judge also ``{item: label}``. A label in
        memory is a text, a number, a truth value, a list or set of texts, a
        `voirdire.records.Failure`, or None.
    role : {"annotator", "judge"}
        Whose labels these are.
    reading : Reading, optional
        What the question asks for, and how the file says it.
    question : str, optional
        Keep this question only. Names the question of a table that has no `question` column.
    rater_name : str, optional
        Who labelled a source that holds one rater without a name; by default a judge is called
        after the file.
    source_name : str, optional
        What errors and drops call a frame or a mapping.
    **settings
        Fields of `Reading`, each of which counts before that of `reading`.

    Returns
    -------
    LabelTable
        The labels, and every label that was set aside, with its reason and place.

    Raises
    ------
    NoDataError
        If the source is empty or has no rows.
    InputError
        If it cannot be read, lacks a column, mixes types in a label column, gives two labels of
        one rater for one item, or holds spellings that differ by case, width or white space only;
        if the kind is not declared and the labels leave a choice; if more than one label in ten
        cannot be read; if an argument breaks its rule.

    Notes
    -----
    Where no `format` is declared the ending of the name says it (``.csv``, ``.tsv``, ``.jsonl``,
    ``.ndjson``, ``.json``, ``.parquet``, ``.xlsx``), JSONL for a stream. The top level of a JSON
    file tells its shape, the first row that of JSONL. Without a declared kind true and false, and
    0 and 1 alone, are boolean, words a choice, and lists sets; anything else is asked for. A table
    with columns `label`, `probability` and `threshold`, as `voirdire judge` writes it, says which
    threshold its labels were made with; they stand unless another is declared.

    Annotators: no label (null, NaN, blank text, a word of `missing`), "can't tell" (unless it is a
    declared label) and unknown labels are set aside. Where sets are asked for, an empty cell and an
    empty list are the empty set. An empty cell of a wide table is otherwise no label and is not
    listed.

    Judges: a row without a usable label is a Failure and stays, with the reason in `failure`, since
    the judge was asked; also an empty cell of a wide table. Unknown labels are listed besides.

    Label Studio's annotations and Argilla's responses are the annotators' labels, predictions and
    suggestions the judges'. The gold rows of the RBR authors (`propositions` beside a
    `completion`) hold the labels of one rater, ``"gold"`` or `rater_name`; propositions have the
    names of the rubric ``safety``, and items those that `stream_items` gives them.

    Examples
    --------
    >>> import io
    >>> from voirdire.io import read_labels
    >>> text = "item,ann,bob\n1,yes,no\n2,yes,can't tell\n3,,no\n"
    >>> table = read_labels(io.BytesIO(text.encode()), format="csv", role="annotator")
    >>> table.kind, table.frame.select("item", "rater", "label").rows()
    ('choice', [('1', 'ann', 'yes'), ('2', 'ann', 'yes'), ('1', 'bob', 'no'), ('3', 'bob', 'no')])
    >>> [(drop.line, drop.reason) for drop in table.dropped]
    [(3, "can't tell")]
    """
    read = replace(reading or Reading(), **settings)
    request = Request(
        role=role,
        question=question,
        rater_name=rater_name,
        default_rater=_stem(source, source_name),
        **{row.name: getattr(read, row.name) for row in fields(Reading)},
    )
    return assemble(_opened(source, request, source_name), request)


def _opened(source: Any, request: Request, source_name: str | None) -> Table:
    name = source_name or ("humans" if request.role == "annotator" else "judges")
    if isinstance(source, Mapping):
        from voirdire.io.exports import table_of_mapping

        return table_of_mapping(source, source=name, request=request, typed=True)
    if isinstance(source, str | Path) or hasattr(source, "read"):
        from voirdire.io.exports import open_labels

        return open_labels(source, request)
    if not hasattr(type(source), "columns"):
        kind = type(source).__name__
        msg = f"`source` must be a file, a data frame or {{rater: {{item: label}}}}, got {kind}."
        raise InputError(msg)
    from voirdire.io.exports import unflattened
    from voirdire.io.rows import open_frame

    return unflattened(open_frame(source, name), request)


def _stem(source: Any, source_name: str | None) -> str:
    """Name a judge where the file does not."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return source_name or "judge"
    path = Path(source)
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem


# The shape of a table -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """The table's own names for its columns.

    `probability` is where labels come from, `stated` what stands beside them; `raters` are the
    columns of a wide table, `hot` those of the labels of a one-hot one.
    """

    item: str
    rater: str | None = None
    label: str | None = None
    probability: str | None = None
    failure: str | None = None
    question: str | None = None
    cluster: str | None = None
    seen: str | None = None
    threshold: str | None = None
    fingerprint: str | None = None
    stated: str | None = None
    raters: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    undeclared: bool = False

    def needed(self) -> list[str]:
        """Name the columns to load, each once."""
        single = [
            getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("raters", "hot", "undeclared")
        ]
        return list(dict.fromkeys(x for x in (*single, *self.raters, *self.hot) if x is not None))


_ITEM_COLUMNS = (
    *({prompt, body} for prompt in ("prompt", "instruction") for body in ("response", "output")),
    {"prompt", "completion"},
    {"response_a", "response_b"},
    {"chosen", "rejected"},
    {"messages"},
    {"conversations"},
)
"""Columns that only items have together."""


def _find_layout(table: Table, request: Request) -> _Layout:
    """Decide between long, wide and one-hot by the names of the columns alone."""
    if not table.tabular:
        return _Layout(item="item", rater="rater", label="label", question="question")
    _refuse_items(table, request)
    item = _named(table, request, "item", "item", "id")
    if item is None:
        _refuse_missing(table, "item")
    is_judge = request.role == "judge"
    shared: dict[str, Any] = {
        "item": item,
        "question": _named(table, request, "question", "question"),
        "cluster": _named(table, request, "cluster", "cluster"),
        "seen": None if is_judge or "seen_judge" not in table.columns else "seen_judge",
    }
    wanted = request.named_raters or request.raters
    shared_by_all = ["annotator"] if request.judge_columns else []
    rater = _named(table, request, "rater", request.role, "rater", *shared_by_all)
    label, probability = _answer_columns(table, request)
    is_long = rater is not None and (label is not None or probability is not None)
    if wanted is not None and not is_long:
        for name in wanted:
            if name not in table.columns:
                _refuse_missing(table, name, way_out=_correct_raters(request))
        return _Layout(**shared, raters=tuple(wanted))
    if label is None and probability is None:
        taken = {name for name in shared.values() if name is not None} | {rater}
        others = [name for name in table.columns if name not in taken and not _is_unnamed(name)]
        if rater is not None and request.kind == "multilabel" and others:
            return _Layout(**shared, rater=rater, hot=tuple(others))
        if rater is not None or not others:
            _refuse_missing(table, "label")
        raters = [name for name in others if request.is_wanted(name)]
        return _Layout(**shared, raters=tuple(raters), undeclared=request.judge_columns is None)
    if rater is None and not is_judge and request.rater_name is None:
        _refuse_missing(table, "annotator")
    return _Layout(
        **shared,
        rater=rater,
        label=label,
        probability=probability,
        failure=_named(table, request, "failure", "failure") if is_judge else None,
        threshold=_declared_threshold(table, request, label),
        fingerprint="fingerprint" if is_judge and "fingerprint" in table.columns else None,
        stated=_named(table, request, "probability", "probability") if is_judge else None,
    )


def _named(table: Table, request: Request, concept: str, *ours: str) -> str | None:
    theirs = request.column_named(concept)
    if theirs is not None:
        if theirs not in table.columns:
            _refuse_missing(table, theirs, way_out="Correct `columns`.")
        return theirs
    return next((name for name in ours if name in table.columns), None)


def _is_unnamed(column: str) -> bool:
    """Tell the index column that pandas writes and reads without a name."""
    return not column.strip() or column.startswith("Unnamed: ")


def _answer_columns(table: Table, request: Request) -> tuple[str | None, str | None]:
    """Find the label column, and the probability column where labels come from it."""
    ours = ("label", "value") if request.role == "judge" else ("label",)
    label = _named(table, request, "label", *ours)
    if label is None and request.question in table.columns:
        label = request.question
    if request.role != "judge" or request.kind not in ("boolean", None):
        return label, None
    label_wanted = request.column_named("label") is not None
    if label_wanted and request.column_named("probability") is None:
        return label, None
    if _declared_threshold(table, request, label) is not None:
        return label, None
    return label, _named(table, request, "probability", "probability")


def _declared_threshold(table: Table, request: Request, label: str | None) -> str | None:
    """Find the column that says with which threshold a judge's labels were made.

    Where there is one the labels stand, unless the caller declares a threshold.
    """
    if request.role != "judge" or label is None or request.kind not in _OF_THRESHOLDS:
        return None
    if request.threshold is not None or request.column_named("probability") is not None:
        return None
    return "threshold" if {"probability", "threshold"} <= set(table.columns) else None


def _refuse_items(table: Table, request: Request) -> None:
    """Refuse what is to be judged, which people give where what came of it is asked for."""
    ours = {"label", "value", "probability"} if request.role == "judge" else {"label"}
    has_labels = bool(ours & set(table.columns)) or bool(request.column_named("label"))
    found = next((names for names in _ITEM_COLUMNS if names <= set(table.columns)), None)
    declared = request.raters or request.judge_columns or request.column_named("probability")
    if has_labels or found is None or declared:
        return
    way_out = (
        "Judge them first with `voirdire judge`, and name the file of verdicts."
        if request.role == "judge"
        else "Name the file of labels that people gave them."
    )
    msg = (
        f"{table.source}: must hold labels, got columns {', '.join(sorted(found))}, which look "
        f"like items to be judged. {way_out}"
    )
    raise InputError(msg)


def _refuse_missing(table: Table, name: str, *, way_out: str | None = None) -> NoReturn:
    shown = ", ".join(shorten(repr(column)) for column in table.columns[:_MOST_NAMES])
    more = len(table.columns) - _MOST_NAMES
    rest = f" and {more} more" if more > 0 else ""
    wide = "" if name == "item" else ", or name the columns of a wide table with raters=[...]"
    if len(table.columns) == 1 and any(mark in table.columns[0] for mark in ",;\t|"):
        way_out = "Declare the `delimiter` that parts its columns."
    way_out = way_out or f'Name it with columns={{"{name}": ...}}{wide}.'
    msg = (
        f"{table.source}: column `{name}` must exist, got columns {shown or 'of no name'}{rest}. "
        f"{way_out}"
    )
    raise InputError(msg)


# From a table to labels ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Long:
    """One row per question, item and rater, labels still as they were found."""

    question: Coded
    item: Coded
    rater: Coded
    raw: Coded
    lines: NDArray[np.uint32]
    column: Coded
    probability: Coded | None = None
    failure: Coded | None = None
    threshold: Coded | None = None
    fingerprint: Coded | None = None
    stated: NDArray[np.float64] | None = None
    cluster: Coded | None = None
    seen: Coded | None = None

    def where(self, kept: NDArray[np.bool_]) -> _Long:
        columns = {
            each.name: column.where(kept)
            for each in fields(self)
            if isinstance(column := getattr(self, each.name), Coded)
        }
        stated = None if self.stated is None else self.stated[kept]
        return replace(self, **columns, lines=self.lines[kept], stated=stated)


def assemble(table: Table, request: Request) -> LabelTable:
    """Read a table as the request declares."""
    layout = _find_layout(table, request)
    rows = table.load(layout.needed())
    if rows.lines.is_empty() and not table.dropped:
        msg = f"{table.source}: must hold at least one label, got no rows. Add some."
        raise NoDataError(msg)
    long = _melt(rows, layout, table, request)
    long = _asked(long, layout, table, request)
    other_kinds: list[Dropped] = []
    if request.kind != "choice":
        long, other_kinds = _propositions_only(long, layout, table)
    long, unnamed = _identified(long, layout, table)
    kind = _kind(long, request, table)
    _check_columns_are_raters(long, layout, table, request)
    found = _label(long, layout, table, request, kind)
    set_aside = (*table.dropped, *other_kinds, *unnamed, *found.dropped)
    found = without_repeats(replace(found, dropped=set_aside))
    return replace(found, dropped=_by_line(found.dropped, layout, table))


def _by_line(dropped: Sequence[Dropped], layout: _Layout, table: Table) -> tuple[Dropped, ...]:
    """Order what was set aside, with the column of rows that repeat."""
    column = (layout.probability or layout.label) if table.tabular else None
    named = [
        replace(row, column=column or row.rater)
        if table.tabular and row.reason == DUPLICATE_ROW
        else row
        for row in dropped
    ]
    return tuple(sorted(named, key=lambda row: (row.line is None, row.line or 0)))


def _melt(rows: Rows, layout: _Layout, table: Table, request: Request) -> _Long:
    n_rows = rows.lines.len()
    lines = np.zeros(n_rows, np.uint32)
    if rows.lines.null_count() < n_rows:
        lines = rows.lines.fill_null(0).to_numpy().astype(np.uint32)

    def names(column: str | None) -> Coded | None:
        return None if column is None else code_names(rows.columns[column], source=table.source)

    item = code_names(rows.columns[layout.item], source=table.source)
    question = names(layout.question) or Coded.constant(
        request.question or DEFAULT_QUESTION, n_rows
    )
    optional: dict[str, Any] = {
        "probability": names(layout.probability),
        "failure": names(layout.failure),
        "threshold": names(layout.threshold),
        "fingerprint": names(layout.fingerprint),
        "cluster": names(layout.cluster),
        "seen": names(layout.seen),
    }
    if layout.raters:
        return _melt_wide(rows, layout, item, question, lines, optional)
    if layout.hot:
        raw = _one_hot(rows, layout, table, request)
    elif layout.label is None:
        raw = Coded([], np.full(n_rows, -1, np.int32))
    else:
        raw = code_values(rows.columns[layout.label])
        if request.kind in ("multilabel", None):
            raw = unfold_choices(raw, missing=request.missing)
    column = layout.probability or layout.label
    long = _Long(
        question=question,
        item=item,
        rater=names(layout.rater) or Coded.constant(request.single_rater, n_rows),
        raw=raw,
        lines=lines,
        column=Coded.constant(column, n_rows)
        if table.tabular and column
        else Coded([], np.full(n_rows, -1, np.int32)),
        stated=None if layout.stated is None else _read_probabilities(rows.columns[layout.stated]),
        **optional,
    )
    return long if layout.rater is None else _wanted_raters(long, layout.rater, table, request)


def _read_probabilities(column: Column) -> NDArray[np.float64]:
    """Read probabilities, nan where there is none in [0, 1]."""
    series = column if isinstance(column, pl.Series) else pl.Series(map(str, column))
    numbers = series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where((numbers >= 0) & (numbers <= 1), numbers, np.nan)


def _wanted_raters(long: _Long, column: str, table: Table, request: Request) -> _Long:
    """Keep the rows of those whom the caller names, or who are no judges."""
    known = long.rater.used()
    for name in request.named_raters or ():
        if name not in known:
            listed = ", ".join(repr(shorten(rater)) for rater in sorted(known)[:_MOST_NAMES])
            msg = f"{table.source}: column `{column}` must hold {name!r}, got {listed}. "
            raise InputError(msg + _correct_raters(request))
    wanted = [name for name in long.rater.values if request.is_wanted(name)]
    if len(wanted) == len(long.rater.values):
        return long
    place = {name: code for code, name in enumerate(wanted)}
    moved = np.array([*(place.get(name, -1) for name in long.rater.values), -1], np.int32)
    kept = moved[long.rater.codes] >= 0
    return replace(long.where(kept), rater=Coded(wanted, moved[long.rater.codes][kept]))


def _correct_raters(request: Request) -> str:
    return f"Correct `{'judge_columns' if request.role == 'judge' else 'raters'}`."


def _melt_wide(
    rows: Rows,
    layout: _Layout,
    item: Coded,
    question: Coded,
    lines: NDArray[np.uint32],
    optional: Mapping[str, Coded | None],
) -> _Long:
    n_raters = len(layout.raters)

    def repeated(column: Coded) -> Coded:
        return Coded(column.values, np.tile(column.codes, n_raters))

    raw = Coded.join([code_values(rows.columns[name]) for name in layout.raters])
    raters = Coded(list(layout.raters), np.repeat(np.arange(n_raters, dtype=np.int32), len(lines)))
    others: dict[str, Any] = {
        name: None if column is None else repeated(column) for name, column in optional.items()
    }
    return _Long(
        question=repeated(question),
        item=repeated(item),
        rater=raters,
        raw=raw,
        lines=np.tile(lines, n_raters),
        column=raters,
        **others,
    )


def _one_hot(rows: Rows, layout: _Layout, table: Table, request: Request) -> Coded:
    """Make sets of columns of 0 and 1; a row without any number is no answer.

    Where labels are declared, columns of other names and values are none of them.
    """
    reader = CellReader("boolean")
    hot, flags, known = [], [], []
    for name in layout.hot:
        coded = code_values(rows.columns[name])
        words = [reader.read(value) for value in coded.values]
        code = next((code for code, word in enumerate(words) if word.is_unknown), None)
        if code is not None:
            if name not in (request.labels or (name,)):
                continue
            line = rows.lines[coded.first_row(code)]
            msg = (
                f"{place(table.source, line=line, column=name)} must hold 0 or 1 where every "
                f"label has a column, got {shorten(repr(coded.values[code]))}. Name the labels "
                'with labels=[...], or their one column with columns={"label": ...}.'
            )
            raise InputError(msg)
        hot.append(name)
        flags.append(np.array([*(word.label is True for word in words), False])[coded.codes])
        known.append(np.array([*(word.reason is None for word in words), False])[coded.codes])
    if not hot:
        _refuse_missing(table, "label")
    matrix, answered = np.stack(flags, axis=1), np.stack(known, axis=1).any(axis=1)
    distinct, codes = np.unique(matrix, axis=0, return_inverse=True)
    names = np.array(hot, dtype=object)
    sets = [frozenset(names[row].tolist()) for row in distinct]
    return Coded(sets, np.where(answered, codes.ravel(), -1).astype(np.int32))


def _asked(long: _Long, layout: _Layout, table: Table, request: Request) -> _Long:
    """Keep the rows of the question that the caller asked for, if there are questions."""
    if request.question is None or not (layout.question or not table.tabular):
        return long
    values = long.question.values
    if not values:
        msg = f"{table.source}: must hold at least one label, got none. Add some."
        raise NoDataError(msg)
    if request.question not in values:
        listed = ", ".join(shorten(repr(name)) for name in values[:_MOST_NAMES])
        msg = (
            f"{table.source}: column `{layout.question or 'question'}` must hold the question "
            f"asked for, got {request.question!r}. Ask for one of {listed}."
        )
        raise NoDataError(msg)
    return long.where(long.question.codes == values.index(request.question))


def _propositions_only(long: _Long, layout: _Layout, table: Table) -> tuple[_Long, list[Dropped]]:
    """Set aside whole questions without a threshold, where others have one: no propositions."""
    if long.threshold is None or layout.question is None:
        return long, []
    given = np.unique(long.question.codes[long.threshold.codes >= 0])
    other = (long.question.codes >= 0) & ~np.isin(long.question.codes, given)
    if not len(given) or not other.any():
        return long, []
    codes, counts = np.unique(long.question.codes[other], return_counts=True)
    named = sorted((long.question.values[code], n) for code, n in zip(codes, counts, strict=True))
    return long.where(~other), [
        Dropped(
            reason="question of another kind: verdicts without a threshold",
            source=table.source,
            question=question,
            value=f"{count} labels",
        )
        for question, count in named
    ]


def _identified(long: _Long, layout: _Layout, table: Table) -> tuple[_Long, list[Dropped]]:
    """Set aside rows that do not say whose answer about what they are."""
    dropped: list[Dropped] = []
    columns = {"item": layout.item, "question": layout.question, "rater": layout.rater}
    for concept, column in columns.items():
        absent = getattr(long, concept).codes < 0
        if not absent.any():
            continue
        reason = "missing item id" if concept == "item" else f"missing {concept}"
        shown = column if table.tabular else None
        dropped += [
            replace(_drop(long, row, reason=reason, source=table.source), column=shown, value=None)
            for row in np.flatnonzero(absent & ~_is_blank_cell(long, layout)).tolist()
        ]
        long = long.where(~absent)
    return long, dropped


def _drop(long: _Long, row: int, *, reason: str, source: str) -> Dropped:
    def value(column: Coded) -> Any:
        code = column.codes[row]
        return None if code < 0 else column.values[code]

    raw = value(long.raw)
    if long.probability is not None and long.probability.codes[row] >= 0:
        raw = value(long.probability)
    return Dropped(
        reason=reason,
        source=source,
        line=int(long.lines[row]) or None,
        column=value(long.column),
        item=value(long.item),
        rater=value(long.rater),
        question=value(long.question),
        value=None if raw is None else shorten(raw if isinstance(raw, str) else _plain_text(raw)),
    )


def _plain_text(raw: Any) -> str:
    return raw.reason if isinstance(raw, Failure) else name_text(raw) or str(raw)


def _kind(long: _Long, request: Request, table: Table) -> QuestionKind:
    """Take the declared kind, or the one that the labels leave no choice about."""
    given = long.probability is not None and (long.probability.codes >= 0).any()
    if request.kind is None:
        if given or (long.threshold is not None and (long.threshold.codes >= 0).any()):
            return "boolean"
        return find_kind(long.raw.used(), what=f"labels of {table.source}", missing=request.missing)
    if request.kind == "choice" and request.role == "judge" and not request.labels:
        _refuse_as_choice(long, table)
    return request.kind


def _refuse_as_choice(long: _Long, table: Table) -> None:
    """Refuse verdicts with probabilities where words are expected: no annotator says "true"."""
    is_given = np.zeros(0, bool) if long.threshold is None else long.threshold.codes >= 0
    if not is_given.any():
        return
    msg = (
        f"{table.source}: `kind` must be 'boolean' for verdicts with a probability and a "
        "threshold, got 'choice'. Their labels are true and false."
    )
    others = set(long.question.used()) - set(long.question.where(is_given).used())
    if others:
        msg += f" Ask for a `question` without probabilities, such as {shorten(min(others))!r}."
    raise InputError(msg)


def _check_columns_are_raters(long: _Long, layout: _Layout, table: Table, request: Request) -> None:
    """Refuse a wide table in which a column that nobody declared is no rater.

    Such a column has no label in common with any other.
    """
    if not layout.undeclared or len(layout.raters) < 2 or request.kind in ("scale", "text"):
        return
    used = [
        set(np.unique(long.raw.codes[long.rater.codes == n]).tolist()) - {-1}
        for n in range(len(layout.raters))
    ]
    counts = np.bincount([code for codes in used for code in codes], minlength=len(long.raw.values))
    sizes = np.bincount(long.rater.codes[long.raw.codes >= 0], minlength=len(layout.raters))
    counted = dict(zip(layout.raters, sizes.tolist(), strict=True))
    strange = [
        name
        for name, codes in zip(layout.raters, used, strict=True)
        if all(counts[code] == 1 for code in codes) and counted[name] >= _FEWEST_TO_COMPARE
    ]
    if not strange:
        return
    flag = "--rater" if request.role == "annotator" else "--judge-column"
    others = [name for name in layout.raters if name not in strange] or list(layout.raters)
    shown = ", ".join(f"`{shorten(name)}`" for name in strange[:_MOST_NAMES])
    paste = " ".join(f"{flag} {shlex.quote(shorten(name))}" for name in others[:_MOST_NAMES])
    msg = (
        f"{table.source}: every column that is not declared must be a rater, got {shown}, which "
        f"has no label in common with any other column. Name the raters: {paste}"
    )
    raise InputError(msg)


def _label(
    long: _Long, layout: _Layout, table: Table, request: Request, kind: QuestionKind
) -> LabelTable:
    """Read every label; what is none is set aside, or a judge's failure."""
    is_judge = request.role == "judge"
    _check_cells(long, layout, table, request, kind)
    reader = CellReader(
        kind,
        labels=request.labels,
        separator=request.separator,
        missing=request.missing,
        blank_is_empty=True,
    )
    words = [reader.read(value) for value in long.raw.values]
    nothing = reader.read("" if table.blank_is_null and not layout.hot else None)
    reasons = [word.reason for word in words] + [nothing.reason]
    labels: dict[Any, int] = {}
    moved = [
        -1 if w.reason is not None else labels.setdefault(w.label, len(labels))
        for w in (*words, nothing)
    ]
    label = np.array(moved, np.int32)[long.raw.codes]
    reason_of = np.array([*range(len(reasons))], np.int32)[long.raw.codes]
    unknown = np.array([*(w.is_unknown for w in words), nothing.is_unknown])[long.raw.codes]
    lost = np.array([reason is not None for reason in reasons])[long.raw.codes]
    if long.probability is not None:
        cut = DEFAULT_THRESHOLD if request.threshold is None else request.threshold
        given = long.probability.codes >= 0
        stated = [
            reader.read_probability(value, threshold=cut) for value in long.probability.values
        ]
        start = len(reasons)
        reasons += [word.reason for word in stated]
        codes = [
            -1 if w.reason is not None else labels.setdefault(w.label, len(labels)) for w in stated
        ]
        stated_codes = np.array([*codes, -1], np.int32)[long.probability.codes]
        label = np.where(given, stated_codes, label)
        reason_of = np.where(given, start + long.probability.codes, reason_of).astype(np.int32)
        bad = np.array([*(w.is_unknown for w in stated), False])[long.probability.codes]
        unknown, lost = np.where(given, bad, unknown), np.where(given, bad, lost)
    declared = _declared_failures(long)
    if declared is not None:
        unknown &= declared.codes < 0
    _check_readable(long, unknown, lost, reasons, reason_of, table)
    listed = unknown if is_judge else lost & ~_is_blank_cell(long, layout)
    dropped = [
        _drop(long, row, reason=reasons[reason_of[row]] or "", source=table.source)
        for row in np.flatnonzero(listed).tolist()
    ]
    failure = Coded([], np.full(len(label), -1, np.int32))
    if is_judge:
        own = Coded(
            [reason or "" for reason in reasons], np.where(lost, reason_of, -1).astype(np.int32)
        )
        failure = own
        if declared is not None:
            both = Coded.join([declared, own])
            first, second = np.split(both.codes, 2)
            failure = Coded(both.values, np.where(declared.codes >= 0, first, second))
        label = np.where(failure.codes >= 0, -1, label)
    found = LabelTable(
        kind=kind,
        question=long.question,
        item=long.item,
        rater=long.rater,
        label=Coded(list(labels), label),
        failure=failure,
        cluster=long.cluster,
        seen=long.seen,
        source=Coded.constant(table.source, len(label)),
        lines=long.lines,
        dropped=tuple(dropped),
        thresholds=_thresholds(long),
        fingerprints=_fingerprints(long, table),
        notes=table.notes,
        probability=long.stated if kind == "boolean" else None,
    )
    if not is_judge:
        found = found.where(~lost)
    return _alike(found, table, normalize=request.normalize_labels)


def _check_cells(
    long: _Long, layout: _Layout, table: Table, request: Request, kind: QuestionKind
) -> None:
    def where(row: int) -> str:
        if table.tabular:
            column = (
                long.column.values[long.column.codes[row]] if long.column.codes[row] >= 0 else None
            )
            return place(table.source, line=int(long.lines[row]) or None, column=column)
        item, rater = (c.values[c.codes[row]] for c in (long.item, long.rater))
        return f"{table.source}: the label of item {shorten(item)!r} by {shorten(rater)!r}"

    one_question = layout.question is None or request.question is not None
    check_sorts(long.raw, kind, where=where, one_question=one_question, missing=request.missing)


def _declared_failures(long: _Long) -> Coded | None:
    if long.failure is None:
        return None
    known: dict[str, int] = {}
    moved = []
    for text in long.failure.values:
        word = text.strip().lower()
        reason = (
            "failed" if word in _BARE_FAILURE else None if word in _NO_FAILURE else text.strip()
        )
        moved.append(-1 if reason is None else known.setdefault(reason, len(known)))
    return Coded(list(known), np.array([*moved, -1], np.int32)[long.failure.codes])


def _is_blank_cell(long: _Long, layout: _Layout) -> NDArray[np.bool_]:
    """Tell the empty cells of a wide table, which are no labels to list."""
    if not layout.raters:
        return np.zeros(len(long.lines), np.bool_)
    blank = [isinstance(value, str) and not value.strip() for value in long.raw.values]
    return np.array([*blank, True])[long.raw.codes]


def _check_readable(
    long: _Long,
    unknown: NDArray[np.bool_],
    lost: NDArray[np.bool_],
    reasons: Sequence[str | None],
    reason_of: NDArray[np.int32],
    table: Table,
) -> None:
    """Refuse a table of which more than one label in ten cannot be read."""
    n_unknown = int(np.count_nonzero(unknown))
    n_given = n_unknown + int(np.count_nonzero(~lost))
    if n_unknown <= max(1, _MOST_UNREAD * n_given):
        return
    row = int(np.argmax(unknown))
    first = _drop(long, row, reason=reasons[reason_of[row]] or "", source=table.source)
    msg = (
        f"{n_unknown:,} of {n_given:,} labels of {table.source} cannot be read, more than one in "
        f"ten. The first, {first.place()} (item {shorten(first.item or '')!r}, rater "
        f"{shorten(first.rater or '')!r}): {first.reason}. Correct the file, or what is declared "
        "about it (`kind`, `labels`, `missing`, `separator`)."
    )
    raise InputError(msg)


def _thresholds(long: _Long) -> tuple[float, ...]:
    found = set()
    for text in () if long.threshold is None else long.threshold.used():
        try:
            found.add(float(text))
        except ValueError:
            continue
    return tuple(sorted(found))


def _fingerprints(long: _Long, table: Table) -> dict[str, tuple[str, ...]]:
    """Give the fingerprints of every judge's verdicts; one per judge and question."""
    if long.fingerprint is None:
        return {}
    given = long.fingerprint.codes >= 0
    columns = (long.rater, long.question, long.fingerprint)
    triples = np.unique(np.stack([column.codes[given] for column in columns], axis=1), axis=0)
    found: dict[str, set[str]] = {}
    seen: dict[tuple[int, int], int] = {}
    for rater, question, fingerprint in triples.tolist():
        if seen.setdefault((rater, question), fingerprint) != fingerprint:
            names = long.rater.values[rater], long.question.values[question]
            msg = (
                f"{table.source}: column `fingerprint` must hold one value per judge and "
                f"question, got several for {shorten(names[0])!r} on {shorten(names[1])!r}. "
                "Name the judge of each run differently."
            )
            raise InputError(msg)
        found.setdefault(long.rater.values[rater], set()).add(long.fingerprint.values[fingerprint])
    return {rater: tuple(sorted(values)) for rater, values in sorted(found.items())}


def _alike(found: LabelTable, table: Table, *, normalize: bool) -> LabelTable:
    """Refuse raters and labels that differ by case, width or white space, or make them one."""
    is_words = found.kind in ("choice", "multilabel")
    if normalize:
        raters = _folded(found.rater)
        return replace(found, rater=raters, label=_folded(found.label) if is_words else found.label)
    way_out = "Correct one of them, or accept them as one with `normalize_labels`."
    check_spellings(found.raters, what=f"{table.source}: raters", way_out=way_out)
    if is_words:
        check_spellings(label_words(found.label), what=f"{table.source}: labels", way_out=way_out)
    return found


def _folded(column: Coded) -> Coded:
    known: dict[Any, int] = {}
    moved = [
        known.setdefault(
            frozenset(map(fold, value)) if isinstance(value, frozenset) else fold(value), len(known)
        )
        for value in column.values
    ]
    return Coded(list(known), np.array([*moved, -1], np.int32)[column.codes])
