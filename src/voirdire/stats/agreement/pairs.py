r"""Measures raw agreement, Cohen's κ and Gwet's coefficient of many pairs of raters at once.

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
"""Rows of contributions; the last is the relative influence on κ's chance disagreement."""

_SPARSE = 4
"""Cells per entry from which distinct entries are found by sorting."""


@dataclass(frozen=True, kw_only=True)
class PairedLabels:
    """Labels of pairs of raters on their common items.

    Each entry has the number of the item, that of the pair, and the codes of both labels; it has a
    weight where one of the labels is split among several. `raters` are the two raters of each pair.
    """

    item: NDArray[Any]
    group: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    raters: NDArray[np.intp] = field(repr=False)
    weight: NDArray[np.float64] | None = None


class _Table:
    """The distinct entries of some pairs of raters, and the labels that each rater used.

    `place` is the distinct entry of each entry, and `weight` the number of items with it; `keys`
    are the labels of each pair with their shares in the labels of its two raters.
    """

    def __init__(self, entries: PairedLabels, n_labels: int) -> None:
        n, self.n_groups = max(n_labels, 1), len(entries.raters)
        key = (entries.group.astype(np.int64) * n + entries.first) * n + entries.second
        cells, self.place = _find_distinct(key, self.n_groups * n * n)
        self.weight = np.bincount(self.place, entries.weight, len(cells)).astype(np.float64)
        self.group, first, second = cells // (n * n), cells // n % n, cells % n
        self.first, self.second = first, second
        base = self.group * n
        used, at = _find_distinct(np.concatenate([base + first, base + second]), self.n_groups * n)
        self.keys = LabelKeys(group=used // n, label=used % n, n_groups=self.n_groups)
        self.at_first, self.at_second = np.split(at, 2)
        self.n_items = np.bincount(self.group, self.weight, self.n_groups).astype(np.float64)
        self.of_first, self.of_second = (
            np.bincount(place, self.weight, len(used)) / self.n_items[self.keys.group]
            for place in (self.at_first, self.at_second)
        )

    def estimate(self, disagreement: Disagreement) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute the three coefficients of every pair, and what each entry contributes to them.

        A contribution is the pair's coefficient plus the influence on it of one item with these
        labels, times the number of items: the weighted mean over the entries of a pair is its
        coefficient. Where κ is undefined contributions to it are 0.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = disagreement.between(self.first, self.second).astype(np.float64)
            weighted = np.bincount(self.group, apart * self.weight, self.n_groups)
            observed = weighted / self.n_items
            cohen, of_cohen, reach = self._cohen(apart, observed, disagreement)
            gwet, of_gwet = self._gwet(apart, observed, disagreement)
        contributions = np.stack([1 - apart, of_cohen, of_gwet, reach])
        return np.stack([1 - observed, cohen, gwet], axis=1), np.nan_to_num(contributions)

    def _cohen(
        self, apart: NDArray[Any], observed: NDArray[Any], disagreement: Disagreement
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        keys, group = self.keys, self.group
        to_first = disagreement.mean_to(keys, self.of_first)
        to_second = disagreement.mean_to(keys, self.of_second)
        expected = keys.total(self.of_first * to_second)
        # Equal labels are counted, since a sum may differ from 0 by rounding.
        n_used = np.bincount(keys.group, minlength=self.n_groups)
        expected = np.where(n_used > 1, expected, np.nan)
        ratio = observed / expected
        # d(D_o / D_e) for one item: its own disagreement, and that with the other rater's labels.
        by_chance = to_second[self.at_first] + to_first[self.at_second]
        reach = by_chance / expected[group] - 2
        change = (apart - observed[group]) / expected[group]
        return 1 - ratio, 1 - ratio[group] - change + ratio[group] * reach, reach

    def _gwet(
        self, apart: NDArray[Any], observed: NDArray[Any], disagreement: Disagreement
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        factor, group = disagreement.chance_factor, self.group
        share = (self.of_first + self.of_second) / 2
        square = self.keys.total(share**2)
        expected = 1 - factor * (1 - square)
        ratio = observed / expected
        # d p_e for one item: each of its two labels counts a half.
        own = share[self.at_first] + share[self.at_second]
        by_chance = factor * (2 * square[group] - own)
        change = apart - observed[group] + ratio[group] * by_chance
        return 1 - ratio, 1 - ratio[group] - change / expected[group]


def _find_distinct(keys: NDArray[Any], n_cells: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """List the distinct keys, ascending, and the place of each in the list."""
    if n_cells > _SPARSE * len(keys):
        return np.unique(keys, return_inverse=True)
    cells = np.flatnonzero(np.bincount(keys, minlength=n_cells))
    place = np.empty(n_cells, dtype=np.intp)
    place[cells] = np.arange(len(cells))
    return cells, place[keys]


# Sums over items ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ItemSums:
    """The coefficients of pairs, and the contributions of items to them.

    Attributes
    ----------
    raters : ndarray of int, shape (n_pairs, 2)
        Numbers of the two raters of each pair.
    n_common : ndarray, shape (n_pairs,)
        Items that they have in common.
    values : ndarray, shape (n_pairs, 3)
        Raw agreement, Cohen's κ, Gwet's coefficient; nan where undefined: without common items, κ
        where all labels are equal, Gwet's coefficient with fewer than two categories.
    contributions : ndarray, shape (4, n_items)
        Sums over the pairs of the contributions of `_Table.estimate`.
    n_pairs, n_defined : ndarray, shape (n_items,)
        Pairs with both labels on the item; those of them whose κ is defined.
    """

    raters: NDArray[np.intp]
    n_common: NDArray[np.float64]
    values: NDArray[np.float64]
    contributions: NDArray[np.float64]
    n_pairs: NDArray[np.float64]
    n_defined: NDArray[np.float64]


class PairSums:
    """Sums over pairs that arrive in chunks: memory is O(n_items) and that of one chunk."""

    def __init__(self, disagreement: Disagreement, *, n_labels: int, n_items: int) -> None:
        self._disagreement = disagreement
        self._n_labels = n_labels
        self._sums = np.zeros((6, n_items))
        self._raters = [np.zeros((0, 2), dtype=np.intp)]
        self._n_common = [np.zeros(0)]
        self._values = [np.zeros((0, 3))]

    def add(self, chunk: PairedLabels) -> None:
        """Add pairs that have not been added before."""
        table = _Table(chunk, self._n_labels)
        values, contributions = table.estimate(self._disagreement)
        is_defined = ~np.isnan(values[:, COHEN])[table.group]
        share = 1.0 if chunk.weight is None else chunk.weight
        for row, of_entries in enumerate((*contributions, np.ones(len(is_defined)), is_defined)):
            self._sums[row] += np.bincount(
                chunk.item, of_entries[table.place] * share, self._sums.shape[1]
            )
        self._raters.append(chunk.raters)
        self._n_common.append(table.n_items)
        self._values.append(values)

    def finish(self) -> ItemSums:
        """Return the sums."""
        return ItemSums(
            raters=np.concatenate(self._raters),
            n_common=np.concatenate(self._n_common),
            values=np.concatenate(self._values),
            contributions=self._sums[:4],
            n_pairs=self._sums[4],
            n_defined=self._sums[5],
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


def _explain_too_thin(n_common: NDArray[np.float64], n_items: int) -> str | None:
    """Return a reason if the pairs of a large study have too few items each for a coefficient.

    In a small study the wide interval shows it.
    """
    if n_items < _LARGE_STUDY or not n_common.size or n_common.mean() >= _FEWEST_COMMON:
        return None
    return (
        f"two raters have {n_common.mean():.1f} items in common on average, "
        f"fewer than {_FEWEST_COMMON}"
    )


@dataclass(frozen=True, kw_only=True)
class PairMeans:
    """Settings of means over pairs: clusters of items, coverage, and weights."""

    units: NDArray[np.intp] | None
    confidence_level: float
    weights: Weights | None

    def measure(
        self, sums: ItemSums | str, column: int, coefficient: str, *, besides: bool = False
    ) -> AgreementResult:
        """Take the mean of one column of the figures.

        Where there are no figures, `sums` is the reason. Where all pairs have one judge in common
        (`besides`), it is not counted among the raters.
        """
        if isinstance(sums, str):
            return undefined(coefficient, self.weights, self.confidence_level, sums)
        n_items, values = sums.n_common, sums.values[:, column]
        compared, common = sums.n_pairs > 0, n_items > 0
        if column != RAW and (
            thin := _explain_too_thin(n_items[common], int(np.count_nonzero(compared)))
        ):
            return undefined(coefficient, self.weights, self.confidence_level, thin)
        defined = common & ~np.isnan(values)
        total = float(n_items[defined].sum())
        estimate = float(n_items[defined] @ values[defined]) / total if total else float("nan")
        n_pairs = sums.n_defined if column == COHEN else sums.n_pairs
        influence, reach = np.zeros(len(n_pairs)), None
        if total:
            influence = (sums.contributions[column] - estimate * n_pairs) / total
            reach = sums.contributions[_REACH] / total if column == COHEN else None
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
