r"""Measures raw agreement, Cohen's κ and Gwet's coefficient of pairs of raters.

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

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import make_result, undefined, warn_if_undefined
from voirdire.stats.agreement.labels import Weights, code_labels
from voirdire.stats.intervals import check_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.coefficient import AgreementResult
    from voirdire.stats.agreement.labels import Disagreement
    from voirdire.stats.label_arrays import LabelSets

__all__ = ["COHEN", "GWET", "RAW", "PairSums", "cohen_kappa"]

RAW, COHEN, GWET, _REACH, _PAIRS, _DEFINED = range(6)
"""Rows of sums over items; the last three are the relative influence on κ's chance disagreement,
the pairs with both labels on an item, and those of them whose κ is defined."""

_REASONS = {
    RAW: "no items in common",
    COHEN: "all labels are equal",
    GWET: "there are fewer than two categories",
}

_SPARSE = 4
"""Cells per entry from which distinct entries are found by sorting."""

_LARGE_STUDY = 100
_FEWEST_COMMON = 10


class PairSums:
    """Coefficients of pairs that arrive in chunks: memory is O(n_items) and that of one chunk."""

    def __init__(
        self,
        disagreement: Disagreement,
        *,
        n_items: int,
        units: NDArray[np.intp] | None,
        confidence_level: float,
    ) -> None:
        self._disagreement, self._units = disagreement, units
        self._confidence_level = confidence_level
        self._sums = np.zeros((6, n_items))
        self._raters = [np.zeros((0, 2), dtype=np.intp)]
        self._n_common = [np.zeros(0)]
        self._values = [np.zeros((0, 3))]

    def add(
        self,
        item: NDArray[Any],
        group: NDArray[Any],
        labels: tuple[NDArray[Any], NDArray[Any]],
        *,
        raters: NDArray[np.intp],
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        """Add pairs of raters that have not been added before.

        Each entry has the number of the item, that of the pair, and the codes of both labels; it
        has a weight where one of the labels is split among several. `raters` are the two raters of
        each pair. Of a pair, an item contributes the coefficient plus its influence on it times
        the number of items: the weighted mean over the items of a pair is its coefficient.
        """
        # the coincidences: the distinct entries, with the number of items of each
        n_groups, n = len(raters), max(self._disagreement.n_labels, 1)
        keys = (group.astype(np.int64) * n + labels[0]) * n + labels[1]
        cells, place = _find_distinct(keys, n_groups * n * n)
        n_here = np.bincount(place, weight, len(cells)).astype(np.float64)
        group, first, second = cells // (n * n), cells // n % n, cells % n
        n_common = np.bincount(group, n_here, n_groups).astype(np.float64)
        # the labels of each pair, with their shares in the labels of its two raters
        keys = np.concatenate([group * n + first, group * n + second])
        margins, ends = _find_distinct(keys, n_groups * n)
        of, at_first, at_second = margins // n, *np.split(ends, 2)
        of_first, of_second = (
            np.bincount(at, n_here, len(margins)) / n_common[of] for at in (at_first, at_second)
        )
        share = (of_first + of_second) / 2
        to_first = self._disagreement.mean_to(of, margins % n, of_first)
        to_second = self._disagreement.mean_to(of, margins % n, of_second)
        cohen = np.bincount(of, of_first * to_second, n_groups).astype(np.float64)
        # Equal labels are counted, since a sum may differ from 0 by rounding.
        cohen[np.bincount(of, minlength=n_groups) < 2] = np.nan
        factor, square = self._disagreement.chance_factor, np.bincount(of, share**2, n_groups)
        apart = self._disagreement.between(first, second).astype(np.float64)
        by_chance = (
            # D_e, and what the two labels of one item change of it
            (cohen, to_second[at_first] + to_first[at_second] - 2 * cohen[group]),
            (
                1 - factor * (1 - square),
                factor * (share[at_first] + share[at_second] - 2 * square[group]),
            ),
        )
        values, contributions, reaches = [], [1 - apart], []
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = np.bincount(group, apart * n_here, n_groups) / n_common
            for expected, change in by_chance:
                ratio, reach = observed / expected, change / expected[group]
                influence = ratio[group] * reach - (apart - observed[group]) / expected[group]
                values.append(1 - ratio)
                contributions.append(1 - ratio[group] + influence)
                reaches.append(reach)
        is_defined = ~np.isnan(cohen)[group]
        rows = (*contributions, reaches[0], np.ones(len(cells)), is_defined)
        for column, row in enumerate(rows):
            by_entry = np.nan_to_num(row)[place]
            by_entry = by_entry if weight is None else by_entry * weight
            self._sums[column] += np.bincount(item, by_entry, self._sums.shape[1])
        self._raters.append(raters)
        self._n_common.append(n_common)
        self._values.append(np.stack([1 - observed, *values], axis=1))

    def mean(self, column: int, coefficient: str, *, besides: bool = False) -> AgreementResult:
        """Take the mean of a coefficient over all pairs.

        Where all pairs have one judge in common (`besides`), it is not counted among the raters.
        """
        n_items, compared = np.concatenate(self._n_common), self._sums[_PAIRS] > 0
        values = np.concatenate(self._values)[:, column]
        common = n_items > 0
        n_compared, n_common = int(np.count_nonzero(compared)), int(np.count_nonzero(common))
        shared = n_items.sum() / max(n_common, 1)
        # In a small study the wide interval shows that two raters share little.
        if column != RAW and n_compared >= _LARGE_STUDY and shared < _FEWEST_COMMON:
            thin = (
                f"two raters have {shared:.1f} items in common on average, "
                f"fewer than {_FEWEST_COMMON}"
            )
            return undefined(coefficient, self._disagreement.weights, self._confidence_level, thin)
        defined = common & ~np.isnan(values)
        n_out = n_common - int(np.count_nonzero(defined))
        reason: str | None = None
        if n_out == n_common:
            reason = _REASONS[column if n_common else RAW]
        elif n_out:
            reason = f"{n_out:,} of {n_common:,} pairs are left out: {_REASONS[column]} there"
        total = float(n_items[defined].sum())
        estimate, influence, reach = float("nan"), np.zeros(len(compared)), None
        n_pairs = self._sums[_DEFINED if column == COHEN else _PAIRS]
        if total:
            estimate = float(n_items[defined] @ values[defined]) / total
            influence = (self._sums[column] - estimate * n_pairs) / total
            reach = self._sums[_REACH] / total if column == COHEN else None
        return make_result(
            coefficient,
            estimate,
            influence,
            reach=reach,
            compared=n_pairs > 0 if total else compared,
            units=self._units,
            confidence_level=self._confidence_level,
            weights=self._disagreement.weights,
            least=0.0 if column == RAW else -1.0,
            n_items=n_compared,
            n_raters=len(np.unique(np.concatenate(self._raters)[common, int(besides) :])),
            reason=reason,
        )


def _find_distinct(keys: NDArray[Any], n_cells: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """List the distinct keys, ascending, and the place of each in the list."""
    if n_cells > _SPARSE * len(keys):
        return np.unique(keys, return_inverse=True)
    cells = np.flatnonzero(np.bincount(keys, minlength=n_cells))
    place = np.empty(n_cells, dtype=np.intp)
    place[cells] = np.arange(len(cells))
    return cells, place[keys]


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: Weights | None = None,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> AgreementResult:
    r"""Measure how far two raters agree beyond chance.

    Chance is what two raters with these raters' own shares of labels would agree on by guessing
    [1]_; weights let unequal labels agree in part [2]_. The interval takes the items, or the
    clusters, as the random sample.

    Parameters
    ----------
    first, second : array_like, shape (n_items,)
        Labels of the same items in the same order: integer codes with -1 for missing or, for
        ``"linear"`` and ``"quadratic"``, also numbers with nan for missing.
    weights : {"linear", "quadratic", "jaccard"}, optional
        Unequal labels agree by one minus the difference of the numbers (the codes, where labels
        are integers), or its square, over its largest value; or by the Jaccard index of label
        sets. None: not at all.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"jaccard"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to. Omit it only when items were drawn
        independently.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    AgreementResult
        κ is nan without common items, or where all labels are equal; its interval is nan with
        fewer than two items or clusters, and closes on 1 under perfect agreement.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If κ or its interval is undefined.

    Notes
    -----
    With the mean disagreement :math:`D_o` of the two labels of an item and :math:`D_e` that of all
    labels of one rater with all labels of the other, :math:`\kappa = 1 - D_o / D_e`. Quadratic
    weights need no list of categories, so that continuous scales are allowed.

    The interval is symmetric in Fisher's z of κ, with the standard error of the delta method
    corrected towards the jackknife and a quantile of the t distribution; see
    `voirdire.stats.intervals`. Two raters who know the truth 7 times in 10 and guess otherwise, two
    labels, independent items;
    coverage at .95 in 10,000 samples:

    ========================= ===== ===== =====
    share of the rarer label  n=50  n=100 n=200
    ========================= ===== ===== =====
    .5                        .963  .959  .955
    .3                        .959  .958  .951
    .1                        .921  .960  .954
    ========================= ===== ===== =====

    Few items with rare labels make the interval too narrow. Reference values in the tests come
    from scikit-learn and statsmodels.

    References
    ----------
    .. [1] J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
       Measurement 20(1), pages 37-46, 1960. :doi:`10.1177/001316446002000104`
    .. [2] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), pages 213-220, 1968.
       :doi:`10.1037/h0026256`

    Examples
    --------
    Two people agree on 8 of 10 items, and both say "yes" (1) half of the time:

    >>> result = cohen_kappa([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    >>> round(result.estimate, 3), result.n_items
    (0.6, 10)
    """
    check_fraction("confidence_level", confidence_level)
    columns = [np.asarray(first), np.asarray(second)]
    if columns[0].ndim != 1 or columns[0].shape != columns[1].shape:
        msg = (
            "`first`, `second` must be of the same shape (n_items,), "
            f"got {columns[0].shape} and {columns[1].shape}."
        )
        raise InputError(msg)
    labels = code_labels(np.column_stack(columns), weights=weights, label_sets=label_sets)
    units = check_units(clusters, len(columns[0]))
    sums = PairSums(
        labels.disagreement(),
        n_items=len(columns[0]),
        units=units,
        confidence_level=confidence_level,
    )
    [item] = np.nonzero((labels.codes >= 0).all(axis=0))
    sums.add(
        item,
        np.zeros_like(item),
        (labels.codes[0, item], labels.codes[1, item]),
        raters=np.array([[0, 1]]),
    )
    result = sums.mean(COHEN, "cohen_kappa")
    warn_if_undefined("κ", result.estimate, result.reason)
    return result
