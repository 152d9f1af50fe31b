"""Files of items as parts of one job: which there are, which of them a shard has, and their names.

A part is a file, or 100,000 rows of one where there are fewer files than shards. The output of a
part carries a key of its content and of what is done with it: ``train.0f3a….parquet``, or
``train.2-of-7.0f3a….parquet``.
"""

from __future__ import annotations

import glob
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, FileRows, files_of
from voirdire.records.plain import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ItemPart", "Shard", "list_parts", "name_outputs"]

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


def list_parts(source: str | Path, shard: Shard | None = None) -> list[ItemPart]:
    """List the files of a folder or of a pattern such as ``in/*.parquet``, or a shard's of them.

    Raises
    ------
    NoDataError
        If there is no such file.
    InputError
        If two have one name but for their endings: their outputs could not be told apart, nor items
        without ids.
    """
    found: list[str | Path] = [source]
    if glob.has_magic(str(source)) and not Path(source).exists():
        found = sorted(glob.glob(str(source), recursive=True))  # noqa: PTH207  # may be absolute
    files = [Path(x) for name in found for x in files_of(name, held="items")]
    if not files:
        msg = (
            f"`source` must match files of items, got none for {str(source)!r}. Check the pattern."
        )
        raise NoDataError(msg)
    parts = [ItemPart(path) for path in files]
    names: dict[str, Path] = {}
    for part in parts:
        if (other := names.setdefault(part.name, part.path)) is not part.path:
            msg = (
                f"`source` must hold files of different names, got {str(other)!r} and "
                f"{str(part.path)!r}. Rename one, or name one of their folders."
            )
            raise InputError(msg)
    if shard is None:
        return parts
    if len(files) < shard.of:
        parts = [part for path in files for part in _cut(path)]
    return parts[shard.number - 1 :: shard.of]


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


def name_outputs(
    parts: Iterable[ItemPart], folder: Path, *, about: Mapping[str, Any], suffix: str
) -> dict[Path, ItemPart]:
    """Name the output of each part by a hash of its file and of `about`, what is done with it."""
    named: dict[Path, ItemPart] = {}
    keys: dict[Path, str] = {}
    for part in parts:
        if part.path not in keys:
            with part.path.open("rb") as file:
                key = hashlib.file_digest(file, "sha256")
            key.update(encode_json(dict(about)))
            keys[part.path] = key.hexdigest()[:16]
        target = folder / f"{part.name}.{keys[part.path]}{suffix}"
        named[target] = part
    return named
