"""Defines a judge whose answers are a function of the item, for tests and trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.fingerprint import hash_content

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.records import Item

__all__ = ["ScriptedJudge"]


@dataclass(frozen=True, kw_only=True)
class ScriptedJudge:
    """A judge whose answers are a function of the item.

    Attributes
    ----------
    questions : tuple of str
        Ids of the questions that it answers.
    answer : callable
        Takes an `Item` and gives one probability per question; nan is a failure.
    name : str
        What verdicts call it.
    version : str
        Part of the fingerprint: change it when `answer` changes.
    source : str
        The source of probabilities that verdicts name.
    """

    questions: tuple[str, ...]
    answer: Callable[[Item], Sequence[float]]
    name: str = "scripted"
    version: str = "1"
    source: ProbabilitySource = "stated"

    @property
    def fingerprint(self) -> str:
        """Hash of name, version and questions."""
        return hash_content([self.name, self.version, list(self.questions)])

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer every question about every item."""
        given = np.array([self.answer(item) for item in items], dtype=np.float64)
        return given.reshape(len(items), len(self.questions))
