"""Read what was written down of a training run; the figures of all its processes added up."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.training.alarms import alarms_of
from voirdire.rewards.training.lines import BadLine, lines_of
from voirdire.rewards.training.run import Reference, TrainingRun, TrainingStep
from voirdire.rewards.training.run_certificates import read_certificates
from voirdire.rewards.training.run_files import (
    REFERENCE_FILE,
    RUN_FILE,
    STEPS,
    read_document,
    read_json,
)
from voirdire.rewards.training.sessions import Session, counting
from voirdire.rewards.training.step_sums import StepSums

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["comparable_steps", "next_counted_step", "read_training_run", "sessions_of"]

_MOST_DROPPED = 100
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(slots=True)
class _Written:
    """What one session wrote of the steps."""

    session: Session
    sums: dict[int, StepSums] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)


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
    Counts and sums add up, not means, so that the processes may have had shares of different
    size. Where a training was begun again from a checkpoint, the later figures of a step count.
    A line that is cut off or damaged is left out and listed in `dropped`. Completions are not
    read: memory is that of the steps.
    """
    path = Path(folder)
    if not path.is_dir():
        what = "a file" if path.exists() else "nothing"
        msg = f"`run` must be the folder of a training run, got {str(folder)!r}, which is {what}."
        raise InputError(f"{msg} Name what was given as `record=`.")
    document = read_document(path)
    dropped: list[str] = []
    written = _written(path, dropped)
    sums, times = _added_up(written)
    try:
        return _run(path, document, sums, times, dropped=dropped, n_writers=len(written))
    except _DAMAGED as error:
        msg = (
            f"{path / RUN_FILE}: must say what the run is about, got something else "
            f"({shorten(str(error))}). Take the run's copy from elsewhere."
        )
        raise InputError(msg) from error


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


def next_counted_step(folder: Path) -> int:
    """Find the step after those of processes that are no longer there; 0 where there are none."""
    ended = [one for one in _written(folder, []) if not one.session.may_run]
    return 1 + max((step for one in ended for step in one.sums), default=-1)


def sessions_of(folder: Path) -> dict[str, int | None]:
    """Say from which step on each session no longer counts; None where all of it does."""
    return counting([one.session for one in _written(folder, [])])


def _written(folder: Path, dropped: list[str]) -> list[_Written]:
    found = []
    for path in sorted(folder.glob(f"{STEPS}-*.jsonl")):
        try:
            one = _of_file(path, dropped)
        except OSError as error:
            msg = f"{path}: cannot be read ({error.strerror}). Make it readable."
            raise InputError(msg) from error
        if one is not None:
            found.append(one)
    return found


def _of_file(path: Path, dropped: list[str]) -> _Written | None:
    found: _Written | None = None
    for number, line in enumerate(lines_of(path), start=1):
        if isinstance(line, BadLine):
            _list(dropped, str(line))
            continue
        try:
            if found is None:
                found = _Written(Session.read(line))
                continue
            _take(found, line)
        except _DAMAGED:
            what = "the line is no step" if found else "the first line names no session"
            _list(dropped, f"{path.name}:{number}: {what}, and left out")
            if found is None:
                return None
    return found


def _take(found: _Written, line: dict[str, Any]) -> None:
    step, when = int(line["step"]), float(line["time"])
    sums = StepSums.read(line["sums"])
    if step in found.sums:
        found.sums[step].add(sums)
    else:
        found.sums[step] = sums
    found.times.setdefault(step, when)
    session = found.session
    session.first = step if session.first is None else min(session.first, step)
    session.ended = max(session.ended, when)


def _list(dropped: list[str], reason: str) -> None:
    if len(dropped) < _MOST_DROPPED:
        dropped.append(reason)


def _added_up(written: Sequence[_Written]) -> tuple[dict[int, StepSums], dict[int, float]]:
    """Add up what counts of each step."""
    until = counting([one.session for one in written])
    sums: dict[int, StepSums] = {}
    times: dict[int, float] = {}
    for one in written:
        end = until[one.session.id]
        for step, found in one.sums.items():
            if end is not None and step >= end:
                continue
            if step in sums:
                sums[step].add(found)
            else:
                sums[step] = found
            when = one.times[step]
            times[step] = min(times.get(step, when), when)
    return sums, times


def _run(
    folder: Path,
    document: dict[str, Any],
    sums: dict[int, StepSums],
    times: dict[int, float],
    *,
    dropped: list[str],
    n_writers: int,
) -> TrainingRun:
    reward, rubric, judge = document["reward"], document["rubric"], document["judge"]
    n, n_tokens = sum(s.n for s in sums.values()), sum(s.tokens.n for s in sums.values())
    by_tokens = 0 < n == n_tokens
    classes = {name: tuple(names) for name, names in reward["classes"].items()}
    propositions = tuple(document["propositions"])
    began = min(times.values(), default=math.nan)
    steps = [
        sums[number].step(
            number,
            propositions=propositions,
            classes=classes,
            by_tokens=by_tokens,
            seconds=times[number] - began,
        )
        for number in sorted(sums)
    ]
    reference = _reference(folder, dropped) if document["reference"] else None
    alarms = alarms_of(
        steps,
        paying=reward["propositions"],
        reference=comparable_steps(reference, by_tokens=by_tokens),
    )
    return TrainingRun(
        folder=folder,
        name=str(document["name"]),
        framework=str(document["framework"]),
        reward_name=str(reward["name"]),
        reward_hash=str(reward["content_hash"]),
        rubric=f"{rubric['name']} {rubric['version']}",
        rubric_hash=str(rubric["content_hash"]),
        class_rule=str(rubric["class_rule"]),
        judge=str(judge["name"]),
        fingerprint=str(judge["fingerprint"]),
        judge_fingerprint=str(judge["judge_fingerprint"]),
        threshold=threshold_from_cell(judge["threshold"]),
        judged=str(judge["judged"]),
        propositions=propositions,
        paying={name: tuple(asked) for name, asked in reward["behaviors"].items()},
        question_hashes=dict(document["question_hashes"]),
        question_texts=dict(document["questions"]),
        behaviors=tuple(classes),
        steps=tuple(
            replace(step, alarms=tuple(x for x in alarms if x.step == step.step)) for step in steps
        ),
        alarms=alarms,
        reference_run=reference,
        length_unit="tokens" if by_tokens else "characters",
        created=str(document["created"]),
        versions=dict(document["versions"]),
        n_writers=n_writers,
        has_completions=bool(document["has_completions"]),
        is_centered=bool(document["is_centered"]),
        certificates=read_certificates(
            document.get("certificates"), fingerprint=str(judge["fingerprint"])
        ),
        dropped=tuple(dropped),
    )


def _reference(folder: Path, dropped: list[str]) -> Reference | None:
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
        _list(dropped, f"{REFERENCE_FILE}: {why}")
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
