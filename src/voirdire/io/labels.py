"""A raw label becomes a label of the declared kind, or gets the reason why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire.errors import InputError
from voirdire.io.label_sets import sets_of_lists, sets_of_text
from voirdire.io.missing import is_blank, is_cannot_tell, is_missing_word
from voirdire.io.reasons import Status
from voirdire.io.values import number_text, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.request import Request

__all__ = ["declared_labels", "label_dtype", "with_labels"]


def label_dtype(kind: str) -> pl.DataType:
    """Give the dtype of `LabelTable.frame["label"]` for a kind of question."""
    if kind == "scale":
        return pl.Float64()
    return pl.List(pl.String) if kind == "multilabel" else pl.String()


def declared_labels(request: Request) -> list[Any] | None:
    """Put the declared universe in the form that labels of this kind take."""
    if request.labels is None:
        return None
    if request.kind == "scale":
        return [float(label) for label in request.labels]
    words = [word for word in texts(list(request.labels), source="`labels`") if word is not None]
    if request.kind != "boolean":
        return words
    truths = pl.DataFrame({"x": words}).select(_truth(pl.col("x"))).to_series().to_list()
    if None in truths:
        message = (
            f"`labels` must be truth values under kind 'boolean', got {words!r}. "
            "Leave it out, or declare kind='choice'."
        )
        raise InputError(message)
    return truths


def with_labels(frame: pl.DataFrame, *, request: Request) -> pl.DataFrame:
    """Add `label` (typed, null where unusable), `status` and `shown` (what stood there).

    The frame has a column `raw` of dtype String, Float64 or List(String), and may have a
    column `probability`, which goes before `raw` where it is not null.
    """
    declared = declared_labels(request)
    dtype = frame["raw"].dtype
    if dtype == pl.Float64:
        typed = _from_numbers(frame, missing=request.missing)
    elif dtype == pl.List(pl.String):
        typed = sets_of_lists(frame, declared=declared)
    elif request.kind == "multilabel":
        typed = _missing_first(frame, request=request)
        typed = sets_of_text(typed, separator=request.separator, declared=declared)
    else:
        typed = _from_text(_missing_first(frame, request=request), kind=request.kind)
    if "probability" in frame.columns:
        typed = _from_probability(typed, threshold=request.cut)
    if declared is not None and request.kind != "multilabel":
        typed = _unless(typed, pl.col("label").is_in(declared), Status.OUTSIDE)
    usable = pl.col("status") == Status.USABLE
    typed = typed.with_columns(label=pl.when(usable).then(pl.col("label")))
    return typed if "shown" in typed.columns else _with_shown(typed)


def _with_shown(frame: pl.DataFrame) -> pl.DataFrame:
    """Add what stood in the rows with an unknown label, as text."""
    unknown = pl.col("status") >= Status.first_unknown()
    if not frame.select(unknown.any()).item():
        return frame.with_columns(shown=pl.lit(None, dtype=pl.String))
    raw = frame.select(pl.when(unknown).then(pl.col("raw"))).to_series()
    shown = texts(raw, source="labels") if raw.dtype != pl.Float64 else raw.cast(pl.String)
    return frame.with_columns(shown=shown)


def _missing_first(frame: pl.DataFrame, *, request: Request) -> pl.DataFrame:
    """Say of text whether it is an answer at all."""
    raw = pl.col("raw")
    declared = None
    if request.labels is not None:
        declared = [label for label in request.labels if isinstance(label, str)]
    status = (
        pl.when(is_blank(raw) | is_missing_word(raw, request.missing))
        .then(Status.MISSING)
        .when(is_cannot_tell(raw, declared=declared))
        .then(Status.CANNOT_TELL)
        .otherwise(Status.USABLE)
    )
    return frame.with_columns(status=status.cast(pl.UInt8), shown=raw)


def _from_text(frame: pl.DataFrame, *, kind: str) -> pl.DataFrame:
    raw = pl.col("raw")
    if kind in ("choice", "text"):
        return frame.with_columns(label=raw)
    label = (
        _truth(raw) if kind == "boolean" else raw.str.strip_chars().cast(pl.Float64, strict=False)
    )
    frame = frame.with_columns(label=label)
    readable = pl.col("label").is_not_null()
    if kind == "scale":
        readable &= pl.col("label").is_finite()
    return _unless(frame, readable, Status.UNREADABLE)


def _truth(text: pl.Expr) -> pl.Expr:
    word = text.str.strip_chars().str.to_lowercase()
    return (
        pl.when(word.is_in(TRUE_WORDS))
        .then(pl.lit("true"))
        .when(word.is_in(FALSE_WORDS))
        .then(pl.lit("false"))
    )


def _from_numbers(frame: pl.DataFrame, *, missing: Sequence[str]) -> pl.DataFrame:
    raw = pl.col("raw")
    absent = raw.is_null()
    if missing:
        word = number_text(raw, pl.Float64())
        absent |= is_missing_word(word, missing).fill_null(value=False)
    status = (
        pl.when(absent)
        .then(Status.MISSING)
        .when(raw.is_finite())
        .then(Status.USABLE)
        .otherwise(Status.UNREADABLE)
    )
    return frame.with_columns(label=raw, status=status.cast(pl.UInt8))


def _from_probability(frame: pl.DataFrame, *, threshold: float) -> pl.DataFrame:
    """Where a row has a probability, the label is whether it reaches the threshold."""
    given = ~is_blank(pl.col("probability"))
    value = pl.col("probability").str.strip_chars().cast(pl.Float64, strict=False)
    sound = value.is_between(0, 1).fill_null(value=False)
    label = pl.when(value >= threshold).then(pl.lit("true")).otherwise(pl.lit("false"))
    status = pl.when(sound).then(Status.USABLE).otherwise(Status.NO_PROBABILITY)
    return frame.with_columns(
        label=pl.when(given).then(label).otherwise(pl.col("label")),
        status=pl.when(given).then(status.cast(pl.UInt8)).otherwise(pl.col("status")),
        shown=pl.when(given).then(pl.col("probability")).otherwise(pl.col("shown")),
    )


def _unless(frame: pl.DataFrame, condition: pl.Expr, status: int) -> pl.DataFrame:
    """Give a status to the rows that were usable so far and fail a condition."""
    failing = (pl.col("status") == Status.USABLE) & ~condition
    return frame.with_columns(
        status=pl.when(failing).then(pl.lit(status, dtype=pl.UInt8)).otherwise(pl.col("status"))
    )
