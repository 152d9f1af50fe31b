"""Run many items through a diagram: the probability of each leaf, or the leaf itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rubrics.logic.columns import Columns, check_matrix, label_chunks, probability_chunks
from voirdire.rubrics.logic.flow import send_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.logic.flow import Flow

__all__ = ["chunk_size", "leaf_of_labels", "leaf_probabilities"]

_NUMBERS_AT_WORK = 2**17
"""1 MiB of float64: more leaves the second-level cache, less pays more for calls than for work."""


def chunk_size(n_rows: int) -> int:
    """Tell how many items to take at a time where each needs `n_rows` numbers."""
    return max(64, min(8_192, _NUMBERS_AT_WORK // max(n_rows, 1)))


def leaf_probabilities(
    flow: Flow, probabilities: ArrayLike, *, propositions: Sequence[str]
) -> NDArray[np.float64]:
    """Give the probability of every leaf, shape (n_items, n_leaves).

    An item with a nan among the propositions that the diagram depends on is nan throughout.
    """
    matrix = check_matrix("probabilities", probabilities, propositions=propositions)
    columns = Columns(propositions, flow.variables)
    result = np.empty((len(matrix), flow.n_leaves))
    size = chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
    places = np.zeros((flow.n_places + 1, min(size, len(matrix))))
    for chunk, low, high in probability_chunks(matrix, columns, size=size):
        n_items = low.shape[1]
        at_work = places[:, :n_items]
        send_down(flow, (low, high), places=at_work, times=np.multiply, plus=np.add)
        leaves = at_work[: flow.n_leaves]
        # Every variable has a node, so a nan of it has reached at least one leaf.
        unknown = np.isnan(leaves.sum(axis=0))
        if unknown.any():
            leaves = np.where(unknown, np.nan, leaves)
        result[chunk] = leaves.T
    return result


def leaf_of_labels(
    flow: Flow, labels: ArrayLike, *, propositions: Sequence[str]
) -> NDArray[np.int64]:
    """Give the leaf of every item, shape (n_items,); -1 where missing labels leave it open.

    It is open where they could be filled in so as to give different leaves. A missing label that
    cannot change the leaf any more does no harm, whatever the order of the variables.
    """
    matrix = check_matrix("labels", labels, propositions=propositions)
    columns = Columns(propositions, flow.variables)
    result = np.empty(len(matrix), dtype=np.int64)
    size = 8 * chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
    places = np.zeros((flow.n_places + 1, min(size, len(matrix))), dtype=np.bool_)
    for chunk, low, high in label_chunks(matrix, columns, size=size):
        at_work: NDArray[Any] = places[:, : low.shape[1]]
        send_down(flow, (low, high), places=at_work, times=np.logical_and, plus=np.logical_or)
        found = result[chunk]
        n_reached = np.zeros(len(found), dtype=np.int16)
        for leaf in range(flow.n_leaves):
            np.copyto(found, leaf, where=at_work[leaf])
            n_reached += at_work[leaf]
        found[n_reached != 1] = -1
    return result
