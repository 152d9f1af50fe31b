"""Read the record of a training run: its figures, or its completions one after the other.

Each process that writes has a session of its own, whose name holds the time when it began. The rows
that two sessions have of one step add up where the sessions ran together, as the ranks of a
training do. Where one session replaced another, the training was begun again from a checkpoint:
from its first step on, only the later session counts. A session that counts its steps itself
continues the count of those that it replaced.

Which rows count is known from the names of the parts. These are read in the order of their first
steps, some at a time. A step is complete where all parts that begin with it or before it are read;
its rows are in memory only until then.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from voirdire.errors import InputError
from voirdire.records.items import is_share
from voirdire.rewards.training.alarms import find_alarms
from voirdire.rewards.training.completion_rows import NO_CODE, TEXTS, Columns, RowLayout
from voirdire.rewards.training.run import TrainingRun, TrainingStep
from voirdire.rewards.training.run_files import PARTS, PartName, read_about
from voirdire.rewards.training.step_figures import measure_step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_NO_FIGURES = (*TEXTS, "item", "missing", "judge", "fingerprint", "threshold", "name", "time",
               "session")  # fmt: skip
_NUMBERS = ("reward", "rule_reward", "base_reward", "margin", "n_tokens")
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
    of this run, is left out and listed in `dropped`. Memory is that of parts of 16 MiB together,
    unpacked, and of the steps that they begin.
    """
    path = Path(folder)
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        msg = f"`run` must be the folder of a training run, got {str(folder)!r}, which {what}."
        raise InputError(f"{msg} Name what was given to its reward as record.")
    about = read_about(path)
    layout = RowLayout(propositions=about.propositions, classes=about.classes)
    dropped: list[str] = []
    parts = _list_parts(path, dropped)
    by_tokens: bool | None = None
    waiting: list[pl.DataFrame] = []
    steps: list[TrainingStep] = []
    names = [name for name in layout.schema if name not in _NO_FIGURES]
    for frame, following in _read_frames(parts, layout, names, dropped):
        rows = pl.concat([*waiting, frame])
        is_whole = pl.lit(value=True) if following is None else pl.col("step") < following
        waiting = [rows.filter(~is_whole)]
        whole = rows.filter(is_whole).sort("step", maintain_order=True)
        if by_tokens is None and whole.height:
            by_tokens = not frame["n_tokens"].null_count()
        columns = _make_columns(whole, layout)
        edges = [*np.flatnonzero(np.diff(columns["step"], prepend=-1)), whole.height]
        for first, end in pairwise(edges):
            own = {name: values[first:end] for name, values in columns.items()}
            number = int(own["step"][0])
            steps.append(measure_step(number, own, layout, by_tokens=bool(by_tokens)))
    alarms, between = find_alarms(steps), list(pairwise(step.step for step in steps))
    usual = median([b - a for a, b in between] or [1])  # more: those of a process that was killed
    return TrainingRun(
        folder=path,
        steps=tuple(
            replace(step, alarms=tuple(x for x in alarms if x.step == step.step)) for step in steps
        ),
        alarms=alarms,
        length_unit="characters" if by_tokens is False else "tokens",
        dropped=tuple(dropped),
        gaps=tuple((a, b) for a, b in between if b - a > usual),
        **{name: getattr(about, name) for name in about.__dataclass_fields__},
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
        Rows with the columns in their order and the steps of the whole run, part by part in the
        order of their first steps; never empty. Texts of a turn with messages stand in the column
        `messages`, as JSON with `prompt` and `response`.
    """
    read_about(run.folder)  # it may be gone
    layout = RowLayout(propositions=run.propositions, classes=run.classes)
    names = list(layout.schema if columns is None else columns)
    parts = _list_parts(run.folder, list(run.dropped))
    if steps is not None:
        parts = [x for x in parts if any(x.first <= step <= x.last for step in steps)]
    for frame, _ in _read_frames(parts, layout, list({*names, "step"}), []):
        kept = frame if steps is None else frame.filter(pl.col("step").is_in(list(steps)))
        for batch in kept.select(names).iter_slices(_BATCH_ROWS):
            if batch.height:
                yield batch


# Which rows count -----------------------------------------------------------------------------


class _Part(NamedTuple):
    """A part, the shift of its steps, and the step before which its session counts."""

    path: Path
    first: int
    last: int
    shift: int
    end: int | None


def _replaces(own: PartName, its: PartName) -> bool:
    """Tell whether a session replaced another one, instead of running beside it."""
    if own.began <= its.began:
        return False
    if own.rank is None or its.rank is None:
        return own.began >= its.ended
    # ranks begin at different times, and may be fewer than before
    return own.rank == its.rank or (own.rank == 0 and its.rank >= own.world)


def _list_parts(folder: Path, dropped: list[str]) -> list[_Part]:
    """List the parts that count in the order of their first steps, and add others to `dropped`."""
    try:
        entries = sorted((folder / PARTS).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{folder / PARTS}: cannot be read ({error.strerror}). Make it readable."
        raise InputError(msg) from error
    names: list[tuple[Path, PartName]] = []
    named = {reason.partition(":")[0] for reason in dropped}
    for path in entries:
        if path.name.startswith(".") or path.name in named:
            continue
        about = PartName.read(path.name)
        if about is None or not path.is_file():
            dropped.append(_describe_damage(path, "no part" if about is None else "no file"))
        else:
            names.append((path, about))
    sessions: dict[str, PartName] = {}  # by its name what its parts together are about
    for _, about in names:
        one = sessions.get(about.session, about)
        first, last = min(one.first, about.first), max(one.last, about.last)
        ended = max(one.ended, about.ended)
        sessions[one.session] = replace(one, first=first, last=last, ended=ended)
    in_time = sorted(sessions.values(), key=lambda one: one.began)
    shifts: dict[str, int] = {}
    for place, one in enumerate(in_time):
        before = [other.last for other in in_time[:place] if _replaces(one, other)]
        shifts[one.session] = shift = 1 + max(before, default=-1) if one.is_counted else 0
        in_time[place] = replace(one, first=one.first + shift, last=one.last + shift)
    parts = []
    for path, about in names:
        shift = shifts[about.session]
        own = sessions[about.session]
        end = min((x.first for x in in_time if _replaces(x, own)), default=None)
        first, last = about.first + shift, about.last + shift
        if end is None or first < end:
            parts.append(_Part(path, first, last, shift, end))
    return sorted(parts, key=lambda part: (part.first, part.path.name))


# Parts ----------------------------------------------------------------------------------------


def _describe_damage(path: Path, why: str) -> str:
    return f"{path.name}: is damaged, or no part of this run ({why})"


def _read_frames(
    parts: Sequence[_Part], layout: RowLayout, columns: Sequence[str], dropped: list[str]
) -> Iterator[tuple[pl.DataFrame, int | None]]:
    """Yield the rows of some parts at a time, and the first step of the parts that follow."""
    chunk: list[_Part] = []
    n_bytes = 0
    for place, part in enumerate(parts, start=1):
        chunk.append(part)
        n_bytes += part.path.stat().st_size
        if place < len(parts) and n_bytes < _MOST_BYTES:
            continue
        frames = []
        for end, shift in dict.fromkeys((x.end, x.shift) for x in chunk):
            alike = [x for x in chunk if (x.end, x.shift) == (end, shift)]
            for frame in _read_parts(alike, layout, columns, dropped):
                rows = frame.with_columns(pl.col("step") + shift) if shift else frame
                frames.append(rows if end is None else rows.filter(pl.col("step") < end))
        schema = {name: layout.schema[name] for name in columns}
        following = parts[place].first if place < len(parts) else None
        yield pl.concat([pl.DataFrame(schema=schema), *frames]).rechunk(), following
        chunk, n_bytes = [], 0


def _read_parts(
    parts: Sequence[_Part], layout: RowLayout, columns: Sequence[str], dropped: list[str]
) -> list[pl.DataFrame]:
    """Read parts together; one by one where one of them is damaged."""
    try:
        paths = [str(part.path) for part in parts]
        scan = pl.scan_parquet(paths, schema=layout.schema, glob=False)
        frame = scan.select(columns).collect()
        if frame["step"].null_count():
            raise pl.exceptions.SchemaError("a row has no step")
    except _DAMAGED as error:
        if len(parts) == 1:
            dropped.append(_describe_damage(parts[0].path, type(error).__name__))
            return []
        return [x for part in parts for x in _read_parts([part], layout, columns, dropped)]
    return [frame]


def _make_columns(frame: pl.DataFrame, layout: RowLayout) -> Columns:
    """Make the columns that `measure_step` takes; impossible numbers are nan."""
    codes = {name: code for code, name in enumerate(layout.classes)}
    group = frame["group"].cast(pl.Categorical).to_physical().cast(pl.Int64)
    behavior = frame["behavior"].replace_strict(codes, default=NO_CODE, return_dtype=pl.Int64)
    judges = frame["answered_by"]
    columns: Columns = {
        "step": frame["step"].to_numpy(),
        "behavior": behavior.to_numpy(),
        "group": group.fill_null(NO_CODE).to_numpy(),
        "nonsense": frame["nonsense"].is_not_null().to_numpy(),
        "answered_by": judges.to_list() if judges.null_count() < frame.height else [],
    }
    for name in set(frame.columns) - set(columns):
        values = frame[name].to_numpy()
        if name in layout.numbers and is_share(name):
            values = np.where((values >= 0) & (values <= 1), values, np.nan)
        elif name in _NUMBERS or name in layout.numbers:
            values = np.where(np.isfinite(values), values, np.nan)
        else:
            values = frame[name].fill_null(0).to_numpy()
        columns[name] = values
    return columns
