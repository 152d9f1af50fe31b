"""How the order of the completions of one prompt changes from one reward to another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupRanks", "ranks_of"]

_EQUAL = 1e-9
"""Rewards that differ by less, as a share of their size, are taken for equal."""

_MOST_AT_ONCE = 1 << 18
"""Pairs that are compared at once."""


@dataclass(frozen=True, kw_only=True)
class GroupRanks:
    """The order within groups under two rewards.

    Attributes
    ----------
    n_groups : int
        Groups with two or more completions that have both rewards.
    n_pairs : int
        Pairs of completions of one group that have both rewards.
    n_same, n_reversed : int
        Pairs that both rewards put in the same order, and in opposite ones.
    n_tied_before, n_tied_after, n_tied_both : int
        Pairs that are equal under the first reward alone, the second alone, and both.
    same_order_share : float
        `n_same` over the pairs that one reward or the other parts; nan where there are none.
    best_changed_share : float
        Share of the groups in which no completion that was best is best; nan without groups.
    """

    n_groups: int
    n_pairs: int
    n_same: int
    n_reversed: int
    n_tied_before: int
    n_tied_after: int
    n_tied_both: int
    same_order_share: float
    best_changed_share: float


def ranks_of(
    before: NDArray[np.float64], after: NDArray[np.float64], groups: NDArray[np.int64]
) -> GroupRanks:
    """Compare the order of rewards within groups.

    Parameters
    ----------
    before, after : ndarray of float, shape (n_completions,)
        nan where there is none.
    groups : ndarray of int, shape (n_completions,)
        A code per completion; those below 0 belong to no group.

    Returns
    -------
    GroupRanks
        Over all groups.

    Examples
    --------
    >>> import numpy as np
    >>> found = ranks_of(
    ...     np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]), np.array([0, 0, 0])
    ... )
    >>> found.n_pairs, found.n_same, found.n_reversed, found.best_changed_share
    (3, 2, 1, 1.0)
    """
    both = ~(np.isnan(before) | np.isnan(after)) & (groups >= 0)
    order = np.argsort(groups[both], kind="stable")
    codes, x, y = groups[both][order], before[both][order], after[both][order]
    counts = np.zeros(5, dtype=np.int64)
    n_groups = n_changed = 0
    edges = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1], True]) if codes.size else codes
    for start, end in pairwise(edges.tolist()):
        if end - start < 2:  # alone in its group
            continue
        first, second = _ranks(x[start:end]), _ranks(y[start:end])
        counts += _pairs(first, second)
        n_groups += 1
        n_changed += not bool(((first == first.max()) & (second == second.max())).any())
    same, turned, tied_before, tied_after, tied_both = counts.tolist()
    parted = same + turned + tied_before + tied_after
    return GroupRanks(
        n_groups=n_groups,
        n_pairs=parted + tied_both,
        n_same=same,
        n_reversed=turned,
        n_tied_before=tied_before,
        n_tied_after=tied_after,
        n_tied_both=tied_both,
        same_order_share=same / parted if parted else math.nan,
        best_changed_share=n_changed / n_groups if n_groups else math.nan,
    )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give each value its place from the least, equal ones the same."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    scale = np.maximum(1.0, np.abs(ordered[1:]))
    steps = np.r_[0, (np.diff(ordered) > _EQUAL * scale).astype(np.int64)]
    found = np.empty(values.size, dtype=np.int64)
    found[order] = np.cumsum(steps)
    return found


def _pairs(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count pairs: same order, reversed, tied in the first, in the second, in both."""
    found = np.zeros(5, dtype=np.int64)
    size = max(_MOST_AT_ONCE // first.size, 1)
    for start in range(0, first.size, size):  # a large group goes in stretches
        rows = slice(start, start + size)
        a = np.sign(first[rows, None] - first[None, :])
        b = np.sign(second[rows, None] - second[None, :])
        product = a * b
        found += [
            (product > 0).sum(),
            (product < 0).sum(),
            ((a == 0) & (b != 0)).sum(),
            ((a != 0) & (b == 0)).sum(),
            ((a == 0) & (b == 0)).sum(),
        ]
    found[-1] -= first.size  # each with itself
    return found // 2  # each pair stood there twice
