"""What comes back: the shapes of a chat completion, as lenient as servers are free."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from voirdire.records import Usage

__all__ = [
    "Choice",
    "Completion",
    "LogProbs",
    "Step",
    "decode_completion",
    "usage_of",
]

_NULL = msgspec.Raw(b"null")
_MOST_TOKENS = 10**9  # of one call; more is no count


class Step(msgspec.Struct, gc=False):
    """One token. Its alternatives stay JSON: most of them are never looked at."""

    token: str
    logprob: float | None = None
    top_logprobs: msgspec.Raw = _NULL


class LogProbs(msgspec.Struct):
    """Log-probabilities in OpenAI's shape, or in the older one of parallel lists."""

    content: list[Step] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class MessageText(msgspec.Struct):
    """The reply itself; a list where the server parts it by kind."""

    content: str | list[Any] | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    """One reply with its log-probabilities."""

    message: MessageText
    finish_reason: str | None = None
    error: Any = None
    logprobs: LogProbs | None = None


class Completion(msgspec.Struct):
    """A whole answer of the server."""

    choices: list[Choice] | None = None
    model: str | None = None
    usage: msgspec.Raw = _NULL
    error: Any = None


class PlainChoice(msgspec.Struct):
    """One reply, whatever it says of log-probabilities."""

    message: MessageText
    finish_reason: str | None = None
    error: Any = None


class PlainCompletion(msgspec.Struct):
    """A whole answer of the server, whatever it says of log-probabilities."""

    choices: list[PlainChoice] | None = None
    model: str | None = None
    usage: msgspec.Raw = _NULL
    error: Any = None


class Details(msgspec.Struct):
    """What part of the tokens was cached, or was reasoning."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class UsageCounts(msgspec.Struct):
    """Tokens charged."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    prompt_cache_hit_tokens: int | None = None


_full = msgspec.json.Decoder(Completion)
_plain = msgspec.json.Decoder(PlainCompletion)
_usage = msgspec.json.Decoder(UsageCounts)


def decode_completion(body: bytes, *, with_logprobs: bool) -> Completion | PlainCompletion | None:
    """Decode a body.

    Parameters
    ----------
    body : bytes
        As it came.
    with_logprobs : bool
        Whether log-probabilities were asked for. Where they are of no known shape, the reply is
        read without them.

    Returns
    -------
    Completion or PlainCompletion or None
        The second has no log-probabilities; None where the body is no JSON, or no chat completion.
    """
    try:
        return _decode(body, with_logprobs=with_logprobs)
    except (msgspec.ValidationError, RecursionError):
        return None
    except msgspec.DecodeError:
        pass
    try:
        return _decode(_without_foreign_numbers(body), with_logprobs=with_logprobs)
    except (msgspec.DecodeError, RecursionError):
        return None


def _decode(body: bytes, *, with_logprobs: bool) -> Completion | PlainCompletion:
    if not with_logprobs:
        return _plain.decode(body)
    try:
        return _full.decode(body)
    except msgspec.ValidationError:
        return _plain.decode(body)


def _without_foreign_numbers(body: bytes) -> bytes:
    """Give JSON without the ``NaN`` and ``-Infinity`` that some servers write into it."""
    if b"Infinity" not in body and b"NaN" not in body:
        return body
    try:
        read = json.loads(body, parse_constant=lambda word: -9999.0 if word[0] == "-" else None)
        return msgspec.json.encode(read)
    except (ValueError, RecursionError):
        return body


def usage_of(raw: msgspec.Raw) -> Usage | None:
    """Read what was charged; None where the server does not say.

    Some servers leave reasoning out of the tokens of the completion, but none out of the total.
    """
    try:
        counts = _usage.decode(raw)
    except msgspec.DecodeError:  # also a null
        return None
    prompt, completion = counts.prompt_tokens, counts.completion_tokens
    if prompt is None or completion is None or not _are_counts(prompt, completion):
        return None
    unsaid = min(max(0, (counts.total_tokens or 0) - prompt - completion), _MOST_TOKENS)
    in_prompt, in_completion = counts.prompt_tokens_details, counts.completion_tokens_details
    cached = in_prompt.cached_tokens if in_prompt else counts.prompt_cache_hit_tokens
    reasoning = in_completion.reasoning_tokens if in_completion else unsaid
    completion += unsaid
    return Usage(
        prompt, completion, _part(cached, whole=prompt), _part(reasoning, whole=completion)
    )


def _are_counts(*numbers: int) -> bool:
    """Whether numbers may be tokens of one call; others would upset every sum and every cost."""
    return all(0 <= number <= _MOST_TOKENS for number in numbers)


def _part(number: int | None, *, whole: int) -> int:
    return min(max(number or 0, 0), whole)
