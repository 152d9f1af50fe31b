"""`items_from_frame`: pandas, polars and pyarrow tables through narwhals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.io.frames import known_frame
from voirdire.io.items.batches import ItemTable, batches_of
from voirdire.io.items.conversion import Conversion
from voirdire.io.items.declared import ItemRequest
from voirdire.io.items.json_values import is_unicode
from voirdire.io.items.row_errors import RowError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import narwhals.stable.v2 as nw

    from voirdire._types import Judged
    from voirdire.io.items.row_errors import FoundRows
    from voirdire.records import Dropped, Item

__all__ = ["items_from_frame"]

_STEP = 1_024


def items_from_frame(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    json_columns: Sequence[str] = (),
    judged: Judged = "final_answer",
    behavior: str | None = None,
    pairs: bool = False,
    source_name: str = "items",
) -> ItemTable:
    """Take prompts with their responses from a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        One row per item, in any shape that `stream_items` reads. The index of a pandas frame is
        not a column.
    columns, json_columns, judged, behavior, pairs
        As for `stream_items`.
    source_name : str, optional
        What errors and drops call the frame; items without an id are named after it.

    Returns
    -------
    ItemTable
        All items, and what was set aside, with its row.

    Raises
    ------
    NoDataError
        If no row is an item.
    InputError
        As for `stream_items`; also if `frame` is not a data frame, or a lazy one.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire.io import items_from_frame
    >>> frame = pl.DataFrame({"prompt": ["Hi", "Bye"], "response": ["Hello.", None]})
    >>> table = items_from_frame(frame)
    >>> [(item.id, item.response) for item in table.items], table.dropped[0].line
    ([('items:1', 'Hello.')], 2)
    """
    request = ItemRequest(
        columns=columns, json_columns=json_columns, judged=judged, behavior=behavior, pairs=pairs
    )
    known = known_frame(frame, source=source_name)
    conversion = Conversion(request, source=source_name, stem=source_name, is_tabular=True)
    conversion.check_header(known.columns)
    items: list[Item] = []
    dropped: list[Dropped] = []
    rows = _rows(known, source=source_name)
    for batch in batches_of(rows, conversion=conversion, batch_size=_STEP):
        items += batch.items
        dropped += batch.dropped
    return ItemTable(items=tuple(items), dropped=tuple(dropped))


def _rows(frame: nw.DataFrame[Any], *, source: str) -> FoundRows:
    """Few rows at once as Python values, with nothing where a library says missing in its way."""
    names = frame.columns
    for start in range(0, len(frame), _STEP):
        part = frame[start : start + _STEP]
        columns = [_values(part[name]) for name in names]
        for line, values in enumerate(zip(*columns, strict=True), start + 1):
            row = dict(zip(names, values, strict=True))
            if is_unicode(row):
                yield line, row, 0
            else:
                error = RowError("text must be Unicode, got half a surrogate pair")
                yield line, error.dropped(source=source, line=line), 0


def _values(series: nw.Series[Any]) -> list[Any]:
    absent = series.is_null().to_list()
    return [
        None if gone else _plain(value)
        for value, gone in zip(series.to_list(), absent, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Give the Python value that JSON would hold for NumPy's scalars and arrays, however deep."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: _plain(element) for key, element in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
