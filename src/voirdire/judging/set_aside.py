"""Rows that were set aside: all of them in a file beside the verdicts, the first few in hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import IO, TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.judging.outputs import publish

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

    from voirdire.records import Dropped

__all__ = ["FIRST_SHOWN", "SetAside"]

FIRST_SHOWN = 20
_KEYS = ("reason", "source", "line", "column", "item", "value")


class SetAside:
    """A list in a file, since there may be a million of them; without a file the first few."""

    def __init__(self, target: Path | None) -> None:
        self.target = target
        self.first: tuple[Dropped, ...] = ()
        self.count = 0
        self._file: IO[str] | None = None
        self._unfinished: Path | None = None
        if target is not None:
            _check_ours(target)

    def __enter__(self) -> Self:
        """Nothing is opened before `open`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, whatever happened."""
        self.close()

    def open(self, unfinished: Path) -> None:
        """Begin the list anew, under a name of its own."""
        self._unfinished = unfinished
        self._file = unfinished.open("w", encoding="utf-8")

    def add(self, rows: Iterable[Dropped]) -> None:
        """Write rows down."""
        for row in rows:
            if len(self.first) < FIRST_SHOWN:
                self.first += (row,)
            self.count += 1
            if self._file is not None:
                said = asdict(row)
                line = json.dumps({key: said[key] for key in _KEYS}, ensure_ascii=False)
                self._write(line + "\n")

    def _write(self, line: str) -> None:
        try:
            if self._file is not None:
                self._file.write(line)
        except OSError as error:
            msg = (
                f"{self._unfinished}: cannot be written ({error.strerror}). The finished parts are "
                "kept: make room, and run the same command again."
            )
            raise InputError(msg) from error

    def close(self) -> None:
        """Write nothing more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def publish(self) -> Path | None:
        """Put the list under its name; without rows there is none, and an old one goes."""
        self.close()
        if self.target is None or self._unfinished is None:
            return None
        if not self.count:
            self.target.unlink(missing_ok=True)
            return None
        publish(self._unfinished, self.target)
        return self.target


def _check_ours(target: Path) -> None:
    """Refuse to replace a file that is no such list."""
    if not target.exists():
        return
    try:
        with target.open(encoding="utf-8") as file:
            first = json.loads(file.readline() or "{}")
    except (OSError, ValueError):
        first = None
    if not (isinstance(first, dict) and tuple(first) in (_KEYS, ())):
        msg = (
            f"{str(target)!r} must be free for the rows that are set aside, got another file. "
            "Move it, or name another `output`."
        )
        raise InputError(msg)
