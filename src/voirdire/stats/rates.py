r"""Estimates how often something holds, from many verdicts of a judge and few labels.

Verdicts that are counted as if they were true give a biased rate, however many there are. Which
estimate is valid depends on how the labelled items were drawn. With :math:`w_h` the share of all N
items with the verdict h and :math:`\hat p_h` the share of the labelled ones among them for which it
holds:

*By verdict* (so many "yes", so many "no"): :math:`\hat p = \sum_h w_h \hat p_h`, with limits that
combine those of the strata (MOVER [1]_) and count the error of the verdict shares,

.. math:: L = \hat p - \sqrt{\textstyle\sum_h w_h^2 (\hat p_h - l_h)^2 + z^2 v}, \quad
   v = \textstyle\sum_h w_h (\hat p_h - \hat p)^2 / N,

with Jeffreys limits :math:`l_h, u_h` (quantiles of Beta(k + ½, n - k + ½), 0 at k = 0, 1 at k = n).

*At random from all*: prediction-powered inference (PPI++ [2]_) with a weight :math:`\lambda_{-i}`
of the verdicts that is chosen without the item it is used on, so that the estimate has no bias,

.. math:: \hat p = \frac1n \sum_i \left[y_i - \lambda_{-i} (f_i - \bar f_{others})\right].

Its interval is symmetric on the logit scale, with a quantile of the t distribution, and counts one
label more that disagrees than there is: none among few does not mean that none does. Where fewer
than five labelled items of a verdict are to be expected, the labels alone are better.

*By true class*, with the sensitivity :math:`q_1` from items that hold and the specificity
:math:`q_0` from items that do not: :math:`(\bar f + q_0 - 1) / (q_0 + q_1 - 1)` [3]_, with the
interval of [4]_.

Coverage at .95, truths of 1, 10 and 50%, 30 to 500 labels, judges from useless to perfect: at least
.93 in each cell, most .945 or more; simulated in the tests.

References
----------
.. [1] G. Y. Zou and A. Donner, "Construction of Confidence Limits about Effect Measures: A General
   Approach", Statistics in Medicine 27(10), pages 1693-1702, 2008.
.. [2] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient Prediction-Powered
   Inference", arXiv 2311.01453, 2023.
.. [3] W. J. Rogan and B. Gladen, "Estimating Prevalence from the Results of a Screening Test",
   American Journal of Epidemiology 107(1), 1978.
.. [4] Z. Lang and J. Reiczigel, "Confidence Limits for Prevalence of Disease Adjusted for Estimated
   Sensitivity and Specificity", Preventive Veterinary Medicine 113(1), 2014.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, betaln, expit, logit, ndtri, stdtr, stdtrit

from voirdire._types import LabelledItems, RateMethod
from voirdire._validation import check_choice, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    check_units,
    clopper_pearson,
    count_units,
    estimate_share,
    sum_units,
    take_units,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

_MOST_BINS = 4
_FEWEST_IN_BIN = 15
_FEWEST_OF_VERDICT = 5
_FEWEST_OF_CLASS = 5
_N_DRAWS = 2_000
_REFUSED_DRAW = 0.001


@dataclass(frozen=True, kw_only=True)
class RateResult:
    """How often something holds.

    Attributes
    ----------
    rate : Estimate
        By `method`, in [0, 1].
    method : {"human", "efficient", "ppi", "rogan_gladen"}
        How it was estimated.
    because : str
        Why so.
    human : Estimate
        From the labels alone; nan where labelled items are not a random part of all.
    by_verdict : Estimate
        From the strata of verdicts: valid under a draw by verdict and a random one; else nan.
    naive : Estimate
        From the verdicts as if they were true: what not to report.
    sensitivity, specificity : Estimate
        Of the judge on all items, corrected for how the labelled ones were drawn, a probability cut
        at one half. The estimate is nan where fewer than 5 labelled items hold (do not hold), the
        interval where there are none.
    yes_labelled, yes_all : float
        Share of "yes" among the verdicts on labelled items, and on all.
    draw_p_value : float
        Two-sided hypergeometric p of these shares under a random draw; nan under another one or
        with clusters.
    n_items, n_labelled : int
        Items with a verdict; those of them with a label.
    labelled : {"random", "verdict", "class"}
        How the labelled items were drawn.
    confidence_level : float
        Nominal coverage of the intervals, in (0, 1).
    reason : str or None
        Why the rate is nan.
    """

    rate: Estimate
    method: RateMethod
    because: str
    human: Estimate
    by_verdict: Estimate
    naive: Estimate
    sensitivity: Estimate
    specificity: Estimate
    yes_labelled: float
    yes_all: float
    draw_p_value: float
    n_items: int
    n_labelled: int
    labelled: LabelledItems
    confidence_level: float
    reason: str | None = None


def estimate_rate(
    judged: ArrayLike,
    labels: ArrayLike,
    *,
    labelled: LabelledItems = "random",
    method: RateMethod = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> RateResult:
    r"""Estimate how often something holds, from verdicts on all items and labels on some.

    Parameters
    ----------
    judged : array_like of float, shape (n_items,)
        The judge's verdicts: 1 and 0, or probabilities in [0, 1]; nan where it gave none.
    labels : array_like of float, shape (n_items,)
        Whether it holds: 1 and 0, or a share of people in between; nan where nobody labelled.
    labelled : {"random", "verdict", "class"}, optional
        How the labelled items were drawn: at random from all; from those of each verdict (so many
        "yes" and so many "no"); or by their true class (so many that hold and so many that do
        not).
    method : {"auto", "human", "efficient", "ppi", "rogan_gladen"}, optional
        ``"auto"``: ``"rogan_gladen"`` where items were labelled by class, ``"efficient"`` where
        they were by verdict; else ``"human"`` where all are labelled or the rarer verdict is too
        rare (fewer than 5 labelled items of it are to be expected), else ``"ppi"``.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    RateResult

    Raises
    ------
    InputError
        If shapes or values break a rule above, the method does not fit how items were labelled, or
        the verdicts on the labelled items cannot be those of a random draw (p < .001).

    Warns
    -----
    DegenerateDataWarning
        If the rate or its interval is undefined: no label at all, or under ``"rogan_gladen"`` a
        judge that is no better than chance.

    Notes
    -----
    Probabilities are cut into at most 4 strata of at least 15 labels each, within which they are
    not used further. Items without a verdict are left out. Sensitivity and specificity are
    :math:`w_1 p_1 / (w_1 p_1 + w_0 p_0)` and its like, with percentiles of 2,000 seeded draws of
    the shares from their Jeffreys posteriors, of none of n with the limit of Clopper and Pearson,
    as Brown, Cai and DasGupta (2001) change them; with clusters each counts as one item there.
    Reference values are those of ``ppi_py`` 0.2 and of counting.

    Examples
    --------
    The judge says "yes" to 300 of 1,000 items. People label 100 of them, 30 and 70 by verdict: it
    holds for 24 of the 30 and for 7 of the 70.

    >>> judged = np.repeat([1.0, 0.0], [300, 700])
    >>> labels = np.full(1_000, np.nan)
    >>> labels[:30], labels[300:370] = np.arange(30) < 24, np.arange(70) < 7
    >>> result = estimate_rate(judged, labels)
    >>> round(result.rate.estimate, 2), result.naive.estimate, result.human.estimate
    (0.31, 0.3, 0.31)
    >>> result.rate.high - result.rate.low < result.human.high - result.human.low
    True
    """
    check_choice("labelled", labelled, LabelledItems)
    check_choice("method", method, RateMethod)
    check_fraction("confidence_level", confidence_level)
    items = _check_items(judged, labels, clusters, confidence_level)
    known, yes = items.known, items.judged >= 0.5
    n_items, n_labelled = len(known), int(np.count_nonzero(known))
    p_value = np.nan
    if labelled == "random" and items.units is None:
        p_value = _check_draw(yes, known)
    chosen, because = _choose_method(method, labelled, items)

    human = UNDEFINED if labelled != "random" else _take_labels(items)
    by_verdict = UNDEFINED if labelled == "class" else _weigh_strata(items)
    rate = {"human": human, "efficient": by_verdict}.get(chosen)
    if rate is None:
        rate = (_power_by_verdicts if chosen == "ppi" else _correct_by_class)(items)
    reason = None
    if not n_labelled:
        reason = "no item has a label and a verdict"
    elif np.isnan(rate.estimate):
        reason = "a verdict has no labelled item"
        if chosen == "rogan_gladen":
            reason = "the judge is no better than chance on the labelled items"
    elif np.isnan(rate.low):
        reason = "an interval needs at least two items, or clusters"
    if reason is not None:
        warnings.warn(f"the rate is undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    sensitivity, specificity = _measure_judge(items, labelled)
    return RateResult(
        rate=rate,
        method=chosen,
        because=because,
        human=human,
        by_verdict=by_verdict,
        naive=estimate_share(items.judged, items.units, confidence_level=confidence_level),
        sensitivity=sensitivity,
        specificity=specificity,
        yes_labelled=float(yes[known].mean()) if n_labelled else np.nan,
        yes_all=float(yes.mean()) if n_items else np.nan,
        draw_p_value=p_value,
        n_items=n_items,
        n_labelled=n_labelled,
        labelled=labelled,
        confidence_level=confidence_level,
        reason=reason,
    )


@dataclass(frozen=True, kw_only=True)
class _Items:
    """Items with a verdict, and what is known of them."""

    judged: NDArray[np.float64]
    labels: NDArray[np.float64]
    known: NDArray[np.bool_]
    units: NDArray[np.intp] | None
    level: float


def _check_items(
    judged: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None, level: float
) -> _Items:
    verdicts, truth = (np.asarray(x, dtype=np.float64) for x in (judged, labels))
    if verdicts.ndim != 1 or verdicts.shape != truth.shape:
        msg = (
            f"`judged`, `labels` must have one shape (n_items,), got {verdicts.shape} and "
            f"{truth.shape}."
        )
        raise InputError(msg)
    for name, values in (("judged", verdicts), ("labels", truth)):
        present = values[~np.isnan(values)]
        if (present < 0).any() or (present > 1).any():
            msg = f"`{name}` must be in [0, 1], nan where missing, got {present.min():g} to "
            raise InputError(f"{msg}{present.max():g}.")
    kept = ~np.isnan(verdicts)
    return _Items(
        judged=verdicts[kept],
        labels=truth[kept],
        known=~np.isnan(truth[kept]),
        units=take_units(check_units(clusters, len(verdicts)), kept),
        level=level,
    )


def _check_draw(yes: NDArray[np.bool_], known: NDArray[np.bool_]) -> float:
    """Return the hypergeometric p of the verdicts among labelled items; refuse a small one."""
    n, k, n_yes = int(known.sum()), int(yes[known].sum()), int(yes.sum())
    n_no = len(yes) - n_yes
    x = np.arange(max(0, n - n_no), min(n, n_yes) + 1)
    log_ways = [-betaln(part + 1, of - part + 1) - np.log(of + 1)
                for part, of in ((x, n_yes), (n - x, n_no), (n, len(yes)))]  # fmt: skip
    pmf = np.exp(log_ways[0] + log_ways[1] - log_ways[2])
    p_value = min(1.0, 2 * float(min(pmf[x <= k].sum(), pmf[x >= k].sum())))
    if p_value < _REFUSED_DRAW:
        msg = (
            f"`labelled` must say how the labelled items were drawn, got 'random': the judge says "
            f"yes to {k / n:.0%} of the {n:,} labelled items and to {n_yes / len(yes):.1%} of all "
            f"{len(yes):,} (p {'< .0001' if p_value < 1e-4 else f'= {p_value:.4f}'}). Write "
            "'verdict' where so many were drawn of each verdict, 'class' where so many that hold "
            "and so many that do not."
        )
        raise InputError(msg)
    return p_value


def _choose_method(
    method: RateMethod, labelled: LabelledItems, items: _Items
) -> tuple[RateMethod, str]:
    valid: dict[LabelledItems, tuple[RateMethod, ...]] = {
        "random": ("human", "efficient", "ppi"),
        "verdict": ("efficient",),
        "class": ("rogan_gladen",),
    }
    if method not in ("auto", *valid[labelled]):
        names = " or ".join(map(repr, valid[labelled]))
        msg = f"`method` must be {names} for items labelled by {labelled}, got {method!r}."
        raise InputError(msg)
    if method != "auto":
        return method, "asked for"
    if labelled == "class":
        return "rogan_gladen", "labelled items were drawn by their true class"
    if labelled == "verdict":
        because = "labels say how often each verdict is right, verdicts how frequent it is"
        return "efficient", because
    share = float(items.judged.mean()) if len(items.judged) else 0.0
    if items.known.all():
        return "human", "all items are labelled"
    if items.known.sum() * min(share, 1 - share) < _FEWEST_OF_VERDICT:
        return "human", "too few labelled items have the rarer verdict"
    return "ppi", "verdicts narrow the interval as far as labels show them to be right"


def _take_labels(items: _Items) -> Estimate:
    """Take the share among the labelled items, with Clopper and Pearson's interval."""
    labels = items.labels[items.known]
    if items.units is not None or len(labels) < 2:
        units = take_units(items.units, items.known)
        return estimate_share(labels, units, confidence_level=items.level)
    low, high = clopper_pearson(float(labels.sum()), len(labels), items.level)
    return Estimate(estimate=float(labels.mean()), low=low, high=high)


def _weigh_strata(items: _Items) -> Estimate:
    """Weigh the strata's shares by how frequent the strata are among all items."""
    known = items.known
    if not known.any():
        return UNDEFINED
    values = np.unique(items.judged)
    if len(values) <= 2:
        strata = np.searchsorted(values, items.judged)
    else:
        n_bins = int(np.clip(known.sum() // _FEWEST_IN_BIN, 1, _MOST_BINS))
        cuts = np.quantile(items.judged[known], np.arange(1, n_bins) / n_bins)
        strata = np.unique(np.searchsorted(cuts, items.judged, "right"), return_inverse=True)[1]
    weights = np.bincount(strata) / len(strata)
    n = np.bincount(strata[known], minlength=len(weights))
    if not n.all():
        return UNDEFINED
    hits: NDArray[Any] = np.bincount(strata[known], items.labels[known], len(weights))
    means: NDArray[np.float64] = hits / n
    rate = float(weights @ means)
    if items.units is not None:
        influence: NDArray[Any] = (means[strata] - rate) / len(strata)
        # as in the jackknife: how far the mean moves where a label is left out
        scale = (weights / np.maximum(n - 1, 1))[strata[known]]
        influence[known] += scale * (items.labels[known] - means[strata[known]])
        return _on_logits(items, rate, influence, float(((weights / (n + 1)) ** 2).sum()) / 2)
    z = ndtri((1 + items.level) / 2)
    moved = z**2 * float(weights @ (means - rate) ** 2) / len(strata)
    tails = np.array([[1 - items.level], [1 + items.level]]) / 2
    ends: NDArray[Any] = betaincinv(hits + 0.5, n - hits + 0.5, tails)  # of Jeffreys
    ends[0, hits <= 0], ends[1, hits >= n] = 0.0, 1.0
    low, high = (
        float(np.sqrt((weights * (means - end)) @ (weights * (means - end)) + moved))
        for end in ends
    )
    return Estimate(estimate=rate, low=max(rate - low, 0.0), high=min(rate + high, 1.0))


def _power_by_verdicts(items: _Items) -> Estimate:
    """Take off as much of the verdicts' own error on labelled items as lowers the variance."""
    human = _take_labels(items)
    rate, influence, power = _prediction_powered(items)
    if not power:
        return human
    labels = items.labels[items.known]
    found = _on_logits(items, rate, influence, power / (len(labels) + 1) ** 2)
    if min(labels.sum(), len(labels) - labels.sum()) <= 1:
        low, high = min(found.low, human.low), max(found.high, human.high)
        return Estimate(estimate=found.estimate, low=low, high=high)
    return found


def _prediction_powered(items: _Items) -> tuple[float, NDArray[np.float64], float]:
    """Return the rate, how far each item moves it, and the mean weight of the verdicts [2]_."""
    known, y, f = items.known, items.labels[items.known], items.judged
    units = np.arange(len(f)) if items.units is None else items.units
    n_others, n_units = len(f) - len(y), int(units.max(initial=-1)) + 1

    def leave_out(values: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[Any]:
        """Sum values without those of the unit of each labelled item."""
        return float(values.sum()) - np.bincount(units[kept], values, n_units)[units[known]]

    n = leave_out(np.ones(len(y)), known)
    if n_others < 2 or not len(y) or n.min() < 2:
        share = float(y.mean()) if len(y) else np.nan
        influence = np.zeros(len(f))
        influence[known] = (y - share) / max(len(y), 1)
        return share, influence, 0.0
    sum_f = leave_out(f[known], known)
    covariance = leave_out(y * f[known], known) - leave_out(y, known) * sum_f / n
    every = np.ones(len(f), np.bool_)
    n_all = leave_out(np.ones(len(f)), every)
    spread = leave_out(f**2, every) - leave_out(f, every) ** 2 / n_all
    spread = np.maximum(spread, 0.0) / (n_all - 1) * (1 + n / n_others)
    is_spread = spread > 1e-12
    slope = covariance / (n - 1) / np.where(is_spread, spread, 1.0)
    power = np.clip(np.where(is_spread, slope, 0.0), 0.0, 1.0)
    others = f[~known]
    corrected = y - power * (f[known] - others.mean())
    rate, mean_power = float(corrected.mean()), float(power.mean())
    influence = np.zeros(len(f))
    influence[known] = (corrected - rate) / len(y)
    influence[~known] = mean_power * (others - others.mean()) / n_others
    return rate, influence, mean_power


def _on_logits(
    items: _Items, rate: float, influence: NDArray[np.float64], unseen: float
) -> Estimate:
    """Make the interval of a rate that labels correct, on the logit scale.

    `unseen` is the squared weight of a label that disagrees: none among few does not mean that none
    does, and the spread of labels that all agree is no error.
    """
    n_labelled, n_units = int(items.known.sum()), count_units(items.units, items.known)
    rate = float(np.clip(rate, 0.0, 1.0))
    if n_units < 2:
        return Estimate(estimate=rate)
    sums = sum_units(influence, items.units)
    variance = float(sums @ sums)
    freedom = float(n_units - 1)
    uneven = float((sums**4).sum()) - variance**2 / len(sums)
    if items.units is not None and uneven > 0:  # Satterthwaite's, where few clusters say the most
        freedom = min(freedom, max(2 * (variance + unseen) ** 2 / uneven, 2.0))
    middle = float(np.clip(rate, 0.5 / n_labelled, 1 - 0.5 / n_labelled))
    limit = float(stdtrit(freedom, (1 + items.level) / 2))
    width = limit * float(np.sqrt(variance + unseen)) / (middle * (1 - middle))
    low, high = (float(expit(logit(middle) + x)) for x in (-width, width))
    return Estimate(estimate=rate, low=min(low, rate), high=max(high, rate))


def _correct_by_class(items: _Items) -> Estimate:
    """Correct the share of yes by sensitivity and specificity, from items labelled by class."""
    level = ndtri((1 + items.level) / 2)
    asked = ~items.known if not items.known.all() else items.known
    yes = items.judged >= 0.5
    holds = items.known & (items.labels == 1)
    fails = items.known & (items.labels == 0)
    n_true, n_false, n_asked = (int(x.sum()) for x in (holds, fails, asked))
    if not n_true or not n_false:
        return UNDEFINED
    false_alarms = float(yes[fails].mean())
    useful = float(yes[holds].mean()) - false_alarms
    if useful <= 0:
        return UNDEFINED
    rate = float(np.clip((yes[asked].mean() - false_alarms) / useful, 0.0, 1.0))
    # the interval of [4], with pseudo-observations in all three shares
    share = (yes[asked].sum() + level**2 / 2) / (n_asked + level**2)
    finds = (yes[holds].sum() + 1) / (n_true + 2)
    rejects = ((~yes[fails]).sum() + 1) / (n_false + 2)
    slope = finds + rejects - 1
    if slope <= 0:
        return Estimate(estimate=rate, low=0.0, high=1.0)
    middle = (share + rejects - 1) / slope
    of_finds = finds * (1 - finds) / (n_true + 2)
    of_rejects = rejects * (1 - rejects) / (n_false + 2)
    shift = 2 * level**2 * (middle * of_finds - (1 - middle) * of_rejects)
    variance = share * (1 - share) / (n_asked + level**2)
    variance += (1 - middle) ** 2 * of_rejects + middle**2 * of_finds
    half = level * np.sqrt(variance) / slope
    low, high = np.clip([middle + shift - half, middle + shift + half], 0.0, 1.0)
    return Estimate(estimate=rate, low=float(low), high=float(high))


def _measure_judge(items: _Items, labelled: LabelledItems) -> tuple[Estimate, Estimate]:
    """Estimate sensitivity and specificity among all items, whatever the draw of labelled ones."""
    yes, known = items.judged >= 0.5, items.known
    # labelled items by class (it holds, it does not) and verdict (yes, no)
    counts = np.array(
        [
            [held[yes[known] == verdict].sum() for verdict in (True, False)]
            for held in (items.labels[known], 1 - items.labels[known])
        ]
    )
    n, shrink = counts.sum(axis=0), count_units(items.units, known) / max(known.sum(), 1)
    shares: list[Estimate] = []
    if labelled == "class":
        for right, own in enumerate(counts):
            of = float(own.sum())
            value, ends = np.nan, (np.nan, np.nan)
            if of:
                value = float(own[right] / of)
                ends = clopper_pearson(own[right] * shrink, of * shrink, items.level)
            shares.append(Estimate(estimate=value, low=ends[0], high=ends[1]))
        return shares[0], shares[1]
    weights, rng = np.array([yes.sum(), (~yes).sum()], float), np.random.default_rng(0)
    # of none of n about Beta(1, n), whose quantile is the limit of Clopper and Pearson
    holds, fails = np.where(counts > 0, counts * shrink + 0.5, 1.0)
    drawn = rng.beta(holds, fails, (_N_DRAWS, 2))
    alpha, beta = weights * shrink + 0.5
    of_yes = rng.beta(alpha, beta, _N_DRAWS)
    drawn_weights = np.stack([of_yes, 1 - of_yes], axis=1)
    tails = [(1 - items.level) / 2, (1 + items.level) / 2]
    for right, (own, chances) in enumerate(zip(counts, (drawn, 1 - drawn), strict=True)):
        if not own.sum():
            shares.append(UNDEFINED)
            continue
        parts, drawn_parts = weights * own / np.maximum(n, 1), drawn_weights * chances
        is_known = own.sum() >= _FEWEST_OF_CLASS and n.all()
        value = float(parts[right] / parts.sum()) if is_known else np.nan
        low, high = np.quantile(drawn_parts[:, right] / drawn_parts.sum(axis=1), tails)
        low, high = low if own[right] else 0.0, high if own[1 - right] else 1.0
        shares.append(Estimate(estimate=value, low=float(low), high=float(high)))
    return shares[0], shares[1]


# Two rates, and rates in a row --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RateDifference:
    """How much more often something holds in the second of two groups than in the first.

    Attributes
    ----------
    first, second : RateResult
        Each by itself.
    difference : Estimate
        Second less first, in [-1, 1].
    p_value : float
        Two-sided, of no difference; nan where undefined.
    correlation : float
        Of the two estimates over clusters that both groups share; 0 without clusters.
    """

    first: RateResult
    second: RateResult
    difference: Estimate
    p_value: float
    correlation: float


def compare_rates(
    judged: ArrayLike,
    labels: ArrayLike,
    *,
    is_second: ArrayLike,
    labelled: LabelledItems = "random",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> RateDifference:
    """Compare how often something holds in two groups of items, such as two models' responses.

    Parameters
    ----------
    judged, labels : array_like of float, shape (n_items,)
        As in `estimate_rate`, the items of both groups under each other.
    is_second : array_like of bool, shape (n_items,)
        Which items are of the second group.
    labelled : {"random", "verdict", "class"}, optional
        How the labelled items of each group were drawn.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to. Where both groups answer the same prompts,
        give the prompt: what the two estimates share then makes the interval narrower.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    RateDifference

    Raises
    ------
    InputError
        As `estimate_rate`, or if a group has no items.

    Warns
    -----
    DegenerateDataWarning
        If a rate is undefined.

    Notes
    -----
    The interval combines those of both rates, as Zou and Donner (2008) do, and the p-value is that
    of the t distribution for their standard errors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> is_second = np.arange(2_000) % 2 == 1
    >>> holds = rng.random(2_000) < np.where(is_second, 0.4, 0.2)
    >>> judged = np.where(rng.random(2_000) < 0.9, holds, ~holds).astype(float)
    >>> labels = np.where(np.arange(2_000) < 400, holds, np.nan)
    >>> found = compare_rates(judged, labels, is_second=is_second)
    >>> found.difference.low > 0, found.p_value < 0.001
    (True, True)
    """
    second = np.asarray(is_second, dtype=np.bool_)
    verdicts, true = (np.asarray(x, dtype=np.float64) for x in (judged, labels))
    if second.shape != verdicts.shape or second.all() or not second.any():
        msg = (
            f"`is_second` must mark some of the items, shape {verdicts.shape}, got "
            f"{int(second.sum())} marked in the shape {second.shape}."
        )
        raise InputError(msg)
    units = check_units(clusters, len(verdicts))
    results, sums = [], []
    for group in (~second, second):
        own = np.where(group, verdicts, np.nan)  # items without a verdict are left out
        results.append(
            estimate_rate(
                own, true, labelled=labelled, clusters=units, confidence_level=confidence_level
            )
        )
        if units is not None and labelled == "random":
            items = _check_items(own, true, units, confidence_level)
            moved = _prediction_powered(items)[1]
            sums.append(np.bincount(units[~np.isnan(own)], moved, int(units.max()) + 1))
    shared = float(np.sqrt(np.prod([x @ x for x in sums]))) if sums else 0.0
    correlation = float(sums[0] @ sums[1]) / shared if shared else 0.0
    first, last = results
    a, b = first.rate, last.rate
    difference = b.estimate - a.estimate
    below, above = (
        float(np.sqrt(max(of_b**2 + of_a**2 - 2 * correlation * of_b * of_a, 0.0)))
        for of_b, of_a in (
            (b.estimate - b.low, a.high - a.estimate),
            (b.high - b.estimate, a.estimate - a.low),
        )
    )
    freedom = max(min(first.n_labelled, last.n_labelled) - 1, 1)
    limit = float(stdtrit(freedom, (1 + confidence_level) / 2))
    half = below if difference > 0 else above
    return RateDifference(
        first=first,
        second=last,
        difference=Estimate(
            estimate=difference,
            low=max(difference - below, -1.0),
            high=min(difference + above, 1.0),
        ),
        p_value=float(2 * stdtr(freedom, -abs(difference) * limit / half)) if half else 1.0,
        correlation=correlation,
    )


@dataclass(frozen=True, kw_only=True)
class ChainedRate:
    """What is left at the end of several steps.

    Attributes
    ----------
    rate : Estimate
        The product of the steps' rates, in [0, 1].
    error_shares : dict of str to float
        How much of the squared error, on the log scale, each step brings; in [0, 1].
    """

    rate: Estimate
    error_shares: dict[str, float]


def chain_rates(steps: Mapping[str, Estimate]) -> ChainedRate:
    r"""Carry the error of each step of a pipeline to its end.

    Two steps that are each right 95% of the time are right 90.25% of the time: a rate at the end is
    the product of each step's rate *among what the steps before it let through rightly*.

    Parameters
    ----------
    steps : mapping of str to Estimate
        For each step in order, how often it holds given that all steps before it do, with its
        interval; as `estimate_rate` or `measure_classification` give it.

    Returns
    -------
    ChainedRate

    Raises
    ------
    InputError
        If there is no step, or a rate is not in (0, 1].

    Notes
    -----
    Intervals of independent steps are combined on the log scale, as Zou and Donner (2008) do. Where
    a step was measured on all items and not on those that came through, the product takes for
    granted that steps err independently; labels of people at the end of the pipeline need no such
    assumption: give them and the last verdict to `estimate_rate`.

    Examples
    --------
    >>> right = Estimate(estimate=0.95, low=0.92, high=0.97)
    >>> chained = chain_rates({"retrieve": right, "judge": right})
    >>> round(chained.rate.estimate, 4), round(chained.rate.low, 3), round(chained.rate.high, 3)
    (0.9025, 0.862, 0.929)
    """
    if not steps:
        msg = "`steps` must hold at least one step, got none."
        raise InputError(msg)
    for name, step in steps.items():
        if not 0 < step.estimate <= 1:
            msg = f"`steps` must hold rates in (0, 1], got {step.estimate!r} for {name!r}."
            raise InputError(msg)
    rate = float(np.prod([step.estimate for step in steps.values()]))
    with np.errstate(divide="ignore"):
        below, above = (
            np.array([np.log(getattr(x, end) / x.estimate) for x in steps.values()]) ** 2
            for end in ("low", "high")
        )
    both = below + above
    total = float(both.sum())
    return ChainedRate(
        rate=Estimate(
            estimate=rate,
            low=float(rate * np.exp(-np.sqrt(below.sum()))),
            high=min(float(rate * np.exp(np.sqrt(above.sum()))), 1.0),
        ),
        error_shares={
            name: float(part) / total if total else float("nan")
            for name, part in zip(steps, both.tolist(), strict=True)
        },
    )
