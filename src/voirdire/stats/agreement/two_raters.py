"""Cohen's κ of two raters, plain and weighted, with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.interval import check_units
from voirdire.stats.agreement.labels import code_labels
from voirdire.stats.agreement.pair_figures import COHEN
from voirdire.stats.agreement.pairwise_agreement import PairMeans
from voirdire.stats.agreement.rater_pairs import RaterPairs
from voirdire.stats.agreement.weights import Weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from voirdire.stats.agreement.result import AgreementResult
    from voirdire.stats.label_sets import LabelSets

__all__ = ["cohen_kappa"]


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
    corrected towards the jackknife and a quantile of the t distribution (`agreement_interval`).
    Two raters who know the truth 7 times in 10 and guess otherwise, two labels, independent items;
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
    if weights is not None:
        check_choice("weights", weights, Weights)
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
    pairs = RaterPairs(labels=labels, n_humans=2)
    means = PairMeans(units=units, confidence_level=confidence_level, weights=weights)
    sums = pairs.of_columns([(0, 1)], labels.disagreement(slice(None)))
    result = means.measure(sums, COHEN, "cohen_kappa")
    result.warn_if_undefined("κ")
    return result
