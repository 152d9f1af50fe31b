"""Which of two rewards is higher: wrong, right or a tie, and sums of that per prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TIE", "per_prompt", "ties", "wrongness"]

TIE = 1e-9
"""Rewards closer than this, relative to the larger of them where it is above 1, tie: sums of the
same features in another order differ by rounding."""


def ties(better: NDArray[np.float64], worse: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which pairs of rewards are equal but for rounding."""
    scale = np.maximum(1.0, np.maximum(np.abs(better), np.abs(worse)))
    return np.asarray(np.abs(better - worse) <= TIE * scale)


def wrongness(
    better: NDArray[np.float64], worse: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give 1 for each pair that is ranked the wrong way, a half for a tie, else 0; and the ties."""
    tied = ties(better, worse)
    return np.where(tied, 0.5, (better < worse).astype(np.float64)), tied


def per_prompt(
    prompts: NDArray[np.int64], values: NDArray[np.float64] | None, *, n_prompts: int
) -> NDArray[np.float64]:
    """Add up values, or count, by prompt."""
    return np.bincount(prompts, weights=values, minlength=n_prompts).astype(np.float64)
