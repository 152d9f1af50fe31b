"""Tokens with log-probabilities: which of them a reader needs, and only those decoded."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from itertools import accumulate
from math import nan
from typing import TYPE_CHECKING

import msgspec

from voirdire.records import TokenChoice, TokenStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.models.openai_compatible.wire import LogProbs, Step

__all__ = ["steps_of", "value_spans"]

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT_ARRAY = rf'\[[^\[\]{{}}"]*+(?:{_STRING}[^\[\]{{}}"]*+)*+\]'
# A member of an object: its key, and from behind the colon to the value's end.
_MEMBER = re.compile(
    rf'\s*+{_STRING}\s*+:(\s*+(?:{_STRING}|[^\s"\[\]{{}},:]++|{_FLAT_ARRAY}))\s*+([,}}])'
)


class TopChoice(msgspec.Struct, gc=False):
    """A token that might stand at a place."""

    token: str
    logprob: float


class UnsureChoice(msgspec.Struct, gc=False):
    """A token that might stand at a place, perhaps without its log-probability."""

    token: str
    logprob: float | None = None


class SpelledStep(msgspec.Struct, gc=False):
    """One token with its bytes: a token may be part of a character."""

    token: str
    bytes: list[int] | None = None


class SpelledLogProbs(msgspec.Struct):
    """Log-probabilities, for their bytes."""

    content: list[SpelledStep] | None = None


class SpelledChoice(msgspec.Struct):
    """A reply, for the bytes of its tokens."""

    logprobs: SpelledLogProbs | None = None


class SpelledCompletion(msgspec.Struct):
    """An answer of the server, for the bytes of its tokens."""

    choices: list[SpelledChoice]


_tops = msgspec.json.Decoder(list[TopChoice])
_lenient_tops = msgspec.json.Decoder(list[UnsureChoice] | None)
_spelled = msgspec.json.Decoder(SpelledCompletion)


def steps_of(logprobs: LogProbs, *, text: str, body: bytes) -> tuple[TokenStep, ...] | None:
    """Make the steps of a reply.

    They spell the text: tokens before it, such as a model's reasoning, and after it, such as the
    end of its turn, are left out. Where the tokens do not spell the text at all, all are kept as
    they came. Alternatives are kept where a value of the text's JSON object stands, and at every
    step where the text is no such object.

    Parameters
    ----------
    logprobs : LogProbs
        As decoded.
    text : str
        The reply.
    body : bytes
        The whole body, for tokens that are parts of characters.

    Returns
    -------
    tuple of TokenStep or None
        None where the server gave no log-probabilities.
    """
    content = logprobs.content
    if content is None:
        return _steps_of_lists(logprobs, text=text)
    if not content:
        return None if text else ()
    tokens = [step.token for step in content]
    joined = "".join(tokens)
    if joined != text:
        if text not in joined:
            tokens = _tokens_by_bytes(body, n_tokens=len(tokens)) or tokens
        first, last = _part_that_spells(tokens, text)
        content, tokens = content[first:last], tokens[first:last]
    steps = [
        TokenStep(token, nan if step.logprob is None else step.logprob)
        for token, step in zip(tokens, content, strict=True)
    ]
    for index in _where_a_value_stands(tokens, text):
        step = steps[index]
        steps[index] = TokenStep(step.token, step.logprob, _top_of(content[index]))
    return tuple(steps)


def _top_of(step: Step) -> tuple[TokenChoice, ...]:
    try:
        return tuple(
            [TokenChoice(top.token, top.logprob) for top in _tops.decode(step.top_logprobs)]
        )
    except msgspec.ValidationError:
        found = _lenient_tops.decode(step.top_logprobs) or ()
    return tuple(
        [TokenChoice(top.token, nan if top.logprob is None else top.logprob) for top in found]
    )


def _steps_of_lists(logprobs: LogProbs, *, text: str) -> tuple[TokenStep, ...] | None:
    tokens, chosen = logprobs.tokens, logprobs.token_logprobs
    if not tokens or chosen is None or len(chosen) != len(tokens):
        return None
    tops = logprobs.top_logprobs or []
    first, last = _part_that_spells(tokens, text)
    wanted = set(_where_a_value_stands(tokens[first:last], text))
    steps = []
    for index in range(first, last):
        top = (tops[index] if index < len(tops) else None) or {}
        is_wanted = index - first in wanted
        choices = [TokenChoice(word, nan if p is None else p) for word, p in top.items()]
        chosen_here = chosen[index]
        logprob = nan if chosen_here is None else chosen_here
        steps.append(TokenStep(tokens[index], logprob, tuple(choices) if is_wanted else ()))
    return tuple(steps)


def _part_that_spells(tokens: Sequence[str], text: str) -> tuple[int, int]:
    """Find the tokens that the last occurrence of the text touches; all where there is none."""
    at = "".join(tokens).rfind(text) if text else -1
    if at < 0:
        return 0, len(tokens)
    ends = list(accumulate(map(len, tokens)))
    last = bisect_right(ends, at + len(text) - 1)
    return bisect_right(ends, at), last + 1


def _tokens_by_bytes(body: bytes, *, n_tokens: int) -> list[str] | None:
    """Spell the tokens from their bytes: a character belongs to the token that completes it."""
    try:
        logprobs = _spelled.decode(body).choices[0].logprobs
        content = (logprobs.content if logprobs else None) or []
        pieces = [s.token.encode() if s.bytes is None else bytes(s.bytes) for s in content]
    except (msgspec.DecodeError, ValueError):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens = [decoder.decode(piece) for piece in pieces]
    return tokens if len(tokens) == n_tokens else None


def _where_a_value_stands(tokens: Sequence[str], text: str) -> Sequence[int]:
    """List the steps that touch a value, or the white space before it."""
    spans = value_spans(text)
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


def value_spans(text: str) -> list[tuple[int, int]] | None:
    """Find where the values of a flat JSON object stand, white space before them included.

    Parameters
    ----------
    text : str
        A reply.

    Returns
    -------
    list of tuple of int, or None
        Per member the offsets from behind its colon to its value's end; None where the text is no
        object whose values are words, numbers, strings or flat arrays.
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
