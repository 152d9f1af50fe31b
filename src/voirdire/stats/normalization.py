"""Put the scales of different raters on one footing before they are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._types import Normalization
from voirdire._validation import check_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["normalize_scale"]


def normalize_scale(labels: ArrayLike, *, method: Normalization) -> NDArray[np.float64]:
    """Rescale one rater's numbers over the items that the rater labelled.

    Parameters
    ----------
    labels : array_like of float, shape (n_items,)
        One rater's labels; nan is missing and stays so.
    method : {"zscore", "rank"}
        ``"zscore"`` subtracts the rater's mean and divides by the rater's standard deviation
        (population form; a rater who gives one value only becomes 0). ``"rank"`` replaces labels
        by average ranks, scaled to (0, 1): (rank - 0.5) / n.

    Returns
    -------
    ndarray of float, shape (n_items,)

    Raises
    ------
    InputError
        If `method` is not one of the two words.

    Examples
    --------
    >>> normalize_scale([1, 3, 5], method="rank").round(3).tolist()
    [0.167, 0.5, 0.833]
    """
    check_choice("method", method, Normalization)
    values = np.array(labels, dtype=np.float64)
    known = ~np.isnan(values)
    values[known] = _zscore(values[known]) if method == "zscore" else _rank(values[known])
    return values


def _zscore(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not values.size or values.min() == values.max():
        return np.zeros_like(values)
    return (values - values.mean()) / values.std()


def _rank(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - (counts - 1) / 2) - 0.5)[inverse] / max(len(values), 1)
