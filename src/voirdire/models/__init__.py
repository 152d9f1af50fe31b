"""Language models behind one interface: a request in, a reply out.

Nothing heavy is imported here: the HTTP client is imported at the first call, other libraries with
their first model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.models.openai_compatible.model import OpenAICompatibleModel
    from voirdire.models.openai_compatible.wire import Dialect
    from voirdire.models.port import (
        Capabilities,
        ChatModel,
        ChatRequest,
        SamplingChatModel,
    )
    from voirdire.models.providers import ProvidersModel
    from voirdire.models.registry import check_model, is_model_name, load_model

__all__ = [
    "Capabilities",
    "ChatModel",
    "ChatRequest",
    "Dialect",
    "OpenAICompatibleModel",
    "ProvidersModel",
    "SamplingChatModel",
    "check_model",
    "is_model_name",
    "load_model",
]

_HOMES = {
    "Capabilities": "port",
    "ChatModel": "port",
    "ChatRequest": "port",
    "Dialect": "openai_compatible.wire",
    "OpenAICompatibleModel": "openai_compatible.model",
    "ProvidersModel": "providers",
    "SamplingChatModel": "port",
    "check_model": "registry",
    "is_model_name": "registry",
    "load_model": "registry",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
