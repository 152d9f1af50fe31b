r"""Agreement of raters who share their prevalences: kappa, pooled over every pair of labels.

Under the noise model all raters give each label equally often, so that chance is the same for all
of them and labels can be put together whoever gave them. A mean of kappas over pairs of annotators
would not do: two who share one item have no kappa if they agree on it, and 0 if they do not, so
that in a crowd the mean falls far below the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.krippendorff import measure_agreement

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PooledKappas", "human_kappa", "judge_kappa", "pooled_kappas"]


@dataclass(frozen=True, kw_only=True)
class PooledKappas:
    """Pooled kappa among annotators, and of the judge with them, at most 1; nan if undefined."""

    human: float
    judge: float


def pooled_kappas(judge: NDArray[Any], humans: NDArray[Any]) -> PooledKappas:
    """Compute both; codes from 0, -1 being missing."""
    return PooledKappas(human=human_kappa(humans), judge=judge_kappa(judge, humans))


def human_kappa(humans: NDArray[Any]) -> float:
    """Pooled kappa of annotators: nominal Krippendorff α of labels (n_items, n_annotators).

    nan where no item has two labels, or all labels are equal.
    """
    return measure_agreement(humans, level="nominal").alpha


def judge_kappa(judge: NDArray[Any], humans: NDArray[Any]) -> float:
    r"""Pooled kappa of the judge and the annotators, over all pairs of one item's labels.

    Observed agreement against the chance of the two pooled marginals, as in Cohen's kappa of two
    raters with these labels; nan without a pair, or where all labels are equal.
    """
    paired = (humans >= 0) & (judge >= 0)[:, np.newaxis]
    theirs = humans[paired].astype(np.int64)
    its = np.repeat(judge, np.count_nonzero(paired, axis=1)).astype(np.int64)
    if not len(its):
        return math.nan
    n_codes = 1 + int(max(its.max(), theirs.max()))
    shares = [np.bincount(labels, minlength=n_codes) / len(its) for labels in (its, theirs)]
    chance = float(shares[0] @ shares[1])
    if chance >= 1:
        return math.nan
    return (float(np.mean(its == theirs)) - chance) / (1 - chance)
