"""Verdicts or annotations as numbers by item and proposition."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.verdict_files import verdict_format
from voirdire.records.verdict_tables import THRESHOLD, WIDE_ENDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VerdictGrid", "verdict_grid"]

_DERIVED = "derived"
_ENDS = {name for ends in WIDE_ENDS for name in ends} | {"annotator", THRESHOLD}
_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictGrid:
    """What somebody says of items.

    Attributes
    ----------
    items, questions : tuple of str
        Rows and columns.
    values : ndarray of float, shape (n_items, n_questions)
        In [0, 1]: probabilities, or the share of the annotators who say yes; nan where nothing is
        said.
    has_probabilities : bool
        False where all there is are labels.
    """

    items: tuple[str, ...] = field(repr=False)
    questions: tuple[str, ...]
    values: NDArray[np.float64] = field(repr=False)
    has_probabilities: bool = True

    def taken(self, items: tuple[str, ...], questions: tuple[str, ...]) -> NDArray[np.float64]:
        """Give the values of these items and questions, all of which are there."""
        rows = {name: place for place, name in enumerate(self.items)}
        columns = [self.questions.index(name) for name in questions]
        return self.values[np.ix_([rows[name] for name in items], columns)]


def verdict_grid(source: Any, *, called: str) -> VerdictGrid:
    """Read a verdict table, long or wide, or a long table of annotations.

    Parameters
    ----------
    source : polars.DataFrame, Verdicts, str or path
        A table in memory, or a file in Parquet, JSONL or CSV.
    called : str
        The argument, for messages.

    Returns
    -------
    VerdictGrid
        Items and questions in order of appearance; completion classes are left out.
    """
    frame = _frame(source, called=called)
    if "item" not in frame.columns:
        _refuse(called, f"columns {shorten(frame.columns)}")
    frame = frame.with_columns(pl.col("item").cast(pl.String))
    if "question" not in frame.columns:
        return _of_wide(frame, called=called)
    if "probability" not in frame.columns and "label" not in frame.columns:
        _refuse(called, f"columns {shorten(frame.columns)}")
    if "source" in frame.columns:
        frame = frame.filter(pl.col("source").ne_missing(_DERIVED))
    known = frame.select("item", "question", value=_value(frame))
    told = known.group_by("item", "question", maintain_order=True).agg(pl.mean("value"))
    items = tuple(told["item"].unique(maintain_order=True).to_list())
    questions = tuple(told["question"].unique(maintain_order=True).to_list())
    values = np.full((len(items), len(questions)), np.nan)
    rows = {name: place for place, name in enumerate(items)}
    columns = {name: place for place, name in enumerate(questions)}
    for item, question, value in told.iter_rows():
        values[rows[item], columns[question]] = np.nan if value is None else value
    is_said = "probability" in frame.columns
    return VerdictGrid(items=items, questions=questions, values=values, has_probabilities=is_said)


def _frame(source: Any, *, called: str) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | Path):
        return _of_file(Path(source))
    if not hasattr(source, "frame"):
        _refuse(called, type(source).__name__)
    made: pl.DataFrame = source.frame("long")
    return made


def _of_file(path: Path) -> pl.DataFrame:
    written_as = verdict_format(path)
    try:
        if written_as == "parquet":
            return pl.read_parquet(path)
        return pl.read_ndjson(path) if written_as == "jsonl" else pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        msg = f"{path}: must be a table of verdicts, got {shorten(error)}."
        raise InputError(msg) from error


def _value(frame: pl.DataFrame) -> pl.Expr:
    """Take the probability, or what the label says where there is no column for one."""
    if "probability" in frame.columns:
        return pl.col("probability").cast(pl.Float64)
    words = pl.col("label").cast(pl.String).str.to_lowercase()
    return words.replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)


def _of_wide(frame: pl.DataFrame, *, called: str) -> VerdictGrid:
    asked = [
        name
        for name, kind in frame.schema.items()
        if name not in _ENDS and "." not in name and (kind.is_numeric() or kind == pl.Boolean)
    ]
    if not asked:
        _refuse(called, f"columns {shorten(frame.columns)}")
    told = frame.select("item", pl.col(asked).cast(pl.Float64))
    told = told.group_by("item", maintain_order=True).agg(pl.mean(*asked))
    return VerdictGrid(
        items=tuple(told["item"].to_list()),
        questions=tuple(asked),
        values=told.select(pl.col(asked).fill_null(float("nan"))).to_numpy(),
    )


def _refuse(called: str, got: str) -> NoReturn:
    msg = (
        f"`{called}` must be a table of verdicts with `item` and `question`, or a column per "
        f"proposition, got {got}. Name a file that `voirdire judge` wrote."
    )
    raise InputError(msg)
