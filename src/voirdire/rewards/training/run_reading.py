"""Read the record of a training run: its figures, or its completions in batches.

Each process that writes has a session of its own, whose name holds the time when it began. The rows
that two sessions have of one step add up where the sessions ran together, as the ranks of a
training do. Where one session replaced another, the training was begun again from a checkpoint:
from its first step on, only the later session counts. A session that counts its steps itself
continues the count of those that it replaced.

Parts are read in the order of their first steps, some at a time. A step is complete where all parts
that begin with it or before it are read; its rows are in memory only until then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.rewards.training.alarms import find_alarms
from voirdire.rewards.training.completion_rows import HEAD
from voirdire.rewards.training.run import TrainingRun, TrainingStep
from voirdire.rewards.training.run_files import (
    PARTS,
    RUN_FILE,
    SESSION_NAME,
    describe_run,
    read_document,
    read_layout,
)
from voirdire.rewards.training.step_figures import FIGURE_COLUMNS, compute_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from voirdire.rewards.training.completion_rows import RowLayout

__all__ = ["read_completion_frames", "read_training_run"]

_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    msgspec.ValidationError,
)  # fmt: skip
_FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_ABOUT_PARTS = ("session", "step", "time", "n_tokens")
"""Columns that decide which rows count, and how lengths are counted."""

_MOST_BYTES = 1 << 24
"""Bytes of the files that are read at once."""

_BATCH_ROWS = 50_000


def read_training_run(folder: str | Path) -> TrainingRun:
    """Read the folder of a training run, finished or under way.

    Parameters
    ----------
    folder : str or path
        What was given to a reward as `record`.

    Returns
    -------
    TrainingRun
        Steps with the figures of all processes, and alarms worked out over them.

    Raises
    ------
    InputError
        If it is no folder of a training run, or cannot be read.

    Notes
    -----
    A step has the completions of all processes, whatever their shares. Where a training was begun
    again from a checkpoint, the later completions of a step count. A part that is damaged, or not
    of this run, is left out and listed in `dropped`. Texts are not read, and completions are read
    step by step: memory is that of parts of 16 MiB together, and of the steps that they begin.
    """
    path = Path(folder)
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        msg = f"`run` must be the folder of a training run, got {str(folder)!r}, which {what}."
        raise InputError(f"{msg} Name what was given to its reward as record.")
    document = read_document(path)
    try:
        layout, about = read_layout(document), describe_run(document)
    except _DAMAGED as error:
        msg = (
            f"{path / RUN_FILE}: must say what the run is about, got something else "
            f"({shorten(str(error))}). Take the run's copy from elsewhere."
        )
        raise InputError(msg) from error
    columns = (*FIGURE_COLUMNS, *layout.numbers)
    dropped: list[str] = []
    try:
        completions, steps = _read_steps(path, document, columns, dropped)
    except _FAULTS:
        dropped = _find_damaged_parts(path, layout)
        completions, steps = _read_steps(path, document, columns, dropped)
    alarms = find_alarms(steps)
    return TrainingRun(
        folder=path,
        steps=tuple(
            replace(step, alarms=tuple(x for x in alarms if x.step == step.step)) for step in steps
        ),
        alarms=alarms,
        length_unit="tokens" if completions.by_tokens else "characters",
        dropped=tuple(dropped),
        **about,
    )


def read_completion_frames(
    run: TrainingRun,
    *,
    columns: Sequence[str] | None = None,
    steps: Collection[int] | None = None,
) -> Iterator[pl.DataFrame]:
    """Give the completions of a run that count, in batches.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` gave.
    columns : sequence of str, optional
        Those to read; by default all.
    steps : collection of int, optional
        Only completions of these steps; parts that have none of them are not read.

    Yields
    ------
    polars.DataFrame
        Rows with the columns in their order, part by part in the order of their first steps; never
        empty. Texts of a run that has messages stand in the column `messages`, as JSON with
        `prompt` and `response`; `prompt` and `response` are null there.

    Raises
    ------
    InputError
        If a part cannot be read that could be when the run was read.

    Notes
    -----
    Parts that `run.dropped` names are left out. Memory is that of one batch, or of parts of 16 MiB
    together.
    """
    document = read_document(run.folder)
    names = columns or [*HEAD, *read_layout(document).numbers]
    try:
        completions = _Completions(run.folder, document, names, list(run.dropped), only_steps=steps)
        for frame, _ in completions.read_frames():
            for batch in frame.select(names).iter_slices(_BATCH_ROWS):
                if batch.height:
                    yield batch
    except _FAULTS as error:
        msg = (
            f"{run.folder / PARTS}: cannot be read ({shorten(str(error))}). Take the part that is "
            "damaged out of the folder."
        )
        raise InputError(msg) from error


def _read_steps(
    folder: Path, document: Mapping[str, Any], columns: Sequence[str], dropped: list[str]
) -> tuple[_Completions, list[TrainingStep]]:
    """Compute the figures of each step as soon as all of its completions are read."""
    completions = _Completions(folder, document, columns, dropped)
    steps: list[TrainingStep] = []
    waiting: list[pl.DataFrame] = []
    for frame, following in completions.read_frames():
        rows = pl.concat([*waiting, frame])
        is_whole = pl.lit(value=True) if following is None else pl.col("step") < following
        waiting = [rows.filter(~is_whole)]
        steps += compute_steps(
            rows.filter(is_whole),
            completions.layout,
            by_tokens=completions.by_tokens,
        )
    return completions, steps


# Which rows count -----------------------------------------------------------------------------


@dataclass(kw_only=True, slots=True)
class _Session:
    """One process that wrote, as its name and its rows describe it."""

    name: str
    rank: int | None
    world: int
    began: float
    is_counted: bool
    first: int
    last: int
    ended: float

    def replaces(self, other: _Session) -> bool:
        """Tell whether this session replaced another one, instead of running beside it."""
        if self.began <= other.began:
            return False
        if self.rank is None or other.rank is None:
            return self.began >= other.ended
        # ranks begin at different times, and may be fewer than before
        return self.rank == other.rank or (self.rank == 0 and other.rank >= self.world)


def _read_session(*, session: str, first: int, last: int, ended: float) -> _Session | None:
    match = SESSION_NAME.fullmatch(session)
    if match is None:
        return None
    rank, world, began, counted = match.groups()
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


def _place_sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Compute for each session the shift of its steps, and the step before which it counts."""
    table = rows.group_by("session").agg(
        first=pl.col("step").min(), last=pl.col("step").max(), ended=pl.col("ended").max()
    )
    read = [_read_session(**row) for row in table.drop_nulls().iter_rows(named=True)]
    sessions = sorted((one for one in read if one is not None), key=lambda one: one.began)
    shifts = [0] * len(sessions)
    for place, one in enumerate(sessions):
        if one.is_counted:
            before = [other.last for other in sessions[:place] if one.replaces(other)]
            shifts[place] = shift = 1 + max(before, default=-1)
            one.first, one.last = one.first + shift, one.last + shift
    ends = [min((x.first for x in sessions if x.replaces(one)), default=None) for one in sessions]
    return pl.DataFrame(
        {"session": [one.name for one in sessions], "_shift": shifts, "_end": ends},
        schema={"session": pl.String, "_shift": pl.Int64, "_end": pl.Int64},
    )


# Parts ----------------------------------------------------------------------------------------


class _Completions:
    """The completions of a run that count, for reading them part by part.

    `dropped` lists what cannot be read, as ``"<file>: <why>"``; parts that it names are left out,
    and others are added to it.
    """

    def __init__(
        self,
        folder: Path,
        document: Mapping[str, Any],
        columns: Sequence[str],
        dropped: list[str],
        *,
        only_steps: Collection[int] | None = None,
    ) -> None:
        self.layout = read_layout(document)
        self._only_steps = only_steps
        self._columns = list(dict.fromkeys((*columns, "session", "step")))
        paths = _list_part_paths(folder, dropped)
        steps = (
            _scan_parts(paths, self.layout)
            .select("part", *_ABOUT_PARTS)
            .with_columns(_clean_column("time", self.layout))
            .group_by("part", "session", "step")
            .agg(
                ended=pl.col("time").max(),
                has_tokens=pl.col("n_tokens").is_not_null().all(),
            )
            .collect(engine="streaming")
        )
        self._sessions = _place_sessions(steps)
        steps = self._keep_counted_rows(steps)
        self.by_tokens = steps.height > 0 and bool(steps["has_tokens"].all())
        firsts = steps.group_by("part").agg(pl.col("step").min()).sort("step", "part")
        self._parts: list[tuple[str, int]] = list(firsts.iter_rows())

    def read_frames(self) -> Iterator[tuple[pl.DataFrame, int | None]]:
        """Yield the rows of some parts at a time, and the first step of the parts that follow."""
        chunk: list[str] = []
        n_bytes = 0
        for place, (part, _) in enumerate(self._parts, start=1):
            chunk.append(part)
            n_bytes += Path(part).stat().st_size
            following = self._parts[place][1] if place < len(self._parts) else None
            if following is None or n_bytes >= _MOST_BYTES:
                rows = _scan_parts(chunk, self.layout).select(self._columns).collect().rechunk()
                sound = [_clean_column(name, self.layout) for name in self._columns]
                yield self._keep_counted_rows(rows.select(sound)), following
                chunk, n_bytes = [], 0

    def _keep_counted_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Keep the rows that count, in their order and with the steps of the whole run."""
        placed = rows.select("session", "step").join(
            self._sessions, on="session", how="left", maintain_order="left"
        )
        step = placed["step"] + placed["_shift"]  # null where the session has no name of one
        counts = ((step < placed["_end"]) | placed["_end"].is_null()) & step.is_not_null()
        if self._only_steps is not None:
            counts &= step.is_in(list(self._only_steps))
        rows = rows.with_columns(step.alias("step"))
        return rows if counts.all() else rows.filter(counts)


def _find_damaged_parts(folder: Path, layout: RowLayout) -> list[str]:
    """Read each part whole; list those that cannot be read, and why."""
    dropped: list[str] = []
    for path in _list_part_paths(folder, dropped):
        try:
            _scan_parts([path], layout).collect()
        except _FAULTS as error:
            dropped.append(
                f"{path.name}: is damaged, or no part of this run ({type(error).__name__})"
            )
    return dropped


def _list_part_paths(folder: Path, dropped: list[str]) -> list[Path]:
    try:
        entries = sorted((folder / PARTS).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{folder / PARTS}: cannot be read ({error.strerror}). Make it readable."
        raise InputError(msg) from error
    dropped_names = {reason.partition(":")[0] for reason in dropped}
    paths = []
    for path in entries:
        if path.suffix != ".parquet" or path.name.startswith(".") or path.name in dropped_names:
            continue
        if path.is_file():
            paths.append(path)
        else:
            dropped.append(f"{path.name}: is damaged, or no part of this run (no regular file)")
    return paths


def _scan_parts(paths: Sequence[str] | Sequence[Path], layout: RowLayout) -> pl.LazyFrame:
    if not paths:
        return pl.LazyFrame(schema=layout.schema | {"part": pl.String})
    return pl.scan_parquet(
        [str(path) for path in paths], schema=layout.schema, glob=False, include_file_paths="part"
    )


def _clean_column(name: str, layout: RowLayout) -> pl.Expr:
    """Replace impossible numbers by null, since a file may be a stranger's."""
    column = pl.col(name)
    if name in layout.numbers:
        return pl.when(column.is_between(0, 1)).then(column).alias(name)
    if HEAD[name] == "number":
        return pl.when(column.is_finite()).then(column).alias(name)
    return column.fill_null(0) if name == "n_characters" else column
