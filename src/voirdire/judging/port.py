"""Defines the interface of judges: a name, questions, and probabilities."""

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
