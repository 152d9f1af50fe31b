"""`table_from_frame`: pandas, polars and pyarrow tables through narwhals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import polars as pl

from voirdire.errors import InputError
from voirdire.io.assembly import assemble
from voirdire.io.parquet import row_numbers
from voirdire.io.raw import RawRows, RawTable
from voirdire.io.request import Request, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import QuestionKind
    from voirdire.io.raw import Column, Value
    from voirdire.io.table import LabelTable

__all__ = ["known_frame", "open_frame", "table_from_frame"]


def table_from_frame(
    frame: Any,
    *,
    role: Role,
    kind: QuestionKind,
    columns: Mapping[str, str] | None = None,
    raters: Sequence[str] | None = None,
    labels: Sequence[str] | Sequence[float] | None = None,
    separator: str | None = None,
    threshold: float | None = None,
    missing: Sequence[str] = (),
    question: str | None = None,
    rater_name: str | None = None,
    source_name: str,
) -> LabelTable:
    """Take the labels of annotators or judges from a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Long or wide, as `read_labels` describes. The index of a pandas frame is not a column.
    role, kind, columns, raters, labels, separator, threshold, missing, question, rater_name
        As for `read_labels`.
    source_name : str
        What errors and drops call the frame, and the judge's name where it holds one judge
        without a name.

    Returns
    -------
    LabelTable
        The labels in long form; `line` is the 1-based row.

    Raises
    ------
    NoDataError
        If the frame has no rows.
    InputError
        As for `read_labels`; also if `frame` is not a data frame, or a lazy one.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire.io import table_from_frame
    >>> frame = pl.DataFrame({"id": [1, 2], "ann": [3, None], "bob": [4, 5]})
    >>> table = table_from_frame(frame, role="annotator", kind="scale", source_name="humans")
    >>> table.frame.select("item", "rater", "label").rows()
    [('1', 'ann', 3.0), ('1', 'bob', 4.0), ('2', 'bob', 5.0)]
    """
    request = Request(
        role=role,
        kind=kind,
        columns=columns,
        raters=raters,
        labels=labels,
        separator=separator,
        threshold=threshold,
        missing=missing,
        question=question,
        rater_name=rater_name,
        default_rater=source_name,
    )
    return assemble(open_frame(frame, source_name), request)


def known_frame(frame: Any, *, source: str) -> nw.DataFrame[Any]:
    """Take a data frame of any library whose columns have names of their own, of text."""
    try:
        known: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        message = (
            f"`frame` must be a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "Collect a lazy frame first."
        )
        raise InputError(message) from error
    except nw.exceptions.DuplicateError as error:
        why = " ".join(str(error).split())
        message = f"{source}: columns must have unique names, got: {why}. Rename one."
        raise InputError(message) from error
    names: tuple[object, ...] = tuple(known.columns)
    for name in names:
        if not isinstance(name, str):
            message = (
                f"{source}: columns must have names of text, got {name!r}. "
                "Rename them with `frame.columns = [...]`."
            )
            raise InputError(message)
    return known


def open_frame(frame: Any, source: str) -> RawTable:
    """Make a table of a data frame of any library."""
    known = known_frame(frame, source=source)

    def load(needed: Sequence[str]) -> RawRows:
        found: dict[str, Column] = {name: _column(known[name]) for name in needed}
        return RawRows(columns=found, lines=row_numbers(len(known)))

    return RawTable(source=source, columns=tuple(known.columns), load=load)


def _column(series: nw.Series[Any]) -> Column:
    """Take a typed column, or plain values where pandas holds Python objects."""
    if series.dtype not in (nw.Object, nw.Unknown):
        try:
            return pl.Series(series.to_polars()).alias("values")  # * is a pattern to polars
        except (ImportError, TypeError, ValueError):  # no pyarrow, or text that it refuses
            pass
    absent = series.is_null().to_list()
    return [
        None if gone else _plain(value)
        for value, gone in zip(series.to_list(), absent, strict=True)
    ]


def _plain(value: Value) -> Value:
    """Give the Python value that JSON would hold for NumPy's scalars, arrays, tuples, sets."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, tuple | set | frozenset):
        return sorted(value, key=str)
    return value
