"""`stream_items` and `read_items`: one door for every format and shape of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import check_count
from voirdire.io.items.batches import ItemTable, batches_of
from voirdire.io.items.conversion import Conversion
from voirdire.io.items.declared import ItemRequest, item_format, item_stem
from voirdire.io.items.delimited_rows import delimited_rows
from voirdire.io.items.numbered_lines import opened
from voirdire.io.items.text_rows import document_rows, jsonl_rows
from voirdire.io.sources import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire._types import Judged
    from voirdire.io.items.batches import ItemBatch
    from voirdire.io.items.declared import ItemFormat
    from voirdire.io.items.row_errors import FoundRows
    from voirdire.io.sources import Source
    from voirdire.records import Dropped, Item

__all__ = ["item_rows", "read_items", "stream_items"]


def stream_items(
    source: Source,
    *,
    format: ItemFormat | None = None,  # noqa: A002  # the word people use for it
    columns: Mapping[str, str] | None = None,
    json_columns: Sequence[str] = (),
    judged: Judged = "final_answer",
    behavior: str | None = None,
    pairs: bool = False,
    batch_size: int = 1_024,
) -> Iterator[ItemBatch]:
    r"""Read prompts with their responses from a file of any size, a batch at a time.

    Which shape a row has is told by its keys alone, row by row: `prompt` and `response` (or their
    synonyms, as text or as messages), `messages`, `chosen` and `rejected`, `response_a` and
    `response_b`, OpenAI's requests and completions. Every other column goes into the items'
    metadata. The guide "Read items" lists them all.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file. A path may end in ``.gz``.
    format : {"jsonl", "csv", "tsv", "json", "parquet"}, optional
        How the file is written; by default the ending of its name says, JSONL for a stream.
    columns : mapping of str to str, optional
        Our names to the file's, for `id`, `prompt`, `response`, `other` (the second response of a
        pair), `messages`, `chosen`, `rejected`, `behavior`, `group` and `cluster`.
    json_columns : sequence of str, optional
        The file's columns whose text cells hold JSON, beside `messages` and `conversations`. Text
        in any other column is text.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a response is judged: the last message by the assistant without its reasoning;
        that message whole; or everything after the prompt, with tool calls and their results.
    behavior : str, optional
        The behavior of items whose row names none.
    pairs : bool, optional
        Whether `chosen` and `rejected` become one item with two responses, for pairwise questions,
        instead of two items.
    batch_size : int, optional
        Rows of the file in a batch, at least 1. A batch of long rows ends at 32 MiB.

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
        If the file cannot be read or is not UTF-8, if a table lacks a column or has a row of more
        or fewer fields than its header, if two items have the same id, if no row has a column that
        `columns` or `json_columns` name; if an argument breaks its rule. What a file breaks is
        found when its rows are reached, and what none of them has after the last.

    Notes
    -----
    *Ids.* Without an id an item is called ``"train:12"``: the file's stem and the line (the row,
    in Parquet and JSON). A row of several items gives ``ID:chosen`` and ``ID:rejected``, or
    ``ID:0``, ``ID:1``, all of one group; a pair is one item. Numbers become text.

    *Memory.* One batch, and 16 bytes an item to find repeated ids. JSON documents, and Parquet
    that is not a file on disk, are held whole. Ids are compared by 64-bit hashes: a hundred
    million different ids are refused by mistake with a chance below .0003.

    *Nothing there.* Null is nothing; an empty text, such as an empty cell of CSV, is a response,
    but no prompt and no id. Nulls are left out of the metadata.

    *Reasoning.* ``<think>``, ``<thinking>`` and ``<reasoning>`` blocks are reasoning, but not
    inside code. Where a response ends inside one, the final answer is empty, and the item's
    metadata has ``unfinished_reasoning``. A message that calls a tool and says nothing is no
    answer.

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
    request = ItemRequest(
        columns=columns, json_columns=json_columns, judged=judged, behavior=behavior, pairs=pairs
    )
    size = check_count("batch_size", batch_size, minimum=1)
    chosen, is_gzip = item_format(source, format)
    conversion = Conversion(
        request,
        source=source_name(source),
        stem=item_stem(source),
        is_tabular=chosen in ("csv", "tsv", "parquet"),
    )
    rows = item_rows(source, written_as=chosen, is_gzip=is_gzip, conversion=conversion)
    return batches_of(rows, conversion=conversion, batch_size=size)


def read_items(
    source: Source,
    *,
    format: ItemFormat | None = None,  # noqa: A002  # the word people use for it
    columns: Mapping[str, str] | None = None,
    json_columns: Sequence[str] = (),
    judged: Judged = "final_answer",
    behavior: str | None = None,
    pairs: bool = False,
) -> ItemTable:
    r"""Read all prompts with their responses from a file.

    Parameters
    ----------
    source, format, columns, json_columns, judged, behavior, pairs
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
    items: list[Item] = []
    dropped: list[Dropped] = []
    for batch in stream_items(
        source,
        format=format,
        columns=columns,
        json_columns=json_columns,
        judged=judged,
        behavior=behavior,
        pairs=pairs,
    ):
        items += batch.items
        dropped += batch.dropped
    return ItemTable(items=tuple(items), dropped=tuple(dropped))


def item_rows(
    source: Source,
    *,
    written_as: ItemFormat,
    is_gzip: bool,
    conversion: Conversion,
) -> FoundRows:
    """Read the rows of a file as they come, whatever it is written in."""
    name = conversion.source
    if written_as == "parquet":
        from voirdire.io.items.parquet_rows import parquet_rows  # polars: 100 ms

        yield from parquet_rows(source, name=name, check_header=conversion.check_header)
        return
    with opened(source, is_gzip=is_gzip) as stream:
        if written_as == "jsonl":
            yield from jsonl_rows(stream, source=name)
        elif written_as == "json":
            id_column = (conversion.request.columns or {}).get("id", "id")
            yield from document_rows(
                stream, source=name, id_column=id_column, is_row=conversion.is_row
            )
        else:
            yield from delimited_rows(
                stream,
                separator="," if written_as == "csv" else "\t",
                source=name,
                check_header=conversion.check_header,
            )
