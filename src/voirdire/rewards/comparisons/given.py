"""Comparisons from whatever a caller has: a file, rows, a data frame, items, or comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import RowError
from voirdire.io.items import ItemReader, ItemReading
from voirdire.io.rows import given_rows, open_frame, table_rows
from voirdire.records import Item
from voirdire.rewards.comparisons.assembling import assembled
from voirdire.rewards.comparisons.completions import Completion, Gathered, RowTaker
from voirdire.rewards.comparisons.data import ComparisonData
from voirdire.rewards.comparisons.own_columns import OwnColumns
from voirdire.rewards.comparisons.reading import read_comparisons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged
    from voirdire.io import ItemFormat
    from voirdire.io.rows import FoundRows

__all__ = ["comparisons_of"]

_NAME = "comparisons"


def comparisons_of(
    source: Any,
    *,
    format: ItemFormat | None = None,  # noqa: A002  # the word people use for it
    columns: Mapping[str, str] | None = None,
    behavior: str | None = None,
    judged: Judged = "final_answer",
    known_behaviors: Sequence[str] | None = None,
) -> ComparisonData:
    """Take comparisons in any form.

    Parameters
    ----------
    source : ComparisonData, path, binary file, data frame, or sequence of mappings or of Item
        Comparisons are given back as they are. A path, ``"-"`` or an open file is read by
        `read_comparisons`; rows and frames have the same columns; items have their labels and
        base rewards in their metadata.
    format, columns, behavior, judged, known_behaviors
        As for `read_comparisons`. The response of an `Item` is taken as it stands.

    Returns
    -------
    ComparisonData
        Completions of prompts that have at least two, and what was set aside.

    Raises
    ------
    NoDataError
        If nothing is there, or no prompt has two completions.
    InputError
        As for `read_comparisons`; also if `source` is none of these.

    Examples
    --------
    >>> data = comparisons_of(
    ...     [{"prompt": "Hi", "chosen": "Hello.", "rejected": "Go away.", "margin": 2}],
    ...     behavior="comply",
    ... )
    >>> data.behaviors, data.better.tolist(), data.worse.tolist(), data.margins.tolist()
    (('comply', 'comply'), [0], [1], [2.0])
    """
    if isinstance(source, ComparisonData):
        return source
    if isinstance(source, str | Path) or hasattr(source, "read"):
        return read_comparisons(
            source,
            format=format,
            columns=columns,
            behavior=behavior,
            judged=judged,
            known_behaviors=known_behaviors,
        )
    ItemReading(behavior=behavior)
    own = OwnColumns(columns, source=_NAME)
    if hasattr(source, "columns"):
        table = open_frame(source, _NAME)
        found = _taken(table_rows(table), own=own, judged=judged, header=table.columns)
    else:
        given = _given(source)
        if all(isinstance(row, Item) for row in given):
            found = _of_items(given, own)
        else:
            rows = given_rows(given, source=_NAME, keep_nan=own.numbers)
            found = _taken(rows, own=own, judged=judged, header=None)
    return assembled(found, behavior=behavior, known_behaviors=known_behaviors)


def _given(source: Any) -> list[Any]:
    if isinstance(source, Item | Mapping | bytes) or not isinstance(source, Iterable):
        msg = (
            f"`comparisons` must be a file, a data frame, or a sequence of rows or items, got "
            f'{type(source).__name__}. Write [{{"prompt": ..., "response": ..., "label": ...}}].'
        )
        raise InputError(msg)
    rows = list(source)
    if not rows:
        msg = f"{_NAME}: must hold at least one prompt with two completions, got no rows. Add some."
        raise NoDataError(msg)
    if any(isinstance(row, Item) for row in rows) and not all(
        isinstance(row, Item) for row in rows
    ):
        other = next(row for row in rows if not isinstance(row, Item))
        msg = (
            f"`comparisons` must all be items or all be rows, got {type(other).__name__} "
            f"({shorten(other)}) among items. Write them all in one way."
        )
        raise InputError(msg)
    return rows


def _taken(
    rows: FoundRows, *, own: OwnColumns, judged: Judged, header: Sequence[str] | None
) -> Gathered:
    reading = ItemReading(columns=own.of_items, judged=judged)
    reader = ItemReader(reading, source=_NAME, stem=_NAME, is_tabular=header is not None)
    if header is not None and own.ranked not in header:
        reader.check_header(header)
    return RowTaker(reader, own).take_all(rows)


def _of_items(items: Sequence[Item], own: OwnColumns) -> Gathered:
    """Take items as they are; what is wrong with their metadata sets them aside."""
    found = Gathered(source=_NAME)
    seen: set[str] = set()
    for line, item in enumerate(items, start=1):
        if item.id in seen:
            msg = f"`comparisons` must have unique ids, got {shorten(item.id)!r} twice."
            raise InputError(msg)
        seen.add(item.id)
        own.see(item.metadata)
        try:
            one = Completion(
                item=item,
                group=item.group,
                label=own.label(item.metadata),
                split=own.split(item.metadata),
                behavior=own.behavior(item.metadata, item.behavior),
                base=own.base_reward(item.metadata),
                line=line,
            )
        except RowError as error:
            found.dropped.append(error.dropped(source=_NAME, line=line, item=item.id))
            continue
        found.completions.append(one)
    own.check_seen(tuple(items[0].metadata))
    return found
