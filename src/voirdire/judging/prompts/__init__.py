"""Builds prompts: instructions, the item, and the form of the reply.

An item is untrusted text. It is written as JSON between two lines with a random code. Characters
that could end the text, act on a chat template or be invisible are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.prompts.builder import PromptBuilder
    from voirdire.judging.prompts.fence import fenced, new_nonce, visible
    from voirdire.judging.prompts.wording import PROMPT_VERSION, WORDING, said

__all__ = [
    "PROMPT_VERSION",
    "WORDING",
    "PromptBuilder",
    "fenced",
    "new_nonce",
    "said",
    "visible",
]

_HOMES = {
    "PROMPT_VERSION": "wording",
    "PromptBuilder": "builder",
    "WORDING": "wording",
    "fenced": "fence",
    "new_nonce": "fence",
    "said": "wording",
    "visible": "fence",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
