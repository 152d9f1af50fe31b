"""Rows that hold a prompt and need no response, in every format and shape that items come in."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.io.files import DataFile
from voirdire.io.items import ItemReader, ItemReading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    reading = ItemReading(columns=columns, behavior=behavior)
    file = DataFile(source, format=format, held="item")
    for batch in _PromptReader.of(file, reading).stream(file, batch_size=_BATCH_ROWS):
        yield batch.items, batch.dropped


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


class _PromptReader(ItemReader):
    """Rows that need no response."""

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column; a response is none of them."""
        super().check_header([*header, "response"])

    def is_row(self, document: dict[str, Any]) -> bool:
        """Tell by its prompt whether an object is a row of its own."""
        known = {*_PROMPTS, *(self.reading.columns or {}).values()}
        return bool(known & document.keys())

    def take(self, row: Any, line: int, items: list[Item]) -> list[Dropped]:
        """Put an empty response in the place of what answers the prompt."""
        if isinstance(row, dict):
            row = {key: value for key, value in row.items() if key not in _RESPONSES}
            row["response"] = ""
        return super().take(row, line, items)
