"""Loads a model by its name, and checks what its server can do."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from voirdire._messages import shorten
from voirdire.errors import AccessError, InputError, ModelCallError
from voirdire.models.endpoints import check_base_url
from voirdire.models.known_providers import PROVIDERS
from voirdire.models.openai_compatible.model import OpenAICompatibleModel
from voirdire.models.openai_compatible.wire import guess_dialect
from voirdire.models.port import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import ReplyForm
    from voirdire.models.known_providers import Provider
    from voirdire.models.port import Capabilities, ChatModel

__all__ = ["check_model", "is_model_name", "load_model"]

_NATIVE = "native"
_KNOWN = (*PROVIDERS, _NATIVE)


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
    prefix, slash, rest = text.partition("/")
    return bool(slash and rest.strip("/")) and prefix in _KNOWN


def load_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    temperature: float | None = None,
    reasoning_effort: str | None = None,
    max_tokens: int | None = None,
    extra: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    capabilities: Capabilities | None = None,
    reads_keys: bool = True,
) -> ChatModel:
    """Make the model of a name; nothing is called, and nothing is spent.

    Parameters
    ----------
    name : str
        ``"<provider>/<model>"``, such as ``"openai/gpt-4o-mini"``: whatever stands behind the first
        slash is the provider's own name of the model; beside a `base_url` that name alone will do.
        ``"native/<provider>/<model>"`` takes a provider's own API (extra ``voirdire[providers]``).
    base_url : str, optional
        Another address; with ``"openai/…"`` that of any compatible server.
    api_key_env : str, optional
        Environment variable that holds the key; by default the provider's usual one. A key is never
        sent to a host that it was not made for: at a `base_url` of another host than the
        provider's, no key is sent unless this names it.
    temperature : float, optional
        Sent where a request names none.
    reasoning_effort : str, optional
        How much the model thinks, such as ``"low"``, ``"medium"``, ``"high"``.
    max_tokens : int, optional
        Tokens of a reply at most, those of its reasoning included.
    extra : mapping of str to object, optional
        Further fields of the request.
    timeout_s : float, optional
        Seconds for a whole call. By default whoever calls says, such as a judge by its `timeout_s`.
    capabilities : Capabilities, optional
        What the server can do, where that is known better than by its provider.
    reads_keys : bool, optional
        Whether keys are read, and missing ones refused. Without them a model can be asked nothing:
        for estimates of what a run would cost.

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
    prefix, rest = _parts(name, base_url=base_url)
    settings: dict[str, Any] = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "base_url": base_url,
        "api_key_env": api_key_env,
        "reasoning_effort": reasoning_effort,
        "extra": extra,
        "capabilities": capabilities,
        "timeout_s": timeout_s,
    }
    if prefix == _NATIVE:
        return _native(rest, name=name, settings=settings)
    settings["reads_keys"] = reads_keys
    return _compatible(PROVIDERS[prefix], model=rest, name=name, settings=settings)


def _parts(name: str, *, base_url: str | None) -> tuple[str, str]:
    prefix, _, rest = name.partition("/")
    if is_model_name(name):
        return prefix, rest
    if base_url is not None:
        return "openai", name
    shown = shorten(name)
    near = difflib.get_close_matches(prefix, _KNOWN, n=1)
    meant = f" Perhaps {near[0]!r} is meant." if near else ""
    msg = f"`model` must be '<provider>/<model>' with one of {', '.join(_KNOWN)}, got {shown!r}."
    raise InputError(f"{msg}{meant} Any compatible server: 'openai/<model>' and --base-url.")


def _compatible(
    provider: Provider, *, model: str, name: str, settings: Mapping[str, Any]
) -> ChatModel:
    fields = dict(settings)
    base_url = fields["base_url"] = check_base_url(settings["base_url"] or provider.base_url)
    is_its_own = provider.is_at(base_url)
    if provider is PROVIDERS["openai"] and not is_its_own:  # any compatible server
        dialect = guess_dialect(model, base_url=base_url)
    else:
        dialect = provider.dialect_for(model, base_url=base_url)
    is_same_software = not provider.key_variables  # wherever it runs
    if is_its_own or is_same_software:
        known = provider.capabilities_for(
            thinks=dialect.is_reasoning, effort=settings["reasoning_effort"]
        )
        declared = fields["capabilities"]
        if declared is None:
            fields["capabilities"] = known
        elif declared.top_logprobs is None:
            fields["capabilities"] = replace(declared, top_logprobs=known.top_logprobs)
    if not fields["api_key_env"] and is_its_own:
        is_set = [name for name in provider.key_variables if os.environ.get(name, "").strip()]
        fields["api_key_env"] = next(iter((*is_set, *provider.key_variables)), None)
    return OpenAICompatibleModel(model=model, name=name, dialect=dialect, **fields)


def _native(rest: str, *, name: str, settings: Mapping[str, Any]) -> ChatModel:
    provider, slash, model = rest.partition("/")
    if not (slash and provider and model):
        msg = f"`name` must be 'native/<provider>/<model>', got {shorten(name)!r}."
        raise InputError(f"{msg} Write it like 'native/anthropic/claude-sonnet-4-5'.")
    from voirdire.models.providers import ProvidersModel

    return ProvidersModel(provider=provider, model=model, name=name, **settings)


_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_LIKELY_TOKENS = 20
_KEY = "leaves_are_green"
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {_KEY: {"type": "boolean"}},
        "required": [_KEY],
        "additionalProperties": False,
    }
)
_SYSTEM = "You answer with one JSON object and nothing else: no code fence, no other words."
_QUESTION = f'Are most leaves green in summer? One JSON object with the one key "{_KEY}".'


async def check_model(model: ChatModel) -> dict[str, str | None]:
    """Check what a model's server can do: forms of reply, and log-probabilities.

    Parameters
    ----------
    model : ChatModel
        Who is asked, four short questions one after the other.

    Returns
    -------
    dict
        Why it failed, by what was asked for: a form of reply, or ``"logprobs"``; None where it
        works.

    Raises
    ------
    ModelCallError
        If every call would fail, such as with a wrong key, or no form of reply works.
    """
    messages = (
        Message(role="system", content=_SYSTEM),
        Message(role="user", content=_QUESTION),
    )
    requests = {
        form: ChatRequest(
            messages=messages, form=form, schema=b"" if form == "text" else _SCHEMA, max_tokens=64
        )
        for form in _FORMS
    }
    errors: dict[str, str | None] = {}
    for form, request in requests.items():
        try:
            await model.reply(request)
            errors[form] = None
        except AccessError:
            raise
        except ModelCallError as error:
            errors[form], last = str(error), error
    working = [form for form in _FORMS if errors[form] is None]
    if not working:
        raise last
    asking = msgspec.structs.replace(requests[working[0]], top_logprobs=_LIKELY_TOKENS)
    try:
        reply = await model.reply(asking)
        is_told = any(step.top for step in reply.steps or ())
        errors["logprobs"] = None if is_told else "the reply came without them"
    except ModelCallError as error:
        errors["logprobs"] = str(error)
    return errors
