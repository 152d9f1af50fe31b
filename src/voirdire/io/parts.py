"""Files of items as parts of one job: which there are, which of them a shard has, and their names.

A part is a file, or 100,000 rows of one where there are fewer files than shards. The output of a
part carries a key of its content and of what is done with it: ``train.0f3a….parquet``, or
``train.2-of-7.0f3a….parquet``.
"""

from __future__ import annotations

import glob
import hashlib
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, FileRows, files_of
from voirdire.records.plain import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterable

PART_ROWS = 100_000
_CUT = re.compile(r".*\.(?:parquet|(?:jsonl|ndjson)(?:\.(?:gz|bz2|xz))?)", re.IGNORECASE)
"""Files that are read from any row on."""


@dataclass(frozen=True)
class Shard:
    """One of several shares of a job.

    Attributes
    ----------
    number : int
        Which, from 1.
    of : int
        How many there are.

    Raises
    ------
    InputError
        If there is no such share.
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            msg = f"`shard` must be from 1 to the number of shards, as 3/100, got {self}."
            raise InputError(msg)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read ``3/100``."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        if found is None:
            msg = f"`shard` must be from 1 to the number of shards, as 3/100, got {text!r}."
            raise InputError(msg)
        return cls(int(found[1]), int(found[2]))


@dataclass(frozen=True)
class ItemPart:
    """A file of items, or some rows of it: `number` of `of` parts."""

    path: Path
    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return str(self.path) if self.of == 1 else f"{self.path} ({self.number} of {self.of})"

    @property
    def rows(self) -> range | None:
        """Its rows, from 0; None where it is a file."""
        first = (self.number - 1) * PART_ROWS
        return None if self.of == 1 else range(first, first + PART_ROWS)

    @property
    def source(self) -> Path | FileRows:
        """Return what its items are read from."""
        return self.path if self.rows is None else FileRows(self.path, self.rows)

    @property
    def name(self) -> str:
        """Begin the name of its output."""
        stem = DataFile(self.path, format="jsonl").stem
        return stem if self.of == 1 else f"{stem}.{self.number}-of-{self.of}"


@dataclass(frozen=True)
class FolderOutputs:
    """What a job over a folder is to write: by each output its part; in a folder, of a shard."""

    folder: Path
    parts: dict[Path, ItemPart]
    shard: Shard | None = None

    def place(self, name: str) -> Path:
        """Name a file beside them; another machine has another shard, and no lock is sure there."""
        place, share = self.folder / name, self.shard
        return place if share is None else place.with_stem(
            f"{place.stem}-{share.number}-of-{share.of}")  # fmt: skip


def plan_outputs(
    source: str | Path,
    output: str | Path,
    *,
    shard: Shard | str | None,
    suffix: str,
    settings: Any,
    **about: Any,
) -> FolderOutputs:
    """List the files of a folder or of a pattern such as ``in/*.parquet``, or a shard's of them.

    The name of each output carries a hash of its file, of `about`, and of those settings that
    change what is written: what is done with it.

    Raises
    ------
    NoDataError
        If there is no such file.
    InputError
        If two have one name but for their endings: their outputs could not be told apart, nor items
        without ids; if the output is no folder, or that of the items; if a function makes items.
    """
    if settings.make_item is not None:
        msg = "`make_item` must be left out for a folder, whose outputs are named by what was done."
        raise InputError(f"{msg} Write the rows that it makes to files first.")
    about |= {x.name: getattr(settings, x.name) for x in fields(settings)
              if x.name not in _NOT_IN_KEYS}  # fmt: skip
    found: list[str | Path] = [source]
    if glob.has_magic(str(source)) and not Path(source).exists():
        found = sorted(glob.glob(str(source), recursive=True))  # noqa: PTH207  # may be absolute
    parts = [ItemPart(Path(x)) for name in found for x in files_of(name, held="items")]
    if not parts:
        msg = f"`source` must match files of items, got none for {str(source)!r}."
        raise NoDataError(f"{msg} Check the pattern.")
    names: dict[str, Path] = {}
    for part in parts:
        if (other := names.setdefault(part.name, part.path)) is not part.path:
            msg = (
                f"`source` must hold files of different names, got {str(other)!r} and "
                f"{str(part.path)!r}. Rename one, or name one of their folders."
            )
            raise InputError(msg)
    folder = make_folder(output, source)
    share = Shard.read(shard) if isinstance(shard, str) else shard
    if share is not None:
        cut = [x for part in parts for x in _cut(part.path)] if len(parts) < share.of else parts
        parts = cut[share.number - 1 :: share.of]
    named: dict[Path, ItemPart] = {}
    keys: dict[Path, str] = {}
    for part in parts:
        if part.path not in keys:
            with part.path.open("rb") as file:
                key = hashlib.file_digest(file, "sha256")
            key.update(encode_json(about))
            keys[part.path] = key.hexdigest()[:16]
        named[folder / f"{part.name}.{keys[part.path]}{suffix}"] = part
    return FolderOutputs(folder, named, share)


_NOT_IN_KEYS = ("store", "retry_failures", "workers", "limit", "threshold", "judged")
"""Settings that change no verdict, or whose meaning the fingerprint has."""


def make_folder(
    output: str | Path, source: str | Path | None = None, *, name: str = "output"
) -> Path:
    """Make a folder where it is missing; not that of the items, which a later run would read."""
    folder = Path(output)
    if source is not None and folder.resolve() == Path(source).resolve():
        msg = f"`{name}` must be another folder than that of the items, got {str(output)!r}. "
        raise InputError(f"{msg}Name another.")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        msg = f"`{name}` must be a folder, and {str(folder)!r} cannot be made ({error.strerror}). "
        raise InputError(f"{msg}Name another.") from error
    return folder


def _cut(path: Path) -> Iterable[ItemPart]:
    if not _CUT.fullmatch(path.name):
        return [ItemPart(path)]
    if path.suffix.lower() == ".parquet":
        import polars as pl

        n_rows = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    else:
        n_rows = 1 + sum(block.count(b"\n") for block in DataFile(path).blocks())
    of = max(-(-n_rows // PART_ROWS), 1)
    return [ItemPart(path, number, of) for number in range(1, of + 1)]
