r"""Measures agreement of many raters: raw, Fleiss' κ, and Gwet's AC1 and AC2.

With :math:`r_i` labels on item i, :math:`r_{ik}` of them k, n items with a label and n' with two,

.. math:: p_a = \frac1{n'} \sum_{i: r_i \ge 2} \frac{\sum_{a \ne b} w(a, b)}{r_i (r_i - 1)}, \quad
   \pi_k = \frac1n \sum_i \frac{r_{ik}}{r_i}, \quad \kappa = \frac{p_a - p_e}{1 - p_e},

the inner sum over the ordered pairs of labels of the item; :math:`p_e = \sum_{k, l} w(k, l) \pi_k
\pi_l` for Fleiss' κ [1]_ and :math:`\frac{T_w}{q (q - 1)} \sum_k \pi_k (1 - \pi_k)` for Gwet's
coefficients [2]_, with q categories and the sum :math:`T_w` of the weights of all pairs of them.
Missing labels follow [2]_: items with one label count towards the shares of the labels only.

References
----------
.. [1] J. L. Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin
   76(5), 1971.
.. [2] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapters 2 to 5.

Agreement of any number of raters, missing labels allowed: raw, Fleiss' κ, Gwet's AC1 and AC2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.stats.agreement.coefficient import AgreementResult, make_result
from voirdire.stats.agreement.labels import LabelKeys, Weights, code_labels
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import pack_slots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.labels import CodedLabels, Disagreement
    from voirdire.stats.label_arrays import LabelSets

__all__ = ["ItemAgreement", "fleiss_kappa", "gwet_ac", "raw_agreement"]

_ITEMS_AT_ONCE = 1 << 15


class ItemAgreement:
    """The sums over items behind the coefficients of many raters."""

    def __init__(
        self,
        labels: CodedLabels,
        disagreement: Disagreement,
        *,
        units: NDArray[np.intp] | None,
        confidence_level: float,
    ) -> None:
        codes, n_labels = labels.codes, np.count_nonzero(labels.codes >= 0, axis=0)
        self.n_labels = n_labels
        self._disagreement, self._units, self._level = disagreement, units, confidence_level
        self._paired = n_labels >= 2
        self._n_paired = int(np.count_nonzero(self._paired))
        self._n_raters = int(np.count_nonzero(((codes >= 0) & self._paired).any(axis=1)))
        slots = pack_slots(codes >= 0)
        self._codes = codes if slots is None else np.take_along_axis(codes, slots, axis=0)
        # by item the mean disagreement of its pairs; by label the mean share over items
        self._mean_distances, share = np.zeros(len(n_labels)), np.zeros(labels.n_labels + 1)
        for start in range(0, len(n_labels), _ITEMS_AT_ONCE):
            block = slice(start, start + _ITEMS_AT_ONCE)
            each = 1 / np.maximum(n_labels[block], 1)
            self._mean_distances[block] = _mean_disagreement(
                self._codes[:, block], n_labels[block], disagreement
            )
            for column in self._codes[:, block]:
                share += np.bincount(column.astype(np.intp) + 1, each, len(share))
        self._share = share[1:] / max(int(np.count_nonzero(n_labels)), 1)
        self._observed = (
            float(self._mean_distances.sum()) / self._n_paired if self._n_paired else np.nan
        )

    def raw_agreement(self) -> AgreementResult:
        """Measure agreement with chance included."""
        agree = 1 - self._observed
        return self._result("raw_agreement", agree, -self._observed_influence(), least=0.0)

    def fleiss_kappa(self) -> AgreementResult:
        """Measure agreement beyond chance, as Fleiss does."""
        if np.count_nonzero(self._share) < 2:
            return self._undefined("fleiss_kappa", "all labels are equal")
        by_label = self._mean_to_all(self._share)
        expected = float(self._share @ by_label)
        if expected <= 0:  # beside one number that is far too large
            return self._undefined("fleiss_kappa", "the labels differ by too little to compare")
        return self._beyond_chance("fleiss_kappa", expected, by_label, 2 / expected)

    def gwet_ac(self) -> AgreementResult:
        """Measure agreement beyond chance, as Gwet does."""
        factor = self._disagreement.chance_factor
        if np.isnan(factor):
            return self._undefined("gwet_ac", "there are fewer than two categories")
        expected = 1 - factor * (1 - float(self._share @ self._share))
        return self._beyond_chance("gwet_ac", expected, self._share, 2 * factor / expected)

    def krippendorff_alpha(self) -> AgreementResult:
        """Measure agreement beyond chance, as Krippendorff does: of the items with two labels."""
        n_labels = np.where(self._paired, self.n_labels, 0)
        counts = np.zeros(len(self._share) + 1)
        for column in self._codes:
            counts += np.bincount(column.astype(np.intp) + 1, self._paired, len(counts))
        counts, n = counts[1:], float(n_labels.sum())
        to_all = self._mean_to_all(counts / max(n, 1)) * n
        expected = float(counts @ to_all)
        if np.count_nonzero(counts) < 2 or expected <= 0:
            return self._undefined("krippendorff_alpha", "all labels are equal")
        observed = self._mean_distances * n_labels
        total = float(observed.sum())
        ratio = total / expected * (n - 1)
        # d log D_e: D_e is quadratic in the items, hence the 2, over n (n - 1).
        reach = 2 * self._sum_labels(to_all) * self._paired / expected
        reach -= n_labels / n + n_labels / (n - 1)
        # d log D_o: D_o is linear in the items, over n; and d α = -(1 - α) (d log D_o - d log D_e).
        linear = observed / (total or 1.0) - n_labels / n
        return self._result("krippendorff_alpha", 1 - ratio, ratio * (reach - linear), reach=reach)

    def _beyond_chance(
        self, coefficient: str, expected: float, by_label: NDArray[np.float64], slope: float
    ) -> AgreementResult:
        """Divide by the disagreement expected by chance."""
        ratio = self._observed / expected
        reach = slope * self._share_influence(by_label)
        influence = ratio * reach - self._observed_influence() / expected
        return self._result(coefficient, 1 - ratio, influence, reach=reach)

    def _mean_to_all(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each label's mean disagreement with all labels; 0 for labels that do not occur."""
        used = np.flatnonzero(share)
        found = np.zeros(len(share))
        found[used] = self._disagreement.mean_to(LabelKeys.of_one_group(used), share[used])
        return found

    def _observed_influence(self) -> NDArray[np.float64]:
        """Return the influence of each item on the mean disagreement."""
        return np.where(self._paired, self._mean_distances - self._observed, 0) / max(
            self._n_paired, 1
        )

    def _share_influence(self, by_label: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the influence of each item on the mean of a figure over all labels."""
        mean = self._sum_labels(by_label) / np.maximum(self.n_labels, 1)
        labelled = self.n_labels > 0
        centred = np.where(labelled, mean - self._share @ by_label, 0)
        return centred / max(np.count_nonzero(labelled), 1)

    def _sum_labels(self, by_label: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum a figure of each label over the labels of each item."""
        table = np.append(by_label, 0.0)
        return sum((table[column] for column in self._codes), start=np.zeros(len(self.n_labels)))

    def _undefined(self, coefficient: str, reason: str) -> AgreementResult:
        nothing = np.zeros(len(self.n_labels))
        return self._result(coefficient, float("nan"), nothing, reason=reason)

    def _result(
        self,
        coefficient: str,
        estimate: float,
        influence: NDArray[np.float64],
        *,
        reach: NDArray[np.float64] | None = None,
        least: float = -1.0,
        reason: str | None = None,
    ) -> AgreementResult:
        return make_result(
            coefficient,
            estimate,
            influence,
            reach=reach,
            compared=self._paired,
            units=self._units,
            confidence_level=self._level,
            weights=self._disagreement.name,
            least=least,
            n_raters=self._n_raters,
            reason=reason if self._n_paired else "no item has two labels",
        )


def _mean_disagreement(
    codes: NDArray[Any], n_labels: NDArray[np.int64], disagreement: Disagreement
) -> NDArray[np.float64]:
    total = np.zeros(codes.shape[1])
    if n_labels.max(initial=0) < 2:
        return total
    for one, first in enumerate(codes):
        for second in codes[one + 1 :]:
            apart = disagreement.between(first, second)
            total += apart * ((first >= 0) & (second >= 0))
    return 2 * total / np.maximum(n_labels * (n_labels - 1), 1)


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
    items = _compare(labels, weights, label_sets, categories, clusters, confidence_level)
    result = items.raw_agreement()
    result.warn_if_undefined("raw agreement")
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
    items = _compare(labels, weights, label_sets, None, clusters, confidence_level)
    result = items.fleiss_kappa()
    result.warn_if_undefined("Fleiss' κ")
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
    items = _compare(labels, weights, label_sets, categories, clusters, confidence_level)
    result = items.gwet_ac()
    result.warn_if_undefined("Gwet's coefficient")
    return result


def _compare(
    labels: ArrayLike,
    weights: Weights | None,
    label_sets: ArrayLike | LabelSets | None,
    categories: ArrayLike | None,
    clusters: ArrayLike | None,
    confidence_level: float,
) -> ItemAgreement:
    if weights is not None:
        check_choice("weights", weights, Weights)
    check_fraction("confidence_level", confidence_level)
    coded = code_labels(labels, weights=weights, label_sets=label_sets, categories=categories)
    units = check_units(clusters, coded.codes.shape[1])
    disagreement = coded.disagreement(slice(None))
    return ItemAgreement(coded, disagreement, units=units, confidence_level=confidence_level)
