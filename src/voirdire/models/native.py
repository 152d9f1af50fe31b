"""Calls models by their providers' own APIs, through any-llm."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.models.chat_completions import ChatCompletionsModel, Dialect
from voirdire.models.connection import HttpAnswer, Keys, check_base_url, read_keys
from voirdire.models.port import Capabilities

__all__ = ["NativeModel"]

# What an exception of any-llm means where it has no status of a server: status and code.
_MEANINGS = {
    "AuthenticationError": (401, ""),
    "ContentFilterError": (400, "content_filter"),
    "ContentFilterFinishReasonError": (400, "content_filter"),
    "ContextLengthExceededError": (413, ""),
    "GatewayTimeoutError": (408, ""),
    "InsufficientFundsError": (402, ""),
    "InvalidRequestError": (400, ""),
    "ModelNotFoundError": (404, ""),
    "NotImplementedError": (404, ""),
    "RateLimitError": (429, ""),
    "UnsupportedParameterError": (400, ""),
}
_SECRETS = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)S?(?:_ID)?$", re.IGNORECASE)
# Names of arguments that hold another address, which would get the keys too.
_ADDRESSES = re.compile(r"ur[il]$|host|endpoint|server|proxy|http|client|api_(?:base|key)", re.I)
_NO_LOGPROBS = Capabilities(forms=("json_schema", "text"), top_logprobs=0)


class NativeModel(ChatCompletionsModel):
    """A model behind a provider's own API: Anthropic, Gemini, Bedrock, Mistral and others.

    Parameters
    ----------
    model : str
        What any-llm calls the provider, a slash, and what the provider calls the model.
    name : str
        What verdicts call it.
    base_url : str or None
        Another address of the same API. No key is sent there unless `api_key_env` names it.
    api_key_env : str or None
        Environment variable that holds the key; None leaves it to the provider's usual ones.
    capabilities : Capabilities or None
        What it can do, where that is known better.
    **settings
        As for `voirdire.models.load_model`.

    Raises
    ------
    InputError
        If any-llm or the provider's own library is missing, if the provider is not known, if there
        is no key, or if an argument breaks its rule.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str | None,
        api_key_env: str | None,
        capabilities: Capabilities | None,
        **settings: Any,
    ) -> None:
        provider, _, model = model.partition("/")
        if not model or "://" in model:  # some libraries would call an address, and send their key
            msg = f"`model` must be 'native/<provider>/<model>', got {shorten(name)!r}."
            raise InputError(f"{msg} Write it like 'native/anthropic/claude-sonnet-4-5'.")
        for idle in ("key_header", "served_as"):
            if settings.pop(idle, None) is not None:
                msg = f"`{idle}` must come with a server that speaks OpenAI's dialect, got it with"
                raise InputError(f"{msg} {shorten(name)!r}. Leave it out.")
        extra = settings.get("extra") or {}
        inner = [key for part in extra.values() if isinstance(part, dict) for key in part]
        addresses = [key for key in (*extra, *inner) if _ADDRESSES.search(key)]
        if addresses:
            msg = f"`extra` must not say where requests go, got {shorten(addresses[0])!r}."
            raise InputError(f"{msg} Give an address as `base_url`.")
        base_url = None if base_url is None else check_base_url(base_url)
        # whatever the environment keeps as a secret: providers have many names for theirs
        keys = Keys({name: key for name, key in os.environ.items() if _SECRETS.search(name)})
        connection = NativeConnection(provider, variable=api_key_env, base_url=base_url, keys=keys)
        super().__init__(
            model=model,
            name=name,
            dialect=Dialect(),
            connection=connection,
            keys=keys,
            key_variable=connection.variable,
            capabilities=capabilities or (_NO_LOGPROBS if "anthropic" in provider else None),
            **settings,
        )
        here = {"provider": provider, "model": model, "base_url": base_url}
        self.settings = here | self._settings | {"extra": self._settings["extra"] or {}}


class NativeConnection:
    """Gives the body of a chat completion to any-llm; its exceptions become answers."""

    def __init__(
        self, provider: str, *, variable: str | None, base_url: str | None, keys: Keys
    ) -> None:
        needs = f"`native/{provider}` needs a library. Install it with `pip install"
        try:
            from any_llm import AnyLLM
            from any_llm.exceptions import AnyLLMError
        except ImportError:
            raise InputError(f'{needs} "voirdire[providers]"`.') from None
        known = AnyLLM.get_supported_providers()
        if provider not in known:
            msg = f"`native/` must be followed by one of {', '.join(sorted(known))}, got"
            raise InputError(f"{msg} {shorten(provider)!r}. Any other server: --base-url URL.")
        key = read_keys(variable, header="key" if variable else None).headers().get("key")
        try:
            kind: Any = AnyLLM.get_provider_class(provider)
            # any-llm writes several variables with a stroke between them
            usual = str(kind.ENV_API_KEY_NAME or None).split("/")
            is_set = [name for name in usual if os.environ.get(name)]
            if key is None and base_url is not None and is_set:
                msg = "`api_key_env` must be given with `base_url`, got None: no key is sent to"
                hint = f"Write `api_key_env={is_set[0]!r}` if it is meant for there."
                raise InputError(f"{msg} another address unless it is named. {hint}")
            given: dict[str, Any] = {"api_key": key, "api_base": base_url}
            if kind.MAX_RETRIES_SUPPORT != "unsupported":
                given["max_retries"] = 0
            self._make = partial(kind, unified_exceptions=True, **given)
            # Made at once, so that a missing key or library is known before anything is spent.
            self._spare: Any = self._make()
            failed = None
        except ImportError:
            failed = f'{needs} "any-llm-sdk[{provider}]"`.'
        except AnyLLMError as error:
            failed = (
                f"`native/{provider}` cannot be used: {shorten(keys.hide(str(error)), width=200)}"
            )
        if failed is not None:
            raise InputError(failed)
        self.variable = variable or (None if usual == ["None"] else "/".join(usual))
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def send(self, body: bytes) -> HttpAnswer:
        """Call a provider."""
        import pydantic
        from any_llm.exceptions import AnyLLMError

        loop = asyncio.get_running_loop()  # connections belong to the loop that they began in
        if loop not in self._clients:
            self._clients[loop], self._spare = self._spare or self._make(), None
        asked = {**msgspec.json.decode(body), "stream": False}
        try:
            completion = await self._clients[loop].acompletion(**asked)
        except pydantic.ValidationError as error:
            return HttpAnswer(500, {}, str(error).encode("utf-8", "replace"))
        except (AnyLLMError, NotImplementedError) as error:
            return _answer_of(error)
        read = json.dumps(completion.model_dump(warnings=False), default=str)
        return HttpAnswer(200, {}, read.encode())

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client, self._spare = self._clients.pop(asyncio.get_running_loop(), None), None
        inner = getattr(client, "client", None)
        close = getattr(inner, "close", None) or getattr(inner, "aclose", None)
        closing = close() if callable(close) else None
        if inspect.isawaitable(closing):
            await closing


def _answer_of(error: Exception) -> HttpAnswer:
    """Write the answer of which any-llm made an exception."""
    names = [kind.__name__ for kind in type(error).__mro__]
    status, code = next((_MEANINGS[name] for name in names if name in _MEANINGS), (500, ""))
    original = getattr(error, "original_exception", None)
    if any("timeout" in kind.__name__.lower() for kind in type(original).__mro__):
        status = 408
    told = {"message": str(error), "param": getattr(error, "param", None)}
    told |= {
        "code": code or getattr(error, "code", None),
        "type": getattr(error, "error_type", None),
    }
    headers = getattr(getattr(original, "response", None), "headers", None) or {}
    return HttpAnswer(
        status=getattr(error, "status_code", None) or status,
        headers={name.lower(): value for name, value in headers.items()},
        body=json.dumps({"error": told}).encode(),
    )
