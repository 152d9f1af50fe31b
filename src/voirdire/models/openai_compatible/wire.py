"""Encodes the body of a request in the dialect of its server."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec

from voirdire.errors import InputError
from voirdire.models.endpoints import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.port import ChatRequest
    from voirdire.records import Message

__all__ = [
    "Dialect",
    "RequestBody",
    "guess_dialect",
    "logprob_fields",
    "message_fields",
    "response_format",
    "with_effort",
]

_MOST_KEPT = 64  # a run has few system messages and parameters
_OPENAI_REASONING = re.compile(r"(?:.*/)?(?:o[1-9](?:-|$)|gpt-5(?!.*chat))", re.IGNORECASE)
_REASONING = re.compile(
    r"gpt-oss|deepseek-(?:r1|reasoner|v[4-9])|qwq|magistral|thinking|reasoning(?!-off)|"
    r"gemini-(?:2\.5|[3-9])|grok-(?:3-mini|4)|kimi-k2\.[5-9]|glm-(?:4\.[5-9]|[5-9])|qwen3",
    re.IGNORECASE,
)
_NOT_REASONING = re.compile(r"non-reasoning|instruct", re.IGNORECASE)
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A server's names of parameters, and the parameters that its model refuses.

    Attributes
    ----------
    limit_name : {"max_tokens", "max_completion_tokens"}
        Name of the limit of tokens.
    seed_name : {"seed", "random_seed"}
        Name of the seed.
    logprobs : {"flag", "count"}
        Whether ``logprobs`` is true with the number in ``top_logprobs``, or is the number itself.
    object_takes_schema : bool
        Whether ``json_object`` may carry the schema beside it.
    is_reasoning : bool
        Whether the model thinks before it replies. Its limit then includes the thinking, so that a
        limit for the reply alone is not sent.
    takes_temperature : bool
        Whether the temperature of a request is sent. One that is set on the model always is.
    marks_cache : bool
        Whether the system message has Anthropic's mark for caching. Other servers cache without it,
        or refuse it.
    """

    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed_name: Literal["seed", "random_seed"] = "seed"
    logprobs: Literal["flag", "count"] = "flag"
    object_takes_schema: bool = False
    is_reasoning: bool = False
    takes_temperature: bool = True
    marks_cache: bool = False


def guess_dialect(model: str, *, base_url: str) -> Dialect:
    """Guess the dialect of a server from the names of its model and its host.

    A server on this machine is llama.cpp, vLLM, Ollama or similar, which accept or ignore a schema
    beside ``json_object``. A model that is wrongly taken for a reasoning one only loses the limit
    of its replies' length.
    """
    is_openai = _OPENAI_REASONING.match(model) is not None
    thinks = _REASONING.search(model) is not None and _NOT_REASONING.search(model) is None
    host = urlsplit(base_url).hostname or ""
    return Dialect(
        limit_name="max_completion_tokens" if is_openai else "max_tokens",
        object_takes_schema=is_loopback(host),
        is_reasoning=is_openai or thinks,
        takes_temperature=not is_openai,
        marks_cache=host == "api.anthropic.com"
        or (host == "openrouter.ai" and model.startswith("anthropic/")),
    )


def with_effort(dialect: Dialect, reasoning_effort: str | None) -> Dialect:
    """Return the dialect of a model with a set reasoning effort."""
    if reasoning_effort is None:
        return dialect
    thinks = reasoning_effort != "none"
    takes_temperature = dialect.takes_temperature or not thinks
    return replace(dialect, is_reasoning=thinks, takes_temperature=takes_temperature)


class RequestBody:
    """Makes the JSON of requests to one model.

    Only the user message differs between calls: the system message and the fields after the
    messages are encoded once.
    """

    def __init__(
        self,
        *,
        model: str,
        dialect: Dialect,
        settings: Mapping[str, Any],
        extra: Mapping[str, Any],
    ) -> None:
        self._dialect = dialect
        self._settings = settings
        self._extra = extra
        self._head = b'{"model":' + _encode(model) + b',"messages":['
        self._system_message = lru_cache(_MOST_KEPT)(
            _encode_cached if dialect.marks_cache else _encode_message
        )
        self._tail = lru_cache(_MOST_KEPT)(self._encode_tail)

    def encode(self, request: ChatRequest, *, n: int) -> bytes:
        """Return the body of a request for so many replies."""
        messages = b",".join(
            self._system_message(message) if message.role == "system" else _encode_message(message)
            for message in request.messages
        )
        rest = msgspec.structs.replace(request, messages=())
        return b"".join((self._head, messages, self._tail(rest, n=n)))

    def parameters(self, request: ChatRequest, *, n: int) -> dict[str, Any]:
        """Return every field of the body except the model and the messages."""
        dialect, settings = self._dialect, self._settings
        temperature, limit = settings["temperature"], settings["max_tokens"]
        if request.temperature is not None and dialect.takes_temperature:
            temperature = request.temperature
        if limit is None and not dialect.is_reasoning:
            limit = request.max_tokens
        fields: dict[str, Any] = {
            "response_format": response_format(request, dialect),
            "temperature": temperature,
            dialect.limit_name: limit,
            "reasoning_effort": settings["reasoning_effort"],
            dialect.seed_name: request.seed,
            "n": n if n > 1 else None,
            **logprob_fields(request, dialect),
            **self._extra,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _encode_tail(self, request: ChatRequest, *, n: int) -> bytes:
        fields = _encode(self.parameters(request, n=n))
        return b"]}" if fields == b"{}" else b"]," + fields[1:]


def _encode_message(message: Message) -> bytes:
    fields = message_fields(message) if message.images else message
    try:
        return _encode(fields)
    except UnicodeEncodeError:  # a lone surrogate: not UTF-8, but JSON can escape it
        return json.dumps(message_fields(message)).encode()


def message_fields(message: Message) -> dict[str, Any]:
    """Return a message in the servers' form: its text, or parts of text and images."""
    if not message.images:
        return {"role": message.role, "content": message.content}
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    content = [{"type": "text", "text": message.content}, *images]
    return {"role": message.role, "content": content}


def _encode_cached(message: Message) -> bytes:
    content = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return json.dumps({"role": message.role, "content": [content]}).encode()


def response_format(request: ChatRequest, dialect: Dialect) -> dict[str, Any] | None:
    """Return the required form of a reply; None where it is free."""
    if request.form == "text":
        return None
    if request.form == "json_object" and not (dialect.object_takes_schema and request.schema):
        return {"type": "json_object"}
    if not request.schema:
        msg = "`request.schema` must hold a JSON Schema where the form is 'json_schema', got b''."
        raise InputError(f"{msg} Ask for the form 'json_object' to do without one.")
    schema = msgspec.json.decode(request.schema)
    if request.form == "json_object":
        return {"type": "json_object", "schema": schema}
    named = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def logprob_fields(request: ChatRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the fields that ask for likely tokens, in the server's dialect."""
    if request.top_logprobs is None:
        return {}
    if dialect.logprobs == "count":
        return {"logprobs": request.top_logprobs}
    return {"logprobs": True, "top_logprobs": request.top_logprobs}
