"""Rows that hold a prompt and need no response, in every format and shape that items come in."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.io.items.batches import batches_of
from voirdire.io.items.conversion import Conversion
from voirdire.io.items.declared import ItemRequest, item_format, item_stem
from voirdire.io.items.delimited_rows import delimited_rows
from voirdire.io.items.numbered_lines import opened
from voirdire.io.items.text_rows import document_rows, jsonl_rows
from voirdire.io.sources import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.io.items.declared import ItemFormat
    from voirdire.io.items.row_errors import FoundRows
    from voirdire.records import Dropped, Item

__all__ = ["prompts_in_frame", "prompts_in_rows", "stream_prompts"]

_RESPONSES = (
    "response", "completion", "other", "response_a", "response_b", "chosen", "rejected", "choices",
    "output", "answer", "error", "group",
)  # fmt: skip
"""What rows may hold besides a prompt, and what is not looked at."""

_PROMPTS = ("prompt", "question", "instruction", "input", "messages", "conversations", "request")
_BATCH_ROWS = 256


class _Rows(io.BytesIO):
    """Rows as a file of prompts would hold them; errors call them by this name."""

    name = "prompts"


def stream_prompts(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002  # the word people use for it
    columns: Mapping[str, str] | None = None,
    behavior: str | None = None,
) -> Iterator[tuple[list[Item], tuple[Dropped, ...]]]:
    """Read prompts from a file of any size, a batch at a time.

    Parameters
    ----------
    source : str, path or binary file
        As `voirdire.io.stream_items` takes it.
    format : str, optional
        How it is written, where the ending of its name does not say.
    columns : mapping of str to str, optional
        Our names to the file's.
    behavior : str, optional
        The behavior of prompts whose row names none.

    Yields
    ------
    tuple of list of Item and tuple of Dropped
        Prompts, as items with an empty response, and what was set aside.
    """
    chosen, is_gzip = item_format(source, format)  # type: ignore[arg-type]  # checked there
    conversion = Conversion(
        ItemRequest(columns=columns, behavior=behavior),
        source=source_name(source),
        stem=item_stem(source),
        is_tabular=chosen in ("csv", "tsv", "parquet"),
    )
    rows = _rows(source, written_as=chosen, is_gzip=is_gzip, conversion=conversion)
    yield from _prompts(rows, conversion)


def prompts_in_rows(
    rows: Sequence[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    behavior: str | None = None,
) -> Iterator[tuple[list[Item], tuple[Dropped, ...]]]:
    """Read rows in memory as a file of them is read; see `stream_prompts`."""
    lines = (msgspec.json.encode(dict(row), enc_hook=str) for row in rows)
    yield from stream_prompts(
        _Rows(b"\n".join(lines)), format="jsonl", columns=columns, behavior=behavior
    )


def prompts_in_frame(
    frame: Any, *, columns: Mapping[str, str] | None = None, behavior: str | None = None
) -> Iterator[tuple[list[Item], tuple[Dropped, ...]]]:
    """Read a data frame as a file of its rows is read; see `stream_prompts`."""
    import narwhals as nw

    known = nw.from_native(frame, eager_only=True)
    yield from prompts_in_rows(known.rows(named=True), columns=columns, behavior=behavior)


def _prompts(
    rows: FoundRows, conversion: Conversion
) -> Iterator[tuple[list[Item], tuple[Dropped, ...]]]:
    bare = ((line, _bare(row) if isinstance(row, dict) else row, size) for line, row, size in rows)
    for batch in batches_of(bare, conversion=conversion, batch_size=_BATCH_ROWS):
        yield batch.items, batch.dropped


def _bare(row: dict[str, Any]) -> dict[str, Any]:
    """Take out what answers the prompt, and put an empty response in its place."""
    return {key: value for key, value in row.items() if key not in _RESPONSES} | {"response": ""}


def _rows(
    source: Any, *, written_as: ItemFormat, is_gzip: bool, conversion: Conversion
) -> FoundRows:
    def check_header(header: Sequence[str]) -> None:
        conversion.check_header([*header, "response"])

    name = conversion.source
    if written_as == "parquet":
        from voirdire.io.items.parquet_rows import parquet_rows  # polars: 100 ms

        yield from parquet_rows(source, name=name, check_header=check_header)
        return
    with opened(source, is_gzip=is_gzip) as stream:
        if written_as == "jsonl":
            yield from jsonl_rows(stream, source=name)
        elif written_as == "json":
            known = {*_PROMPTS, *(conversion.request.columns or {}).values()}
            yield from document_rows(
                stream,
                source=name,
                id_column=(conversion.request.columns or {}).get("id", "id"),
                is_row=lambda document: bool(known & document.keys()),
            )
        else:
            separator = "," if written_as == "csv" else "\t"
            yield from delimited_rows(
                stream, separator=separator, source=name, check_header=check_header
            )
