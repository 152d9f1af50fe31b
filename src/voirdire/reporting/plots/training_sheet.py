"""Read a training run into the columns that its figures need."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.rewards.training.run import TrainingRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
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
    alarms : dict of str to list of int
        By kind the steps where alarms began.
    steps_per_point : int
        1 where every step is a point.
    length_unit : str
        What lengths are counted in.
    """

    name: str
    whole: StepColumns = field(repr=False)
    run: StepColumns = field(repr=False)
    alarms: dict[str, list[int]] = field(repr=False)
    steps_per_point: int
    length_unit: str


def make_training_sheet(result: Any) -> TrainingSheet:
    """Read a training run; a sheet is given back, so that it is read once."""
    if isinstance(result, TrainingSheet):
        return result
    if not isinstance(result, TrainingRun):
        msg = f"`result` must be a training run, got {shorten(result)}."
        raise InputError(msg)
    if not result.steps:
        msg = "`result` must hold at least one step of the training, got none."
        raise InputError(msg)
    steps, size = result.steps, math.ceil(len(result.steps) / _MOST_POINTS)
    behaviors = dict.fromkeys(behavior for step in steps for behavior in step.class_shares)
    whole = StepColumns(
        steps=[float(step.step) for step in steps],
        figures={name: [getattr(step, name) for step in steps] for name in _FIGURES},
        rates=_group_by_name([step.proposition_rates for step in steps]),
        classes={
            name: _group_by_name([step.class_shares.get(name, {}) for step in steps])
            for name in behaviors
        },
    )
    alarms: dict[str, list[int]] = {}
    for alarm in result.alarms:
        alarms.setdefault(alarm.kind, []).append(alarm.step)
    return TrainingSheet(
        name=result.name,
        whole=whole,
        run=whole.thin_out(size),
        alarms=alarms,
        steps_per_point=size,
        length_unit=result.length_unit,
    )


def _group_by_name(rows: Sequence[Mapping[str, float]]) -> dict[str, Column]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


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


def sort_moves(columns: Mapping[str, Sequence[float]]) -> list[Move]:
    """Sort columns by the size of their change."""
    moves = [compute_move(name, values) for name, values in columns.items()]

    def rank(move: Move) -> float:
        change = round(abs(move.change), 12)
        return -change if math.isfinite(change) else math.inf

    return sorted(moves, key=rank)


def average_defined(values: Sequence[float]) -> float:
    """Average the finite values; nan without any."""
    defined = [value for value in values if math.isfinite(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan
