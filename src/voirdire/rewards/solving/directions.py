"""Directions of weights in which no pair differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["null_directions", "relative_to_linked"]

_SUSPECT = 1e-4
"""Directions whose squared length is less, beside columns of length 1, are looked at closely."""


def relative_to_linked(
    features: NDArray[np.float64], better: NDArray[np.int64], worse: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Take from each item the row of one item that it is linked to by pairs, the same for all.

    Differences within pairs stay what they were, but what all linked items share is gone, exactly:
    a column that no pair tells apart becomes 0, and small differences of large numbers keep their
    digits. The rows span what the differences of all pairs span, and are fewer.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_items = features.shape[0]
    links = coo_array((np.ones(better.size, np.int8), (better, worse)), shape=(n_items, n_items))
    n_components, component = connected_components(links, directed=False)
    first = np.empty(n_components, np.int64)
    first[component[::-1]] = np.arange(n_items)[::-1]
    relative: NDArray[np.float64] = features - features[first[component]]
    return relative


def null_directions(rows: NDArray[np.float64], *, tolerance: float) -> NDArray[np.float64]:
    """Find an orthonormal basis of the directions in which no row differs from 0.

    Parameters
    ----------
    rows : ndarray of float, shape (n_rows, n_features)
        Any rows.
    tolerance : float
        Up to which length, relative to columns of length 1, the rows count as 0.

    Returns
    -------
    ndarray of float, shape (n_features, n_directions)
        Each column a direction.
    """
    n_features = rows.shape[1]
    length = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    found = np.eye(n_features)[:, length == 0]
    live = np.flatnonzero(length)
    if live.size:
        axes = _null_axes(rows[:, live] / length[live], tolerance)
        more = np.zeros((n_features, axes.shape[1]))
        more[live] = axes / length[live][:, None]
        # Directions differ in length by as much as features do in scale.
        found = np.hstack([found, more / np.abs(more).max(axis=0, initial=1e-300)])
    return np.linalg.qr(found)[0] if found.shape[1] else found


def _null_axes(rows: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Find them where columns have length 1."""
    # Squares lose half of the digits, so they only say where to look.
    squares, axes = np.linalg.eigh(rows.T @ rows)
    axes = axes[:, squares < _SUSPECT]
    if not axes.shape[1]:
        return axes
    triangle = np.linalg.qr(rows @ axes, mode="r")
    _, lengths, turn = np.linalg.svd(triangle, full_matrices=True)
    is_null = np.ones(axes.shape[1], bool)
    is_null[: lengths.size] = lengths <= tolerance
    null: NDArray[np.float64] = axes @ turn[is_null].T
    return null
