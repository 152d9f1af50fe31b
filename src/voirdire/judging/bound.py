"""Joins a judge with the questions of one rubric, and with all else that verdicts depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.documents import hash_content
from voirdire.judging.call_plan import CallPlan, plan_calls
from voirdire.judging.cascade import DEFAULT, Bounds, is_unsure, read_bounds
from voirdire.judging.prompts import PROMPT_VERSION
from voirdire.judging.reading import READING_VERSION
from voirdire.records.thresholds import get_thresholds
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from voirdire._types import Judged, ProbabilitySource, Threshold
    from voirdire.io.declared import ItemLayout, ItemReading
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.judging.jury import JuryJudge
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.port import Answerer
    from voirdire.rubrics import Rubric
    from voirdire.stats import Calibrator

__all__ = [
    "BoundCascade",
    "BoundJudge",
    "BoundJury",
    "EngineJudge",
    "JudgingPlan",
    "note_distrust",
    "reply_fingerprint",
]


@dataclass(frozen=True, kw_only=True)
class JudgingPlan:
    """Everything that verdicts depend on besides the items.

    Attributes
    ----------
    judge : Judge
        The judge.
    rubric : Rubric
        The rubric.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on; one number, or one for each.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.
    fingerprint : str
        Hash of all of this.
    columns : tuple of int
        Columns of the judge's answers to the propositions of the rubric.
    notes : tuple of str
        Notes for the reader of the verdicts.
    """

    judge: Answerer
    rubric: Rubric
    threshold: Threshold
    judged: Judged
    fingerprint: str
    columns: tuple[int, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def asks_about_pairs(self) -> bool:
        """Whether a row with a chosen and a rejected response is one item with both."""
        return any(row.kind == "pairwise" for row in self.rubric.questions)

    @property
    def sees_images(self) -> bool:
        """Whether items may hold images."""
        return bool(getattr(self.judge, "sees_images", False))

    def reading(self, layout: ItemLayout) -> ItemReading:
        """Return how the items of a file are read for this plan."""
        return layout.reading(
            judged=self.judged,
            pairs=self.asks_about_pairs,
            images=self.sees_images,
        )


class EngineJudge(ABC):
    """A judge with the questions of one rubric that an engine asks, since it makes calls.

    Attributes
    ----------
    rubric : Rubric
        What is asked.
    """

    rubric: Rubric

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in verdicts."""

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the propositions."""
        return self.rubric.propositions

    @property
    @abstractmethod
    def source(self) -> ProbabilitySource:
        """Where the probabilities come from."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of everything that its answers depend on, except class logic and threshold."""

    @property
    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """All settings that its answers depend on, besides questions and item."""

    @property
    @abstractmethod
    def sees_images(self) -> bool:
        """Whether it can be asked about images."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of its verdicts."""
        return ()

    @property
    @abstractmethod
    def is_remote(self) -> bool:
        """Whether its model is on a server, so that replies are stored by default."""


@dataclass(frozen=True, kw_only=True)
class BoundJudge(EngineJudge):
    """A `LlmJudge` with the questions of one rubric.

    Attributes
    ----------
    judge : LlmJudge
        The judge with its settings.
    rubric : Rubric
        What is asked.
    """

    judge: LlmJudge
    rubric: Rubric

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self.judge.name

    @property
    def source(self) -> ProbabilitySource:
        """Where the probabilities come from."""
        return self.judge.probability

    @property
    def is_remote(self) -> bool:
        """Whether the model is on a server."""
        return bool(getattr(self.judge.chat_model, "is_remote", False))

    @property
    def sees_images(self) -> bool:
        """Whether the model is declared to see images."""
        return self.judge.chat_model.capabilities.images

    @property
    def asked(self) -> dict[str, Any]:
        """All settings that a reply depends on, besides questions and item."""
        asked = {"name": self.judge.chat_model.name, **self.judge.asking, "prompt": PROMPT_VERSION}
        return asked | self._calibration_hash

    @property
    def _calibration_hash(self) -> dict[str, str]:
        known = self.judge.known_calibration
        return {} if known is None else {"calibration": known.content_hash}

    @cached_property
    def calibrators(self) -> tuple[tuple[int, Calibrator], ...]:
        """Calibrators by the place of their question."""
        known = self.judge.known_calibration
        rows = {} if known is None else known.questions
        return tuple(
            (place, rows[question.id].calibrator)
            for place, question in enumerate(self.rubric.questions)
            if question.id in rows
        )

    @cached_property
    def calls(self) -> CallPlan:
        """The calls about every item."""
        return plan_calls(self.judge, self.rubric)

    @cached_property
    def reply_fingerprint(self) -> str:
        """Hash of everything that a reply depends on besides the item."""
        return reply_fingerprint(self.judge.asking, self.rubric)

    @property
    def described(self) -> dict[str, Any]:
        """Description of the judge in a store of replies."""
        return {"name": self.judge.name, "asking": self.judge.asking}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that its answers depend on, except class logic and threshold."""
        judge = self.judge
        one_order = {} if judge.both_orders else {"both_orders": False}
        return hash_content(
            one_order
            | self._calibration_hash
            | {
                "replies": self.reply_fingerprint,
                "questions": [question_document(row) for row in self.rubric.questions],
                "reading": READING_VERSION,
                "n_samples": judge.n_samples if judge.probability == "vote" else None,
                # of removed settings, so that fingerprints do not change
                "n_orders": 1 if judge.mode == "joint" else None,
                "route": False,
            }
        )


@dataclass(frozen=True, kw_only=True)
class BoundCascade(BoundJudge):
    """A cascade with the questions of one rubric.

    Calls and replies are those of the language model alone, so that both share stored replies.

    Attributes
    ----------
    cascade : CascadeJudge
        The judge with its settings.
    first : JudgingPlan
        The first judge, with the same rubric.
    """

    cascade: CascadeJudge
    first: JudgingPlan

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self.cascade.name or f"{self.first.judge.name}+{self.judge.name}"

    @property
    def source(self) -> ProbabilitySource:
        """``"cascade"``: each item has the source of the judge that answered it."""
        return "cascade"

    @property
    def then(self) -> BoundJudge:
        """The language model alone."""
        return BoundJudge(judge=self.judge, rubric=self.rubric)

    @property
    def answerers(self) -> tuple[str, str]:
        """Names of the first judge and of the language model in verdicts."""
        first, then = self.first.judge.name, self.judge.name
        return (first, then) if first != then else (f"{first} (first)", f"{then} (then)")

    @property
    def sources(self) -> dict[str, ProbabilitySource]:
        """Source of the probabilities of each of the two judges."""
        first, then = self.answerers
        return {first: self.first.judge.source, then: self.judge.probability}

    @property
    def sees_images(self) -> bool:
        """Whether both judges see images."""
        return self.first.sees_images and super().sees_images

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the first judge for the reader of its verdicts."""
        return (*self.first.notes, *note_distrust(self.first.judge))

    @property
    def asked(self) -> dict[str, Any]:
        """All settings that its answers depend on, besides questions and item."""
        first = {"name": self.first.judge.name, "fingerprint": self.first.judge.fingerprint}
        return {**super().asked, "first": first, "unsure": self._bounds_by_question}

    @cached_property
    def bounds(self) -> tuple[Bounds | None, ...]:
        """Bounds by proposition, between which the first judge is unsure."""
        known = read_bounds(self.cascade.unsure)
        named = self.cascade.propositions
        return tuple(
            known.get(name, known[DEFAULT]) if named is None or name in named else None
            for name in self.questions
        )

    @cached_property
    def fingerprint(self) -> str:
        """Hash of both judges and the bounds."""
        return hash_content(
            {
                "first": self.first.judge.fingerprint,
                "then": self.then.fingerprint,
                "unsure": self._bounds_by_question,
            }
        )

    @property
    def _bounds_by_question(self) -> dict[str, list[float]]:
        pairs = zip(self.questions, self.bounds, strict=True)
        return {name: list(pair) for name, pair in pairs if pair is not None}

    def goes_on(self, answers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which items go to the second judge, by the first judge's answers: (n_items,)."""
        return is_unsure(answers, self.bounds)


@dataclass(frozen=True, kw_only=True)
class BoundJury(EngineJudge):
    """A jury with the questions of one rubric.

    Attributes
    ----------
    jury : JuryJudge
        The judge with its settings.
    rubric : Rubric
        What is asked.
    members : tuple of JudgingPlan
        Its judges, with the same rubric.
    """

    jury: JuryJudge
    rubric: Rubric
    members: tuple[JudgingPlan, ...]

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self.jury.name or " & ".join(plan.judge.name for plan in self.members)

    @property
    def source(self) -> ProbabilitySource:
        """``"jury"``: a mean or a share of the judges."""
        return "jury"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about its judges, each once."""
        notes = [
            note for plan in self.members for note in (*plan.notes, *note_distrust(plan.judge))
        ]
        return tuple(dict.fromkeys(notes))

    @property
    def asked(self) -> dict[str, Any]:
        """All settings that its answers depend on, besides questions and item."""
        return {
            "combine": self.jury.combine,
            "shares": self.jury.shares,
            "judges": self._judge_records,
        }

    @property
    def is_remote(self) -> bool:
        """Whether one of its judges is a model on a server."""
        judges = [plan.judge for plan in self.members]
        return any(isinstance(judge, EngineJudge) and judge.is_remote for judge in judges)

    @property
    def sees_images(self) -> bool:
        """Whether all of its judges see images."""
        return all(plan.sees_images for plan in self.members)

    @cached_property
    def yes_from(self) -> list[list[float]]:
        """Thresholds of yes, by judge and proposition."""
        names = self.rubric.propositions
        return [get_thresholds(plan.threshold, names).tolist() for plan in self.members]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all judges, their weights, and their thresholds."""
        votes = self.yes_from if self.jury.combine == "majority" else None
        return hash_content(
            {
                "judges": [row["fingerprint"] for row in self._judge_records],
                "combine": self.jury.combine,
                "shares": self.jury.shares,
                "thresholds": votes,
            }
        )

    @property
    def _judge_records(self) -> list[dict[str, str]]:
        judges = [plan.judge for plan in self.members]
        return [{"name": judge.name, "fingerprint": judge.fingerprint} for judge in judges]


def note_distrust(judge: Answerer) -> tuple[str, ...]:
    """Return a note on the propositions that a judge's own card does not trust, if any."""
    names = ", ".join(getattr(getattr(judge, "card", None), "untrusted", ()))
    if not names:
        return ()
    return (f"by its own card {shorten(judge.name)!r} should not be trusted on: {names}",)


def reply_fingerprint(asking: Mapping[str, Any], rubric: Rubric) -> str:
    """Hash everything that a reply depends on besides the item: the key of the store.

    The number of samples is left out, since each sample has a call of its own. So are the questions
    where each has a call of its own, since the call's name identifies the question. Completion
    classes, threshold and reader are left out as well, so that a change of them does not lose
    replies that are paid for.
    """
    documents = [question_document(row) for row in rubric.questions]
    questions = None if asking.get("mode") == "single" else documents
    return hash_content({"asking": asking, "prompt": PROMPT_VERSION, "questions": questions})
