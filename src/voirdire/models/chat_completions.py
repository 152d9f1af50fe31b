"""Asks models by OpenAI's chat completions, and adapts to what each server takes.

A call passes through the files in this order: here the request is made, `connection` sends it,
`replies` reads replies, `errors` classifies everything else.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from voirdire import errors
from voirdire._validation import check_count, check_positive
from voirdire.models import connection as http
from voirdire.models.errors import Server, reset_s
from voirdire.models.port import FORMS, Capabilities
from voirdire.models.replies import read_replies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.models.port import ChatRequest
    from voirdire.records import Message, Reply

__all__ = ["ChatCompletionsModel", "Connection", "Dialect", "OpenAICompatibleModel"]

_MOST_KEPT = 64  # a run has few system messages and parameters
_THINKS = re.compile(
    r"(?:.*/)?(?:o[1-9](?:-|$)|gpt-5(?!.*chat))|.*(?:gpt-oss|deepseek-(?:r1|reasoner|v[4-9])|qwq|"
    r"magistral|thinking|reasoning(?!-off)|gemini-(?:2\.5|[3-9])|grok-(?:3-mini|4)|"
    r"kimi-k2\.[5-9]|glm-(?:4\.[5-9]|[5-9])|qwen3)",
    re.IGNORECASE,
)
_THINKS_NOT = re.compile(r"non-reasoning|instruct", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs, which strict servers refuse
_encode = msgspec.json.Encoder().encode

# Fields of the body that have a place of their own.
_OURS = {
    *("logprobs", "max_completion_tokens", "max_tokens", "messages", "model", "n", "random_seed"),
    *("reasoning_effort", "response_format", "seed", "stream", "temperature", "top_logprobs"),
}
# What may be left out of a schema: replies are checked here all the same.
_KEYWORDS = {"additionalProperties", "strict", "minimum", "maximum", "minItems", "maxItems"}
# What a server may refuse, and what is sent in place of it; None leaves it out.
_INSTEAD: Mapping[str, Any] = {
    "top_logprobs": None, "n": None, "seed": None, "temperature": None,
    "system": "the beginning of the user's message", "max_tokens": None, "reasoning_effort": None,
    "stream": True,
}  # fmt: skip
_USUAL = {
    "response_format": "form",
    "logprobs": "top_logprobs",
    "max_completion_tokens": "max_tokens",
}
_BREAKING = {"top_logprobs", "system"}  # with the form, what some servers break of
_MOST_SEARCHES = 2
_NEARLY_ZERO = 0.01
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.-]*[a-zA-Z])")  # not that of a model's name
_OF_SIZE = re.compile(r"large|small|most|least|exceed|less|greater|range|between|[<>]", re.I)
_ABOVE_ZERO = re.compile(r"positive|greater|above|range|between|[>(] ?0|大于", re.I)
_LONG_WAIT_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What differs between servers and cannot be learned from their errors.

    Attributes
    ----------
    thinks : bool
        Whether the model thinks before it replies. Its limit then includes the thinking, so that a
        limit for the reply alone is not sent. A wrong guess costs no more than that limit.
    counts_logprobs : bool
        Whether ``logprobs`` is the number itself, instead of true beside ``top_logprobs``.
    marks_cache : bool
        Whether the system message has Anthropic's mark for caching. Other servers cache without it,
        or refuse it.
    """

    thinks: bool = False
    counts_logprobs: bool = False
    marks_cache: bool = False


def guess_dialect(model: str, *, base_url: str, effort: str | None) -> Dialect:
    """Guess the dialect of a server from the names of its model and its host."""
    host = urlsplit(base_url).hostname
    thinks = bool(_THINKS.match(model)) and not _THINKS_NOT.search(model)
    is_routed = host == "openrouter.ai" and model.startswith("anthropic/")
    return Dialect(
        thinks=thinks if effort is None else effort != "none",
        counts_logprobs=host == "api.together.xyz",
        marks_cache=is_routed or host == "api.anthropic.com",
    )


class Connection(Protocol):
    """Where requests go: a server by HTTP, or a library."""

    async def send(self, body: bytes) -> http.HttpAnswer:
        """Send the body of a request; raise a `ModelCallError` where there is no answer."""

    async def close(self) -> None:
        """Close what the running event loop has open."""


class ChatCompletionsModel:
    """A model that learns what its server takes.

    Where an error names a parameter that was sent, the request is made again at once without it,
    or with what the message allows. What helped holds for every later request. A change that did
    not help is forgotten, since the error was about something else. Where an error names nothing,
    and there was no reply yet, parameters are left out one at a time.
    """

    is_remote = True

    def __init__(
        self,
        model: str,
        *,
        name: str,
        dialect: Dialect,
        connection: Connection | None,
        keys: http.Keys,
        key_variable: str | None,
        capabilities: Capabilities | None = None,
        **settings: Any,
    ) -> None:
        self._dialect = dialect
        self._connection = connection
        self._server = Server(name=name, keys=keys, key_variable=key_variable)
        self.name = name
        self.capabilities = capabilities or Capabilities()
        self.adaptations: Sequence[str] = self._server.adaptations
        self._settings = _check_settings(**settings)
        # Only the user message differs between calls: all else is encoded once.
        self._head = b'{"model":' + _encode(model) + b',"messages":['
        encode_system = partial(_encode_message, marks_cache=dialect.marks_cache)
        self._encode_system = lru_cache(_MOST_KEPT)(encode_system)
        self._encode_fields = lru_cache(_MOST_KEPT)(lambda *asked: _encode(self._fields(*asked)))
        self._changes: dict[str, Any] = {}
        self._n_searches = 0
        self._closed_until = 0.0

    async def close(self) -> None:
        """Close this event loop's connections; the model can be used again after it."""
        if self._connection is not None:
            await self._connection.close()

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request; raise a `ModelCallError` where there is no reply."""
        return (await self.samples(request, 1))[0]

    async def samples(self, request: ChatRequest, n: int) -> Sequence[Reply]:
        """Ask for several replies in one call.

        Parameters
        ----------
        request : ChatRequest
            What is asked, at a temperature above 0: else all replies are alike.
        n : int
            How many, at least 1.

        Returns
        -------
        sequence of Reply
            At most `n`; fewer where the server gives fewer, or where some choices are refusals or
            were held back; one where it takes no number. The first has the usage of all.

        Raises
        ------
        ModelCallError
            If there is no reply at all; an `UnsupportedError` with the feature ``"logprobs"``
            where the server refuses to give them.
        """
        request = msgspec.structs.replace(request, n=n)
        sure = changes = self._changes
        reasons: dict[str, errors.ModelCallError] = {}
        trials: Iterator[tuple[str, Any]] | None = None
        result = await self._send(request, changes)
        while isinstance(result, errors.UnsupportedError):
            if result.feature:
                sure = changes
                name, value = self._change(result, request, changes)
            else:
                trials = trials or self._trials(request, changes, status=result.status)
                name, value = next(trials, ("", None))
            if not name:
                break
            changes, reasons[name] = {**sure, name: value}, result
            result = await self._send(request, changes)
        if isinstance(result, errors.UnsupportedError):
            kind = errors.ServerError if (result.status or 0) >= 500 else errors.BadRequestError
            raise kind(str(result), status=result.status)
        if isinstance(result, errors.ModelCallError):
            raise result
        if changes.get("top_logprobs", n) is None:
            reason = reasons["top_logprobs"]
            raise errors.UnsupportedError(str(reason), feature="logprobs", status=reason.status)
        self._server.has_replied = True
        for name in reasons.keys() & changes.keys():
            if self._changes.get(name, reasons) != changes[name]:
                self._changes = {**self._changes, name: changes[name]}
                how = "left out" if changes[name] is None else f"sent as {changes[name]}"
                self._server.note(f"`{name}` is {how}, since {reasons[name]}")
        return result

    def _trials(
        self, request: ChatRequest, changes: Mapping[str, Any], *, status: int | None
    ) -> Iterator[tuple[str, Any]]:
        """Give one change at a time, to find what is refused without a word; not too often."""
        self._n_searches += 1
        if self._n_searches <= _MOST_SEARCHES:
            later = FORMS[FORMS.index(_form(request, changes)) + 1 :]
            yield from (("form", form) for form in later)
            names = self._names(request, changes)
            if (status or 0) >= 500:
                names &= _BREAKING
            yield from ((name, value) for name, value in _INSTEAD.items() if name in names)

    async def _send(
        self, request: ChatRequest, changes: Mapping[str, Any]
    ) -> Sequence[Reply] | errors.ModelCallError:
        """Make one call; an `UnsupportedError` has the name of what may be refused."""
        server = self._server
        left_s = self._closed_until - time.monotonic()
        if left_s > 0:
            said = server.sentence("said in its last reply that its limit is used up")
            return errors.RateLimitError(said, retry_after_s=left_s)
        if self._connection is None:
            msg = f"{self.name!r} was made without keys, for estimates: it can be asked nothing."
            raise errors.InputError(msg)
        messages = [
            self._encode_system(message) if message.role == "system" else _encode_message(message)
            for message in _messages(request, changes)
        ]
        rest = msgspec.structs.replace(request, messages=())
        fields = self._encode_fields(rest, tuple(changes.items()))
        tail = b"]}" if fields == b"{}" else b"]," + fields[1:]
        answer = await self._connection.send(b"".join((self._head, b",".join(messages), tail)))

        def error(said: object, status: int = 0) -> errors.ModelCallError:
            return server.error(
                said,
                status=status,
                headers=answer.headers,
                request=request,
                sent=self._names(request, changes),
            )

        if not 200 <= answer.status < 300:
            return error(answer.body, answer.status)
        if server.keys.are_in(answer.body):  # a reply is stored, and shown in part
            said = server.sentence("sent a key back that it was called with; its reply is not kept")
            return errors.ServerError(said)
        if "0" in answer.headers.values():
            wait_s = reset_s(answer.headers, is_used_up=True) or 0.0
            self._closed_until = time.monotonic() + wait_s if wait_s > _LONG_WAIT_S else 0.0
        form = _form(request, changes)
        return read_replies(answer.body, request=request, form=form, server=server, error=error)

    def _fields(self, request: ChatRequest, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Return every field of the body except the model and the messages."""
        changes, settings = dict(pairs), self._settings
        temperature, limit, top = request.temperature, request.max_tokens, request.top_logprobs
        top = None if top is None else changes.get("top_logprobs", top)
        fields: dict[str, Any] = {
            "response_format": _response_format(request, changes),
            "temperature": settings["temperature"] if temperature is None else temperature,
            "max_tokens": settings["max_tokens"] or (None if self._dialect.thinks else limit),
            "reasoning_effort": settings["reasoning_effort"],
            "seed": request.seed,
            "n": request.n if request.n > 1 else None,
            "logprobs": top if top is None or self._dialect.counts_logprobs else True,
            "top_logprobs": None if self._dialect.counts_logprobs else top,
            "stream": changes.get("stream"),
        }
        sent = {
            changes.get(f"name of {name}", name): changes.get(name, value)
            for name, value in fields.items()
            if value is not None
        }
        sent |= settings["extra"]
        return {name: value for name, value in sent.items() if value is not None}

    def _names(self, request: ChatRequest, changes: Mapping[str, Any]) -> set[str]:
        """Name all that the server may refuse of a request, by the usual names."""
        fields = self._fields(request, changes.items())
        schema = _encode(fields.get("response_format")).decode()
        names = {_USUAL.get(name, name) for name in fields} ^ {"stream"}
        names |= {message.role for message in _messages(request, changes)}
        names &= {"form", *_INSTEAD}
        return names | {word for word in _KEYWORDS if f'"{word}":' in schema}

    def _change(
        self, error: errors.UnsupportedError, request: ChatRequest, changes: Mapping[str, Any]
    ) -> tuple[str, Any]:
        """Return what to send in place of what a server refused."""
        name, text = error.feature, str(error)
        fields = self._fields(request, changes.items())
        if name == "form":
            return name, FORMS[FORMS.index(_form(request, changes)) + 1]
        if name == "top_logprobs":
            top = fields.get("top_logprobs") or fields["logprobs"]
            allowed = [int(number) for number in _NUMBER.findall(text) if 2 <= int(number) < top]
            return name, max(allowed, default=None)
        if name == "max_tokens" and name in fields and not _OF_SIZE.search(text):
            return "name of max_tokens", "max_completion_tokens"
        if name == "temperature" and fields[name] == 0 and _ABOVE_ZERO.search(text):
            return name, _NEARLY_ZERO
        return name, _INSTEAD.get(name)


def _form(request: ChatRequest, changes: Mapping[str, Any]) -> ReplyForm:
    """Return the form of reply that is really asked for."""
    return max(request.form, changes.get("form", request.form), key=FORMS.index)


def _messages(request: ChatRequest, changes: Mapping[str, Any]) -> Sequence[Message]:
    """Return the messages; where the server knows no role `system`, it begins the user's."""
    if "system" not in changes:
        return request.messages
    system = [message.content for message in request.messages if message.role == "system"]
    first, *others = [message for message in request.messages if message.role != "system"]
    content = "\n\n".join([*system, first.content])
    return (msgspec.structs.replace(first, content=content), *others)


def _response_format(request: ChatRequest, changes: Mapping[str, Any]) -> dict[str, Any] | None:
    form = _form(request, changes)
    if form == "text":
        return None
    if form == "json_object":
        return {"type": form}
    named = {"name": "verdict", "strict": True, "schema": msgspec.json.decode(request.schema)}
    return {"type": form, "json_schema": _without(named, changes)}


def _without(value: Any, words: Mapping[str, Any], *, is_named: bool = False) -> Any:
    """Leave keywords out of a schema; names of properties are none."""
    if not isinstance(value, dict):
        return value
    return {
        key: _without(part, words, is_named=key == "properties" and not is_named)
        for key, part in value.items()
        if is_named or key not in words
    }


def _encode_message(message: Message, *, marks_cache: bool = False) -> bytes:
    """Encode a message: its text, or parts of text and images."""
    try:
        if not message.images and not marks_cache:
            return _encode(message)
        text: dict[str, Any] = {"type": "text", "text": message.content}
        text |= {"cache_control": {"type": "ephemeral"}} if marks_cache else {}
        images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
        return _encode({"role": message.role, "content": [text, *images]})
    except UnicodeEncodeError:
        whole = msgspec.structs.replace(message, content=_HALVES.sub("\ufffd", message.content))
        return _encode_message(whole, marks_cache=marks_cache)


def _check_settings(
    *,
    temperature: float | None = None,
    reasoning_effort: str | None = None,
    max_tokens: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a model; `extra` must be JSON without keys and without our fields."""
    if temperature is not None:
        check_positive("temperature", temperature, zero=True)
    if max_tokens is not None:
        check_count("max_tokens", max_tokens, minimum=1)
    for name in _OURS.intersection(extra or ()):
        msg = f"`extra` must not hold {name!r}, which has its own place."
        raise errors.InputError(f"{msg} Leave it out, or set it as a setting of the judge.")
    try:
        encoded = _encode(dict(extra or {}))
    except (TypeError, ValueError, RecursionError):  # not JSON, or a circle
        msg = "`extra` must hold JSON values, got something else."
        raise errors.InputError(f"{msg} Write numbers, words, lists and mappings.") from None
    if http.looks_like_key(encoded.decode()):
        msg = "`extra` must hold no key and no password, got what looks like one."
        raise errors.InputError(f"{msg} Name the variable that holds it: `api_key_env`.")
    return {
        "temperature": temperature,
        "reasoning_effort": reasoning_effort,
        "max_tokens": max_tokens,
        "extra": msgspec.json.decode(encoded),
    }


class OpenAICompatibleModel(ChatCompletionsModel):
    """A model behind any server that speaks OpenAI's chat completions.

    `voirdire.models.load_model` makes one from a name such as ``"openai/gpt-4o-mini"`` and knows
    the addresses, the variables of keys and the ways of the providers.

    Parameters
    ----------
    model : str
        What the server calls the model.
    base_url : str
        Address of the server, what comes before ``/chat/completions``.
    name : str, optional
        What verdicts and messages call it; `model` by default.
    api_key_env : str, optional
        Environment variable that holds the key. Without it no key is sent.
    key_header : str, optional
        Header of the key, such as ``"api-key"``; by default it is a bearer token.
    served_as : str, optional
        Name of the deployment, which stands for the address in `settings`: replies are found again
        when the same model is served elsewhere.
    reads_keys : bool, optional
        Whether keys are read, and missing ones refused. Without them it can be asked nothing.
    **settings
        As for `voirdire.models.load_model`: `temperature`, `reasoning_effort`, `max_tokens`,
        `extra`, `capabilities`.

    Raises
    ------
    InputError
        If an argument breaks its rule, or an environment variable is missing.

    Notes
    -----
    Order: calls are independent. Errors: whatever goes wrong is a `ModelCallError`, placed by
    status and by what the server says; what the server says is shown in part, without keys and
    without what it repeats of the prompt. Redirects are not followed. Cancellation: closes the
    connection of the call; the server may still finish and charge it. Memory: an answer of more
    than 16 MiB is not read. Retries and caching: a request is made again only where a parameter of
    it was refused; waiting and trying again is the caller's business, and so is the time of a call.

    The key is read once, when the model is made, and kept where no repr shows it. Proxies are
    those that the environment names, except for this machine itself.

    Examples
    --------
    >>> model = OpenAICompatibleModel(model="llama-3", base_url="http://localhost:8080/v1")
    >>> model.name
    'llama-3'
    >>> model.settings["base_url"]
    'http://localhost:8080/v1'
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        name: str | None = None,
        api_key_env: str | None = None,
        key_header: str | None = None,
        served_as: str | None = None,
        reads_keys: bool = True,
        **settings: Any,
    ) -> None:
        name, base_url = name or model, http.check_base_url(base_url)
        keys = http.read_keys(api_key_env, header=key_header) if reads_keys else http.Keys({})
        connection = http.HttpConnection(base_url, "/chat/completions", name=name, keys=keys)
        effort = settings.get("reasoning_effort")
        super().__init__(
            model,
            name=name,
            dialect=guess_dialect(model, base_url=base_url, effort=effort),
            connection=connection if reads_keys else None,
            keys=keys,
            key_variable=api_key_env,
            **settings,
        )
        here = {"api": "chat/completions", "base_url": served_as or base_url, "model": model}
        told = {key: value for key, value in self._settings.items() if value not in (None, {})}
        self.settings = here | told

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel(name={self.name!r}, base_url={self.settings['base_url']!r})"
