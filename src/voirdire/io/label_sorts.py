"""One label column holds one sort of value; what sorts a kind of question can be read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.values import first_of_each_sort, number_text, numbers, sort_of_type, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire._types import QuestionKind
    from voirdire.io.raw import Column, Value
    from voirdire.io.values import Sort

__all__ = ["raw_labels"]

_NAMES: dict[Sort, str] = {
    "text": "text",
    "number": "numbers",
    "truth": "truth values",
    "list": "lists",
    "object": "objects",
}
# Two sorts that one reading rule understands.
_MIXABLE: dict[QuestionKind, set[Sort]] = {
    "scale": {"text", "number"},
    "multilabel": {"text", "list"},
}
_REFUSED: dict[QuestionKind, dict[Sort, str]] = {
    "boolean": {"list": "Declare kind='multilabel'."},
    "choice": {"list": "Declare kind='multilabel'."},
    "text": {"list": "Declare kind='multilabel'."},
    "scale": {"list": "Declare kind='multilabel'.", "truth": "Declare kind='boolean'."},
    "multilabel": {},
}
_EXPECTED: dict[QuestionKind, str] = {
    "boolean": "a truth value",
    "choice": "one label",
    "text": "one text",
    "scale": "a number",
    "multilabel": "a list of labels",
}


def raw_labels(
    columns: Mapping[str, Column],
    *,
    kind: QuestionKind,
    source: str,
    where: Callable[[str, int], str],
    one_question: bool,
) -> list[pl.Series]:
    """Turn label columns into one dtype: String, Float64 (scales) or List(String) (sets).

    `where` says for an error where the cell of a column and a row number stands.
    """
    found: dict[Sort, tuple[str, int]] = {}
    for name, column in columns.items():
        for sort, index in first_of_each_sort(column):
            if sort not in found or index < found[sort][1]:
                found[sort] = (name, index)
    if len(found) > 1 and not set(found) <= _MIXABLE.get(kind, set()):
        _refuse_mixture(found, columns, where=where, one_question=one_question)
    for sort, (name, index) in found.items():
        way_out = _REFUSED[kind].get(sort)
        if sort == "object" or way_out:
            message = (
                f"{where(name, index)} must be {_EXPECTED[kind]}, got "
                f"{_shown(columns[name][index])}. "
                f"{way_out or 'Write each label as text or a number.'}"
            )
            raise InputError(message)
    filled = [_typed_if_empty(column) for column in columns.values()]
    as_lists = set(found) == {"list"} and all(isinstance(column, pl.Series) for column in filled)
    if kind == "multilabel" and as_lists:
        return [_list_of_text(pl.Series(column)) for column in filled]
    if kind == "scale" and set(found) <= {"number"}:
        return [numbers(column) for column in filled]
    return [texts(column, source=source) for column in filled]


def _refuse_mixture(
    found: Mapping[Sort, tuple[str, int]],
    columns: Mapping[str, Column],
    *,
    where: Callable[[str, int], str],
    one_question: bool,
) -> NoReturn:
    cells = sorted(found.items(), key=lambda entry: entry[1][1])
    (first_sort, first), (second_sort, second) = cells[0], cells[1]
    common = "text" if "text" in found else first_sort
    way_out = f"Write all of them as {_NAMES[common]}."
    message = (
        f"{where(*second)} must hold values of one type, got "
        f"{_shown(columns[second[0]][second[1]])} ({_NAMES[second_sort]}) after "
        f"{_shown(columns[first[0]][first[1]])} ({_NAMES[first_sort]}) at {where(*first)}. "
        f"{way_out if one_question else 'Ask for one `question` at a time.'}"
    )
    raise InputError(message)


def _shown(value: Value) -> str:
    if isinstance(value, pl.Series):
        value = value.to_list()
    return shorten(repr(value))


def _typed_if_empty(column: Column) -> Column:
    """Let a column without any value go with columns of any type."""
    if isinstance(column, list) and all(value is None for value in column):
        return pl.Series(column, dtype=pl.Null)
    return column


def _list_of_text(column: pl.Series) -> pl.Series:
    if sort_of_type(column.dtype) is None:
        return column.cast(pl.List(pl.String))
    inner: Any = column.dtype.inner  # type: ignore[attr-defined]
    element = pl.element()
    text = number_text(element, inner) if inner.is_numeric() else element.cast(pl.String)
    as_lists = pl.col("x").cast(pl.List(inner)).list.eval(text)
    return column.to_frame("x").select(as_lists).to_series()
