"""Builds prompts: instructions, the item, and the form of the reply.

An item is untrusted text. It is written as JSON between two lines with a random code. Characters
that could end the text, act on a chat template or be invisible are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.prompts.builder import PromptBuilder
    from voirdire.judging.prompts.fence import escape_invisible, fence_item, new_nonce
    from voirdire.judging.prompts.wording import PROMPT_VERSION, WORDING, pick_language

__all__ = [
    "PROMPT_VERSION",
    "WORDING",
    "PromptBuilder",
    "escape_invisible",
    "fence_item",
    "new_nonce",
    "pick_language",
]

_HOMES = {
    "PROMPT_VERSION": "wording",
    "PromptBuilder": "builder",
    "WORDING": "wording",
    "fence_item": "fence",
    "new_nonce": "fence",
    "pick_language": "wording",
    "escape_invisible": "fence",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
