"""The list of labels that were set aside, built from the offending rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

__all__ = ["drops_of", "in_order"]

_WANTED = ("reason", "line", "column", "item", "rater", "question", "shown")


def drops_of(frame: pl.DataFrame, *, source: str) -> list[Dropped]:
    """One `Dropped` for each row of a frame with the columns of the pipeline."""
    return [
        Dropped(
            reason=reason,
            source=source,
            line=line,
            column=column,
            item=item,
            rater=rater,
            question=question,
            value=None if shown is None else shorten(shown),
        )
        for reason, line, column, item, rater, question, shown in frame.select(_WANTED).iter_rows()
    ]


def in_order(dropped: Iterable[Dropped]) -> tuple[Dropped, ...]:
    """By line; what has no line comes last, in the order it was found."""
    return tuple(sorted(dropped, key=lambda drop: (drop.line is None, drop.line or 0)))
