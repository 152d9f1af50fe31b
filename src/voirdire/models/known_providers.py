"""Lists providers by the prefix of a model's name: addresses, keys and capabilities.

The rows follow the providers' public documentation. Where that does not say, or where it depends on
the model, the row has None, and `voirdire.models.check_model` finds it out.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.models.endpoints import check_base_url, is_loopback
from voirdire.models.openai_compatible.wire import Dialect, guess_dialect
from voirdire.models.port import Capabilities

if TYPE_CHECKING:
    from voirdire._types import ReplyForm

__all__ = ["PROVIDERS", "Provider", "check_key_of_file"]

_ALL: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_OBJECT: tuple[ReplyForm, ...] = ("json_object", "text")
_TEXT: tuple[ReplyForm, ...] = ("text",)
_PLAIN = Dialect()
_ALLOWED = "VOIRDIRE_KEY_VARIABLES"  # others that a file may name: MY_KEY@judge.example.com
_ALLOWED_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(\S+)")
_NATIVE = "native"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A provider: its address, keys, abilities, and dialect.

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
    dialect : Dialect
        Its form of parameters, where that does not depend on the model.
    """

    base_url: str
    key_variables: tuple[str, ...] = ()
    forms: tuple[ReplyForm, ...] = _ALL
    top_logprobs: tuple[int | None, int | None] = (None, None)
    dialect: Dialect = _PLAIN

    def is_at(self, base_url: str) -> bool:
        """Return whether an address is its own, or of one of its regions; only with https."""
        own, here = urlsplit(self.base_url), urlsplit(base_url)
        host, name = here.hostname or "", own.hostname or ""
        if here.scheme != own.scheme or ":" in host:  # [::1%.its.name] is an IP address
            return False
        return host == name or (host.endswith(f".{name}") and here.scheme == "https")

    def dialect_for(self, model: str, *, base_url: str) -> Dialect:
        """Return the dialect for one of its models, at its own address or another."""
        guessed = guess_dialect(model, base_url=base_url)
        return replace(
            self.dialect,
            is_reasoning=guessed.is_reasoning,
            takes_temperature=guessed.takes_temperature and self.dialect.takes_temperature,
            marks_cache=guessed.marks_cache,
        )

    def capabilities_for(self, *, thinks: bool, effort: str | None) -> Capabilities:
        """Return the abilities of one of its models."""
        top = self.top_logprobs[thinks]
        if thinks and effort == "none":  # its abilities may differ there, and are not documented
            top = None
        return Capabilities(forms=self.forms, top_logprobs=top)


PROVIDERS = {
    # Its compatible endpoint passes over response_format, logprobs and seed.
    "anthropic": Provider(
        base_url="https://api.anthropic.com/v1",
        key_variables=("ANTHROPIC_API_KEY",),
        forms=_TEXT,
        top_logprobs=(0, 0),
    ),
    "cerebras": Provider(
        base_url="https://api.cerebras.ai/v1",
        key_variables=("CEREBRAS_API_KEY",),
        dialect=Dialect(limit_name="max_completion_tokens"),
    ),
    "dashscope": Provider(
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        forms=_OBJECT,
    ),
    "deepseek": Provider(
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        forms=_OBJECT,
        top_logprobs=(20, None),
    ),
    "fireworks": Provider(
        base_url="https://api.fireworks.ai/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        top_logprobs=(5, 5),
        dialect=Dialect(object_takes_schema=True),
    ),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "groq": Provider(
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        top_logprobs=(0, 0),
        dialect=Dialect(limit_name="max_completion_tokens"),
    ),
    "llamacpp": Provider(
        base_url="http://localhost:8080/v1",
        top_logprobs=(20, 20),
        dialect=Dialect(object_takes_schema=True),
    ),
    "lmstudio": Provider(base_url="http://localhost:1234/v1", forms=("json_schema", "text")),
    "mistral": Provider(
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        top_logprobs=(0, 0),
        dialect=Dialect(seed_name="random_seed"),
    ),
    "moonshot": Provider(
        base_url="https://api.moonshot.cn/v1", key_variables=("MOONSHOT_API_KEY",), forms=_OBJECT
    ),
    "ollama": Provider(base_url="http://localhost:11434/v1", top_logprobs=(20, 20)),
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        top_logprobs=(20, 0),
        dialect=Dialect(limit_name="max_completion_tokens"),
    ),
    "openrouter": Provider(
        base_url="https://openrouter.ai/api/v1", key_variables=("OPENROUTER_API_KEY",)
    ),
    "sglang": Provider(
        base_url="http://localhost:30000/v1", dialect=Dialect(object_takes_schema=True)
    ),
    "siliconflow": Provider(
        base_url="https://api.siliconflow.cn/v1",
        key_variables=("SILICONFLOW_API_KEY",),
        forms=_OBJECT,
    ),
    "together": Provider(
        base_url="https://api.together.xyz/v1",
        key_variables=("TOGETHER_API_KEY",),
        dialect=Dialect(logprobs="count"),
    ),
    "vllm": Provider(
        base_url="http://localhost:8000/v1",
        top_logprobs=(20, 20),
        dialect=Dialect(object_takes_schema=True),
    ),
    "xai": Provider(base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",)),
    "zhipu": Provider(
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_variables=("ZHIPUAI_API_KEY",),
        forms=_OBJECT,
    ),
}


def check_key_of_file(variable: str | None, *, model: str, base_url: str | None) -> None:
    """Refuse a key that a file names and the user has not allowed.

    It may be the provider's own, on the way to that provider, or one that is allowed for that
    address by ``VOIRDIRE_KEY_VARIABLES``. The author of a file chooses the address too, and could
    else have any variable sent there, such as the password of a database.
    """
    prefix, _, rest = model.partition("/")
    if variable is None:
        if prefix == _NATIVE and base_url is not None:  # its library finds keys itself
            msg = (
                f"a file with an address for {shorten(model)!r} must name the key for it too, got "
                "none. Write `api_key_env: MY_KEY` beside it."
            )
            raise InputError(msg)
        return
    if _is_providers_own(variable, prefix=prefix, rest=rest, base_url=base_url):
        return
    place = _place(prefix, rest=rest, base_url=base_url)
    if not {place, _strip_port(place)} & _read_allowed_addresses(variable):
        msg = (
            "a key that a file names must be the provider's own at its own address, or one that "
            f"you allow, got {shorten(variable)!r} for {shorten(place)!r}. If that key is meant "
            f"for there, set {_ALLOWED}={shorten(variable)}@{shorten(place)}."
        )
        raise InputError(msg)


def _is_providers_own(variable: str, *, prefix: str, rest: str, base_url: str | None) -> bool:
    if prefix == _NATIVE:
        name = rest.partition("/")[0]
        provider = PROVIDERS.get(name)
        own = (f"{name.upper()}_API_KEY", *(provider.key_variables if provider else ()))
        return variable in own and base_url is None
    provider = PROVIDERS.get(prefix)
    if provider is None or variable not in provider.key_variables:
        return False
    return provider.is_at(provider.base_url if base_url is None else check_base_url(base_url))


def _place(prefix: str, *, rest: str, base_url: str | None) -> str:
    """Return the host that would get a key; with ``http://`` where it is not encrypted."""
    provider = PROVIDERS.get(prefix)
    if base_url is None and provider is None:
        return f"{prefix}/{rest.partition('/')[0]}" if prefix == _NATIVE else prefix
    default = "" if provider is None else provider.base_url
    parts = urlsplit(check_base_url(base_url or default))
    is_read_by_others = parts.scheme == "http" and not is_loopback(parts.hostname or "")
    return f"http://{parts.netloc}" if is_read_by_others else parts.netloc


def _strip_port(place: str) -> str:
    return re.sub(r":\d+$", "", place)


def _read_allowed_addresses(variable: str) -> set[str]:
    """Read the addresses that a variable is allowed for."""
    allowed_addresses = set()
    for entry in filter(None, map(str.strip, os.environ.get(_ALLOWED, "").split(","))):
        match = _ALLOWED_ENTRY.fullmatch(entry)
        if match is None:  # not shown: it may be a key
            msg = f"{_ALLOWED} must hold variables with hosts, got something else."
            raise InputError(f"{msg} Write it like MY_KEY@judge.example.com,OTHER@localhost:8000.")
        if match[1] == variable:
            allowed_addresses.add(match[2].lower().rstrip("/"))
    return allowed_addresses
