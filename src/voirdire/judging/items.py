"""Reads items in memory and in files."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import FileRows
from voirdire.records import Dropped, Item
from voirdire.records.plain import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io import FileFormat, ItemBatch, ItemReading
    from voirdire.io.declared import ItemLayout
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.outputs import SetAside


def read_items_in_memory(
    items: Any, reading: ItemReading
) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    """Return items and what was set aside: records as they are, rows as a file has them."""
    from voirdire.io.criteria import check_criteria
    from voirdire.io.files import RowError
    from voirdire.io.items import ItemReader, items_from_frame, join_batches
    from voirdire.io.messages import check_images

    if hasattr(items, "columns"):
        table = items_from_frame(items, reading=reading)
        return table.items, table.dropped
    is_one = isinstance(items, Item | Mapping)
    if isinstance(items, str | bytes) or not (is_one or isinstance(items, Iterable)):
        msg = (
            f"`items` must be a sequence of items or rows, got {type(items).__name__}. Judge a "
            "file with `voirdire.judging.judge_file`."
        )
        raise InputError(msg)
    rows = [items] if is_one else list(items)
    if not all(isinstance(row, Item) for row in rows):
        decoded = []
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                msg = (
                    f"`items` must all be items or all be mappings, got {type(row).__name__} "
                    f'({shorten(row)}). Write {{"prompt": ..., "response": ...}}.'
                )
                raise InputError(msg)
            plain = encode_json(dict(row))
            decoded.append((number, json.loads(plain), len(plain)))
        reader = ItemReader(reading, source="items", stem="items")
        table = join_batches(reader.batches(iter(decoded), batch_size=1_024))
        return table.items, table.dropped
    for name, n in Counter([item.id for item in rows]).items():
        if n > 1:
            msg = f"`items` must have unique ids, got {shorten(name)!r} twice."
            raise InputError(msg)
    kept, dropped = [], []
    for line, item in enumerate(rows, start=1):
        try:
            check_images(item.prompt, are_seen=reading.images)
            check_criteria(item.criteria, are_asked=reading.criteria)
            kept.append(item)
        except RowError as error:
            dropped.append(error.dropped(source="items", line=line, item=item.id))
    return kept, tuple(dropped)


class ItemSource:
    """A file of items, or rows of one, with its layout; `name` stands for it in messages."""

    def __init__(self, *, source: Any, layout: ItemLayout) -> None:
        self._rows = source if isinstance(source, FileRows) else None
        source = source if self._rows is None else self._rows.path
        self.source, self.layout = source, layout
        self.name = "<stdin>" if str(source) == "-" else str(source)
        self._format: FileFormat | None = layout.format
        self._saved: Any = None
        self._stamp = self._read_stamp()

    def save(self) -> None:
        """Copy standard input or a pipe to a temporary file, so that it can be read again."""
        from voirdire.io.items import open_items

        if self._saved is not None or not isinstance(self.source, str | Path):
            return
        if str(self.source) != "-" and not Path(self.source).is_fifo():
            return
        file = open_items(self.source, self.layout)
        self._format = file.format  # type: ignore[assignment]  # told by its suffix
        self._saved = tempfile.NamedTemporaryFile()  # noqa: SIM115  # removed with this object
        self._saved.name = self.name  # for messages
        weakref.finalize(self, self._saved.close)
        self._saved.writelines(file.blocks())
        self._saved.flush()

    def _open(self) -> Any:
        """Return what to read: the file, or its saved copy from the beginning."""
        if self._saved is None:
            return self._rows or self.source
        self._saved.seek(0)
        return self._saved

    def stream_items(self, reading: ItemReading, *, batch_size: int = 1_024) -> Iterator[ItemBatch]:
        """Read the items, a batch at a time."""
        from voirdire.io import stream_items

        about: dict[str, Any] = {"format": self._format, "batch_size": batch_size}
        return stream_items(self._open(), reading=reading, **about)

    def stream(
        self, plan: JudgingPlan, set_aside: SetAside, *, keeps_unknown: bool = False
    ) -> Iterator[Item]:
        """Read items; set those aside whose behavior is unknown, unless they are kept.

        The whole file is checked before the first item, so that errors come before anything is
        judged or paid for.
        """
        from voirdire.io.items import check_items

        behaviors = [] if keeps_unknown else [row.id for row in plan.rubric.behaviors]
        self.save()
        reading = plan.reading(self.layout)
        if isinstance(self.source, str | Path):
            check_items(self._open, replace(reading, format=self._format))
        for batch in self.stream_items(reading):
            unknown = {
                item.id: Dropped(
                    reason=f"unknown behavior: must be one of {', '.join(behaviors)}",
                    source=self.name,
                    item=item.id,
                    value=shorten(item.behavior),
                )
                for item in batch.items
                if behaviors and item.behavior not in (None, *behaviors)
            }
            set_aside.add([*batch.dropped, *unknown.values()])
            yield from [item for item in batch.items if item.id not in unknown]

    def check_unchanged(self) -> None:
        """Raise an error where the file changed while it was read."""
        if self._saved is None and self._stamp != self._read_stamp():
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

    def _read_stamp(self) -> list[tuple[int, ...]] | None:
        from voirdire.io.files import files_of

        if not isinstance(self.source, str | Path) or not Path(self.source).exists():
            return None
        stats = [Path(part).stat() for part in files_of(self.source, held="items")]
        return [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]
