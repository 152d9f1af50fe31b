"""Studies with gaps: labels that nobody gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.planning.noise_model import SimulatedLabels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EVERYTHING", "ShareGiven"]


@dataclass(frozen=True, kw_only=True)
class ShareGiven:
    """How much of a study is labelled.

    Attributes
    ----------
    humans, judge : float
        Share of the items that an annotator labels, and that the judge does, in (0, 1].
    """

    humans: float = 1.0
    judge: float = 1.0

    def thin(self, labels: SimulatedLabels, rng: np.random.Generator) -> SimulatedLabels:
        """Set labels to -1, missing, at random; fewer annotators stay the first of more."""
        judge, humans = labels.judge, labels.humans
        if self.judge < 1:
            judge = _thinned(judge, self.judge, rng)
        if self.humans < 1:
            columns = range(humans.shape[-1])
            humans = np.stack(
                [_thinned(humans[..., column], self.humans, rng) for column in columns], axis=-1
            )
        return SimulatedLabels(humans=humans, judge=judge)


EVERYTHING = ShareGiven()
"""No gaps."""


def _thinned(labels: NDArray[Any], share: float, rng: np.random.Generator) -> NDArray[Any]:
    there = rng.random(labels.shape, dtype=np.float32) < share
    return np.where(there, labels, labels.dtype.type(-1))
