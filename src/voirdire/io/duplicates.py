"""A rater answers a question about an item once: repeats are dropped, contradictions refused."""

from __future__ import annotations

from typing import Any

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.raw import place

__all__ = ["repeated_rows"]

_KEYS = ("question", "item", "rater")


def repeated_rows(frame: pl.DataFrame) -> list[int]:
    """Row numbers of later rows that say what an earlier row of their rater said.

    The frame has the columns of `LabelTable.frame`.

    Raises
    ------
    InputError
        If a rater gave two different labels for one item and question.
    """
    suspects = _suspects(frame)
    if suspects.is_empty():
        return []
    first_of: dict[tuple[Any, ...], dict[str, Any]] = {}
    repeats: list[int] = []
    for row in suspects.iter_rows(named=True):
        key = tuple(row[name] for name in _KEYS)
        first = first_of.setdefault(key, row)
        if first is row:
            continue
        if first["label"] != row["label"]:
            _refuse(first, row)
        repeats.append(row["row"])
    return repeats


def _suspects(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows whose key may not be alone: hashes first, since most tables have none."""
    hashes = frame.select(key=pl.struct(_KEYS).hash()).to_series()
    if hashes.n_unique() == frame.height:
        return frame.clear().with_columns(row=pl.lit(0))
    return frame.with_row_index("row").filter(hashes.is_duplicated())


def _refuse(first: dict[str, Any], second: dict[str, Any]) -> None:
    message = (
        f"{place(second['source'], line=second['line'])}: `label` must be given once per question, "
        f"item and rater, got {_shown(second)} after {_shown(first)} in "
        f"{place(first['source'], line=first['line'])} (question "
        f"{shorten(second['question'])!r}, item {shorten(second['item'])!r}, rater "
        f"{shorten(second['rater'])!r}). Keep one of them."
    )
    raise InputError(message)


def _shown(row: dict[str, Any]) -> str:
    if row["label"] is None:
        return f"a failure ({shorten(row['failure'] or 'failed')})"
    return shorten(repr(row["label"]))
