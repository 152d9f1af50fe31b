r"""Inverse probability weights for skewed labels.

An item weighs more the rarer the majority label of its other annotators is:
:math:`\pi_y = |I_j| / \#\{i \in I_j : MV_j(i) = y\}` [1]_. An item whose majority is tied counts
fractionally for each tied label and gets the mean of their weights.

References
----------
.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
   ACL 2025, appendix on imbalanced labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["imbalance_weights", "majority_shares"]


def majority_shares(codes: NDArray[Any], annotator: int) -> NDArray[np.float64]:
    """Spread each item over the labels that are in the majority when one annotator is left out.

    Parameters
    ----------
    codes : ndarray of int, shape (n_annotators, n_items)
        Label codes, -1 for missing.
    annotator : int
        The annotator who is left out.

    Returns
    -------
    ndarray of float, shape (n_annotators - 1, n_items)
        For each other annotator the share of the item that counts for that annotator's label;
        columns sum to 1, or to 0 where nobody else labelled the item.
    """
    others = np.delete(codes, annotator, axis=0)
    votes = np.zeros(others.shape, dtype=np.int64)
    for row in others:
        votes += others == row
    votes[others < 0] = 0
    top = (votes == votes.max(axis=0, initial=1)) & (others >= 0)
    return top / np.maximum(np.count_nonzero(top, axis=0), 1)


def imbalance_weights(
    codes: NDArray[Any],
    compared: NDArray[np.bool_],
    *,
    n_codes: int,
    reference: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Weigh every comparison by the rarity of its majority label.

    Parameters
    ----------
    codes : ndarray of int, shape (n_annotators, n_items)
        Label codes, -1 for missing.
    reference : ndarray of int, shape (n_items,), optional
        Codes that stand for the majority: an expert's, or gold ones.
    compared : ndarray of bool, shape (n_annotators, n_items)
        Which comparisons take part (the items of each annotator that the judge labelled too).
    n_codes : int
        Number of distinct labels.

    Returns
    -------
    ndarray of float, shape (n_annotators, n_items)
        0 where nothing is compared. Memory is O(n_annotators * n_items).
    """
    weights = np.zeros(codes.shape)
    for annotator, items in enumerate(compared):
        if reference is None:
            others = np.delete(codes, annotator, axis=0)[:, items]
            shares = majority_shares(codes[:, items], annotator)
        else:
            others = reference[np.newaxis, items]
            shares = np.ones(others.shape)
        counts = np.bincount(
            np.maximum(others, 0).ravel(), weights=shares.ravel(), minlength=n_codes
        )
        inverse = np.divide(
            np.count_nonzero(items), counts, out=np.zeros(n_codes), where=counts > 0
        )
        weights[annotator, items] = (shares * inverse[np.maximum(others, 0)]).sum(axis=0)
    return weights
