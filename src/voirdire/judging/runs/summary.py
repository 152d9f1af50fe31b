"""Summaries of a run of judging: sums over parts, then shares and means."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.binding import needs_engine
from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from voirdire._types import Judged, ProbabilitySource, Threshold, VerdictLayout
    from voirdire.judging.binding import JudgingPlan
    from voirdire.records import Dropped
    from voirdire.records.replies import CallSummary
    from voirdire.records.verdicts import BehaviorClasses, Verdicts
    from voirdire.rubrics import Behavior

__all__ = [
    "ClassSummary",
    "ClassTally",
    "JudgingSummary",
    "QuestionSummary",
    "Tally",
    "add_tallies",
    "count_batch",
    "summarize",
    "summarize_classes",
]


@dataclass(frozen=True, kw_only=True)
class QuestionSummary:
    """Share of items for which a proposition is true.

    Attributes
    ----------
    question : str
        Id of the proposition.
    share_true : float
        In [0, 1], of the items that were answered; nan where none was.
    mean_probability : float
        In [0, 1], over the same items.
    n_failed : int
        Items without an answer of the judge.
    trusted : bool
        False where the judge's own card does not trust it on this proposition.
    """

    question: str
    share_true: float
    mean_probability: float
    n_failed: int
    trusted: bool


@dataclass(frozen=True, kw_only=True)
class ClassSummary:
    """Share of a behavior's items in a completion class.

    Attributes
    ----------
    behavior, completion_class : str
        Which class of which behavior.
    share : float
        In [0, 1]: of the items with a known class, by the threshold; nan where there are none.
    mean_probability : float
        In [0, 1]: mean probability of the class; nan where it is known for no item.
    n_items : int
        Items of the behavior.
    """

    behavior: str
    completion_class: str
    share: float
    mean_probability: float
    n_items: int


@dataclass(frozen=True, kw_only=True)
class JudgingSummary:
    """Summary of a run of judging.

    Attributes
    ----------
    output : str
        The file of verdicts; ``"-"`` for standard output.
    layout : {"long", "wide"}
        One row per item and question, or per item.
    judge, source : str
        Name of the judge, and the source of its probabilities.
    rubric, rubric_version, rubric_hash : str
        The rubric.
    fingerprint : str
        Hash of judge, rubric, threshold, judged part and class rule; on every verdict.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        Which part of a response was judged.
    n_items : int
        Items with verdicts.
    n_reused : int
        How many of them an earlier, interrupted run had judged.
    n_dropped : int
        Rows of the source that were set aside.
    dropped : tuple of Dropped
        The first of them.
    dropped_output : str or None
        The file that lists all of them.
    questions : tuple of QuestionSummary
        One per proposition.
    classes : tuple of ClassSummary
        One per behavior and completion class.
    notes : tuple of str
        Notes for the reader.
    calls : CallSummary or None
        Summary of the calls, where the judge is a language model.
    asked : mapping or None
        Then also the settings that its replies depend on: its name, the model's settings, mode,
        source, language, seed, version of the prompt.
    """

    output: str
    layout: VerdictLayout
    judge: str
    source: ProbabilitySource
    rubric: str
    rubric_version: str
    rubric_hash: str
    fingerprint: str
    threshold: Threshold
    judged: Judged
    n_items: int
    n_reused: int = 0
    n_dropped: int = 0
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    dropped_output: str | None = None
    questions: tuple[QuestionSummary, ...] = field(default=(), repr=False)
    classes: tuple[ClassSummary, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None
    asked: Mapping[str, Any] | None = None

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Propositions on which the judge's own card does not trust it."""
        return tuple(row.question for row in self.questions if not row.trusted)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; nan becomes None."""
        plain: dict[str, Any] = without_nan(asdict(self))
        return plain | {"untrusted": list(self.untrusted)}


def summarize(
    tally: Tally,
    plan: JudgingPlan,
    *,
    output: str,
    layout: VerdictLayout,
    notes: tuple[str, ...] = (),
    **counts: Any,
) -> JudgingSummary:
    """Compute shares and means from sums."""
    return JudgingSummary(
        output=output,
        layout=layout,
        judge=plan.judge.name,
        source=plan.judge.source,
        rubric=plan.rubric.name,
        rubric_version=plan.rubric.version,
        rubric_hash=plan.rubric.content_hash,
        fingerprint=plan.fingerprint,
        threshold=plan.threshold,
        judged=plan.judged,
        n_items=tally.n_items,
        questions=tuple(_question_summaries(tally, plan)),
        classes=tuple(
            found
            for row, sums in zip(plan.rubric.behaviors, tally.classes, strict=True)
            for found in summarize_classes(row, sums)
        ),
        asked=plan.judge.asked if needs_engine(plan.judge) else None,
        notes=(*plan.notes, *notes),
        **counts,
    )


def summarize_classes(behavior: Behavior, sums: ClassTally) -> list[ClassSummary]:
    """Compute shares and means of the classes of one behavior."""
    return [
        ClassSummary(
            behavior=behavior.id,
            completion_class=row.name,
            share=_ratio(n_hard, sums.n_known),
            mean_probability=_ratio(probability, sums.n_probable),
            n_items=sums.n_items,
        )
        for row, n_hard, probability in zip(
            behavior.classes, sums.n_hard, sums.probability, strict=True
        )
    ]


def _question_summaries(tally: Tally, plan: JudgingPlan) -> Iterator[QuestionSummary]:
    card = getattr(plan.judge, "card", None)
    untrusted = frozenset(getattr(card, "untrusted", ()))
    for place, question in enumerate(plan.rubric.propositions):
        n_answered = tally.n_items - tally.n_failed[place]
        yield QuestionSummary(
            question=question,
            share_true=_ratio(tally.n_true[place], n_answered),
            mean_probability=_ratio(tally.probability[place], n_answered),
            n_failed=tally.n_failed[place],
            trusted=question not in untrusted,
        )


def _ratio(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


@dataclass(frozen=True, kw_only=True)
class ClassTally:
    """Sums over the items of one behavior."""

    n_items: int
    n_known: int
    n_hard: tuple[int, ...]
    n_probable: int
    probability: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Sums over items: one entry per proposition, and one `ClassTally` per behavior."""

    n_items: int
    n_failed: tuple[int, ...]
    n_true: tuple[int, ...]
    probability: tuple[float, ...]
    classes: tuple[ClassTally, ...]


def count_batch(batch: Verdicts) -> Tally:
    """Compute the sums of a batch."""
    failed = np.isnan(batch.probabilities)
    return Tally(
        n_items=len(batch.items),
        n_failed=tuple(failed.sum(axis=0).tolist()),
        n_true=tuple(batch.labels.sum(axis=0, dtype=np.int64).tolist()),
        probability=tuple(np.where(failed, 0.0, batch.probabilities).sum(axis=0).tolist()),
        classes=tuple(_class_tally(row) for row in batch.completion_classes),
    )


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add up at least one tally, in their order."""
    return reduce(_add_values, tallies)


def _add_values(one: Any, other: Any) -> Any:
    """Add numbers, or containers of numbers entry by entry."""
    if isinstance(one, tuple):
        return tuple(_add_values(*pair) for pair in zip(one, other, strict=True))
    if not isinstance(one, Tally | ClassTally):
        return one + other
    names = [row.name for row in fields(one)]
    return type(one)(
        **{name: _add_values(getattr(one, name), getattr(other, name)) for name in names}
    )


def _class_tally(row: BehaviorClasses) -> ClassTally:
    known = row.hard >= 0
    probable = ~np.isnan(row.probabilities).any(axis=1)
    return ClassTally(
        n_items=int(row.rows.size),
        n_known=int(known.sum()),
        n_hard=tuple(np.bincount(row.hard[known], minlength=len(row.classes)).tolist()),
        n_probable=int(probable.sum()),
        probability=tuple(row.probabilities[probable].sum(axis=0).tolist()),
    )
