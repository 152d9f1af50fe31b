"""Run many items through a diagram (its leaves and their probabilities) or a product plan."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import DegenerateDataWarning
from voirdire.rubrics.logic.columns import Columns, check_matrix, label_chunks, probability_chunks
from voirdire.rubrics.logic.flow import send_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.logic.flow import Flow
    from voirdire.rubrics.logic.product import Factor, ProductPlan

__all__ = ["leaf_of_labels", "leaf_probabilities", "product_probabilities"]

_NUMBERS_AT_WORK = 2**17
"""1 MiB of float64: more leaves the second-level cache, less pays more for calls than for work."""


def leaf_probabilities(
    flow: Flow, probabilities: ArrayLike, *, propositions: Sequence[str]
) -> NDArray[np.float64]:
    """Give the probability of every leaf, shape (n_items, n_leaves).

    An item with a nan among the propositions that the diagram depends on is nan throughout.
    """
    matrix = check_matrix("probabilities", probabilities, propositions=propositions)
    columns = Columns(propositions, flow.variables)
    result = np.empty((len(matrix), flow.n_leaves))
    size = _chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
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
    size = 8 * _chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
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


def product_probabilities(
    plan: ProductPlan, probabilities: ArrayLike, *, propositions: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give normalised class probabilities and their normaliser; nan and a warning where it is 0."""
    matrix = check_matrix("probabilities", probabilities, propositions=propositions)
    columns = Columns(propositions, plan.variables)
    values = np.empty((len(matrix), len(plan.classes)))
    size = _chunk_size(2 * (len(plan.variables) + len(plan.products)) + len(plan.classes))
    for chunk, low, high in probability_chunks(matrix, columns, size=size):
        values[chunk] = _multiplied(plan, low, high).T
    normaliser = values.sum(axis=1)
    impossible = np.flatnonzero(normaliser == 0)
    if len(impossible):
        warnings.warn(
            f"the product rule gives every class 0 for {len(impossible):,} of {len(matrix):,} "
            f"items (the first in row {impossible[0]}, from 0); their classes are nan.",
            DegenerateDataWarning,
            stacklevel=3,
        )
    divisor = np.where(normaliser == 0, np.nan, normaliser)
    values /= divisor[:, None]
    return values, normaliser


def _chunk_size(n_rows: int) -> int:
    """Tell how many items to take at a time where each needs `n_rows` numbers."""
    return max(64, min(8_192, _NUMBERS_AT_WORK // max(n_rows, 1)))


def _multiplied(
    plan: ProductPlan, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    n_variables, n_items = high.shape
    straight = np.empty((n_variables + len(plan.products), n_items))
    opposite = np.empty_like(straight)
    straight[:n_variables], opposite[:n_variables] = high, low

    def product(factors: tuple[Factor, ...]) -> NDArray[np.float64]:
        result = np.ones(n_items)
        for number, negated in factors:
            result *= (opposite if negated else straight)[number]
        return result

    for number, factors in enumerate(plan.products, start=n_variables):
        straight[number] = product(factors)
        np.subtract(1.0, straight[number], out=opposite[number])
    return np.array([product(factors) for factors in plan.classes])
