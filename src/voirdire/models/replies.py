"""Decodes replies with their tokens and usage."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from itertools import accumulate, chain, repeat
from math import nan
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from voirdire.errors import ContentFilterError, ModelCallError, RefusalError, ServerError
from voirdire.records import Reply, TokenChoice, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire._types import ReplyForm
    from voirdire.models.errors import Server
    from voirdire.models.port import ChatRequest

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
_FILTERED = re.compile(r"filter|safety|sensitive|prohibit|blocklist|recitation|guardrail", re.I)
_BROKEN_OFF = re.compile(r"error|abort|cancel|resource|timeout|malformed", re.I)
_CUT_OFF = re.compile(r"length|max_?(?:output_|new_)?tokens|context_window", re.I)
_FENCE = re.compile(r"\s*(?:```(?:json)?)?\s*(\{.*\})\s*(?:```)?\s*", re.S | re.I)


class _Message(msgspec.Struct):
    content: str | list[Any] | dict[str, Any] | None = None  # a list where it is split by kind
    refusal: Any = None
    # where some servers put the answer
    tool_calls: msgspec.Raw = _NULL
    function_call: msgspec.Raw = _NULL
    reasoning_content: msgspec.Raw = _NULL
    reasoning: msgspec.Raw = _NULL


class _Choice(msgspec.Struct, Generic[L]):
    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None
    error: Any = None
    logprobs: L | None = None


class _Completion(msgspec.Struct, Generic[L]):
    choices: list[_Choice[L]] | None = None
    model: Any = None
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


_plain = msgspec.json.Decoder(_Completion[Any])  # with log-probabilities of any shape
_full = msgspec.json.Decoder(_Completion[_LogProbs])
_counts = msgspec.json.Decoder(_Counts, strict=False)
_likely = msgspec.json.Decoder(list[_Likely] | None)


def read_replies(
    body: bytes,
    *,
    request: ChatRequest,
    form: ReplyForm,
    server: Server,
    error: Callable[[object], ModelCallError],
) -> Sequence[Reply] | ModelCallError:
    """Read the body of an answer whose status says that it holds replies.

    Their texts are without the reasoning that the server separates; the first has the usage of the
    call. A choice without a reply is left out where another has one. Where none has, the error
    says why: `error` makes it where the server says so.
    """
    completion = _decode(body, with_logprobs=request.top_logprobs is not None)
    if completion is None:
        return ServerError(server.sentence("sent what is no chat completion", quoted=body))
    if completion.error or not completion.choices:
        return error({"error": completion.error} if completion.error else body)
    usage = _usage(completion.usage)
    replies: list[Reply] = []
    failures: list[ModelCallError] = []
    for place, choice in enumerate(completion.choices[: request.n]):
        reason = str(choice.finish_reason or "")
        message = choice.message or _Message(content=choice.text)
        if choice.error:
            failures.append(error({"error": choice.error}))
        elif _FILTERED.search(reason):
            failures.append(
                ContentFilterError(server.sentence("held its reply back: content filter"))
            )
        elif message.refusal or reason == "refusal":
            refusal = server.sentence("declined to reply", quoted=str(message.refusal or ""))
            failures.append(RefusalError(refusal))
        elif _BROKEN_OFF.search(reason):
            failures.append(ServerError(server.sentence("broke off with an error", quoted=reason)))
        else:
            text = _text(message.content)
            if not text.strip() and request.form != "text":
                text = _answer_elsewhere(message, server) or text
            steps = None
            if isinstance(choice.logprobs, _LogProbs):
                steps = _steps(choice.logprobs, text=text, body=body, place=place)
            reply = Reply(
                text=text,
                steps=steps,
                form=form,
                finish_reason="length" if _CUT_OFF.search(reason) else reason or None,
                model=completion.model if isinstance(completion.model, str) else None,
                usage=None if replies else usage,
            )
            replies.append(reply)
    return replies or failures[0]


def _decode(body: bytes, *, with_logprobs: bool) -> _Completion[Any] | None:
    """Decode a body; None where it is not JSON, or not a chat completion."""
    try:
        body.decode()  # some parts are decoded later, if at all
        return _full.decode(body) if with_logprobs else _plain.decode(body)
    except (msgspec.ValidationError, RecursionError):  # perhaps only its log-probabilities are odd
        return _decode(body, with_logprobs=False) if with_logprobs else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _mend(body)
        return _decode(mended, with_logprobs=with_logprobs) if mended not in (None, body) else None


def _mend(body: bytes) -> bytes | None:
    """Return plain JSON for a byte-order mark, events, ``NaN``, or half a surrogate pair."""
    try:
        text = body.decode("utf-8-sig")
        try:
            whole = json.loads(text, parse_constant=lambda c: -9999.0 if c[0] == "-" else None)
        except ValueError:
            whole = _join_events(text)
        return json.dumps(whole, ensure_ascii=False).encode(errors="replace") if whole else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _join_events(text: str) -> dict[str, Any] | None:
    """Join the events of a stream that nobody asked for; None where it broke off."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for line in text.split("\n"):
        event = line.strip().removeprefix("data:").strip()
        if not event.startswith("{"):
            continue
        chunk = json.loads(event)
        whole |= {name: value for name, value in chunk.items() if value is not None}
        for choice in chunk.get("choices") or ():
            kept = choices.setdefault(choice.get("index", 0), {"message": {}})
            for name, part in (choice.get("delta") or choice.get("message") or {}).items():
                if isinstance(part, str):
                    kept["message"][name] = kept["message"].get(name, "") + part
            kept["finish_reason"] = choice.get("finish_reason") or kept.get("finish_reason")
            steps = (choice.get("logprobs") or {}).get("content")
            if steps:
                kept.setdefault("logprobs", {"content": []})["content"] += steps
    is_whole = "[DONE]" in text or any(kept["finish_reason"] for kept in choices.values())
    return whole | {"choices": list(choices.values())} if is_whole or "error" in whole else None


def _text(content: str | list[Any] | dict[str, Any] | None) -> str:
    """Return the text of a message, without other parts, such as thoughts."""
    if isinstance(content, dict):  # the object that was asked for, already decoded
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, str):
        return content
    parts = [part for part in content or () if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _answer_elsewhere(message: _Message, server: Server) -> str | None:
    """Find the JSON object that was asked for in another field, as the whole of it."""
    for place in ("tool_calls", "function_call", "reasoning_content", "reasoning"):
        value = msgspec.json.decode(getattr(message, place))
        for part in value if isinstance(value, list) else [value]:
            call = part.get("function", part) if isinstance(part, dict) else {"arguments": part}
            answer = call.get("arguments") if isinstance(call, dict) else None
            answer = json.dumps(answer) if isinstance(answer, dict) else answer
            fenced = _FENCE.fullmatch(answer) if isinstance(answer, str) else None
            if fenced and _value_spans(fenced[1]):
                server.note(
                    f"Answers are read in `{place}`, since {server.name} leaves `content` empty."
                )
                return fenced[1]
    return None


def _usage(raw: msgspec.Raw) -> Usage | None:
    """Read the charged tokens; None where the server does not report them, or reports zeros.

    Some servers leave reasoning out of the tokens of the completion, but none out of the total.
    """
    try:
        counts = _counts.decode(raw)
    except msgspec.DecodeError:  # also a null
        return None
    prompt, completion = counts.prompt_tokens, counts.completion_tokens
    # Other values would make all sums and costs wrong.
    if not (0 < prompt <= _MOST_TOKENS and 0 <= completion <= _MOST_TOKENS):
        return None
    unsaid = min(max(0, (counts.total_tokens or 0) - prompt - completion), _MOST_TOKENS)
    in_prompt, in_completion = counts.prompt_tokens_details, counts.completion_tokens_details
    cached = in_prompt.cached_tokens if in_prompt else counts.prompt_cache_hit_tokens
    reasoning = in_completion.reasoning_tokens if in_completion else unsaid
    completion += unsaid
    cached, reasoning = max(cached or 0, 0), max(reasoning or 0, 0)
    return Usage(prompt, completion, min(cached, prompt), min(reasoning, completion))


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
    at = "".join(tokens).rfind(text) if text else -1
    if at < 0 and text:
        tokens = _tokens_by_bytes(body, place=place) or tokens
        at = "".join(tokens).rfind(text)
    ends = list(accumulate(map(len, tokens)))
    first, last = 0, len(tokens)
    if at >= 0:
        first, last = bisect_right(ends, at), bisect_right(ends, at + len(text) - 1) + 1
    steps = [
        TokenStep(token, nan if step.logprob is None else step.logprob)
        for token, step in zip(tokens[first:last], content[first:last], strict=True)
    ]
    spans = _value_spans(text) if at >= 0 else None
    try:
        for index in range(first, last) if spans is None else _find_value_steps(ends, spans, at):
            likely = _likely.decode(content[index].top_logprobs) or ()
            top = [TokenChoice(c.token, nan if c.logprob is None else c.logprob) for c in likely]
            step = steps[index - first]
            steps[index - first] = TokenStep(step.token, step.logprob, tuple(top))
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


def _tokens_by_bytes(body: bytes, *, place: int) -> list[str] | None:
    """Decode the tokens from their bytes: a character belongs to the token that completes it."""
    try:
        steps = msgspec.json.decode(body)["choices"][place]["logprobs"]["content"]
        pieces = [bytes(s.get("bytes") or s["token"].encode()) for s in steps]
    except (LookupError, TypeError, ValueError):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(piece) for piece in pieces]


def _find_value_steps(ends: list[int], spans: list[tuple[int, int]], at: int) -> list[int]:
    """List the tokens, by where they end, that touch a value of the text, which begins at `at`."""
    places: list[int] = []
    for start, end in spans:
        index = bisect_right(ends, start + at)
        if places and index <= places[-1]:  # a token that reaches from one value into the next
            index = places[-1] + 1
        while index < len(ends) and (ends[index - 1] if index else 0) < end + at:
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
