"""Prompts: what a model is told, what it is shown, and the form its reply must have.

An item is untrusted text. It travels as JSON between two lines that carry a random code, with
everything escaped that could end the text, act on a chat template or hide from a reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.prompts.builder import PromptBuilder
    from voirdire.judging.prompts.fence import FENCE_PATTERN, new_nonce
    from voirdire.judging.prompts.router import RouterPrompt
    from voirdire.judging.prompts.schema import reply_schema
    from voirdire.judging.prompts.showing import show_prompt
    from voirdire.judging.prompts.wording import PROMPT_VERSION

__all__ = [
    "FENCE_PATTERN",
    "PROMPT_VERSION",
    "PromptBuilder",
    "RouterPrompt",
    "new_nonce",
    "reply_schema",
    "show_prompt",
]

_HOMES = {
    "FENCE_PATTERN": "fence",
    "PROMPT_VERSION": "wording",
    "PromptBuilder": "builder",
    "RouterPrompt": "router",
    "new_nonce": "fence",
    "reply_schema": "schema",
    "show_prompt": "showing",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
