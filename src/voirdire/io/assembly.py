"""From a raw table to a `LabelTable`: type the labels, set aside what is not one, say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voirdire.errors import NoDataError
from voirdire.io.drops import drops_of, in_order
from voirdire.io.duplicates import repeated_rows
from voirdire.io.labels import declared_labels, label_dtype, with_labels
from voirdire.io.provenance import (
    fingerprints_of,
    probability_of_words,
    propositions_only,
    refuse_as_choice,
    thresholds_of,
)
from voirdire.io.reasons import Status, with_reasons
from voirdire.io.shape import find_layout, long_form, rows_asked_for
from voirdire.io.table import COLUMNS, LabelTable, repeat_drops, without_rows

if TYPE_CHECKING:
    from voirdire.io.raw import RawTable
    from voirdire.io.request import Request
    from voirdire.io.shape import Layout
    from voirdire.records import Dropped

__all__ = ["assemble"]

# Texts in a failure column that say there was none, and that say no more than that.
_NO_FAILURE = ("", "false", "0")
_BARE_FAILURE = ("true", "1")


def assemble(table: RawTable, request: Request) -> LabelTable:
    """Read a raw table as the request declares."""
    layout = find_layout(table, request)
    guard = probability_of_words(table, request=request)
    rows = table.load(list(dict.fromkeys([*layout.needed(), *guard])))
    if rows.lines.is_empty() and not table.dropped:
        message = f"{table.source}: must hold at least one label, got no rows. Add some."
        raise NoDataError(message)
    rows = rows_asked_for(rows, layout=layout, table=table, request=request)
    refuse_as_choice(rows, table=table, layout=layout, request=request)
    rows, of_other_kinds = propositions_only(rows, table=table, layout=layout)
    frame = long_form(rows, layout=layout, table=table, request=request)
    frame, dropped = _identified(frame, layout=layout, table=table)
    frame = with_labels(frame, request=request)
    frame = with_reasons(frame, request=request, declared=declared_labels(request))
    if request.role == "judge":
        frame, unusable = _failures_kept(frame, source=table.source)
    else:
        frame, unusable = _answers_only(frame, source=table.source)
    frame = _finished(frame, source=table.source, kind=request.kind)
    repeats = repeated_rows(frame)
    kept = without_rows(frame, repeats).select(COLUMNS)
    repeated = repeat_drops(frame, repeats)
    dropped = [*table.dropped, *of_other_kinds, *dropped, *unusable, *repeated]
    return LabelTable(
        frame=kept,
        kind=request.kind,
        dropped=in_order(dropped),
        thresholds=thresholds_of(frame),
        fingerprints=fingerprints_of(frame, source=table.source),
    )


def _identified(
    frame: pl.DataFrame, *, layout: Layout, table: RawTable
) -> tuple[pl.DataFrame, list[Dropped]]:
    """Set aside rows that do not say whose answer about what they are."""
    names = {"item": layout.item, "question": layout.question, "rater": layout.rater}
    dropped: list[Dropped] = []
    for concept, name in names.items():
        absent = frame[concept].is_null()
        if not absent.any():
            continue
        reason = "missing item id" if concept == "item" else f"missing {concept}"
        lost = frame.filter(absent).with_columns(
            reason=pl.lit(reason),
            column=pl.lit(name if table.tabular else None, dtype=pl.String),
            shown=pl.lit(None, dtype=pl.String),
        )
        dropped += drops_of(lost, source=table.source)
        frame = frame.filter(~absent)
    return frame, dropped


def _answers_only(frame: pl.DataFrame, *, source: str) -> tuple[pl.DataFrame, list[Dropped]]:
    unusable = pl.col("status") != Status.USABLE
    lost = frame.filter(unusable)
    if lost.is_empty():
        return frame, []
    return frame.filter(~unusable), drops_of(lost, source=source)


def _failures_kept(frame: pl.DataFrame, *, source: str) -> tuple[pl.DataFrame, list[Dropped]]:
    """Mark as failed a judge that was asked and gave nothing usable; the row stays."""
    if "failure" in frame.columns:
        text = pl.col("failure").str.strip_chars()
        word = text.str.to_lowercase()
        declared = (
            pl.when(word.is_in(_BARE_FAILURE))
            .then(pl.lit("failed"))
            .when(~word.is_in(_NO_FAILURE))
            .then(text)
        )
        frame = frame.with_columns(failure=declared)
    else:
        frame = frame.with_columns(failure=pl.lit(None, dtype=pl.String))
    unknown = (pl.col("status") >= Status.first_unknown()) & pl.col("failure").is_null()
    dropped = drops_of(frame.filter(unknown), source=source)
    failure = pl.coalesce("failure", "reason")
    return frame.with_columns(
        failure=failure, label=pl.when(failure.is_null()).then(pl.col("label"))
    ), dropped


def _finished(frame: pl.DataFrame, *, source: str, kind: str) -> pl.DataFrame:
    if "failure" not in frame.columns:
        frame = frame.with_columns(failure=pl.lit(None, dtype=pl.String))
    return frame.with_columns(
        pl.col("label").cast(label_dtype(kind)),
        source=pl.lit(source).cast(pl.Categorical),
    )
