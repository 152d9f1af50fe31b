"""Adds up what the calls of a run come to."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.judging.call_summary import AnswerSummary, CallSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.client.client import ClientState
    from voirdire.judging.llm.answer_arrays import AnswerArrays
    from voirdire.judging.llm.pipeline import JudgedChunk
    from voirdire.records.verdicts import CallDetails
    from voirdire.rubrics import Question, Rubric

__all__ = ["RunRecord"]

_EXAMPLE_WIDTH = 500


class RunRecord:
    """Sums over the stretches of a run."""

    def __init__(self, rubric: Rubric) -> None:
        self._questions = rubric.questions
        self._propositions = rubric.propositions
        self._state: ClientState | None = None
        self.n_items = self.n_reused = 0
        self._n_kept: int | None = None
        self._forms: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._mass = _Mean(len(self._propositions))
        self._shift = _Mean(len(self._questions))
        self._answers = {row.id: _Answers(row) for row in rubric.questions if row.kind != "boolean"}

    def heard(
        self, tick: Callable[[float, ClientState], None] | None
    ) -> Callable[[float, ClientState], None]:
        """Listen to the state of the calls, and pass it on."""

        def told(n_answered: float, state: ClientState) -> None:
            self._state = state
            if tick is not None:
                tick(n_answered, state)

        return told

    def add(self, chunk: JudgedChunk, arrays: AnswerArrays) -> None:
        """Take one stretch."""
        details = arrays.details
        self.n_items += len(chunk.items)
        self.n_reused += chunk.n_reused
        self._forms.update(form for form in details.forms if form is not None)
        for verdict in chunk.verdicts:
            reasons = {_in_short(failure.reason) for _, failure in verdict.failures}
            self._failures.update(reasons)
            for _, failure in verdict.failures:
                self._examples.setdefault(_in_short(failure.reason), failure.reason)
        self._mass.add(details.missing_mass)
        self._shift.add(self._shifts(details))
        if chunk.checked:
            self._shift.add(self._differences(chunk.checked))
        for name, labels in details.labels.items():
            self._answers[name].add(labels)

    def keep(self, n_items: int) -> None:
        """Take items of a stretch that the first judge of a cascade answered."""
        self.n_items += n_items
        self._n_kept = (self._n_kept or 0) + n_items

    def summary(self) -> CallSummary:
        """Say what it came to."""
        state = self._state
        if state is None:
            msg = "a run has a state before it has a summary"
            raise RuntimeError(msg)
        return CallSummary(
            n_calls=state.n_calls,
            n_retries=state.n_retries,
            n_reused=self.n_reused,
            prompt_tokens=state.prompt_tokens,
            cached_tokens=state.cached_tokens,
            completion_tokens=state.completion_tokens,
            cost=state.cost,
            forms=dict(self._forms),
            steps_down=tuple(
                f"{row.from_form} to {row.to_form}: {row.reason}" for row in state.steps_down
            ),
            failures=dict(self._failures.most_common()),
            examples={
                reason: shorten(self._examples[reason], width=_EXAMPLE_WIDTH)
                for reason, _ in self._failures.most_common()
            },
            n_rate_limited=state.n_rate_limits,
            missing_mass=self._mass.named(self._propositions),
            order_shift=self._shift.named([row.id for row in self._questions]),
            n_order_checked=self._shift.n_rows,
            n_kept=self._n_kept,
            answers=tuple(row.summary() for row in self._answers.values()),
        )

    def _shifts(self, details: CallDetails) -> NDArray[np.float64]:
        """Put the shifts of propositions and of other questions in the rubric's order."""
        columns = dict(zip(self._propositions, details.shift.T, strict=True))
        columns |= details.label_shift
        return np.stack([columns[row.id] for row in self._questions], axis=1)

    def _differences(
        self, checked: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    ) -> NDArray[np.float64]:
        """How far propositions moved, |p - p'|; nan for other kinds."""
        found = np.full((len(checked), len(self._questions)), np.nan)
        for place, question in enumerate(self._questions):
            if question.kind == "boolean":
                found[:, place] = [abs(one[place] - other[place]) for one, other in checked]
        return found


class _Mean:
    """Means by column over rows that come in stretches; nan does not count."""

    def __init__(self, n_columns: int) -> None:
        self._sums = np.zeros(n_columns)
        self._counts = np.zeros(n_columns, dtype=np.int64)
        self.n_rows = 0

    def add(self, rows: NDArray[np.float64]) -> None:
        known = ~np.isnan(rows)
        self._sums += np.where(known, rows, 0.0).sum(axis=0)
        self._counts += known.sum(axis=0)
        self.n_rows += int(known.any(axis=1).sum())

    def named(self, names: Sequence[str]) -> dict[str, float]:
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


def _in_short(reason: str) -> str:
    """Give the kind of a failure without its details."""
    return reason.partition(":")[0]
