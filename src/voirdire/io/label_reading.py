"""Reads labels: finds the shape of a table, and reads each label as the caller declares.

A table is *long* where it has a column for the rater and one for the label, *wide* where raters
have columns, and *one-hot* where every label of a set has a column of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import NO_ANSWERS
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io.cells import (
    CellReader,
    Unreadable,
    check_sorts,
    count_no_answers,
    find_kind,
    is_cannot_tell,
    read_written_numbers,
    unfold_choices,
)
from voirdire.io.declared import LabelSource, Reading, Request, Role, split_names
from voirdire.io.exports import open_labels, table_of_mapping, unflatten
from voirdire.io.files import place
from voirdire.io.labels import (
    LabelTable,
    check_spellings,
    drop_of,
    drop_repeats,
    fold_spelling,
    gather_values,
    list_words,
)
from voirdire.io.layouts import explain_missing
from voirdire.io.pairs import EXCHANGED
from voirdire.io.raters import (
    explain_doubts,
    explain_questions,
    find_doubts,
    find_questions,
)
from voirdire.io.rows import open_frame
from voirdire.io.values import (
    CodedColumn,
    code_names,
    code_values,
    format_name,
    is_unnamed,
    refuse_column,
)
from voirdire.records import Dropped, Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import QuestionKind
    from voirdire.io.rows import Column, Rows, Table

DEFAULT_THRESHOLD = 0.5
"""Default threshold of booleans."""

_MOST_UNREAD = 0.1
_MOST_BLANK, _FEW_CELLS, _FEW_WORDS = 0.2, 10, 3
_FEW_COLUMNS = 8
_MOST_NAMES = 20
_LONGEST_NAME = 60
_OF_THRESHOLDS = ("boolean", "choice", None)
"""Kinds of verdicts with a threshold; the second one is only read to be refused."""
_REASONS = ("reason", "reasoning", "rationale", "explanation")
_MOST_WITH_TEXTS = 100_000
"""Rows of a table up to which reasons, prompts and responses are kept."""
_MOST_CHARACTERS = 2_000
_NO_FAILURE = ("", "false", "0")
_BARE_FAILURE = ("true", "1")
"""Texts in a failure column that mean no failure, and a failure without a reason."""


def read_labels(
    source: LabelSource,
    *,
    role: Role,
    reading: Reading | None = None,
    question: str | None = None,
    rater_name: str | None = None,
    source_name: str | None = None,
    **settings: Any,
) -> LabelTable:
    r"""Read the labels of annotators or judges, from a file, a data frame, or dicts.

    A table is *long* where it has a column for the rater (`annotator` or `judge` by role, or
    `rater`) and one for the label (`label`; for judges also `value` or `probability`), *one-hot*
    where, for sets, it has a rater and one column of 0 and 1 per label, and *wide* otherwise: a
    column `item` (or `id`) and one column per rater. A judge's file with `item` and a label but no
    rater holds one judge. Optional columns: `question`, `cluster`, `seen_judge` (the judge whose
    answer an annotator had seen, or true for any), and for judges `failure`, `threshold` and
    `fingerprint`; beside labels `prompt` and `response`, and for judges `reason` (or `reasoning`,
    `rationale`, `explanation`), for people who read the item.

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
    suggestions the judges'.

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
    read = change_fields(reading or Reading(), settings)
    request = Request(
        role=role,
        question=question,
        rater_name=rater_name,
        default_rater=_stem(source, source_name),
        **{row.name: getattr(read, row.name) for row in fields(Reading)},
    )
    return _Reader(_open(source, request, source_name), request).labels()


def columns_of(file: str | Path, reading: Reading) -> frozenset[str]:
    """Return the columns of a file of labels; none where its format has no names for them."""
    declared = {x.name: getattr(reading, x.name) for x in fields(Reading)}
    request = Request(role="judge", columns_only=True, **declared)
    table = _open(file, request, None)
    return frozenset(table.columns if table.tabular else ())


def find_layout(table: Table, request: Request) -> tuple[_Layout, Table]:
    """Find the columns of labels; refuse a wide table with a column that may be no rater."""
    reader = _Reader(table, request)
    if reader.layout.is_guessed:
        names = dict.fromkeys([*reader.layout.columns.values(), *reader.layout.raters])
        reader.check_raters(reader.melt(reader.table.load(list(names))))
    return reader.layout, reader.table


def _open(source: Any, request: Request, source_name: str | None) -> Table:
    name = source_name or ("humans" if request.role == "annotator" else "judges")
    if isinstance(source, Mapping):
        return table_of_mapping(source, source=name, request=request)
    if isinstance(source, str | Path) or hasattr(source, "read"):
        return open_labels(source, request)
    if not hasattr(type(source), "columns"):
        kind = type(source).__name__
        msg = f"`source` must be a file, a data frame or {{rater: {{item: label}}}}, got {kind}."
        raise InputError(msg)
    return unflatten(open_frame(source, name), request)


def _stem(source: Any, source_name: str | None) -> str:
    """Make a judge's name from the file's name."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return source_name or "judge"
    path = Path(source)
    return (path.with_suffix("") if path.suffix.lower() in (".gz", ".bz2", ".xz") else path).stem


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """The table's own names of its columns.

    `raters` are the columns of a wide table, `hot` the label columns of a one-hot one; `is_guessed`
    marks that raters were not declared; `stated` is the column of a judge's probabilities; `texts`
    are columns for people who read an item.
    """

    columns: dict[str, str]
    raters: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    is_guessed: bool = False
    stated: str | None = None
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Cells(LabelTable):
    """Raw labels, with the other cells of their rows."""

    column: CodedColumn
    probability: CodedColumn | None = None
    threshold: CodedColumn | None = None
    fingerprint: CodedColumn | None = None

    def given(self, name: str) -> NDArray[np.bool_]:
        """Return which rows have a value in an optional column."""
        column = getattr(self, name)
        return np.zeros(len(self), np.bool_) if column is None else column.codes >= 0

    def place_of(self, row: int) -> str:
        """Return the place of a row's label."""
        source, column = self.source.values[0], self.column.value(row)
        if column is not None:
            return place(source, line=int(self.lines[row]) or None, column=column)
        item, rater = self.item.value(row), self.rater.value(row)
        return f"{source}: the label of item {shorten(item)!r} by {shorten(rater)!r}"

    def drop(self, row: int, *, reason: str) -> Dropped:
        """Make the record of a row that is set aside."""
        return drop_of(self, row, reason=reason, column=self.column)


_ITEM_COLUMNS = (
    *({prompt, body} for prompt in ("prompt", "instruction") for body in ("response", "output")),
    {"prompt", "completion"},
    {"response_a", "response_b"},
    {"chosen", "rejected"},
    {"messages"},
    {"conversations"},
)
"""Columns that together occur only in files of items."""


def _read_probabilities(column: Column) -> NDArray[np.float64]:
    """Read probabilities, nan where there is none in [0, 1]."""
    series = column if isinstance(column, pl.Series) else pl.Series(map(str, column))
    numbers = series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where((numbers >= 0) & (numbers <= 1), numbers, np.nan)


class _Reader:
    """Reads one table as the caller declares it."""

    def __init__(self, table: Table, request: Request) -> None:
        self.table = table
        self.request = request
        self.is_judge = request.role == "judge"
        self.missing = list(request.missing)
        if request.kind != "text":
            self.missing += [word for word in NO_ANSWERS if word not in (request.labels or ())]
        self.layout = self._find_layout()

    def labels(self) -> LabelTable:
        """Read the labels; set aside cells that are not labels."""
        table, layout = self.table, self.layout
        needed = dict.fromkeys([*layout.columns.values(), *layout.raters, *layout.hot])
        needed |= {} if layout.stated is None else {layout.stated: None}
        rows = table.load(list(needed))
        if rows.lines.is_empty() and not table.dropped:
            self._refuse_nothing("no rows")
        cells = self.check_raters(self.melt(self._keep_asked_question(rows)))
        cells = self._keep_wanted_raters(cells)
        if self.request.kind != "choice":
            cells = self._keep_propositions(cells)
        cells = self._keep_identified_rows(cells)
        cells = replace(cells, kind=self._kind(cells))
        cells = self._read(cells)
        cells = self._unify_spellings(cells)
        cells = drop_repeats(cells, cells.column)
        dropped = sorted(cells.dropped, key=lambda row: (row.line is None, row.line or 0))
        found = {each.name: getattr(cells, each.name) for each in fields(LabelTable)}
        return LabelTable(**found | {"dropped": tuple(dropped)})

    # The shape of the table

    def _find_layout(self) -> _Layout:
        """Decide between long, wide and one-hot by the names of the columns alone."""
        table, request = self.table, self.request
        if not table.tabular:
            return _Layout(columns={name: name for name in ("item", "rater", "label", "question")})
        self._refuse_items()
        item = self._find_item()
        has_seen = not self.is_judge and "seen_judge" in table.columns
        columns = _present(
            item=item,
            question=self._find_column("question", "question"),
            cluster=self._find_column("cluster", "cluster"),
            seen="seen_judge" if has_seen else None,
            turned=EXCHANGED if EXCHANGED in table.columns else None,
        )
        shared = ["annotator"] if request.judge_columns else []
        rater = self._find_column("rater", request.role, "rater", *shared)
        answers = self._answers()
        wanted = request.named_raters or request.raters
        is_hot = request.kind == "multilabel" and not {*(wanted or ())} & {*table.columns}
        if wanted is not None and not (rater and (answers or is_hot)):
            wanted = split_names(wanted, table.columns)
            for name in wanted:
                if name not in table.columns:
                    self._refuse_missing(name, way_out=self._correct_raters())
            return _Layout(columns=columns, raters=tuple(wanted))
        judges = split_names(request.judge_columns or (), table.columns)
        is_wide = rater is None and bool(judges) and {*judges} <= {*table.columns}
        if answers and not is_wide:
            if rater is None and not self.is_judge and request.rater_name is None:
                self._refuse_missing("annotator")
            has_fingerprint = self.is_judge and "fingerprint" in table.columns
            more = _present(
                rater=rater,
                failure=self._find_column("failure", "failure") if self.is_judge else None,
                fingerprint="fingerprint" if has_fingerprint else None,
            )
            stated = self._find_column("probability", "probability") if self.is_judge else None
            columns |= answers | more
            return _Layout(columns=columns, stated=stated, texts=self._texts(columns))
        taken = {*columns.values(), rater}
        others = [name for name in table.columns if name not in taken and not is_unnamed(name)]
        if rater is not None and others and request.kind == "multilabel":
            return _Layout(columns=columns | {"rater": rater}, hot=tuple(others))
        if rater is not None or not others:
            self._refuse_missing("label")
        raters = tuple(request.wanted_raters(others))
        return _Layout(columns=columns, raters=raters, is_guessed=True)

    def _find_item(self) -> str:
        """Find the column of the items: also the index that pandas writes without a name."""
        table = self.table
        item = self._find_column("item", "item", "id")
        if item is None and table.columns and is_unnamed(table.columns[0]):
            item = table.columns[0]
            note = f"{table.source}: its first column, which has no name, holds the items"
            self.table = replace(table, notes=(*table.notes, note))
        if item is None:
            self._refuse_missing("item")
        return item

    def _texts(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Find the columns of reasons, prompts and responses."""
        known = {"prompt": ("prompt",), "response": ("response", "completion")}
        known |= {"reason": _REASONS} if self.is_judge else {}
        free = [name for name in self.table.columns if name not in columns.values()]
        return _present(
            **{
                ours: next((name for name in theirs if name in free), None)
                for ours, theirs in known.items()
            }
        )

    def _find_column(self, concept: str, *ours: str) -> str | None:
        theirs = self.request.column_named(concept)
        if theirs is not None and theirs not in self.table.columns:
            self._refuse_missing(theirs, way_out="Correct `columns`.")
        return theirs or next((name for name in ours if name in self.table.columns), None)

    def _answers(self) -> dict[str, str]:
        """Find the columns of the labels: words, a probability, or both with a threshold.

        Where verdicts have the threshold of their labels, the labels are used, unless the caller
        declares another threshold.
        """
        request, columns = self.request, self.table.columns
        label = self._find_column("label", "label", *(["value"] if self.is_judge else []))
        if label is None and request.question in columns:
            label = request.question
        found = _present(label=label)
        if not self.is_judge or request.kind not in _OF_THRESHOLDS:
            return found
        is_asked = request.column_named("probability") is not None
        has_threshold = label is not None and {"probability", "threshold"} <= set(columns)
        if has_threshold and request.threshold is None and not is_asked:
            return found | {"threshold": "threshold"}
        if request.kind == "choice" or (request.column_named("label") and not is_asked):
            return found
        return found | _present(probability=self._find_column("probability", "probability"))

    def _correct_raters(self) -> str:
        return f"Correct `{'judge_columns' if self.is_judge else 'raters'}`."

    def _refuse_nothing(self, got: str) -> NoReturn:
        msg = f"{self.table.source}: must hold at least one label, got {got}. Add some."
        raise NoDataError(msg)

    def _refuse_items(self) -> None:
        """Refuse a file of items, which users sometimes give in place of labels."""
        request, columns = self.request, set(self.table.columns)
        ours = {"label", "value", "probability"} if self.is_judge else {"label"}
        has_labels = bool(ours & columns) or bool(request.column_named("label"))
        found = next((names for names in _ITEM_COLUMNS if names <= columns), None)
        declared = request.raters or request.judge_columns or request.column_named("probability")
        if has_labels or found is None or declared:
            return
        way_out = (
            "Judge them first with `voirdire judge`, and name the file of verdicts."
            if self.is_judge
            else "Name the file of labels that people gave them."
        )
        raise InputError(
            f"{self.table.source}: must hold labels, got columns {', '.join(sorted(found))}, which "
            f"look like items to be judged. {way_out}"
        )

    def _refuse_missing(self, name: str, *, way_out: str | None = None) -> NoReturn:
        columns = self.table.columns
        if len(columns) == 1 and any(mark in columns[0] for mark in ",;\t|"):
            way_out = "Declare the `delimiter` that parts its columns."
        elif 1 < len(self.table.load(columns[:1]).lines) < (len(columns) - _FEW_COLUMNS) / 2:
            way_out = (
                "It looks as if raters were rows and items columns: turn it, so that each item is "
                "a row and each rater a column."
            )
        way_out = way_out or explain_missing(self.table, self.request, name)
        refuse_column(self.table, name, way_out=way_out)

    # One row per question, item and rater

    def melt(self, rows: Rows) -> _Cells:
        """Code the columns, those of a wide table's raters under each other."""
        table, layout, request = self.table, self.layout, self.request
        lines = np.zeros(rows.lines.len(), np.uint32)
        if rows.lines.null_count() < len(lines):  # polars takes its time even for nothing
            lines = rows.lines.fill_null(0).to_numpy().astype(np.uint32)
        coded: dict[str, Any] = {
            name: code_names(rows.columns[column], source=table.source)
            for name, column in layout.columns.items()
            if name != "label"
        }
        coded.setdefault("question", CodedColumn.constant(request.single_question, len(lines)))
        if layout.texts and len(lines) <= _MOST_WITH_TEXTS:
            columns = table.load(list(layout.texts.values())).columns
            coded |= {ours: _code_texts(columns[theirs]) for ours, theirs in layout.texts.items()}
        if layout.raters:
            n_raters = len(layout.raters)
            coded = {
                name: CodedColumn(column.values, np.tile(column.codes, n_raters))
                for name, column in coded.items()
            }
            numbers = np.repeat(np.arange(n_raters, dtype=np.int32), len(lines))
            coded["rater"] = coded["column"] = CodedColumn(list(layout.raters), numbers)
            raw = CodedColumn.join([code_values(rows.columns[name]) for name in layout.raters])
            lines = np.tile(lines, n_raters)
        elif layout.hot:
            raw = self._one_hot(rows)
        elif "label" in layout.columns:
            raw = code_values(rows.columns[layout.columns["label"]])
            if request.kind in ("multilabel", None):
                raw = unfold_choices(raw, missing=self.missing)
        else:
            raw = CodedColumn.constant(None, len(lines))
        column = layout.columns.get("probability") or layout.columns.get("label")
        coded.setdefault("rater", CodedColumn.constant(request.single_rater, len(lines)))
        coded.setdefault(
            "column", CodedColumn.constant(column if table.tabular else None, len(lines))
        )
        failure = coded.pop("failure", CodedColumn.constant(None, len(lines)))
        return _Cells(
            kind=request.kind or "text",
            label=raw,
            failure=failure.recode([_failure_in(text) for text in failure.values]),
            source=CodedColumn.constant(table.source, len(lines)),
            lines=lines,
            dropped=table.dropped,
            notes=table.notes,
            stated=None
            if layout.stated is None
            else _read_probabilities(rows.columns[layout.stated]),
            **coded,
        )

    def _one_hot(self, rows: Rows) -> CodedColumn:
        """Make label sets from columns of 0 and 1; a row without numbers has no answer.

        Where labels are declared, other columns are ignored.
        """
        reader = CellReader("boolean")
        flags: dict[str, NDArray[np.int32]] = {}
        for name in self.layout.hot:
            coded = code_values(rows.columns[name])
            found = [reader.read(value) for value in coded.values]
            code = next((n for n, each in enumerate(found) if isinstance(each, Unreadable)), None)
            if code is None:
                truths = [-1 if isinstance(each, Failure) else int(each) for each in found]
                flags[name] = np.array([*truths, -1], np.int32)[coded.codes]
            elif name in (self.request.labels or (name,)):
                line = rows.lines[coded.first_row(code)]
                raise InputError(
                    f"{place(self.table.source, line=line, column=name)} must hold 0 or 1 where "
                    f"every label has a column, got {shorten(repr(coded.values[code]))}. Name the "
                    'labels with `labels`, or their one column with columns={"label": ...}.'
                )
        if not flags:
            self._refuse_missing("label")
        matrix = np.stack(list(flags.values()), axis=1)
        distinct, codes = np.unique(matrix == 1, axis=0, return_inverse=True)
        names = np.array(list(flags), dtype=object)
        sets = [frozenset(names[row].tolist()) for row in distinct]
        answered = (matrix >= 0).any(axis=1)
        return CodedColumn(sets, np.where(answered, codes.ravel(), -1).astype(np.int32))

    # The rows that are asked for

    def _keep_wanted_raters(self, cells: _Cells) -> _Cells:
        """Keep the rows of the raters whom the caller names, or else of all who are no judges."""
        column = self.layout.columns.get("rater")
        if column is None:
            return cells
        known = cells.raters
        for name in split_names(self.request.named_raters or (), cells.rater.values):
            if name not in known:
                names = ", ".join(repr(shorten(rater)) for rater in sorted(known)[:_MOST_NAMES])
                msg = f"{self.table.source}: column `{column}` must hold {name!r}, got {names}. "
                raise InputError(msg + self._correct_raters())
        kept = self.request.wanted_raters(cells.rater.values)
        wanted = [name if name in kept else None for name in cells.rater.values]
        if None not in wanted:
            return cells
        cells = replace(cells, rater=cells.rater.recode(wanted))
        return cells.where(cells.rater.codes >= 0)

    def _keep_asked_question(self, rows: Rows) -> Rows:
        """Keep the rows of the question that the caller asked for, if there are questions."""
        asked, column = self.request.question, self.layout.columns.get("question")
        if asked is None or column is None:
            return rows
        names = code_names(rows.columns[column], source=self.table.source).series(pl.String)
        places = (names == asked).arg_true()
        if places.is_empty():
            known = names.drop_nulls().unique(maintain_order=True).head(_MOST_NAMES)
            if known.is_empty():
                self._refuse_nothing("none")
            raise NoDataError(
                f"{self.table.source}: column `{column}` must hold the question asked for, got "
                f"{asked!r}. Ask for one of {', '.join(shorten(repr(name)) for name in known)}."
            )
        return rows if len(places) == len(names) else rows.take(places.to_list())

    def _keep_propositions(self, cells: _Cells) -> _Cells:
        """Set aside questions without a threshold where others have one (no propositions)."""
        asked = cells.question.codes
        given = asked[cells.given("threshold")]
        other = (asked >= 0) & ~np.isin(asked, given)
        if "question" not in self.layout.columns or not (given >= 0).any() or not other.any():
            return cells
        codes, counts = np.unique(asked[other], return_counts=True)
        counted = zip((cells.question.values[code] for code in codes), counts, strict=True)
        reason = "question of another kind: verdicts without a threshold"
        drops = [
            Dropped(reason=reason, source=self.table.source, question=name, value=f"{count} labels")
            for name, count in sorted(counted)
        ]
        return replace(cells.where(~other), dropped=(*cells.dropped, *drops))

    def _keep_identified_rows(self, cells: _Cells) -> _Cells:
        """Set aside rows without a rater, an item or a question."""
        for concept in ("item", "question", "rater"):
            absent = getattr(cells, concept).codes < 0
            if not absent.any():
                continue
            reason = "missing item id" if concept == "item" else f"missing {concept}"
            column = self.layout.columns.get(concept) if self.table.tabular else None
            drops = [
                replace(cells.drop(row, reason=reason), column=column, value=None)
                for row in np.flatnonzero(absent & ~self._is_blank(cells)).tolist()
            ]
            cells = replace(cells.where(~absent), dropped=(*cells.dropped, *drops))
        return cells

    def _is_blank(self, cells: _Cells, *words: str) -> NDArray[np.bool_]:
        """Return which rows are empty cells of a wide table, which are not listed as dropped."""
        if not self.layout.raters:
            return np.zeros(len(cells), np.bool_)
        blank = [
            isinstance(value, str) and value.strip() in ("", *words) for value in cells.label.values
        ]
        return np.array([*blank, True])[cells.label.codes]

    # What the labels are

    def _kind(self, cells: _Cells) -> QuestionKind:
        """Return the declared kind, or the one that fits the labels."""
        declared, has_threshold = self.request.kind, cells.given("threshold")
        if declared is None:
            if has_threshold.any() or cells.given("probability").any():
                return "boolean"
            if cells.turned is not None:
                return "pairwise"
            what = f"labels of {self.table.source}"
            return find_kind(cells.label.used(), what=what, missing=self.missing)
        is_choice_of_judge = declared == "choice" and self.is_judge and not self.request.labels
        if is_choice_of_judge and has_threshold.any():  # no annotator has the label "true"
            msg = (
                f"{self.table.source}: `kind` must be 'boolean' for verdicts with a probability "
                "and a threshold, got 'choice'. Their labels are true and false."
            )
            others = {*cells.questions} - {*cells.question.where(has_threshold).used()}
            if others:
                other = shorten(min(others))
                msg += f" Ask for a `question` without probabilities, such as {other!r}."
            raise InputError(msg)
        return declared

    def check_raters(self, cells: _Cells) -> _Cells:
        """Refuse a wide table with an undeclared column that may be no rater."""
        raters = self.layout.raters
        if not self.layout.is_guessed or len(raters) < 2:
            return cells
        option = "--judge-column" if self.is_judge else "--rater"
        judges = split_names(self.request.judge_columns or (), self.table.columns)
        if questions := find_questions(
            raters, () if self.is_judge else judges, is_judge=self.is_judge
        ):
            raise InputError(explain_questions(questions, self.request, self.table.source))
        codes = cells.label.codes.reshape(len(raters), -1).T
        doubts, hints = find_doubts(raters, codes, cells.label.values, is_judge=self.is_judge)
        if doubts:
            source = self.table.source
            raise InputError(explain_doubts(doubts, raters, source=source, option=option))
        notes = [f"{shorten(name)!r} is always the majority of the others" for name in hints]
        return replace(cells, notes=(*cells.notes, *notes))

    def _read(self, cells: _Cells) -> _Cells:
        """Read every label; a cell without one is set aside, or is a judge's failure."""
        request, table = self.request, self.table
        check_sorts(
            cells.label,
            cells.kind,
            where=cells.place_of,
            one_question="question" not in self.layout.columns or request.question is not None,
            missing=self.missing,
        )
        of_no_answers, missing = self._note_no_answers(cells), self.missing
        if cells.kind == "multilabel" and not self.layout.hot:
            missing = [*missing, *([""] if self._is_blank_missing(cells) else [])]
        labels = request.labels or ()
        written, notes, top = self._read_written(cells)
        cells = replace(cells, notes=(*cells.notes, *of_no_answers, *notes), top=top)
        reader = CellReader(cells.kind, labels, request.separator, missing, request.order, written)
        raw = cells.label
        found = [reader.read(value) for value in raw.values]
        if cells.probability is not None:
            cut = DEFAULT_THRESHOLD if request.threshold is None else request.threshold
            raw = raw.under(cells.probability)
            stated = cells.probability.values
            found += [reader.read_probability(value, threshold=cut) for value in stated]
            cells = replace(cells, label=raw)
        nothing = reader.read("" if table.blank_is_null and not self.layout.hot else None)
        both = [
            (None, x.reason) if isinstance(x, Failure) else (x, None) for x in (*found, nothing)
        ]
        label, reason = (raw.recode(x[:-1], nothing=x[-1]) for x in zip(*both, strict=True))
        is_lost = reason.codes >= 0
        unknown = [*(isinstance(each, Unreadable) for each in found), False]
        is_unknown = np.array(unknown)[raw.codes] & (cells.failure.codes < 0)
        listed = is_unknown if self.is_judge else is_lost & ~self._is_blank(cells, *NO_ANSWERS)
        self._check_readable(cells, reason, is_unknown, n_read=int((~is_lost).sum()))
        drops = [
            cells.drop(row, reason=reason.value(row)) for row in np.flatnonzero(listed).tolist()
        ]
        dropped = (*cells.dropped, *drops)
        if not self.is_judge:
            return replace(cells, label=label, dropped=dropped).where(~is_lost)
        failure = reason.under(cells.failure)
        return replace(
            cells,
            dropped=dropped,
            label=CodedColumn(label.values, np.where(failure.codes >= 0, -1, label.codes)),
            failure=failure.recode(failure.values),
            thresholds=_thresholds(cells),
            fingerprints=self._fingerprints(cells),
        )

    def _is_blank_missing(self, cells: _Cells) -> bool:
        """Whether a blank cell of a set means no answer; ask where a rater has many of them."""
        blank, source = self.request.blank, self.table.source
        if blank is not None or not self.table.blank_is_null or "" in self.request.missing:
            return blank == "missing"
        is_blank = self._is_blank(cells) if self.layout.raters else cells.label.codes < 0
        for code, rater in enumerate(cells.rater.values):
            mine = is_blank[cells.rater.codes == code]
            n_blank = int(mine.sum())
            if _FEW_CELLS <= len(mine) > n_blank > _MOST_BLANK * len(mine):
                raise InputError(
                    f"{source}: `blank` must be given where more than a fifth of a rater's cells "
                    f"are blank, got {n_blank:,} of {len(mine):,} by {shorten(rater)!r}. Declare "
                    "blank='missing' if the rater was not asked about these items, "
                    "blank='nothing' if none of the labels applies to them."
                )
        return False

    def _read_written(
        self, cells: _Cells
    ) -> tuple[Mapping[str, Any], tuple[str, ...], float | None]:
        """Read the numbers of a scale that are no plain numbers, and votes 1, 2 and 0; say how."""
        texts = [each.strip() for each in cells.label.used() if isinstance(each, str)]
        if cells.kind == "pairwise" and {"1", "2"} <= {*texts} <= {"0", "1", "2"}:
            votes = {"1": "A", "2": "B", "0": "tie"}
            shown = [f"{text!r} as {votes[text]}" for text in sorted(texts)]
            return votes, (f"{self.table.source}: read {', '.join(shown)}",), None
        if cells.kind != "scale" or self.request.order:
            return {}, (), None
        try:
            written, first, top = read_written_numbers(texts)
        except InputError as error:
            raise InputError(f"{self.table.source}: {error}") from None
        shown = [f"{shorten(text)!r} as {number:g}" for text, number in first.items()]
        notes = (f"{self.table.source}: read {', '.join(shown)}",) if shown else ()
        return written, notes, top

    def _note_no_answers(self, cells: _Cells) -> tuple[str, ...]:
        """Say which words were taken for no answer; refuse those that may be labels."""
        source, request = self.table.source, self.request
        labels = request.labels
        declared = {*request.missing, *map(str, labels or ())}
        sure, doubtful = count_no_answers(cells.label, cells.kind, is_judge=self.is_judge)
        asked = {word: count for word, count in doubtful.items() if word not in declared}
        if asked and not labels:
            counted = ", ".join(f"{shorten(word)!r} ({n:,})" for word, n in asked.items())
            used = [format_name(each) or "" for each in cells.label.used()]
            if cells.kind == "multilabel" and request.separator:
                parts = (part.strip() for each in used for part in each.split(request.separator))
                used = sorted({*parts})
            words = [
                each for each in used
                if each and each not in (*sure, *declared) and not is_cannot_tell(each)
            ]  # fmt: skip
            is_short = len(words) <= _MOST_NAMES and max(map(len, words)) <= _LONGEST_NAME
            known = f"labels={words}" if is_short else "`labels`"
            raise InputError(
                f"{source}: labels must be answers, got {counted}, which may mean that there is "
                f"none. Declare missing={list(asked)} if so, or {known} if they are labels."
            )
        taken = [f"{word!r} ({n:,})" for word, n in sure.items() if word not in declared]
        return (f"{source}: taken for no answer: {', '.join(taken)}",) if taken else ()

    def _check_readable(
        self, cells: _Cells, reason: CodedColumn, is_unknown: NDArray[np.bool_], *, n_read: int
    ) -> None:
        """Refuse a table of which more than one label in ten cannot be read."""
        n_unknown = int(is_unknown.sum())
        n_given = n_unknown + n_read
        if n_unknown <= max(1, _MOST_UNREAD * n_given):
            return
        row = int(np.argmax(is_unknown))
        first = cells.drop(row, reason=reason.value(row))
        is_hopeless = self.request.kind == "boolean" and not n_read
        more = " Declare kind='choice' for other words." if is_hopeless else ""
        unread = [cells.label.value(each) for each in np.flatnonzero(is_unknown).tolist()]
        words = [*dict.fromkeys(format_name(each) or "" for each in unread)]
        if n_read and cells.kind in ("boolean", "scale") and len(words) <= _FEW_WORDS:
            more = f" Declare missing={words} if they mean that there is no answer."
        raise InputError(
            f"{n_unknown:,} of {n_given:,} labels of {self.table.source} cannot be read, more than "
            f"one in ten. The first, {first.place()} (item {shorten(first.item or '')!r}, rater "
            f"{shorten(first.rater or '')!r}): {first.reason}. Correct the file, or what is "
            f"declared about it (`kind`, `labels`, `missing`, `separator`).{more}"
        )

    def _fingerprints(self, cells: _Cells) -> dict[str, tuple[str, ...]]:
        """Return the fingerprints of verdicts, one per judge and question."""
        rows = _list_distinct(cells.rater, cells.question, cells.fingerprint)
        seen: dict[tuple[str, str], str] = {}
        for rater, question, fingerprint in rows:
            if seen.setdefault((rater, question), fingerprint) != fingerprint:
                raise InputError(
                    f"{self.table.source}: column `fingerprint` must hold one value per judge and "
                    f"question, got several for {shorten(rater)!r} on {shorten(question)!r}. "
                    "Name the judge of each run differently."
                )
        return gather_values((rater, [fingerprint]) for rater, _, fingerprint in rows)

    def _unify_spellings(self, cells: _Cells) -> _Cells:
        """Refuse, or unify, raters and labels that differ only by case, width or white space."""
        is_words = cells.kind in ("choice", "multilabel")
        if self.request.normalize_labels:
            columns = {"rater": cells.rater} | ({"label": cells.label} if is_words else {})

            def fold(x: Any) -> Any:
                return fold_spelling(x) if isinstance(x, str) else frozenset(map(fold_spelling, x))

            folded: dict[str, Any] = {
                name: column.recode(list(map(fold, column.values)))
                for name, column in columns.items()
            }
            return replace(cells, **folded)
        way_out = "Correct one of them, or accept them as one with `normalize_labels`."
        source = self.table.source
        check_spellings(cells.raters, what=f"{source}: raters", way_out=way_out)
        if is_words:
            words = list_words(cells.label)
            check_spellings(words, what=f"{source}: labels", way_out=way_out)
        return cells


def _code_texts(column: Column) -> CodedColumn:
    """Code texts for display, cut to the shown length."""
    coded = code_values(column)
    texts = [(format_name(value) or "")[:_MOST_CHARACTERS] or None for value in coded.values]
    return coded.recode(texts)


def _present(**columns: str | None) -> dict[str, str]:
    return {concept: name for concept, name in columns.items() if name is not None}


def _failure_in(text: str) -> str | None:
    word = text.strip()
    if word.lower() in _NO_FAILURE:
        return None
    return "failed" if word.lower() in _BARE_FAILURE else word


def _thresholds(cells: _Cells) -> dict[str, tuple[float, ...]]:
    """List the thresholds of the labels by question."""
    found: list[tuple[str, list[float]]] = []
    for question, text in _list_distinct(cells.question, cells.threshold):
        with suppress(ValueError):
            found.append((question, [float(text)]))
    return gather_values(found)


def _list_distinct(*columns: CodedColumn | None) -> list[tuple[Any, ...]]:
    """List the different rows of columns that are all there, where all have a value."""
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return []
    codes = np.unique(np.stack([column.codes for column in known]), axis=1)
    rows = codes[:, (codes >= 0).all(axis=0)].T.tolist()
    return [tuple(x.values[code] for x, code in zip(known, row, strict=True)) for row in rows]
