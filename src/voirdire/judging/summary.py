"""Sums up a run of judging: its progress, its calls, and shares of answers and classes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # msgspec and pickle read the annotation
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.judging.binding import is_cascade, needs_engine
from voirdire.records.plain import without_nan
from voirdire.records.replies import AnswerSummary, CallSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire._types import Judged, ProbabilitySource, Threshold, VerdictLayout
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.caller import CallCounts
    from voirdire.judging.combine import ItemVerdict
    from voirdire.records import Dropped
    from voirdire.records.verdicts import CallDetails, Verdicts

__all__ = [
    "CallProgress",
    "ClassSummary",
    "JudgingProgress",
    "JudgingSummary",
    "QuestionSummary",
    "RunRecord",
    "Tally",
    "summarize",
]


@dataclass(frozen=True, kw_only=True)
class CallProgress:
    """Progress of the calls to a language model.

    Attributes
    ----------
    n_answered : int
        Items that are answered, those in unfinished batches included.
    n_calls, n_retries : int
        Calls of this run, and how many of them were tried again.
    n_in_flight : int
        Calls that wait for a reply now.
    concurrency : int
        How many calls may be in flight at once; fewer while the server limits the rate.
    cost : float or None
        US dollars of this run so far; None where the price is not known.
    n_failed : int
        Calls without a usable reply.
    stopping : bool
        Whether the run was interrupted, and the calls in flight are waited for.
    check : str
        What the first reply showed of the server; empty before it.
    """

    n_answered: int
    n_calls: int
    n_retries: int
    n_in_flight: int
    concurrency: int
    cost: float | None
    n_failed: int
    stopping: bool = False
    check: str = ""


@dataclass(frozen=True, kw_only=True)
class JudgingProgress:
    """Progress of a run of judging.

    Attributes
    ----------
    n_items : int
        Items with verdicts, in finished batches.
    n_reused : int
        How many of them an earlier run had judged.
    n_dropped : int
        Rows that were set aside so far.
    finishing : bool
        Whether every item is judged and the output is being written.
    calls : CallProgress or None
        Progress of the calls, where the judge is a language model.
    """

    n_items: int
    n_reused: int
    n_dropped: int
    finishing: bool = False
    calls: CallProgress | None = None


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


# Sums over items ---------------------------------------------------------------------------------


class Tally:
    """Sums over items: an array with an entry per proposition, or per class of a behavior."""

    def __init__(self) -> None:
        self.n_items = 0
        self._sums: dict[str, Any] = {}

    def add_batch(self, batch: Verdicts) -> None:
        """Add the verdicts of a batch."""
        failed = np.isnan(batch.probabilities)
        self.n_items += len(batch.items)
        self._add("failed", failed.sum(axis=0))
        self._add("true", batch.labels.sum(axis=0, dtype=np.int64))
        self._add("probability", np.where(failed, 0.0, batch.probabilities).sum(axis=0))
        for row in batch.completion_classes:
            probable = ~np.isnan(row.probabilities).any(axis=1)
            counts = np.bincount(row.hard[row.hard >= 0], minlength=len(row.classes))
            about = row.behavior
            self._add(f"items/{about}", int(row.rows.size))
            self._add(f"hard/{about}", counts)
            self._add(f"probable/{about}", int(probable.sum()))
            self._add(f"mean/{about}", row.probabilities[probable].sum(axis=0))

    def add(self, other: Tally) -> None:
        """Add the sums over other items."""
        self.n_items += other.n_items
        for name, value in other._sums.items():  # of the same class
            self._add(name, value)

    def questions(self, plan: JudgingPlan) -> tuple[QuestionSummary, ...]:
        """Compute the shares of every proposition."""
        untrusted = getattr(getattr(plan.judge, "card", None), "untrusted", ())
        names = ("failed", "true", "probability")
        rows = zip(
            plan.rubric.propositions, *(self._sums[name].tolist() for name in names), strict=True
        )
        return tuple(
            QuestionSummary(
                question=name,
                share_true=_ratio(n_true, self.n_items - n_failed),
                mean_probability=_ratio(probability, self.n_items - n_failed),
                n_failed=n_failed,
                trusted=name not in untrusted,
            )
            for name, n_failed, n_true, probability in rows
        )

    def classes(self, plan: JudgingPlan) -> tuple[ClassSummary, ...]:
        """Compute the shares and means of the classes of every behavior."""
        summaries = []
        for behavior in plan.rubric.behaviors:
            hard, means = (
                self._sums[f"{name}/{behavior.id}"].tolist() for name in ("hard", "mean")
            )
            for row, n_hard, mean in zip(behavior.classes, hard, means, strict=True):
                summaries.append(
                    ClassSummary(
                        behavior=behavior.id,
                        completion_class=row.name,
                        share=_ratio(n_hard, sum(hard)),
                        mean_probability=_ratio(mean, self._sums[f"probable/{behavior.id}"]),
                        n_items=self._sums[f"items/{behavior.id}"],
                    )
                )
        return tuple(summaries)

    def _add(self, name: str, value: Any) -> None:
        known = self._sums.get(name)
        self._sums[name] = value if known is None else known + value


def _ratio(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


def summarize(
    tally: Tally, plan: JudgingPlan, *, notes: tuple[str, ...] = (), **fields: Any
) -> JudgingSummary:
    """Compute shares and means from sums."""
    return JudgingSummary(
        judge=plan.judge.name,
        source=plan.judge.source,
        rubric=plan.rubric.name,
        rubric_version=plan.rubric.version,
        rubric_hash=plan.rubric.content_hash,
        fingerprint=plan.fingerprint,
        threshold=plan.threshold,
        judged=plan.judged,
        n_items=tally.n_items,
        questions=tally.questions(plan),
        classes=tally.classes(plan),
        asked=plan.judge.asked if needs_engine(plan.judge) else None,
        notes=(*plan.notes, *notes),
        **fields,
    )


# Calls --------------------------------------------------------------------------------------------

_EXAMPLE_WIDTH = 500
_ENOUGH = 3


class RunRecord:
    """Sums up the calls of a run, batch by batch, and reports their progress."""

    def __init__(
        self, plan: JudgingPlan, report: Callable[[CallProgress], None] | None = None
    ) -> None:
        self._questions = [row for row in plan.rubric.questions if row.kind != "boolean"]
        self._propositions = plan.rubric.propositions
        self._kept_by = plan.judge.answerers[0] if is_cascade(plan.judge) else None
        self._tell = report
        self._counts: CallCounts | None = None
        self.n_items = self.n_reused = self._n_kept = 0
        self._values: set[Any] = set()
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._mass = np.zeros((2, len(self._propositions)))
        self._labels: dict[str, Counter[Any]] = {row.id: Counter() for row in self._questions}
        self._totals: Counter[str] = Counter()

    def note(self, counts: CallCounts, *, n_answered: int) -> None:
        """Keep the counts of the calls, and report them."""
        self._counts = counts
        if self._tell is not None:
            self._tell(
                CallProgress(
                    n_answered=n_answered,
                    n_calls=counts.n_calls,
                    n_retries=counts.n_retries,
                    n_in_flight=counts.n_in_flight,
                    concurrency=counts.concurrency,
                    cost=counts.cost,
                    n_failed=counts.n_failures,
                    stopping=counts.is_stopped and counts.n_in_flight > 0,
                    check=counts.check,
                )
            )

    def add(self, verdicts: Sequence[ItemVerdict], details: CallDetails) -> None:
        """Add the verdicts of a batch."""
        self.n_items += len(verdicts)
        self.n_reused += sum([verdict.is_stored for verdict in verdicts])
        self._n_kept += sum([verdict.answered_by == self._kept_by for verdict in verdicts])
        for verdict in verdicts:
            kinds = {why.reason.partition(":")[0]: why.reason for _, why in verdict.failures[::-1]}
            self._failures.update(kinds.keys())
            for kind, reason in kinds.items():
                self._examples.setdefault(kind, reason)
        for verdict in verdicts if len(self._values) < 2 else ():
            self._values.update(verdict.values)
        known = ~np.isnan(details.missing_mass)
        self._mass += np.where(known, details.missing_mass, 0.0).sum(axis=0), known.sum(axis=0)
        for row in self._questions:
            labels = [label for label in details.labels[row.id] if label is not None]
            self._totals[f"failed/{row.id}"] += len(verdicts) - len(labels)
            self._totals[f"answered/{row.id}"] += len(labels)
            if row.kind == "scale":
                self._totals[row.id] += math.fsum(labels)  # type: ignore[assignment]  # a float
            elif row.kind == "multilabel":
                self._labels[row.id].update(label for chosen in labels for label in chosen)
            elif row.kind != "text":
                self._labels[row.id].update(labels)

    def summary(self) -> CallSummary | None:
        """Return the summary; None where the judge makes no calls."""
        counts = self._counts
        if counts is None:
            return None
        masses = zip(self._propositions, *self._mass.tolist(), strict=True)
        notes = counts.adaptations
        if len(self._values) == 1 and self.n_items >= _ENOUGH and len(self._propositions) > 1:
            notes += (f"every question of every item has the same answer, {min(self._values)}",)
        return CallSummary(
            n_calls=counts.n_calls,
            n_retries=counts.n_retries,
            n_reused=self.n_reused,
            prompt_tokens=counts.prompt_tokens,
            cached_tokens=counts.cached_tokens,
            completion_tokens=counts.completion_tokens,
            cost=counts.cost,
            steps_down=notes,
            failures=dict(self._failures.most_common()),
            examples={
                kind: shorten(self._examples[kind], width=_EXAMPLE_WIDTH)
                for kind, _ in self._failures.most_common()
            },
            missing_mass={name: total / n for name, total, n in masses if n},
            n_kept=None if self._kept_by is None else self._n_kept,
            answers=tuple(map(self._summarize_answers, self._questions)),
        )

    def _summarize_answers(self, question: Any) -> AnswerSummary:
        n = self._totals[f"answered/{question.id}"]
        known = tuple(question.labels) or ("A", "B", "tie")
        is_listed = question.kind in ("choice", "multilabel", "pairwise") and n
        counts = self._labels[question.id]
        return AnswerSummary(
            question=question.id,
            kind=question.kind,
            n_answered=n,
            n_failed=self._totals[f"failed/{question.id}"],
            shares={label: counts[label] / n for label in known} if is_listed else {},
            mean=self._totals[question.id] / n if question.kind == "scale" and n else math.nan,
        )
