"""How much each comparison counts: the same, or the same for every prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pair_weights"]


def pair_weights(prompts: NDArray[np.int64], *, equal_prompts: bool) -> NDArray[np.float64]:
    """Weigh comparisons.

    Parameters
    ----------
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each comparison, numbered from 0.
    equal_prompts : bool
        Whether every prompt counts the same, however many comparisons it has: a prompt with ten
        completions has up to 45 of them, one with two has one.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        Above 0, adding up to 1.
    """
    if not equal_prompts:
        return np.full(prompts.size, 1.0 / max(prompts.size, 1))
    counts = np.bincount(prompts)
    return 1.0 / (counts[prompts] * np.count_nonzero(counts))
