"""What the caller declared about the items to read, checked before a file is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from voirdire._types import Judged
from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.io.sources import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.sources import Source

__all__ = ["ItemColumn", "ItemFormat", "ItemRequest", "item_format", "item_stem"]

ItemFormat: TypeAlias = Literal["jsonl", "csv", "tsv", "json", "parquet"]
"""How a file of items is written."""

ItemColumn: TypeAlias = Literal[
    "id",
    "prompt",
    "response",
    "other",
    "messages",
    "chosen",
    "rejected",
    "behavior",
    "group",
    "cluster",
]
"""Our names for the columns of items."""


@dataclass(frozen=True, kw_only=True)
class ItemRequest:
    """The declared reading of items; see `voirdire.io.stream_items` for each field."""

    columns: Mapping[str, str] | None = None
    json_columns: Sequence[str] = ()
    judged: Judged = "final_answer"
    behavior: str | None = None
    pairs: bool = False

    def __post_init__(self) -> None:
        check_choice("judged", self.judged, Judged)
        _check_columns(self.columns)
        words = self.json_columns
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            message = (
                f"`json_columns` must be a sequence of names, got {words!r}. "
                'Write json_columns=["prompt"].'
            )
            raise InputError(message)
        _check_behavior(self.behavior)


def _check_behavior(behavior: Any) -> None:
    if behavior is None or (isinstance(behavior, str) and behavior.strip()):
        return
    message = f"`behavior` must be a name, got {behavior!r}. Leave it out where items have none."
    raise InputError(message)


def _check_columns(columns: Any) -> None:
    if columns is None:
        return
    options = ", ".join(repr(name) for name in get_args(ItemColumn))
    if not isinstance(columns, Mapping):
        message = (
            f"`columns` must map our names to the file's, got {shorten(columns)}. "
            'Write columns={"response": "reply"}.'
        )
        raise InputError(message)
    for ours, theirs in columns.items():
        if ours not in get_args(ItemColumn) or not isinstance(theirs, str):
            message = (
                f"`columns` must map our names to the file's, got {shorten(ours)!r}: "
                f"{shorten(theirs)!r}. Use one of {options}."
            )
            raise InputError(message)


def item_format(source: Source, declared: ItemFormat | None) -> tuple[ItemFormat, bool]:
    """Say how a source is written, and whether it is compressed by gzip."""
    if declared is not None:
        check_choice("format", declared, ItemFormat)
    path = Path(source) if isinstance(source, str | Path) and str(source) != "-" else None
    is_gzip = path is not None and path.suffix.lower() == ".gz"
    if is_gzip and path is not None:
        path = path.with_suffix("")
    chosen = declared or cast("ItemFormat", format_of(source if path is None else path))
    if is_gzip and chosen == "parquet":
        message = (
            f"`source` must not be compressed again where it is Parquet, got {str(source)!r}. "
            "Unpack it."
        )
        raise InputError(message)
    return chosen, is_gzip


def item_stem(source: Source) -> str:
    """Name items after the file where they have no id: ``train.jsonl.gz`` gives ``train``."""
    if isinstance(source, str | Path):
        path = Path("stdin" if str(source) == "-" else source)
    else:
        name: Any = getattr(source, "name", None)
        # Python calls standard input <stdin>
        path = Path(name.strip("<>") if isinstance(name, str) else "stream")
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return path.stem
