"""Reads items in memory and in files, cuts them into batches, and writes notes about them."""

from __future__ import annotations

import io
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.declared import ItemLayout  # noqa: TC001  # a dataclass field
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io import ItemBatch, ItemFormat, ItemReading
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.outputs import SetAside

__all__ = [
    "CALL_CHARACTERS",
    "CALL_ITEMS",
    "ItemSource",
    "SeenItems",
    "read_items_in_memory",
    "split_into_batches",
]


class _Rows(io.BytesIO):
    """Rows in memory in the place of a file; errors use this name."""

    name = "items"


def read_items_in_memory(
    items: Any, reading: ItemReading
) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    """Return records as they are; read rows as a file of items is read."""
    if hasattr(items, "columns"):
        from voirdire.io import items_from_frame

        found = items_from_frame(items, reading=reading)
        return found.items, found.dropped
    rows = _rows(items)
    if all(isinstance(row, Item) for row in rows):
        _check_ids(rows)
        return (rows, ()) if reading.images else _drop_items_with_images(rows)
    for row in rows:
        if not isinstance(row, Mapping):
            msg = (
                f"`items` must all be items or all be mappings, got {type(row).__name__} "
                f'({shorten(row)}). Write {{"prompt": ..., "response": ...}}.'
            )
            raise InputError(msg)
    from voirdire.io import read_items

    table = read_items(
        _Rows(b"\n".join(msgspec.json.encode(dict(row), enc_hook=_to_plain) for row in rows)),
        reading=reading,
        format="jsonl",
    )
    return table.items, table.dropped


def _rows(items: Any) -> list[Any]:
    if isinstance(items, Item | Mapping):
        return [items]
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        msg = (
            f"`items` must be a sequence of items or rows, got {type(items).__name__}. Judge a "
            "file with `voirdire.judging.judge_file`."
        )
        raise InputError(msg)
    return list(items)


def _drop_items_with_images(items: Sequence[Item]) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    """Drop items with images where the judge cannot see images."""
    from voirdire.io.files import RowError
    from voirdire.io.messages import check_images

    seen: list[Item] = []
    dropped: list[Dropped] = []
    for line, item in enumerate(items, start=1):
        try:
            check_images(item.prompt, are_seen=False)
        except RowError as error:
            dropped.append(error.dropped(source="items", line=line, item=item.id))
        else:
            seen.append(item)
    return seen, tuple(dropped)


def _check_ids(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            msg = f"`items` must have unique ids, got {shorten(item.id)!r} twice."
            raise InputError(msg)
        seen.add(item.id)


def _to_plain(value: Any) -> Any:
    """Convert NumPy's scalars and arrays, sets, and other objects to JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


@dataclass
class SeenItems:
    """Counts the items that notes are written about.

    Attributes
    ----------
    plan : JudgingPlan
        The plan of judging.
    n, n_without_prompt, n_without_behavior, n_with_other, n_blank, n_of_other_language : int
        Items so far, and those without a prompt, without a behavior, with a second response, with
        nothing in their response, and with a response in none of the languages of a local judge.
    """

    plan: JudgingPlan
    n: int = 0
    n_without_prompt: int = 0
    n_without_behavior: int = 0
    n_with_other: int = 0
    n_blank: int = 0
    n_of_other_language: int = 0

    def __post_init__(self) -> None:
        languages = getattr(getattr(self.plan.judge, "card", None), "languages", ())
        self._languages = () if "other" in languages else languages

    def add(self, item: Item) -> None:
        """Count one more item."""
        self.n += 1
        self.n_without_prompt += not item.prompt
        self.n_without_behavior += item.behavior is None
        self.n_with_other += item.other is not None
        self.n_blank += not item.response.strip()
        if self._languages:
            from voirdire.judging.local.languages import detect_language

            self.n_of_other_language += detect_language(item.response) not in self._languages

    def notes(self) -> tuple[str, ...]:
        """Write the notes."""
        found = []
        if self.n_without_prompt:
            found.append(
                f"{self.n_without_prompt:,} of {self.n:,} items have no prompt and were judged "
                "without it: is it in a column of another name?"
            )
        if self.n_without_behavior and self.plan.rubric.behaviors:
            whole = self.n_without_behavior == self.n
            which = "the items" if whole else f"{self.n_without_behavior:,} of {self.n:,} items"
            found.append(
                f"{which} have no behavior: their questions are judged, but they get no completion "
                "classes. `voirdire judge --behavior ID` sets one for all of them"
            )
        if self.n_with_other and not self.plan.asks_about_pairs:
            found.append(
                f"{self.n_with_other:,} items have a second response, but no question of the "
                "rubric is about it"
            )
        if self.n_blank:
            found.append(
                f"{self.n_blank:,} of {self.n:,} items have an empty response, and verdicts on an "
                "empty response mean little"
            )
        if self.n_of_other_language:
            names = [_LANGUAGES[name] for name in self._languages]
            known = f"not in {names[0]}" if len(names) == 1 else f"in neither {' nor '.join(names)}"
            found.append(
                f"{self.n_of_other_language:,} of {self.n:,} responses are {known}: "
                f"{shorten(self.plan.judge.name)!r} was trained on no other language"
            )
        return tuple(found)


_LANGUAGES = {"en": "English", "zh": "Chinese"}


CALL_ITEMS = 1_000
CALL_CHARACTERS = 1 << 21
"""Items and characters, about, in one call of a judge."""


def split_into_batches(
    items: Iterable[Item], *, most_items: int, most_characters: int
) -> Iterator[list[Item]]:
    """Cut items into batches that end where either limit is reached."""
    waiting: list[Item] = []
    n_characters = 0
    for item in items:
        waiting.append(item)
        n_characters += len(item.response)
        for message in item.prompt:
            n_characters += len(message.content) + sum(map(len, message.images))
        if len(waiting) >= most_items or n_characters >= most_characters:
            yield waiting
            waiting, n_characters = [], 0
    if waiting:
        yield waiting


# Items of a file ----------------------------------------------------------------------------------


class _SavedInput:
    """The saved copy of an input, from its beginning; errors use the name of the input."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        file.seek(0)
        self.read = file.read
        self.name = name


@dataclass(kw_only=True, eq=False)
class ItemSource:
    """A file of items with its layout."""

    source: Any
    layout: ItemLayout
    _stamp: tuple[int, ...] | None = field(default=None, init=False, repr=False)
    _seen: SeenItems | None = field(default=None, init=False, repr=False)
    _kept: IO[bytes] | None = field(default=None, init=False, repr=False)
    _written_as: ItemFormat | None = field(default=None, init=False, repr=False)
    _is_checked: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._written_as = self.layout.format
        self._stamp = self._stamp_now()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "<stdin>" if str(self.source) == "-" else str(self.source)

    def keep(self) -> None:
        """Copy standard input or a pipe to a temporary file, so that it can be read again."""
        if self._kept is not None or not self._is_pipe():
            return
        from voirdire.io.items import open_items

        file = open_items(self.source, self.layout)
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115  # it is removed with this object
        weakref.finalize(self, self._kept.close)
        self._written_as = file.format  # type: ignore[assignment]  # told by its suffix
        for block in file.blocks():
            self._kept.write(block)
        self._kept.flush()

    def open_input(self) -> Any:
        """Return what to read: the file, or its saved copy from the beginning."""
        if self._kept is None:
            return self.source
        return _SavedInput(self._kept, self.name)

    def stream_items(self, reading: ItemReading, *, batch_size: int = 1_024) -> Iterator[ItemBatch]:
        """Read the items, a batch at a time."""
        from voirdire.io import stream_items

        return stream_items(
            self.open_input(), reading=reading, format=self._written_as, batch_size=batch_size
        )

    def _is_pipe(self) -> bool:
        """Whether the input can be read only once."""
        if not isinstance(self.source, str | Path):
            return False
        return str(self.source) == "-" or Path(self.source).is_fifo()

    def notes(self) -> tuple[str, ...]:
        """Return the notes about the items that were read last."""
        return () if self._seen is None else self._seen.notes()

    def stream(self, plan: JudgingPlan, set_aside: SetAside) -> Iterator[Item]:
        """Read items; set those aside whose behavior the rubric does not have.

        The whole file is checked before the first item, so that errors come before anything is
        judged or paid for.
        """
        from voirdire.io.items import check_items

        known = {row.id for row in plan.rubric.behaviors} | {None}
        self._seen = seen = SeenItems(plan)
        self.keep()
        reading = plan.reading(self.layout)
        if isinstance(self.source, str | Path) and not self._is_checked:
            check_items(self.open_input, replace(reading, format=self._written_as))
            self._is_checked = True
        for batch in self.stream_items(reading):
            set_aside.add(batch.dropped)
            for item in batch.items:
                if item.behavior in known or not plan.rubric.behaviors:
                    seen.add(item)
                    yield item
                else:
                    set_aside.add([self._unknown(item, plan)])

    def check_unchanged(self) -> None:
        """Raise an error where the file changed while it was read."""
        if self._kept is None and self._stamp != self._stamp_now():
            msg = f"{self.name}: must not change while it is judged. Run the same command again."
            raise InputError(msg)

    def refuse_empty(self, set_aside: SetAside) -> NoReturn:
        """Raise an error where nothing in the file can be judged."""
        why = ""
        if set_aside.first:
            first = set_aside.first[0]
            why = f"; {set_aside.count} set aside, the first ({first.place()}): {first.reason}"
        msg = f"{self.name}: must hold at least one item that can be judged, got none{why}."
        raise NoDataError(msg)

    def _unknown(self, item: Item, plan: JudgingPlan) -> Dropped:
        known = ", ".join(row.id for row in plan.rubric.behaviors)
        return Dropped(
            reason=f"unknown behavior: must be one of {known}",
            source=self.name,
            item=item.id,
            value=shorten(item.behavior or ""),
        )

    def _stamp_now(self) -> tuple[int, ...] | None:
        if not isinstance(self.source, str | Path) or str(self.source) == "-":
            return None
        try:
            found = Path(self.source).stat()
        except OSError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns)
