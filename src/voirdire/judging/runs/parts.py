"""Keeps parts of a verdict file in a folder beside it, so that a killed run can go on.

A run of a language model goes on from its store of replies instead, and makes its parts anew.

A part is a batch of the items, in their order, in a file of its own. Beside it lies a record with a
key, the hash over the content of its items and everything that its verdicts depend on, and with the
hash of the file. A part is used again only where both agree, so a verdict is never stale and a
half-written file is never taken for a whole one. Both are written under another name and renamed,
so that a run may be killed at any moment.
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

import voirdire
from voirdire.errors import InputError
from voirdire.io.verdict_files import encode_part, join_parts, sync_file
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.item_batches import CALL_CHARACTERS, CALL_ITEMS, item_batches
from voirdire.judging.runs.outputs import explain_write_errors
from voirdire.judging.runs.summary import (
    Tally,  # msgspec reads the annotation
    add_tallies,
    tally_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from voirdire._types import VerdictLayout
    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = [
    "MARK",
    "PART_CHARACTERS",
    "PART_ITEMS",
    "Part",
    "PartRecord",
    "WorkFolder",
    "judge_part",
    "kept_items",
    "key_of",
    "make_folder",
    "remove_folder",
]


PART_ITEMS = 2_000
"""Items in a part: what a killed run loses at most, per worker."""

PART_CHARACTERS = 1 << 25
"""Characters in a part, about: long items make shorter parts, so that memory stays flat."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Items to judge, and where their verdicts belong."""

    items: Sequence[Item] = field(repr=False)
    path: Path
    key: str
    written_as: VerdictFormat
    layout: VerdictLayout


def key_of(
    items: Sequence[Item], plan: JudgingPlan, *, layout: VerdictLayout, written_as: VerdictFormat
) -> str:
    """Hash over everything that a part of the output depends on."""
    content = hashlib.sha256()
    for item in items:
        name = item.id.encode("utf-8", "surrogatepass")
        content.update(len(name).to_bytes(8, "big") + name + item.content_hash())
    return hash_of(
        {
            "items": content.hexdigest(),
            "fingerprint": plan.fingerprint,
            "judge": plan.judge.name,
            "source": plan.judge.source,
            "layout": layout,
            "format": written_as,
            "version": voirdire.__version__,
        }
    )


def judge_part(part: Part, plan: JudgingPlan) -> PartRecord:
    """Judge the items of a part and write it."""
    import polars as pl

    from voirdire.judging.verdict_making import verdicts_on

    calls = item_batches(part.items, most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS)
    batches = [verdicts_on(items, plan) for items in calls]
    frame = pl.concat([batch.frame(part.layout) for batch in batches])
    data = encode_part(frame, part.written_as)
    tally = add_tallies(tally_of(batch) for batch in batches)
    with explain_write_errors(part.path):
        return _write_part(part.path, data, key=part.key, tally=tally)


MARK = "README.txt"
_LOCK = "lock"
_MARK_TEXT = (
    "What an unfinished run of voirdire keeps. The same command goes on from here; with\n"
    "--restart it starts anew. This folder goes when the run is finished.\n"
)
_UNFINISHED = ".writing"


@dataclass(frozen=True, kw_only=True)
class PartRecord:
    """What is kept beside a part."""

    key: str
    data_hash: str
    tally: Tally


class WorkFolder:
    """A folder with the parts of one output; one run at a time may hold it."""

    def __init__(self, output: Path, *, written_as: VerdictFormat) -> None:
        self.output = output
        self.written_as = written_as
        self.path = _folder_of(output)
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Make the folder, or take the one that an earlier run left."""
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
        """Let go of the folder; it goes where no part is in it."""
        if kind is not None and not any(self._records()):
            self.remove()
        if self._lock is not None:
            self._lock.close()

    def clear(self) -> None:
        """Throw every part away."""
        for path in self.path.iterdir():
            if path.name not in (_LOCK, MARK):
                path.unlink()

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        remove_folder(self.path)

    def part(self, number: int) -> Path:
        """Where a part is or will be."""
        return self.path / f"part-{number:07d}.{self.written_as}"

    def reusable(self, number: int, *, key: str) -> PartRecord | None:
        """Give the record of a part that is whole and was made of the same content."""
        path = self.part(number)
        try:
            record = msgspec.json.decode(_record_of(path).read_bytes(), type=PartRecord)
            if record.key == key and record.data_hash == _hash(path.read_bytes()):
                return record
        except (OSError, msgspec.DecodeError):
            pass
        return None

    def forget_from(self, number: int) -> None:
        """Remove parts that an earlier, longer input left."""
        first = self.part(number).stem
        for path in self.path.glob("part-*"):
            if path.name.partition(".")[0] >= first:
                path.unlink()

    def join(self, n_parts: int, *, columns: Sequence[str]) -> Path:
        """Put the first parts together in one file of the folder."""
        self.forget_from(n_parts)
        joined = self.path / f"joined{self.output.suffix}"
        parts = [self.part(number) for number in range(n_parts)]
        with sync_file(joined):
            join_parts(parts, joined, written_as=self.written_as, columns=columns)
        return joined

    def _records(self) -> Iterator[Path]:
        return self.path.glob("part-*.json")


def make_folder(folder: Path) -> None:
    """Make a folder of ours, or take the one that an earlier run left; nobody else's is taken.

    Its mark comes first and goes last: killed in between, the folder is still known.
    """
    is_ours = folder.is_dir() and ((folder / MARK).is_file() or not any(folder.iterdir()))
    if folder.exists() and not is_ours:
        msg = (
            f"{str(folder)!r} must be free for what an unfinished run keeps, got something that "
            "this command did not make. Move it, or name another `output`."
        )
        raise InputError(msg)
    folder.mkdir(exist_ok=True)
    (folder / MARK).write_text(_MARK_TEXT, encoding="utf-8")


def remove_folder(folder: Path) -> None:
    """Remove a folder of ours, its mark last."""
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
    """Write a part and then its record, each whole or not at all."""
    record = PartRecord(key=key, data_hash=_hash(data), tally=tally)
    _write_whole(path, data)
    _write_whole(_record_of(path), msgspec.json.encode(record))
    return record


def kept_items(output: str | Path) -> int:
    """Count the items whose verdicts wait beside an output for the run to go on.

    Parameters
    ----------
    output : str or path
        The file of verdicts that `judge_file` was to write.

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
    """Hold the folder until this process ends, however it ends."""
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
        msg = f"`output` must not be written by another run, got {str(output)!r}. Let that one end."
        raise InputError(msg)
    return file
