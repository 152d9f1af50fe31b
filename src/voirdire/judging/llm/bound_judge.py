"""A model with the questions of one rubric: what a plan of judging holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire.judging.fingerprint import hash_of
from voirdire.judging.llm.call_plan import CallPlan, plan_calls
from voirdire.judging.prompts import PROMPT_VERSION
from voirdire.judging.reading import READING_VERSION
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from voirdire._types import ProbabilitySource
    from voirdire.judging.llm.judge import LlmJudge
    from voirdire.rubrics import Rubric

__all__ = ["BoundJudge"]


@dataclass(frozen=True, kw_only=True)
class BoundJudge:
    """A `LlmJudge` that is asked the questions of one rubric; an engine asks it.

    Attributes
    ----------
    judge : LlmJudge
        Who answers, and how it is asked.
    rubric : Rubric
        What is asked.
    """

    judge: LlmJudge
    rubric: Rubric

    @property
    def name(self) -> str:
        """What verdicts call it."""
        return self.judge.name

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the propositions."""
        return self.rubric.propositions

    @property
    def source(self) -> ProbabilitySource:
        """Where the probabilities come from."""
        return self.judge.probability

    @property
    def asked(self) -> dict[str, Any]:
        """Everything that a reply depends on besides questions and item, for the record."""
        return {"name": self.judge.model.name, **self.judge.asking, "prompt": PROMPT_VERSION}

    @cached_property
    def calls(self) -> CallPlan:
        """The calls about every item."""
        return plan_calls(self.judge, self.rubric)

    @cached_property
    def reply_fingerprint(self) -> str:
        """Hash over everything that a reply depends on besides the item: its place in the store.

        How many samples or orders there are is not part of it, since each has a call of its own;
        neither are the questions where each has one, since its name says what is asked; and
        neither are completion classes, the threshold or the reader of replies: what is paid
        for is kept.
        """
        return hash_of(
            {
                "asking": self.judge.asking,
                "prompt": PROMPT_VERSION,
                "questions": None if self.judge.mode == "single" else self._questions,
            }
        )

    @property
    def _questions(self) -> list[dict[str, Any]]:
        return [question_document(row) for row in self.rubric.questions]

    @cached_property
    def fingerprint(self) -> str:
        """Hash over everything that its answers depend on, but for class logic and threshold."""
        judge = self.judge
        return hash_of(
            {
                "replies": self.reply_fingerprint,
                "questions": self._questions,
                "reading": READING_VERSION,
                "n_samples": judge.n_samples if judge.probability == "vote" else None,
                "n_orders": judge.n_orders if judge.mode == "joint" else None,
                "route": False,  # of a setting that went: fingerprints stay what they were
            }
        )
