"""Defines what every judge of items has: a name, its questions, and probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.records import Item

__all__ = ["Answerer", "Judge"]


class Answerer(Protocol):
    """Whoever stands behind verdicts: a judge, or a language model with its questions."""

    @property
    def name(self) -> str:
        """What verdicts call it."""

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the questions that it answers, in the order of its columns."""

    @property
    def fingerprint(self) -> str:
        """Hash over everything that its answers depend on, but for rubric and threshold."""

    @property
    def source(self) -> ProbabilitySource:
        """Where its probabilities come from."""


@runtime_checkable
class Judge(Answerer, Protocol):
    """Whatever answers boolean questions about items with probabilities.

    A judge may also have `thresholds`, a mapping of questions to numbers in (0, 1): from which
    probability on its answer is yes, where neither the rubric nor the caller says.
    """

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer every question about every item: (n_items, n_questions), nan for a failure."""
