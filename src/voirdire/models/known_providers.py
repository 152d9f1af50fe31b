"""Providers by the prefix of a model's name: addresses, keys, and what is known of them.

What a row declares stands in the provider's public documentation; where that is silent, or where it
depends on the model, the row leaves it open and `voirdire.models.probe` finds it out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from voirdire.models.openai_compatible.dialect import Dialect, guess_dialect

if TYPE_CHECKING:
    from voirdire._types import ReplyForm

__all__ = ["PROVIDERS", "Provider"]

_ALL: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_OBJECT: tuple[ReplyForm, ...] = ("json_object", "text")
_TEXT: tuple[ReplyForm, ...] = ("text",)
_PLAIN = Dialect()


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Where models of a prefix are, and how they want to be asked.

    Attributes
    ----------
    base_url : str
        Its address.
    key_variables : tuple of str
        Environment variables that may hold the key, the usual one first; empty where no key is
        needed.
    forms : tuple of {"json_schema", "json_object", "text"}
        The forms of reply that it takes.
    top_logprobs : int or None
        How many likely tokens it gives at most; 0 for none; None where it depends on the model or
        is not said.
    reasoning_top_logprobs : int or None
        The same for models that think before they reply.
    dialect : Dialect
        How it wants parameters, as far as that does not depend on the model.
    """

    base_url: str
    key_variables: tuple[str, ...] = ()
    forms: tuple[ReplyForm, ...] = _ALL
    top_logprobs: int | None = None
    reasoning_top_logprobs: int | None = None
    dialect: Dialect = _PLAIN

    def is_at(self, base_url: str) -> bool:
        """Tell whether an address is its own, or one of its regions; never in the clear."""
        own, here = urlsplit(self.base_url), urlsplit(base_url)
        host, name = here.hostname or "", own.hostname or ""
        if here.scheme != own.scheme or ":" in host:  # [::1%.its.name] is an IP address
            return False
        return host == name or (host.endswith(f".{name}") and here.scheme == "https")

    def dialect_for(self, model: str) -> Dialect:
        """Give the dialect for one of its models."""
        guessed = guess_dialect(model, base_url=self.base_url)
        takes_temperature = guessed.takes_temperature and self.dialect.takes_temperature
        return replace(
            self.dialect, is_reasoning=guessed.is_reasoning, takes_temperature=takes_temperature
        )


PROVIDERS = {
    # Its compatible endpoint passes over response_format, logprobs and seed.
    "anthropic": Provider(
        base_url="https://api.anthropic.com/v1",
        key_variables=("ANTHROPIC_API_KEY",),
        forms=_TEXT,
        top_logprobs=0,
        reasoning_top_logprobs=0,
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
        top_logprobs=20,
    ),
    "fireworks": Provider(
        base_url="https://api.fireworks.ai/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        top_logprobs=5,
        reasoning_top_logprobs=5,
        dialect=Dialect(object_takes_schema=True),
    ),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "groq": Provider(
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        top_logprobs=0,
        reasoning_top_logprobs=0,
        dialect=Dialect(limit_name="max_completion_tokens"),
    ),
    "llamacpp": Provider(
        base_url="http://localhost:8080/v1",
        top_logprobs=20,
        reasoning_top_logprobs=20,
        dialect=Dialect(object_takes_schema=True),
    ),
    "lmstudio": Provider(base_url="http://localhost:1234/v1", forms=("json_schema", "text")),
    "mistral": Provider(
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        top_logprobs=0,
        reasoning_top_logprobs=0,
        dialect=Dialect(seed_name="random_seed"),
    ),
    "moonshot": Provider(
        base_url="https://api.moonshot.cn/v1", key_variables=("MOONSHOT_API_KEY",), forms=_OBJECT
    ),
    "ollama": Provider(
        base_url="http://localhost:11434/v1", top_logprobs=20, reasoning_top_logprobs=20
    ),
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        top_logprobs=20,
        reasoning_top_logprobs=0,
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
        top_logprobs=20,
        reasoning_top_logprobs=20,
        dialect=Dialect(object_takes_schema=True),
    ),
    "xai": Provider(base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",)),
    "zhipu": Provider(
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_variables=("ZHIPUAI_API_KEY",),
        forms=_OBJECT,
    ),
}
