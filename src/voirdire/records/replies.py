"""Defines the reply of a model, and what the calls of a run sum up to."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field

import msgspec

from voirdire._types import ReplyForm  # noqa: TC001  # msgspec reads the annotation

LOW_MASS = 0.9
"""With more missing mass than this an answer rests on less than a tenth of the probability."""

_MASS_WORTH_SAYING = 0.01


class TokenChoice(msgspec.Struct, frozen=True, array_like=True):
    """A token that might stand at a place, with its log-probability.

    Attributes
    ----------
    token : str
        Its text; bytes that are no text of their own are replacement characters.
    logprob : float
        Natural logarithm of its probability, at most 0.
    """

    token: str
    logprob: float


class TokenStep(msgspec.Struct, frozen=True, array_like=True):
    """One token of a reply.

    Attributes
    ----------
    token : str
        Its text.
    logprob : float
        Natural logarithm of its probability, at most 0.
    top : tuple of TokenChoice
        The likeliest tokens at this place, the one that was taken among them where it is likely.
        Kept where the reply had a choice (at values of its JSON); empty elsewhere.
    """

    token: str
    logprob: float
    top: tuple[TokenChoice, ...] = ()


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """Tokens that a call was charged for.

    Attributes
    ----------
    prompt_tokens : int
        Tokens of the prompt, those from a cache included.
    completion_tokens : int
        Tokens of the reply, those of its reasoning included.
    cached_tokens : int
        Tokens of the prompt that came from the server's cache.
    reasoning_tokens : int
        Tokens of the reply that were reasoning.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model replied; stored as it is, so that it can be read again.

    Attributes
    ----------
    text : str
        The reply without the model's reasoning.
    steps : tuple of TokenStep or None
        Its tokens with log-probabilities, in order; None where the server gave none.
    form : {"json_schema", "json_object", "text"}
        How the reply was asked for.
    finish_reason : str or None
        Why it ended: ``"stop"``, ``"length"``, whatever the server says.
    model : str or None
        What the server says that it is.
    usage : Usage or None
        Tokens charged, where the server says so.
    """

    text: str
    steps: tuple[TokenStep, ...] | None = None
    form: ReplyForm = "json_schema"
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None


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
        What the server refused or said of itself, and what to beware of in its answers.
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


def describe_missing_mass(missing_mass: Mapping[str, float], *, n_low: int) -> list[str]:
    """Say what to beware of in answers that were read from log-probabilities, or nothing.

    `missing_mass` is the mean of each proposition, and `n_low` counts answers of `LOW_MASS`.
    """
    parts = []
    high = {name: mass for name, mass in missing_mass.items() if mass >= _MASS_WORTH_SAYING}
    if high:
        name, most = max(high.items(), key=lambda row: row[1])
        parts.append(
            f"on {len(high)} proposition{'s' * (len(high) > 1)} more than 1% of the probability is "
            f"on tokens that are neither true nor false, at most {most:.1%} ({name})"
        )
    if n_low:
        parts.append(
            f"less than a tenth is on true and false together for {n_low:,} of the answers"
        )
    return ["; ".join(parts)] if parts else []
