"""The tables of the page: the run in ten parts, propositions and classes, and every step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.plots.training_moves import Move, edge_size, move_of, moves_of
from voirdire.reporting.plots.training_sheet import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.plots.training_sheet import StepColumns
    from voirdire.rewards.training.run import TrainingRun, TrainingStep

__all__ = [
    "ClassRow",
    "PartRow",
    "RateRow",
    "class_rows",
    "part_rows",
    "rate_rows",
    "reference_reward",
    "shown_steps",
]

MOST_PARTS = 10
MOST_RATES = 100
MOST_CLASSES = 100
MOST_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class PartRow:
    """Means over consecutive steps, and the share missing of all; nan where undefined."""

    first: int
    last: int
    n: int
    n_missing: int
    reward: float
    sd: float
    rule: float
    base: float
    missing: float
    length: float
    correlation: float
    reference: float


@dataclass(frozen=True, kw_only=True)
class RateRow:
    """One proposition: where it began and is, where the reference was then, whether it pays."""

    move: Move
    reference: float
    pays: bool


@dataclass(frozen=True, kw_only=True)
class ClassRow:
    """One class of a behavior: where its share began, where it is."""

    behavior: str
    move: Move


def part_rows(run: TrainingRun) -> tuple[PartRow, ...]:
    """Cut the run into ten parts of equally many steps, the last one perhaps shorter.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of PartRow
        One per part; of a short run one per step.
    """
    size = math.ceil(len(run.steps) / MOST_PARTS)
    steps = run.steps
    return tuple(_part(steps[at : at + size], run) for at in range(0, len(steps), size))


def _part(steps: Sequence[TrainingStep], run: TrainingRun) -> PartRow:
    first, last = steps[0].step, steps[-1].step
    n, n_missing = sum(step.n for step in steps), sum(step.n_missing for step in steps)
    return PartRow(
        first=first,
        last=last,
        n=n,
        n_missing=n_missing,
        reward=mean_of([step.reward_mean for step in steps]),
        sd=mean_of([step.reward_sd for step in steps]),
        rule=mean_of([step.rule_mean for step in steps]),
        base=mean_of([step.base_mean for step in steps]),
        missing=n_missing / n if n else math.nan,  # as the counts beside it say
        length=mean_of([step.length_mean for step in steps]),
        correlation=mean_of([step.length_reward_correlation for step in steps]),
        reference=reference_reward(run, first=first, last=last),
    )


def reference_reward(run: TrainingRun, *, first: float, last: float) -> float:
    """Give the mean reward of the reference run at some steps.

    Parameters
    ----------
    run : TrainingRun
        With or without a reference.
    first, last : float
        Of the steps.

    Returns
    -------
    float
        nan where there is none, or another reward paid in it: that has another scale.
    """
    found = run.reference_run
    if found is None or found.reward_hash != run.reward_hash:
        return math.nan
    return mean_of([step.reward_mean for step in found.steps if first <= step.step <= last])


def rate_rows(run: TrainingRun, columns: StepColumns) -> tuple[RateRow, ...]:
    """Sort the propositions as their figure does: with alarms first, then by how far they went.

    Parameters
    ----------
    run : TrainingRun
        Which.
    columns : StepColumns
        All of its steps.

    Returns
    -------
    tuple of RateRow
        Of every proposition.
    """
    first = {alarm.subject for alarm in run.alarms}
    paying = {name for names in run.paying.values() for name in names}
    last = columns.steps[-edge_size(len(columns.steps)) :]
    before = [step for step in run.reference or () if min(last) <= step.step <= max(last)]
    return tuple(
        RateRow(
            move=move,
            reference=mean_of([step.proposition_rates.get(move.name, math.nan) for step in before]),
            pays=move.name in paying,
        )
        for move in moves_of(columns.rates, first=first)
    )


def class_rows(columns: StepColumns) -> tuple[ClassRow, ...]:
    """List the classes of every behavior in their own order.

    Parameters
    ----------
    columns : StepColumns
        All steps of a run.

    Returns
    -------
    tuple of ClassRow
        Of every behavior and class.
    """
    return tuple(
        ClassRow(behavior=behavior, move=move_of(name, values))
        for behavior, shares in columns.classes.items()
        for name, values in shares.items()
    )


def shown_steps(run: TrainingRun) -> tuple[TrainingStep, ...]:
    """Give the steps of the long table: of many the first and the last hundred.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of TrainingStep
        In their order.
    """
    if len(run.steps) <= MOST_STEPS:
        return run.steps
    half = MOST_STEPS // 2
    return (*run.steps[:half], *run.steps[-half:])
