"""Where servers that call themselves compatible differ in what a request may say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from voirdire.models.openai_compatible.addresses import is_loopback

__all__ = ["Dialect", "guess_dialect", "is_reasoning_model", "with_effort"]

LimitName: TypeAlias = Literal["max_tokens", "max_completion_tokens"]
SeedName: TypeAlias = Literal["seed", "random_seed"]
LogprobsForm: TypeAlias = Literal["flag", "count"]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a server wants parameters named, and which of them its model refuses.

    Attributes
    ----------
    limit_name : {"max_tokens", "max_completion_tokens"}
        What bounds the tokens of a reply.
    seed_name : {"seed", "random_seed"}
        What makes a reply repeatable.
    logprobs : {"flag", "count"}
        Whether ``logprobs`` is true with the number in ``top_logprobs``, or is the number itself.
    object_takes_schema : bool
        Whether ``json_object`` may carry the schema beside it.
    is_reasoning : bool
        Whether the model thinks before it replies. Its limit then counts the thinking too, so that
        a bound made for the reply alone is not sent.
    takes_temperature : bool
        Whether the temperature of a request is sent. One that is set on the model always is.
    """

    limit_name: LimitName = "max_tokens"
    seed_name: SeedName = "seed"
    logprobs: LogprobsForm = "flag"
    object_takes_schema: bool = False
    is_reasoning: bool = False
    takes_temperature: bool = True


_OPENAI_REASONING = re.compile(r"(?:.*/)?(?:o[1-9](?:-|$)|gpt-5(?!.*chat))", re.IGNORECASE)
_REASONING = re.compile(
    r"gpt-oss|deepseek-(?:r1|reasoner|v[4-9])|qwq|magistral|thinking|reasoning(?!-off)|"
    r"gemini-(?:2\.5|[3-9])|grok-(?:3-mini|4)|kimi-k2\.[5-9]|glm-(?:4\.[5-9]|[5-9])|qwen3",
    re.IGNORECASE,
)
_NOT_REASONING = re.compile(r"non-reasoning|instruct", re.IGNORECASE)


def is_reasoning_model(model: str) -> bool:
    """Tell by its name whether a model is known to think before it replies.

    A name that is wrongly taken for one costs only the bound on the length of its replies.
    """
    if _OPENAI_REASONING.match(model):
        return True
    return _REASONING.search(model) is not None and _NOT_REASONING.search(model) is None


def guess_dialect(model: str, *, base_url: str) -> Dialect:
    """Guess how a server of no known provider wants its parameters.

    Parameters
    ----------
    model : str
        What the server calls the model.
    base_url : str
        Of the server. On this machine it is llama.cpp, vLLM, Ollama or their like, which take a
        schema beside ``json_object`` or pass over it.

    Returns
    -------
    Dialect
        OpenAI's own for models that are named like its own.
    """
    is_openai = _OPENAI_REASONING.match(model) is not None
    return Dialect(
        limit_name="max_completion_tokens" if is_openai else "max_tokens",
        object_takes_schema=is_loopback(urlsplit(base_url).hostname or ""),
        is_reasoning=is_reasoning_model(model),
        takes_temperature=not is_openai,
    )


def with_effort(dialect: Dialect, reasoning_effort: str | None) -> Dialect:
    """Give the dialect of a model that was told how much to think."""
    if reasoning_effort is None:
        return dialect
    thinks = reasoning_effort != "none"
    takes_temperature = dialect.takes_temperature or not thinks
    return replace(dialect, is_reasoning=thinks, takes_temperature=takes_temperature)
