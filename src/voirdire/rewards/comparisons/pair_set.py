"""Comparisons of one behavior, as arrays: which item is better than which, and how they count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PairSet"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairSet:
    """Pairs of items of one prompt each, the first better than the second.

    Attributes
    ----------
    better, worse : ndarray of int, shape (n_pairs,)
        Places in the items of a `ComparisonData`; sorted by prompt.
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each pair, ascending.
    margins : ndarray of float, shape (n_pairs,)
        How much higher the better one's reward is to be; above 0.
    """

    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)

    @property
    def n_pairs(self) -> int:
        """How many comparisons."""
        return int(self.better.size)
