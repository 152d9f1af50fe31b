r"""Measures agreement of raters: raw, Cohen's and Fleiss' κ, Gwet's AC1 and AC2, Krippendorff's α.

They are one statistic, :math:`1 - D_o / D_e`, of the observed disagreement of labels and the one
that chance would give; :math:`\delta = 1 - w` is the disagreement of two labels.

*A panel as a whole.* With :math:`r_i` labels on item i, :math:`r_{ik}` of them k,

.. math:: D_o = \frac{\sum_i u_i d_i}{\sum_i u_i}, \quad
   d_i = \frac{\sum_{a \ne b} \delta(a, b)}{r_i (r_i - 1)}, \quad
   \pi_k = \frac{\sum_i v_i r_{ik}}{\sum_i v_i r_i},

the sum in :math:`d_i` over the ordered pairs of labels of the item. Coefficients differ in how they
weight items and labels, and in what they expect by chance:

- Fleiss' κ [1]_: :math:`u_i = 1` for items with two labels, :math:`v_i = 1 / r_i` for items with a
  label, :math:`D_e = \sum_{k, l} \delta(k, l) \pi_k \pi_l`;
- Gwet's coefficients [2]_: the same weights, :math:`D_e = 1 - \frac{T_w}{q (q - 1)} \sum_k \pi_k
  (1 - \pi_k)` with q categories and the sum :math:`T_w` of the weights of all pairs of them;
- Krippendorff's α [3]_: :math:`u_i = r_i` and :math:`v_i = 1` for items with two labels, n labels
  in all, :math:`D_e = \frac{n}{n - 1} \sum_{k, l} \delta(k, l) \pi_k \pi_l`.

Missing labels follow [2]_: items with one label count towards the shares of the labels only.

*A pair of raters.* With :math:`D_o` the mean disagreement on its common items and :math:`p_a, q_a`
the shares of the labels there, Cohen's κ [4]_, [5]_ has :math:`D_e = \sum_{a, b} p_a q_b \delta(a,
b)`, and Gwet's coefficient the above with :math:`\pi_a = (p_a + q_a) / 2`.

*A mean over pairs* weights each pair by its number of common items, so that pairs with next to
nothing in common, whose coefficients are erratic and biased downwards, count for next to nothing.
Pairs whose coefficient is undefined are left out. Of the mean
:math:`\bar\kappa = \sum_p n_p \kappa_p / \sum_p n_p` an item's influence is
:math:`\sum_p \left(n_p \psi_p + 1_p (\kappa_p - \bar\kappa)\right) / \sum_p n_p`, where
:math:`\psi_p` is its influence on :math:`\kappa_p` and :math:`1_p` says whether it belongs to the
pair: an item that many pairs share counts once. A coefficient of few items is biased by a share of
1 - κ that is about the inverse of their number. In a crowd where two annotators have next to
nothing in common, κ is therefore left undefined; raw agreement has no such bias.

*Intervals.* All are smooth functions of sums over items, so that their standard errors follow from
each item's influence on them, summed within clusters where there are any; see
`voirdire.stats.intervals`. Where few items have a rare label, κ and α move in steps: one of two
raters who alone says "yes" once gives a κ of 0 without spread, two who say so together a κ of 1.
Their interval is therefore that of the items and of two pseudo-items (clusters, where there are
any): one on which two raters agree, spread evenly over the labels that occur, and one on which they
disagree, spread evenly over the pairs of labels. With two raters and labels this adds half an item
to each cell of their table, as Jeffreys' prior does. Pseudo-items have two labels: beside items of
r labels they weigh 2 / r, and in a mean over pairs, of which an item is in p, :math:`p^{-1/2}`. The
estimate stays that of the items alone. Gwet's coefficient has no use for them: it errs only where
raters agree on all items, and then the share of items on which they do is bounded.

Only labels that occur are counted: there is no table of labels by labels.

References
----------
.. [1] J. L. Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin
   76(5), 1971.
.. [2] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 2 to 5.
.. [3] K. Krippendorff, "Content Analysis", 4th edition, 2018, chapter 12.
.. [4] J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
   Measurement 20(1), 1960.
.. [5] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), 1968.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.agreement.labels import Labels, Weights, code_labels
from voirdire.stats.intervals import clopper_pearson, count_units, make_interval
from voirdire.stats.label_arrays import count_items, pack_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.label_arrays import LabelSets

__all__ = [
    "COHEN",
    "GWET",
    "RAW",
    "WEIGHTS",
    "AgreementResult",
    "KrippendorffResult",
    "Level",
    "PairSums",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "measure_alpha",
    "measure_items",
    "raw_agreement",
]

_ITEMS_AT_ONCE = 1 << 15

_ROUNDING = 1e-12

_SMOOTHED = ("fleiss_kappa", "krippendorff_alpha")
"""Coefficients whose intervals count pseudo-items."""

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio", "sets"]

WEIGHTS: dict[Level, Weights | None] = {
    "nominal": None,
    "ordinal": "quadratic",
    "interval": "quadratic",
    "ratio": "quadratic",
    "sets": "jaccard",
}


@dataclass(frozen=True, kw_only=True)
class AgreementResult:
    """An agreement coefficient with its interval and its counts.

    Attributes
    ----------
    coefficient : str
        ``"raw_agreement"``, ``"cohen_kappa"``, ``"fleiss_kappa"``, ``"krippendorff_alpha"``,
        ``"gwet_ac"``, ``"majority_agreement"`` or ``"majority_kappa"``.
    weights : {"linear", "quadratic", "jaccard"} or None
        Partial agreement of unequal labels; None where only equal labels agree.
    estimate : float
        At most 1; for all but the two agreements, which lie in [0, 1], 0 is chance. nan where it
        is undefined (see `reason`).
    low, high : float
        Ends of the interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    n_items : int
        Items with at least two of the labels that are compared.
    n_raters : int
        Raters who labelled such an item; beside a judge, the annotators it is compared with.
    n_clusters : int
        Independent units behind the interval: clusters, or items where none are declared.
    reason : str or None
        Why a figure is nan, or how many pairs of raters are left out of a mean.
    """

    coefficient: str
    weights: Weights | None
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    confidence_level: float
    n_items: int = 0
    n_raters: int = 0
    n_clusters: int = 0
    reason: str | None = None


def _make_result(
    labels: Labels,
    coefficient: str,
    estimate: float,
    around: tuple[float, NDArray[np.float64], NDArray[np.float64] | None],
    *,
    compared: NDArray[np.bool_],
    reason: str | None,
    **counts: int,
) -> AgreementResult:
    """Make a result; its interval is that around an estimate, its influences and its reach.

    `compared` marks the items with labels to compare; others may count towards chance agreement.
    Influences beyond the items are those of pseudo-items.
    """
    centre, influence, reach = around
    copies, units = labels.copies, labels.units
    n_units = count_units(units, compared, copies)
    n_pseudo = max(len(influence) - len(compared), 0)  # none where it is undefined
    if units is not None and n_pseudo:
        units = np.concatenate([units, units.max(initial=-1) + 1 + np.arange(n_pseudo)])
    if copies is not None:
        copies = np.append(copies, np.ones(n_pseudo, np.int64))
    low, high = make_interval(
        centre,
        influence,
        reach=reach,
        n_units=n_units,
        units=units,
        copies=copies,
        confidence_level=labels.confidence_level,
        least=0.0 if coefficient in ("raw_agreement", "majority_agreement") else -1.0,
    )
    if coefficient == "gwet_ac" and n_units >= 2 and estimate > 1 - _ROUNDING:
        # all items agree: the share of them that agree is bounded, chance as it is here
        codes = labels.codes[labels.codes >= 0]
        share = np.bincount(codes, minlength=len(labels.values)) / len(codes)
        _, expected, *_ = _expect(coefficient, labels, share)
        agree, _ = clopper_pearson(n_units, n_units, labels.confidence_level)
        low, high = max(1 - (1 - agree) / expected, -1.0), 1.0
    if reason is None and n_units < 2:
        reason = "an interval needs at least two items, or two clusters"
    return AgreementResult(
        coefficient=coefficient,
        weights=labels.weights,
        estimate=float(estimate),
        low=min(low, float(estimate)),
        high=max(high, float(estimate)),
        confidence_level=labels.confidence_level,
        n_clusters=n_units,
        reason=reason,
        **{"n_items": int(count_items(compared, labels.copies))} | counts,
    )


def _warn_if_undefined(name: str, estimate: float, reason: str | None) -> None:
    """Warn, with the line of the caller's caller, that a figure is nan."""
    if reason is not None:
        what = name if math.isnan(estimate) else f"the interval of {name}"
        warnings.warn(f"{what} is undefined: {reason}.", DegenerateDataWarning, stacklevel=3)


# A panel as a whole ---------------------------------------------------------------------------


def measure_items(labels: Labels, coefficients: Sequence[str]) -> list[AgreementResult]:
    """Measure coefficients over all labels of the items, behind which pseudo-items stand."""
    one, other, share = labels.pseudo_items
    codes = pack_labels(labels.codes)[0]
    pseudo = np.full((len(codes), len(one)), -1, dtype=codes.dtype)
    pseudo[:2] = [one, other][: len(codes)]
    items, codes = slice(codes.shape[1]), np.concatenate([codes, pseudo], axis=1)
    n_labels, apart = np.zeros(codes.shape[1], dtype=np.int32), np.zeros(codes.shape[1])
    for block in _blocks(len(apart)):
        n_labels[block] = np.count_nonzero(codes[:, block] >= 0, axis=0)
        for first, second in combinations(codes[:, block], 2):
            known = (first >= 0) & (second >= 0)
            apart[block] += labels.disagreement(first, second) * known
        apart[block] *= 2 / np.maximum(n_labels[block] * (n_labels[block] - 1), 1)
    paired, copies = n_labels[items] >= 2, labels.copies
    n_units = count_units(labels.units, paired, copies)
    size = count_items(paired, copies) / max(n_units, 1)
    times = np.ones(1) if copies is None else copies.astype(np.float64)
    results = []
    for coefficient in coefficients:
        around = None  # so that memory is free again
        reason, estimate, around = _estimate(
            coefficient, labels, codes[:, items], n_labels[items], apart[items], times
        )
        centre, is_smoothed = estimate, coefficient in _SMOOTHED and len(one) > 0
        if is_smoothed and reason is None:
            around = None
            # α weighs items by their labels, of which pseudo-items have two; κ does not
            weight = share
            if coefficient != "krippendorff_alpha":
                weight = share * 2 / n_labels[items][paired].mean()
            weights = np.append(np.broadcast_to(times, len(paired)), weight * size)
            _, centre, around = _estimate(coefficient, labels, codes, n_labels, apart, weights)
        influence, reach = around()
        if is_smoothed and reason is None:
            influence[len(paired) :] /= np.sqrt(weight)
        for each in () if copies is None else (influence, reach):
            if each is not None:
                each[: len(paired)] /= times[: len(each)]  # of one item
        results.append(
            _make_result(
                labels,
                coefficient,
                estimate,
                (centre, influence, reach),
                compared=paired,
                reason=reason,
                n_raters=sum(bool((row[paired] >= 0).any()) for row in labels.codes),
            )
        )
    return results


def _blocks(n_items: int) -> Iterator[slice]:
    """Part the items, so that what is computed at once is within the cache."""
    return (slice(n, n + _ITEMS_AT_ONCE) for n in range(0, n_items, _ITEMS_AT_ONCE))


_Around: TypeAlias = "Callable[[], tuple[NDArray[np.float64], NDArray[np.float64] | None]]"


def _estimate(
    coefficient: str,
    labels: Labels,
    codes: NDArray[Any],
    n_labels: NDArray[np.int32],
    apart: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> tuple[str | None, float, _Around]:
    """Return why there is no coefficient, if so; it; and what finds the items' influences on it.

    These are each item's influence and the relative change of D_e with it, its reach.
    """
    paired = n_labels >= 2
    undefined = (np.nan, lambda: (np.zeros(0), None))
    if not paired.any():
        return "no item has two labels", *undefined
    is_alpha = coefficient == "krippendorff_alpha"
    n_labels = n_labels * paired if is_alpha else n_labels
    by_item = (n_labels if is_alpha else paired) * weight
    total = float(by_item.sum())
    observed = float(by_item @ apart) / total

    def own() -> NDArray[np.float64]:
        influence = observed - apart
        influence *= by_item / total
        return influence

    if coefficient == "raw_agreement":
        return None, 1 - observed, lambda: (own(), None)

    by_label = paired * weight if is_alpha else weight * (n_labels > 0) / np.maximum(n_labels, 1)
    n = float(by_label @ n_labels)
    share = np.zeros(len(labels.values) + 1)
    for block in _blocks(len(apart)):
        for column in codes[:, block]:
            share += np.bincount(column.astype(np.intp) + 1, by_label[block], len(share))
    share = share[1:] / n
    reason, expected, slope, each = _expect(coefficient, labels, share)
    if reason is not None:
        return reason, *undefined
    # α has n (n - 1) in the place of n squared
    grown = n / (n - 1) if is_alpha else 1.0
    ratio = observed / (expected * grown)

    def around() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table, reach = np.append(each, 0.0), np.empty(len(apart))
        for block in _blocks(len(apart)):
            reach[block] = table[codes[:, block]].sum(axis=0)
        reach -= n_labels * float(share @ each)
        reach *= by_label
        reach *= slope / expected / n
        if is_alpha:
            reach += by_item * (1 / n - 1 / (n - 1))
        influence = own()
        influence /= expected * grown
        influence += ratio * reach
        return influence, reach

    return None, 1 - ratio, around


def _expect(
    coefficient: str, labels: Labels, share: NDArray[np.float64]
) -> tuple[str | None, float, float, NDArray[np.float64]]:
    """Compute the disagreement by chance, and by factor and label how it moves with the shares."""
    if coefficient == "gwet_ac":
        factor = labels.chance_factor
        reason = "there are fewer than two categories" if np.isnan(factor) else None
        return reason, 1 - factor * (1 - float(share @ share)), 2 * factor, share
    used, each = np.flatnonzero(share), np.zeros(len(share))
    if len(used) < 2:
        return "all labels are equal", np.nan, np.nan, each
    each[used] = labels.mean_disagreement(np.zeros_like(used), used, share[used])
    expected = float(share @ each)
    # beside one number that is far too large
    reason = None if expected > 0 else "the labels differ by too little to compare"
    return reason, expected, 2.0, each


# Pairs of raters ------------------------------------------------------------------------------

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
        return _make_result(
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


# The coefficients -----------------------------------------------------------------------------


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
    _warn_if_undefined("κ", result.estimate, result.reason)
    return result


def raw_agreement(
    labels: ArrayLike,
    *,
    weights: Weights | None = None,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> AgreementResult:
    """Measure how often two raters of an item agree, chance included.

    Per item, the share of the pairs of its raters that agree; averaged over items. High figures
    may be chance alone where one label is frequent.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        Integer codes with -1 for missing or, for ``"linear"`` and ``"quadratic"``, also numbers
        with nan for missing. Raters need not have labelled every item.
    weights : {"linear", "quadratic", "jaccard"}, optional
        Unequal labels agree by one minus the difference of the numbers (the codes, where labels
        are integers), or its square, over the range of the categories; or by the Jaccard index of
        label sets. None: not at all.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"jaccard"``: which labels the set of each code holds.
    categories : array_like, shape (n_categories,), optional
        All codes or numbers that could have been given; their range scales the weights, so declare
        them on a scale whose ends are rare. Not for ``"jaccard"``. None: those that occur.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    AgreementResult
        nan without an item with two labels; the interval is nan with fewer than two such items or
        clusters.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If the agreement or its interval is undefined.

    Notes
    -----
    Equation :math:`p_a` of [1]_, chapter 2; the interval is symmetric on the logit scale, with the
    standard error between items or clusters and a quantile of the t distribution.

    References
    ----------
    .. [1] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014.

    Examples
    --------
    Three raters, two items; on the second, one of three pairs agrees:

    >>> result = raw_agreement([[1, 1, 1], [0, 0, 1]])
    >>> round(result.estimate, 3)
    0.667
    """
    coded = code_labels(
        labels,
        weights=weights,
        label_sets=label_sets,
        categories=categories,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    [result] = measure_items(coded, ["raw_agreement"])
    _warn_if_undefined("raw agreement", result.estimate, result.reason)
    return result


def fleiss_kappa(
    labels: ArrayLike,
    *,
    weights: Weights | None = None,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> AgreementResult:
    """Measure how far any number of raters agree beyond chance, by Fleiss' κ.

    Chance is what raters who all use the labels as often as the whole panel does would agree on by
    guessing. Raters may differ from item to item.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        As for `raw_agreement`.
    weights : {"linear", "quadratic", "jaccard"}, optional
        As for `raw_agreement`.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"jaccard"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    AgreementResult
        nan without an item with two labels, or where all labels are equal; the interval is nan
        with fewer than two such items or clusters.

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
    Equations of [1]_; with missing labels and weights as in [2]_, chapters 2 and 3. The interval
    is symmetric in Fisher's z (`voirdire.stats.intervals`). With two raters this is Scott's π, not
    Cohen's κ. Reference values in the tests come from statsmodels, irrCAC and Fleiss' own table.

    References
    ----------
    .. [1] J. L. Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological
       Bulletin 76(5), pages 378-382, 1971. :doi:`10.1037/h0031619`
    .. [2] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014.

    Examples
    --------
    >>> result = fleiss_kappa([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, -1]])
    >>> round(result.estimate, 3)
    0.657
    """
    coded = code_labels(
        labels,
        weights=weights,
        label_sets=label_sets,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    [result] = measure_items(coded, ["fleiss_kappa"])
    _warn_if_undefined("Fleiss' κ", result.estimate, result.reason)
    return result


def gwet_ac(
    labels: ArrayLike,
    *,
    weights: Weights | None = None,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> AgreementResult:
    """Measure how far raters agree beyond chance, by Gwet's AC1 or, with weights, AC2.

    Chance agreement is largest where labels are equally frequent and vanishes where one label is
    all there is, so that high raw agreement on a frequent label counts, where κ calls it chance.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        As for `raw_agreement`.
    weights : {"linear", "quadratic", "jaccard"}, optional
        As for `raw_agreement`; None gives AC1.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"jaccard"``: which labels the set of each code holds.
    categories : array_like, shape (n_categories,), optional
        All codes or numbers that could have been given: the coefficient depends on how many there
        are and, with weights, on their range. Not for ``"jaccard"``. None: those that occur.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    AgreementResult
        nan without an item with two labels, or with fewer than two categories; the interval is nan
        with fewer than two such items or clusters.

    Raises
    ------
    InputError
        If shapes or types are wrong, a label is not among `categories`, or `confidence_level` is
        outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If the coefficient or its interval is undefined.

    Notes
    -----
    Equations of [1]_, chapters 4 and 5. The interval is symmetric in Fisher's z
    (`voirdire.stats.intervals`); where raters agree on all items, its low end is that of Clopper
    and Pearson for the share of items on which they do, less chance. Reference values in the tests
    come from irrCAC.

    References
    ----------
    .. [1] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014.

    Examples
    --------
    Nine of ten items are "no" (0) for both; κ would be near 0 here:

    >>> result = gwet_ac([[0, 0]] * 18 + [[0, 1], [1, 0]])
    >>> round(result.estimate, 3)
    0.89
    """
    coded = code_labels(
        labels,
        weights=weights,
        label_sets=label_sets,
        categories=categories,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    [result] = measure_items(coded, ["gwet_ac"])
    _warn_if_undefined("Gwet's coefficient", result.estimate, result.reason)
    return result


@dataclass(frozen=True, kw_only=True)
class KrippendorffResult:
    """Krippendorff's α with its interval and its counts.

    Attributes
    ----------
    alpha : float
        At most 1; 0 is chance. nan where it is undefined (see `reason`).
    low, high : float
        Ends of the interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    level : str
        The metric: nominal, ordinal, interval, ratio or sets.
    n_items : int
        Items with at least two labels.
    n_labels : int
        Labels on those items.
    n_clusters : int
        Independent units behind the interval.
    reason : str or None
        Why a figure is nan.
    """

    alpha: float
    low: float
    high: float
    confidence_level: float
    level: Level
    n_items: int
    n_labels: int
    n_clusters: int
    reason: str | None = None


def krippendorff_alpha(
    labels: ArrayLike,
    *,
    level: Level = "nominal",
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Measure how far raters agree beyond chance, missing labels allowed.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        For ``"nominal"`` and ``"sets"`` integer codes with -1 for missing; otherwise numbers
        with nan for missing.
    level : {"nominal", "ordinal", "interval", "ratio", "sets"}, optional
        The squared metric: unequal labels; difference of midranks; difference; difference over
        sum (labels must be positive or zero); Jaccard distance of label sets.
    label_sets : array_like of bool, shape (n_sets, n_labels), optional
        For ``"sets"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    KrippendorffResult
        α is nan without two labels on any item, or where all labels are equal; the interval is
        nan with fewer than two clusters.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If α is undefined.

    Notes
    -----
    The interval takes the items, or clusters, as the random sample. Reference values in the tests
    come from the `krippendorff` package.

    Examples
    --------
    >>> result = krippendorff_alpha([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, -1]])
    >>> round(result.alpha, 3)
    0.667
    """
    result = measure_alpha(
        labels,
        level=level,
        label_sets=label_sets,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    _warn_if_undefined("α", result.alpha, result.reason)
    return result


def measure_alpha(
    labels: ArrayLike,
    *,
    level: Level,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    copies: NDArray[np.int64] | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Compute `krippendorff_alpha` without its warning; rows may stand for several items."""
    check_choice("level", level, Level)
    matrix = np.asarray(labels)
    if level not in ("nominal", "sets"):
        matrix = matrix.astype(np.float64, copy=False)
        if np.isinf(matrix).any() or (level == "ratio" and (matrix < 0).any()):
            rule = "finite numbers, none below 0" if level == "ratio" else "finite numbers"
            msg = f"`labels` must be {rule} for {level!r}, nan where missing."
            raise InputError(msg)
    coded = code_labels(
        matrix,
        weights=WEIGHTS[level],
        label_sets=label_sets if level == "sets" else None,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    coded = replace(coded, is_ratio=level == "ratio", copies=copies)
    counts = np.zeros(len(coded.values), dtype=np.int64)
    for block in _blocks(len(matrix)):
        codes = coded.codes[:, block]
        is_paired = np.count_nonzero(codes >= 0, axis=0) >= 2
        codes, times = codes[:, is_paired], None if copies is None else copies[block][is_paired]
        for row in codes + 1:  # no label comes first
            counts += np.bincount(row, times, len(counts) + 1)[1:].astype(np.int64)
    if level == "ordinal":
        coded = replace(coded, values=np.cumsum(counts) - counts / 2)
    [result] = measure_items(coded, ["krippendorff_alpha"])
    return KrippendorffResult(
        alpha=result.estimate,
        low=result.low,
        high=result.high,
        confidence_level=confidence_level,
        level=level,
        n_items=result.n_items,
        n_labels=int(counts.sum()),
        n_clusters=result.n_clusters,
        reason=result.reason,
    )
