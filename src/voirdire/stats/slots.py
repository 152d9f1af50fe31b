"""Sparse labels packed together: as many slots as an item has labels, not as there are raters.

In a crowd hundreds of annotators label a few items each. Comparing them pair by pair costs their
square; comparing the slots of an item costs the square of its labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pack_slots"]

_WORTH_IT = 2
"""Raters per slot from which packing pays."""


def pack_slots(present: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Find, for each item, the raters who labelled it.

    Parameters
    ----------
    present : ndarray of bool, shape (n_raters, n_items)
        Which labels are there.

    Returns
    -------
    ndarray of int, shape (n_slots, n_items), or None
        Rater numbers, those with a label first and in order; None where packing would not pay.
    """
    n_slots = int(np.count_nonzero(present, axis=0).max(initial=0))
    if _WORTH_IT * max(n_slots, 1) > len(present):
        return None
    return np.argsort(~present, axis=0, kind="stable")[: max(n_slots, 1)]
