"""Makes verdicts from the answers of judges, and computes the completion classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.binding import ask_in_process, is_cascade, needs_engine
from voirdire.records import Failure
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import BehaviorClasses, CallDetails, Verdicts
from voirdire.rubrics import class_probabilities, hard_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold, VerdictLayout
    from voirdire.judging.binding import JudgingPlan
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
    for unknown in set(behaviors) - {row.id for row in rubric.behaviors} - {None}:
        if rubric.behaviors:
            rubric.behavior(str(unknown))  # the message lists the known behaviors
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
    questions = rubric.questions
    asked = [place for place, row in enumerate(questions) if row.kind == "boolean"]
    others = [place for place, row in enumerate(questions) if row.kind != "boolean"]
    columns = {place: column for column, place in enumerate(asked)}
    failures: dict[tuple[int, int], Failure] = {}
    other_failures: dict[tuple[int, str], Failure] = {}
    for row, verdict in enumerate(verdicts):
        for place, failure in verdict.failures:
            if place in columns:
                failures[row, columns[place]] = failure
            else:
                other_failures[row, questions[place].id] = failure
    nothing = (None,) * len(questions)
    is_whole = len(asked) == len(questions)
    probabilities, missing_mass = (
        np.array(
            [row if is_whole else [row[k] for k in asked] for row in rows], dtype=np.float64
        ).reshape(len(verdicts), len(asked))
        for rows in (
            [row.values for row in verdicts],
            [row.missing_mass or nothing for row in verdicts],
        )
    )
    details = CallDetails(
        labels={questions[k].id: tuple(verdict.values[k] for verdict in verdicts) for k in others},
        label_failures=other_failures,
        missing_mass=missing_mass,
        numeric=frozenset(row.id for row in questions if row.kind == "scale"),
    )
    return probabilities, failures, details


def _classes(
    rubric: Rubric,
    behavior: Behavior,
    behaviors: Sequence[str | None],
    probabilities: NDArray[np.float64],
    *,
    threshold: Threshold,
) -> BehaviorClasses:
    """Compute the classes of the items of a behavior; a missing answer stays missing."""
    names = tuple(row.name for row in behavior.classes)
    rows = np.flatnonzero(np.array([own == behavior.id for own in behaviors], dtype=bool))
    soft, hard = np.empty((0, len(names))), np.empty(0, dtype=np.int64)
    if rows.size:
        chosen, asked = probabilities[rows], rubric.propositions
        labels = np.where(np.isnan(chosen), np.nan, chosen >= get_thresholds(threshold, asked))
        about: dict[str, Any] = {"propositions": asked}
        soft = class_probabilities(rubric, behavior.id, probabilities=chosen, **about).values
        hard = hard_classes(rubric, behavior.id, labels=labels, **about)
    return BehaviorClasses(
        behavior=behavior.id, classes=names, rows=rows, probabilities=soft, hard=hard
    )
