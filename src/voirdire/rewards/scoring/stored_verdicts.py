"""Verdicts of items by id: files of ours in flat memory, anything else whole."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from voirdire.io import read_verdicts
from voirdire.io.rbr_files import RbrVerdicts, is_rbr_file
from voirdire.io.rows import BROKEN_PARQUET
from voirdire.io.verdict_files import columns_of_file, verdict_format
from voirdire.records.verdict_tables import is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.model import RewardModel

__all__ = ["StoredVerdicts", "VerdictsById", "VerdictsOfItems", "open_verdicts"]

VerdictsById: TypeAlias = "Verdicts | StoredVerdicts"
"""What gives the verdicts of items by their ids: `take` of either."""

VerdictsOfItems: TypeAlias = "VerdictsById | RbrVerdicts"
"""What gives the verdicts of items: the RBR authors' files know them by their texts."""

_MOST_ITEMS, _MOST_ROWS = 1 << 15, 1 << 17
_BLOCK_BYTES = 1 << 23
"""Rows of a wide or long table, and bytes of JSONL, that are read together."""


def open_verdicts(source: Any, *, reward: RewardModel, judge: str | None) -> VerdictsOfItems:
    """Open what `voirdire.io.read_verdicts` reads, or a file of features of the RBR authors.

    Files of ours are not held in memory.
    """
    if is_rbr_file(source):
        return RbrVerdicts(source, rubric=reward.rubric, threshold=reward.judge.threshold)
    read = partial(read_verdicts, rubric=reward.rubric, judge=judge, numbers_of=reward.questions)
    paths = _our_files(source)
    if paths:
        frames = chain.from_iterable(map(_frames, paths))
        try:
            return StoredVerdicts(map(read, _whole_items(frames)))
        except (ValueError, *BROKEN_PARQUET):
            pass  # what is wrong is said, with its place, where all is read at once
    return read(source)


class StoredVerdicts:
    """Verdicts in a temporary file, a row for each item, which are found by a hash of its id.

    Memory is 16 bytes an item, in whatever order items are asked for.

    Parameters
    ----------
    parts : iterable of Verdicts
        Of one run, each item in one part, the first on all questions. A `ValueError` says that
        they are not.

    Attributes
    ----------
    judge, fingerprint, threshold, questions
        As those of `Verdicts`.
    """

    def __init__(self, parts: Iterable[Verdicts]) -> None:
        self._file = tempfile.TemporaryFile(prefix="voirdire-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._words: dict[str | None, int] = {None: 0}
        hashes: list[NDArray[np.int64]] = []
        about: Verdicts | None = None
        for part in parts:
            if about is None:
                about = part.take(())
                numbers = ("probability", "f8", (len(part.questions),))
                self._row = np.dtype([numbers, ("behavior", "i4"), ("reason", "i4")])
            if _run_of(part) != _run_of(about.on(part.questions)):
                raise ValueError("verdicts must be of one run")
            columns = [about.questions.index(name) for name in part.questions]
            self._file.write(self._rows_of(part, columns=columns).tobytes())
            hashes.append(_hash_ids(part.items))
        if about is None:
            raise ValueError("there must be verdicts")
        self._file.flush()
        self._about = about
        self.judge, self.fingerprint, self.threshold, self.questions = _run_of(about)
        found = np.concatenate(hashes)
        self._places = np.argsort(found)
        self._hashes = found[self._places]
        if (self._hashes[1:] == self._hashes[:-1]).any():
            raise ValueError("the verdicts on an item must lie together")
        self._said = list(self._words)

    def take(self, items: Sequence[str]) -> Verdicts:
        """Give the verdicts of items, in their order; those without any are missing."""
        wanted = _hash_ids(items)
        at = np.minimum(np.searchsorted(self._hashes, wanted), self._hashes.size - 1)
        is_there = self._hashes[at] == wanted
        # mapped anew each time, so that what was read does not stay in memory
        stored = np.memmap(self._file, dtype=self._row, mode="r")
        rows = np.zeros(len(items), dtype=self._row)
        rows["probability"] = np.nan
        rows[is_there] = stored[self._places[at[is_there]]]
        reasons = {
            items[place]: self._said[rows["reason"][place]] or ""
            for place in np.flatnonzero(rows["reason"]).tolist()
        }
        behaviors = tuple([self._said[code] for code in rows["behavior"].tolist()])
        return replace(
            self._about,
            items=tuple(items),
            behaviors=behaviors,
            probabilities=rows["probability"],
        ).with_reasons(reasons)

    def _rows_of(self, part: Verdicts, *, columns: list[int]) -> NDArray[np.void]:
        words = self._words
        rows = np.zeros(len(part.items), dtype=self._row)
        rows["probability"] = np.nan
        rows["probability"][:, columns] = part.probabilities
        rows["behavior"] = [words.setdefault(name, len(words)) for name in part.behaviors]
        for item, reason in part.missing.items():
            rows["reason"][part.places[item]] = words.setdefault(reason, len(words))
        return rows


def _run_of(verdicts: Verdicts) -> tuple[Any, ...]:
    return verdicts.judge, verdicts.fingerprint, verdicts.threshold, verdicts.questions


def _hash_ids(items: Sequence[str]) -> NDArray[np.int64]:
    """Hash ids with the key of this process, so that no file can be made to confuse them."""
    return np.fromiter(map(hash, items), dtype=np.int64, count=len(items))


def _our_files(source: Any) -> list[Path]:
    """Give the paths of a source that is one or several files as `voirdire judge` writes them."""
    parts = source if isinstance(source, list | tuple) else [source]
    are_paths = all(isinstance(part, str | Path) and str(part) != "-" for part in parts)
    paths = [Path(part) for part in parts] if are_paths else []
    are_ours = all(path.is_file() and is_verdict_table(columns_of_file(path)) for path in paths)
    return paths if are_ours else []


def _whole_items(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Cut a table between items: the rows of the last one wait for those that follow."""
    rest: pl.DataFrame | None = None
    for frame in frames:
        rest = frame if rest is None else pl.concat([rest, frame])
        items = rest["item"]
        is_other = items.ne_missing(items[-1]).reverse()
        if n_last := is_other.arg_max() if is_other.any() else 0:
            yield rest[:-n_last]
            rest = rest[-n_last:]
    if rest is not None:
        yield rest


def _frames(path: Path) -> Iterator[pl.DataFrame]:
    """Read a table of ours a piece at a time, cells of JSONL and CSV as text."""
    columns = columns_of_file(path)
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String)
    written_as = verdict_format(path)
    if written_as == "jsonl":
        if "question" in columns:
            # a row may say that it is negated where the first one does not
            schema |= {"probability": pl.Float64, "threshold": pl.Float64, "negated": pl.String}
        with path.open("rb") as file:  # block by block: a scan would keep the whole file mapped
            while block := file.read(_BLOCK_BYTES) + file.readline():
                yield pl.read_ndjson(block, schema=schema)
        return
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        if written_as == "csv":
            scanned = pl.scan_csv(path, schema=schema, glob=False)
            path = Path(folder) / "verdicts.parquet"
            scanned.sink_parquet(path, maintain_order=True)
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        start, n_rows = 0, _MOST_ROWS if "question" in columns else _MOST_ITEMS
        while (frame := table.slice(start, n_rows).collect()).height:
            yield frame
            start += frame.height
