r"""Measures agreement of a whole panel: raw, Fleiss' κ, Gwet's AC1 and AC2, Krippendorff's α.

They are one statistic, :math:`1 - D_o / D_e`. With :math:`r_i` labels on item i, :math:`r_{ik}` of
them k, and :math:`\delta = 1 - w` the disagreement of two labels,

.. math:: D_o = \frac{\sum_i u_i d_i}{\sum_i u_i}, \quad
   d_i = \frac{\sum_{a \ne b} \delta(a, b)}{r_i (r_i - 1)}, \quad
   \pi_k = \frac{\sum_i v_i r_{ik}}{\sum_i v_i r_i},

the sum in :math:`d_i` over the ordered pairs of labels of the item. They differ in how they weight
items and labels, and in what they expect by chance:

- Fleiss' κ [1]_: :math:`u_i = 1` for items with two labels, :math:`v_i = 1 / r_i` for items with a
  label, :math:`D_e = \sum_{k, l} \delta(k, l) \pi_k \pi_l`;
- Gwet's coefficients [2]_: the same weights, :math:`D_e = 1 - \frac{T_w}{q (q - 1)} \sum_k \pi_k
  (1 - \pi_k)` with q categories and the sum :math:`T_w` of the weights of all pairs of them;
- Krippendorff's α [3]_: :math:`u_i = r_i` and :math:`v_i = 1` for items with two labels, n labels
  in all, :math:`D_e = \frac{n}{n - 1} \sum_{k, l} \delta(k, l) \pi_k \pi_l`.

Missing labels follow [2]_: items with one label count towards the shares of the labels only. All
are smooth functions of sums over items, so that their standard errors follow from each item's
influence on them, summed within clusters where there are any; `voirdire.stats.intervals` makes the
interval from it.

References
----------
.. [1] J. L. Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin
   76(5), 1971.
.. [2] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 2 to 5.
.. [3] K. Krippendorff, "Content Analysis", 4th edition, 2018, chapter 12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import AgreementResult, make_result, warn_if_undefined
from voirdire.stats.agreement.labels import CodedLabels, Disagreement, Weights, code_labels
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import pack_slots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.label_arrays import LabelSets

__all__ = [
    "ItemAgreement",
    "KrippendorffResult",
    "Level",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "measure_alpha",
    "raw_agreement",
]

_ITEMS_AT_ONCE = 1 << 15

_Coefficient: TypeAlias = Literal["raw_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac"]


class ItemAgreement:
    """The labels and the mean disagreement of each item, behind the coefficients of a panel."""

    def __init__(
        self,
        labels: CodedLabels,
        disagreement: Disagreement,
        *,
        units: NDArray[np.intp] | None,
        confidence_level: float,
    ) -> None:
        present = labels.codes >= 0
        slots = pack_slots(present)
        self._codes = labels.codes if slots is None else np.take_along_axis(labels.codes, slots, 0)
        self._disagreement = disagreement
        self._units, self._confidence_level = units, confidence_level
        self.n_labels = np.count_nonzero(present, axis=0)
        self._paired = self.n_labels >= 2
        self._n_raters = int(np.count_nonzero((present & self._paired).any(axis=1)))
        self._apart = np.zeros(len(self.n_labels))
        for start in range(0, len(self.n_labels), _ITEMS_AT_ONCE):
            block = slice(start, start + _ITEMS_AT_ONCE)
            codes = self._codes[:, block]
            for place, first in enumerate(codes):
                for second in codes[place + 1 :]:
                    apart = disagreement.between(first, second)
                    self._apart[block] += apart * ((first >= 0) & (second >= 0))
        self._apart *= 2 / np.maximum(self.n_labels * (self.n_labels - 1), 1)

    def measure(self, coefficient: _Coefficient) -> AgreementResult:
        """Measure one coefficient, with its interval."""
        figures = self._estimate(coefficient)
        reason = figures if isinstance(figures, str) else None
        nothing = (np.nan, np.zeros(len(self.n_labels)), None)
        estimate, influence, reach = nothing if isinstance(figures, str) else figures
        return make_result(
            coefficient,
            estimate,
            influence,
            reach=reach,
            compared=self._paired,
            units=self._units,
            confidence_level=self._confidence_level,
            weights=self._disagreement.weights,
            least=0.0 if coefficient == "raw_agreement" else -1.0,
            n_raters=self._n_raters,
            reason=reason,
        )

    def _estimate(
        self, coefficient: _Coefficient
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64] | None] | str:
        """Return the coefficient, each item's influence on it and its reach; or why not."""
        if not self._paired.any():
            return "no item has two labels"
        is_alpha = coefficient == "krippendorff_alpha"
        n_labels = self.n_labels * self._paired if is_alpha else self.n_labels
        by_item = n_labels if is_alpha else self._paired.astype(np.float64)
        by_label = self._paired * 1.0 if is_alpha else (n_labels > 0) / np.maximum(n_labels, 1)
        observed = float(by_item @ self._apart) / by_item.sum()
        own = by_item * (self._apart - observed) / by_item.sum()
        if coefficient == "raw_agreement":
            return 1 - observed, -own, None

        n = float(by_label @ n_labels)
        share = np.zeros(self._disagreement.n_labels + 1)
        for column in self._codes:
            share += np.bincount(column.astype(np.intp) + 1, by_label, len(share))
        share = share[1:] / n
        if coefficient == "gwet_ac":
            factor = self._disagreement.chance_factor
            if np.isnan(factor):
                return "there are fewer than two categories"
            expected, slope, each = 1 - factor * (1 - float(share @ share)), 2 * factor, share
        else:
            used = np.flatnonzero(share)
            if len(used) < 2:
                return "all labels are equal"
            slope, each = 2.0, np.zeros(len(share))
            each[used] = self._disagreement.mean_to(np.zeros_like(used), used, share[used])
            expected = float(share @ each)
            if expected <= 0:  # beside one number that is far too large
                return "the labels differ by too little to compare"
        # of each item, the relative change of D_e
        table = np.append(each, 0.0)
        sums = sum((table[column] for column in self._codes), start=np.zeros(len(n_labels)))
        reach = slope / expected * by_label * (sums - n_labels * (share @ each)) / n
        if is_alpha:  # D_e has n (n - 1) instead of n squared
            reach += n_labels * (1 / n - 1 / (n - 1))
            expected *= n / (n - 1)
        ratio = observed / expected
        return 1 - ratio, ratio * reach - own / expected, reach


# The coefficients -----------------------------------------------------------------------------


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
    coded = code_labels(labels, weights=weights, label_sets=label_sets, categories=categories)
    result = _measure("raw_agreement", coded, clusters, confidence_level)
    warn_if_undefined("raw agreement", result.estimate, result.reason)
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
        with fewer than two such items or clusters, and closes on 1 under perfect agreement.

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
    coded = code_labels(labels, weights=weights, label_sets=label_sets)
    result = _measure("fleiss_kappa", coded, clusters, confidence_level)
    warn_if_undefined("Fleiss' κ", result.estimate, result.reason)
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
        with fewer than two such items or clusters, and closes on 1 under perfect agreement.

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
    (`voirdire.stats.intervals`). Reference values in the tests come from irrCAC.

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
    coded = code_labels(labels, weights=weights, label_sets=label_sets, categories=categories)
    result = _measure("gwet_ac", coded, clusters, confidence_level)
    warn_if_undefined("Gwet's coefficient", result.estimate, result.reason)
    return result


def _measure(
    coefficient: _Coefficient,
    labels: CodedLabels,
    clusters: ArrayLike | None,
    confidence_level: float,
) -> AgreementResult:
    check_fraction("confidence_level", confidence_level)
    units = check_units(clusters, labels.codes.shape[1])
    items = ItemAgreement(
        labels, labels.disagreement(), units=units, confidence_level=confidence_level
    )
    return items.measure(coefficient)


# Krippendorff's α -----------------------------------------------------------------------------

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio", "sets"]

_WEIGHTS: dict[Level, Weights | None] = {
    "nominal": None,
    "ordinal": "quadratic",
    "interval": "quadratic",
    "ratio": "quadratic",
    "sets": "jaccard",
}


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
        nan with fewer than two clusters, and closes on 1 under perfect agreement.

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
    warn_if_undefined("α", result.alpha, result.reason)
    return result


def measure_alpha(
    labels: ArrayLike,
    *,
    level: Level,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Compute `krippendorff_alpha` without its warning."""
    check_choice("level", level, Level)
    check_fraction("confidence_level", confidence_level)
    matrix = np.asarray(labels)
    if level not in ("nominal", "sets"):
        matrix = matrix.astype(np.float64, copy=False)
        if np.isinf(matrix).any() or (level == "ratio" and (matrix < 0).any()):
            rule = "finite numbers, none below 0" if level == "ratio" else "finite numbers"
            msg = f"`labels` must be {rule} for {level!r}, nan where missing."
            raise InputError(msg)
    coded = code_labels(
        matrix, weights=_WEIGHTS[level], label_sets=label_sets if level == "sets" else None
    )
    present = coded.codes >= 0
    present &= np.count_nonzero(present, axis=0) >= 2
    disagreement = coded.disagreement()
    if level == "ordinal":
        counts = np.bincount(coded.codes[present], minlength=coded.n_labels)
        disagreement = replace(coded, values=np.cumsum(counts) - counts / 2).disagreement()
    elif level == "ratio":
        disagreement = Disagreement("ratio", coded.values, disagreement.categories)
    units = check_units(clusters, present.shape[1])
    result = ItemAgreement(
        coded, disagreement, units=units, confidence_level=confidence_level
    ).measure("krippendorff_alpha")
    return KrippendorffResult(
        alpha=result.estimate,
        low=result.low,
        high=result.high,
        confidence_level=confidence_level,
        level=level,
        n_items=result.n_items,
        n_labels=int(np.count_nonzero(present)),
        n_clusters=result.n_clusters,
        reason=result.reason,
    )
