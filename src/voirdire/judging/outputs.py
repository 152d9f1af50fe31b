"""The output files of a run: checks them, writes the rows that were set aside, opens the store."""

from __future__ import annotations

import glob
import json
import os
import shutil
import uuid
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.io.verdict_files import join_parts, layout_of_file, verdict_format

try:
    import fcntl
except ImportError:  # on Windows two runs at once are not noticed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Dropped

__all__ = [
    "FIRST_SHOWN",
    "STORE_NAME",
    "PartsWriter",
    "SetAside",
    "check_output",
    "check_place",
    "explain_write_errors",
    "may_replace",
    "open_replies",
    "publish",
    "unfinished_folder",
]


def check_output(output: Path, *, source: object) -> tuple[Path, VerdictFormat]:
    """Return the path and format of an output, or raise an error.

    Only a file of verdicts, or an empty file, may be replaced.
    """
    written_as = verdict_format(output)
    _check_name(output.resolve())
    target = check_place(output, source=source, what="items")
    if target.exists() and target.stat().st_size and layout_of_file(target) is None:
        msg = f"`output` must not replace {str(output)!r}, which holds no verdicts. Name another."
        raise InputError(msg)
    return target, written_as


def check_place(output: Path, *, source: object, what: str) -> Path:
    """Return the path of an output, or raise an error; `what` names the content of the source."""
    target = output.resolve()
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


class PartsWriter:
    """Writes a file in parts beside it, and joins them under its name at the end.

    Attributes
    ----------
    folder : Path
        Of unfinished files; it goes when the context ends.
    """

    def __init__(self, target: Path, written_as: VerdictFormat) -> None:
        self._target, self._written_as = target, written_as
        self._n_parts = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Make the folder."""
        self.folder = self._stack.enter_context(unfinished_folder(self._target))
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the folder."""
        self._stack.close()

    def add(self, data: bytes) -> None:
        """Write a part."""
        with explain_write_errors(self._target):
            (self.folder / f"part-{self._n_parts:07d}").write_bytes(data)
        self._n_parts += 1

    def publish(self, columns: Sequence[str]) -> None:
        """Join the parts."""
        with explain_write_errors(self._target):
            joined = self.folder / f"joined{self._target.suffix}"
            parts = [self.folder / f"part-{number:07d}" for number in range(self._n_parts)]
            join_parts(parts, joined, written_as=self._written_as, columns=columns)
            with joined.open("rb+") as file:
                os.fsync(file.fileno())
            publish(joined, self._target)


def publish(finished: Path, target: Path) -> None:
    """Rename a finished file to its name, with the mode of the file that it replaces."""
    if target.exists():
        finished.chmod(target.stat().st_mode & 0o777)
    finished.replace(target)


def _check_name(target: Path) -> None:
    """Refuse a path that polars cannot use, before anything is judged."""
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        msg = f"`output` must be a path in UTF-8, got {str(target)!a}. Name another."
        raise InputError(msg) from error


FIRST_SHOWN = 20
_KEYS = ("reason", "source", "line", "column", "item", "value")


class SetAside:
    """The rows that were set aside, in a file; without a file only the first few."""

    def __init__(self, target: Path | None) -> None:
        self.target = target
        self.first: tuple[Dropped, ...] = ()
        self.count = 0
        self._file: IO[str] | None = None
        self._unfinished: Path | None = None
        if target is not None and not may_replace(target, _KEYS):
            msg = (
                f"{str(target)!r} must be free for the rows that are set aside, got another file. "
                "Move it, or name another `output`."
            )
            raise InputError(msg)

    def __enter__(self) -> Self:
        """Open nothing; `open` does."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def open(self, unfinished: Path) -> None:
        """Start a new list in a temporary file."""
        self._unfinished = unfinished
        self._file = unfinished.open("w", encoding="utf-8")

    def add(self, rows: Iterable[Dropped]) -> None:
        """Write rows to the list."""
        for row in rows:
            if len(self.first) < FIRST_SHOWN:
                self.first += (row,)
            self.count += 1
            if self._file is not None:
                said = asdict(row)
                line = json.dumps({key: said[key] for key in _KEYS}, ensure_ascii=False)
                with explain_write_errors(self.target):
                    self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with explain_write_errors(self.target):
                self._file.close()
            self._file = None

    def publish(self) -> Path | None:
        """Rename the list to its name; without rows remove an old list."""
        self.close()
        if self.target is None or self._unfinished is None:
            return None
        if not self.count:
            self.target.unlink(missing_ok=True)
            return None
        publish(self._unfinished, self.target)
        return self.target


def may_replace(path: Path, names: Sequence[str]) -> bool:
    """Return whether a file of JSON rows is missing, is empty, or begins with these keys."""
    if not path.exists():
        return True
    try:
        with path.open(encoding="utf-8") as file:
            first = json.loads(file.readline() or "{}")
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and tuple(first) in (tuple(names), ())


STORE_NAME = "voirdire-replies.sqlite"
"""The default store, in the folder of the output."""


@contextmanager
def open_replies(
    replies: StoredReplies,
    *,
    output: str | Path | None = None,
    written: Sequence[Path | None] = (),
    makes: bool = True,
) -> Iterator[StoredReplies]:
    """Open the given store, or the one in the folder of an output; False means no store.

    A missing or empty file becomes a store, or is none with `makes=False`. The store must not be
    one of the `written` files, which would overwrite it.
    """
    from voirdire.store import ReplyStore, open_store
    from voirdire.store.reply_store import read_address

    store = replies.store
    if store is None:
        store = (Path.cwd() if output is None else Path(output).resolve().parent) / STORE_NAME
    if store is False or isinstance(store, ReplyStore):
        yield replace(replies, store=store or None)
        return
    given: object = store
    if not isinstance(given, str | Path):
        msg = f"`store` must be a file, an address or False, got {given!r}. Leave it out."
        raise InputError(msg)
    url = read_address(store)
    file = Path(url.database or "") if url.drivername == "sqlite" else None
    if file in [path.resolve() for path in written if path is not None]:
        msg = f"`store` must be a file of its own, got {str(store)!r}, which the run writes."
        raise InputError(f"{msg} Name another.")
    if file is not None and not makes and not (file.is_file() and file.stat().st_size):
        yield replace(replies, store=None)
        return
    with open_store(store, makes=makes) as opened:
        yield replace(replies, store=opened)
