"""The verdict table: long, as `voirdire examine` reads it, or wide, one row per item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import USUAL_THRESHOLD, threshold_of_each, threshold_to_cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.batch import BehaviorClasses, VerdictBatch
    from voirdire.judging.plan import JudgingPlan

__all__ = [
    "ANSWERED_BY",
    "CALL_COLUMNS",
    "LONG_COLUMNS",
    "WIDE_ENDS",
    "LongCells",
    "VerdictLayout",
    "is_verdict_table",
    "label_series",
    "label_text",
    "long_cells",
    "long_frame",
    "verdict_columns",
    "wide_frame",
]

VerdictLayout: TypeAlias = Literal["long", "wide"]
"""One row per item and question, or one row per item."""

LONG_COLUMNS = (
    "item",
    "judge",
    "question",
    "label",
    "probability",
    "source",
    "threshold",
    "behavior",
    "failure",
    "fingerprint",
)
CALL_COLUMNS = ("missing_mass", "shift", "form", "attempts")
"""What follows them where the judge is a language model; see `CallDetails`."""

WIDE_ENDS = (("item", "behavior"), ("judge", "fingerprint"))
"""What the columns of a wide table begin and end with."""

ANSWERED_BY = "answered_by"
"""What stands before its end where the judge is a cascade: which of the two answered an item."""

THRESHOLD = "threshold"
"""What stands before its end where it is not 1/2: a number, or JSON with one by proposition."""

_NO_CLASS = "an answer that the class needs is missing"
_TRUE, _FALSE, _NONE = 1, 0, -1


def is_verdict_table(columns: tuple[str, ...]) -> VerdictLayout | None:
    """Tell by its columns whether a table holds verdicts of ours, and in which layout."""
    if columns in (LONG_COLUMNS, (*LONG_COLUMNS, *CALL_COLUMNS)):
        return "long"
    first, last = WIDE_ENDS
    if columns[: len(first)] == first and columns[len(first) :][-len(last) :] == last:
        return "wide"
    return None


def verdict_columns(
    plan: JudgingPlan, layout: VerdictLayout, *, of_model: bool = False, of_cascade: bool = False
) -> tuple[str, ...]:
    """Name the columns of the table of a plan's verdicts, in order, each once."""
    rubric = plan.rubric
    if layout == "long":
        return (*LONG_COLUMNS, *CALL_COLUMNS) if of_model else LONG_COLUMNS
    first: tuple[str, ...]
    last: tuple[str, ...]
    first, last = WIDE_ENDS
    last = (THRESHOLD, *last) if plan.threshold != USUAL_THRESHOLD else last
    last = (ANSWERED_BY, *last) if of_cascade else last
    others = [row.id for row in rubric.questions if row.kind != "boolean"] if of_model else []
    taken = [name for name in (*rubric.propositions, *others) if name in (*first, *last)]
    if taken:
        msg = (
            f"`layout` must be 'long' for rubric {shorten(rubric.name)!r}, got 'wide': its "
            f"question {taken[0]!r} has the name of another column."
        )
        raise InputError(msg)
    classes = (f"{row.id}.{part.name}" for row in rubric.behaviors for part in row.classes)
    return (*first, *rubric.propositions, *others, *classes, *last)


@dataclass(frozen=True, kw_only=True, eq=False)
class LongCells:
    """The rows of a long table: places of item and question, probability, and state.

    `question` counts the propositions and then the classes; `state` is 1 for true, 0 for false
    and -1 where there is no label.
    """

    item: NDArray[np.int64]
    question: NDArray[np.int64]
    probability: NDArray[np.float64]
    state: NDArray[np.int8]


def long_cells(batch: VerdictBatch) -> LongCells:
    """Lay out the rows: an item's propositions, then its classes."""
    blocks = list(_blocks(batch))
    n_rows = sum(block.codes.size for block in blocks)
    item, code = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    probability, label = np.empty(n_rows), np.empty(n_rows, dtype=np.int8)
    for block in blocks:
        item[block.places], code[block.places] = block.items, block.codes
        probability[block.places], label[block.places] = block.probabilities, block.labels
    return LongCells(item=item, question=code, probability=probability, state=label)


def long_frame(batch: VerdictBatch, cells: LongCells | None = None) -> pl.DataFrame:
    """One row per item and question: an item's propositions, then its classes."""
    cells = long_cells(batch) if cells is None else cells
    item, code, probability, label = cells.item, cells.question, cells.probability, cells.state
    names = pl.Series([*batch.questions, *(x for row in batch.classes for x in row.questions)])
    n_asked = len(batch.questions)
    derived = pl.Series(code >= n_asked)
    values = pl.DataFrame(
        {
            "item": pl.Series(batch.items, dtype=pl.String).gather(item),
            "question": names.gather(code),
            "state": label,
            "probability": probability,
            "derived": derived,
            "behavior": pl.Series(batch.behaviors, dtype=pl.String).gather(item),
            "failure": _failures(batch, item=item, code=code, label=label),
        }
    )
    known = pl.col("state") != _NONE
    source = pl.lit(batch.source)
    if batch.sources is not None:
        source = pl.lit(pl.Series(batch.sources, dtype=pl.String).gather(item))
    return values.select(
        "item",
        pl.lit(batch.judge).alias("judge"),
        "question",
        pl.when(known).then(pl.col("state") == _TRUE).alias("label"),
        pl.col("probability").fill_nan(None),
        pl.when("derived").then(pl.lit("derived")).otherwise(source).alias("source"),
        pl.Series("threshold", _thresholds(batch, len(names))).gather(code),
        "behavior",
        "failure",
        pl.lit(batch.fingerprint).alias("fingerprint"),
    )


def wide_frame(batch: VerdictBatch) -> pl.DataFrame:
    """One row per item: a probability for each proposition and each class, null where none is."""
    columns: dict[str, pl.Series] = {
        "item": pl.Series(batch.items, dtype=pl.String),
        "behavior": pl.Series(batch.behaviors, dtype=pl.String),
    }
    for name, values in zip(batch.questions, batch.probabilities.T, strict=True):
        columns[name] = pl.Series(values).fill_nan(None)
    if batch.details is not None:
        for name, labels in batch.details.labels.items():
            columns[name] = label_series(labels)
    for row in batch.classes:
        for name, values in zip(row.questions, row.probabilities.T, strict=True):
            whole = np.full(len(batch.items), np.nan)
            whole[row.rows] = values
            columns[name] = pl.Series(whole).fill_nan(None)
    if batch.answered_by is not None:
        columns[ANSWERED_BY] = pl.Series(batch.answered_by, dtype=pl.String)
    if batch.threshold != USUAL_THRESHOLD:
        columns[THRESHOLD] = pl.repeat(
            threshold_to_cell(batch.threshold), len(batch.items), eager=True
        )
    return pl.DataFrame(columns).with_columns(
        judge=pl.lit(batch.judge), fingerprint=pl.lit(batch.fingerprint)
    )


def _thresholds(batch: VerdictBatch, n_names: int) -> NDArray[np.float64]:
    """Give those of the propositions, and for classes 1/2 where each proposition has its own."""
    usual = USUAL_THRESHOLD if isinstance(batch.threshold, Mapping) else batch.threshold
    found = np.full(n_names, usual)
    found[: len(batch.questions)] = threshold_of_each(batch.threshold, batch.questions)
    return found


def label_series(labels: Sequence[Any]) -> pl.Series:
    """Give answers to a question that is not boolean as a column: numbers, or text.

    A set of labels is written as a JSON array.
    """
    if all(label is None or isinstance(label, float) for label in labels):
        return pl.Series(labels, dtype=pl.Float64)
    return pl.Series([label_text(label) for label in labels], dtype=pl.String)


def label_text(label: Any) -> str | None:
    """Write an answer as text; whole numbers without a point."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, float):
        return f"{label:.0f}" if label.is_integer() else repr(label)
    return json.dumps(list(label), ensure_ascii=False)


class _Block:
    """Rows of the long table that lie in a grid of items and questions."""

    def __init__(
        self,
        places: NDArray[np.int64],
        *,
        items: NDArray[np.int64],
        first_code: int,
        probabilities: NDArray[np.float64],
        labels: NDArray[np.int8],
    ) -> None:
        self.places = places
        self.items = np.broadcast_to(items[:, None], places.shape)
        self.codes = np.broadcast_to(first_code + np.arange(places.shape[1]), places.shape)
        self.probabilities = probabilities
        self.labels = labels


def _blocks(batch: VerdictBatch) -> Iterator[_Block]:
    n_items, n_asked = batch.probabilities.shape
    widths = np.full(n_items, n_asked)
    for row in batch.classes:
        widths[row.rows] += len(row.classes)
    free = np.cumsum(widths) - widths  # the next row of each item's stretch of the table
    missing = np.isnan(batch.probabilities)
    yield _Block(
        free[:, None] + np.arange(n_asked),
        items=np.arange(n_items),
        first_code=0,
        probabilities=batch.probabilities,
        labels=np.where(missing, _NONE, batch.labels).astype(np.int8),
    )
    free = free + n_asked
    first_code = n_asked
    for row in batch.classes:
        yield _Block(
            free[row.rows, None] + np.arange(len(row.classes)),
            items=row.rows,
            first_code=first_code,
            probabilities=row.probabilities,
            labels=_class_labels(row, missing=np.any(missing[row.rows], axis=1)),
        )
        free[row.rows] += len(row.classes)
        first_code += len(row.classes)


def _class_labels(row: BehaviorClasses, *, missing: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Which class holds; unknown where none does because an answer is missing."""
    found: NDArray[np.int8] = np.equal(row.hard[:, None], np.arange(len(row.classes))).astype("i1")
    found[(row.hard < 0) & missing] = _NONE
    return found


def _failures(
    batch: VerdictBatch,
    *,
    item: NDArray[np.int64],
    code: NDArray[np.int64],
    label: NDArray[np.int8],
) -> pl.Series:
    """Give the reason of each row without a label, through the list of distinct reasons."""
    reasons = dict.fromkeys([_NO_CLASS, *(row.reason for row in batch.failures.values())])
    numbers = {reason: number for number, reason in enumerate(reasons)}
    reason_of = np.full((len(batch.items), len(batch.questions)), -1)
    for place, failure in batch.failures.items():
        reason_of[place] = numbers[failure.reason]
    asked = code < len(batch.questions)
    chosen = np.where(label == _NONE, 0, -1)
    chosen[asked] = reason_of[item[asked], code[asked]]
    if (chosen < 0).all():
        return pl.repeat(None, chosen.size, dtype=pl.String, eager=True)
    codes = pl.Series(chosen)
    return pl.Series(list(reasons), dtype=pl.String).gather(codes.set(codes < 0, None))
