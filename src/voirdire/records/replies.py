"""Defines the reply of a model: its text, its tokens, and their likely alternatives."""

from __future__ import annotations

import msgspec

from voirdire._types import ReplyForm  # noqa: TC001  # msgspec reads the annotation

__all__ = ["Reply", "TokenChoice", "TokenStep", "Usage"]


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
