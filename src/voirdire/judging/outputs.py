"""The output files of a run: checks them, writes the rows that were set aside, opens the store."""

from __future__ import annotations

import glob
import json
import os
import shutil
import sys
import uuid
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from voirdire.errors import InputError
from voirdire.io.verdict_files import columns_of_file, encode_part, join_parts, verdict_format

try:
    import fcntl
except ImportError:  # on Windows two runs at once are not noticed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Dropped


def check_place(output: Path, *, source: object, what: str) -> Path:
    """Return the path of an output, or raise an error; `what` names the content of the source."""
    target = output.resolve()
    try:
        str(target).encode()
    except UnicodeEncodeError as error:  # polars cannot use such a path
        msg = f"`output` must be a path in UTF-8, got {str(target)!a}. Name another."
        raise InputError(msg) from error
    if target.is_dir():
        msg = f"`output` must be a file, got the folder {str(output)!r}. Name a file in it."
        raise InputError(msg)
    if target.exists() and not target.is_file():
        msg = f"`output` must be a regular file, got a device or a pipe: {str(output)!r}."
        raise InputError(msg)
    folder = target.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        why = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"`output` must be in a folder that can be written to; {str(folder)!r} {why}."
        raise InputError(msg)
    is_path = isinstance(source, str | Path) and str(source) != "-"
    if is_path and target.exists() and Path(str(source)).exists() and target.samefile(str(source)):
        msg = f"`output` must be another file than the {what}, got {str(source)!r} for both."
        raise InputError(msg)
    return target


@contextmanager
def explain_write_errors(path: Path | None) -> Iterator[None]:
    """Turn errors of writing into an `InputError` that says what to do."""
    try:
        yield
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Make room, and run the same command "
        raise InputError(f"{msg}again: stored replies are not paid for twice.") from error


_UNFINISHED, _LOCK = "unfinished", "lock"


@contextmanager
def unfinished_folder(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside an output; remove those of runs that were killed."""
    with explain_write_errors(target):
        for old in target.parent.glob(f".{glob.escape(target.name)}.*.{_UNFINISHED}"):
            with suppress(OSError), (old / _LOCK).open("ab") as file:
                _lock(file)
                shutil.rmtree(old)
        name = f".{target.name}.{uuid.uuid4().hex[:12]}.{_UNFINISHED}"
        folder = target.parent / name
        folder.mkdir()
    with (folder / _LOCK).open("ab") as file:
        _lock(file)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed; raise an `OSError` where another process holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class TableWriter:
    """Context manager that writes a table in parts, and joins them under its name at the end.

    The table of ``"-"`` goes to standard output at once, as JSONL.

    Attributes
    ----------
    target : Path or None
        The file; None for standard output.
    set_aside : SetAside
        The rows that were set aside, in a file beside it.
    """

    def __init__(
        self,
        output: str | Path,
        *,
        source: object,
        holds: str,
        is_ours: Callable[[tuple[str, ...]], object],
    ) -> None:
        """Check the output; only a file whose columns `is_ours`, or an empty one, is replaced."""
        self.target: Path | None = None
        self.set_aside = SetAside()
        self._format: VerdictFormat = "jsonl"
        self._parts: list[Path] = []
        self._stack = ExitStack()
        if str(output) == "-":
            return
        self._format = verdict_format(Path(output))
        self.target = target = check_place(Path(output), source=source, what="items")
        if not may_replace(target, is_ours):
            msg = f"`output` must not replace {str(output)!r}, which holds no {holds}."
            raise InputError(f"{msg} Name another.")

    def __enter__(self) -> Self:
        if (target := self.target) is not None:
            self._folder = self._stack.enter_context(unfinished_folder(target))
            dropped = target.with_name(f"{target.name}.dropped.jsonl")
            self.set_aside = SetAside(dropped, self._folder / "dropped.jsonl")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows."""
        data = encode_part(frame, self._format)
        if self.target is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        self._parts.append(self._folder / f"part-{len(self._parts):07d}")
        with explain_write_errors(self.target):
            self._parts[-1].write_bytes(data)

    def publish(self, columns: Sequence[str]) -> str | None:
        """Let the files appear; return that of the rows that were set aside, where there is one."""
        if self.target is None:
            return None
        dropped_output = self.set_aside.publish()
        with explain_write_errors(self.target):
            joined = self._folder / f"joined{self.target.suffix}"
            join_parts(self._parts, joined, written_as=self._format, columns=columns)
            with joined.open("rb+") as file:
                os.fsync(file.fileno())
            publish(joined, self.target)
        return dropped_output


def publish(finished: Path, target: Path) -> None:
    """Rename a finished file to its name, with the mode of the file that it replaces."""
    if target.exists():
        finished.chmod(target.stat().st_mode & 0o777)
    finished.replace(target)


_FIRST_SHOWN = 20
_KEYS = ("reason", "source", "line", "column", "item", "value")


class SetAside:
    """The rows that were set aside: their number, the first few, and all of them in a file.

    Rows are written to the file `unfinished`, which `publish` renames to `target`.
    """

    def __init__(self, target: Path | None = None, unfinished: Path | None = None) -> None:
        self.first: tuple[Dropped, ...] = ()
        self.count = 0
        self._target, self._unfinished = target, unfinished
        if target is not None and not may_replace(target, _KEYS.__eq__):
            msg = (
                f"{str(target)!r} must be free for the rows that are set aside, got another file. "
                "Move it, or name another `output`."
            )
            raise InputError(msg)

    def add(self, rows: Sequence[Dropped]) -> None:
        """Add rows to the list."""
        self.first = (*self.first, *rows)[:_FIRST_SHOWN]
        self.count += len(rows)
        if rows and self._unfinished is not None:
            with (
                explain_write_errors(self._target),
                self._unfinished.open("a", encoding="utf-8") as file,
            ):
                for row in rows:
                    named = {key: getattr(row, key) for key in _KEYS}
                    file.write(json.dumps(named, ensure_ascii=False) + "\n")

    def publish(self) -> str | None:
        """Let the list appear, and return its name; without rows remove an old list."""
        if self._target is None or self._unfinished is None:
            return None
        if not self.count:
            self._target.unlink(missing_ok=True)
            return None
        publish(self._unfinished, self._target)
        return str(self._target)


def may_replace(path: Path, is_ours: Callable[[tuple[str, ...]], object]) -> bool:
    """Return whether a file is missing, is empty, or has columns that are ours."""
    if not path.exists() or not path.stat().st_size:
        return True
    return bool(is_ours(columns_of_file(path)))


STORE_NAME = "voirdire-replies.sqlite"
"""The default store, in the folder of the output."""

_WRITTEN = ("", ".dropped.jsonl", ".rejected.jsonl")
"""Ends of the names of the files that a run writes."""


@contextmanager
def open_replies(
    replies: StoredReplies, *, output: str | Path | None = None, makes: bool = True
) -> Iterator[StoredReplies]:
    """Open the given store, or the one in the folder of an output; False means no store.

    A missing or empty file becomes a store, or is none with `makes=False`.
    """
    from voirdire.store import ReplyStore, open_store
    from voirdire.store.database import read_address

    target = None if output is None else Path(output).resolve()
    place: object = replies.store
    if place is None:
        place = (Path.cwd() if target is None else target.parent) / STORE_NAME
    if place is False or isinstance(place, ReplyStore):
        yield replace(replies, store=place or None)
        return
    if not isinstance(place, str | Path):
        msg = f"`store` must be a file, an address or False, got {place!r}. Leave it out."
        raise InputError(msg)
    url = read_address(place)
    file = Path(url.database or "") if url.drivername == "sqlite" else None
    if target is not None and file in [target.with_name(target.name + end) for end in _WRITTEN]:
        msg = f"`store` must be a file of its own, got {str(place)!r}, which the run writes."
        raise InputError(f"{msg} Name another.")
    if file is not None and not makes and not (file.is_file() and file.stat().st_size):
        yield replace(replies, store=None)
        return
    with open_store(place, makes=makes) as opened:
        yield replace(replies, store=opened)
