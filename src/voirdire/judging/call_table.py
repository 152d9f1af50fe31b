"""The long table of a language model's verdicts: more columns, and answers of other kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voirdire.judging.table import label_text, long_cells, long_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.batch import CallDetails, VerdictBatch

__all__ = ["call_frame"]


def call_frame(batch: VerdictBatch, details: CallDetails) -> pl.DataFrame:
    """One row per item and question: propositions, other questions, classes."""
    cells = long_cells(batch)
    n_asked = len(batch.questions)
    asked = cells.question < n_asked
    frame = long_frame(batch, cells).with_columns(
        missing_mass=_picked(details.missing_mass, cells.item, cells.question, where=asked),
        shift=_picked(details.shift, cells.item, cells.question, where=asked),
        form=pl.Series(details.forms, dtype=pl.String).gather(cells.item),
        attempts=pl.Series(details.attempts).gather(cells.item),
    )
    if not details.labels:
        return frame
    frame = frame.with_columns(_row=pl.Series(cells.item), _part=pl.Series(2 * ~asked))
    others = pl.concat([_other(batch, details, name) for name in details.labels])
    if n_asked:
        words = pl.when("label").then(pl.lit("true")).otherwise(pl.lit("false"))
        frame = frame.with_columns(label=pl.when(pl.col("label").is_not_null()).then(words))
        others = others.with_columns(pl.col("label").cast(pl.String))
        frame = pl.concat([frame, others.select(frame.columns)])
    else:
        frame = others
    return frame.sort("_row", "_part", maintain_order=True).drop("_row", "_part")


def _other(batch: VerdictBatch, details: CallDetails, name: str) -> pl.DataFrame:
    """Rows of one question that is not boolean."""
    n_items = len(batch.items)
    labels = details.labels[name]
    failed = [details.label_failures.get((row, name)) for row in range(n_items)]
    only_numbers = not batch.questions and len(details.labels) == 1
    if only_numbers and all(label is None or isinstance(label, float) for label in labels):
        column = pl.Series(labels, dtype=pl.Float64)
    else:
        column = pl.Series([label_text(label) for label in labels], dtype=pl.String)
    return pl.DataFrame(
        {
            "item": pl.Series(batch.items, dtype=pl.String),
            "judge": pl.repeat(batch.judge, n_items, eager=True),
            "question": pl.repeat(name, n_items, eager=True),
            "label": column,
            "probability": pl.repeat(None, n_items, dtype=pl.Float64, eager=True),
            "source": pl.repeat(None, n_items, dtype=pl.String, eager=True),
            "threshold": pl.repeat(None, n_items, dtype=pl.Float64, eager=True),
            "behavior": pl.Series(batch.behaviors, dtype=pl.String),
            "failure": pl.Series(
                [None if row is None else row.reason for row in failed], dtype=pl.String
            ),
            "fingerprint": pl.repeat(batch.fingerprint, n_items, eager=True),
            "missing_mass": pl.repeat(None, n_items, dtype=pl.Float64, eager=True),
            "shift": pl.Series(details.label_shift[name]).fill_nan(None),
            "form": pl.Series(details.forms, dtype=pl.String),
            "attempts": pl.Series(details.attempts),
        }
    ).with_columns(_row=pl.int_range(n_items), _part=pl.lit(1, dtype=pl.Int64))


def _picked(
    grid: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    *,
    where: NDArray[np.bool_],
) -> pl.Series:
    """Give the chosen cells of a grid; null where nothing is asked for or nothing is known."""
    found = np.full(rows.size, np.nan)
    found[where] = grid[rows[where], columns[where]]
    return pl.Series(found).fill_nan(None)
