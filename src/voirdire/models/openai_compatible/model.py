"""Defines a model behind an OpenAI-compatible server, and its settings."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from voirdire._messages import shorten
from voirdire._validation import check_count, check_positive
from voirdire.errors import InputError, ServerError
from voirdire.models.endpoints import Keys, check_base_url, looks_like_key, read_keys
from voirdire.models.openai_compatible.errors import CallErrors
from voirdire.models.openai_compatible.replies import read_replies
from voirdire.models.openai_compatible.wire import RequestBody, guess_dialect, with_effort
from voirdire.models.port import Capabilities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.models.openai_compatible.connection import HttpConnection
    from voirdire.models.openai_compatible.wire import Dialect
    from voirdire.models.port import ChatRequest
    from voirdire.records import Reply

__all__ = ["OpenAICompatibleModel", "check_extra", "check_number"]

# Fields of the body that have a place of their own, and which.
_PLACES = {
    "logprobs": "`top_logprobs` of a request",
    "max_completion_tokens": "`max_tokens`",
    "max_tokens": "`max_tokens`",
    "messages": "`messages` of a request",
    "model": "`model`",
    "random_seed": "`seed` of a request",
    "reasoning_effort": "`reasoning_effort`",
    "response_format": "`form` of a request",
    "seed": "`seed` of a request",
    "temperature": "`temperature`",
    "top_logprobs": "`top_logprobs` of a request",
}
_SECRET_NAME = re.compile(
    rb'"[^"]*(?:api[-_]?key|secret|password|authorization|access[-_]token)[^"]*":', re.IGNORECASE
)
_UNREAD = {"n": "`samples` asks for several replies", "stream": "replies are read whole"}


class OpenAICompatibleModel:
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
    temperature : float, optional
        Sent where a request names none, at least 0.
    reasoning_effort : str, optional
        Sent as it is, such as ``"low"``.
    max_tokens : int, optional
        Tokens of a reply at most, those of its reasoning included; goes before what a request
        says. Requests of a model that thinks first are otherwise sent without a bound, since the
        thinking would use it up.
    extra : mapping of str to object, optional
        Further fields of the body, sent as they are.
    timeout_s : float, optional
        Seconds for a whole call, from connecting to the last byte. By default whoever calls says,
        such as a judge by `Limits`.
    capabilities : Capabilities, optional
        What is known of the server.
    dialect : Dialect, optional
        How it wants parameters named; guessed from the names of model and host by default.
    reads_keys : bool, optional
        Whether keys are read, and missing ones refused. Without them it can be asked nothing.

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
    than 16 MiB is not read. Retries and caching: none; that is the runner's business.

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

    is_remote = True

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        name: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        max_tokens: int | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        capabilities: Capabilities | None = None,
        dialect: Dialect | None = None,
        reads_keys: bool = True,
    ) -> None:
        self._model = _check_word("model", model)
        self._name = self._model if name is None else _check_word("name", name)
        self._base_url = check_base_url(base_url)
        self._set: dict[str, Any] = {
            "temperature": check_number("temperature", temperature, high=100.0),
            "reasoning_effort": reasoning_effort,
            "max_tokens": max_tokens,
        }
        if reasoning_effort is not None:
            _check_word("reasoning_effort", reasoning_effort)
        if max_tokens is not None:
            check_count("max_tokens", max_tokens, minimum=1)
        self._extra = check_extra(extra or {})
        self._timeout_s = None if timeout_s is None else check_positive("timeout_s", timeout_s)
        self._capabilities = capabilities or Capabilities()
        self._reads_keys = reads_keys
        self._keys = read_keys(api_key_env) if reads_keys else Keys({})
        dialect = dialect or guess_dialect(self._model, base_url=self._base_url)
        self._body = RequestBody(
            model=self._model,
            dialect=with_effort(dialect, reasoning_effort),
            settings=self._set,
            extra=self._extra,
        )
        self._errors_of = partial(
            CallErrors, name=self._name, keys=self._keys, key_variable=api_key_env
        )
        self._connection: HttpConnection | None = None

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel(name={self._name!r}, base_url={self._base_url!r})"

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that its replies depend on, without keys."""
        more = {"extra": self._extra or None}
        chosen = {name: value for name, value in (self._set | more).items() if value is not None}
        here = {"api": "chat/completions", "base_url": self._base_url, "model": self._model}
        return here | chosen

    @property
    def capabilities(self) -> Capabilities:
        """Known abilities of its server."""
        return self._capabilities

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request; raise a `ModelCallError` where there is no reply."""
        (reply,) = await self._replies(request, n=1)
        return reply

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
            were held back. Their usages add up to what the call was charged: the prompt counts
            with the first, and the tokens of the replies are divided by their lengths.

        Raises
        ------
        InputError
            If `n` is no whole number of at least 1.
        ModelCallError
            If there is no reply at all; an `UnsupportedError` with the feature ``"n"`` where the
            server takes one reply a call.
        """
        return await self._replies(request, n=check_count("n", n, minimum=1))

    async def _replies(self, request: ChatRequest, *, n: int) -> Sequence[Reply]:
        connection = self._connection or self._connect()
        sent = partial(self._body.parameters, request, n=n)
        errors = self._errors_of(request=request, sent=sent)
        answer = await connection.post(self._body.encode(request, n=n))
        if not 200 <= answer.status < 300:
            raise errors.translate_answer(answer.body, status=answer.status, headers=answer.headers)
        if self._keys.are_in(answer.body):  # a reply is stored, and shown in part
            msg = f"{self._name} sent a key back that it was called with; the reply is not kept."
            raise ServerError(msg)
        return read_replies(answer.body, headers=answer.headers, errors=errors, n=n)

    async def close(self) -> None:
        """Close this event loop's connections; the model can be used again after it."""
        if self._connection is not None:
            await self._connection.close()

    def _connect(self) -> HttpConnection:
        if not self._reads_keys:
            msg = f"{self._name!r} was made without keys, for estimates: it can be asked nothing."
            raise InputError(msg)
        from voirdire.models.openai_compatible.connection import HttpConnection

        parts = urlsplit(self._base_url)
        self._connection = HttpConnection(
            name=self._name,
            url=urlunsplit(parts._replace(path=parts.path + "/chat/completions")),
            keys=self._keys,
            timeout_s=self._timeout_s,
        )
        return self._connection


def _check_word(name: str, value: str) -> str:
    """Return `value` if it is text on one line."""
    text: object = value
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        msg = f"`{name}` must be a word on one line, got {shorten(value)!r}."
        raise InputError(f"{msg} Leave it out to take the default.")
    return value


def check_number(name: str, value: Any, *, high: float) -> float | None:
    """Return `value` if it is None or a number in [0, `high`]."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high:
        return value
    msg = f"`{name}` must be a number in [0, {high:g}], got {shorten(value)!r}."
    raise InputError(f"{msg} Leave it out to take the server's own.")


def check_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return further fields of the body if they are JSON and none of those that are ours."""
    for name in extra:
        if name in _UNREAD:
            msg = f"`extra` must not hold {name!r}: {_UNREAD[name]}. Leave it out."
            raise InputError(msg)
        if name in _PLACES:
            msg = f"`extra` must not hold {name!r}, which has its own place."
            raise InputError(f"{msg} Set it as {_PLACES[name]}.")
    try:
        encoded = msgspec.json.encode(dict(extra))
    except (TypeError, ValueError, RecursionError):  # not JSON, or a circle
        msg = "`extra` must hold JSON values, got something else."
        raise InputError(f"{msg} Write numbers, words, lists and mappings.") from None
    if _SECRET_NAME.search(encoded) or looks_like_key(encoded.decode()):
        msg = "`extra` must hold no key and no password, got what looks like one."
        raise InputError(f"{msg} Name the environment variable that holds it: `api_key_env`.")
    fields: dict[str, Any] = msgspec.json.decode(encoded)
    return fields
