"""Reads every row of a table of verdicts, of any rubric, for display."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile
from voirdire.io.rows import open_table
from voirdire.io.values import refuse_column, texts
from voirdire.records.thresholds import (
    USUAL_THRESHOLD,
    get_thresholds,
    threshold_from_cell,
)
from voirdire.records.verdicts import is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.io.rows import Table

__all__ = ["SAID_COLUMNS", "TEXT_COLUMNS", "read_verdict_rows"]

SAID_COLUMNS = (
    *("item", "judge", "question", "label", "probability", "failure", "behavior", "source"),
    "reason",
)
TEXT_COLUMNS = ("prompt", "response")
_THEIRS = {
    "item": ("item", "id"),
    "judge": ("judge", "rater"),
    "label": ("label", "value"),
    "reason": ("reason", "reasoning", "rationale", "explanation"),
    "response": ("response", "completion"),
}
"""Names of each column in tables; the first that exists is used."""
_NOT_ASKED = ("fingerprint", "threshold", "answered_by", "group", "cluster", "index", "")
_MOST_SHOWN = 8
_SAMPLE = 50


def read_verdict_rows(
    data: bytes,
    *,
    name: str,
    format: str,  # noqa: A002
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Read a table of verdicts, long or wide, from the bytes of a file.

    The frame has a row per item and question, with the columns of `SAID_COLUMNS` and those of
    `TEXT_COLUMNS` that the table has: text, but for `probability`, which is a number in [0, 1].
    `columns` gives other names of some of them: they hold where the table has them.
    """
    file = DataFile(_NamedBytes(data, name), format=format, held="verdict")
    table = open_table(file)
    names = {ours: _named(table, ours) for ours in (*SAID_COLUMNS, *TEXT_COLUMNS)}
    for ours, theirs in (columns or {}).items():
        if theirs in table.columns:
            names[ours] = theirs
        elif names.get(ours) is None:
            refuse_column(table, theirs, way_out="Name one of these.")
    is_wide = is_verdict_table(table.columns) == "wide" or (
        not names["question"] and not names["label"] and not names["probability"]
    )
    _check(table, names, is_wide=is_wide)
    asked = [each for each in table.columns if is_wide and _is_asked(each, names)]
    known = [each for each in names.values() if each]
    if "threshold" in table.columns:
        known.append("threshold")
    rows = table.load(list(dict.fromkeys([*known, *asked])))
    if not len(rows.lines):
        raise NoDataError(f"{name}: must hold at least one verdict, got none. Fill it.")
    series = {each: texts(rows.columns[each], source=name) for each in rows.columns}
    nothing = pl.Series([None] * len(rows.lines), dtype=pl.String)
    frame = pl.DataFrame(
        {
            ours: series[theirs] if theirs else nothing
            for ours, theirs in names.items()
            if theirs or ours in SAID_COLUMNS
        }
    ).with_columns(pl.col("judge").fill_null(pl.lit(file.stem)))
    if is_wide:
        threshold = series["threshold"][0] if "threshold" in series else None
        frame = _unfold(frame, {each: series[each] for each in asked}, threshold)
    elif not names["question"]:
        frame = frame.with_columns(question=pl.lit("label"))
    number = pl.col("probability").cast(pl.Float64, strict=False)
    frame = frame.with_columns(pl.when(number.is_between(0, 1)).then(number).alias("probability"))
    return frame.filter(pl.col("item").is_not_null() & pl.col("question").is_not_null())


class _NamedBytes(io.BytesIO):
    """Bytes with the name of their file for errors."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def _named(table: Table, ours: str) -> str | None:
    return next((name for name in _THEIRS.get(ours, (ours,)) if name in table.columns), None)


def _is_asked(column: str, names: dict[str, str | None]) -> bool:
    return column not in names.values() and column not in _NOT_ASKED


def _check(table: Table, names: dict[str, str | None], *, is_wide: bool) -> None:
    """Refuse other tables: of people's labels, or of items."""
    is_by_people = "annotator" in table.columns and not names["judge"]
    is_marked = bool(names["judge"]) or "fingerprint" in table.columns
    has_labels = bool(names["label"] or names["probability"])
    is_ours = is_marked if is_wide else has_labels
    if names["item"] and is_ours and not is_by_people:
        return
    shown = ", ".join(repr(shorten(name)) for name in table.columns[:_MOST_SHOWN])
    more = len(table.columns) - _MOST_SHOWN
    msg = (
        f"{table.source}: must be a result of voirdire, or verdicts with columns `item`, "
        f"`question`, and `label` or `probability`, got columns {shown or 'of no name'}"
        f"{f' and {more} more' if more > 0 else ''}. Name a file that `voirdire judge` wrote."
    )
    raise InputError(msg)


def _unfold(
    frame: pl.DataFrame, asked: dict[str, pl.Series], threshold: str | None
) -> pl.DataFrame:
    """Unpivot a wide table, with the rows of an item together."""
    cuts = get_thresholds(_threshold(threshold), list(asked))
    parts = [
        _answers(frame.with_row_index("place"), name, values, float(cut))
        for (name, values), cut in zip(asked.items(), cuts, strict=True)
    ]
    if not parts:
        return frame.clear()
    whole = pl.concat(parts)
    return whole.sort("place", maintain_order=True).drop("place")


def _threshold(cell: str | None) -> float | dict[str, float]:
    try:
        found = threshold_from_cell(cell)
    except ValueError:
        return USUAL_THRESHOLD
    return dict(found) if not isinstance(found, float) else found


def _answers(frame: pl.DataFrame, name: str, values: pl.Series, cut: float) -> pl.DataFrame:
    """Return the answers to a question: probabilities, or else labels."""
    given = values.drop_nulls().head(_SAMPLE)
    numbers = given.cast(pl.Float64, strict=False)
    is_probability = bool(numbers.is_between(0, 1).fill_null(value=False).all())
    said = values.cast(pl.Float64, strict=False)
    truth = pl.Series((said >= cut).cast(pl.String))
    is_class = "." in name
    found = frame.with_columns(
        question=pl.lit(name),
        label=truth if is_probability else values,
        probability=said.cast(pl.String) if is_probability else pl.lit(None, dtype=pl.String),
        source=pl.lit("derived" if is_class else None, dtype=pl.String),
    )
    # a class of another behavior does not concern the item
    return found.filter(pl.col("label").is_not_null()) if is_class else found
