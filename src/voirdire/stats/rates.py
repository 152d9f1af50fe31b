r"""Estimates how often something holds, from many verdicts of a judge and few labels.

Verdicts that are counted as if they were true give a biased rate, however many there are. Labels on
a random part of the items say how often it holds among the items with each verdict; with
:math:`\pi_k` the share of all items with the verdict k and :math:`p_k` the share of the labelled
ones among them for which it holds,

.. math:: \hat\theta = \sum_k \pi_k \hat p_k

is the efficient estimate (the one-step estimate from the influence function, with a saturated model
of the label given the verdict [1]_). It needs no more than that labels are a random part of the
items *of each verdict*. Where they are one of all items,

.. math:: \bar y - \lambda (\bar f_{labelled} - \bar f)

with a tuned :math:`\lambda` (PPI++ [3]_) needs fewer labels. Both have intervals on the logit scale
with a quantile of the t distribution, which count a label that disagrees more than there are: where
labels are few, or the judge nearly always right, their own spread is no error.

Where labelled items were drawn by their true class, with the sensitivity :math:`q_1` from items
that hold and the specificity :math:`q_0` from items that do not, only
:math:`(\bar f + q_0 - 1) / (q_0 + q_1 - 1)` is valid [4]_, with the interval of [5]_.

References
----------
.. [1] V. Chernozhukov et al., "Double/debiased Machine Learning for Treatment and Structural
   Parameters", Econometrics Journal 21(1), 2018; J. M. Robins, A. Rotnitzky and L. P. Zhao, JASA
   89(427), 1994.
.. [2] G. Y. Zou and A. Donner, "Construction of Confidence Limits about Effect Measures: A General
   Approach", Statistics in Medicine 27(10), pages 1693-1702, 2008.
.. [3] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient Prediction-Powered
   Inference", arXiv 2311.01453, 2023.
.. [4] W. J. Rogan and B. Gladen, "Estimating Prevalence from the Results of a Screening Test",
   American Journal of Epidemiology 107(1), 1978.
.. [5] Z. Lang and J. Reiczigel, "Confidence Limits for Prevalence of Disease Adjusted for Estimated
   Sensitivity and Specificity", Preventive Veterinary Medicine 113(1), 2014.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri, stdtr, stdtrit

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    check_units,
    count_units,
    estimate_share,
    sum_units,
    take_units,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ChainedRate",
    "LabelledItems",
    "RateDifference",
    "RateMethod",
    "RateResult",
    "chain_rates",
    "compare_rates",
    "estimate_rate",
]

RateMethod: TypeAlias = Literal["auto", "human", "efficient", "ppi", "rogan_gladen"]
"""How a rate is estimated."""

LabelledItems: TypeAlias = Literal["random", "verdict", "class"]
"""How the labelled items were drawn."""

_MOST_BINS = 4
_FEWEST_IN_BIN = 15


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
    naive : Estimate
        From the verdicts as if they were true: what not to report.
    sensitivity, specificity : float
        Of the judge on the labelled items, a probability cut at one half; nan where undefined.
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
    naive: Estimate
    sensitivity: float
    specificity: float
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
        ``"auto"``: ``"rogan_gladen"`` where items were labelled by class, ``"human"`` where all are
        labelled, ``"efficient"`` where items were labelled by verdict, else ``"ppi"``.
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
        If shapes or values break a rule above, or the method does not fit how items were labelled.

    Warns
    -----
    DegenerateDataWarning
        If the rate or its interval is undefined: no label at all, or under ``"rogan_gladen"`` a
        judge that is no better than chance.

    Notes
    -----
    Probabilities are cut into at most 4 strata of at least 15 labels each, within which they are
    not used further. Items without a verdict are left out. Coverage of the intervals at .95, the
    lowest of judges from useless to perfect, is in the tests; reference values are those of
    ``ppi_py`` 0.2 and of counting.

    Examples
    --------
    The judge says "yes" to 300 of 1,000 items. People label 100 of them, 30 and 70 by verdict: it
    holds for 24 of the 30 and for 7 of the 70.

    >>> judged = np.repeat([1.0, 0.0], [300, 700])
    >>> labels = np.full(1_000, np.nan)
    >>> labels[:30], labels[300:370] = np.arange(30) < 24, np.arange(70) < 7
    >>> found = estimate_rate(judged, labels)
    >>> round(found.rate.estimate, 2), found.naive.estimate, found.human.estimate
    (0.31, 0.3, 0.31)
    >>> found.rate.high - found.rate.low < found.human.high - found.human.low
    True
    """
    check_choice("labelled", labelled, LabelledItems)
    check_choice("method", method, RateMethod)
    check_fraction("confidence_level", confidence_level)
    data = _Data.of(judged, labels, clusters, confidence_level)
    chosen, because = _choose(method, labelled, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        human = UNDEFINED if labelled != "random" else data.of_labels()
        rate = {
            "human": data.of_labels,
            "efficient": data.efficient,
            "ppi": data.prediction_powered,
            "rogan_gladen": data.rogan_gladen,
        }[chosen]()
    reason = _find_reason(data, rate, chosen)
    if reason is not None:
        warnings.warn(f"the rate is undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    return RateResult(
        rate=rate,
        method=chosen,
        because=because,
        human=human,
        naive=data.naive(),
        sensitivity=data.share_of_yes(1.0),
        specificity=1 - data.share_of_yes(0.0),
        n_items=len(data.judged),
        n_labelled=int(np.count_nonzero(data.known)),
        labelled=labelled,
        confidence_level=confidence_level,
        reason=reason,
    )


def _choose(method: RateMethod, labelled: LabelledItems, data: _Data) -> tuple[RateMethod, str]:
    if labelled == "class":
        if method not in ("auto", "rogan_gladen"):
            msg = f"`method` must be 'rogan_gladen' for items labelled by class, got {method!r}."
            raise InputError(msg)
        return "rogan_gladen", "labelled items were drawn by their true class"
    if method == "rogan_gladen":
        msg = (
            f"`method` must be another for items drawn by {labelled}, got 'rogan_gladen'. "
            "It is valid for items labelled by class only."
        )
        raise InputError(msg)
    if labelled == "verdict" and method in ("human", "ppi"):
        msg = f"`method` must be 'efficient' for items labelled by verdict, got {method!r}."
        raise InputError(msg)
    if method != "auto":
        return method, "asked for"
    if data.known.all():
        return "human", "all items are labelled"
    if labelled == "verdict":
        return (
            "efficient",
            "labels say how often each verdict is right, verdicts how frequent it is",
        )
    return "ppi", "verdicts narrow the interval as far as labels show them to be right"


def _find_reason(data: _Data, rate: Estimate, method: RateMethod) -> str | None:
    if not data.known.any():
        return "no item has a label and a verdict"
    if np.isnan(rate.estimate):
        if method == "rogan_gladen":
            return "the judge is no better than chance on the labelled items"
        return "a verdict has no labelled item"
    return None if not np.isnan(rate.low) else "an interval needs at least two items, or clusters"


@dataclass(frozen=True, kw_only=True)
class _Data:
    """Items with a verdict, and what is known of them."""

    judged: NDArray[np.float64]
    labels: NDArray[np.float64]
    known: NDArray[np.bool_]
    units: NDArray[np.intp] | None
    confidence_level: float

    @staticmethod
    def of(
        judged: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None, confidence_level: float
    ) -> _Data:
        verdicts, true = (np.asarray(x, dtype=np.float64) for x in (judged, labels))
        if verdicts.ndim != 1 or verdicts.shape != true.shape:
            msg = (
                f"`judged`, `labels` must have one shape (n_items,), got {verdicts.shape} and "
                f"{true.shape}."
            )
            raise InputError(msg)
        for name, values in (("judged", verdicts), ("labels", true)):
            given = values[~np.isnan(values)]
            if (given < 0).any() or (given > 1).any():
                msg = f"`{name}` must be in [0, 1], nan where missing, got {given.min():g} to "
                raise InputError(f"{msg}{given.max():g}.")
        units = check_units(clusters, len(verdicts))
        kept = ~np.isnan(verdicts)
        return _Data(
            judged=verdicts[kept],
            labels=true[kept],
            known=~np.isnan(true[kept]),
            units=None if units is None else units[kept],
            confidence_level=confidence_level,
        )

    def share(self, values: NDArray[np.float64], kept: NDArray[np.bool_]) -> Estimate:
        """Estimate a mean in [0, 1] over some items."""
        units = take_units(self.units, kept)
        return estimate_share(values[kept], units, confidence_level=self.confidence_level)

    def corrected(self, rate: float, influence: NDArray[np.float64], unseen: float) -> Estimate:
        """Make the interval of a rate that labels correct, on the logit scale.

        `unseen` is the squared weight of a label that disagrees: none among few does not mean that
        none does, and the spread of labels that all agree is no error.
        """
        n_labelled = int(self.known.sum())
        rate = float(np.clip(rate, 0.5 / n_labelled, 1 - 0.5 / n_labelled))
        units = self.units
        n_units = count_units(units, self.known)
        if n_units < 2:
            return Estimate(estimate=rate)
        sums = sum_units(influence, units)
        variance = float(sums @ sums)
        freedom = float(n_units - 1)
        uneven = float((sums**4).sum()) - variance**2 / len(sums)
        if units is not None and uneven > 0:  # Satterthwaite's, where few clusters say the most
            freedom = min(freedom, max(2 * (variance + unseen) ** 2 / uneven, 2.0))
        limit = float(stdtrit(freedom, (1 + self.confidence_level) / 2))
        width = limit * float(np.sqrt(variance + unseen)) / (rate * (1 - rate))
        low, high = (float(expit(logit(rate) + x)) for x in (-width, width))
        return Estimate(estimate=rate, low=low, high=high)

    def naive(self) -> Estimate:
        return self.share(self.judged, np.ones(len(self.judged), bool))

    def of_labels(self) -> Estimate:
        return self.share(self.labels, self.known)

    def share_of_yes(self, label: float) -> float:
        """Share of the items with a label that the judge says yes to, at one half."""
        said = self.judged[self.known & (self.labels == label)] >= 0.5
        return float(said.mean()) if len(said) else float("nan")

    def strata(self) -> NDArray[np.intp]:
        """Return the stratum of each item: its verdict, or the range of its probability."""
        values = np.unique(self.judged)
        if len(values) <= 2:
            return np.searchsorted(values, self.judged)
        n_bins = int(np.clip(np.count_nonzero(self.known) // _FEWEST_IN_BIN, 1, _MOST_BINS))
        cuts = np.quantile(self.judged[self.known], np.arange(1, n_bins) / n_bins)
        return np.unique(np.searchsorted(cuts, self.judged, "right"), return_inverse=True)[1]

    def efficient(self) -> Estimate:
        """Weigh the strata's shares by how frequent the strata are among all items [1]_."""
        strata, known = self.strata(), self.known
        if not known.any():
            return UNDEFINED
        weights = np.bincount(strata) / len(strata)
        counts = np.bincount(strata[known], minlength=len(weights))
        if not counts.all():
            return UNDEFINED
        means = np.bincount(strata[known], self.labels[known], len(weights)) / counts
        rate = float(weights @ means)
        influence = (means[strata] - rate) / len(strata)
        # as in the jackknife: how far the mean moves where a label is left out
        scale = (weights / np.maximum(counts - 1, 1))[strata[known]]
        influence[known] += scale * (self.labels[known] - means[strata[known]])
        unseen = float(((weights / (counts + 1)) ** 2).sum()) / 2
        return self.corrected(rate, influence, unseen)

    def power(self) -> float:
        """Choose how much of the verdicts to use [3]_."""
        n_labelled, n_others = np.count_nonzero(self.known), np.count_nonzero(~self.known)
        spread = float(self.judged.var(ddof=1)) if len(self.judged) > 1 else 0.0
        if n_labelled < 2 or n_others < 2 or not spread:
            return 0.0
        covariance = float(np.cov(self.labels[self.known], self.judged[self.known])[0, 1])
        return float(np.clip(covariance / (spread * (1 + n_labelled / n_others)), 0.0, 1.0))

    def prediction_powered(self) -> Estimate:
        """Take off as much of the verdicts' own error on labelled items as lowers the variance."""
        power, known = self.power(), self.known
        if not power:
            return self.of_labels()
        own = power * (self.judged[known].mean() - self.judged[~known].mean())
        rate = float(self.labels[known].mean() - own)
        unseen = power / (int(known.sum()) + 1) ** 2
        return self.corrected(rate, self.influence(power), unseen)

    def influence(self, power: float) -> NDArray[np.float64]:
        """How far each item moves the prediction-powered estimate."""
        known = self.known
        moved = np.zeros(len(self.judged))
        residual = self.labels[known] - power * self.judged[known]
        moved[known] = (residual - residual.mean()) / max(len(residual), 1)
        if power:
            others = power * self.judged[~known]
            moved[~known] = (others - others.mean()) / len(others)
        return moved

    def rogan_gladen(self) -> Estimate:
        """Correct the share of yes by sensitivity and specificity, from items labelled by class."""
        level = ndtri((1 + self.confidence_level) / 2)
        asked = ~self.known if not self.known.all() else self.known
        said = self.judged >= 0.5
        holds = self.known & (self.labels == 1)
        fails = self.known & (self.labels == 0)
        n_true, n_false, n_asked = (int(x.sum()) for x in (holds, fails, asked))
        if not n_true or not n_false:
            return UNDEFINED
        false_alarms = float(said[fails].mean())
        useful = float(said[holds].mean()) - false_alarms
        if useful <= 0:
            return UNDEFINED
        rate = float(np.clip((said[asked].mean() - false_alarms) / useful, 0.0, 1.0))
        # the interval of [5], with pseudo-observations in all three shares
        yes = (said[asked].sum() + level**2 / 2) / (n_asked + level**2)
        finds = (said[holds].sum() + 1) / (n_true + 2)
        rejects = ((~said[fails]).sum() + 1) / (n_false + 2)
        slope = finds + rejects - 1
        if slope <= 0:
            return Estimate(estimate=rate, low=0.0, high=1.0)
        middle = (yes + rejects - 1) / slope
        of_finds = finds * (1 - finds) / (n_true + 2)
        of_rejects = rejects * (1 - rejects) / (n_false + 2)
        shift = 2 * level**2 * (middle * of_finds - (1 - middle) * of_rejects)
        variance = yes * (1 - yes) / (n_asked + level**2)
        variance += (1 - middle) ** 2 * of_rejects + middle**2 * of_finds
        half = level * np.sqrt(variance) / slope
        low, high = np.clip([middle + shift - half, middle + shift + half], 0.0, 1.0)
        return Estimate(estimate=rate, low=float(low), high=float(high))


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
        own = None if units is None else units[group]
        results.append(
            estimate_rate(
                verdicts[group],
                true[group],
                labelled=labelled,
                clusters=own,
                confidence_level=confidence_level,
            )
        )
        data = _Data.of(verdicts[group], true[group], own, confidence_level)
        moved = data.influence(data.power())
        if own is not None and labelled == "random":
            kept = ~np.isnan(verdicts[group])
            sums.append(np.bincount(units[group][kept], moved, int(units.max()) + 1))  # type: ignore[index,union-attr]
    shared = float(np.sqrt(np.prod([x @ x for x in sums]))) if sums else 0.0
    correlation = float(sums[0] @ sums[1]) / shared if shared else 0.0
    return _difference(results[0], results[1], correlation, confidence_level)


def _difference(
    first: RateResult, second: RateResult, correlation: float, confidence_level: float
) -> RateDifference:
    a, b = first.rate, second.rate
    difference = b.estimate - a.estimate

    def width(of_b: float, of_a: float) -> float:
        return float(np.sqrt(max(of_b**2 + of_a**2 - 2 * correlation * of_b * of_a, 0.0)))

    low = difference - width(b.estimate - b.low, a.high - a.estimate)
    high = difference + width(b.high - b.estimate, a.estimate - a.low)
    freedom = min(first.n_labelled, second.n_labelled) - 1
    limit = float(stdtrit(max(freedom, 1), (1 + confidence_level) / 2))
    half = difference - low if difference > 0 else high - difference
    p_value = float(2 * stdtr(max(freedom, 1), -abs(difference) * limit / half)) if half else 1.0
    return RateDifference(
        first=first,
        second=second,
        difference=Estimate(estimate=difference, low=max(low, -1.0), high=min(high, 1.0)),
        p_value=p_value,
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
    >>> found = chain_rates({"retrieve": right, "judge": right})
    >>> round(found.rate.estimate, 4), round(found.rate.low, 3), round(found.rate.high, 3)
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
