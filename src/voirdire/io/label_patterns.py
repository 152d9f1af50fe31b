"""Counts which labels stand together on items, in Parquet files that are larger than memory.

The distinct rows of a file, its items left out, are *cells*: who gives which label. All that is
said of an item (on one question) is a *pattern* of cells, and the test is a function of how many
items have which pattern. A file is read once, some rows at a time. Rows of one item that follow
each other are one part of its pattern; parts go to files in a folder, by the hash of their item,
and are joined there, so that an item's rows may stand anywhere, and in several files.

A part is known by the sum of random numbers of 64 bits, one for each of its cells, and an item by
the sum of its parts, whatever their order. With n items two are taken for one with a probability of
n² / 2⁶⁵, and so are two patterns: 10⁷ items are safe but for 3 in a million examinations.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.errors import InputError
from voirdire.io.declared import Reading, Request
from voirdire.io.label_reading import DEFAULT_THRESHOLD, find_layout
from voirdire.io.layouts import find_answers, find_status_columns, keep_rows, name_columns
from voirdire.io.rows import explain_broken_parquet, open_frame
from voirdire.io.values import texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.io.declared import Role

_CELLS_AT_ONCE = 1 << 18
"""Rows times columns of labels that are read at once."""

_HEAD_ROWS = 20_000
"""Rows by which the columns of a file are found."""

_MOST_CELLS = 1 << 20
_SPREAD_BITS = 7
"""The parts are spread over so many files, as a power of two."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True)
class LabelFile:
    """A Parquet file of labels.

    `item`, `question` and `cluster` are columns; `columns` are all others that are read, and
    `raters` those of a wide table, which hold labels. Probabilities are cut at the `threshold`.
    """

    path: Path
    item: str
    question: str | None
    cluster: str | None
    columns: tuple[str, ...]
    raters: tuple[str, ...] = ()
    probability: str | None = None
    threshold: float = 0.5

    @property
    def groups(self) -> list[list[str]]:
        """The columns of a cell: those of the row, or those of each rater."""
        shared = [*([] if self.question is None else [self.question]), *self.columns]
        return [[*shared, name] for name in self.raters] or [shared]

    def frames(self) -> Iterator[pl.DataFrame]:
        """Read some rows at a time, columns by the names of this record."""
        with explain_broken_parquet(str(self.path)):
            table = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            names = table.collect_schema().names()
            needed = dict.fromkeys([self.item, *self.groups[0], *self.raters, self.cluster])
            wanted = [name for name in needed if name is not None]
            table = table.select(pl.nth([names.index(name) for name in wanted]))
            start, n_rows = 0, max(1 << 12, _CELLS_AT_ONCE // max(len(wanted) - 1, 2))
            while (frame := table.slice(start, n_rows).collect()).height:
                start += frame.height
                frame.columns = wanted
                yield frame


def find_label_file(
    path: Path, *, role: Role, reading: Reading, question: str | None, rater_name: str | None
) -> LabelFile | None:
    """Find the columns of a Parquet file that hold labels, by its first rows.

    None where labels are more than the cells of a row: an export of a tool, pairs in two orders.
    """
    declared = {x.name: getattr(reading, x.name) for x in fields(Reading)}
    request = Request(
        role=role,
        question=question,
        rater_name=rater_name,
        default_rater=path.stem,
        **declared,
    )
    head = pl.scan_parquet(path, glob=False, hive_partitioning=False).head(_HEAD_ROWS).collect()
    opened = open_frame(head, str(path))
    if request.where or find_answers(opened, request) is not None:
        return None
    layout, table = find_layout(name_columns(keep_rows(opened, request), request), request)
    columns = {**layout.columns}
    names = [*columns.values(), *layout.raters, *layout.hot]
    if not {*names} <= {*head.columns} or any(
        isinstance(column, list) or not column.equals(head[name])
        for name, column in table.load(names).columns.items()
    ):
        return None  # a layout that is read otherwise than as it stands
    item, asked, units = (columns.pop(name, None) for name in ("item", "question", "cluster"))
    cut = columns.get("probability")
    if item is None or "turned" in columns or (cut and not head[cut].dtype.is_float()):
        return None
    return LabelFile(
        path=path,
        item=item,
        question=asked,
        cluster=units,
        columns=(*columns.values(), *layout.hot, *find_status_columns(head.columns)),
        raters=layout.raters,
        probability=cut,
        threshold=DEFAULT_THRESHOLD if request.threshold is None else request.threshold,
    )


@dataclass(frozen=True, kw_only=True)
class LabelPatterns:
    """Patterns of labels, each with its number of items.

    Attributes
    ----------
    cells : dict of (int, int) to DataFrame
        By file and group of its columns: the distinct rows, with a column `cell`.
    n_rows : ndarray of int, shape (n_cells,)
        Rows of each cell.
    n_unnamed : dict of int to int
        By file, rows without an item.
    flat : ndarray of int
        The cells of all patterns, one after the other.
    begin, length, copies : ndarray of int, shape (n_patterns,)
        Where each begins, how many cells it has, and how many items have it.
    clusters : ndarray of int, shape (n_patterns,), or None
        The cluster of these items, 0 where they have none.
    """

    cells: dict[tuple[int, int], pl.DataFrame]
    n_rows: NDArray[np.int64]
    n_unnamed: dict[int, int]
    flat: NDArray[Any]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    copies: NDArray[np.int64]
    clusters: NDArray[np.intp] | None = None


def take_ranges(
    values: NDArray[Any], begin: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[Any]:
    """Take ranges of an array, one after the other."""
    shift = np.repeat(begin - (np.cumsum(length) - length), length)
    return values[shift + np.arange(len(shift))]


def count_patterns(files: Sequence[LabelFile], folder: Path) -> LabelPatterns:
    """Count the patterns of labels of all items of some files; parts are written to a folder.

    Raises
    ------
    InputError
        If a file cannot be read, an item has two clusters, or labels hardly repeat.
    """
    is_clustered = any(file.cluster is not None for file in files)
    coder, patterns, n_unnamed = _Coder(), _Patterns(), dict[int, int]()
    names = [folder / f"{number}.parts" for number in range(1 << _SPREAD_BITS)]
    with ExitStack() as stack:
        spread = [stack.enter_context(name.open("wb")) for name in names]
        for number, file in enumerate(files):
            for frame in file.frames():
                cells = coder.code(number, file, frame)
                ids, units, begin, length, n_lost = _find_runs(file, frame)
                n_unnamed[number] = n_unnamed.get(number, 0) + n_lost
                if not len(ids):
                    continue
                if n_lost:
                    cells = take_ranges(cells, begin, length)
                    begin = np.cumsum(length) - length
                keys = np.add.reduceat(coder.numbers[cells], begin)
                patterns.learn(keys, cells, begin, length)
                parts = np.stack([ids, keys, *([units] if is_clustered else [])], axis=1)
                at = (ids >> np.uint64(64 - _SPREAD_BITS)).astype(np.uint8)
                order = np.argsort(at, kind="stable")
                edges = np.searchsorted(at[order], np.arange(1, len(spread)))
                for target, lines in zip(spread, np.split(parts[order], edges), strict=True):
                    target.write(lines.tobytes())
    counted = [x for name in names if (x := _join_parts(name, patterns, is_clustered=is_clustered))]
    patterns.finish()
    numbers, places = None, np.flatnonzero(patterns.copies)
    copies = patterns.copies[places]
    if is_clustered and counted:  # of one cluster and pattern there may be several
        keys, copies, of_items = map(np.concatenate, zip(*counted, strict=True))
        places = patterns.find(keys)
        numbers = np.unique(np.append(of_items, np.uint64(0)), return_inverse=True)[1][:-1]
    return LabelPatterns(
        cells=coder.known,
        n_rows=coder.n_rows,
        n_unnamed=n_unnamed,
        flat=patterns.flat[0],
        begin=patterns.begin[places],
        length=patterns.length[places].astype(np.int64),
        copies=copies,
        clusters=numbers,
    )


def _join_parts(
    name: Path, patterns: _Patterns, *, is_clustered: bool
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]] | None:
    """Join the parts of the items in a file, and count the patterns, or return them by cluster."""
    parts = np.fromfile(name, np.uint64).reshape(-1, 3 if is_clustered else 2)
    name.unlink()
    if not len(parts):
        return None
    parts = parts[np.argsort(parts[:, 0], kind="stable")]
    begin = np.flatnonzero(np.diff(parts[:, 0], prepend=~parts[:1, 0]))
    keys, length = np.add.reduceat(parts[:, 1], begin), np.diff(begin, append=len(parts))
    units = np.zeros_like(keys)
    if is_clustered:
        units = np.maximum.reduceat(parts[:, 2], begin)
        if ((parts[:, 2] > 0) & (parts[:, 2] != np.repeat(units, length))).any():
            msg = "column `cluster` must be one value per item, got two of one item."
            raise InputError(msg)
    _, first, n_items = np.unique(keys ^ (units * _ODD), return_index=True, return_counts=True)
    patterns.join(keys[first], parts[:, 1], begin[first], length[first])
    patterns.copies[patterns.find(keys[first])] += n_items if not is_clustered else 0
    return keys[first], n_items, units[first]


def _find_runs(file: LabelFile, frame: pl.DataFrame) -> tuple[Any, Any, Any, Any, int]:
    """Find the rows of one item that follow each other, but for those without an item.

    Returns hashes of their items (and questions) and of their clusters, where the cells of each run
    begin and how many it has, and how many rows have no item.
    """
    heads = [x for x in (file.item, file.question, file.cluster) if x is not None]
    changed = reduce(or_, (frame[x].ne_missing(frame[x].shift(1)) for x in heads))
    changed[0] = True
    starts = np.flatnonzero(changed.to_numpy())
    first, length = frame[starts], np.diff(starts, append=frame.height)
    item, source = texts(first[file.item], source=str(file.path)), str(file.path)
    named = item.is_not_null().to_numpy()
    ids = item.hash(1).to_numpy()
    if file.question is not None:
        ids = ids + texts(first[file.question], source=source).hash(2).to_numpy() * _ODD
    units = np.zeros_like(ids)
    if file.cluster is not None:
        of_run = texts(first[file.cluster], source=source)
        units = np.where(of_run.is_not_null(), of_run.hash(3).to_numpy() | np.uint64(1), units)
    begin, n_cells = starts * len(file.groups), length * len(file.groups)
    n_lost = int(length[~named].sum())
    return ids[named], units[named], begin[named], n_cells[named], n_lost


class _Coder:
    """Numbers the distinct cells, by file and group of columns, with a random number for each."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], pl.DataFrame] = {}
        self.n_rows = np.zeros(0, np.int64)
        self.numbers = np.zeros(0, np.uint64)
        self._rng = np.random.default_rng(0)

    def code(self, number: int, file: LabelFile, frame: pl.DataFrame) -> NDArray[Any]:
        """Return the cells of rows, those of each row together."""
        if file.probability is not None:
            share = pl.col(file.probability)
            cut = (share >= file.threshold).cast(frame.schema[file.probability])
            frame = frame.with_columns(pl.when(share.is_between(0, 1)).then(cut).otherwise(share))
        columns = []
        for group, names in enumerate(file.groups):
            rows = frame.select(names)
            rows.columns = keys = [f"column {place}" for place in range(len(names))]
            empty = rows.clear().with_columns(cell=pl.lit(0, pl.UInt32))
            known = self.known.get((number, group), empty)
            joined: dict[str, Any] = {"on": keys, "how": "left", "nulls_equal": True}
            found = rows.join(known, maintain_order="left", **joined)["cell"]
            if found.null_count():
                new = rows.filter(found.is_null()).unique(maintain_order=True)
                codes = pl.int_range(len(self.numbers), len(self.numbers) + new.height, eager=True)
                known = pl.concat([known, new.with_columns(cell=codes.cast(pl.UInt32))])
                self.known[number, group] = known
                more = self._rng.integers(0, 1 << 64, new.height, dtype=np.uint64)
                self.numbers = np.append(self.numbers, more)
                self.n_rows = np.append(self.n_rows, np.zeros(new.height, np.int64))
                if len(self.numbers) > _MOST_CELLS:
                    msg = (
                        f"{file.path}: labels must repeat to be counted, got more than "
                        f"{_MOST_CELLS:,} different ones. Name the column of the labels, as "
                        f"columns={{'label': ...}}."
                    )
                    raise InputError(msg)
                found = rows.join(known, maintain_order="left", **joined)["cell"]
            columns.append(found.to_numpy())
        cell = np.stack(columns, axis=1).ravel()
        self.n_rows += np.bincount(cell, minlength=len(self.n_rows))
        return cell.astype(np.min_scalar_type(len(self.numbers)))


class _Patterns:
    """Patterns by the sum of the random numbers of their cells."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self.begin, self.length = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self.copies = np.zeros(0, np.int64)
        self.flat: list[NDArray[Any]] = []
        self._end = 0

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Find known patterns."""
        return np.searchsorted(self._keys, keys)

    def learn(
        self,
        keys: NDArray[np.uint64],
        cells: NDArray[Any],
        begin: NDArray[np.int64],
        length: NDArray[np.int64],
    ) -> None:
        """Remember the cells of the patterns that are new."""
        inside = np.minimum(self.find(keys), len(self._keys) - 1)
        unknown = np.flatnonzero(self._keys[inside] != keys if len(self._keys) else keys | 1)
        distinct, first = np.unique(keys[unknown], return_index=True)
        places, chosen = self.find(distinct), unknown[first]
        self.flat.append(take_ranges(cells, begin[chosen], length[chosen]))
        starts = self._end + np.cumsum(length[chosen]) - length[chosen]
        self._end += int(length[chosen].sum())
        self.begin = np.insert(self.begin, places, starts)
        self.length = np.insert(self.length, places, length[chosen])
        self._keys = np.insert(self._keys, places, distinct)
        self.copies = np.insert(self.copies, places, 0)

    def join(
        self,
        keys: NDArray[np.uint64],
        parts: NDArray[np.uint64],
        begin: NDArray[np.int64],
        length: NDArray[np.int64],
    ) -> None:
        """Remember the patterns of items that have several parts."""
        chosen = np.flatnonzero(length > 1)
        if not len(chosen):
            return
        self.finish()
        of_part = self.find(take_ranges(parts, begin[chosen], length[chosen]))
        n_cells = self.length[of_part].astype(np.int64)
        cells = take_ranges(self.flat[0], self.begin[of_part], n_cells)
        total = np.add.reduceat(n_cells, np.cumsum(length[chosen]) - length[chosen])
        self.learn(keys[chosen], cells, np.cumsum(total) - total, total)

    def finish(self) -> None:
        """Put all cells into one array."""
        self.flat = [np.concatenate([np.zeros(0, np.uint8), *self.flat])]
