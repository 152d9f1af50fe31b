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

Means of coefficients over pairs of raters, with intervals.

A mean over pairs weights each pair by its number of common items, so that pairs with next to
nothing in common, whose coefficients are erratic and biased downwards, count for next to nothing.
Pairs whose coefficient is _undefined are left out. Of the mean
:math:`\bar\kappa = \sum_p n_p \kappa_p / \sum_p n_p` an item's influence is
:math:`\sum_p \left(n_p \psi_p + 1_p (\kappa_p - \bar\kappa)\right) / \sum_p n_p`, where
:math:`\psi_p` is its influence on :math:`\kappa_p` and :math:`1_p` says whether it belongs to the
pair: an item that many pairs share counts once.

A coefficient of few items is biased by a share of 1 - κ that is about the inverse of their number.
In a crowd where two annotators have next to nothing in common, κ is therefore left _undefined; raw
agreement has no such bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.coefficient import make_result, undefined
from voirdire.stats.agreement.labels import LabelKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.agreement.coefficient import AgreementResult
    from voirdire.stats.agreement.labels import Disagreement, Weights

__all__ = ["COHEN", "GWET", "RAW", "ItemSums", "PairMeans", "PairSums", "PairedLabels"]

RAW, COHEN, GWET, _REACH = range(4)
"""Columns of contributions; the last is the relative influence on the disagreement that κ expects
by chance."""

_SPARSE = 4
"""Cells of groups by labels per entry from which only those that occur are kept."""


@dataclass(frozen=True, kw_only=True)
class PairedLabels:
    """Labels that pairs of raters gave to common items, all those of each pair.

    Attributes
    ----------
    item : ndarray of int, shape (n_entries,)
        Number of the item.
    group : ndarray of int, shape (n_entries,)
        Number of the pair.
    first, second : ndarray of int, shape (n_entries,)
        Codes of the labels.
    raters : ndarray of int, shape (n_pairs, 2)
        Numbers of the two raters of each pair.
    weight : ndarray, shape (n_entries,), or None
        The share of the item, where one of the labels is shared among several.
    """

    item: NDArray[Any]
    group: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    raters: NDArray[np.intp] = field(repr=False)
    weight: NDArray[np.float64] | None = None


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """Pairs of labels that occur, and how many items of each pair of raters have them."""

    group: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    weight: NDArray[np.float64]
    n_groups: int


@dataclass(frozen=True, kw_only=True)
class _PairFigures:
    """The coefficients of pairs.

    Attributes
    ----------
    n_items : ndarray, shape (n_pairs,)
        Common items.
    values : ndarray, shape (n_pairs, 3)
        Raw agreement, Cohen's κ, Gwet's coefficient; nan where _undefined: without common items, κ
        where all labels are equal, Gwet's coefficient with fewer than two categories.
    """

    n_items: NDArray[np.float64]
    values: NDArray[np.float64]

    @staticmethod
    def joined(parts: list[_PairFigures]) -> _PairFigures:
        """Put the figures of several pairs behind each other."""
        if not parts:
            return _PairFigures(n_items=np.zeros(0), values=np.zeros((0, 3)))
        return _PairFigures(
            n_items=np.concatenate([part.n_items for part in parts]),
            values=np.concatenate([part.values for part in parts]),
        )


def _estimate_pairs(
    entries: _Entries, disagreement: Disagreement, n_labels: int
) -> tuple[_PairFigures, NDArray[np.float64]]:
    """Compute the coefficients of every pair, and what each entry contributes to them.

    Parameters
    ----------
    entries : _Entries
        The labels of the pairs.
    disagreement : Disagreement
        How far labels disagree, and which categories there are.
    n_labels : int
        Codes are below it.

    Returns
    -------
    figures : _PairFigures
        One row per pair.
    contributions : ndarray, shape (n_entries, 4)
        The pair's coefficient plus the influence on it of one item with these labels, times the
        number of items: the weighted mean over the entries of a pair is its coefficient. All are
        0 for κ where it is _undefined.
    """
    contributions = np.empty((len(entries.group), 4))
    with np.errstate(divide="ignore", invalid="ignore"):
        margins = _count_margins(entries, n_labels)
        apart = disagreement.between(entries.first, entries.second).astype(np.float64)
        observed = margins.mean(apart * entries.weight)
        contributions[:, RAW] = 1 - apart
        cohen, contributions[:, [COHEN, _REACH]] = _compute_cohen(
            margins, apart, observed, disagreement
        )
        gwet, contributions[:, GWET] = _compute_gwet(margins, apart, observed, disagreement)
    figures = _PairFigures(
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


def _count_margins(entries: _Entries, n_labels: int) -> _Margins:
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
    entries: _Entries, n_labels: int
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


# Sums over items ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ItemSums:
    """The coefficients of pairs, and what the items contribute to them.

    Attributes
    ----------
    figures : _PairFigures
        One row per pair.
    contributions : ndarray, shape (n_items, 4)
        Sums over the pairs, in the columns that `_estimate_pairs` gives.
    n_pairs, n_defined : ndarray, shape (n_items,)
        Pairs with both labels on the item; those of them whose κ is defined.
    raters : ndarray of int, shape (n_pairs, 2)
        Numbers of the two raters of each pair.
    """

    figures: _PairFigures
    contributions: NDArray[np.float64]
    n_pairs: NDArray[np.float64]
    n_defined: NDArray[np.float64]
    raters: NDArray[np.intp]


class PairSums:
    """Sums over pairs that arrive in chunks: memory is O(n_items) and that of one chunk.

    Parameters
    ----------
    disagreement : Disagreement
        How far labels disagree.
    n_labels, n_items : int
        Codes of labels, and numbers of items, are below them.
    """

    def __init__(self, disagreement: Disagreement, *, n_labels: int, n_items: int) -> None:
        self._disagreement = disagreement
        self._n_labels = n_labels
        self._sums = np.zeros((6, n_items))
        self._figures: list[_PairFigures] = []
        self._raters = [np.zeros((0, 2), dtype=np.intp)]

    def add(self, chunk: PairedLabels) -> None:
        """Add pairs that have not been added before."""
        entries, place = self._count(chunk)
        figures, contributions = _estimate_pairs(entries, self._disagreement, self._n_labels)
        known = ~np.isnan(figures.values[:, COHEN])[entries.group]
        share = 1.0 if chunk.weight is None else chunk.weight
        for row, values in enumerate((*contributions.T, np.ones(len(known)), known)):
            self._sums[row] += np.bincount(
                chunk.item, weights=values[place] * share, minlength=self._sums.shape[1]
            )
        self._figures.append(figures)
        self._raters.append(chunk.raters)

    def _count(self, chunk: PairedLabels) -> tuple[_Entries, NDArray[Any]]:
        """Count equal pairs of labels of a pair of raters; say which each entry is."""
        n, n_groups = self._n_labels, len(chunk.raters)
        key = (chunk.group.astype(np.int64) * n + chunk.first) * n + chunk.second
        if n_groups * n * n <= _SPARSE * len(key):
            weight = np.bincount(key, weights=chunk.weight, minlength=n_groups * n * n)
            cells = np.flatnonzero(weight)
            place = np.empty(len(weight), dtype=np.intp)
            place[cells] = np.arange(len(cells))
            weight, place = weight[cells], place[key]
        else:
            cells, place = np.unique(key, return_inverse=True)
            weight = np.bincount(place, weights=chunk.weight, minlength=len(cells))
        entries = _Entries(
            group=cells // max(n * n, 1),
            first=cells // max(n, 1) % max(n, 1),
            second=cells % max(n, 1),
            weight=weight.astype(np.float64, copy=False),
            n_groups=n_groups,
        )
        return entries, place

    def finish(self) -> ItemSums:
        """Give what has been summed."""
        return ItemSums(
            figures=_PairFigures.joined(self._figures),
            contributions=self._sums[:4].T,
            n_pairs=self._sums[4],
            n_defined=self._sums[5],
            raters=np.concatenate(self._raters),
        )


# Means over pairs -----------------------------------------------------------------------------

_LEAST = {RAW: 0.0, COHEN: -1.0, GWET: -1.0}
_LARGE_STUDY = 100
_FEWEST_COMMON = 10
_REASONS = {
    RAW: "no items in common",
    COHEN: "all labels are equal",
    GWET: "there are fewer than two categories",
}


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
            reach = sums.contributions[:, _REACH] / total if column == COHEN else None
        raters = sums.raters[common][:, 1:] if besides else sums.raters[common]
        return make_result(
            coefficient,
            estimate,
            influence,
            reach=reach,
            compared=(n_pairs > 0) if total else compared,
            units=self.units,
            confidence_level=self.confidence_level,
            weights=self.weights,
            least=_LEAST[column],
            n_items=int(np.count_nonzero(compared)),
            n_raters=len(np.unique(raters)),
            reason=self._reason(column, int(common.sum()), int(defined.sum())),
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
