"""Combines the replies about one item into a verdict, and measures how they differ."""

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
    shift : tuple of float or None
        Range of a proposition's probability over the orders of the questions, and 1 or 0 for a pair
        that was or was not judged otherwise with its responses swapped; nan where there is nothing
        to compare. None where no question was asked in more than one order.
    form : str or None
        The loosest form in which a reply was asked for.
    attempts : int
        Replies and failures in all.
    is_stored : bool
        Whether all replies came from the store.
    checked : tuple of Answer or None
        The answers in another order of the questions, where that was checked beside `values`.
    answered_by : str or None
        The judge that the item was passed to, answered or not; None where there is only one judge.
    """

    values: tuple[Answer | None, ...]
    failures: tuple[tuple[int, Failure], ...] = ()
    missing_mass: tuple[float, ...] | None = None
    shift: tuple[float, ...] | None = None
    form: str | None = None
    attempts: int = 0
    is_stored: bool = False
    checked: tuple[Answer, ...] | None = None
    answered_by: str | None = None


_LOOSENESS = {None: 0, "json_schema": 1, "json_object": 2, "text": 3}


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
    """Combine the outcomes of all calls about one item; the last call may be the order check."""
    is_stored = all(outcome.is_reused for outcome in outcomes)
    checked = None
    if len(outcomes) > len(plan.specs):
        *outcomes, other = outcomes
        checked = _sort_by_order(outcomes[0], other, plan=plan)
    if len(outcomes) == 1 and outcomes[0].value is not None and not outcomes[0].is_partial:
        # one call in the rubric's own order is by far the most common case
        (outcome,) = outcomes
        return ItemVerdict(
            values=outcome.value.values,  # type: ignore[union-attr, arg-type] # it is complete
            missing_mass=outcome.value.missing_mass,  # type: ignore[union-attr]
            form=outcome.form,
            attempts=outcome.attempts,
            is_stored=is_stored,
            checked=checked,
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
    several = not votes and max(asked, default=0) > 1
    return ItemVerdict(
        values=tuple(None if isinstance(row, Failure) else row for row in answers),
        failures=tuple((k, row) for k, row in enumerate(answers) if isinstance(row, Failure)),
        missing_mass=tuple(map(_mean, masses)) if any(masses) else None,
        shift=tuple(map(_shift, questions, said)) if several else None,
        form=max((row.form for row in outcomes), key=_LOOSENESS.__getitem__),
        attempts=sum(row.attempts for row in outcomes),
        is_stored=is_stored,
        checked=checked,
    )


def calibrate_verdict(
    verdict: ItemVerdict, calibrators: Sequence[tuple[int, Calibrator]]
) -> ItemVerdict:
    """Calibrate the probabilities at these places; missing mass and shift stay as they are."""

    def calibrate(given: Sequence[Answer | None]) -> tuple[Answer | None, ...]:
        values = list(given)
        for place, calibrator in calibrators:
            if (value := values[place]) is not None:
                values[place] = calibrator.apply_one(value)  # type: ignore[arg-type]  # a proposition's
        return tuple(values)

    checked = None if verdict.checked is None else calibrate(verdict.checked)
    return msgspec.structs.replace(verdict, values=calibrate(verdict.values), checked=checked)


def _sort_by_order(
    first: Outcome[Answers], other: Outcome[Answers], *, plan: CallPlan
) -> tuple[Answer, ...] | None:
    if first.value is None or other.value is None or plan.check is None:
        return None
    if first.is_partial or other.is_partial:
        return None
    back = dict(zip(plan.check.places, other.value.values, strict=True))
    return tuple(back[place] for place in range(len(back)))  # type: ignore[misc] # it is complete


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


def _shift(question: Question, said: list[Answer]) -> float:
    if len(said) < 2:  # nothing to compare
        return math.nan
    if question.kind == "boolean":
        return max(said) - min(said)  # type: ignore[operator]
    if question.kind == "pairwise":
        return float(len(set(said)) > 1)
    return math.nan


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
