"""Builds prompts: instructions, the item, and the form of the reply.

An item is untrusted text. It is written as JSON between two lines with a random code. Characters
that could end the text, act on a chat template or be invisible are escaped.
"""

from voirdire.judging.prompts.builder import (
    PROMPT_VERSION,
    PromptBuilder,
    pick_language,
    read_words,
)
from voirdire.judging.prompts.decisions import DecisionBuilder, name_parts
from voirdire.judging.prompts.fence import (
    escape_invisible,
    fence_item,
    new_nonce,
    quote_untrusted,
)

__all__ = [
    "PROMPT_VERSION",
    "DecisionBuilder",
    "PromptBuilder",
    "escape_invisible",
    "fence_item",
    "name_parts",
    "new_nonce",
    "pick_language",
    "quote_untrusted",
    "read_words",
]
