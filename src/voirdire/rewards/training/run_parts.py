"""Reads the parts of a record, and says which rows count.

Each process that writes has a session of its own, whose name says when it began. What two sessions
say of one step adds up where they ran together, as the ranks of a training do. Where one came after
the other, the training was begun again from a checkpoint: from its first step on, the later session
counts alone. A session that counts its steps itself goes on behind those that it came after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rewards.training.completion_rows import HEAD
from voirdire.rewards.training.run_files import PARTS, SESSION_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire.rewards.training.completion_rows import RowLayout

__all__ = [
    "SESSION_COLUMNS",
    "Counting",
    "part_frames",
    "read_parts",
    "typed_rows",
]

SESSION_COLUMNS = ("session", "step", "time")
"""What says which rows count."""

_TYPES: dict[str, Any] = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64}
_MOST_BYTES = 1 << 24
"""Bytes of the files that are read at once where rows are given in batches."""
_FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


# Which rows count -----------------------------------------------------------------------------


@dataclass(kw_only=True, slots=True)
class _Session:
    """One process that wrote, from its name and its rows."""

    name: str
    rank: int | None
    world: int
    began: float
    is_counted: bool
    first: int
    last: int
    ended: float
    shift: int = 0

    def came_after(self, other: _Session) -> bool:
        """Tell whether it took the place of another, instead of running beside it."""
        if self.began <= other.began:
            return False
        if self.rank is None or other.rank is None:
            return self.began >= other.ended
        # ranks begin at different times, and may be fewer than before
        return self.rank == other.rank or (self.rank == 0 and other.rank >= self.world)


class Counting:
    """Says which rows of a run count, and of which step they are.

    Parameters
    ----------
    rows : polars.DataFrame
        All rows, with `SESSION_COLUMNS`.
    """

    def __init__(self, rows: pl.DataFrame) -> None:
        table = rows.group_by("session").agg(
            first=pl.col("step").min(), last=pl.col("step").max(), ended=pl.col("time").max()
        )
        found = [_session(**row) for row in table.drop_nulls().iter_rows(named=True)]
        sessions = sorted((one for one in found if one is not None), key=lambda one: one.began)
        for place, one in enumerate(sessions):
            if one.is_counted:
                before = [other.last for other in sessions[:place] if one.came_after(other)]
                one.shift = 1 + max(before, default=-1)
                one.first, one.last = one.first + one.shift, one.last + one.shift
        ends = {
            one.name: min((x.first for x in sessions if x.came_after(one)), default=None)
            for one in sessions
        }
        self.n_sessions = len(sessions)
        self._sessions = pl.DataFrame(
            {
                "session": [one.name for one in sessions],
                "_shift": [one.shift for one in sessions],
                "_end": [ends[one.name] for one in sessions],
            },
            schema={"session": pl.String, "_shift": pl.Int64, "_end": pl.Int64},
        )

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Give the rows that count, in their order."""
        found = rows.select("session", "step").join(
            self._sessions, on="session", how="left", maintain_order="left"
        )
        step = found["step"] + found["_shift"]  # null where the session has no name of one
        counts = ((step < found["_end"]) | found["_end"].is_null()) & step.is_not_null()
        rows = rows.with_columns(step.alias("step"))
        return rows if counts.all() else rows.filter(counts)


def _session(*, session: str, first: int, last: int, ended: float) -> _Session | None:
    named = SESSION_NAME.fullmatch(session)
    if named is None:
        return None
    rank, world, began, counted = named.groups()
    return _Session(
        name=session,
        rank=None if rank is None else int(rank),
        world=int(world or 1),
        began=int(began) / 1_000,
        is_counted=counted is not None,
        first=first,
        last=last,
        ended=ended,
    )


# Reading --------------------------------------------------------------------------------------


def read_parts(
    folder: Path, layout: RowLayout, columns: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Read columns of all parts; give them, and why a part is left out."""
    dropped: list[str] = []
    paths = _part_paths(folder, dropped)
    try:
        return _read(paths, layout, columns), dropped
    except _FAULTS:
        sound = []
        for path in paths:
            try:
                _read([path], layout, [*HEAD, *layout.numbers])
                sound.append(path)
            except _FAULTS as error:
                dropped.append(
                    f"{path.name}: is damaged, or no part of this run ({type(error).__name__})"
                )
        return _read(sound, layout, columns), dropped


def part_frames(
    folder: Path, layout: RowLayout, columns: Sequence[str], *, but: frozenset[str]
) -> Iterator[pl.DataFrame]:
    """Read columns of the parts in their order, some parts at a time, but for those named."""
    paths = [path for path in _part_paths(folder, []) if path.name not in but]
    chunk: list[Path] = []
    n_bytes = 0
    for path in [*paths, None]:
        size = 0 if path is None else path.stat().st_size
        if chunk and (path is None or n_bytes + size > _MOST_BYTES):
            try:
                yield _read(chunk, layout, columns)
            except _FAULTS as error:
                msg = (
                    f"{chunk[0].parent}: cannot be read ({shorten(str(error))}). Take the part "
                    "that is damaged out of the folder."
                )
                raise InputError(msg) from error
            chunk, n_bytes = [], 0
        if path is not None:
            chunk.append(path)
            n_bytes += size


def typed_rows(rows: Sequence[Mapping[str, Any]], layout: RowLayout) -> pl.DataFrame:
    """Make a frame, as parts give it, of rows that are not in one."""
    return pl.DataFrame(rows, schema=_schema(layout))


def _part_paths(folder: Path, dropped: list[str]) -> list[Path]:
    found = []
    try:
        entries = sorted((folder / PARTS).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{folder / PARTS}: cannot be read ({error.strerror}). Make it readable."
        raise InputError(msg) from error
    for path in entries:
        if path.suffix != ".parquet" or path.name.startswith("."):
            continue
        if path.is_file():
            found.append(path)
        else:
            dropped.append(f"{path.name}: is damaged, or no part of this run (no regular file)")
    return found


def _read(paths: Sequence[Path], layout: RowLayout, columns: Sequence[str]) -> pl.DataFrame:
    if not paths:
        return typed_rows([], layout).select(columns)
    rows = pl.scan_parquet(list(paths), schema=_schema(layout), glob=False).select(columns)
    return rows.collect().rechunk().with_columns([_sound(name, layout) for name in columns])


def _sound(name: str, layout: RowLayout) -> pl.Expr:
    """Take a stranger's number for none where it cannot be one."""
    column = pl.col(name)
    if name in layout.numbers:
        return pl.when(column.is_between(0, 1)).then(column).alias(name)
    if HEAD[name] == "number":
        return pl.when(column.is_finite()).then(column).alias(name)
    return column.fill_null(0) if name == "n_characters" else column


def _schema(layout: RowLayout) -> dict[str, Any]:
    return {name: _TYPES[kind] for name, kind in HEAD.items()} | dict.fromkeys(
        layout.numbers, pl.Float64
    )
