"""Language models behind one interface: a request in, a reply out.

Nothing heavy is imported here: the HTTP client is imported at the first call, other libraries with
their first model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.models.chat_completions import OpenAICompatibleModel
    from voirdire.models.port import Capabilities, ChatModel, ChatRequest, SamplingChatModel
    from voirdire.models.providers import is_model_name, load_model

__all__ = [
    "Capabilities",
    "ChatModel",
    "ChatRequest",
    "OpenAICompatibleModel",
    "SamplingChatModel",
    "is_model_name",
    "load_model",
]

_HOMES = {
    **dict.fromkeys(("Capabilities", "ChatModel", "ChatRequest", "SamplingChatModel"), "port"),
    **dict.fromkeys(("is_model_name", "load_model"), "providers"),
    "OpenAICompatibleModel": "chat_completions",
}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
