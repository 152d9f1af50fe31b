"""Answers kept in memory, those used longest ago given up first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire.judging.live.answers import LiveAnswer

__all__ = ["Remembered"]


class Remembered:
    """A bounded memory of answers by the content of their items."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[bytes, LiveAnswer] = OrderedDict()

    def get(self, key: bytes) -> LiveAnswer | None:
        """Find an answer, or None."""
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, key: bytes, answer: LiveAnswer) -> None:
        """Keep an answer, and give up the oldest where there are too many."""
        if self._most == 0:
            return
        self._answers[key] = answer
        self._answers.move_to_end(key)
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)
