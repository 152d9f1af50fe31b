"""Makes verdicts from the answers of judges, and computes the completion classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.plan import ask_in_process, is_cascade, needs_engine
from voirdire.records import Failure
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import BehaviorClasses, CallDetails, Verdicts
from voirdire.rubrics import class_probabilities, hard_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold, VerdictLayout
    from voirdire.judging.asking import Answer
    from voirdire.judging.bound import JudgingPlan
    from voirdire.judging.combine import ItemVerdict
    from voirdire.judging.summary import RunRecord
    from voirdire.records import Item
    from voirdire.rubrics import Behavior, Rubric

__all__ = ["judge_at_once", "make_run_verdicts", "make_verdicts", "name_table_columns"]


def judge_at_once(items: Sequence[Item], plan: JudgingPlan) -> Verdicts:
    """Judge items in one call."""
    probabilities = ask_in_process(items, plan)
    failures = {
        (int(row), int(column)): Failure(reason="no probability")
        for row, column in np.argwhere(np.isnan(probabilities))
    }
    return make_verdicts(items, plan, probabilities=probabilities, failures=failures)


def make_verdicts(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    probabilities: NDArray[np.float64],
    failures: Mapping[tuple[int, int], Failure],
    details: CallDetails | None = None,
) -> Verdicts:
    """Compute the completion classes, and make the verdicts."""
    rubric = plan.rubric
    behaviors = tuple(item.behavior for item in items)
    if rubric.behaviors:
        _check_behaviors(items, rubric)
    return Verdicts(
        items=tuple(item.id for item in items),
        behaviors=behaviors,
        questions=rubric.propositions,
        probabilities=probabilities,
        failures=failures,
        threshold=plan.threshold,
        completion_classes=tuple(
            _classes(rubric, row, behaviors, probabilities, threshold=plan.threshold)
            for row in rubric.behaviors
        ),
        judge=plan.judge.name,
        source=plan.judge.source,
        fingerprint=plan.fingerprint,
        details=details,
    )


def name_table_columns(plan: JudgingPlan, layout: VerdictLayout) -> tuple[str, ...]:
    """Return the columns of the table of a plan's verdicts, or raise where they clash."""
    details = None
    if needs_engine(plan.judge):
        details = _arrays([], plan.rubric)[2]
    nothing = np.empty((0, len(plan.rubric.propositions)))
    empty = make_verdicts([], plan, probabilities=nothing, failures={}, details=details)
    whole = replace(empty, answered_by=() if is_cascade(plan.judge) else None)
    return tuple(whole.frame(layout).columns)


def make_run_verdicts(
    items: Sequence[Item],
    given: Sequence[ItemVerdict],
    plan: JudgingPlan,
    *,
    record: RunRecord | None = None,
) -> Verdicts:
    """Make verdicts from an engine's answers, and add them to the record of the run."""
    probabilities, failures, details = _arrays(given, plan.rubric)
    if record is not None:
        record.add(given, details)
    found = make_verdicts(
        items, plan, probabilities=probabilities, failures=failures, details=details
    )
    if not is_cascade(plan.judge):
        return found
    source_of = plan.judge.sources
    who = tuple(str(verdict.answered_by) for verdict in given)
    return replace(found, sources=tuple(source_of[name] for name in who), answered_by=who)


def _arrays(
    verdicts: Sequence[ItemVerdict], rubric: Rubric
) -> tuple[NDArray[np.float64], dict[tuple[int, int], Failure], CallDetails]:
    """Arrange the verdicts of several items as arrays: probabilities, failures, other answers."""
    kinds = [row.kind for row in rubric.questions]
    asked = [place for place, kind in enumerate(kinds) if kind == "boolean"]
    others = [place for place, kind in enumerate(kinds) if kind != "boolean"]
    column = {place: number for number, place in enumerate(asked)}
    failures: dict[tuple[int, int], Failure] = {}
    other_failures: dict[tuple[int, str], Failure] = {}
    for row, verdict in enumerate(verdicts):
        for place, failure in verdict.failures:
            if place in column:
                failures[row, column[place]] = failure
            else:
                other_failures[row, rubric.questions[place].id] = failure
    n_all = len(kinds)
    details = CallDetails(
        labels={rubric.questions[k].id: tuple(row.values[k] for row in verdicts) for k in others},
        label_failures=other_failures,
        missing_mass=_numbers([row.missing_mass for row in verdicts], asked, n_all=n_all),
        numeric=frozenset(row.id for row in rubric.questions if row.kind == "scale"),
    )
    return _numbers([row.values for row in verdicts], asked, n_all=n_all), failures, details


def _check_behaviors(items: Sequence[Item], rubric: Rubric) -> None:
    known = {row.id for row in rubric.behaviors} | {None}
    for item in items:
        if item.behavior not in known:
            rubric.behavior(str(item.behavior))  # the message lists the known behaviors


def _classes(
    rubric: Rubric,
    behavior: Behavior,
    behaviors: Sequence[str | None],
    probabilities: NDArray[np.float64],
    *,
    threshold: Threshold,
) -> BehaviorClasses:
    names = tuple(row.name for row in behavior.classes)
    rows = np.flatnonzero(np.array([own == behavior.id for own in behaviors], dtype=bool))
    if rows.size == 0:
        found, hard = np.empty((0, len(names))), np.empty(0, dtype=np.int64)
    else:
        chosen = probabilities[rows]
        found = class_probabilities(
            rubric, behavior.id, probabilities=chosen, propositions=rubric.propositions
        ).values
        hard = _hard(rubric, behavior, chosen, threshold=threshold)
    return BehaviorClasses(
        behavior=behavior.id, classes=names, rows=rows, probabilities=found, hard=hard
    )


def _hard(
    rubric: Rubric, behavior: Behavior, chosen: NDArray[np.float64], *, threshold: Threshold
) -> NDArray[np.int64]:
    """Apply the threshold, then evaluate the classes; a missing answer stays missing."""
    labels: NDArray[np.generic] = chosen >= get_thresholds(threshold, rubric.propositions)
    missing = np.isnan(chosen)
    if missing.any():
        labels = np.where(missing, np.nan, labels)
    return hard_classes(rubric, behavior.id, labels=labels, propositions=rubric.propositions)


def _numbers(
    rows: Sequence[Sequence[Answer | None] | None], places: Sequence[int], *, n_all: int
) -> NDArray[np.float64]:
    """Return the chosen columns of rows, nan where there is nothing."""
    if all(row is None for row in rows):
        return np.full((len(rows), len(places)), np.nan)
    nothing = (None,) * n_all
    if len(places) == n_all:
        given = [nothing if row is None else row for row in rows]
    else:
        given = [[nothing[0] if row is None else row[place] for place in places] for row in rows]
    return np.array(given, dtype=np.float64).reshape(len(rows), len(places))
