"""Defines what the calls of a run to a language model sum up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AnswerSummary", "CallSummary"]


@dataclass(frozen=True, kw_only=True)
class AnswerSummary:
    """Answers to a question that is not boolean.

    Attributes
    ----------
    question : str
        Its id.
    kind : str
        Kind of the question.
    n_answered, n_failed : int
        Items with an answer, and without.
    shares : mapping of str to float
        How often each label was given, in [0, 1] of the items with an answer; the shares of a set
        of labels may add up to more than 1. Empty for scales and texts.
    mean : float
        Mean of a scale; nan for other kinds and where nothing was answered.
    """

    question: str
    kind: str
    n_answered: int
    n_failed: int
    shares: Mapping[str, float]
    mean: float


@dataclass(frozen=True, kw_only=True)
class CallSummary:
    """Number, cost and failures of a run's calls to a language model.

    Attributes
    ----------
    n_calls : int
        Calls that were made in this run; each try of a call counts.
    n_retries : int
        How many of them were retries.
    n_reused : int
        Items without a call: their replies were in the store.
    prompt_tokens, cached_tokens, completion_tokens : int
        Tokens of this run, where the server counted them.
    cost : float or None
        US dollars of this run; None where the model's price is not known.
    steps_down : tuple of str
        Why a stricter form of reply was given up.
    failures : mapping of str to int
        Items by the reason of a failure about them.
    examples : mapping of str to str
        For each of these reasons the shortened message of one failure.
    missing_mass : mapping of str to float
        Mean probability, per proposition, of tokens that are neither true nor false.
    n_kept : int or None
        Items that the first judge of a cascade answered, without a call; None where the judge is
        not a cascade.
    answers : tuple of AnswerSummary
        One per question that is not boolean.
    """

    n_calls: int
    n_retries: int
    n_reused: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    steps_down: tuple[str, ...]
    failures: Mapping[str, int]
    missing_mass: Mapping[str, float]
    n_kept: int | None = None
    answers: tuple[AnswerSummary, ...] = field(default=())
    examples: Mapping[str, str] = field(default_factory=dict)
