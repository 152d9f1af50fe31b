"""Differences between the two items of each pair, without a row of numbers per pair.

Pairs are many more than items, so a pass over all pairs goes through the items: scores are made
per item and looked up per pair, and what acts on pairs is first added up per item.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Differences", "weighted_gram"]

_AT_ONCE = 1 << 12
"""Pairs whose differences are weighted in one piece: it stays in the processor's cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences:
    """The matrix D of a problem, one row per pair: the better item's row less the worse one's.

    Attributes
    ----------
    features : ndarray of float, shape (n_items, n_features)
        Rows of items.
    better, worse : ndarray of int, shape (n_pairs,)
        Which rows each pair compares.
    """

    features: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)

    @property
    def n_pairs(self) -> int:
        """How many rows."""
        return int(self.better.size)

    @property
    def n_features(self) -> int:
        """How many columns."""
        return int(self.features.shape[1])

    def along(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give Dw: how much higher each better item scores."""
        scores = self.features @ weights
        difference: NDArray[np.float64] = scores.take(self.better)
        difference -= scores.take(self.worse)
        return difference

    def pull(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give Dᵀα: where the pairs push the weights when each pushes with its force."""
        n_items = self.features.shape[0]
        per_item = np.bincount(self.better, forces, n_items)
        per_item -= np.bincount(self.worse, forces, n_items)
        pulled: NDArray[np.float64] = per_item @ self.features
        return pulled

    def columns(self, chosen: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """Write out Dᵀ for some pairs: a row per feature, so that long rows lie together."""
        features = self.features
        rows = features.take(self.better[chosen], axis=0)
        rows -= features.take(self.worse[chosen], axis=0)
        return np.ascontiguousarray(rows.T)

    def weighted_gram(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give DᵀΘD without writing D out."""
        gram = np.zeros((self.n_features,) * 2)
        for begin in range(0, self.n_pairs, _AT_ONCE):
            piece = slice(begin, begin + _AT_ONCE)
            gram += weighted_gram(self.columns(piece), weights[piece])
        return gram


def weighted_gram(
    columns: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give DᵀΘD of a D that is written out.

    Parameters
    ----------
    columns : ndarray of float, shape (n_features, n_pairs)
        Transposed D.
    weights : ndarray of float, shape (n_pairs,)
        Θ, at least 0.

    Returns
    -------
    ndarray of float, shape (n_features, n_features)
        Symmetric to the last bit.
    """
    root = np.sqrt(weights)
    gram = np.zeros((columns.shape[0],) * 2)
    for begin in range(0, root.size, _AT_ONCE):
        piece = slice(begin, begin + _AT_ONCE)
        weighted = columns[:, piece] * root[piece]
        gram += weighted @ weighted.T
    return gram
