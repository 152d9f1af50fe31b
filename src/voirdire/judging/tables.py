"""Makes verdicts from the answers of judges, and computes the completion classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.judging.binding import BoundCascade, EngineJudge, ask_in_process
from voirdire.judging.engine import make_function_verdicts
from voirdire.records.items import split_criteria
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import BehaviorClasses, CallDetails, Verdicts
from voirdire.rubrics import class_probabilities, hard_classes
from voirdire.rubrics.wording import contradicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.combine import ItemVerdict
    from voirdire.records import Failure, Item
    from voirdire.rubrics import Behavior


def judge_in_process(items: Sequence[Item], plan: JudgingPlan) -> Verdicts:
    """Judge items in one call of a judge in this process."""
    return make_verdicts(
        items, make_function_verdicts(items, ask_in_process(items, plan), plan), plan
    )


def make_verdicts(
    items: Sequence[Item], answers: Sequence[ItemVerdict], plan: JudgingPlan
) -> Verdicts:
    """Arrange the answers about items in columns, and compute the completion classes.

    Of criteria, each is an item of its own, as `split_criteria` names them.
    """
    judge, rubric, questions = plan.judge, plan.rubric, plan.rubric.questions
    if rubric.of_item:
        answers = [
            x for item, row in zip(items, answers, strict=True) for x in split_answer(item, row)
        ]
        items = [each for item in items for each in split_criteria(item)]
    behaviors = tuple(item.behavior for item in items)
    for unknown in set(behaviors) - {row.id for row in rubric.behaviors} - {None}:
        if rubric.behaviors:
            rubric.behavior(str(unknown))  # the message lists the known behaviors
    asked = [place for place, row in enumerate(questions) if row.kind == "boolean"]
    columns = {place: column for column, place in enumerate(asked)}
    failures: dict[tuple[int, int], Failure] = {}
    other_failures: dict[tuple[int, str], Failure] = {}
    for row, answer in enumerate(answers):
        for place, failure in answer.failures:
            if place in columns:
                failures[row, columns[place]] = failure
            else:
                other_failures[row, questions[place].id] = failure
    probabilities = make_columns([answer.values for answer in answers], asked)
    details = None
    if isinstance(judge, EngineJudge):
        limits = get_thresholds(plan.threshold, rubric.propositions)
        reasons = {
            row.id: tuple(x.reasons[place] if x.reasons else "" for x in answers)
            for place, row in enumerate(questions)
            if any(x.reasons and x.reasons[place] for x in answers)
        }
        nothing = (None,) * len(questions)
        details = CallDetails(
            labels={
                row.id: tuple(answer.values[place] for answer in answers)
                for place, row in enumerate(questions)
                if place not in columns
            },
            label_failures=other_failures,
            missing_mass=make_columns([row.missing_mass or nothing for row in answers], asked),
            spread={
                row.id: tuple(each.spread[place] if each.spread else np.nan for each in answers)
                for place, row in enumerate(questions)
                if row.kind == "scale" and any(answer.spread for answer in answers)
            },
            numeric=frozenset(row.id for row in questions if row.kind == "scale"),
            reasons=reasons,
            contradicts={
                row.id: tuple(
                    row.kind == "boolean"
                    and not np.isnan(p := probabilities[n, columns[place]])
                    and contradicts(
                        reason,
                        item.criteria[0].text if rubric.of_item else " ".join(row.text.values()),
                        answer=bool(p >= limits[columns[place]]),
                    )
                    for n, (item, reason) in enumerate(zip(items, reasons[row.id], strict=True))
                )
                for place, row in enumerate(questions)
                if row.id in reasons
            },
        )
    answered_by = sources = None
    if rubric.of_item and any(item.criteria[0].rule is not None for item in items):
        sources = tuple(judge.source if x.criteria[0].rule is None else "rule" for x in items)
    if isinstance(judge, BoundCascade):
        answered_by = tuple(str(answer.answered_by) for answer in answers)
        sources = tuple(judge.sources[name] for name in answered_by)
    return Verdicts(
        items=tuple(item.id for item in items),
        behaviors=behaviors,
        response_hashes=tuple(item.response_hash() for item in items),
        questions=rubric.propositions,
        probabilities=probabilities,
        failures=failures,
        threshold=plan.threshold,
        completion_classes=tuple(
            _compute_classes(behavior, behaviors, probabilities, plan)
            for behavior in rubric.behaviors
        ),
        judge=judge.name,
        source=judge.source,
        fingerprint=plan.fingerprint,
        details=details,
        sources=sources,
        answered_by=answered_by,
        by_rule=frozenset(row.id for row in questions if row.rule is not None),
    )


def split_answer(item: Item, answer: ItemVerdict) -> list[ItemVerdict]:
    """Make an answer of each criterion of an item."""
    n = len(item.criteria)
    values, failures = answer.values, dict(answer.failures)
    if len(values) != n:  # nobody was asked
        values, failures = (None,) * n, dict.fromkeys(range(n), answer.failures[0][1])
    masses = answer.missing_mass or (None,) * n
    return [
        msgspec.structs.replace(
            answer,
            values=values[k : k + 1],
            failures=((0, failures[k]),) if k in failures else (),
            missing_mass=None if masses[k] is None else (masses[k],),
            spread=None,
            reasons=None if answer.reasons is None else (*answer.reasons, *[""] * n)[k : k + 1],
        )
        for k in range(n)
    ]


def make_columns(rows: Sequence[Sequence[Any]], places: list[int]) -> NDArray[np.float64]:
    """Arrange what stands at some places of every row as an array; None becomes nan."""
    if rows and len(places) < len(rows[0]):
        rows = [[row[place] for place in places] for row in rows]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(places))


def _compute_classes(
    behavior: Behavior,
    behaviors: Sequence[str | None],
    probabilities: NDArray[np.float64],
    plan: JudgingPlan,
) -> BehaviorClasses:
    """Compute the classes of the items of a behavior; a missing answer stays missing."""
    names = tuple(row.name for row in behavior.classes)
    rows = np.flatnonzero(np.array([own == behavior.id for own in behaviors], dtype=bool))
    soft, hard = np.empty((0, len(names))), np.empty(0, dtype=np.int64)
    if rows.size:
        chosen, asked = probabilities[rows], plan.rubric.propositions
        labels = np.where(np.isnan(chosen), np.nan, chosen >= get_thresholds(plan.threshold, asked))
        about: dict[str, Any] = {"propositions": asked}
        soft = class_probabilities(plan.rubric, behavior.id, probabilities=chosen, **about).values
        hard = hard_classes(plan.rubric, behavior.id, labels=labels, **about)
    return BehaviorClasses(
        behavior=behavior.id, classes=names, rows=rows, probabilities=soft, hard=hard
    )
