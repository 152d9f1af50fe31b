"""Verdicts that were stored, found by item id: in pieces where their order allows it, else whole.

Items and their verdicts usually come in one order, since `voirdire judge` keeps it. Then both are
read side by side and memory is flat. Where an item's verdicts stand elsewhere, the files are read
whole, and memory grows with them. Which of the two happens changes nothing of what comes out.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.io.rows import BROKEN_PARQUET
from voirdire.rewards.scoring.alignment import aligned, places_of
from voirdire.rewards.scoring.verdict_chunks import VerdictChunks, item_hashes
from voirdire.rewards.verdict_reading import read_judged_items

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from concurrent.futures import Future
    from typing import Self

    from numpy.typing import NDArray

    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rubrics import Rubric

__all__ = ["StoredVerdicts"]

_MOST_AHEAD = 65_536
"""Items in hand, at most, before an item that is not among them is looked for elsewhere."""


class StoredVerdicts:
    """Finds the verdicts of items; a context, since it reads ahead in a thread.

    Parameters
    ----------
    source : path, sequence of paths, or anything else that `read_judged_items` reads
        The verdicts. One Parquet or JSONL file may be read in pieces.
    rubric : Rubric
        Whose propositions are wanted.
    judge : str or None
        Whose verdicts, where there are several judges.

    Attributes
    ----------
    about : JudgedItems
        The first piece, for what is the same for all: judge, fingerprint, threshold, propositions.
    """

    def __init__(self, source: Any, *, rubric: Rubric, judge: str | None) -> None:
        self._source, self._rubric, self._judge = source, rubric, judge
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="verdicts")
        self._whole: JudgedItems | None = None
        self._places: dict[str, int] = {}
        self._window: JudgedItems | None = None
        self._hashes: list[NDArray[np.uint64]] = []
        self._all: NDArray[np.uint64] | None = None
        self._ahead: Future[Piece | None] | None = None
        self._path = _only_path(source)
        if self._path is not None:
            self._chunks = VerdictChunks(self._path, rubric=rubric, judge=judge)
            self._read_ahead()
            self._more()
        first: JudgedItems | None = self._window
        self.about = self._read_whole() if first is None else first

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Read no more."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    @property
    def is_whole(self) -> bool:
        """Whether the files had to be read whole."""
        return self._whole is not None

    def take(self, items: Sequence[str]) -> JudgedItems:
        """Give the verdicts of the next items of a file, in their order.

        Parameters
        ----------
        items : sequence of str
            Ids, none of which was taken before.
        """
        if self._whole is None:
            found = self._from_pieces(tuple(items))
            if found is not None:
                return found
            self._read_whole()
        return aligned(self._read_whole(), items, places=self._places)

    def finish(self) -> None:
        """Read on to the end, so that a second verdict on an item is an error all the same.

        Raises
        ------
        InputError
            As `read_judged_items` does.
        """
        while self._whole is None and self._more():
            self._drop(len(self._window.items) if self._window else 0)
        if self._whole is None:
            hashes = np.sort(np.concatenate(self._hashes))
            if not self._chunks.is_usable or (hashes[1:] == hashes[:-1]).any():
                self._read_whole()  # which says what is wrong

    def _from_pieces(self, items: tuple[str, ...]) -> JudgedItems | None:
        """Look in the pieces at hand and those that come next; None where they do not do."""
        while self._n_ahead < len(items) and self._more():
            pass
        window = self._window
        if window is not None and window.items[: len(items)] == items:
            found = _sliced(window, slice(0, len(items)))
            self._drop(len(items))
            return found
        lacking = set(items).difference(() if window is None else window.items)
        while lacking and self._n_ahead < _MOST_AHEAD:
            n_before = self._n_ahead
            if not self._more():
                break
            lacking.difference_update(self._window.items[n_before:] if self._window else ())
        if not self._chunks.is_usable or (lacking and self._are_elsewhere(lacking)):
            return None
        places = {} if self._window is None else places_of(self._window)
        found = aligned(self._window or _none_of(self.about), items, places=places)
        self._drop(1 + max((places[name] for name in items if name in places), default=-1))
        return found

    @property
    def _n_ahead(self) -> int:
        return 0 if self._window is None else len(self._window.items)

    def _are_elsewhere(self, names: Collection[str]) -> bool:
        """Tell whether there are verdicts on these items before or behind what is at hand."""
        wanted = item_hashes(sorted(names))
        if any(np.isin(wanted, hashes).any() for hashes in self._hashes):
            return True
        if self._ahead is None:
            return False
        if self._all is None and self._path is not None:
            self._all = _all_hashes(self._path)
        return self._all is None or bool(np.isin(wanted, self._all).any())

    def _more(self) -> bool:
        """Take the piece that was read ahead into the window."""
        piece = None if self._ahead is None else self._ahead.result()
        if piece is None:
            self._ahead = None
            return False
        judged, hashes = piece
        if self._window is not None and not _is_same(self._window, judged):
            self._chunks.is_usable, self._ahead = False, None
            return False
        self._hashes.append(hashes)
        self._window = judged if self._window is None else _joined(self._window, judged)
        self._read_ahead()
        return True

    def _read_ahead(self) -> None:
        def following() -> Piece | None:
            judged = self._chunks.following()
            return None if judged is None else (judged, item_hashes(judged.items))

        self._ahead = self._thread.submit(following)

    def _drop(self, n_items: int) -> None:
        """Leave the first items of the window behind."""
        if self._window is not None and n_items:
            self._window = _sliced(self._window, slice(n_items, None))

    def _read_whole(self) -> JudgedItems:
        if self._whole is None:
            if self._ahead is not None:
                self._ahead.result()
            self._window, self._ahead = None, None
            self._whole = read_judged_items(self._source, rubric=self._rubric, judge=self._judge)
            self._places = places_of(self._whole)
        return self._whole


Piece = tuple["JudgedItems", "NDArray[np.uint64]"]


def _only_path(source: Any) -> Path | None:
    """Give the path of a source that is one file."""
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if isinstance(source, str | Path) and str(source) != "-":
        return Path(source)
    return None


def _all_hashes(path: Path) -> NDArray[np.uint64] | None:
    try:
        if path.suffix.lower() == ".parquet":
            scanned = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        else:
            scanned = pl.scan_ndjson(path, schema={"item": pl.String})
        hashed = scanned.select(pl.col("item").cast(pl.String).hash()).unique()
        return hashed.collect(engine="streaming")["item"].to_numpy()
    except BROKEN_PARQUET:
        return None  # what is wrong is said where the file is read whole


def _sliced(judged: JudgedItems, rows: slice) -> JudgedItems:
    items = judged.items[rows]
    failures = judged.failures
    if failures:
        failures = {name: failures[name] for name in items if name in failures}
    return replace(
        judged,
        items=items,
        probabilities=judged.probabilities[rows],
        behaviors=judged.behaviors[rows],
        failures=failures,
    )


def _joined(first: JudgedItems, second: JudgedItems) -> JudgedItems:
    return replace(
        first,
        items=first.items + second.items,
        probabilities=np.concatenate([first.probabilities, second.probabilities]),
        behaviors=first.behaviors + second.behaviors,
        failures={**first.failures, **second.failures},
    )


def _none_of(judged: JudgedItems) -> JudgedItems:
    return _sliced(judged, slice(0, 0))


def _is_same(first: JudgedItems, second: JudgedItems) -> bool:
    """Tell whether two pieces are of one judge and one run."""
    return (first.judge, first.fingerprint, first.threshold) == (
        second.judge,
        second.fingerprint,
        second.threshold,
    )
