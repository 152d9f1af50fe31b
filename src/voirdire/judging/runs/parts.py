"""Keeps parts of a verdict file in a folder beside it, so that a killed run can continue.

A run of a language model continues from its store of replies instead, and makes its parts again.

A part is a batch of the items, in their order, in a file of its own. Its record has a key (the hash
of its items and of everything that its verdicts depend on) and the hash of the file. A part is used
again only where both agree, so that no verdict is stale and no half-written file is used. Both are
written under another name and renamed, so that a run may be killed at any moment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from voirdire._version import __version__
from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.io.verdict_files import encode_part, join_parts, sync_file
from voirdire.judging.items import CALL_CHARACTERS, CALL_ITEMS, split_into_batches
from voirdire.judging.runs.outputs import explain_write_errors
from voirdire.judging.runs.summary import (
    Tally,  # msgspec reads the annotation
    add_tallies,
    count_batch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from voirdire._types import VerdictLayout
    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.binding import JudgingPlan
    from voirdire.records import Item

__all__ = [
    "MARK",
    "PART_CHARACTERS",
    "PART_ITEMS",
    "Part",
    "PartRecord",
    "WorkFolder",
    "hash_part",
    "judge_part",
    "kept_items",
    "make_folder",
    "remove_folder",
]


PART_ITEMS = 2_000
"""Items in a part; a killed run loses at most one part per worker."""

PART_CHARACTERS = 1 << 25
"""Characters in a part, about: long items make smaller parts, to bound memory."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Items to judge, and the file of their verdicts."""

    items: Sequence[Item] = field(repr=False)
    path: Path
    key: str
    written_as: VerdictFormat
    layout: VerdictLayout


def hash_part(
    items: Sequence[Item], plan: JudgingPlan, *, layout: VerdictLayout, written_as: VerdictFormat
) -> str:
    """Hash everything that a part of the output depends on."""
    content = hashlib.sha256()
    for item in items:
        name = item.id.encode("utf-8", "surrogatepass")
        content.update(len(name).to_bytes(8, "big") + name + item.content_hash())
    return hash_content(
        {
            "items": content.hexdigest(),
            "fingerprint": plan.fingerprint,
            "judge": plan.judge.name,
            "source": plan.judge.source,
            "layout": layout,
            "format": written_as,
            "version": __version__,
        }
    )


def judge_part(part: Part, plan: JudgingPlan) -> PartRecord:
    """Judge the items of a part and write it."""
    import polars as pl

    from voirdire.judging.engine.verdict_making import judge_at_once

    calls = split_into_batches(part.items, most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS)
    batches = [judge_at_once(items, plan) for items in calls]
    frame = pl.concat([batch.frame(part.layout) for batch in batches])
    data = encode_part(frame, part.written_as)
    tally = add_tallies(count_batch(batch) for batch in batches)
    with explain_write_errors(part.path):
        return _write_part(part.path, data, key=part.key, tally=tally)


MARK = "README.txt"
_LOCK = "lock"
_MARK_TEXT = (
    "The finished parts of an interrupted run of voirdire. The same command continues it; with\n"
    "--restart it starts again. This folder is removed when the run is finished.\n"
)
_UNFINISHED = ".writing"


@dataclass(frozen=True, kw_only=True)
class PartRecord:
    """The record beside a part."""

    key: str
    data_hash: str
    tally: Tally


class WorkFolder:
    """A folder with the parts of one output, locked by one run at a time."""

    def __init__(self, output: Path, *, written_as: VerdictFormat) -> None:
        self.output = output
        self.written_as = written_as
        self.path = _folder_of(output)
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Create the folder, or use that of an earlier run."""
        is_new = False
        try:
            is_new = not self.path.exists()
            make_folder(self.path)
            self._lock = _lock_folder(self.path / _LOCK, output=self.output)
        except OSError as error:
            if is_new:
                remove_folder(self.path)
            msg = f"{self.path}: cannot be written ({error.strerror}). Name another `output`."
            raise InputError(msg) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the folder; remove it where it has no part."""
        if kind is not None and not any(self._records()):
            self.remove()
        if self._lock is not None:
            self._lock.close()

    def clear(self) -> None:
        """Remove every part."""
        for path in self.path.iterdir():
            if path.name not in (_LOCK, MARK):
                path.unlink()

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        remove_folder(self.path)

    def part(self, number: int) -> Path:
        """Return the path of a part."""
        return self.path / f"part-{number:07d}.{self.written_as}"

    def reusable(self, number: int, *, key: str) -> PartRecord | None:
        """Return the record of a complete part with this key; else None."""
        path = self.part(number)
        try:
            record = msgspec.json.decode(_record_of(path).read_bytes(), type=PartRecord)
            if record.key == key and record.data_hash == _hash(path.read_bytes()):
                return record
        except (OSError, msgspec.DecodeError):
            pass
        return None

    def forget_from(self, number: int) -> None:
        """Remove the parts of an earlier, longer input."""
        first = self.part(number).stem
        for path in self.path.glob("part-*"):
            if path.name.partition(".")[0] >= first:
                path.unlink()

    def join(self, n_parts: int, *, columns: Sequence[str]) -> Path:
        """Join the first parts into one file of the folder."""
        self.forget_from(n_parts)
        joined = self.path / f"joined{self.output.suffix}"
        parts = [self.part(number) for number in range(n_parts)]
        with sync_file(joined):
            join_parts(parts, joined, written_as=self.written_as, columns=columns)
        return joined

    def _records(self) -> Iterator[Path]:
        return self.path.glob("part-*.json")


def make_folder(folder: Path) -> None:
    """Create a work folder, or use that of an earlier run; refuse any other folder.

    A mark file is written first and removed last, so that a killed run's folder is recognised.
    """
    is_ours = folder.is_dir() and ((folder / MARK).is_file() or not any(folder.iterdir()))
    if folder.exists() and not is_ours:
        msg = (
            f"{str(folder)!r} must be free for the parts of this run, got a folder or file that "
            "this command did not make. Move it, or name another `output`."
        )
        raise InputError(msg)
    folder.mkdir(exist_ok=True)
    (folder / MARK).write_text(_MARK_TEXT, encoding="utf-8")


def remove_folder(folder: Path) -> None:
    """Remove a work folder, its mark file last."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name == MARK:
                continue
            if path.is_dir():
                remove_folder(path)
            else:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _write_part(path: Path, data: bytes, *, key: str, tally: Tally) -> PartRecord:
    """Write a part and then its record, each atomically."""
    record = PartRecord(key=key, data_hash=_hash(data), tally=tally)
    _write_whole(path, data)
    _write_whole(_record_of(path), msgspec.json.encode(record))
    return record


def kept_items(output: str | Path) -> int:
    """Count the items in the finished parts of an interrupted run.

    Parameters
    ----------
    output : str or path
        The `output` of `judge_file`.

    Returns
    -------
    int
        Items in finished parts; 0 where nothing was interrupted.
    """
    kept = 0
    for path in _folder_of(Path(output).resolve()).glob("part-*.json"):
        try:
            kept += msgspec.json.decode(path.read_bytes(), type=PartRecord).tally.n_items
        except (OSError, msgspec.DecodeError):
            continue
    return kept


def _folder_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")


def _record_of(part: Path) -> Path:
    return part.with_suffix(".json")


def _hash(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _write_whole(path: Path, data: bytes) -> None:
    unfinished = path.with_name(path.name + _UNFINISHED)
    unfinished.write_bytes(data)
    unfinished.replace(path)


def _lock_folder(path: Path, *, output: Path) -> IO[bytes]:
    """Lock the folder until this process ends."""
    file = path.open("ab")
    try:
        import fcntl
    except ImportError:  # on Windows two runs at once are not noticed
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except OSError:
        same = False
    if not same:
        file.close()
        msg = (
            f"`output` must not be written by another run, got {str(output)!r}. Wait until that "
            "run ends."
        )
        raise InputError(msg)
    return file
