"""Records of one call: the questions that it asks, and the answers in its reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire._types import Language, Mode, ModelSource
    from voirdire.records import Failure
    from voirdire.rubrics import Question

Answer = float | str | tuple[str, ...]
"""A boolean's probability or a number on a scale; a label or text; a set of labels."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One call's questions.

    Attributes
    ----------
    questions : tuple of Question
        In the order in which they are asked; one of them where the mode is ``"single"``.
    probability : {"logprob", "stated", "vote", "decision"}
        How boolean questions are asked: for true or false, with the probability of the token; for a
        number in [0, 1]; for true or false as one of several samples; or of a decision model.
    mode : {"joint", "single"}
        Whether the questions come before the item, for servers that keep the beginning of a
        prompt, or after it.
    language : {"en", "zh"}
        Of the instructions and questions.
    swapped : bool
        Whether a pair of responses is shown with B first.
    reasons : bool
        Whether a sentence of reason stands before each answer, under ``ID.reason``.
    """

    questions: tuple[Question, ...]
    probability: ModelSource = "logprob"
    mode: Mode = "joint"
    language: Language = "en"
    swapped: bool = False
    reasons: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers in one reply.

    Attributes
    ----------
    values : tuple of Answer or Failure
        One per question of the `Ask`, in its order; a failure where this answer could not be read
        and others could. A boolean answer is a probability in [0, 1], or 0.0 or 1.0 where samples
        vote. A pairwise answer is ``"A"``, ``"B"`` or ``"tie"``, of the item's own A and B in
        whichever order they were shown.
    missing_mass : tuple of float or None
        Per question the probability of tokens that are neither true nor false, in [0, 1], and nan
        where the question is not boolean; None where no log-probabilities were read.
    spread : tuple of float or None
        Per question the standard deviation of a scale, and nan where the question is no scale; None
        where no distribution was given.
    reasons : tuple of str or None
        Per question the reason before its answer; None where none were asked for.
    """

    values: tuple[Answer | Failure, ...]
    missing_mass: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    reasons: tuple[str, ...] | None = None
