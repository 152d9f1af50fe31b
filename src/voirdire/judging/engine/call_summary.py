"""Sums up the calls of a run: tokens, cost, failures, and how far answers can be trusted."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.judging.binding import is_cascade
from voirdire.records.replies import AnswerSummary, CallSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.client.client import ClientState
    from voirdire.judging.engine.combining import ItemVerdict
    from voirdire.records.verdicts import CallDetails
    from voirdire.rubrics import Question

__all__ = ["CallProgress", "JudgingProgress", "RunRecord"]


@dataclass(frozen=True, kw_only=True)
class CallProgress:
    """Progress of the calls to a language model.

    Attributes
    ----------
    n_answered : int
        Items that are answered, those in unfinished parts included.
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
    """

    n_answered: int
    n_calls: int
    n_retries: int
    n_in_flight: int
    concurrency: int
    cost: float | None
    n_failed: int
    stopping: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgingProgress:
    """Progress of a run of judging.

    Attributes
    ----------
    n_items : int
        Items with verdicts, in finished parts.
    n_reused : int
        How many of them an earlier run had judged.
    n_dropped : int
        Rows that were set aside so far.
    finishing : bool
        Whether every item is judged and the parts are being joined.
    calls : CallProgress or None
        Progress of the calls, where the judge is a language model.
    """

    n_items: int
    n_reused: int
    n_dropped: int
    finishing: bool = False
    calls: CallProgress | None = None


_EXAMPLE_WIDTH = 500


class RunRecord:
    """Sums up the calls of a run, batch by batch, and reports their progress."""

    def __init__(
        self, plan: JudgingPlan, report: Callable[[CallProgress], None] | None = None
    ) -> None:
        rubric = plan.rubric
        self._tell = report
        self._questions = rubric.questions
        self._propositions = rubric.propositions
        self._kept_by = plan.judge.answerers[0] if is_cascade(plan.judge) else None
        self._state: ClientState | None = None
        self.n_items = self.n_reused = 0
        self._n_kept = 0
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._mass = _Mean(len(self._propositions))
        self._answers = {row.id: _Answers(row) for row in rubric.questions if row.kind != "boolean"}

    def note(self, state: ClientState, *, n_answered: int) -> None:
        """Keep the state of the calls, and report it."""
        self._state = state
        if self._tell is None:
            return
        progress = CallProgress(
            n_answered=n_answered,
            n_calls=state.n_calls,
            n_retries=state.n_retries,
            n_in_flight=state.n_in_flight,
            concurrency=state.concurrency,
            cost=state.cost,
            n_failed=state.n_failures,
            stopping=state.is_stopped and state.n_in_flight > 0,
        )
        self._tell(progress)

    def add(self, verdicts: Sequence[ItemVerdict], details: CallDetails) -> None:
        """Add the verdicts of a batch."""
        self.n_items += len(verdicts)
        self.n_reused += sum([verdict.is_stored for verdict in verdicts])
        if self._kept_by is not None:
            self._n_kept += sum([verdict.answered_by == self._kept_by for verdict in verdicts])
        for verdict in verdicts:
            if verdict.failures:
                reasons = [failure.reason for _, failure in reversed(verdict.failures)]
                in_short = {
                    reason.partition(":")[0]: reason for reason in reasons
                }  # the first example of a reason is kept
                self._failures.update(in_short.keys())
                for short, reason in in_short.items():
                    self._examples.setdefault(short, reason)
        self._mass.add(details.missing_mass)
        for name, labels in details.labels.items():
            self._answers[name].add(labels)

    def summary(self) -> CallSummary | None:
        """Return the summary; None where the judge makes no calls."""
        state = self._state
        if state is None:
            return None
        return CallSummary(
            n_calls=state.n_calls,
            n_retries=state.n_retries,
            n_reused=self.n_reused,
            prompt_tokens=state.prompt_tokens,
            cached_tokens=state.cached_tokens,
            completion_tokens=state.completion_tokens,
            cost=state.cost,
            steps_down=tuple(
                f"{row.from_form} to {row.to_form}: {row.reason}" for row in state.steps_down
            ),
            failures=dict(self._failures.most_common()),
            examples={
                short: shorten(self._examples[short], width=_EXAMPLE_WIDTH)
                for short, _ in self._failures.most_common()
            },
            missing_mass=self._mass.to_dict(self._propositions),
            n_kept=None if self._kept_by is None else self._n_kept,
            answers=tuple(row.summary() for row in self._answers.values()),
        )


class _Mean:
    """Column means over rows that come in batches; nan is left out."""

    def __init__(self, n_columns: int) -> None:
        self._sums = np.zeros(n_columns)
        self._counts = np.zeros(n_columns, dtype=np.int64)

    def add(self, rows: NDArray[np.float64]) -> None:
        known = ~np.isnan(rows)
        self._sums += np.where(known, rows, 0.0).sum(axis=0)
        self._counts += known.sum(axis=0)

    def to_dict(self, names: Sequence[str]) -> dict[str, float]:
        return {
            name: float(total / count)
            for name, total, count in zip(names, self._sums, self._counts, strict=True)
            if count
        }


class _Answers:
    """Answers to one question that is not boolean."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._counts: Counter[str] = Counter()
        self._total = 0.0
        self._n_answered = self._n_failed = 0

    def add(self, labels: Sequence[Any]) -> None:
        answered = [label for label in labels if label is not None]
        self._n_answered += len(answered)
        self._n_failed += len(labels) - len(answered)
        if self._question.kind == "scale":
            self._total += math.fsum(answered)
        elif self._question.kind == "multilabel":
            self._counts.update(label for labels in answered for label in labels)
        elif self._question.kind != "text":
            self._counts.update(answered)

    def summary(self) -> AnswerSummary:
        n = self._n_answered
        known = tuple(self._question.labels) or ("A", "B", "tie")
        listed = self._question.kind in ("choice", "multilabel", "pairwise") and n > 0
        return AnswerSummary(
            question=self._question.id,
            kind=self._question.kind,
            n_answered=n,
            n_failed=self._n_failed,
            shares={label: self._counts[label] / n for label in known} if listed else {},
            mean=self._total / n if self._question.kind == "scale" and n else math.nan,
        )
