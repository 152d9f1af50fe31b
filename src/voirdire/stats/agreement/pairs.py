r"""Measures agreement of pairs of raters, and means over pairs: raw, Cohen's κ, Gwet's coefficient.

They are :math:`1 - D_o / D_e`, as the coefficients of a panel, whose intervals these have too.

*A pair of raters.* With :math:`D_o` the mean disagreement on its common items and :math:`p_a, q_a`
the shares of the labels there, Cohen's κ [1]_, [2]_ has :math:`D_e = \sum_{a, b} p_a q_b \delta(a,
b)`, and Gwet's coefficient that of
`voirdire.stats.agreement.coefficients` with :math:`\pi_a = (p_a + q_a) / 2`.

*A mean over pairs* weights each pair by its number of common items, so that pairs with next to
nothing in common, whose coefficients are erratic and biased downwards, count for next to nothing.
Pairs whose coefficient is undefined are left out. Of the mean
:math:`\bar\kappa = \sum_p n_p \kappa_p / \sum_p n_p` an item's influence is
:math:`\sum_p \left(n_p \psi_p + 1_p (\kappa_p - \bar\kappa)\right) / \sum_p n_p`, where
:math:`\psi_p` is its influence on :math:`\kappa_p` and :math:`1_p` says whether it belongs to the
pair: an item that many pairs share counts once. A coefficient of few items is biased by a share of
1 - κ that is about the inverse of their number. In a crowd where two annotators have next to
nothing in common, κ is therefore left undefined; raw agreement has no such bias.

References
----------
.. [1] J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
   Measurement 20(1), 1960.
.. [2] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), 1968.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError
from voirdire.stats.agreement.coefficients import (
    AgreementResult,
    make_result,
    warn_if_undefined,
)
from voirdire.stats.agreement.labels import Labels, Weights, code_labels
from voirdire.stats.intervals import count_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.label_arrays import LabelSets

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

_MOST_PSEUDO = 1 << 20
"""Most pseudo-items, one for each pair; in larger crowds they would hardly count."""

_LARGE_STUDY = 100
_FEWEST_COMMON = 10


class PairSums:
    """Coefficients of pairs that arrive in chunks: memory is O(n_items) and that of one chunk.

    Two raters, `first` and `second`, are the pair `first * n_raters + second`. With a `refusal`
    every mean is undefined for that reason.
    """

    def __init__(self, labels: Labels, *, refusal: str | None = None) -> None:
        self.labels, self.refusal = labels, refusal
        self._n_raters, self._n_items = labels.codes.shape
        self._sums = np.zeros((6, self._n_items + len(labels.pseudo_items[0])))
        self._of_pairs = [np.zeros((7, 0))]

    def add(
        self,
        item: NDArray[Any],
        pair: NDArray[Any],
        first: NDArray[Any],
        second: NDArray[Any],
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        """Add all items of pairs of raters.

        Each entry has the number of the item, that of the pair, and the codes of both labels (it is
        left out where one is missing); it has a weight where one of the labels is split among
        several. Of a pair, an item contributes the coefficient plus its influence on it times the
        number of items: the weighted mean over the items of a pair is its coefficient.
        """
        known = (first >= 0) & (second >= 0)
        if not known.all():
            item, pair, first, second = item[known], pair[known], first[known], second[known]
            weight = None if weight is None else weight[known]
        pairs, group = _find_distinct(pair, self._n_raters**2)
        # the coincidences: the distinct entries, with the number of items of each
        n_groups, n = len(pairs), max(len(self.labels.values), 1)
        cells, place = _find_distinct((group * n + first) * n + second, n_groups * n * n)
        n_here = np.bincount(place, weight, len(cells)).astype(np.float64)
        group, first, second = cells // (n * n), cells // n % n, cells % n
        n_common: NDArray[Any] = np.bincount(group, n_here, n_groups)
        values, rows = _measure_pairs(self.labels, group, first, second, n_here)
        defined, smoothed, n_smoothed = ~np.isnan(values[COHEN]), values[COHEN], n_common
        # pseudo-items count for a pair by its share of the items
        one, other, share = self.labels.pseudo_items
        of_pseudo = np.repeat(np.arange(n_groups), len(one))
        if 0 < len(of_pseudo) <= _MOST_PSEUDO:
            met = np.bincount(item, minlength=self._n_items) > 0
            share = share / np.sqrt(n_common.sum() / np.count_nonzero(met))
            n_units = count_units(self.labels.units, met)
            added = np.outer(n_common / n_units, share).ravel()
            all_values, all_rows = _measure_pairs(
                self.labels,
                np.concatenate([group, of_pseudo]),
                np.concatenate([first, np.tile(one, n_groups)]),
                np.concatenate([second, np.tile(other, n_groups)]),
                np.concatenate([n_here, added]),
            )
            smoothed, n_smoothed = all_values[COHEN], n_common * (1 + share.sum() / n_units)
            for column in (COHEN, _REACH, _DEFINED):
                rows[column], pseudo = np.split(all_rows[column], [len(cells)])
                pseudo = np.where(defined[of_pseudo], pseudo * added, 0.0)
                by_labels = pseudo.reshape(n_groups, len(self.labels.used), -1).sum(axis=0)
                of_labels = (by_labels + by_labels.T).ravel() / 2  # raters have no order
                of_labels /= 1 if column == _REACH else np.sqrt(share)
                self._sums[column, self._n_items :] += of_labels
        for column in (COHEN, _REACH, _DEFINED):
            rows[column] = np.where(defined[group], rows[column], 0.0)
        for column, row in enumerate(rows):
            by_entry = np.nan_to_num(row)[place]
            by_entry = by_entry if weight is None else by_entry * weight
            self._sums[column, : self._n_items] += np.bincount(item, by_entry, self._n_items)
        self._of_pairs.append(np.stack([*values, pairs, n_common, smoothed, n_smoothed]))

    def mean(self, column: int, coefficient: str) -> AgreementResult:
        """Take the mean of a coefficient over all pairs."""
        labels, compared = self.labels, self._sums[_PAIRS, : self._n_items] > 0
        *by_column, pairs, n_items, smoothed, n_smoothed = np.concatenate(self._of_pairs, axis=1)
        values, n_compared = by_column[column], int(np.count_nonzero(compared))
        shared, refusal = float(n_items.sum()) / max(len(pairs), 1), self.refusal
        # In a small study the wide interval shows that two raters share little.
        if column != RAW and n_compared >= _LARGE_STUDY and shared < _FEWEST_COMMON:
            refusal = (
                f"two raters have {shared:.1f} items in common on average, "
                f"fewer than {_FEWEST_COMMON}"
            )
        if refusal is not None:
            return AgreementResult(
                coefficient=coefficient,
                weights=labels.weights,
                confidence_level=labels.confidence_level,
                reason=refusal,
            )
        defined = ~np.isnan(values)
        n_out = int(np.count_nonzero(~defined))
        reason: str | None = None
        if n_out == len(pairs):
            reason = _REASONS[column if len(pairs) else RAW]
        elif n_out:
            reason = f"{n_out:,} of {len(pairs):,} pairs are left out: {_REASONS[column]} there"
        total = float(n_items[defined].sum())
        estimate = centre = math.nan
        sums = self._sums[:, : self._n_items]
        influence, reach = sums[column], None
        if total and column == COHEN:
            sums, compared = self._sums, sums[_DEFINED] > 0
            estimate, total = (
                float(n_items[defined] @ values[defined]) / total,
                float(n_smoothed[defined].sum()),
            )
            centre = float(n_smoothed[defined] @ smoothed[defined]) / total
            influence = (sums[COHEN] - centre * sums[_DEFINED]) / total
            reach = sums[_REACH] / total
        elif total:
            estimate = centre = float(n_items[defined] @ values[defined]) / total
            influence = (sums[column] - estimate * sums[_PAIRS]) / total
        raters = np.divmod(pairs, self._n_raters)
        return make_result(
            labels,
            coefficient,
            estimate,
            (centre, influence, reach),
            compared=compared,
            reason=reason,
            n_items=n_compared,
            n_raters=len(np.unique(np.concatenate(raters))),
        )


def _measure_pairs(
    labels: Labels,
    group: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    n_here: NDArray[np.float64],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Measure the coefficients of pairs from their coincidences, with what an item contributes."""
    n_groups, n = int(group.max(initial=-1)) + 1, max(len(labels.values), 1)
    n_common = np.bincount(group, n_here, n_groups).astype(np.float64)
    # the labels of each pair, with their shares in the labels of its two raters
    keys = np.concatenate([group * n + first, group * n + second])
    margins, ends = _find_distinct(keys, n_groups * n)
    of, at_first, at_second = margins // n, *np.split(ends, 2)
    of_first, of_second = (
        np.bincount(at, n_here, len(margins)) / n_common[of] for at in (at_first, at_second)
    )
    share = (of_first + of_second) / 2
    to_first = labels.mean_disagreement(of, margins % n, of_first)
    to_second = labels.mean_disagreement(of, margins % n, of_second)
    cohen = np.bincount(of, of_first * to_second, n_groups).astype(np.float64)
    # Equal labels are counted, since a sum may differ from 0 by rounding.
    cohen[np.bincount(of, minlength=n_groups) < 2] = np.nan
    factor, square = labels.chance_factor, np.bincount(of, share**2, n_groups)
    apart = labels.disagreement(first, second).astype(np.float64)
    by_chance = (
        # D_e, and what the two labels of one item change of it
        (cohen, to_second[at_first] + to_first[at_second] - 2 * cohen[group]),
        (
            1 - factor * (1 - square),
            factor * (share[at_first] + share[at_second] - 2 * square[group]),
        ),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.bincount(group, apart * n_here, n_groups) / n_common
        values, contributions, reaches = [1 - observed], [1 - apart], []
        for expected, change in by_chance:
            ratio, reach = observed / expected, change / expected[group]
            influence = ratio[group] * reach - (apart - observed[group]) / expected[group]
            values.append(1 - ratio)
            contributions.append(1 - ratio[group] + influence)
            reaches.append(reach)
    ones = np.ones(len(group))
    return values, [*contributions, reaches[0], ones, ones]


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
        fewer than two items or clusters.

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
    corrected halfway to the jackknife and a quantile of the t distribution; see
    `voirdire.stats.intervals`, where its coverage stands. Reference values in the tests come from
    scikit-learn and statsmodels.

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
    columns = [np.asarray(first), np.asarray(second)]
    if columns[0].ndim != 1 or columns[0].shape != columns[1].shape:
        msg = (
            "`first`, `second` must be of the same shape (n_items,), "
            f"got {columns[0].shape} and {columns[1].shape}."
        )
        raise InputError(msg)
    labels = code_labels(
        np.column_stack(columns),
        weights=weights,
        label_sets=label_sets,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    sums, items = PairSums(labels), np.arange(len(columns[0]))
    sums.add(items, np.ones_like(items), *labels.codes)
    result = sums.mean(COHEN, "cohen_kappa")
    warn_if_undefined("κ", result.estimate, result.reason)
    return result
