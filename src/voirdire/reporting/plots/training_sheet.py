"""Read a training run, or its JSON, into the columns that its figures need."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from voirdire._validation import shorten
from voirdire.errors import InputError

__all__ = [
    "AlarmMark",
    "Move",
    "StepColumns",
    "TrainingSheet",
    "average_defined",
    "compute_edge_size",
    "compute_move",
    "make_training_sheet",
    "sort_moves",
]

Column: TypeAlias = list[float]

_MOST_POINTS = 200
"""Points of a curve: of more steps each point is the mean of as many as needed."""
_FIGURES = ("reward_mean", "reward_sd", "rule_mean", "base_mean", "missing_share", "length_mean")
_OF_REWARD = _FIGURES[:4]


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

    steps: Column
    figures: dict[str, Column]
    rates: dict[str, Column]
    classes: dict[str, dict[str, Column]]

    @property
    def has_base(self) -> bool:
        """Whether there was a base reward; one that is 0 everywhere is none."""
        return any(math.isfinite(value) and value != 0 for value in self.figures["base_mean"])

    def thin_out(self, size: int) -> StepColumns:
        """Replace each `size` consecutive steps by their mean."""
        if size == 1:
            return self

        def thin(column: Column) -> Column:
            return [average_defined(column[at : at + size]) for at in range(0, len(column), size)]

        return StepColumns(
            steps=thin(self.steps),
            figures=_map_columns(thin, self.figures),
            rates=_map_columns(thin, self.rates),
            classes={
                behavior: _map_columns(thin, shares) for behavior, shares in self.classes.items()
            },
        )


def _map_columns(
    change: Callable[[Column], Column], columns: dict[str, Column]
) -> dict[str, Column]:
    return {name: change(column) for name, column in columns.items()}


@dataclass(frozen=True, kw_only=True)
class AlarmMark:
    """Where an alarm began, and what it is about."""

    kind: str
    step: float
    subject: str


@dataclass(frozen=True, kw_only=True)
class TrainingSheet:
    """The data of a run's figures.

    Attributes
    ----------
    name : str
        Of the run's reward.
    whole : StepColumns
        Every step.
    run : StepColumns
        The same in at most 200 points.
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


def make_training_sheet(result: Any) -> TrainingSheet:
    """Read a training run, or the JSON of one; a sheet is given back, so that it is read once."""
    if isinstance(result, TrainingSheet):
        return result
    if _read_field(result, "steps") is None or _read_field(result, "framework") is None:
        msg = f"`result` must be a training run, got {shorten(result)}."
        raise InputError(msg)
    steps = _read_list(result, "steps")
    if not steps:
        msg = "`result` must hold at least one step of the training, got none."
        raise InputError(msg)
    whole, size = _make_columns(steps), math.ceil(len(steps) / _MOST_POINTS)
    return TrainingSheet(
        name=str(_read_field(result, "name") or ""),
        whole=whole,
        run=whole.thin_out(size),
        reference=_read_reference(result, whole, size=size),
        alarms=[
            AlarmMark(
                kind=str(_read_field(row, "kind")),
                step=_read_number(row, "step"),
                subject=str(_read_field(row, "subject")),
            )
            for row in _read_list(result, "alarms")
        ],
        steps_per_point=size,
        length_unit=("tokens", "characters")[_read_field(result, "length_unit") == "characters"],
    )


def _read_field(thing: Any, name: str) -> Any:
    """Read a field of a record, or of the JSON of one; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _read_list(thing: Any, name: str) -> list[Any]:
    """Read a field that holds several; empty where there is none."""
    several = _read_field(thing, name)
    return list(several) if isinstance(several, list | tuple) else []


def _read_number(thing: Any, name: str) -> float:
    """Read a figure; nan where it is None, or there is none."""
    value = _read_field(thing, name)
    return math.nan if value is None else float(value)


def _make_columns(steps: list[Any]) -> StepColumns:
    rates = [_read_field(step, "proposition_rates") or {} for step in steps]
    shares = [_read_field(step, "class_shares") or {} for step in steps]
    behaviors = dict.fromkeys(behavior for row in shares for behavior in row)
    return StepColumns(
        steps=[_read_number(step, "step") for step in steps],
        figures={name: [_read_number(step, name) for step in steps] for name in _FIGURES},
        rates=_group_by_name(rates),
        classes={
            name: _group_by_name([row.get(name) or {} for row in shares]) for name in behaviors
        },
    )


def _group_by_name(rows: list[Mapping[str, Any]]) -> dict[str, Column]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_read_number(row, name) for row in rows] for name in names}


def _read_reference(result: Any, whole: StepColumns, *, size: int) -> StepColumns | None:
    """Read the reference within the steps of the run; figures of another scale are nan."""
    reference = _read_field(result, "reference" if isinstance(result, Mapping) else "reference_run")
    low, high = min(whole.steps), max(whole.steps)
    rows = [
        step for step in _read_list(reference, "steps") if low <= _read_number(step, "step") <= high
    ]
    if not rows:
        return None
    columns = _make_columns(rows)
    for field_name, apart in (("reward_hash", _OF_REWARD), ("length_unit", ("length_mean",))):
        if _read_field(reference, field_name) != _read_field(result, field_name):
            columns.figures.update({name: [math.nan] * len(rows) for name in apart})
    return columns.thin_out(max(size, math.ceil(len(rows) / _MOST_POINTS)))


# From the beginning to the end ----------------------------------------------------------------

_EDGE = 10


@dataclass(frozen=True, kw_only=True)
class Move:
    """The change of a figure from the mean of the first steps to that of the last."""

    name: str
    start: float
    end: float

    @property
    def change(self) -> float:
        """End less start; nan where either is undefined."""
        return self.end - self.start


def compute_edge_size(n_steps: int) -> int:
    """Compute how many steps make a beginning or an end: 10, or half of a shorter run."""
    return max(1, min(_EDGE, n_steps // 2))


def compute_move(name: str, values: Sequence[float]) -> Move:
    """Compare the beginning of a column with its end: means over what is defined."""
    size = compute_edge_size(len(values))
    return Move(
        name=name, start=average_defined(values[:size]), end=average_defined(values[-size:])
    )


def sort_moves(
    columns: Mapping[str, Sequence[float]], *, first: Collection[str] = ()
) -> list[Move]:
    """Sort columns by the size of their change, those named `first` before the others."""
    moves = [compute_move(name, values) for name, values in columns.items()]

    def rank(move: Move) -> tuple[bool, float]:
        change = round(abs(move.change), 12)
        return move.name not in first, -change if math.isfinite(change) else math.inf

    return sorted(moves, key=rank)


def average_defined(values: Sequence[float]) -> float:
    """Average the finite values; nan without any."""
    defined = [value for value in values if math.isfinite(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan
