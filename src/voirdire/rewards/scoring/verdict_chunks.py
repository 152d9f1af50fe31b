"""Files of verdicts a piece at a time, where they are laid out as `voirdire judge` lays them out.

Long files have one row per item and question, all rows of an item together and the propositions
in the order of the rubric; wide files have one row per item. In either the rows of a piece become
an array without looking at a row twice. Whatever is laid out in another way is read whole,
elsewhere: `next_chunk` then gives None for a piece, and says so with `is_usable`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voirdire.io.rows import BROKEN_PARQUET
from voirdire.judging.table import is_verdict_table
from voirdire.judging.verdict_files import columns_of_file
from voirdire.records.thresholds import USUAL_THRESHOLD, threshold_from_cell, threshold_on
from voirdire.rewards.judged_items import JudgedItems

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire._types import Threshold
    from voirdire.rubrics import Rubric

__all__ = ["VerdictChunks", "item_hashes"]

_NO_VERDICT = "no verdict"
_CHUNK_ITEMS = 16_384
_BLOCK_BYTES = 1 << 23
_NAMES = ("judge", "fingerprint")
_WORDS = ("item", "question", "label", "behavior", "failure")


def item_hashes(items: Sequence[str]) -> NDArray[np.uint64]:
    """Hash ids, the same in every piece of a run."""
    return pl.Series(items, dtype=pl.String).hash().to_numpy()


class VerdictChunks:
    """The verdicts of one file, piece by piece.

    Attributes
    ----------
    is_usable : bool
        Whether everything so far was laid out as expected.
    """

    def __init__(self, path: Path, *, rubric: Rubric, judge: str | None) -> None:
        self._rubric = rubric
        self._judge = judge
        self._rest: pl.DataFrame | None = None
        columns = columns_of_file(path) if path.is_file() else ()
        self._layout = is_verdict_table(columns)
        self.is_usable = self._layout is not None and bool(rubric.propositions)
        if self._layout == "wide":
            self.is_usable = all(name in columns for name in rubric.propositions)
        self._states_threshold = "threshold" in columns
        self._frames = _opened(path, columns=self._wanted) if self.is_usable else None
        self.is_usable = self._frames is not None

    @property
    def _wanted(self) -> tuple[str, ...]:
        if self._layout == "wide":
            stated = ("threshold",) * self._states_threshold
            return ("item", "behavior", *self._rubric.propositions, *_NAMES, *stated)
        rows = ("item", "question", "label", "probability", "threshold", "behavior", "failure")
        return (*rows, *_NAMES)

    def following(self) -> JudgedItems | None:
        """Give the next piece; None at the end, and where the layout is another one."""
        while self._frames is not None and self.is_usable:
            try:
                frame = self._frames.following(self._chunk_rows)
            except (*BROKEN_PARQUET, ValueError):
                frame, self.is_usable = None, False  # what is wrong is said by whoever reads it all
            if frame is None:
                self._frames = None
                self.is_usable &= self._rest is None or self._rest.is_empty()
                return None
            found = self._wide(frame) if self._layout == "wide" else self._long(frame)
            if found is not None:
                return found
        return None

    @property
    def _chunk_rows(self) -> int:
        return _CHUNK_ITEMS * (1 if self._layout == "wide" else len(self._rubric.propositions))

    def _wide(self, frame: pl.DataFrame) -> JudgedItems | None:
        frame = self._of_judge(frame)
        if frame.is_empty():
            return None
        values = frame.select(self._rubric.propositions)
        if not all(kind.is_numeric() or kind == pl.Boolean for kind in values.dtypes):
            self.is_usable = False  # words of truth, perhaps
            return None
        values = values.cast(pl.Float64).fill_null(np.nan)
        return self._judged(frame, values.to_numpy(), failures={}, threshold=self._stated(frame))

    def _long(self, frame: pl.DataFrame) -> JudgedItems | None:
        names = self._rubric.propositions
        frame = self._of_judge(frame.filter(pl.col("question").is_in(names)))
        if self._rest is not None:
            frame = pl.concat([self._rest, frame])
        n_items = frame.height // len(names)
        self._rest = frame[n_items * len(names) :]
        if not n_items:
            return None
        frame = frame[: n_items * len(names)]
        values = frame["probability"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        missing = frame.filter(pl.Series(np.isnan(values)))
        # a label without a probability may be a vote
        if not _is_grid(frame, names) or missing["label"].count():
            self.is_usable = False
            return None
        heads = frame.gather_every(len(names))
        reasons = missing["failure"].fill_null(_NO_VERDICT).to_list()
        failures = dict(zip(missing["item"].to_list()[::-1], reasons[::-1], strict=True))
        limits = frame["threshold"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        limits = limits.reshape(n_items, len(names))
        if not (limits == limits[0]).all():
            self.is_usable = False
            return None
        threshold = threshold_on(dict(zip(names, limits[0].tolist(), strict=True)), names)
        return self._judged(
            heads, values.reshape(n_items, len(names)), failures=failures, threshold=threshold
        )

    def _stated(self, frame: pl.DataFrame) -> Threshold:
        """Read the threshold of a wide piece; where it says none, or several, it is not used."""
        usual = self._rubric.threshold or USUAL_THRESHOLD
        if not self._states_threshold:
            return usual
        try:
            [cell] = frame["threshold"].cast(pl.String).unique()
            return threshold_on(threshold_from_cell(cell), self._rubric.propositions)
        except (TypeError, ValueError):
            self.is_usable = False
            return usual

    def _of_judge(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame if self._judge is None else frame.filter(pl.col("judge") == self._judge)

    def _judged(
        self,
        heads: pl.DataFrame,
        values: NDArray[np.float64],
        *,
        failures: dict[str, str],
        threshold: Threshold,
    ) -> JudgedItems | None:
        ids = heads["item"]
        said = [heads[name].unique().to_list() for name in _NAMES]
        outside = (values < 0) | (values > 1)
        is_mixed = any(len(found) != 1 or found[0] is None for found in said)
        is_named = bool((ids == ids.str.strip_chars()).all(ignore_nulls=False))
        if is_mixed or outside.any() or not is_named:
            self.is_usable = False
            return None
        items = tuple(ids.to_list())
        if not failures:
            rows = np.flatnonzero(np.isnan(values).any(axis=1)).tolist()
            failures = {items[row]: _NO_VERDICT for row in rows}
        return JudgedItems(
            items=items,
            propositions=self._rubric.propositions,
            probabilities=values,
            behaviors=tuple(heads["behavior"].to_list()),
            failures=failures,
            judge=said[0][0],
            fingerprint=said[1][0],
            threshold=threshold,
        )


class _ParquetFrames:
    """Slices of a Parquet file; only the pages of a slice are unpacked."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path, self._columns = path, columns
        self._start = 0

    def following(self, n_rows: int) -> pl.DataFrame | None:
        scanned = pl.scan_parquet(self._path, glob=False, hive_partitioning=False)
        frame = scanned.select(self._columns).slice(self._start, n_rows).collect()
        self._start += frame.height
        return _as_text(frame) if frame.height else None


class _JsonlFrames:
    """Blocks of whole lines of a JSONL file."""

    def __init__(self, path: Path, columns: Sequence[str], numbers: Sequence[str]) -> None:
        self._path = path
        self._schema = {name: pl.Float64 if name in numbers else pl.String for name in columns}
        self._start = 0
        self._rest = b""

    def following(self, n_rows: int) -> pl.DataFrame | None:
        del n_rows  # a block is as large as it is
        block, end = self._rest, 0
        while end == 0:
            data = self._read()
            block += data
            end = block.rfind(b"\n") + 1 if data else len(block)
            if not block:
                return None
        self._rest = block[end:]
        if b'"negated"' in block:
            msg = "a column that is not read here"
            raise ValueError(msg)
        return _as_text(pl.read_ndjson(io.BytesIO(block[:end]), schema=self._schema))

    def _read(self) -> bytes:
        """Read on; the file is not held open, since nobody may come for the rest."""
        with self._path.open("rb") as file:
            file.seek(self._start)
            data = file.read(_BLOCK_BYTES)
        self._start += len(data)
        return data


def _opened(path: Path, *, columns: Sequence[str]) -> _ParquetFrames | _JsonlFrames | None:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _ParquetFrames(path, columns)
    if suffix in (".jsonl", ".ndjson"):
        words = (*_WORDS, *_NAMES, *("threshold",) * ("question" not in columns))
        return _JsonlFrames(path, columns, [name for name in columns if name not in words])
    return None


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    words = [name for name in _WORDS if name in frame.columns]
    return frame.with_columns(pl.col(words).cast(pl.String))


def _is_grid(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Tell whether every item has its propositions together, in order and by one judge."""
    n_items = frame.height // len(names)
    asked = pl.Series(list(names)).gather(np.tile(np.arange(len(names)), n_items))
    if not bool((frame["question"] == asked).all()):
        return False
    heads = frame["item"].gather_every(len(names))
    if heads.is_duplicated().any():
        return False
    first = np.repeat(np.arange(n_items) * len(names), len(names))
    return all(
        # nothing beside something is a difference too
        bool(frame[name].eq_missing(frame[name].gather(first)).all())
        for name in ("item", "behavior", *_NAMES)
    )
