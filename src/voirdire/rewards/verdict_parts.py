"""Verdicts of one judge from one place, as arrays, and how several of them become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import USUAL_THRESHOLD, threshold_on
from voirdire.rewards.judged_items import JudgedItems

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold
    from voirdire.judging.batch import VerdictBatch
    from voirdire.rubrics import Rubric

__all__ = [
    "MEMORY",
    "NO_VERDICT",
    "VerdictPart",
    "joined_parts",
    "part_of_batches",
    "refuse_judges",
]

MEMORY = "verdicts"
NO_VERDICT = "no verdict"
_MOST_NAMED = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictPart:
    """Verdicts of one judge from one place.

    Attributes
    ----------
    items : tuple of str
        Ids, unique, in order of appearance.
    probabilities : ndarray of float, shape (n_items, n_propositions)
        nan where there is none.
    given : ndarray of bool, shape (n_items, n_propositions)
        Whether there is a verdict, or a failure in its place.
    behaviors : tuple of str or None
        What the table says of each item.
    failures : mapping of str to str
        Why a verdict is missing, by item.
    judge : str
        The judge's name.
    fingerprints : frozenset of str
        All that the table states.
    thresholds : mapping of str to frozenset of float
        All that it states, by proposition.
    source : str
        What messages call it.
    """

    items: tuple[str, ...]
    probabilities: NDArray[np.float64]
    given: NDArray[np.bool_]
    behaviors: tuple[str | None, ...]
    failures: Mapping[str, str]
    judge: str
    fingerprints: frozenset[str]
    thresholds: Mapping[str, frozenset[float]]
    source: str


def refuse_judges(names: Sequence[str], *, source: str) -> NoReturn:
    """Say that one of several judges must be chosen."""
    shown = ", ".join(repr(shorten(name)) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    msg = f"`judge` must name one of the judges of {source}, got none of {shown}{more}. Name it."
    raise InputError(msg)


def part_of_batches(
    batches: Sequence[VerdictBatch],
    propositions: Sequence[str],
    *,
    judge: str | None,
    negated: Collection[str],
) -> VerdictPart | tuple[str, ...]:
    """Take arrays as they are, their columns in the rubric's order."""
    names = tuple(dict.fromkeys(batch.judge for batch in batches))
    if judge is None and len(names) > 1:
        refuse_judges(names, source=MEMORY)
    batches = [batch for batch in batches if judge is None or batch.judge == judge]
    if not batches:
        return names
    items = tuple(item for batch in batches for item in batch.items)
    probabilities = np.full((len(items), len(propositions)), np.nan)
    given = np.zeros(probabilities.shape, dtype=bool)
    failures: dict[str, str] = {}
    start = 0
    for batch in batches:
        rows = slice(start, start + len(batch.items))
        start = rows.stop
        for column, name in enumerate(propositions):
            if name in batch.questions:
                values = batch.probabilities[:, batch.questions.index(name)]
                probabilities[rows, column] = 1.0 - values if name in negated else values
                given[rows, column] = True
        for (row, question), failure in batch.failures.items():
            if batch.questions[question] in propositions:
                failures.setdefault(batch.items[row], failure.reason)
    _check_unique(items)
    return VerdictPart(
        items=items,
        probabilities=probabilities,
        given=given,
        behaviors=tuple(behavior for batch in batches for behavior in batch.behaviors),
        failures=failures,
        judge=batches[0].judge,
        fingerprints=frozenset(batch.fingerprint for batch in batches),
        thresholds=stated_thresholds([batch.threshold for batch in batches], propositions),
        source=MEMORY,
    )


def joined_parts(parts: Sequence[VerdictPart], *, rubric: Rubric) -> JudgedItems:
    """Put parts together, if they are of one judge and of one run.

    Raises
    ------
    InputError
        If they are not, if two have a verdict on the same, or none is on the rubric.
    """
    names = tuple(dict.fromkeys(part.judge for part in parts))
    if len(names) > 1:
        refuse_judges(names, source=" and ".join(dict.fromkeys(part.source for part in parts)))
    fingerprint = _only([part.fingerprints for part in parts], "fingerprint", parts) or ""
    threshold = _one_threshold(parts, rubric)
    whole = parts[0] if len(parts) == 1 else _merged(parts, rubric.propositions)
    known = np.flatnonzero(whole.given.any(axis=0))
    if not known.size:
        msg = (
            f"{whole.source}: verdicts must be on propositions of rubric "
            f"{shorten(rubric.name)!r}, got none. Name the rubric that they were made with."
        )
        raise InputError(msg)
    probabilities = whole.probabilities
    if known.size < probabilities.shape[1]:
        probabilities = probabilities[:, known]
    lacking = np.flatnonzero(np.isnan(probabilities).any(axis=1))
    ids = [whole.items[row] for row in lacking.tolist()]
    return JudgedItems(
        items=whole.items,
        propositions=tuple(rubric.propositions[column] for column in known.tolist()),
        probabilities=probabilities,
        behaviors=whole.behaviors,
        failures={name: whole.failures.get(name, NO_VERDICT) for name in ids},
        judge=names[0],
        fingerprint=fingerprint,
        threshold=threshold,
    )


def _merged(parts: Sequence[VerdictPart], propositions: Sequence[str]) -> VerdictPart:
    """Lay parts over each other: other items, or other propositions of the same ones."""
    places = {
        name: row for row, name in enumerate(dict.fromkeys(x for p in parts for x in p.items))
    }
    probabilities = np.full((len(places), len(propositions)), np.nan)
    given = np.zeros(probabilities.shape, dtype=bool)
    behaviors: list[str | None] = [None] * len(places)
    failures: dict[str, str] = {}
    for part in parts:
        rows = np.array([places[name] for name in part.items], dtype=np.int64)
        twice = given[rows] & part.given
        if twice.any():
            row, column = np.argwhere(twice)[0].tolist()
            msg = (
                f"{part.source}: verdicts must be unique by item and question, got a second one "
                f"on {shorten(part.items[row])!r} and {propositions[column]!r}. Leave a file out."
            )
            raise InputError(msg)
        probabilities[rows] = np.where(part.given, part.probabilities, probabilities[rows])
        given[rows] |= part.given
        failures = {**part.failures, **failures}
        for row, behavior in zip(rows.tolist(), part.behaviors, strict=True):
            if behavior is not None and behaviors[row] not in (None, behavior):
                msg = (
                    f"{part.source}: column `behavior` must be one for each item, got "
                    f"{shorten(behavior)!r} and {shorten(behaviors[row])!r}. Correct it."
                )
                raise InputError(msg)
            behaviors[row] = behaviors[row] if behavior is None else behavior
    return VerdictPart(
        items=tuple(places),
        probabilities=probabilities,
        given=given,
        behaviors=tuple(behaviors),
        failures=failures,
        judge=parts[0].judge,
        fingerprints=frozenset(),
        thresholds={},
        source=" and ".join(dict.fromkeys(part.source for part in parts)),
    )


def stated_thresholds(
    thresholds: Sequence[Threshold], names: Sequence[str]
) -> dict[str, frozenset[float]]:
    """Lay out by proposition the thresholds of a table."""
    return {
        name: frozenset(
            each[name] if isinstance(each, Mapping) else each
            for each in thresholds
            if not isinstance(each, Mapping) or name in each
        )
        for name in names
    }


def _one_threshold(parts: Sequence[VerdictPart], rubric: Rubric) -> Threshold:
    """Give the one of each proposition that all parts state; where none does, the rubric's."""
    found = {
        name: _only([part.thresholds.get(name, frozenset()) for part in parts], "threshold", parts)
        for name in rubric.propositions
    }
    stated = {name: value for name, value in found.items() if value is not None}
    if not stated:
        return USUAL_THRESHOLD if rubric.threshold is None else rubric.threshold
    return threshold_on(stated, tuple(stated))


def _only(found: Sequence[Collection[Any]], name: str, parts: Sequence[VerdictPart]) -> Any:
    """Give the one value that all parts state; None where they state none."""
    values = sorted({value for one in found for value in one})
    if len(values) > 1:
        sources = ", ".join(dict.fromkeys(part.source for part in parts))
        shown = " and ".join(repr(shorten(f"{value}", width=24)) for value in values[:2])
        msg = (
            f"{sources}: verdicts must be of one run, got the {name}s {shown}. Read those of one "
            "run only."
        )
        raise InputError(msg)
    return values[0] if values else None


def _check_unique(items: Sequence[str]) -> None:
    if len(set(items)) == len(items):
        return
    seen: set[str] = set()
    for name in items:
        if name in seen:
            msg = f"{MEMORY}: items must be unique, got {shorten(name)!r} twice. Take one out."
            raise InputError(msg)
        seen.add(name)
