"""Loads a model by its name: known providers over HTTP, others through any-llm.

The table follows the providers' public documentation. Where that does not say, or where it depends
on the model, a row has None, and the first requests find it out.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from voirdire import errors
from voirdire._messages import shorten
from voirdire.models.chat_completions import OpenAICompatibleModel, guess_dialect
from voirdire.models.connection import check_base_url, is_loopback
from voirdire.models.port import FORMS, Capabilities

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.models.port import ChatModel

__all__ = ["PROVIDERS", "check_key_of_file", "is_model_name", "load_model"]

_OBJECT, _TEXT = FORMS[1:], FORMS[2:]
_ALLOWED = "VOIRDIRE_KEY_VARIABLES"  # others that a file may name: MY_KEY@judge.example.com
_ALLOWED_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(\S+)")
_NATIVE = "native"


@dataclass(frozen=True)
class Provider:
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


def _hosted(base_url: str, *keys: str, **abilities: Any) -> Provider:
    return Provider(f"https://{base_url}", tuple(f"{key}_API_KEY" for key in keys), **abilities)


# Anthropic's compatible endpoint passes over response_format, logprobs and seed.
PROVIDERS = {
    "anthropic": _hosted("api.anthropic.com/v1", "ANTHROPIC", forms=_TEXT, top_logprobs=(0, 0)),
    "cerebras": _hosted("api.cerebras.ai/v1", "CEREBRAS"),
    "dashscope": _hosted("dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE", forms=_OBJECT),
    "deepseek": _hosted("api.deepseek.com/v1", "DEEPSEEK", forms=_OBJECT, top_logprobs=(20, None)),
    "fireworks": _hosted("api.fireworks.ai/inference/v1", "FIREWORKS", top_logprobs=(5, 5)),
    "gemini": _hosted("generativelanguage.googleapis.com/v1beta/openai", "GEMINI", "GOOGLE"),
    "groq": _hosted("api.groq.com/openai/v1", "GROQ", top_logprobs=(0, 0)),
    "llamacpp": Provider("http://localhost:8080/v1", top_logprobs=(20, 20)),
    "lmstudio": Provider("http://localhost:1234/v1", forms=("json_schema", "text")),
    "mistral": _hosted("api.mistral.ai/v1", "MISTRAL", top_logprobs=(0, 0)),
    "moonshot": _hosted("api.moonshot.cn/v1", "MOONSHOT", forms=_OBJECT),
    "ollama": Provider("http://localhost:11434/v1", top_logprobs=(20, 20)),
    "openai": _hosted("api.openai.com/v1", "OPENAI", top_logprobs=(20, 0)),
    "openrouter": _hosted("openrouter.ai/api/v1", "OPENROUTER"),
    "sglang": Provider("http://localhost:30000/v1"),
    "siliconflow": _hosted("api.siliconflow.cn/v1", "SILICONFLOW", forms=_OBJECT),
    "together": _hosted("api.together.xyz/v1", "TOGETHER"),
    "vllm": Provider("http://localhost:8000/v1", top_logprobs=(20, 20)),
    "xai": _hosted("api.x.ai/v1", "XAI"),
    "zhipu": _hosted("open.bigmodel.cn/api/paas/v4", "ZHIPUAI", forms=_OBJECT),
}


def is_model_name(text: str) -> bool:
    """Return the name of a language model from a file's path.

    Parameters
    ----------
    text : str
        Such as ``"openai/gpt-4o-mini"``, or ``"models/judge.npz"``.

    Returns
    -------
    bool
        Whether it begins with a known prefix and a slash. The disk is not looked at: a file in a
        folder of that name is written ``"./openai/judge.npz"``.

    Examples
    --------
    >>> is_model_name("openai/gpt-4o-mini"), is_model_name("./openai/judge.npz")
    (True, False)
    """
    prefix, _, rest = text.partition("/")
    return bool(rest.strip("/")) and (prefix in PROVIDERS or prefix == _NATIVE)


def load_model(
    name: str,
    *,
    base_url: str | None = None,
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
        ``voirdire[providers]``).
    base_url : str, optional
        Another address, that of any compatible server. For ``"openai/…"`` the environment variable
        ``OPENAI_BASE_URL`` may hold it.
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
    prefix, _, model = name.partition("/")
    if not is_model_name(name):
        if base_url is None:
            known = (*PROVIDERS, _NATIVE)
            near = difflib.get_close_matches(prefix, known, n=1)
            meant = f" Perhaps {near[0]!r} is meant." if near else ""
            msg = f"`model` must be '<provider>/<model>' with one of {', '.join(known)}, got"
            raise errors.InputError(f"{msg} {shorten(name)!r}.{meant} Any server: --base-url URL.")
        prefix, model = "openai", name
    settings |= {"name": name, "api_key_env": api_key_env, "capabilities": capabilities}
    if prefix == _NATIVE:
        from voirdire.models.native import NativeModel

        return NativeModel(model, base_url=base_url, **settings)
    provider = PROVIDERS[prefix]
    told = os.environ.get("OPENAI_BASE_URL") if prefix == "openai" and base_url is None else None
    base_url = check_base_url(base_url or told or provider.base_url)
    is_home = provider.is_at(base_url)
    if is_home or not provider.key_variables:  # the same software, wherever it runs
        effort = settings.get("reasoning_effort")
        thinks = guess_dialect(model, base_url=base_url, effort=None).thinks
        # without thinking its abilities may differ, and are not documented
        top = None if thinks and effort == "none" else provider.top_logprobs[thinks or bool(effort)]
        declared = capabilities or Capabilities(forms=provider.forms)
        top = declared.top_logprobs if declared.top_logprobs is not None else top
        settings["capabilities"] = replace(declared, top_logprobs=top)
    if not api_key_env and (is_home or told):
        is_set = [key for key in provider.key_variables if os.environ.get(key, "").strip()]
        needed = provider.key_variables if is_home else ()
        settings["api_key_env"] = next(iter((*is_set, *needed)), None)
    return OpenAICompatibleModel(model=model, base_url=base_url, reads_keys=reads_keys, **settings)


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
    provider = PROVIDERS.get(own)
    variables = provider.key_variables if provider else ()
    place, is_home = f"{_NATIVE}/{own}", True
    address = base_url if provider is None or is_native else base_url or provider.base_url
    if address is not None:
        parts = urlsplit(check_base_url(address))
        is_read_by_others = parts.scheme == "http" and not is_loopback(parts.hostname or "")
        place = f"http://{parts.netloc}" if is_read_by_others else parts.netloc
        is_home = provider is not None and not is_native and provider.is_at(parts.geturl())
    if is_home and variable in (*variables, f"{own.upper()}_API_KEY"):
        return
    allowed = set()
    for entry in filter(None, map(str.strip, os.environ.get(_ALLOWED, "").split(","))):
        match = _ALLOWED_ENTRY.fullmatch(entry)
        if match is None:  # not shown: it may be a key
            msg = f"{_ALLOWED} must hold variables with hosts, got something else."
            way = "Write it like MY_KEY@judge.example.com,OTHER@localhost:8000."
            raise errors.InputError(f"{msg} {way}")
        allowed |= {match[2].lower().rstrip("/")} if match[1] == variable else set()
    if not {place, re.sub(r":\d+$", "", place)} & allowed:
        msg = (
            "a key that a file names must be the provider's own at its own address, or one that "
            f"you allow, got {shorten(variable)!r} for {shorten(place)!r}. If that key is meant "
            f"for there, set {_ALLOWED}={shorten(variable)}@{shorten(place)}."
        )
        raise errors.InputError(msg)
