"""Language models behind one port: a request in, a reply with its tokens out.

Nothing heavy is imported here: the HTTP client arrives with the first name that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.models.port import BatchChatModel, Capabilities, ChatModel, ChatRequest

__all__ = ["BatchChatModel", "Capabilities", "ChatModel", "ChatRequest"]

_HOMES = {
    "BatchChatModel": "port",
    "Capabilities": "port",
    "ChatModel": "port",
    "ChatRequest": "port",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
