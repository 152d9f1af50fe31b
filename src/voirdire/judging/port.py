"""Defines the interface of judges, and a judge whose answers are a function of the item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from voirdire.documents import hash_content

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.records import Item


class Answerer(Protocol):
    """What every source of verdicts has: a judge, or a language model with its questions."""

    @property
    def name(self) -> str:
        """Its name in verdicts."""

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the questions that it answers, in the order of its columns."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that its answers depend on, except rubric and threshold."""

    @property
    def source(self) -> ProbabilitySource:
        """The source of its probabilities."""


@runtime_checkable
class Judge(Answerer, Protocol):
    """A judge that answers boolean questions about items with probabilities.

    It may also have `thresholds`, a mapping of questions to numbers in (0, 1): its answer is yes
    from this probability on, where neither the rubric nor the caller sets another.
    """

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer every question about every item: (n_items, n_questions), nan for a failure."""


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
