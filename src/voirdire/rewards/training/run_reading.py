"""Reads what was written down of a training run: its figures, or its completions in batches."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.training.alarms import alarms_of
from voirdire.rewards.training.completion_rows import HEAD
from voirdire.rewards.training.old_run import old_frames
from voirdire.rewards.training.run import Reference, TrainingRun, TrainingStep
from voirdire.rewards.training.run_certificates import read_certificates
from voirdire.rewards.training.run_files import (
    OLD_SCHEMA,
    REFERENCE_FILE,
    RUN_FILE,
    layout_of,
    read_document,
    read_json,
)
from voirdire.rewards.training.run_parts import (
    SESSION_COLUMNS,
    Counting,
    part_frames,
    read_parts,
    typed_rows,
)
from voirdire.rewards.training.step_figures import FIGURE_COLUMNS, has_all_tokens, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.rewards.training.completion_rows import RowLayout

__all__ = ["comparable_steps", "completion_frames", "read_reference", "read_training_run"]

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


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
    of this run, is left out and listed in `dropped`. Texts are not read: memory is some 900 bytes
    for each completion.
    """
    path = Path(folder)
    if not path.is_dir():
        what = "a file" if path.exists() else "nothing"
        msg = f"`run` must be the folder of a training run, got {str(folder)!r}, which is {what}."
        raise InputError(f"{msg} Name what was given as `record=`.")
    document = read_document(path)
    try:
        layout, about = layout_of(document), _about(document)
    except _DAMAGED as error:
        msg = (
            f"{path / RUN_FILE}: must say what the run is about, got something else "
            f"({shorten(str(error))}). Take the run's copy from elsewhere."
        )
        raise InputError(msg) from error
    columns = [*dict.fromkeys((*FIGURE_COLUMNS, *SESSION_COLUMNS)), *layout.numbers]
    dropped: list[str] = []
    is_old = document["schema"] == OLD_SCHEMA
    if is_old:
        rows = _old_rows(path, layout, columns, dropped)
    else:
        rows, dropped = read_parts(path, layout, columns)
    counting = Counting(rows)
    rows = counting.of(rows)
    by_tokens = has_all_tokens(rows)
    steps = steps_of(rows, layout, by_tokens=by_tokens)
    if is_old:  # then nobody looked for nonsense
        steps = [replace(step, nonsense_share=math.nan) for step in steps]
    reference = read_reference(path, dropped) if document["reference"] else None
    alarms = alarms_of(
        steps,
        paying=document["reward"]["propositions"],
        reference=comparable_steps(reference, by_tokens=by_tokens),
    )
    return TrainingRun(
        folder=path,
        steps=tuple(
            replace(step, alarms=tuple(x for x in alarms if x.step == step.step)) for step in steps
        ),
        alarms=alarms,
        reference_run=reference,
        length_unit="tokens" if by_tokens else "characters",
        n_writers=counting.n_sessions,
        dropped=tuple(dropped),
        **about,
    )


def completion_frames(
    run: TrainingRun, *, columns: Sequence[str] | None = None, batch_rows: int = 50_000
) -> Iterator[pl.DataFrame]:
    """Give the completions of a run that count, in batches.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` gave.
    columns : sequence of str, optional
        Those to read; by default all.
    batch_rows : int, optional
        Completions in a batch at most, at least 1.

    Yields
    ------
    polars.DataFrame
        Rows with the columns in their order, in the order of the parts; never empty. Texts of a
        run that has messages stand in the column `messages`, as JSON with `prompt` and `response`;
        `prompt` and `response` are null there.

    Raises
    ------
    InputError
        If a part cannot be read that could be when the run was read.

    Notes
    -----
    Parts that `run.dropped` names are left out. Memory is that of one batch, or of parts of 16 MiB
    together.
    """
    check_count("batch_rows", batch_rows, minimum=1)
    document = read_document(run.folder)
    layout = layout_of(document)
    wanted = [*HEAD, *layout.numbers] if columns is None else list(columns)
    read = list(dict.fromkeys((*wanted, *SESSION_COLUMNS)))
    if document["schema"] == OLD_SCHEMA:
        counting = Counting(_old_rows(run.folder, layout, SESSION_COLUMNS, []))
        frames = old_frames(run.folder, layout, [])
    else:
        counting = Counting(read_parts(run.folder, layout, SESSION_COLUMNS)[0])
        bad = frozenset(reason.partition(":")[0] for reason in run.dropped)
        frames = part_frames(run.folder, layout, read, but=bad)
    for frame in frames:
        for batch in counting.of(frame.select(read)).select(wanted).iter_slices(batch_rows):
            if batch.height:
                yield batch


def _old_rows(
    folder: Path, layout: RowLayout, columns: Sequence[str], dropped: list[str]
) -> pl.DataFrame:
    frames = [frame.select(columns) for frame in old_frames(folder, layout, dropped)]
    return pl.concat([typed_rows([], layout).select(columns), *frames])


def comparable_steps(
    run: TrainingRun | Reference | None,
    *,
    by_tokens: bool,
) -> tuple[TrainingStep, ...] | None:
    """Give the steps of a reference run; without lengths where they are in another unit."""
    if run is None:
        return None
    if (run.length_unit == "tokens") == by_tokens:
        return run.steps
    return tuple(replace(step, length_mean=math.nan) for step in run.steps)


def _about(document: Mapping[str, Any]) -> dict[str, Any]:
    """Take what `run.json` says of the run as it is."""
    reward, rubric, judge = document["reward"], document["rubric"], document["judge"]
    list(reward["propositions"]), document["reference"]  # needed later
    return {
        "name": str(document["name"]),
        "framework": str(document["framework"]),
        "reward_name": str(reward["name"]),
        "reward_hash": str(reward["content_hash"]),
        "rubric": f"{rubric['name']} {rubric['version']}",
        "rubric_hash": str(rubric["content_hash"]),
        "class_rule": str(rubric["class_rule"]),
        "judge": str(judge["name"]),
        "fingerprint": str(judge["fingerprint"]),
        "judge_fingerprint": str(judge["judge_fingerprint"]),
        "threshold": threshold_from_cell(judge["threshold"]),
        "judged": str(judge["judged"]),
        "propositions": tuple(map(str, document["propositions"])),
        "paying": {name: tuple(asked) for name, asked in reward["behaviors"].items()},
        "question_hashes": dict(document["question_hashes"]),
        "question_texts": dict(document["questions"]),
        "behaviors": tuple(reward["classes"]),
        "created": str(document["created"]),
        "versions": dict(document["versions"]),
        "is_centered": bool(document["is_centered"]),
        "certificates": read_certificates(
            document.get("certificates"), fingerprint=str(judge["fingerprint"])
        ),
    }


def read_reference(folder: Path, dropped: list[str]) -> Reference | None:
    """Read the copy of the reference run's steps."""
    try:
        found = read_json(folder / REFERENCE_FILE)
        steps = tuple(_step(row) for row in found["steps"])
        unit: Literal["tokens", "characters"] = (
            "tokens" if found["length_unit"] == "tokens" else "characters"
        )
        return Reference(
            name=str(found["name"]),
            reward_name=str(found["reward_name"]),
            reward_hash=str(found["reward_hash"]),
            length_unit=unit,
            steps=steps,
        )
    except (OSError, *_DAMAGED) as error:
        why = f"the steps of the reference run cannot be read ({type(error).__name__})"
        dropped.append(f"{REFERENCE_FILE}: {why}")
        return None


_STEP_FIELDS = tuple(row.name for row in fields(TrainingStep) if row.name != "alarms")


_LEVELS = {"proposition_rates": 1, "n_by_behavior": 1, "answered_by": 1, "class_shares": 2}
"""Fields that hold numbers by name, and by name of name; the others hold a number."""


def _step(row: dict[str, Any]) -> TrainingStep:
    """Make a step again of what was written of it; null is nan."""
    return TrainingStep(
        **{
            name: _numbers(row[name], levels=_LEVELS.get(name, 0))
            for name in _STEP_FIELDS
            if name in row  # a run of an earlier version lacks what has a default
        }
    )


def _numbers(value: Any, *, levels: int) -> Any:
    """Check that these are numbers; a `TypeError` where they are not."""
    if levels:
        return {key: _numbers(inner, levels=levels - 1) for key, inner in value.items()}
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = "no number"
        raise TypeError(msg)
    return value
