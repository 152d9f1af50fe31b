"""What is sent: the body of a request, put together from pieces that were encoded before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.openai_compatible.dialect import Dialect
    from voirdire.models.port import ChatRequest
    from voirdire.records import Message

__all__ = ["RequestBody"]

_MOST_KEPT = 64  # a run has a handful of system messages and of parameters; more is no pattern
_encode = msgspec.json.Encoder().encode


class RequestBody:
    """Makes the JSON of requests to one model.

    Only the user's message differs from call to call: the system's message and everything after
    the messages are encoded once and kept.

    Parameters
    ----------
    model : str
        What the server calls the model.
    dialect : Dialect
        How the server wants parameters.
    settings : mapping of str to object
        What was set on the model: ``temperature``, ``max_tokens``, ``reasoning_effort``,
        ``top_p``; absent or None where nothing was.
    extra : mapping of str to object
        Further fields, sent as they are.
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
        self._extra = dict(extra)
        self._head = b'{"model":' + _encode(model) + b',"messages":['
        self._first: dict[tuple[str, str], bytes] = {}
        self._tails: dict[tuple[Any, ...], bytes] = {}

    def encode(self, request: ChatRequest) -> bytes:
        """Give the body of a request."""
        messages = request.messages
        pieces = [self._first_message(messages[0]) if messages else b""]
        pieces += [_encode_message(message) for message in messages[1:]]
        return b"".join((self._head, b",".join(pieces), self._tail(request)))

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """Give every field of the body but the model and the messages."""
        dialect, settings = self._dialect, self._settings
        fields: dict[str, Any] = {
            "response_format": _response_format(request, dialect),
            "temperature": _temperature(request, dialect=dialect, settings=settings),
            dialect.limit_name: _limit(request, dialect=dialect, settings=settings),
            "top_p": settings.get("top_p"),
            "reasoning_effort": settings.get("reasoning_effort"),
            dialect.seed_name: request.seed,
            **_logprobs(request, dialect),
            **self._extra,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _first_message(self, message: Message) -> bytes:
        if message.role != "system":
            return _encode_message(message)
        key = (message.role, message.content)
        encoded = self._first.get(key)
        if encoded is None:
            encoded = _encode_message(message)
            _keep(self._first, key, encoded)
        return encoded

    def _tail(self, request: ChatRequest) -> bytes:
        key = (
            request.form,
            request.schema,
            request.top_logprobs,
            request.max_tokens,
            request.temperature,
            request.seed,
        )
        tail = self._tails.get(key)
        if tail is None:
            fields = _encode(self.parameters(request))
            tail = b"]}" if fields == b"{}" else b"]," + fields[1:]
            _keep(self._tails, key, tail)
        return tail


def _keep(cache: dict[Any, bytes], key: Any, encoded: bytes) -> None:
    if len(cache) >= _MOST_KEPT:
        cache.clear()
    cache[key] = encoded


def _encode_message(message: Message) -> bytes:
    try:
        return _encode(message)
    except UnicodeEncodeError:  # half a surrogate pair: not UTF-8, but JSON can name it
        return json.dumps({"role": message.role, "content": message.content}).encode()


def _response_format(request: ChatRequest, dialect: Dialect) -> dict[str, Any] | None:
    if request.form == "text":
        return None
    if request.form == "json_object":
        if dialect.object_takes_schema and request.schema:
            return {"type": "json_object", "schema": msgspec.Raw(request.schema)}
        return {"type": "json_object"}
    if not request.schema:
        msg = "`request.schema` must hold a JSON Schema where the form is 'json_schema', got b''."
        raise InputError(f"{msg} Ask for the form 'json_object' to do without one.")
    named = {"name": "verdict", "strict": True, "schema": msgspec.Raw(request.schema)}
    return {"type": "json_schema", "json_schema": named}


def _temperature(
    request: ChatRequest, *, dialect: Dialect, settings: Mapping[str, Any]
) -> float | None:
    if request.temperature is not None and dialect.takes_temperature:
        return request.temperature
    value: float | None = settings.get("temperature")
    return value


def _limit(request: ChatRequest, *, dialect: Dialect, settings: Mapping[str, Any]) -> int | None:
    value: int | None = settings.get("max_tokens")
    if value is None and not dialect.is_reasoning:
        return request.max_tokens
    return value


def _logprobs(request: ChatRequest, dialect: Dialect) -> dict[str, Any]:
    if request.top_logprobs is None:
        return {}
    if dialect.logprobs == "count":
        return {"logprobs": request.top_logprobs}
    return {"logprobs": True, "top_logprobs": request.top_logprobs}
