"""What a judge is made from, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cues import CUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.domains import Domains
    from voirdire.judging.local.features import Features

__all__ = ["TrainingSet", "is_chinese"]

_CHINESE = CUES.index("form:chinese")


@dataclass(frozen=True, kw_only=True)
class TrainingSet:
    """Items with their labels.

    Attributes
    ----------
    features : Features
        One row per item.
    targets : ndarray of float64, shape (n_items, n_questions)
        In [0, 1]; nan is a missing label.
    weights : ndarray of float64, shape (n_items,)
        How much each item counts, above 0.
    groups : ndarray of int, shape (n_items,)
        Items of one group are never split over folds.
    domains : Domains
        Language and home of each item.
    sets : ndarray of str, shape (n_items,)
        Where each item came from.
    calibrates : ndarray of bool, shape (n_items,)
        Whether it has a part in calibration.
    """

    features: Features
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    groups: NDArray[np.intp]
    domains: Domains
    sets: NDArray[np.str_]
    calibrates: NDArray[np.bool_]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.targets)

    def truths(self) -> NDArray[np.bool_]:
        """Labels as yes or no: a soft label of 1/2 or more is yes; a missing one is no."""
        return np.nan_to_num(self.targets, nan=0.0) >= 0.5


def is_chinese(features: Features) -> NDArray[np.bool_]:
    """Tell which responses are in Chinese: more than a fifth CJK characters.

    Parameters
    ----------
    features : Features
        A batch of items.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        True for Chinese.
    """
    return np.asarray(features.cues[:, _CHINESE] > 0)
