"""What the figures of a training run are drawn from: the run, or the JSON of one, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.rows import field_of, number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MOST_POINTS",
    "AlarmMark",
    "StepColumns",
    "TrainingSheet",
    "is_training",
    "mean_of",
    "training_sheet",
]

MOST_POINTS = 200
"""Points of a curve: of more steps each point is the mean of as many as needed."""

_FIGURES = (
    "reward_mean",
    "reward_sd",
    "rule_mean",
    "base_mean",
    "missing_share",
    "length_mean",
)


@dataclass(frozen=True, kw_only=True)
class StepColumns:
    """Figures of steps, one list per figure; nan where undefined.

    Attributes
    ----------
    steps : list of float
        Numbers of the steps, or means of several.
    figures : dict of str to list of float
        By the name of the field.
    rates : dict of str to list of float
        By proposition.
    classes : dict of str to dict of str to list of float
        By behavior and class.
    """

    steps: list[float]
    figures: dict[str, list[float]]
    rates: dict[str, list[float]]
    classes: dict[str, dict[str, list[float]]]

    @property
    def has_base(self) -> bool:
        """Whether there was a base reward; one that is 0 everywhere is none."""
        return any(math.isfinite(value) and value != 0 for value in self.figures["base_mean"])


@dataclass(frozen=True, kw_only=True)
class AlarmMark:
    """Where an alarm began, and what it is about."""

    kind: str
    step: float
    subject: str


@dataclass(frozen=True, kw_only=True)
class TrainingSheet:
    """What a run's figures show.

    Attributes
    ----------
    name : str
        Of the run's reward.
    whole : StepColumns
        Every step.
    run : StepColumns
        The same in at most `MOST_POINTS` points.
    reference : StepColumns or None
        The reference run in points, as far as this run goes; None where there is none. Rewards of
        another reward and lengths in another unit are nan.
    alarms : list of AlarmMark
        By step.
    steps_per_point : int
        1 where every step is a point.
    length_unit : str
        What lengths are counted in.
    """

    name: str
    whole: StepColumns = field(repr=False)
    run: StepColumns = field(repr=False)
    reference: StepColumns | None = field(repr=False)
    alarms: list[AlarmMark] = field(repr=False)
    steps_per_point: int
    length_unit: str


def is_training(result: Any) -> bool:
    """Whether something is a training run, or the JSON of one."""
    if isinstance(result, Mapping):
        return "steps" in result and "framework" in result
    is_record = is_dataclass(result) and not isinstance(result, type)
    return is_record and hasattr(result, "steps") and hasattr(result, "framework")


def training_sheet(result: Any) -> TrainingSheet:
    """Read a training run.

    Parameters
    ----------
    result : TrainingRun, mapping or TrainingSheet
        What `read_training_run` returns, or what `training_run_as_dict` makes of it; a sheet is
        given back, so that a page reads a run once.

    Returns
    -------
    TrainingSheet
        Its columns.

    Raises
    ------
    InputError
        If it is no training run, or has no steps.
    """
    if isinstance(result, TrainingSheet):
        return result
    if not is_training(result):
        msg = f"`result` must be a training run, got {shorten(result)}."
        raise InputError(msg)
    steps = list(field_of(result, "steps") or ())
    if not steps:
        msg = "`result` must hold at least one step of the training, got none."
        raise InputError(msg)
    whole = _columns(steps)
    size = math.ceil(len(steps) / MOST_POINTS)
    return TrainingSheet(
        name=str(field_of(result, "name") or ""),
        whole=whole,
        run=_thinned(whole, size=size),
        reference=_reference(result, whole, size=size),
        alarms=[
            AlarmMark(
                kind=str(field_of(row, "kind")),
                step=number(field_of(row, "step")),
                subject=str(field_of(row, "subject")),
            )
            for row in field_of(result, "alarms") or ()
        ],
        steps_per_point=size,
        length_unit=("tokens", "characters")[field_of(result, "length_unit") == "characters"],
    )


def _columns(steps: list[Any]) -> StepColumns:
    rates = [field_of(step, "proposition_rates") or {} for step in steps]
    shares = [field_of(step, "class_shares") or {} for step in steps]
    classes: dict[str, dict[str, None]] = {}
    for row in shares:
        for behavior, found in row.items():
            classes.setdefault(behavior, {}).update(dict.fromkeys(found))
    return StepColumns(
        steps=[number(field_of(step, "step")) for step in steps],
        figures={name: [number(field_of(step, name)) for step in steps] for name in _FIGURES},
        rates={name: _column(rates, name) for name in dict.fromkeys(k for r in rates for k in r)},
        classes={
            behavior: {
                name: _column([row.get(behavior) or {} for row in shares], name) for name in names
            }
            for behavior, names in classes.items()
        },
    )


def _column(rows: list[Mapping[str, Any]], name: str) -> list[float]:
    return [number(row.get(name)) for row in rows]


def _reference(result: Any, whole: StepColumns, *, size: int) -> StepColumns | None:
    """Take the reference as far as the run goes, and only what has the same scale."""
    reference = field_of(result, "reference" if isinstance(result, Mapping) else "reference_run")
    low, high = min(whole.steps), max(whole.steps)
    steps = field_of(reference, "steps") or ()
    kept = [step for step in steps if low <= number(field_of(step, "step")) <= high]
    if not kept:
        return None
    columns = _columns(kept)
    apart: list[str] = []
    if field_of(reference, "reward_hash") != field_of(result, "reward_hash"):
        apart += ["reward_mean", "reward_sd", "rule_mean", "base_mean"]
    if field_of(reference, "length_unit") != field_of(result, "length_unit"):
        apart.append("length_mean")
    columns.figures.update({name: [math.nan] * len(kept) for name in apart})
    return _thinned(columns, size=max(size, math.ceil(len(kept) / MOST_POINTS)))


def _thinned(columns: StepColumns, *, size: int) -> StepColumns:
    """Put the means of `size` steps one after the other in their place."""
    if size == 1:
        return columns
    return StepColumns(
        steps=_means(columns.steps, size),
        figures={name: _means(values, size) for name, values in columns.figures.items()},
        rates={name: _means(values, size) for name, values in columns.rates.items()},
        classes={
            behavior: {name: _means(values, size) for name, values in found.items()}
            for behavior, found in columns.classes.items()
        },
    )


def _means(values: list[float], size: int) -> list[float]:
    return [mean_of(values[at : at + size]) for at in range(0, len(values), size)]


def mean_of(values: Sequence[float]) -> float:
    """Average what is defined; nan where nothing is."""
    found = [value for value in values if math.isfinite(value)]
    return math.fsum(found) / len(found) if found else math.nan
