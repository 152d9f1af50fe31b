"""Loads a model by its name: known providers over HTTP, others through any-llm.

`providers.json` follows the providers' public documentation. Where that does not say, or where it
depends on the model, it has null, and the first requests find it out.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import json
import os
import re
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from voirdire import errors
from voirdire._messages import shorten
from voirdire._types import ReplyForm  # noqa: TC001  # msgspec reads the annotation
from voirdire.models import connection as http
from voirdire.models.chat_completions import OpenAICompatibleModel, thinks_first
from voirdire.models.decisions import DIALECTS, DecisionModel
from voirdire.models.port import FORMS, RULES, Capabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Api
    from voirdire.models.decisions import Dialect
    from voirdire.models.port import ChatModel, ChatRequest
    from voirdire.records import Reply

_ALLOWED = "VOIRDIRE_KEY_VARIABLES"  # others that a file may name: MY_KEY@judge.example.com
_ALLOWED_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(\S+)")
_NATIVE = "native"
_SECRETS = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)S?(?:_ID)?$", re.IGNORECASE)
# Names of arguments that hold another address, which would get the keys too.
_ADDRESSES = re.compile(r"ur[il]$|host|endpoint|server|proxy|http|client|api_(?:base|key)", re.I)


class Provider(msgspec.Struct, frozen=True):
    """A provider: its address, keys and abilities.

    Attributes
    ----------
    base_url : str
        Its address.
    key_variables : tuple of str
        Environment variables that may hold the key, the usual one first; empty where no key is
        needed.
    forms : tuple of {"json_schema", "json_object", "text"}
        The forms of reply that it takes.
    top_logprobs : tuple of int or None
        How many likely tokens it gives at most, and the same for models that think before they
        reply; 0 for none; None where it depends on the model or is not said.
    """

    base_url: str
    key_variables: tuple[str, ...] = ()
    forms: tuple[ReplyForm, ...] = FORMS
    top_logprobs: tuple[int | None, int | None] = (None, None)

    def is_at(self, base_url: str) -> bool:
        """Return whether an address is its own, or of one of its regions; only with https."""
        own, here = urlsplit(self.base_url), urlsplit(base_url)
        host, name = here.hostname or "", own.hostname or ""
        if here.scheme != own.scheme or ":" in host:  # [::1%.its.name] is an IP address
            return False
        return host == name or (host.endswith(f".{name}") and here.scheme == "https")


_FILE = files("voirdire").joinpath("data", "providers.json")
PROVIDERS = msgspec.json.decode(_FILE.read_bytes(), type=dict[str, Provider])


def is_model_name(text: str) -> bool:
    """Return the name of a language model from a file's path.

    Parameters
    ----------
    text : str
        Such as ``"openai/gpt-4o-mini"``, or ``"models/judge.npz"``.

    Returns
    -------
    bool
        Whether it begins with a known prefix and a slash, or is ``"rules"``, which asks no model.
        The disk is not looked at: a file in a folder of that name is written
        ``"./openai/judge.npz"``.

    Examples
    --------
    >>> is_model_name("openai/gpt-4o-mini"), is_model_name("./openai/judge.npz")
    (True, False)
    """
    prefix, _, rest = text.partition("/")
    is_known = bool(rest.strip("/")) and prefix in (*PROVIDERS, *DIALECTS, _NATIVE)
    return is_known or text == RULES


def load_model(
    name: str,
    *,
    base_url: str | None = None,
    api: Api | None = None,
    api_key_env: str | None = None,
    reads_keys: bool = True,
    capabilities: Capabilities | None = None,
    **settings: Any,
) -> ChatModel:
    """Make the model of a name; nothing is called, and nothing is spent.

    Parameters
    ----------
    name : str
        ``"<provider>/<model>"``, such as ``"openai/gpt-4o-mini"``: whatever stands behind the first
        slash is the provider's own name of the model. With `base_url` it may be the model's name
        alone. ``"native/<provider>/<model>"`` takes a provider's own API (extra
        ``voirdire[providers]``). ``"rules"`` is no model: whatever has no rule in code fails.
    base_url : str, optional
        Another address, that of any compatible server. For ``"openai/…"`` the environment variable
        ``OPENAI_BASE_URL`` may hold it.
    api : {"chat", "systemone", "decisions"}, optional
        What the server speaks: chat completions, or one of the interfaces of decision models,
        which a prefix says too: ``"systemone/<model>"``, ``"decisions/<model>"``.
    api_key_env : str, optional
        Environment variable that holds the key; by default the provider's usual one. A key is never
        sent to a host that it was not made for: at a `base_url` of another host than the
        provider's, no key is sent unless this names it.
    reads_keys : bool, optional
        Whether keys are read, and missing ones refused. Without them a model can be asked nothing:
        for estimates of what a run would cost.
    capabilities : Capabilities, optional
        What the server can do, where that is known better than by its provider.
    **settings
        `temperature`, sent where a request names none. `reasoning_effort`: how much the model
        thinks, such as ``"low"``. `max_tokens` of a reply at most, those of its reasoning included.
        `extra`: further fields of the request, a mapping. `key_header`: header of the key, such as
        ``"api-key"``, in place of a bearer token. `served_as`: name of the deployment, which stands
        for the address in the model's settings.

    Returns
    -------
    ChatModel
        Ready to be asked.

    Raises
    ------
    InputError
        If the prefix is not known, a key is missing, or a setting breaks its rule.

    Examples
    --------
    >>> model = load_model("llamacpp/qwen2.5-7b", temperature=0)
    >>> model.name, model.settings["base_url"]
    ('llamacpp/qwen2.5-7b', 'http://localhost:8080/v1')
    """
    if name == RULES and base_url is None:
        return _NoModel()
    prefix, _, model = name.partition("/")
    if api is None and prefix in DIALECTS and model:
        api = prefix
    elif api in DIALECTS and prefix != api:
        model = name
    if api in DIALECTS:
        settings |= {"name": name, "api_key_env": api_key_env, "reads_keys": reads_keys}
        settings["images"] = capabilities is not None and capabilities.images
        return _load_decider(api, model, base_url=base_url, **settings)
    if not is_model_name(name):
        if base_url is None:
            prefixes = (*PROVIDERS, *DIALECTS, _NATIVE)
            near = difflib.get_close_matches(prefix, prefixes, n=1)
            meant = "".join(f" Perhaps {word!r} is meant." for word in near)
            msg = f"`model` must be '<provider>/<model>' with one of {', '.join(prefixes)}, got"
            raise errors.InputError(f"{msg} {shorten(name)!r}.{meant} Any server: --base-url URL.")
        prefix, model = "openai", name
    settings |= {"name": name, "api_key_env": api_key_env, "capabilities": capabilities}
    if prefix == _NATIVE:
        return _load_native(model, base_url=base_url, **settings)
    provider = PROVIDERS[prefix]
    told = os.environ.get("OPENAI_BASE_URL") if prefix == "openai" and base_url is None else None
    base_url = http.check_base_url(base_url or told or provider.base_url)
    is_home = provider.is_at(base_url)
    if is_home or not provider.key_variables:  # the same software, wherever it runs
        known, thinks = capabilities or Capabilities(forms=provider.forms), thinks_first(model)
        # told not to think, a model may give others, which is not documented
        is_told = thinks and settings.get("reasoning_effort") == "none"
        is_open = known.top_logprobs is None and not is_told
        most = provider.top_logprobs[thinks] if is_open else known.top_logprobs
        settings["capabilities"] = replace(known, top_logprobs=most)
    if not api_key_env and (is_home or told):
        named = provider.key_variables
        settings["api_key_env"] = _find_key(named, otherwise=named if is_home else ())
    return OpenAICompatibleModel(model=model, base_url=base_url, reads_keys=reads_keys, **settings)


def _find_key(variables: Sequence[str], *, otherwise: Sequence[str]) -> str | None:
    """Return the first variable that is set, or else the first of the others."""
    is_set = [name for name in variables if os.environ.get(name, "").strip()]
    return next(iter((*is_set, *otherwise)), None)


class _NoModel:
    """Stands where a model does, and replies to nothing: what rules answer needs no call."""

    name = RULES
    settings = MappingProxyType[str, Any]({})
    capabilities = Capabilities()

    async def reply(self, _: ChatRequest) -> Reply:
        """Fail."""
        msg = "it has no rule, and the judge 'rules' asks no model"
        raise errors.BadRequestError(msg)

    async def close(self) -> None:
        """Close nothing."""


def check_key_of_file(variable: str | None, *, model: str, base_url: str | None) -> None:
    """Refuse a key that a file names and the user has not allowed.

    It may be the provider's own, on the way to that provider, or one that is allowed for that
    address by ``VOIRDIRE_KEY_VARIABLES``. The author of a file chooses the address too, and could
    else have any variable sent there, such as the password of a database.
    """
    prefix, _, rest = model.partition("/")
    is_native = prefix == _NATIVE
    if variable is None:
        if is_native and base_url is not None:  # its library finds keys itself
            msg = f"a file with an address for {shorten(model)!r} must name the key for it too, got"
            raise errors.InputError(f"{msg} none. Write `api_key_env: MY_KEY` beside it.")
        return
    own = rest.partition("/")[0] if is_native else prefix
    provider = PROVIDERS.get(own, Provider(""))
    address = base_url or ("" if is_native else provider.base_url)
    place, is_home = f"{_NATIVE}/{own}", not address
    if address:
        parts = urlsplit(http.check_base_url(address))
        is_read_by_others = parts.scheme == "http" and not http.is_loopback(parts.hostname or "")
        place = f"http://{parts.netloc}" if is_read_by_others else parts.netloc
        is_home = not is_native and provider.is_at(parts.geturl())
    if is_home and variable in (*provider.key_variables, f"{own.upper()}_API_KEY"):
        return
    allowed = set()
    for entry in filter(None, map(str.strip, os.environ.get(_ALLOWED, "").split(","))):
        match = _ALLOWED_ENTRY.fullmatch(entry)
        if match is None:  # not shown: it may be a key
            msg = f"{_ALLOWED} must hold variables with hosts, got something else. Write it like"
            raise errors.InputError(f"{msg} MY_KEY@judge.example.com,OTHER@localhost:8000.")
        allowed |= {match[2].lower().rstrip("/")} if match[1] == variable else set()
    if not {place, re.sub(r":\d+$", "", place)} & allowed:
        named, place = shorten(variable), shorten(place)
        msg = "a key that a file names must be the provider's own at its own address, or one that"
        hint = f"If that key is meant for there, set {_ALLOWED}={named}@{place}."
        raise errors.InputError(f"{msg} you allow, got {named!r} for {place!r}. {hint}")


def _load_decider(
    api: Dialect, model: str, *, base_url: str | None, api_key_env: str | None, **settings: Any
) -> ChatModel:
    """Make a decision model; `systemone` and `decisions` alone mean those who made them so."""
    for word in ("temperature", "reasoning_effort", "max_tokens"):
        if settings.pop(word, None) is not None:
            msg = f"`{word}` must be left out for a decision model, which writes no text."
            raise errors.InputError(msg)
    base_url = base_url or PROVIDERS["typesafe" if api == "systemone" else "openai"].base_url
    home = [row for row in PROVIDERS.values() if row.key_variables and row.is_at(base_url)]
    if home and not api_key_env:
        named = home[0].key_variables
        api_key_env = _find_key(named, otherwise=named)
    return DecisionModel(
        api=api, model=model, base_url=base_url, api_key_env=api_key_env, **settings
    )


def _load_native(
    model: str, *, base_url: str | None, served_as: str | None = None, **settings: Any
) -> ChatModel:
    """Make a model behind a provider's own API: any-llm's name of it, a slash, and its own name."""
    provider, _, model = model.partition("/")
    if not model or "://" in model:  # some libraries would call an address, and send their key
        msg = f"`model` must be 'native/<provider>/<model>', got {shorten(settings['name'])!r}."
        raise errors.InputError(f"{msg} Write it like 'native/anthropic/claude-sonnet-4-5'.")
    extra = settings.get("extra") or {}
    inner = [key for part in extra.values() if isinstance(part, dict) for key in part]
    addresses = [key for key in (*extra, *inner) if _ADDRESSES.search(key)]
    if addresses:
        msg = f"`extra` must not say where requests go, got {shorten(addresses[0])!r}."
        raise errors.InputError(f"{msg} Give an address as `base_url`.")
    base_url = None if base_url is None else http.check_base_url(base_url)
    variable = settings.pop("api_key_env")
    connection = NativeConnection(provider, variable=variable, base_url=base_url)
    if "anthropic" in provider and settings["capabilities"] is None:
        settings["capabilities"] = Capabilities(forms=("json_schema", "text"), top_logprobs=0)
    address = base_url or f"https://{provider}.invalid"
    made = OpenAICompatibleModel(model=model, base_url=address, connection=connection, **settings)
    here = {"provider": provider, "model": model, "base_url": served_as or base_url}
    made.settings = here | made.sampling
    return made


class NativeConnection(http.HttpConnection):
    """Gives the body of a chat completion to any-llm; its exceptions become answers."""

    def __init__(self, provider: str, *, variable: str | None, base_url: str | None) -> None:
        # whatever the environment keeps as a secret: providers have many names for theirs
        secrets = {name: key for name, key in os.environ.items() if _SECRETS.search(name)}
        self.keys = http.Keys(secrets)
        needs = f"`native/{provider}` needs a library. Install it with `pip install"
        failed = f'{needs} "voirdire[providers]"`.'
        key = http.read_keys(variable, header="key" if variable else None).headers().get("key")
        try:
            from any_llm import AnyLLM
            from any_llm.exceptions import AnyLLMError

            known = AnyLLM.get_supported_providers()
            if provider not in known:
                msg = f"`native/` must be followed by one of {', '.join(sorted(known))}, got"
                raise errors.InputError(
                    f"{msg} {shorten(provider)!r}. Any other server: --base-url URL."
                )
            failed = f'{needs} "any-llm-sdk[{provider}]"`.'
            kind: Any = AnyLLM.get_provider_class(provider)
            # any-llm writes several variables with a stroke between them
            usual = str(kind.ENV_API_KEY_NAME or None).split("/")
            is_set = [name for name in usual if os.environ.get(name)]
            if key is None and base_url is not None and is_set:
                msg = "`api_key_env` must be given with `base_url`, got None: no key is sent to"
                hint = f"Write `api_key_env={is_set[0]!r}` if it is meant for there."
                raise errors.InputError(f"{msg} another address unless it is named. {hint}")
            given: dict[str, Any] = {"api_key": key, "api_base": base_url}
            if kind.MAX_RETRIES_SUPPORT != "unsupported":
                given["max_retries"] = 0
            self._make = partial(kind, unified_exceptions=True, **given)
            # Made at once, so that a missing key or library is known before anything is spent.
            self._spare: Any = self._make()
        except ImportError:
            raise errors.InputError(failed) from None
        except AnyLLMError as error:  # it names the variable of a key that is missing
            said = shorten(self.keys.hide(str(error)), width=200)
            raise errors.InputError(f"`native/{provider}` cannot be used: {said}") from None
        self.variable = variable or (None if usual == ["None"] else "/".join(usual))
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def send(self, body: bytes | None) -> http.HttpAnswer:
        """Call a provider."""
        import pydantic
        from any_llm.exceptions import AnyLLMError

        loop = asyncio.get_running_loop()  # connections belong to the loop that they began in
        if loop not in self._clients:
            self._clients[loop], self._spare = self._spare or self._make(), None
        asked = {**msgspec.json.decode(body or b"{}"), "stream": False}
        try:
            completion = await self._clients[loop].acompletion(**asked)
        except pydantic.ValidationError as error:
            return http.HttpAnswer(500, {}, str(error).encode("utf-8", "replace"))
        except (AnyLLMError, NotImplementedError) as error:
            return _answer_of(error)
        read = json.dumps(completion.model_dump(warnings=False), default=str)
        return http.HttpAnswer(200, {}, read.encode())

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client, self._spare = self._clients.pop(asyncio.get_running_loop(), None), None
        inner = getattr(client, "client", None)
        close = getattr(inner, "close", None) or getattr(inner, "aclose", None)
        closing = close() if callable(close) else None
        if inspect.isawaitable(closing):
            await closing


def _answer_of(error: Exception) -> http.HttpAnswer:
    """Write the answer of which any-llm made an exception; the names of kinds stand for codes."""
    original = getattr(error, "original_exception", None)
    kinds = " ".join(kind.__name__ for kind in (*type(error).__mro__, *type(original).__mro__))
    is_ours = "InvalidRequest" in kinds or "UnsupportedParameter" in kinds
    status = 408 if "timeout" in kinds.lower() else 400 if is_ours else 0
    told = {"message": str(error), "code": kinds, "type": getattr(error, "code", None)}
    told |= {"param": getattr(error, "param", None)}
    headers = getattr(getattr(original, "response", None), "headers", None) or {}
    return http.HttpAnswer(
        status=getattr(error, "status_code", None) or status,
        headers={name.lower(): value for name, value in headers.items()},
        body=json.dumps({"error": told}).encode(),
    )
