"""Verdicts that were stored, found by item id: part by part where a file allows it, else whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.errors import InputError
from voirdire.io import read_verdicts
from voirdire.io.rows import BROKEN_PARQUET
from voirdire.io.verdict_files import columns_of_file
from voirdire.records.verdict_tables import is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rubrics import Rubric

__all__ = ["StoredVerdicts"]

_ROWS = 1 << 20
"""Rows whose item ids are looked at together."""

_BLOCK_BYTES = 1 << 24
"""Of JSONL that are read together."""

_MOST_APART = 4
"""A batch whose items lie in a stretch of the file that is longer by this factor is no stretch."""


class StoredVerdicts:
    """Finds the verdicts of items; a context.

    Memory does not depend on the length of a file of ours whose items lie together and come in
    about the order in which they are asked for; any other source is held whole.

    Parameters
    ----------
    source : path, Verdicts, data frame, or a sequence of these
        What `voirdire.io.read_verdicts` reads.
    rubric : Rubric
        Whose propositions are wanted.
    judge : str or None
        Whose verdicts, where there are several judges.

    Attributes
    ----------
    about : Verdicts
        Some of them, or all: judge, fingerprint, threshold and questions are those of all.
    """

    def __init__(self, source: Any, *, rubric: Rubric, judge: str | None) -> None:
        self._source, self._rubric, self._judge = source, rubric, judge
        self._whole: Verdicts | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="voirdire-")
        try:
            self._file = _indexed(source, folder=Path(self._folder.name))
            first = None if self._file is None else self._stretch(0, 1)
            self.about = self._read_whole() if first is None else first
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Throw away what was written on the way."""
        self._folder.cleanup()

    def take(self, items: Sequence[str]) -> Verdicts:
        """Give the verdicts of items, in their order; those without any are missing."""
        if self._whole is None and self._file is not None:
            places = self._file.places(items)
            known = places[places >= 0]
            first, end = (int(known.min()), int(known.max()) + 1) if known.size else (0, 1)
            if end - first <= _MOST_APART * max(len(items), 1):
                found = self._stretch(first, end)
                if found is not None:
                    return found.take(items)
        return self._read_whole().take(items)

    def _stretch(self, first: int, end: int) -> Verdicts | None:
        """Read the verdicts on some items of the file; None where they are not of one run."""
        if self._file is None:
            return None
        try:
            found = self._read(self._file.rows(first, end))
        except InputError:
            return None  # what is wrong is said, with its place, where the file is read whole
        is_same = not hasattr(self, "about") or (
            (found.judge, found.fingerprint, found.threshold, found.questions)
            == (
                self.about.judge,
                self.about.fingerprint,
                self.about.threshold,
                self.about.questions,
            )
        )
        return found if is_same else None

    def _read(self, source: Any) -> Verdicts:
        return read_verdicts(source, rubric=self._rubric, judge=self._judge)

    def _read_whole(self) -> Verdicts:
        if self._whole is None:
            self._whole = self._read(self._source)
        return self._whole


class _IndexedFile:
    """Verdicts in Parquet, and where in it the rows of each item are."""

    def __init__(
        self, paths: list[Path], hashes: NDArray[np.uint64], starts: NDArray[np.int64]
    ) -> None:
        self._paths, self._starts = paths, starts
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def places(self, items: Sequence[str]) -> NDArray[np.int64]:
        """Tell at which place of the file each item is; -1 where it is not in it."""
        wanted = pl.Series(items, dtype=pl.String).hash().to_numpy()
        at = np.minimum(np.searchsorted(self._sorted, wanted), self._sorted.size - 1)
        return np.where(self._sorted[at] == wanted, self._order[at], -1)

    def rows(self, first: int, end: int) -> pl.DataFrame:
        """Read the rows of the items from one place to another."""
        start, stop = self._starts[first], self._starts[end]
        scanned = pl.scan_parquet(self._paths, glob=False, hive_partitioning=False)
        return scanned.slice(int(start), int(stop - start)).collect()


def _indexed(source: Any, *, folder: Path) -> _IndexedFile | None:
    """Find the items of a file of ours; None where their verdicts do not lie together."""
    path = _only_path(source)
    layout = None if path is None else is_verdict_table(columns_of_file(path))
    if path is None or layout is None:
        return None
    try:
        is_parquet = path.suffix.lower() == ".parquet"
        paths = [path] if is_parquet else _as_parquet(path, folder)
        hashes, starts = _item_runs(paths)
    except (*BROKEN_PARQUET, ValueError):
        return None  # what is wrong is said where the file is read whole
    if not hashes.size or np.unique(hashes).size < hashes.size:
        return None
    return _IndexedFile(paths, hashes, starts)


def _as_parquet(path: Path, folder: Path) -> list[Path]:
    """Write JSONL or CSV anew, every cell as text or number, in flat memory."""
    columns = columns_of_file(path)
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String)
    if path.suffix.lower() == ".csv":
        target = folder / "verdicts.parquet"
        scanned = pl.scan_csv(path, schema=schema, glob=False)
        scanned.sink_parquet(target, maintain_order=True)
        return [target]
    if "question" in columns:
        # a row may say that it is negated where the first one does not
        schema |= {"probability": pl.Float64, "threshold": pl.Float64, "negated": pl.String}
    written: list[Path] = []
    with path.open("rb") as file:  # block by block: a scan would keep the whole file mapped
        while block := file.read(_BLOCK_BYTES) + file.readline():
            target = folder / f"verdicts-{len(written)}.parquet"
            pl.read_ndjson(block, schema=schema).write_parquet(target)
            written.append(target)
    return written


def _item_runs(paths: list[Path]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Give a hash of each item and the row where its verdicts begin, and where the last end."""
    scanned = pl.scan_parquet(paths, glob=False, hive_partitioning=False).select("item")
    hashes, starts = [], []
    n_rows, last = 0, None
    while True:
        items = scanned.slice(n_rows, _ROWS).collect()["item"].cast(pl.String)
        if items.is_empty():
            break
        found = items.hash().to_numpy()
        is_new = np.append(found[0] != last, found[1:] != found[:-1])
        hashes.append(found[is_new])
        starts.append(n_rows + np.flatnonzero(is_new))
        n_rows, last = n_rows + found.size, found[-1]
    ends = np.array([n_rows], dtype=np.int64)
    if not hashes:
        return np.empty(0, dtype=np.uint64), ends
    return np.concatenate(hashes), np.concatenate([*starts, ends])


def _only_path(source: Any) -> Path | None:
    """Give the path of a source that is one file."""
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if isinstance(source, str | Path) and str(source) != "-" and Path(source).is_file():
        return Path(source)
    return None
