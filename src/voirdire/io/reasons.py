"""Why a label is not usable: a status in the table, words in the drop."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import polars as pl

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.request import Request

__all__ = ["Status", "with_reasons"]

MAX_LABELS_SHOWN = 8


class Status(IntEnum):
    """What reading a label came to."""

    USABLE = 0
    MISSING = 1
    CANNOT_TELL = 2
    UNREADABLE = 3
    OUTSIDE = 4
    NO_PROBABILITY = 5

    @classmethod
    def first_unknown(cls) -> Status:
        """Statuses from this one on are unknown labels, the earlier ones missing."""
        return cls.UNREADABLE


_RULES = {
    "boolean": "true or false (yes/no, 1/0, 是/否)",
    "choice": "one label",
    "text": "text",
    "scale": "a finite number",
}


def with_reasons(
    frame: pl.DataFrame, *, request: Request, declared: Sequence[object] | None
) -> pl.DataFrame:
    """Add `reason`: null for a usable label, else the words for its status and value."""
    status = pl.col("status")
    plain = (
        pl.when(status == Status.MISSING)
        .then(pl.lit("missing label"))
        .when(status == Status.CANNOT_TELL)
        .then(pl.lit("can't tell"))
    )
    frame = frame.with_columns(reason=plain)
    unknown = frame.filter(status >= Status.first_unknown())
    if unknown.is_empty():
        return frame
    cases = unknown.select("status", "shown").unique(maintain_order=True)
    words = [
        _unknown(Status(code), value, request=request, declared=declared)
        for code, value in cases.iter_rows()
    ]
    cases = cases.with_columns(unknown=pl.Series(words, dtype=pl.String))
    return (
        frame.join(
            cases, on=["status", "shown"], how="left", nulls_equal=True, maintain_order="left"
        )
        .with_columns(reason=pl.coalesce("unknown", "reason"))
        .drop("unknown")
    )


def _unknown(
    status: Status, value: str | None, *, request: Request, declared: Sequence[object] | None
) -> str:
    got = repr(shorten(value or ""))
    if status is Status.NO_PROBABILITY:
        return f"unknown label: must be a probability in [0, 1], got {got}"
    if status is Status.OUTSIDE:
        return f"unknown label: must be {_one_of(request, declared or ())}, got {got}"
    if request.kind != "multilabel":
        return f"unknown label: must be {_RULES[request.kind]}, got {got}"
    rule = "a list of labels" if request.separator else "a JSON array of labels"
    way_out = "" if request.separator else '; write ["a", "b"], or declare separator="|"'
    return f"unknown label: must be {rule}, got {got}{way_out}"


def _one_of(request: Request, declared: Sequence[object]) -> str:
    shown = ", ".join(shorten(repr(label)) for label in declared[:MAX_LABELS_SHOWN])
    more = len(declared) - MAX_LABELS_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    ruled = "some of" if request.kind == "multilabel" else "one of"
    return f"{ruled} {shown}{rest}"
