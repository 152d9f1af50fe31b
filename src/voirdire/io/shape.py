"""Long or wide: which columns hold what, and the one long form that both become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.label_sorts import raw_labels
from voirdire.io.raw import place
from voirdire.io.request import DEFAULT_QUESTION
from voirdire.io.values import texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.raw import Column, RawRows, RawTable
    from voirdire.io.request import Request

__all__ = ["Layout", "find_layout", "long_form", "rows_asked_for"]

MAX_NAMES_SHOWN = 20

# Columns that only items have together, told by `items.row_shapes` likewise.
_ITEM_COLUMNS = (
    *({prompt, body} for prompt in ("prompt", "instruction") for body in ("response", "output")),
    {"prompt", "completion"},
    {"response_a", "response_b"},
    {"chosen", "rejected"},
    {"messages"},
    {"conversations"},
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The table's own names for its columns; `raters` is empty in long form."""

    item: str
    rater: str | None = None
    label: str | None = None
    probability: str | None = None
    failure: str | None = None
    question: str | None = None
    cluster: str | None = None
    threshold: str | None = None
    fingerprint: str | None = None
    raters: tuple[str, ...] = ()

    def needed(self) -> list[str]:
        """Name the columns to load, each once."""
        single = (
            self.item, self.rater, self.label, self.probability,
            self.failure, self.question, self.cluster, self.threshold, self.fingerprint,
        )  # fmt: skip
        return list(dict.fromkeys(name for name in (*single, *self.raters) if name is not None))


def find_layout(table: RawTable, request: Request) -> Layout:
    """Decide between long and wide by the names of the columns alone."""
    if not table.tabular:
        return Layout(item="item", rater="rater", label="label", question="question")
    _refuse_items(table, request)
    item = _named(table, request, "item", "item", "id")
    if item is None:
        _refuse_missing(table, "item")
    question = _named(table, request, "question", "question")
    cluster = _named(table, request, "cluster", "cluster")
    if request.raters is not None:
        _check_raters(table, request.raters)
        return Layout(item=item, question=question, cluster=cluster, raters=tuple(request.raters))
    rater = _named(table, request, "rater", request.role, "rater")
    label, probability = _answer_columns(table, request)
    if label is None and probability is None:
        if rater is not None:
            _refuse_missing(table, "label")
        others = (name for name in table.columns if name not in {item, question, cluster})
        raters = tuple(name for name in others if not _is_unnamed(name))
        if not raters:
            _refuse_missing(table, "label")
        return Layout(item=item, question=question, cluster=cluster, raters=raters)
    if rater is None and request.role == "annotator" and request.rater_name is None:
        _refuse_missing(table, "annotator")
    is_judge = request.role == "judge"
    return Layout(
        item=item,
        rater=rater,
        label=label,
        probability=probability,
        failure=_named(table, request, "failure", "failure") if is_judge else None,
        question=question,
        cluster=cluster,
        threshold=_declared_threshold(table, request, label),
        fingerprint="fingerprint" if is_judge and "fingerprint" in table.columns else None,
    )


def long_form(rows: RawRows, *, layout: Layout, table: RawTable, request: Request) -> pl.DataFrame:
    """One row per (question, item, rater): text columns, `raw` still as it was found."""
    frame = _shared_columns(rows, layout=layout, source=table.source, request=request)
    if layout.raters:
        return _melted(frame, rows, layout=layout, table=table, request=request)
    rater: pl.Series | pl.Expr = pl.lit(request.single_rater)
    if layout.rater is not None:
        rater = _present(texts(rows.columns[layout.rater], source=table.source))
    extra = {
        concept: texts(rows.columns[name], source=table.source)
        for concept, name in (
            ("probability", layout.probability),
            ("failure", layout.failure),
            ("threshold", layout.threshold),
            ("fingerprint", layout.fingerprint),
        )
        if name is not None
    }
    column = (layout.probability or layout.label) if table.tabular else None
    return frame.with_columns(
        rater=rater,
        raw=_long_labels(rows, layout=layout, table=table, request=request),
        column=pl.lit(column, dtype=pl.String),
        **extra,
    )


def _shared_columns(
    rows: RawRows, *, layout: Layout, source: str, request: Request
) -> pl.DataFrame:
    """Make what long and wide tables share: question, item, cluster and line."""

    def text(name: str) -> pl.Series:
        return _present(texts(rows.columns[name], source=source))

    frame = pl.DataFrame({"item": text(layout.item), "line": rows.lines})
    question: pl.Series | pl.Expr = pl.lit(request.question or DEFAULT_QUESTION)
    cluster: pl.Series | pl.Expr = pl.lit(None, dtype=pl.String)
    return frame.with_columns(
        question=question if layout.question is None else text(layout.question),
        cluster=cluster if layout.cluster is None else text(layout.cluster),
    )


def _named(table: RawTable, request: Request, concept: str, *ours: str) -> str | None:
    theirs = request.column_named(concept)
    if theirs is not None:
        if theirs not in table.columns:
            _refuse_missing(table, theirs, way_out="Correct `columns`.")
        return theirs
    return next((name for name in ours if name in table.columns), None)


def _is_unnamed(column: str) -> bool:
    """Tell the index column that pandas writes and reads without a name."""
    return not column.strip() or column.startswith("Unnamed: ")


def _answer_columns(table: RawTable, request: Request) -> tuple[str | None, str | None]:
    """Find the label column, and the probability column where labels come from it."""
    ours = ("label", "value") if request.role == "judge" else ("label",)
    label = _named(table, request, "label", *ours)
    if request.role != "judge" or request.kind != "boolean":
        return label, None
    label_wanted = request.column_named("label") is not None
    if label_wanted and request.column_named("probability") is None:
        return label, None
    if _declared_threshold(table, request, label) is not None:
        return label, None
    return label, _named(table, request, "probability", "probability")


def _declared_threshold(table: RawTable, request: Request, label: str | None) -> str | None:
    """Find the column that says with which threshold a judge's labels were made.

    Where there is one the labels stand, unless the caller declares a threshold.
    """
    columns = {"probability", "threshold"}
    if request.role != "judge" or request.kind != "boolean" or label is None:
        return None
    if request.threshold is not None or request.column_named("probability") is not None:
        return None
    return "threshold" if columns <= set(table.columns) else None


def _refuse_items(table: RawTable, request: Request) -> None:
    """Refuse what is to be judged, which people give where what came of it is asked for."""
    ours = {"label", "value", "probability"} if request.role == "judge" else {"label"}
    has_labels = bool(ours & set(table.columns)) or bool(request.column_named("label"))
    found = next((names for names in _ITEM_COLUMNS if names <= set(table.columns)), None)
    if has_labels or found is None or request.raters or request.column_named("probability"):
        return
    way_out = (
        "Judge them first with `voirdire judge`, and name the file of verdicts."
        if request.role == "judge"
        else "Name the file of labels that people gave them."
    )
    message = (
        f"{table.source}: must hold labels, got columns {', '.join(sorted(found))}, which look "
        f"like items to be judged. {way_out}"
    )
    raise InputError(message)


def _check_raters(table: RawTable, raters: Sequence[str]) -> None:
    for name in raters:
        if name not in table.columns:
            _refuse_missing(table, name, way_out="Correct `raters`.")


def _refuse_missing(table: RawTable, name: str, *, way_out: str | None = None) -> NoReturn:
    shown = ", ".join(shorten(repr(column)) for column in table.columns[:MAX_NAMES_SHOWN])
    more = len(table.columns) - MAX_NAMES_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    wide = "" if name == "item" else ", or name the columns of a wide table with raters=[...]"
    if len(table.columns) == 1 and any(mark in table.columns[0] for mark in ";\t|"):
        way_out = "Separate columns by commas, or by tabs in a .tsv file."
    way_out = way_out or f'Name it with columns={{"{name}": ...}}{wide}.'
    message = (
        f"{table.source}: column `{name}` must exist, got columns {shown or 'of no name'}{rest}. "
        f"{way_out}"
    )
    raise InputError(message)


def _present(text: pl.Series) -> pl.Series:
    """Text with blanks as null; names are otherwise kept to the letter."""
    blank = text.str.strip_chars() == ""
    if not blank.any():
        return text
    return text.to_frame("x").select(pl.when(~blank).then(pl.col("x"))).to_series()


def rows_asked_for(rows: RawRows, *, layout: Layout, table: RawTable, request: Request) -> RawRows:
    """Keep the rows of the question that the caller asked for, if there are questions."""
    if request.question is None or layout.question is None:
        return rows
    questions = texts(rows.columns[layout.question], source=table.source)
    chosen = rows.where((questions == request.question).fill_null(value=False))
    if chosen.lines.is_empty():
        known = questions.drop_nulls().unique(maintain_order=True).head(MAX_NAMES_SHOWN).to_list()
        listed = ", ".join(shorten(repr(name)) for name in known)
        message = (
            f"{table.source}: column `{layout.question}` must hold the question asked for, "
            f"got {request.question!r}. Ask for one of {listed}."
        )
        raise NoDataError(message)
    return chosen


def _long_labels(rows: RawRows, *, layout: Layout, table: RawTable, request: Request) -> pl.Series:
    if layout.label is None:
        return pl.repeat(None, rows.lines.len(), dtype=pl.String, eager=True)
    labels = {layout.label: rows.columns[layout.label]}
    (raw,) = _raw(labels, rows, layout=layout, table=table, request=request)
    if request.separator is None or request.kind != "multilabel" or raw.dtype != pl.String:
        return raw
    # a row with nothing between separators: the rater answered, and named no label
    blank = raw.str.strip_chars() == ""
    return raw.to_frame("raw").select(pl.when(~blank).then("raw").otherwise(pl.lit("[]")))["raw"]


def _raw(
    columns: dict[str, Column], rows: RawRows, *, layout: Layout, table: RawTable, request: Request
) -> list[pl.Series]:
    def where(name: str, index: int) -> str:
        if table.tabular:
            return place(table.source, line=rows.lines[index], column=name)
        item, rater = rows.columns["item"][index], rows.columns["rater"][index]
        return f"{table.source}: the label of item {item!r} by {rater!r}"

    return raw_labels(
        columns,
        kind=request.kind,
        source=table.source,
        where=where,
        one_question=layout.question is None or request.question is not None,
    )


def _melted(
    shared: pl.DataFrame, rows: RawRows, *, layout: Layout, table: RawTable, request: Request
) -> pl.DataFrame:
    """Stack the raters' columns; an empty cell of an annotator is no answer to list."""
    columns = {name: rows.columns[name] for name in layout.raters}
    labels = _raw(columns, rows, layout=layout, table=table, request=request)
    parts = []
    for name, raw in zip(layout.raters, labels, strict=True):
        part = shared.with_columns(raw=raw, rater=pl.lit(name), column=pl.lit(name))
        if request.role == "annotator":
            filled = pl.col("raw").is_not_null()
            if raw.dtype == pl.String:
                filled &= pl.col("raw").str.strip_chars() != ""
            part = part.filter(filled)
        parts.append(part)
    return pl.concat(parts)
