"""Checks what a server says of itself: the tokens of prompts, and the name of its model."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.errors import BadRequestError

if TYPE_CHECKING:
    from voirdire.models import ChatRequest
    from voirdire.records import Reply

_WIDE = re.compile("[\u2e80-\uffef]")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: 1 for a Chinese character, else 1 for four characters.

    Examples
    --------
    >>> estimate_tokens("The cat sat on the mat."), estimate_tokens("猫坐在垫子上。")
    (6, 7)
    """
    n_wide = len(_WIDE.findall(text))
    return n_wide + math.ceil((len(text) - n_wide) / 4)


_LEAST_SHARE = 0.6
_SAME_TOKENS, _OTHER_SIZE, _ENOUGH = 16, 1.2, 3
_estimate_system = lru_cache(64)(estimate_tokens)


class ServerWatch:
    """Finds prompts that a server cut off, and servers that change their model.

    A prompt was cut where far fewer tokens were counted than it has, and the count is a power of
    two, or the same for prompts of different lengths.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._models: set[str] = set()
        self._short: list[tuple[int, int]] = []

    def check(self, request: ChatRequest, reply: Reply) -> None:
        """Raise a `BadRequestError` where the prompt of a reply was cut off."""
        if reply.model and reply.model not in self._models:
            self._models.add(reply.model)
            if len(self._models) == 2:
                names = " and ".join(repr(shorten(name)) for name in sorted(self._models))
                self.notes.append(f"the server's replies name two models: {names}")
        if reply.usage is None or any(message.images for message in request.messages):
            return
        n_tokens = reply.usage.prompt_tokens
        expected = sum(
            (_estimate_system if message.role == "system" else estimate_tokens)(message.content)
            for message in request.messages
        )
        if not 0 < n_tokens < _LEAST_SHARE * expected:
            return
        alike = [size for tokens, size in self._short if abs(tokens - n_tokens) <= _SAME_TOKENS]
        self._short = [*self._short[-64:], (n_tokens, expected)]
        sizes = [*alike, expected]
        differ = len(sizes) >= _ENOUGH and max(sizes) >= _OTHER_SIZE * min(sizes)
        if n_tokens & (n_tokens - 1) == 0 or differ:
            msg = (
                f"the server cut the prompt off: it read {n_tokens:,} of about {expected:,} "
                "tokens. Give its model a longer context"
            )
            raise BadRequestError(msg)
