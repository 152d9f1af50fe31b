"""Combines the replies about one item into a verdict."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median_low
from typing import TYPE_CHECKING

import msgspec

from voirdire.judging.asking import Answer  # noqa: TC001  # msgspec reads the annotation
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.asking import Answers
    from voirdire.judging.call_plan import CallPlan
    from voirdire.judging.client.call import Outcome
    from voirdire.rubrics import Question
    from voirdire.stats import Calibrator

__all__ = ["ItemVerdict", "calibrate_verdict", "combine", "combine_answers", "failed_verdict"]

TIED = Failure(reason="the samples are tied")


class ItemVerdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A judge's verdict on one item, one entry per question of the rubric.

    Attributes
    ----------
    values : tuple of Answer or None
        A proposition's probability, a label, a number, a text or labels; None for a failure.
    failures : tuple of (int, Failure)
        Places of the questions without a value, and the reasons.
    missing_mass : tuple of float or None
        Mean over the replies; None where no log-probabilities were read.
    is_stored : bool
        Whether all replies came from the store.
    answered_by : str or None
        The judge that the item was passed to, answered or not; None where there is only one judge.
    """

    values: tuple[Answer | None, ...]
    failures: tuple[tuple[int, Failure], ...] = ()
    missing_mass: tuple[float, ...] | None = None
    is_stored: bool = False
    answered_by: str | None = None


def failed_verdict(n_questions: int, why: str) -> ItemVerdict:
    """Make the verdict of a judge that gave no answer."""
    failure = Failure(reason=why)
    return ItemVerdict(
        values=(None,) * n_questions, failures=tuple((k, failure) for k in range(n_questions))
    )


def combine(
    outcomes: Sequence[Outcome[Answers]],
    *,
    plan: CallPlan,
    questions: Sequence[Question],
    votes: bool,
) -> ItemVerdict:
    """Combine the outcomes of all calls about one item."""
    is_stored = all(outcome.is_reused for outcome in outcomes)
    if len(outcomes) == 1 and outcomes[0].value is not None and not outcomes[0].is_partial:
        # one call in the rubric's own order is by far the most common case
        (outcome,) = outcomes
        return ItemVerdict(
            values=outcome.value.values,  # type: ignore[union-attr, arg-type] # it is complete
            missing_mass=outcome.value.missing_mass,  # type: ignore[union-attr]
            is_stored=is_stored,
        )
    said: list[list[Answer]] = [[] for _ in questions]
    masses: list[list[float]] = [[] for _ in questions]
    reasons: list[Failure | None] = [None] * len(questions)
    asked = [0] * len(questions)
    for outcome, spec in zip(outcomes, plan.specs, strict=True):
        for slot, place in enumerate(spec.places):
            asked[place] += 1
            if outcome.value is None:
                reasons[place] = outcome.failure
                continue
            given = outcome.value.values[slot]
            if isinstance(given, Failure):
                reasons[place] = given
                continue
            said[place].append(given)
            if outcome.value.missing_mass is not None:
                masses[place].append(outcome.value.missing_mass[slot])
    answers: list[Answer | Failure] = []
    for question, known, n, reason in zip(questions, said, asked, reasons, strict=True):
        enough = 2 * len(known) > n if votes else len(known) == n  # of samples a few may fail
        missing = reason or Failure(reason="not asked")
        answers.append(combine_answers(question, known) if enough else missing)
    return ItemVerdict(
        values=tuple(None if isinstance(row, Failure) else row for row in answers),
        failures=tuple((k, row) for k, row in enumerate(answers) if isinstance(row, Failure)),
        missing_mass=tuple(map(_mean, masses)) if any(masses) else None,
        is_stored=is_stored,
    )


def calibrate_verdict(
    verdict: ItemVerdict, calibrators: Sequence[tuple[int, Calibrator]]
) -> ItemVerdict:
    """Calibrate the probabilities at these places; the missing mass stays as it is."""
    values = list(verdict.values)
    for place, calibrator in calibrators:
        if (value := values[place]) is not None:
            values[place] = calibrator.apply_one(value)  # type: ignore[arg-type]  # a proposition's
    return msgspec.structs.replace(verdict, values=tuple(values))


def combine_answers(question: Question, said: list[Answer]) -> Answer | Failure:
    """Combine answers to one question: a mean, a majority, or a median."""
    if question.kind == "boolean":
        return math.fsum(said) / len(said)  # type: ignore[arg-type]  # the reader saw to it
    if question.kind == "pairwise":
        counts = Counter(said)  # over both orders of a pair
        return next((side for side in ("A", "B") if 2 * counts[side] > len(said)), "tie")
    if len(said) == 1 or question.kind == "text":
        return said[0]
    if question.kind == "multilabel":
        n_given = Counter(label for labels in said for label in labels)  # type: ignore[union-attr]
        return tuple(label for label in question.labels if 2 * n_given[label] > len(said))
    if question.kind == "scale":
        whole = all(float(number).is_integer() for number in said)  # type: ignore[arg-type]
        return float(median_low(said)) if whole else math.fsum(said) / len(said)  # type: ignore[arg-type]
    (first, count), *others = Counter(said).most_common(2)
    return TIED if others and others[0][1] == count else first


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
