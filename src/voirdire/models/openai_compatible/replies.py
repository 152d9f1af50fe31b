"""Decodes replies with their tokens and usage."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from itertools import accumulate, chain, pairwise, repeat
from math import nan
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from voirdire.errors import ContentFilterError, ModelCallError, RefusalError, ServerError
from voirdire.records import Reply, TokenChoice, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.models.openai_compatible.errors import CallErrors

__all__ = ["read_replies"]

L = TypeVar("L")

_NULL = msgspec.Raw(b"null")
_MOST_TOKENS = 10**9  # of one call; a larger number is wrong
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT_ARRAY = rf'\[[^\[\]{{}}"]*+(?:{_STRING}[^\[\]{{}}"]*+)*+\]'
# A member of an object: its key, and the text from the colon to the value's end.
_MEMBER = re.compile(
    rf'\s*+{_STRING}\s*+:(\s*+(?:{_STRING}|[^\s"\[\]{{}},:]++|{_FLAT_ARRAY}))\s*+([,}}])'
)


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None  # a list where the server splits it by kind
    refusal: str | None = None


class _Choice(msgspec.Struct, Generic[L]):
    message: _Message
    finish_reason: str | None = None
    error: Any = None
    logprobs: L | None = None


class _Completion(msgspec.Struct, Generic[L]):
    choices: list[_Choice[L]] | None = None
    model: str | None = None
    usage: msgspec.Raw = _NULL
    error: Any = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Counts(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None


class _Step(msgspec.Struct, gc=False):
    token: str
    logprob: float | None = None
    top_logprobs: msgspec.Raw = _NULL  # most of them are never read


class _LogProbs(msgspec.Struct):
    """In OpenAI's shape, or in the older one of parallel lists."""

    content: list[_Step] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Likely(msgspec.Struct, gc=False):
    token: str
    logprob: float | None = None


class _SpelledStep(msgspec.Struct, gc=False):
    token: str
    bytes: list[int] | None = None


class _SpelledLogProbs(msgspec.Struct):
    content: list[_SpelledStep]


_plain = msgspec.json.Decoder(_Completion[Any])  # with log-probabilities of any shape
_full = msgspec.json.Decoder(_Completion[_LogProbs])
_spelled = msgspec.json.Decoder(_Completion[_SpelledLogProbs])
_counts = msgspec.json.Decoder(_Counts)
_likely = msgspec.json.Decoder(list[_Likely] | None)


def read_replies(
    body: bytes, *, headers: Mapping[str, str], errors: CallErrors, n: int = 1
) -> Sequence[Reply]:
    """Read the body of an answer whose status says that it holds replies, at most `n`.

    Their texts are without the reasoning that the server separates. A choice without a reply is
    left out where another has one. Where none has, a `ModelCallError` says why: an error, a
    refusal, a filter, or an unreadable answer.
    """
    request = errors.request
    completion = _decode(body, with_logprobs=request.top_logprobs is not None)
    if completion is None:
        raise ServerError(errors.sentence("sent what is no chat completion", quoted=body))
    if completion.error or (completion.error is not None and not completion.choices):
        raise errors.translate_error(completion.error, headers=headers)
    if not completion.choices:
        raise ServerError(errors.sentence("sent a chat completion without a reply", quoted=body))
    usage = _usage(completion.usage)
    replies: list[Reply] = []
    failures: list[ModelCallError] = []
    for place, choice in enumerate(completion.choices[:n]):
        failure = _failure(choice, headers=headers, errors=errors)
        if failure is not None:
            failures.append(failure)
            continue
        text = _text(choice.message.content)
        found = choice.logprobs
        reply = Reply(
            text=text,
            steps=_steps(found, text=text, body=body, place=place)
            if isinstance(found, _LogProbs)
            else None,
            form=request.form,
            finish_reason=choice.finish_reason,
            model=completion.model,
            usage=usage,
        )
        replies.append(reply)
    if not replies:
        raise failures[0]
    return replies if usage is None or len(replies) == 1 else _divide_usage(replies, usage)


def _decode(body: bytes, *, with_logprobs: bool) -> _Completion[Any] | None:
    """Decode a body; None where it is not JSON, or not a chat completion."""
    try:
        body.decode()  # some parts are decoded later, if at all
        return _full.decode(body) if with_logprobs else _plain.decode(body)
    except (
        msgspec.ValidationError,
        RecursionError,
    ):  # perhaps only its log-probabilities are wrong
        return _decode(body, with_logprobs=False) if with_logprobs else None
    except UnicodeDecodeError:
        return None
    except msgspec.DecodeError:
        mended = _replace_foreign_numbers(body)
        return None if mended is None else _decode(mended, with_logprobs=with_logprobs)


def _replace_foreign_numbers(body: bytes) -> bytes | None:
    """Return JSON without the ``NaN`` and ``-Infinity`` that some servers write.

    None for no JSON.
    """
    if b"Infinity" not in body and b"NaN" not in body:
        return None
    try:
        read = json.loads(body, parse_constant=lambda word: -9999.0 if word[0] == "-" else None)
        return msgspec.json.encode(read)
    except (ValueError, OverflowError, RecursionError):
        return None


def _failure(
    choice: _Choice[Any], *, headers: Mapping[str, str], errors: CallErrors
) -> ModelCallError | None:
    """Return why a choice has no reply; None where it has one."""
    reason, refusal = choice.finish_reason or "", choice.message.refusal or ""
    if choice.error:
        return errors.translate_error(choice.error, headers=headers)
    if reason == "error":
        return ServerError(errors.sentence("broke off with an error"))
    if reason.startswith("content_filter"):
        return ContentFilterError(errors.sentence("held its reply back: content filter"))
    if refusal or reason == "refusal":
        return RefusalError(errors.sentence("declined to reply", quoted=refusal))
    return None


def _text(content: str | list[Any] | None) -> str:
    """Return the text of a message, without other parts, such as thoughts."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or () if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(raw: msgspec.Raw) -> Usage | None:
    """Read the charged tokens; None where the server does not report them.

    Some servers leave reasoning out of the tokens of the completion, but none out of the total.
    """
    try:
        counts = _counts.decode(raw)
    except msgspec.DecodeError:  # also a null
        return None
    prompt, completion = counts.prompt_tokens, counts.completion_tokens
    # Other values would make all sums and costs wrong.
    if not (0 <= prompt <= _MOST_TOKENS and 0 <= completion <= _MOST_TOKENS):
        return None
    unsaid = min(max(0, (counts.total_tokens or 0) - prompt - completion), _MOST_TOKENS)
    in_prompt, in_completion = counts.prompt_tokens_details, counts.completion_tokens_details
    cached = in_prompt.cached_tokens if in_prompt else counts.prompt_cache_hit_tokens
    reasoning = in_completion.reasoning_tokens if in_completion else unsaid
    completion += unsaid
    return Usage(
        prompt, completion, _part(cached, whole=prompt), _part(reasoning, whole=completion)
    )


def _divide_usage(replies: Sequence[Reply], usage: Usage) -> Sequence[Reply]:
    """Divide the tokens among replies: by log-probabilities where they came, else by length.

    Each has one more, for its end. The prompt was read once, and counts for the first reply.
    """
    sizes = [len(reply.text.encode("utf-8", "replace")) + 1 for reply in replies]
    if all(reply.steps for reply in replies):
        sizes = [len(reply.steps or ()) + 1 for reply in replies]
    completions = _shares(usage.completion_tokens, sizes)
    reasoned = _shares(usage.reasoning_tokens, completions)
    first, *others = map(Usage, repeat(0), completions, repeat(0), reasoned)
    first = msgspec.structs.replace(
        first, prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens
    )
    return [
        msgspec.structs.replace(reply, usage=part)
        for reply, part in zip(replies, (first, *others), strict=True)
    ]


def _shares(total: int, sizes: Sequence[int]) -> list[int]:
    """Divide a whole number by sizes, so that the shares add up to it and none exceeds its size."""
    ends = [total * end // max(sum(sizes), 1) for end in accumulate(sizes)]
    return [end - begin for begin, end in pairwise([0, *ends])]


def _part(number: int | None, *, whole: int) -> int:
    return min(max(number or 0, 0), whole)


def _steps(
    logprobs: _LogProbs, *, text: str, body: bytes, place: int
) -> tuple[TokenStep, ...] | None:
    """Make the steps of a reply; None where the server gave none, or in an unknown shape.

    Tokens before the text, such as a model's reasoning, and after it, such as the end of its turn,
    are left out. Where the tokens do not spell the text, all are kept. Alternatives are kept at the
    values of the text's JSON object, and at every step where the text is not such an object.
    """
    content = _steps_of_lists(logprobs) if logprobs.content is None else logprobs.content
    if not content:
        return None if text or logprobs.content is None else ()
    tokens = [step.token for step in content]
    joined = "".join(tokens)
    if joined != text:
        if text not in joined:
            tokens = _tokens_by_bytes(body, place=place) or tokens
        first, last = _part_that_spells(tokens, text)
        content, tokens = content[first:last], tokens[first:last]
    steps = [
        TokenStep(token, nan if step.logprob is None else step.logprob)
        for token, step in zip(tokens, content, strict=True)
    ]
    try:
        for index in _find_value_steps(tokens, text):
            likely = _likely.decode(content[index].top_logprobs) or ()
            top = [TokenChoice(c.token, nan if c.logprob is None else c.logprob) for c in likely]
            steps[index] = TokenStep(steps[index].token, steps[index].logprob, tuple(top))
    except msgspec.DecodeError:  # alternatives of an unknown shape
        return None
    return tuple(steps)


def _steps_of_lists(logprobs: _LogProbs) -> list[_Step]:
    """Convert parallel lists to OpenAI's shape."""
    tokens, chosen = logprobs.tokens or [], logprobs.token_logprobs or []
    if len(chosen) != len(tokens):
        return []
    likely = [
        msgspec.Raw(msgspec.json.encode([_Likely(*each) for each in (top or {}).items()]))
        for top in logprobs.top_logprobs or ()
    ]
    return list(map(_Step, tokens, chosen, chain(likely, repeat(_NULL))))


def _part_that_spells(tokens: Sequence[str], text: str) -> tuple[int, int]:
    """Find the tokens that the last occurrence of the text touches; all where there is none."""
    at = "".join(tokens).rfind(text) if text else -1
    if at < 0:
        return 0, len(tokens)
    ends = list(accumulate(map(len, tokens)))
    return bisect_right(ends, at), bisect_right(ends, at + len(text) - 1) + 1


def _tokens_by_bytes(body: bytes, *, place: int) -> list[str] | None:
    """Decode the tokens from their bytes: a character belongs to the token that completes it."""
    try:
        choices = _spelled.decode(body).choices or []
        content = getattr(choices[place].logprobs, "content", ())
        pieces = [s.token.encode() if s.bytes is None else bytes(s.bytes) for s in content]
    except (msgspec.DecodeError, ValueError):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(piece) for piece in pieces]


def _find_value_steps(tokens: Sequence[str], text: str) -> Sequence[int]:
    """List the steps that touch a value, or the white space before it."""
    spans = _value_spans(text)
    if spans is None:
        return range(len(tokens))
    ends = list(accumulate(map(len, tokens)))
    shift = (ends[-1] if ends else 0) - len(text)
    if shift:  # the first token begins before the text, or they do not spell it
        at = "".join(tokens).rfind(text)
        if at < 0:
            return range(len(tokens))
        spans = [(start + at, end + at) for start, end in spans]
    places: list[int] = []
    for start, end in spans:
        index = bisect_right(ends, start)
        if places and index <= places[-1]:  # a token that reaches from one value into the next
            index = places[-1] + 1
        while index < len(ends) and (ends[index - 1] if index else 0) < end:
            places.append(index)
            index += 1
    return places


def _value_spans(text: str) -> list[tuple[int, int]] | None:
    """Find the values of a flat JSON object: from behind the colon to the end of each.

    None where the text is no object whose values are words, numbers, strings or flat arrays.
    """
    at = len(text) - len(text.lstrip()) + 1
    if text[at - 1 : at] != "{":
        return None
    spans = []
    while member := _MEMBER.match(text, at):
        spans.append(member.span(1))
        at = member.end()
        if member[2] == "}":
            return spans if not text[at:].strip() else None
    return None
