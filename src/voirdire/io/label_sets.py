"""Sets of labels: lists as typed formats hold them, or text with JSON arrays or a separator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from voirdire.io.missing import is_cannot_tell, says_cannot_tell
from voirdire.io.reasons import Status
from voirdire.io.values import texts

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["sets_of_lists", "sets_of_text"]


def sets_of_lists(frame: pl.DataFrame, *, declared: Sequence[str] | None) -> pl.DataFrame:
    """Read `raw` of dtype List(String): sorted, each label once; an empty list is an answer."""
    raw = pl.col("raw")
    only = pl.when(raw.list.len() == 1).then(raw.list.first())
    cannot_tell = is_cannot_tell(only, declared=declared)
    holds_null = raw.list.eval(pl.element().is_null()).list.any()
    outside = pl.lit(value=False)
    if declared is not None:
        outside = ~raw.list.eval(pl.element().is_in(list(declared))).list.all()
    status = (
        pl.when(raw.is_null())
        .then(Status.MISSING)
        .when(holds_null)
        .then(Status.UNREADABLE)
        .when(cannot_tell)
        .then(Status.CANNOT_TELL)
        .when(outside)
        .then(Status.OUTSIDE)
        .otherwise(Status.USABLE)
    )
    label = raw.list.unique().list.sort()
    return frame.with_columns(label=label, status=status.cast(pl.UInt8))


def sets_of_text(
    frame: pl.DataFrame, *, separator: str | None, declared: Sequence[str] | None
) -> pl.DataFrame:
    """Read `raw` of text: a JSON array, or labels between separators.

    Each distinct text is read once, in Python; there are few of them beside the rows.
    """
    answers = frame.filter(pl.col("status") == Status.USABLE)
    cases = answers.select("raw").unique(maintain_order=True)
    universe = None if declared is None else set(declared)
    read = [_read(text, separator=separator, universe=universe) for text in cases["raw"]]
    cases = cases.with_columns(
        label=pl.Series([labels for labels, _ in read], dtype=pl.List(pl.String)),
        read=pl.Series([int(status) for _, status in read], dtype=pl.UInt8),
    )
    frame = frame.join(cases, on="raw", how="left", maintain_order="left")
    usable = pl.col("status") == Status.USABLE
    return frame.with_columns(
        status=pl.when(usable).then(pl.col("read")).otherwise(pl.col("status"))
    ).drop("read")


def _read(
    text: str, *, separator: str | None, universe: set[str] | None
) -> tuple[list[str] | None, Status]:
    labels = _json_labels(text)
    if labels is None and separator is not None:
        pieces = (piece.strip() for piece in text.split(separator))
        labels = sorted({piece for piece in pieces if piece})
    if labels is None:
        return None, Status.UNREADABLE
    if universe is None or not universe.issuperset(labels):
        if len(labels) == 1 and says_cannot_tell(labels[0]):
            return None, Status.CANNOT_TELL
        if universe is not None:
            return None, Status.OUTSIDE
    return labels, Status.USABLE


def _json_labels(text: str) -> list[str] | None:
    """Read a JSON array, or Label Studio's ``{"choices": [...]}`` in its CSV."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(value, dict) and set(value) == {"choices"}:
        value = value["choices"]
    if not isinstance(value, list):
        return None
    if any(element is None or isinstance(element, list | dict) for element in value):
        return None
    found = texts(value, source="labels").to_list() if value else []
    return sorted({label for label in found if label is not None})
