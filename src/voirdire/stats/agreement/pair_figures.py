r"""Raw agreement, Cohen's κ and Gwet's coefficient of many pairs of raters at once.

With :math:`D_o` the mean disagreement of a pair on its common items and :math:`p_a, q_a` the shares
of the labels there,

.. math:: p_o = 1 - D_o, \quad \kappa = 1 - D_o / D_e, \quad
   D_e = \sum_{a, b} p_a q_b \delta(a, b) \quad [1]_, [2]_,

.. math:: AC = 1 - \frac{D_o}{1 - p_e}, \quad
   p_e = \frac{T_w}{q (q - 1)} \sum_a \pi_a (1 - \pi_a), \quad
   \pi_a = \frac{p_a + q_a}{2} \quad [3]_,

with q categories and :math:`T_w` the sum of the agreement weights over all pairs of them. Only
labels that occur are counted, pair by pair: there is no table of labels by labels.

References
----------
.. [1] J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
   Measurement 20(1), 1960.
.. [2] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), 1968.
.. [3] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.weights import LabelKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.agreement.weights import Disagreement

__all__ = ["COHEN", "GWET", "RAW", "REACH", "Entries", "PairFigures", "estimate_pairs"]

RAW, COHEN, GWET, REACH = range(4)
"""Columns of contributions; the last is the relative influence on the disagreement that κ expects
by chance. Four numbers of a row are copied at once, five are not."""

_SPARSE = 4
"""Cells of groups by labels per entry from which only those that occur are kept."""


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Labels that pairs of raters gave to common items.

    Attributes
    ----------
    group : ndarray of int, shape (n_entries,)
        Number of the pair.
    first, second : ndarray of int, shape (n_entries,)
        Codes of the labels.
    weight : ndarray, shape (n_entries,)
        How many items have these labels; fractions where a label is shared among several.
    n_groups : int
        How many pairs there are.
    """

    group: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    weight: NDArray[np.float64]
    n_groups: int


@dataclass(frozen=True, kw_only=True)
class PairFigures:
    """The coefficients of pairs.

    Attributes
    ----------
    n_items : ndarray, shape (n_pairs,)
        Common items.
    values : ndarray, shape (n_pairs, 3)
        Raw agreement, Cohen's κ, Gwet's coefficient; nan where undefined: without common items, κ
        where all labels are equal, Gwet's coefficient with fewer than two categories.
    """

    n_items: NDArray[np.float64]
    values: NDArray[np.float64]

    @staticmethod
    def joined(parts: list[PairFigures]) -> PairFigures:
        """Put the figures of several pairs behind each other."""
        if not parts:
            return PairFigures(n_items=np.zeros(0), values=np.zeros((0, 3)))
        return PairFigures(
            n_items=np.concatenate([part.n_items for part in parts]),
            values=np.concatenate([part.values for part in parts]),
        )


def estimate_pairs(
    entries: Entries, disagreement: Disagreement, n_labels: int
) -> tuple[PairFigures, NDArray[np.float64]]:
    """Compute the coefficients of every pair, and what each entry contributes to them.

    Parameters
    ----------
    entries : Entries
        The labels of the pairs.
    disagreement : Disagreement
        How far labels disagree, and which categories there are.
    n_labels : int
        Codes are below it.

    Returns
    -------
    figures : PairFigures
        One row per pair.
    contributions : ndarray, shape (n_entries, 4)
        The pair's coefficient plus the influence on it of one item with these labels, times the
        number of items: the weighted mean over the entries of a pair is its coefficient. All are
        0 for κ where it is undefined.
    """
    contributions = np.empty((len(entries.group), 4))
    with np.errstate(divide="ignore", invalid="ignore"):
        margins = _count_margins(entries, n_labels)
        apart = disagreement.between(entries.first, entries.second).astype(np.float64)
        observed = margins.mean(apart * entries.weight)
        contributions[:, RAW] = 1 - apart
        cohen, contributions[:, [COHEN, REACH]] = _compute_cohen(
            margins, apart, observed, disagreement
        )
        gwet, contributions[:, GWET] = _compute_gwet(margins, apart, observed, disagreement)
    figures = PairFigures(
        n_items=margins.n_items, values=np.stack([1 - observed, cohen, gwet], axis=1)
    )
    return figures, np.nan_to_num(contributions, copy=False)


@dataclass(frozen=True, kw_only=True)
class _Margins:
    """Which labels each rater of each pair used, how often, and where the entries are."""

    keys: LabelKeys
    group: NDArray[Any]
    at_first: NDArray[Any]
    at_second: NDArray[Any]
    n_items: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the entries of each pair, divided by its items."""
        return np.bincount(self.group, weights=values, minlength=len(self.n_items)) / self.n_items


def _count_margins(entries: Entries, n_labels: int) -> _Margins:
    keys, at_first, at_second = _find_keys(entries, n_labels)
    n_items = np.bincount(entries.group, weights=entries.weight, minlength=entries.n_groups)
    shares = [
        np.bincount(place, weights=entries.weight, minlength=len(keys.group)) / n_items[keys.group]
        for place in (at_first, at_second)
    ]
    return _Margins(
        keys=keys,
        group=entries.group,
        at_first=at_first,
        at_second=at_second,
        n_items=n_items.astype(np.float64, copy=False),
        first=shares[0],
        second=shares[1],
    )


def _find_keys(
    entries: Entries, n_labels: int
) -> tuple[LabelKeys, NDArray[np.intp], NDArray[np.intp]]:
    """List the labels of each pair, and where in the list those of each entry are."""
    n_entries, n_cells = len(entries.group), entries.n_groups * n_labels
    base = entries.group.astype(np.int64) * n_labels
    first, second = base + entries.first, base + entries.second
    if n_cells <= _SPARSE * n_entries:
        cells = np.arange(n_cells)
    else:
        cells, places = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second = places[:n_entries], places[n_entries:]
    keys = LabelKeys(
        group=cells // max(n_labels, 1),
        label=cells % max(n_labels, 1),
        n_groups=entries.n_groups,
    )
    return keys, first, second


def _compute_cohen(
    margins: _Margins,
    apart: NDArray[np.float64],
    observed: NDArray[np.float64],
    disagreement: Disagreement,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    keys, group = margins.keys, margins.group
    to_first = disagreement.mean_to(keys, margins.first)
    to_second = disagreement.mean_to(keys, margins.second)
    expected = keys.total(margins.first * to_second)
    # Equal labels are counted, not found by a sum of 0, which rounding may spare.
    n_used = keys.total(((margins.first > 0) | (margins.second > 0)).astype(np.float64))
    expected = np.where(n_used > 1, expected, np.nan)
    ratio = observed / expected
    # d(D_o / D_e) for one item: its own disagreement, and that with the labels of the other rater.
    by_chance = to_second[margins.at_first] + to_first[margins.at_second]
    reach = by_chance / expected[group] - 2
    values = 1 - ratio[group] - (apart - observed[group]) / expected[group] + ratio[group] * reach
    return 1 - ratio, np.stack([values, reach], axis=1)


def _compute_gwet(
    margins: _Margins,
    apart: NDArray[np.float64],
    observed: NDArray[np.float64],
    disagreement: Disagreement,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    factor, keys, group = disagreement.chance_factor, margins.keys, margins.group
    share = (margins.first + margins.second) / 2
    square = keys.total(share**2)
    expected = 1 - factor * (1 - square)
    ratio = observed / expected
    # d p_e for one item: its two labels take half a place each.
    own = share[margins.at_first] + share[margins.at_second]
    by_chance = factor * (2 * square[group] - own)
    change = apart - observed[group] + ratio[group] * by_chance
    return 1 - ratio, 1 - ratio[group] - change / expected[group]
