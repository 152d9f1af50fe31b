"""Calls models by their providers' own APIs, through any-llm."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire._validation import check_count, check_positive
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)
from voirdire.models.endpoints import Keys, check_base_url, read_keys
from voirdire.models.openai_compatible.errors import CallErrors
from voirdire.models.openai_compatible.model import check_extra, check_number
from voirdire.models.openai_compatible.replies import read_replies
from voirdire.models.openai_compatible.wire import (
    Dialect,
    logprob_fields,
    message_fields,
    response_format,
)
from voirdire.models.port import Capabilities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.port import ChatRequest
    from voirdire.records import Reply

__all__ = ["ProvidersModel"]

# Our error for each exception of any-llm, by name; the nearest ancestor counts.
_KINDS: dict[str, type[ModelCallError]] = {
    "AuthenticationError": AccessError,
    "BatchNotCompleteError": BadRequestError,
    "ContentFilterError": ContentFilterError,
    "ContentFilterFinishReasonError": ContentFilterError,
    "ContextLengthExceededError": BadRequestError,
    "GatewayTimeoutError": ModelTimeoutError,
    "InsufficientFundsError": AccessError,
    "InvalidRequestError": BadRequestError,
    "MissingApiKeyError": AccessError,
    "ModelNotFoundError": AccessError,
    "ProviderFileNotFoundError": BadRequestError,
    "RateLimitError": RateLimitError,
    "UnsupportedProviderError": AccessError,
}
_UNKNOWN_ARGUMENT = re.compile(r"unexpected keyword argument '(\w+)'")
# Features that a provider lacks for every model.
_DECLARED = dict.fromkeys(
    ("anthropic", "azureanthropic", "vertexaianthropic"),
    Capabilities(forms=("json_schema", "text"), top_logprobs=0),
)
_SECRET_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)S?(?:_ID)?$", re.IGNORECASE)
_OURS = {"api_base", "api_key", "timeout"}  # arguments of any-llm besides those of a request
# Arguments that hold another address, which would get the keys too.
_ADDRESS_NAMES = re.compile(
    r"ur[il]$|host|endpoint|server|proxy|http|client|api_base", re.IGNORECASE
)
_NO_VARIABLE = ("", "None", None)  # what any-llm writes for a provider that needs no key


class ProvidersModel:
    """A model behind a provider's own API: Anthropic, Gemini, Bedrock, Mistral and others.

    Parameters
    ----------
    provider : str
        What any-llm calls the provider, such as ``"anthropic"``.
    model : str
        What the provider calls the model.
    name : str, optional
        What verdicts call it; None takes ``"native/<provider>/<model>"``.
    base_url : str, optional
        Another address of the same API. No key is sent there unless `api_key_env` names it.
    api_key_env : str, optional
        Environment variable that holds the key; None leaves it to the provider's usual ones.
    temperature : float, optional
        For requests that name none.
    reasoning_effort : str, optional
        Such as ``"low"``; None leaves it to the provider.
    max_tokens : int, optional
        Tokens of a reply at most, whatever the request says.
    extra : mapping of str to object, optional
        Further parameters of the provider's API.
    timeout_s : float, optional
        Deadline of a call, from its beginning to the whole reply. By default whoever calls says.
    capabilities : Capabilities, optional
        What it can do, where that is known better.

    Raises
    ------
    InputError
        If any-llm or the provider's own library is missing, if the provider is not known, if there
        is no key, or if an argument breaks its rule.

    Notes
    -----
    *Order*: one request, one reply. *Errors*: every failure is a `ModelCallError`, free of keys.
    *Cancellation*: the call is dropped; the provider may charge for it. *Memory*: one reply.
    *Retries and caching*: none; where the provider's library would try again, it is told not to.

    A seed is left out where the provider's API has none.
    """

    is_remote = True

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        name: str | None = None,
        base_url: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        max_tokens: int | None = None,
        extra: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        if max_tokens is not None:
            check_count("max_tokens", max_tokens, minimum=1)
        self._provider = provider
        if "://" in model:  # some libraries would call it, and send their key along
            msg = "`model` must be what the provider calls a model, got an address."
            raise InputError(f"{msg} Give an address as `base_url`.")
        self._model = model
        self._name = name or f"native/{provider}/{model}"
        self._base_url = None if base_url is None else check_base_url(base_url)
        self._api_key_env = api_key_env
        self._temperature = check_number("temperature", temperature, high=2)
        self._reasoning_effort = reasoning_effort
        self._max_tokens = max_tokens
        self._extra = _check_extra(extra)
        self._timeout_s = None if timeout_s is None else check_positive("timeout_s", timeout_s)
        self._capabilities = capabilities or _DECLARED.get(provider, Capabilities())
        self._takes_seed = True
        kind = _provider_class(provider)
        self._has_timeout = kind.TIMEOUT_SUPPORT != "unsupported"
        # whatever the environment keeps as a secret: providers have many names for theirs
        secrets = {name: key for name, key in os.environ.items() if _SECRET_NAMES.search(name)}
        self._keys = Keys(secrets)
        usual = kind.ENV_API_KEY_NAME
        self._errors_of = partial(
            CallErrors,
            name=self._name,
            keys=self._keys,
            key_variable=api_key_env or (None if usual in _NO_VARIABLE else usual),
        )
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any]
        self._clients = weakref.WeakKeyDictionary()
        # Made at once, so that a missing key or library is known before anything is spent.
        self._spare: Any = self._new_client()

    def __repr__(self) -> str:
        return f"ProvidersModel(provider={self._provider!r}, model={self._model!r})"

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Provider, model, address, and fixed fields of requests; never a key."""
        return {
            "provider": self._provider,
            "model": self._model,
            "base_url": self._base_url,
            "temperature": self._temperature,
            "reasoning_effort": self._reasoning_effort,
            "max_tokens": self._max_tokens,
            "extra": dict(self._extra),
        }

    @property
    def capabilities(self) -> Capabilities:
        """The declared abilities, or those of the provider."""
        return self._capabilities

    async def reply(self, request: ChatRequest) -> Reply:
        """Ask the provider.

        Parameters
        ----------
        request : ChatRequest
            What is asked.

        Returns
        -------
        Reply
            With log-probabilities where they were asked for and the provider gives them.

        Raises
        ------
        ModelCallError
            If there is no reply.
        """
        errors = self._errors_of(request=request, sent=partial(self._arguments, request))
        said = await self._call_provider(errors)
        if isinstance(said, UnsupportedError) and said.feature == "seed" and said.status is None:
            # The provider's library has no such parameter, so nothing has been sent yet.
            self._takes_seed = False
            said = await self._call_provider(errors)
        if isinstance(said, ModelCallError):
            raise said
        body = json.dumps(said.model_dump(warnings=False), default=str).encode()
        return read_replies(body, headers={}, errors=errors)[0]

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client, self._spare = self._clients.pop(asyncio.get_running_loop(), None), None
        inner = getattr(client, "client", None)
        close = getattr(inner, "close", None) or getattr(inner, "aclose", None)
        if callable(close):
            closing = close()
            if inspect.isawaitable(closing):
                await closing

    async def _call_provider(self, errors: CallErrors) -> Any:
        """Call; return what came or, instead of raising it where keys may be near, the error."""
        import pydantic
        from any_llm.exceptions import AnyLLMError

        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._client().acompletion(**errors.sent())
        except TimeoutError:
            within = "in time" if self._timeout_s is None else f"within {self._timeout_s:g} s"
            return ModelTimeoutError(f"{self._name}: no reply {within}.")
        except (AnyLLMError, NotImplementedError) as error:
            return self._translate_error(error, errors)
        except pydantic.ValidationError as error:
            return ServerError(self._sentence(f"the provider's reply has another form: {error}"))

    def _translate_error(self, error: Exception, errors: CallErrors) -> ModelCallError:
        """Make our error of a provider's error."""
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return _translate_answer(error, status=status, errors=errors)
        feature = _unknown_parameter(error, request=errors.request)
        if feature is not None:
            return UnsupportedError(self._sentence(str(error)), feature=feature)
        return _kind(error)(self._sentence(str(error)))

    def _sentence(self, text: str) -> str:
        return f"{self._name}: {shorten(self._keys.hide(text), width=300)}"

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        temperature = self._temperature if request.temperature is None else request.temperature
        given = {
            "temperature": temperature,
            "max_tokens": self._max_tokens or request.max_tokens,
            "reasoning_effort": self._reasoning_effort,
            "response_format": response_format(request, Dialect()),
            "seed": request.seed if self._takes_seed else None,
            "timeout": self._timeout_s if self._has_timeout else None,
            **logprob_fields(request, Dialect()),
        }
        return {
            "model": self._model,
            "messages": [message_fields(message) for message in request.messages],
            **{key: value for key, value in given.items() if value is not None},
            **self._extra,
        }

    def _client(self) -> Any:
        """Return the running event loop's client: connections belong to the loop they began in."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client, self._spare = self._spare or self._new_client(), None
            self._clients[loop] = client
        return client

    def _new_client(self) -> Any:
        kind = _provider_class(self._provider)
        from any_llm.exceptions import AnyLLMError

        key = _key(self._api_key_env, usual=kind.ENV_API_KEY_NAME, base_url=self._base_url)
        retries = {} if kind.MAX_RETRIES_SUPPORT == "unsupported" else {"max_retries": 0}
        failed: str
        try:
            return kind(api_key=key, api_base=self._base_url, unified_exceptions=True, **retries)
        except ImportError:
            failed = _missing_library(self._provider)
        except AnyLLMError as error:
            variable = getattr(error, "env_var_name", None)
            failed = (
                f"`native/{self._provider}` cannot be used: {shorten(self._keys.hide(str(error)))}"
                if variable is None
                else f"`native/{self._provider}` needs its key in the environment variable "
                f"{variable}, which is not set. Set it, or name another with `api_key_env`."
            )
        raise InputError(failed)


def _provider_class(provider: str) -> Any:
    try:
        from any_llm import AnyLLM
    except ImportError:
        msg = (
            "`voirdire.models.ProvidersModel` needs any-llm. "
            'Install it with `pip install "voirdire[providers]"`.'
        )
        raise InputError(msg) from None
    known = AnyLLM.get_supported_providers()
    if provider not in known:
        msg = (
            f"`provider` must be one of {', '.join(sorted(known))}, got {shorten(provider)!r}. "
            "A server that speaks OpenAI's dialect is `openai/<model>` with `base_url`."
        )
        raise InputError(msg)
    try:
        return AnyLLM.get_provider_class(provider)
    except ImportError:
        raise InputError(_missing_library(provider)) from None


def _missing_library(provider: str) -> str:
    return (
        f"`native/{provider}` needs that provider's own library. Install it with "
        f'`pip install "any-llm-sdk[{provider}]"`.'
    )


def _key(variable: str | None, *, usual: str, base_url: str | None) -> str | None:
    """Read the key that is named; None leaves it to any-llm, which knows the usual variables."""
    if variable is not None:
        return read_keys(variable).headers()["Authorization"].removeprefix("Bearer ")
    # any-llm writes several variables with a stroke between them
    is_set = [name for name in (usual or "").split("/") if name and os.environ.get(name)]
    if base_url is not None and is_set:
        msg = (
            "`api_key_env` must be given with `base_url`, got None: no key is sent to another "
            f"address unless it is named. Write `api_key_env={is_set[0]!r}` if it is meant for "
            "there."
        )
        raise InputError(msg)
    return None


def _check_extra(extra: Mapping[str, Any] | None) -> Mapping[str, Any]:
    taken = sorted(_OURS.intersection(extra or ()))
    if taken:
        msg = f"`extra` must not hold {taken[0]!r}. It is set by its own parameter or the request."
        raise InputError(msg)
    headers = [value for name, value in (extra or {}).items() if name.lower().endswith("headers")]
    names = [*(extra or ()), *(name for each in headers if isinstance(each, dict) for name in each)]
    addresses = sorted(name for name in names if _ADDRESS_NAMES.search(name))
    if addresses:
        msg = f"`extra` must not say where requests go, got {shorten(addresses[0])!r}."
        raise InputError(f"{msg} Give an address as `base_url`.")
    check_extra(extra or {})
    return dict(extra or {})


def _translate_answer(error: Exception, *, status: int, errors: CallErrors) -> ModelCallError:
    """Make the error of a server's answer, by the same rules as for any server."""
    original = getattr(error, "original_exception", None)
    body = getattr(original, "body", None)
    headers = getattr(getattr(original, "response", None), "headers", None)
    answer = errors.translate_answer(
        str(error).encode("utf-8", "replace") if body is None else msgspec.json.encode(body),
        status=status,
        headers={name.lower(): value for name, value in (headers or {}).items()},
    )
    if type(answer) is not BadRequestError:
        return answer
    is_filter = _KINDS.get(type(error).__name__) is ContentFilterError
    return ContentFilterError(str(answer), status=status) if is_filter else answer


def _kind(error: Exception) -> type[ModelCallError]:
    """Make the error of a failed connection, a missing library, or a request that was not sent."""
    original = getattr(error, "original_exception", None)
    if "JSON" in type(original).__name__:
        return ServerError
    if any("timeout" in kind.__name__.lower() for kind in type(original).__mro__):
        return ModelTimeoutError
    if isinstance(error, NotImplementedError):
        return AccessError
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), ServerError)


def _unknown_parameter(error: Exception, *, request: ChatRequest) -> str | None:
    """Return the part of the request that a provider's library does not support."""
    found = _UNKNOWN_ARGUMENT.search(str(error))
    named = found[1] if found else getattr(error, "parameter_name", None)
    if not isinstance(named, str):
        return None
    if "response_format" in named:
        return request.form
    return "logprobs" if "logprobs" in named else named
