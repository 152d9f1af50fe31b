r"""Measures agreement of a panel: raw, Fleiss' κ, Gwet's AC1 and AC2, Krippendorff's α.

They are one statistic, :math:`1 - D_o / D_e`, of the observed disagreement of labels and the one
that chance would give; :math:`\delta = 1 - w` is the disagreement of two labels.

With :math:`r_i` labels on item i, :math:`r_{ik}` of them k,

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


def make_result(
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


def warn_if_undefined(name: str, estimate: float, reason: str | None) -> None:
    """Warn, with the line of the caller's caller, that a figure is nan."""
    if reason is not None:
        what = name if math.isnan(estimate) else f"the interval of {name}"
        warnings.warn(f"{what} is undefined: {reason}.", DegenerateDataWarning, stacklevel=3)


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
            make_result(
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
    coded = code_labels(
        labels,
        weights=weights,
        label_sets=label_sets,
        categories=categories,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    [result] = measure_items(coded, ["raw_agreement"])
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
    warn_if_undefined("Gwet's coefficient", result.estimate, result.reason)
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
    warn_if_undefined("α", result.alpha, result.reason)
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
