"""Combines replies about one item, samples that vote, and the ballots of a jury into a verdict."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median_low
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.judging.asking import Answer  # noqa: TC001  # msgspec reads the annotation
from voirdire.judging.binding import EngineJudge
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.judging.asking import Answers
    from voirdire.judging.binding import BoundJudge, BoundJury
    from voirdire.judging.call_plan import CallPlan
    from voirdire.judging.calls import Outcome
    from voirdire.records import Item
    from voirdire.rubrics import Question


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
    spread : tuple of float or None
        As of `Answers`; None where no distribution was given.
    is_stored : bool
        Whether all replies came from the store.
    answered_by : str or None
        The judge that the item was passed to, answered or not; None where there is only one judge.
    reasons : tuple of str or None
        The reason of each answer, empty where there is none; None where none were asked for.
    """

    values: tuple[Answer | None, ...]
    failures: tuple[tuple[int, Failure], ...] = ()
    missing_mass: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    is_stored: bool = False
    answered_by: str | None = None
    reasons: tuple[str, ...] | None = None


def failed_verdict(n_questions: int, why: str) -> ItemVerdict:
    """Make the verdict of a judge that gave no answer."""
    failure = Failure(reason=why)
    failures = tuple((place, failure) for place in range(n_questions))
    return ItemVerdict(values=(None,) * n_questions, failures=failures)


def reorder_criteria(verdict: ItemVerdict, asked: Item, item: Item) -> ItemVerdict:
    """Put the answers about the criteria of an item into the order of an equal item."""
    places = {each.text: place for place, each in enumerate(asked.criteria)}
    own = [each.text for each in item.criteria]
    if own == list(places) or len(verdict.values) != len(own):  # nobody was asked
        return verdict
    order = [places[text] for text in own]
    new = {place: k for k, place in enumerate(order)}
    masses = verdict.missing_mass
    return msgspec.structs.replace(
        verdict,
        values=tuple(verdict.values[place] for place in order),
        failures=tuple((new[place], why) for place, why in verdict.failures),
        missing_mass=None if masses is None else tuple(masses[place] for place in order),
        spread=None,
    )


def combine_outcomes(
    outcomes: Sequence[Outcome[Answers]], bound: BoundJudge, calls: CallPlan
) -> ItemVerdict:
    """Combine the outcomes of all calls about one item, and calibrate its probabilities."""
    questions = calls.questions
    is_stored = bool(outcomes) and all(outcome.is_reused for outcome in outcomes)
    masses: tuple[float, ...] | None
    spread = None
    is_one = len(outcomes) == 1 and len(calls.specs[0].places) == len(questions)
    if is_one and outcomes[0].value is not None and not outcomes[0].is_partial:
        # one call in the rubric's own order is by far the most common case
        value = outcomes[0].value
        values, masses, spread = list(value.values), value.missing_mass, value.spread
    else:
        said: list[list[Answer]] = [[] for _ in questions]
        mass: list[list[float]] = [[] for _ in questions]
        spreads = [math.nan] * len(questions)
        reasons: list[Failure | None] = [None] * len(questions)
        asked = [0] * len(questions)
        for outcome, spec in zip(outcomes, calls.specs, strict=True):
            for slot, place in enumerate(spec.places):
                asked[place] += 1
                answer = outcome.failure if outcome.value is None else outcome.value.values[slot]
                if answer is None or isinstance(answer, Failure):
                    reasons[place] = answer
                    continue
                said[place].append(answer)
                if outcome.value is not None and outcome.value.missing_mass is not None:
                    mass[place].append(outcome.value.missing_mass[slot])
                if outcome.value is not None and outcome.value.spread is not None:
                    spreads[place] = outcome.value.spread[slot]
        votes = bound.judge.probability == "vote"  # of samples a few may fail
        values = [
            combine_answers(question, known)
            if known and (2 * len(known) > n if votes else len(known) == n)
            else reason or Failure(reason="not asked")
            for question, known, n, reason in zip(questions, said, asked, reasons, strict=True)
        ]
        means = (math.fsum(each) / len(each) if each else math.nan for each in mass)
        masses = tuple(means) if any(mass) else None
        spread = None if all(map(math.isnan, spreads)) else tuple(spreads)
    for place, calibrator in bound.calibrators_of(len(questions)):
        if not isinstance(given := values[place], Failure):
            values[place] = calibrator.apply_one(given)  # type: ignore[arg-type]  # a probability
    found: Any = values
    failures: tuple[tuple[int, Failure], ...] = ()
    if Failure in set(map(type, values)):  # seldom
        failures = tuple((k, row) for k, row in enumerate(values) if isinstance(row, Failure))
        found = [None if isinstance(row, Failure) else row for row in values]
    return ItemVerdict(
        values=tuple(found),
        failures=failures,
        missing_mass=masses,
        spread=spread,
        is_stored=is_stored,
        reasons=_collect_reasons(outcomes, calls) if calls.asks_reasons else None,
    )


def _collect_reasons(outcomes: Sequence[Outcome[Answers]], calls: CallPlan) -> tuple[str, ...]:
    """Take the first reason that was given for each answer."""
    reasons = [""] * len(calls.questions)
    for outcome, spec in zip(outcomes, calls.specs, strict=True):
        given = None if outcome.value is None else outcome.value.reasons
        for place, reason in zip(spec.places, given or (), strict=False):
            reasons[place] = reasons[place] or reason
    return tuple(reasons)


def add_rules(verdict: ItemVerdict, by_rule: Mapping[int, Answer | Failure]) -> ItemVerdict:
    """Add what rules answer, by the places of their questions, to a verdict."""
    if not by_rule:
        return verdict
    values = list(verdict.values)
    failures = [(place, why) for place, why in verdict.failures if place not in by_rule]
    for place, answer in by_rule.items():
        if isinstance(answer, Failure):
            failures.append((place, answer))
        else:
            values[place] = answer
    changed = {"values": tuple(values), "failures": tuple(failures)}
    return msgspec.structs.replace(verdict, **changed)


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
    return Failure(reason="the samples are tied") if others and others[0][1] == count else first


# Juries -----------------------------------------------------------------------------------------


def is_enough(weight: float) -> bool:
    """Whether judges with this share of the weight can answer; rounding errors do not decide."""
    return weight > 0.5 + 1e-9


def _is_alike(answer: Answer | None, combined: Answer | Failure) -> bool:
    """Whether a judge answered as its jury does, on the same side of one half."""
    if isinstance(answer, float) and isinstance(combined, float):
        return (answer >= 0.5) is (combined >= 0.5)
    return answer is not None and answer == combined


def combine_ballots(ballots: Sequence[ItemVerdict], bound: BoundJury) -> ItemVerdict:
    """Combine the verdicts of all judges on one item."""
    shares, limits = bound.jury.shares, bound.yes_from
    values: list[Answer | Failure] = []
    column = 0
    for place, question in enumerate(bound.rubric.questions):
        known = [(k, row.values[place]) for k, row in enumerate(ballots)]
        said = [(k, value) for k, value in known if value is not None]
        weight = math.fsum(shares[k] for k, _ in said)
        if not is_enough(weight):
            failures = (why for ballot in ballots for k, why in ballot.failures if k == place)
            values.append(next(failures, Failure(reason="not asked")))
        elif question.kind == "boolean":
            chances = [(k, float(value)) for k, value in said]  # type: ignore[arg-type]  # a number
            if bound.jury.combine == "majority":
                chances = [(k, float(p >= limits[k][column])) for k, p in chances]
            values.append(math.fsum(shares[k] * p for k, p in chances) / weight)
        else:
            values.append(combine_answers(question, [value for _, value in said]))
        column += question.kind == "boolean"
    reasons = [
        [ballot.reasons[place] for ballot in ballots if ballot.reasons
         and _is_alike(ballot.values[place], value)]
        for place, value in enumerate(values)
    ]  # fmt: skip
    return ItemVerdict(
        reasons=tuple(next(filter(None, row), "") for row in reasons) if any(reasons) else None,
        values=tuple(None if isinstance(row, Failure) else row for row in values),
        failures=tuple((k, row) for k, row in enumerate(values) if isinstance(row, Failure)),
        is_stored=all(
            ballot.is_stored
            for ballot, plan in zip(ballots, bound.members, strict=True)
            if isinstance(plan.judge, EngineJudge)
        ),
    )
