"""Reads the items of a file batch by batch, and keeps the rows that are set aside."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.declared import ItemLayout
from voirdire.judging.items import SeenItems
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.io import ItemBatch, ItemFormat, ItemReading
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.runs.outputs import SetAside
    from voirdire.records import Item

__all__ = ["ItemSource"]


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
        digest = hashlib.sha256()
        for block in file.blocks():
            digest.update(block)
            self._kept.write(block)
        self._kept.flush()
        self._stamp = (int.from_bytes(digest.digest()),)

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

    def key(self) -> dict[str, Any]:
        """Identify the file in its present state and its layout, to recognise an earlier run."""
        usual = vars(ItemLayout())
        said = {name: x for name in usual if (x := getattr(self.layout, name)) != usual[name]}
        return {"stamp": [str(number) for number in self._stamp or ()], "reading": said}

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
            msg = (
                f"{self.name}: must not change while it is judged. The finished parts are kept: "
                "run the same command again."
            )
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
