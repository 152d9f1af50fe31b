"""Reads items (prompts with one response each) from files and frames, a batch at a time."""

from __future__ import annotations

import math
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import change_fields, check_count
from voirdire.errors import InputError, NoDataError
from voirdire.io.criteria import read_meta_row, read_of_item
from voirdire.io.declared import ItemReading
from voirdire.io.files import DataFile, RowError, files_of, got
from voirdire.io.messages import check_images
from voirdire.io.rows import open_frame, stream_rows, table_rows
from voirdire.io.shapes import (
    CompletionList,
    ShapeFinder,
    drafts_of,
    read_completions,
)
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.io.declared import ItemLayout
    from voirdire.io.files import FileRows, Source
    from voirdire.io.messages import Draft
    from voirdire.io.rows import FoundRows
    from voirdire.io.shapes import RowShape

# A batch of long rows ends early, to bound memory.
_MAX_BATCH_BYTES = 1 << 25
_CHECKED_AT_ONCE = 4_096
_ONE_ITEM = ("chat", "pair", "preferred pair")  # shapes with at most one item per row
_MAX_WHOLE = 9e18  # beyond this a float is not an exact integer


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemBatch:
    """The items of some rows of a file.

    Attributes
    ----------
    items : list of Item
        In the order of the file. A row may give several, or none.
    dropped : tuple of Dropped
        Rows that were set aside, each with its reason and place.
    n_rows : int
        Number of rows, without blank lines.
    """

    items: list[Item]
    dropped: tuple[Dropped, ...] = ()
    n_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemTable:
    """All items of a file.

    Attributes
    ----------
    items : tuple of Item
        In the order of the file.
    dropped : tuple of Dropped
        Rows that were set aside, each with its reason and place.
    """

    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...] = ()


def stream_items(
    source: Source,
    *,
    reading: ItemReading | None = None,
    batch_size: int = 1_024,
    **settings: Any,
) -> Iterator[ItemBatch]:
    r"""Read prompts with their responses from a file of any size, a batch at a time.

    Which shape a row has is told by its keys alone, row by row: `prompt` and `response` (or their
    synonyms, as text or as messages), `messages`, `chosen` and `rejected`, `ranked`, `response_a`
    and `response_b`, those of public data sets. Every other column goes into the items' metadata.
    The guide "Read items" lists them all.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file. A path may end in ``.gz``,
        ``.bz2`` or ``.xz``, or be a folder of the parts of one table.
    reading : ItemReading, optional
        How the file is laid out, and what of it becomes an item.
    batch_size : int, optional
        Rows of the file in a batch, at least 1. A batch of long rows ends at 32 MiB.
    **settings
        Fields of `ItemReading`, each of which counts before that of `reading`:

        - `format`: how the file is written; by default the ending of its name says, JSONL for a
          stream.
        - `columns`: our names to the file's, for `id`, `prompt`, `response`, `other` (the second
          response of a pair), `messages`, `system`, `context`, `chosen`, `rejected`, `ranked`,
          `preferred`, `behavior`, `group` and `cluster`.
        - `make_item`: for rows of any other form: it takes a row, a dict, and returns one of a form
          that is read, or a list of them.
        - `judged`: what of a response is judged: the last message by the assistant without its
          reasoning (``"final_answer"``, the default); that message whole (``"with_reasoning"``);
          or everything after the prompt, with tool calls and their results (``"whole_turn"``).
        - `behavior`: the behavior of items whose row names none.
        - `pairs`: whether `chosen` and `rejected` become one item with two responses.
        - `images`: whether prompts may hold images; by default a row with one is set aside.
        - `delimiter`: what parts the fields of CSV; by default what its header has most of: the
          comma, semicolon or tab, or the vertical bar where it has none of them.
        - `encoding`: of text; by default UTF-8, or UTF-16 where its byte order mark says so.
        - `sheet`: of a workbook; by default the first.
        - `missing`: the words that stand where there is no response or prompt; by default ``NA``,
          ``N/A``, ``NaN``, ``null`` and their like.

    Yields
    ------
    ItemBatch
        The items of some rows, and what of them was set aside. A row is set aside where it is not
        JSON, longer than 16 MiB, has no response, or a prompt or response that is neither text nor
        messages.

    Raises
    ------
    NoDataError
        If the file is empty, or if no row of it is an item; after the last batch.
    InputError
        If the file cannot be read or is not in its encoding, if a table lacks a column or has a
        row of more or fewer fields than its header, if two items have the same id, if no row has
        a column that `columns` names; if an argument breaks its rule. What a
        file breaks is found when its rows are reached, and what none of them has after the last.

    Notes
    -----
    *Ids.* Without an id an item is called ``"train:12"``: the file's stem and the line (the row,
    in Parquet and JSON). A row of several items gives ``ID:chosen`` and ``ID:rejected``, or
    ``ID:0``, ``ID:1``, all of one group; a pair is one item. Numbers become text.

    *Memory.* One batch, and 16 bytes an item to find repeated ids. JSON documents, workbooks, and
    Parquet that is not a file on disk, are held whole. Ids are compared by 64-bit hashes: a hundred
    million different ids are refused by mistake with a chance below .0003.

    *Nothing there.* Null is nothing, and so is a word of `missing`: a row with such a response is
    set aside, and such a prompt is none. An empty text, such as an empty cell of CSV, is a
    response, but no prompt and no id. Nulls are left out of the metadata.

    *Reasoning.* Thoughts in any spelling, such as ``<think>`` or harmony channels, are left out of
    a final answer. A response that ends inside its thoughts has none: its row is set aside, as is
    one whose last message calls a tool and says nothing.

    Examples
    --------
    >>> import io
    >>> from voirdire.io import stream_items
    >>> text = (
    ...     '{"id": 7, "prompt": "2 + 2?", "response": "<think>easy</think>4", "model": "m1"}\n'
    ...     '{"messages": [{"role": "user", "content": "Hi"},'
    ...     ' {"role": "assistant", "content": "Hello."}]}\n'
    ...     '{"prompt": "unanswered"}\n'
    ... )
    >>> for batch in stream_items(io.BytesIO(text.encode())):
    ...     for item in batch.items:
    ...         print(item.id, item.prompt[-1].content, item.response, item.metadata)
    ...     for drop in batch.dropped:
    ...         print(drop.place(), drop.reason)
    7 2 + 2? 4 {'model': 'm1'}
    stream:2 Hi Hello. {}
    <stream>:3 no response: no column holds one
    """
    reading = change_fields(reading or ItemReading(), settings)
    size = check_count("batch_size", batch_size, minimum=1)
    file = open_items(source, reading)
    return ItemReader.of(file, reading).stream(file, batch_size=size)


def open_items(source: Source | FileRows, layout: ItemLayout, *, held: str = "item") -> DataFile:
    """Open a file of items, or a folder of its parts; `held` names its content in messages."""
    found = files_of(source, held=f"{held}s") if isinstance(source, str | Path) else [source]
    parts = [
        DataFile(
            part,
            format=layout.format,
            delimiter=layout.delimiter,
            encoding=layout.encoding,
            sheet=layout.sheet,
            held=held,
        )
        for part in found
    ]
    file = copy(parts[0])
    file.name, file.parts = file.name if len(parts) == 1 else str(source), parts
    return file


def read_items(source: Source, *, reading: ItemReading | None = None, **settings: Any) -> ItemTable:
    r"""Read all prompts with their responses from a file.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file. A path may end in ``.gz``,
        ``.bz2`` or ``.xz``, or be a folder of the parts of one table.
    reading, **settings
        As for `stream_items`.

    Returns
    -------
    ItemTable
        All items, and what was set aside.

    Raises
    ------
    NoDataError
        If the file is empty, or if no row of it is an item.
    InputError
        As for `stream_items`.

    Examples
    --------
    >>> import io
    >>> from voirdire.io import read_items
    >>> text = "id,type,prompt,completion\nv1,homonyms,How do I kill a process?,Use kill.\n"
    >>> table = read_items(io.BytesIO(text.encode()), format="csv")
    >>> table.items[0].response, table.items[0].metadata
    ('Use kill.', {'type': 'homonyms'})
    """
    return join_batches(stream_items(source, reading=reading, **settings))


def check_items(opened: Callable[[], Source], reading: ItemReading) -> None:
    """Check a whole file of items before any of them is used.

    Parameters
    ----------
    opened : callable
        Gives the file from its beginning, as often as it is called.
    reading : ItemReading
        As for `stream_items`.

    Raises
    ------
    InputError
        If two items have the same id, or ids that differ by white space alone; if a table cannot
        be read to its end.

    Notes
    -----
    Most rows are looked at for their ids alone, in half the time that `stream_items` takes. Memory
    is one row, and 16 bytes an item.
    """

    def start() -> tuple[ItemReader, FoundRows]:
        file = open_items(opened(), reading)
        reader = ItemReader.of(file, reading)
        return reader, reader.rows(file)

    reader, rows = start()
    seen = SeenIds(source=reader.source)
    made = reader.make_rows(rows)
    found = ((name, line) for line, row, _ in made for name in reader.ids_of(row, line))
    while part := list(islice(found, _CHECKED_AT_ONCE)):
        if seen.first_repeat(*zip(*part, strict=True)) is not None:
            break
    else:
        return

    # A row that is set aside uses no id; this is found out only where it matters.
    reader, rows = start()
    for _ in reader.batches(rows, batch_size=_CHECKED_AT_ONCE):
        pass


def items_from_frame(
    frame: Any,
    *,
    reading: ItemReading | None = None,
    **settings: Any,
) -> ItemTable:
    """Take prompts with their responses from a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        One row per item, in any shape that `stream_items` reads. The index of a pandas frame is
        not a column.
    reading : ItemReading, optional
        As for `stream_items`; nothing of it that is about files counts.
    **settings
        Fields of `ItemReading`, each of which counts before that of `reading`.

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
    reading = change_fields(reading or ItemReading(), settings)
    reader = ItemReader(reading, source="items", stem="items", is_tabular=True)
    table = open_frame(frame, "items")
    reader.check_header(table.columns)
    return join_batches(reader.batches(table_rows(table), batch_size=1_024))


def join_batches(batches: Iterator[ItemBatch]) -> ItemTable:
    """Put the items and the dropped rows of all batches into one table."""
    items: list[Item] = []
    dropped: list[Dropped] = []
    for batch in batches:
        items += batch.items
        dropped += batch.dropped
    return ItemTable(items=tuple(items), dropped=tuple(dropped))


# From rows to items ---------------------------------------------------------------------------


class ItemReader:
    """Turns rows into items as declared; `held` names the content of the file in messages."""

    held = "item"

    def __init__(
        self, reading: ItemReading, *, source: str, stem: str, is_tabular: bool = False
    ) -> None:
        self.reading = reading
        self.source = source
        self.stem = stem
        self.first_keys: tuple[str, ...] = ()
        self.missing = frozenset(reading.missing)
        self.finder = ShapeFinder(reading, source=source, is_tabular=is_tabular)

    @classmethod
    def of(cls, file: DataFile, reading: ItemReading) -> Self:
        """Make the reader of a file."""
        is_tabular = file.format in ("csv", "tsv", "parquet", "xlsx")
        return cls(reading, source=file.name, stem=file.stem, is_tabular=is_tabular)

    def stream(self, file: DataFile, *, batch_size: int) -> Iterator[ItemBatch]:
        """Read the rows of a file of any format, one after another."""
        return self.batches(self.rows(file), batch_size=batch_size)

    def rows(self, file: DataFile) -> FoundRows:
        """Read the rows of a file, before they become items; messages name the part of a folder."""
        id_column = self.finder.columns.get("id", "id")
        check: Any = {"check_header": self.check_header, "is_row": self.is_row}
        parts = [
            (part.name, part.stem, stream_rows(part, **check, id_column=id_column))
            for part in file.parts
        ]

        def found() -> FoundRows:
            for name, stem, rows in parts:
                self.source, self.finder.source, self.stem = name, name, stem
                yield from rows
            self.source = self.finder.source = file.name

        return found()

    def make_rows(self, rows: FoundRows) -> FoundRows:
        """Apply `make_item` to every row, which gives one row, several or none."""
        make, key = self.reading.make_item, self.finder.columns.get("id", "id")
        if make is None and self.reading.criteria:
            make = read_meta_row
        if make is None:
            yield from rows
            return
        for line, row, size in rows:
            if not isinstance(row, dict):
                yield line, row, size
                continue
            made = make(row)
            if isinstance(made, list | tuple):
                for number, each in enumerate(made):
                    yield line, {key: f"{self.stem}:{line}:{number}"} | each, size
            elif made is not None:
                yield line, made, size
            if not made:
                reason = "`make_item` gave nothing"
                yield line, Dropped(reason=reason, source=self.source, line=line), size

    def batches(self, rows: FoundRows, *, batch_size: int) -> Iterator[ItemBatch]:
        """Convert rows batch by batch; check that ids are unique and that there are items.

        Raises
        ------
        InputError
            If an id comes twice, or no row has a column that was declared.
        NoDataError
            If no row gave an item.
        """
        seen = SeenIds(source=self.source)
        made = self.make_rows(rows)
        total = n_items = 0
        first_drop: Dropped | None = None
        while True:
            items: list[Item] = []
            lines: list[int] = []
            dropped: list[Dropped] = []
            n_rows = n_bytes = 0
            for line, row, size in made:
                n_rows += 1
                n_bytes += size
                dropped += self.take(row, line, items)
                lines += [line] * (len(items) - len(lines))
                if n_rows == batch_size or n_bytes >= _MAX_BATCH_BYTES:
                    break
            if not n_rows:
                break
            seen.add([item.id for item in items], lines)
            n_items += len(items)
            total += n_rows
            first_drop = first_drop or next(iter(dropped), None)
            yield ItemBatch(items=items, dropped=tuple(dropped), n_rows=n_rows)
        self.check_declared()
        if not n_items:
            self.refuse_empty(n_rows=total, first=first_drop)

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column, unless its rows are made into others."""
        if self.reading.make_item is None:
            self.finder.check_header(header)

    def check_declared(self) -> None:
        """Refuse a declared column that no row had, after all rows were read."""
        if self.first_keys:
            self.finder.check_seen(self.first_keys)

    def refuse_empty(self, *, n_rows: int, first: Dropped | None) -> NoReturn:
        """Raise an error where no row was an item; `first` is the first that was set aside."""
        if first is None:
            message = f"{self.source}: must hold at least one {self.held}, got no rows. Fill it."
            raise NoDataError(message)
        counted = "one row" if n_rows == 1 else f"{n_rows} rows"
        reason, way_out = first.reason, "Declare another `format`."
        if self.first_keys:
            way_out = "Name the columns with columns={...}."
            if self.finder.shape(self.first_keys).name == "none":
                reason = f"{reason}, of {self.finder.shown(self.first_keys)}"
                way_out = self.finder.way_out(self.first_keys)
        message = (
            f"{self.source}: must hold at least one {self.held}, got {counted} and a reason "
            f"against each (first {shorten(first.place())}: {reason}). {way_out}"
        )
        raise NoDataError(message)

    def is_row(self, document: dict[str, Any]) -> bool:
        """Return by its keys whether an object is a row."""
        return self.finder.has_response(_keys(document))

    def ids_of(self, row: Any, line: int) -> list[str]:
        """Return the ids of the items of a row, those that are set aside included."""
        if isinstance(row, dict):
            shape = self.finder.shape(_keys(row))
            if shape.name == "none":
                return []
            if shape.name in _ONE_ITEM or isinstance(row.get(shape.body or ""), str):
                with suppress(RowError):
                    return [_name_at(row, shape.id) or f"{self.stem}:{line}"]
                return []
        items: list[Item] = []
        self.take(row, line, items)
        return [item.id for item in items]

    def take(self, row: Any, line: int, items: list[Item]) -> list[Dropped]:
        """Append the items of a row; return the parts that were set aside."""
        if isinstance(row, Dropped):
            return [row]
        try:
            found = self.completions_of(row, line)
        except RowError as error:
            return [error.dropped(source=self.source, line=line, item=None)]
        if found is None:
            return self.take_one(row, line, items)
        return [
            drop
            for each in found.rows
            for drop in self.take_one(each, line, items, group=found.group)
        ]

    def completions_of(self, row: Any, line: int) -> CompletionList | None:
        """Return the completions of a row that ranks several of one prompt; else None."""
        if not isinstance(row, dict):
            return None
        shape = self.finder.shape(_keys(row))
        if shape.name not in ("ranked", "public", "preference", "preferred pair"):
            return None
        self._note_keys(row)
        name = _name_at(row, shape.id) or f"{self.stem}:{line}"
        columns, pairs = self.finder.columns, self.reading.pairs
        return read_completions(row, shape, columns=columns, name=name, pairs=pairs)

    def _note_keys(self, row: Mapping[str, Any]) -> None:
        if self.finder.unseen:
            self.finder.unseen -= row.keys()
        self.first_keys = self.first_keys or tuple(row)

    def take_one(
        self, row: Any, line: int, items: list[Item], *, group: str | None = None
    ) -> list[Dropped]:
        """Append the items of a row without a ranked list, or of one ranked completion."""
        name: str | None = None
        try:
            if not isinstance(row, dict):
                raise RowError(f"row must be a JSON object, got {got(row)}")
            self._note_keys(row)
            for column in self.finder.chat_columns:  # a blank cell holds no messages
                if isinstance(row.get(column), str) and not row[column].strip():
                    row[column] = None
            shape = self.finder.shape(_keys(row))
            for key in shape.before:
                if row[key].__class__ is str and row[key].strip() in self.missing:
                    row = row | {key: None}
                    shape = self.finder.shape(_keys(row))
            name = _name_at(row, shape.id) or f"{self.stem}:{line}"
            drafts = [self._check_draft(draft) for draft in drafts_of(row, shape)]
            self._finish(row, shape, name=name, group=group, drafts=drafts, items=items)
        except RowError as error:
            return [error.dropped(source=self.source, line=line, item=name)]
        return [
            draft.dropped(source=self.source, line=line, item=name)
            for draft in drafts
            if isinstance(draft, RowError)
        ]

    def _check_draft(self, draft: Draft | RowError) -> Draft | RowError:
        """Refuse images that no judge sees; return why a draft is no item where it is none."""
        if isinstance(draft, RowError):
            return draft
        check_images(draft.prompt, are_seen=self.reading.images)
        responses = [draft.response] if draft.other is None else [draft.response, draft.other]
        for text in responses:
            if text.strip() in self.missing:
                return RowError(
                    f"no response: {text!r} stands for none; "
                    "declare missing=['<NA>'] if it is a response"
                )
        return draft

    def _finish(
        self,
        row: dict[str, Any],
        shape: RowShape,
        *,
        name: str,
        group: str | None,
        drafts: list[Draft | RowError],
        items: list[Item],
    ) -> None:
        """Make an item of each draft, with the fields that all items of the row share."""
        behavior = _name_at(row, shape.behavior)
        group = _name_at(row, shape.group) or group
        if group is None and len(drafts) > 1:
            group = name
        metadata = {key: row[key] for key in shape.metadata}
        shared = read_of_item(metadata) if self.reading.criteria else {}
        shared |= {"group": group, "cluster": _name_at(row, shape.cluster)}
        shared["behavior"] = behavior or self.reading.behavior
        for draft in drafts:
            if isinstance(draft, RowError):
                continue
            own: Any = {"prompt": draft.prompt, "response": draft.response, "other": draft.other}
            known = {**metadata, **draft.metadata} if draft.metadata else metadata
            items.append(Item(id=f"{name}{draft.suffix}", metadata=known, **own, **shared))


def _keys(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple([key for key, value in row.items() if value is not None])


def _name_at(row: dict[str, Any], column: str | None) -> str | None:
    return None if column is None else name_of(row[column], column=column)


def name_of(value: Any, *, column: str) -> str | None:
    """Return an id, a group or the like as text: 3 and 3.0 are ``"3"``, blank text is None."""
    if isinstance(value, str):
        return value if value.strip() else None
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    with suppress(ValueError, OverflowError):  # more digits than Python converts
        if is_number and math.isfinite(value):
            is_whole = value == int(value) and abs(value) < _MAX_WHOLE
            return f"{int(value)}" if is_whole or isinstance(value, int) else f"{value}"
    raise RowError(f"must be text or a number, got {got(value)}", column=column)


# Ids -------------------------------------------------------------------------------------------

_MAX_RUN = 1 << 19  # runs are merged up to this size, since a merge holds both in memory


class SeenIds:
    """The ids of a file so far, for any number of items, at 16 bytes each.

    Ids are kept as 64-bit hashes, with a new seed in every process, beside their first line. Two
    different ids share a hash with a chance of n²/2⁶⁵: one in four thousand for a hundred million
    items. Hashes are not checked again, since a stream cannot be read twice. Ids that differ by
    white space alone are the same, since readers could not distinguish them.
    """

    def __init__(self, *, source: str) -> None:
        self.source = source
        self._runs: list[NDArray[np.int64]] = []  # sorted hashes, with the line of each

    def add(self, ids: Sequence[str], lines: Sequence[int]) -> None:
        """Take the ids of a batch.

        Raises
        ------
        InputError
            If one of them is there already.
        """
        repeat = self.first_repeat(ids, lines) if ids else None
        if repeat is None:
            return
        place, first = repeat
        message = (
            f"{self.source}:{lines[place]}: item ids must be unique, got {shorten(ids[place])!r} "
            f"again (first at line {first}). "
        )
        raise InputError(message + 'Name another column: columns={"id": ...}.')

    def first_repeat(self, ids: Sequence[str], lines: Sequence[int]) -> tuple[int, int] | None:
        """Add the ids of a batch; return the place of a repeated one, and its first line."""
        hashes = np.fromiter((hash(" ".join(name.split())) for name in ids), dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        run = np.array([hashes, lines])[:, order]
        repeats = [  # (place in the batch, line of the first)
            (int(order[at + 1]), int(run[1, at]))
            for at in np.flatnonzero(run[0, 1:] == run[0, :-1])
        ]
        for earlier in self._runs:
            at = np.searchsorted(earlier[0], run[0]) % earlier.shape[1]
            same = np.flatnonzero(earlier[0, at] == run[0])
            repeats += [(int(order[n]), int(earlier[1, at[n]])) for n in same]
        if repeats:
            return min(repeats)
        # few runs: two of similar size are merged, up to a limit
        while self._runs and self._runs[-1].shape[1] <= 2 * run.shape[1] <= _MAX_RUN:
            both = np.concatenate([self._runs.pop(), run], axis=1)
            run = both[:, np.argsort(both[0], kind="stable")]
        self._runs.append(run)
        return None
