r"""Means of coefficients over pairs of raters, with intervals.

A mean over pairs weights each pair by its number of common items, so that pairs with next to
nothing in common, whose coefficients are erratic and biased downwards, count for next to nothing.
Pairs whose coefficient is undefined are left out. Of the mean
:math:`\bar\kappa = \sum_p n_p \kappa_p / \sum_p n_p` an item's influence is
:math:`\sum_p \left(n_p \psi_p + 1_p (\kappa_p - \bar\kappa)\right) / \sum_p n_p`, where
:math:`\psi_p` is its influence on :math:`\kappa_p` and :math:`1_p` says whether it belongs to the
pair: an item that many pairs share counts once.

A coefficient of few items is biased by a share of 1 - κ that is about the inverse of their number.
In a crowd where two annotators have next to nothing in common, κ is therefore left undefined; raw
agreement has no such bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.agreement.interval import make_interval
from voirdire.stats.agreement.pair_figures import COHEN, GWET, RAW, REACH
from voirdire.stats.agreement.result import AgreementResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.agreement.item_sums import ItemSums
    from voirdire.stats.agreement.weights import Weights

__all__ = ["PairMeans", "undefined"]

_LEAST = {RAW: 0.0, COHEN: -1.0, GWET: -1.0}
_LARGE_STUDY = 100
_FEWEST_COMMON = 10
_REASONS = {
    RAW: "no items in common",
    COHEN: "all labels are equal",
    GWET: "there are fewer than two categories",
}


def undefined(
    coefficient: str, weights: Weights | None, confidence_level: float, reason: str
) -> AgreementResult:
    """Give a coefficient that is undefined."""
    return AgreementResult(
        coefficient=coefficient,
        weights=weights,
        estimate=float("nan"),
        low=float("nan"),
        high=float("nan"),
        confidence_level=confidence_level,
        n_items=0,
        n_raters=0,
        n_clusters=0,
        reason=reason,
    )


def _too_thin(n_common: NDArray[np.float64], n_items: int) -> str | None:
    """Say so if the pairs of a large study have too few items each for a coefficient of their own.

    In a small study there is nothing better; its wide interval tells.
    """
    if n_items < _LARGE_STUDY or not n_common.size or n_common.mean() >= _FEWEST_COMMON:
        return None
    return (
        f"two raters have {n_common.mean():.1f} items in common on average, "
        f"fewer than {_FEWEST_COMMON}"
    )


@dataclass(frozen=True, kw_only=True)
class PairMeans:
    """How to take means over pairs.

    Attributes
    ----------
    units : ndarray of int, shape (n_items,), or None
        Cluster of each item; None where items are independent.
    confidence_level : float
        Nominal coverage, in (0, 1).
    weights : {"linear", "quadratic", "jaccard"} or None
        How unequal labels agree in part.
    """

    units: NDArray[np.intp] | None
    confidence_level: float
    weights: Weights | None

    def measure(
        self, sums: ItemSums | str, column: int, coefficient: str, *, besides: bool = False
    ) -> AgreementResult:
        """Take the mean of one column of the figures; a text says why there are no figures.

        Where all pairs stand `besides` one judge, it is not counted among the raters.
        """
        if isinstance(sums, str):
            return undefined(coefficient, self.weights, self.confidence_level, sums)
        n_items, values = sums.figures.n_items, sums.figures.values[:, column]
        compared, common = sums.n_pairs > 0, n_items > 0
        if column != RAW and (thin := _too_thin(n_items[common], int(np.count_nonzero(compared)))):
            return undefined(coefficient, self.weights, self.confidence_level, thin)
        defined = common & ~np.isnan(values)
        total = float(n_items[defined].sum())
        estimate = float(n_items[defined] @ values[defined]) / total if total else float("nan")
        n_pairs = sums.n_defined if column == COHEN else sums.n_pairs
        influence, reach = np.zeros(len(n_pairs)), None
        if total:
            influence = (sums.contributions[:, column] - estimate * n_pairs) / total
            reach = sums.contributions[:, REACH] / total if column == COHEN else None
        interval = make_interval(
            estimate,
            influence,
            reach=reach,
            compared=(n_pairs > 0) if total else compared,
            units=self.units,
            confidence_level=self.confidence_level,
            least=_LEAST[column],
        )
        raters = sums.raters[common][:, 1:] if besides else sums.raters[common]
        reason = self._reason(column, int(common.sum()), int(defined.sum()))
        if reason is None and interval.n_units < 2:
            reason = "an interval needs at least two items, or two clusters"
        return AgreementResult(
            coefficient=coefficient,
            weights=self.weights,
            estimate=estimate,
            low=interval.low,
            high=interval.high,
            confidence_level=self.confidence_level,
            n_items=int(np.count_nonzero(compared)),
            n_raters=len(np.unique(raters)),
            n_clusters=interval.n_units,
            reason=reason,
        )

    @staticmethod
    def _reason(column: int, n_common: int, n_defined: int) -> str | None:
        if n_common == 0:
            return _REASONS[RAW]
        if n_defined == 0:
            return _REASONS[column]
        if n_defined < n_common:
            n_out = n_common - n_defined
            return f"{n_out:,} of {n_common:,} pairs are left out: {_REASONS[column]} there"
        return None
