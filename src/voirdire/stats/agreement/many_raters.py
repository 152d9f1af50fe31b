"""Agreement of any number of raters, missing labels allowed: raw, Fleiss' κ, Gwet's AC1 and AC2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import check_choice, check_fraction
from voirdire.stats.agreement.interval import check_units
from voirdire.stats.agreement.item_agreement import ItemAgreement
from voirdire.stats.agreement.labels import code_labels
from voirdire.stats.agreement.weights import Weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from voirdire.stats.agreement.result import AgreementResult
    from voirdire.stats.label_sets import LabelSets

__all__ = ["fleiss_kappa", "gwet_ac", "raw_agreement"]


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
    is symmetric in Fisher's z (`agreement_interval`). With two raters this is Scott's π, not
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
    (`agreement_interval`). Reference values in the tests come from irrCAC.

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
    return ItemAgreement.of(coded, disagreement, units=units, confidence_level=confidence_level)
