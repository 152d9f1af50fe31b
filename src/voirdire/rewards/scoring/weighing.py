"""Features times weights, where a feature that weighs nothing may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["contributions", "weighed"]


def weighed(
    features: NDArray[np.float64], weights: NDArray[np.float64], *, center: float = 0.0
) -> NDArray[np.float64]:
    """Add up the weighted features of items; nan where one that weighs is missing.

    Parameters
    ----------
    features : ndarray of float, shape (n_items, n_features)
        nan where missing.
    weights : ndarray of float, shape (n_features,)
        Finite.
    center : float, optional
        What is taken off.
    """
    counts = weights != 0
    # an item's sum must not depend on how many others there are, as that of a product of
    # matrices does: the same item is scored alone and among a million
    with np.errstate(over="ignore", invalid="ignore"):  # too large a number is the caller's to see
        parts = np.ascontiguousarray(features[:, counts] * weights[counts])
        return np.asarray(parts.sum(axis=1) - center)


def contributions(
    features: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Say what each feature adds: 0 where it weighs nothing, missing or not."""
    return np.where(weights == 0, 0.0, features * weights)
