"""Rewards of items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.records import Dropped

__all__ = ["LARGEST_REWARD", "TOO_LARGE", "Scores", "is_reward"]

LARGEST_REWARD = 1e16
"""Trainers keep rewards in 32 bits: the variance of larger ones would be infinite there."""

TOO_LARGE = "the reward is too large a number"


def is_reward(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers a trainer can take: neither nan nor larger than `LARGEST_REWARD`."""
    return np.asarray(np.abs(values) <= LARGEST_REWARD)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Rewards of items, and what they are made of.

    Attributes
    ----------
    items : tuple of str
        Ids, in their order.
    behaviors : tuple of str or None
        The behavior whose weights were used.
    rewards : ndarray of float, shape (n_items,)
        Base and rule reward together; nan where it is missing, as one beyond 1e16 is.
    base_rewards : ndarray of float, shape (n_items,)
        What another reward model gave; 0 where the reward uses none.
    rule_rewards : ndarray of float, shape (n_items,)
        The weighted features; nan where a verdict is missing.
    missing : mapping of str to str
        By item id why there is no reward.
    features : mapping of str to ndarray of float
        By behavior the features of its items, in their order, for `explain`: shape (n_items of
        the behavior, n_features). Only behaviors that the reward has weights for.
    centers : mapping of str to float
        By behavior what was taken off its rule rewards; empty where nothing was.
    dropped : tuple of Dropped
        Rows that are no items, each with its reason.
    notes : tuple of str
        What the reader should know.
    """

    items: tuple[str, ...] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    rewards: NDArray[np.float64] = field(repr=False)
    base_rewards: NDArray[np.float64] = field(repr=False)
    rule_rewards: NDArray[np.float64] = field(repr=False)
    missing: Mapping[str, str] = field(default_factory=dict, repr=False)
    features: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    centers: Mapping[str, float] = field(default_factory=dict, repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
