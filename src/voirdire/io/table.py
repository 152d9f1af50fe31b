"""The one form in which labels travel: long, typed by kind, with what was set aside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.drops import in_order
from voirdire.io.duplicates import repeated_rows
from voirdire.io.provenance import joined_fingerprints, refuse_mixed_runs
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire._types import QuestionKind

__all__ = ["COLUMNS", "LabelTable", "join_tables"]

COLUMNS = ("question", "item", "rater", "label", "failure", "cluster", "source", "line")


@dataclass(frozen=True, kw_only=True)
class LabelTable:
    """Labels of several raters in long form, one row per (question, item, rater).

    Attributes
    ----------
    frame : polars.DataFrame
        Columns `question`, `item`, `rater` (String), `label` (String ``"true"`` or ``"false"``
        for boolean, String for choice and text, Float64 for scale, sorted List(String) for
        multilabel), `failure` (String, null = none; then `label` is null), `cluster` (String,
        null = none), `source` (Categorical) and `line` (UInt32, 1-based line of a text file or
        row of a table, null where the format has neither).
    kind : str
        The kind of question, as declared.
    dropped : tuple of Dropped
        What was set aside, with its reason and place.
    thresholds : tuple of float
        The thresholds that judges' labels were made with, where the table declares them.
    fingerprints : mapping of str to tuple of str
        For each judge that has any: the fingerprints of its verdicts.
    """

    frame: pl.DataFrame
    kind: QuestionKind
    dropped: tuple[Dropped, ...] = ()
    thresholds: tuple[float, ...] = ()
    fingerprints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def join_tables(tables: Iterable[LabelTable]) -> LabelTable:
    """Put tables of one kind under each other.

    Parameters
    ----------
    tables : iterable of LabelTable
        At least one; all of the same kind.

    Returns
    -------
    LabelTable
        All rows in the order of the tables. A label that two tables repeat is kept once and
        listed as ``"duplicate row"``.

    Raises
    ------
    InputError
        If there is no table, if kinds differ, if a rater gave one item two different labels, or if
        verdicts of one judge on one question were made in different ways.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire.io import join_tables, table_from_frame
    >>> ann = pl.DataFrame({"item": ["a", "b"], "annotator": "ann", "label": ["yes", "no"]})
    >>> bob = pl.DataFrame({"item": ["a", "b"], "annotator": "bob", "label": ["yes", "yes"]})
    >>> tables = [
    ...     table_from_frame(frame, role="annotator", kind="boolean", source_name=name)
    ...     for name, frame in [("ann", ann), ("bob", bob)]
    ... ]
    >>> join_tables(tables).frame["rater"].to_list()
    ['ann', 'ann', 'bob', 'bob']
    """
    tables = list(tables)
    _check_kinds(tables)
    refuse_mixed_runs(tables)
    frame = pl.concat([table.frame for table in tables])
    repeats = repeated_rows(frame)
    earlier = [drop for table in tables for drop in table.dropped]
    return LabelTable(
        frame=without_rows(frame, repeats),
        kind=tables[0].kind,
        dropped=(*earlier, *in_order(repeat_drops(frame, repeats))),
        thresholds=tuple(sorted({value for table in tables for value in table.thresholds})),
        fingerprints=joined_fingerprints([table.fingerprints for table in tables]),
    )


def repeat_drops(frame: pl.DataFrame, repeats: Sequence[int]) -> list[Dropped]:
    """Say of each repeated row where it stood."""
    if not repeats:
        return []
    return [
        Dropped(
            reason="duplicate row",
            source=row["source"],
            line=row["line"],
            column=row.get("column"),
            item=row["item"],
            rater=row["rater"],
            question=row["question"],
            value=_shown(row["label"]),
        )
        for row in frame[list(repeats)].iter_rows(named=True)
    ]


def without_rows(frame: pl.DataFrame, rows: Sequence[int]) -> pl.DataFrame:
    """Keep the other rows, in their order."""
    if not rows:
        return frame
    return frame.with_row_index("row").filter(~pl.col("row").is_in(list(rows))).drop("row")


def _shown(label: object) -> str | None:
    if label is None:
        return None
    return shorten(", ".join(label) if isinstance(label, list) else f"{label}")


def _check_kinds(tables: Sequence[LabelTable]) -> None:
    if not tables:
        message = "`tables` must hold at least one table, got none. Read a file first."
        raise InputError(message)
    kinds = sorted({table.kind for table in tables})
    if len(kinds) > 1:
        message = (
            f"`tables` must be of one kind of question, got {kinds!r}. "
            "Examine the kinds one after the other."
        )
        raise InputError(message)
