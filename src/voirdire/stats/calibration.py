r"""Calibrates a judge's probabilities, and measures how well calibrated they are.

Calibrators do not reverse ranks. They are fitted to items whose
truth is known, or out of fold, so that neither an item's own truth nor its group's gets into its
probability.

In bins of about equal probabilities, :math:`\delta_b` is the mean of probability minus truth and
:math:`w_b` the share of the items. The square of its estimate is on average too large by the
estimate's own variance :math:`V_b`, which is therefore taken off; likewise the spread of the truths
is on average too small by the variance of their mean :math:`V_y`, which is added:

.. math::

   \text{reliability} = \sum_b w_b (\hat\delta_b^2 - V_b), \qquad
   \text{uncertainty} = \frac1n \sum_i (y_i - \bar y)^2 + V_y, \qquad
   \text{Brier} = \text{reliability} - \text{resolution} + \text{uncertainty}.

Where the items of a bin have one probability these are the estimates of Ferro and Fricker [1]_,
and the root of the reliability is the debiased calibration error of Kumar, Liang and Ma [2]_. Where
they differ, what the differences within bins are worth belongs to the resolution [3]_.

References
----------
.. [1] C. A. T. Ferro and T. E. Fricker, "A Bias-corrected Decomposition of the Brier Score",
   Quarterly Journal of the Royal Meteorological Society 138(668), pages 1954-1960, 2012.
   :doi:`10.1002/qj.1924`
.. [2] A. Kumar, P. Liang and T. Ma, "Verified Uncertainty Calibration", NeurIPS 2019.
   :arxiv:`1909.10155`
.. [3] D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe, "Two Extra Components in the Brier
   Score Decomposition", Weather and Forecasting 23(4), pages 752-757, 2008.
   :doi:`10.1175/2007WAF2006116.1`
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit, stdtrit

from voirdire._messages import shorten
from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import UNDEFINED, Estimate, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

CalibrationMethod: TypeAlias = Literal["platt", "temperature"]
"""Two parameters, or one."""

_CLIP = 1e-6
"""Log-odds are clipped at ±13.8, so that a probability of 0 or 1 stays finite."""


# Checks ---------------------------------------------------------------------------------------

_SHARES = {
    "probabilities": ("in [0, 1]", "Leave failed calls out."),
    "truths": ("true, false or a share in [0, 1]", "Leave others out."),
}


def _check_numbers(name: str, values: ArrayLike, n_items: int | None = None) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be numbers. Pass an array of floats or truth values."
        raise InputError(msg) from error
    return _check_shape(name, numbers, n_items)


def _check_shares(name: str, values: ArrayLike, n_items: int | None = None) -> NDArray[np.float64]:
    """Return probabilities or truths as floats; in [0, 1], none missing."""
    shares = _check_numbers(name, values, n_items)
    outside = ~((shares >= 0) & (shares <= 1))
    if outside.any():
        rule, remedy = _SHARES[name]
        msg = f"`{name}` must be {rule}, got {float(shares[outside][0])!r}. {remedy}"
        raise InputError(msg)
    return shares


def check_groups(values: ArrayLike | None, n_items: int) -> NDArray[np.intp]:
    """Return groups as numbers from 0; by default every item is its own group."""
    if values is None:
        return np.arange(n_items)
    return np.unique(_check_shape("groups", np.asarray(values), n_items), return_inverse=True)[1]


def _check_shape(name: str, values: NDArray[Any], n_items: int | None) -> NDArray[Any]:
    if values.ndim != 1 or n_items not in (None, len(values)):
        wanted = "n_items" if n_items is None else n_items
        msg = f"`{name}` must have the shape ({wanted},), got {values.shape}. Align them by item."
        raise InputError(msg)
    return values


# Calibrators ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Calibrator:
    """A line through the log-odds.

    Attributes
    ----------
    method : {"platt", "temperature"}
        How it was fitted.
    slope : float
        At least 0, so that the order of items stays. Of a temperature its inverse: below 1 where
        the judge was too sure, 0 where its order is of no use.
    intercept : float
        Added to the log-odds; 0 of a temperature, so that 1/2 stays 1/2.
    """

    method: CalibrationMethod
    slope: float
    intercept: float

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.asarray(expit(self.slope * _log_odds(probabilities) + self.intercept))

    def apply_one(self, probability: float) -> float:
        """Calibrate one probability without an array, which is fifteen times faster."""
        clipped = min(max(probability, _CLIP), 1 - _CLIP)
        log_odds = self.slope * math.log(clipped / (1 - clipped)) + self.intercept
        if log_odds < 0:  # so that no power overflows
            power = math.exp(log_odds)
            return power / (1 + power)
        return 1 / (1 + math.exp(-log_odds))

    def to_dict(self) -> dict[str, Any]:
        """Return values that `calibrator_from_dict` reads."""
        return dict(vars(self))


def _log_odds(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Return the log-odds of probabilities, at most 13.8 in size."""
    clipped = np.clip(_check_shares("probabilities", probabilities), _CLIP, 1 - _CLIP)
    return np.asarray(logit(clipped))


def calibrator_from_dict(content: Mapping[str, Any]) -> Calibrator:
    """Read a calibrator from what its `to_dict` gave.

    Parameters
    ----------
    content : mapping of str to object
        As from JSON; it may come from anybody, so everything in it is checked.

    Returns
    -------
    Calibrator

    Raises
    ------
    InputError
        If a key is missing or unknown, or a number breaks its rule.

    Examples
    --------
    >>> calibrator_from_dict({"method": "platt", "slope": 0.5, "intercept": 0.0})
    Calibrator(method='platt', slope=0.5, intercept=0.0)
    """
    try:
        is_sound = content.keys() == {"method", "slope", "intercept"}
        calibrator = Calibrator(
            method=check_choice("method", content["method"], CalibrationMethod),
            slope=content["slope"] + 0.0,
            intercept=content["intercept"] + 0.0,
        )
        is_sound &= 0 <= calibrator.slope < math.inf and math.isfinite(calibrator.intercept)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        is_sound = False
    if not is_sound:
        msg = (
            "`content` must be what a calibrator's `to_dict` gives, got "
            f"{shorten(repr(content))}. Fit the calibrator again."
        )
        raise InputError(msg)
    return calibrator


# Fitting --------------------------------------------------------------------------------------

_MAX_STEPS = 100
_MAX_HALVINGS = 40
_TOLERANCE = 1e-12
_MIN_SLOPE = 1e-9
"""With a smaller slope the order of the items has no information, so one number is used."""


def fit_calibrator(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    method: CalibrationMethod = "platt",
    weights: ArrayLike | None = None,
) -> Calibrator:
    r"""Fit a calibrator to these probabilities.

    `platt` fits a slope and an intercept to the log-odds by maximum likelihood, `temperature` the
    slope alone. Both keep the order of the items. Fit on items that the judge
    was not trained on, see `cross_calibrate`.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        The judge's, in [0, 1]; not nan.
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so; a share in [0, 1] is a soft label.
    method : {"platt", "temperature"}, optional
        `temperature` does with few items.
    weights : array_like of float, shape (n_items,), optional
        How much each item counts; not negative. Equal by default.

    Returns
    -------
    Calibrator
        It has ``apply(probabilities)``.

    Raises
    ------
    InputError
        If lengths differ, a number is out of its range, or the truths are all true or all false.

    Notes
    -----
    Platt's targets are :math:`(N_+ + 1)/(N_+ + 2)` and :math:`1/(N_- + 2)` in the place of 1 and
    0 [1]_, so that the fit is finite where the truths can be parted without error. A slope below 0
    would turn the order around: it becomes 0, and every item gets the share of true ones.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> calibrator = fit_calibrator([0.9, 0.99, 0.9, 0.01], [True, True, False, False])
    >>> calibrator.apply([0.9]).round(2).tolist()
    [0.55]
    """
    check_choice("method", method, CalibrationMethod)
    p = _check_shares("probabilities", probabilities)
    y = _check_shares("truths", truths, len(p))
    w = np.ones(len(p)) if weights is None else _check_numbers("weights", weights, len(p))
    if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        msg = "`weights` must be finite, not negative and not all 0. Leave them out for equal ones."
        raise InputError(msg)
    n_true, n_false = float(w @ y), float(w @ (1 - y))
    if n_true <= 0 or n_false <= 0:
        msg = "`truths` must hold true and false ones, got only one of them. Label more items."
        raise InputError(msg)
    low, high = 1 / (n_false + 2), (n_true + 1) / (n_true + 2)
    targets = low + (high - low) * y
    x = _log_odds(p)
    columns = [x, np.ones_like(x)] if method == "platt" else [x]
    slope, intercept = [*_logistic_fit(np.column_stack(columns), targets, w), 0.0][:2]
    if slope < _MIN_SLOPE:
        slope = 0.0
        intercept = float(logit(w @ targets / w.sum())) if method == "platt" else 0.0
    return Calibrator(method=method, slope=slope, intercept=intercept)


def _logistic_fit(
    design: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[float]:
    """Maximise a logistic likelihood by Newton's method, halving steps that do not improve it."""
    weights = weights / weights.sum()

    def loss(coefficients: NDArray[np.float64]) -> float:
        scores = design @ coefficients
        return float(weights @ (np.logaddexp(0.0, scores) - targets * scores))

    best = np.zeros(design.shape[1])
    least = loss(best)
    for _ in range(_MAX_STEPS):
        fitted = expit(design @ best)
        gradient = design.T @ (weights * (fitted - targets))
        curvature = (design * (weights * fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        for tried in (best - step / 2**halvings for halvings in range(_MAX_HALVINGS)):
            found = loss(tried)
            if found <= least:
                break
        else:
            break
        best, least = tried, found
        if gradient @ step <= _TOLERANCE:
            break
    return [float(number) for number in best]


# Out of fold ----------------------------------------------------------------------------------


def group_folds(groups: ArrayLike, *, n_folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """Distribute groups over folds of about equal size, without splitting a group.

    Parameters
    ----------
    groups : array_like, shape (n_items,)
        Which group each item belongs to, for instance its prompt.
    n_folds : int, optional
        At least 2, and at most the number of groups.
    seed : int, optional
        The same seed gives the same folds.

    Returns
    -------
    ndarray of int, shape (n_items,)
        The fold of each item, from 0.

    Raises
    ------
    InputError
        If there are fewer groups than folds.

    Examples
    --------
    >>> folds = group_folds(["a", "a", "b", "c", "c", "d"], n_folds=2)
    >>> [int(count) for count in np.bincount(folds)]
    [3, 3]
    """
    units = np.unique(groups, return_inverse=True)[1]
    n_folds = check_count("n_folds", n_folds, minimum=2)
    sizes = np.bincount(units)
    if len(sizes) < n_folds:
        msg = (
            f"`groups` must be at least as many as folds, got {len(sizes)} for {n_folds} folds. "
            "Take fewer folds or more groups."
        )
        raise InputError(msg)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of_group = np.empty(len(sizes), dtype=np.intp)
    filled = np.zeros(n_folds)
    for group in largest_first:
        fold_of_group[group] = filled.argmin()
        filled[fold_of_group[group]] += sizes[group]
    return fold_of_group[units]


def cross_calibrate(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    method: CalibrationMethod = "platt",
    n_folds: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Calibrate each fold of items by a calibrator that was fitted to the other folds.

    What comes back may be compared with the truths: how well a calibrator fitted to all of them
    will do on new items. Measured on the items that it was fitted to, it would look too good.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        The judge's, in [0, 1]; themselves of items that the judge was not trained on.
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so; a share in [0, 1] is a soft label.
    groups : array_like, shape (n_items,), optional
        Items of one group stay in one fold. By default every item is its own.
    method : {"platt", "temperature"}, optional
        See `fit_calibrator`.
    n_folds : int, optional
        At least 2.
    seed : int, optional
        The same seed gives the same folds.

    Returns
    -------
    ndarray of float, shape (n_items,)
        Calibrated probabilities.

    Raises
    ------
    InputError
        As `fit_calibrator`; also if the truths outside of a fold are all alike.

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> truths = p ** 2 > np.tile([0.2, 0.5, 0.8, 0.4], 10)
    >>> cross_calibrate(p, truths, n_folds=4).round(1)[[0, 39]].tolist()
    [0.0, 1.0]
    """
    p = _check_shares("probabilities", probabilities)
    y = _check_shares("truths", truths, len(p))
    folds = group_folds(check_groups(groups, len(p)), n_folds=n_folds, seed=seed)
    result = np.empty_like(p)
    for fold in range(n_folds):
        inside = folds == fold
        calibrator = fit_calibrator(p[~inside], y[~inside], method=method)
        result[inside] = calibrator.apply(p[inside])
    return result


# How well calibrated --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Items with about the same probability.

    Attributes
    ----------
    n_items : int
        How many.
    probability : float
        Their mean probability, in [0, 1].
    share : float
        The share of them that was true, in [0, 1].
    low, high : float
        Its interval; nan where all items are of one group.
    """

    n_items: int
    probability: float
    share: float
    low: float
    high: float


def measure_calibration(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_bins: int = 10,
    confidence_level: float = 0.95,
) -> tuple[CalibrationBin, ...]:
    r"""Measure shares of true items beside probabilities, in bins.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        In [0, 1].
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so.
    groups : array_like, shape (n_items,), optional
        Items that depend on each other. By default every item is its own.
    n_bins : int, optional
        How many bins of equal numbers of items; items of equal probability stay together, so
        there may be fewer.
    confidence_level : float, optional
        Nominal coverage, in (0, 1).

    Returns
    -------
    tuple of CalibrationBin
        Of equal numbers of items, by rising probability.

    Raises
    ------
    InputError
        If lengths differ or a number is out of its range.

    Warns
    -----
    DegenerateDataWarning
        If there are no items (and no bins) or one group (intervals are nan).

    Notes
    -----
    The mean distance of probabilities and shares over the bins is never 0 on data, even of perfect
    probabilities; `decompose_brier` gives an error that chance does not raise, with an interval.
    Intervals of shares are those of Clopper and Pearson, of as many independent items as would have
    the variance between groups [1]_.

    References
    ----------
    .. [1] E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions with Small Expected
       Number of Positive Counts Estimated from Survey Data", Survey Methodology 24(2), pages
       193-201, 1998.

    Examples
    --------
    >>> bins = measure_calibration([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2)
    >>> [(each.probability, each.share) for each in bins]
    [(0.1, 0.0), (0.9, 0.5)]
    """
    p, y, units, codes = _check_items(probabilities, truths, groups, n_bins, confidence_level)
    bins = []
    for code in range(int(codes.max(initial=-1)) + 1):
        own = codes == code
        true, groups_here = y[own], np.unique(units[own], return_inverse=True)[1]
        share, n_items, n_groups = float(true.mean()), len(true), int(groups_here.max()) + 1
        low = high = math.nan
        if n_groups > 1:
            sums = np.bincount(groups_here, weights=true - share)
            variance = n_groups / (n_groups - 1) * float(sums @ sums) / n_items**2
            spread = share * (1 - share) * n_items / (n_items - 1)
            n = min(spread / variance, n_items) if variance > 0 and spread > 0 else n_groups
            low, high = clopper_pearson(n * share, n, confidence_level)
        mean = float(p[own].mean())
        bins.append(
            CalibrationBin(n_items=n_items, probability=mean, share=share, low=low, high=high)
        )
    return tuple(bins)


def _check_items(
    probabilities: ArrayLike,
    truths: ArrayLike,
    groups: ArrayLike | None,
    n_bins: int,
    confidence_level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Return probabilities, truths, groups and bins of the items; warn of fewer than two groups."""
    p = _check_shares("probabilities", probabilities)
    y = _check_shares("truths", truths, len(p))
    units = check_groups(groups, len(p))
    n_bins = check_count("n_bins", n_bins, minimum=1)
    check_fraction("confidence_level", confidence_level)
    n_groups = int(units.max(initial=-1)) + 1
    if n_groups < 2:
        msg = f"calibration of {len(p)} items in {n_groups} groups has no interval (nan)"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    bins = np.zeros(0, dtype=np.intp)
    if len(p):
        edges = np.quantile(p, np.arange(1, n_bins) / n_bins, method="lower")
        bins = np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]
    return p, y, units, bins


# The calibration error -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BrierDecomposition:
    """The parts of a Brier score: reliability - resolution + uncertainty.

    Attributes
    ----------
    brier : float
        Mean squared distance between probability and truth, in [0, 1].
    reliability : Estimate
        How much of it better calibrated probabilities would save; 0 is best. As its bias is taken
        off, the estimate may be a little below 0.
    resolution : float
        How much better than always stating the share of true items the calibrated probabilities
        are; 0 is worst, and again the estimate may be a little below.
    uncertainty : float
        The Brier score of always stating that share.
    calibration_error : Estimate
        The root of the reliability: how far probabilities are from shares, in points of probability
        (the root mean square over items); in [0, 1].
    n_items, n_groups, n_bins : int
        What they rest on.
    confidence_level : float
        Nominal coverage of both intervals, in (0, 1).
    """

    brier: float
    reliability: Estimate
    resolution: float
    uncertainty: float
    calibration_error: Estimate
    n_items: int
    n_groups: int
    n_bins: int
    confidence_level: float


def decompose_brier(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_bins: int = 10,
    confidence_level: float = 0.95,
) -> BrierDecomposition:
    r"""Part a Brier score into reliability, resolution and uncertainty, without their bias.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        In [0, 1].
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so; a share in [0, 1] is a soft label.
    groups : array_like, shape (n_items,), optional
        Items that depend on each other. By default every item is its own.
    n_bins : int, optional
        As for `measure_calibration`, whose bins these are.
    confidence_level : float, optional
        Nominal coverage, in (0, 1).

    Returns
    -------
    BrierDecomposition

    Raises
    ------
    InputError
        If lengths differ or a number is out of its range.

    Warns
    -----
    DegenerateDataWarning
        If there are no items (everything is nan) or one group (all but the Brier score is nan).

    Notes
    -----
    See the head of this module for the formulas. The error of the reliability has two parts. One
    grows with the reliability itself: the upper end is the value whose own error just reaches the
    estimate, as in Wilson's interval of a share. The other, :math:`2 \sum_{bc} w_b w_c V_{bc}^2`,
    is chance within the squares, and alone is left under perfect calibration. The quantile is of
    the t distribution, with as many degrees of freedom as there are more groups than bins. A bin
    whose truths are all alike may have hidden one group of the other kind. The interval is wide
    rather than narrow: at .95 it covered .97 to 1 of 600 samples of 50, 100 and 400 items, and of
    40 groups of 5, whether judges were well calibrated, too sure, off by .1, or surer than 98%.

    A bin of a single group keeps its bias: take fewer bins then. Memory is O(n_groups * n_bins).
    Reference values in the tests come from the formulas of Ferro and Fricker by hand.

    Examples
    --------
    A judge states .9 where 6 of 10 are true, and .1 where none is:

    >>> found = decompose_brier([0.9] * 10 + [0.1] * 10, [1] * 6 + [0] * 14)
    >>> round(found.reliability.estimate, 3), round(found.resolution, 3)
    (0.037, 0.088)
    >>> round(found.uncertainty, 3), round(found.brier, 3)  # .037 - .088 + .221 = .170
    (0.221, 0.17)
    >>> round(found.calibration_error.estimate, 2)
    0.19
    """
    p, y, units, bins = _check_items(probabilities, truths, groups, n_bins, confidence_level)
    n, n_groups, sizes = len(p), int(units.max(initial=-1)) + 1, np.bincount(bins)
    gaps = p - y
    if n_groups < 2:
        return BrierDecomposition(
            brier=float((gaps**2).mean()) if n else math.nan,
            reliability=UNDEFINED,
            resolution=math.nan,
            uncertainty=math.nan,
            calibration_error=UNDEFINED,
            n_items=n,
            n_groups=n_groups,
            n_bins=len(sizes),
            confidence_level=confidence_level,
        )
    share, apart = sizes / n, y - y.mean()
    bias: NDArray[Any] = (np.bincount(bins, weights=gaps) / sizes)[bins]
    errors, unseen = _bin_errors(gaps - bias, bins, units, sizes)
    squares = bias**2
    reliability = float(squares.mean() - share @ np.diagonal(errors))
    truth_error = n_groups / (n_groups - 1) * float((np.bincount(units, apart) ** 2).sum()) / n**2
    uncertainty = float((apart**2).mean()) + truth_error

    degrees = max(n_groups - len(sizes), 1)
    reach = float(stdtrit(degrees, (1 + confidence_level) / 2)) ** 2
    influence = squares - squares.mean() + 2 * bias * (gaps - bias)
    grown = reach * n_groups / degrees * float((np.bincount(units, influence) ** 2).sum()) / n**2
    chance = reach * 2 * float(share @ (errors + np.diag(unseen)) ** 2 @ share)
    rate = grown / max(2 * float(squares.mean()), _NO_SPREAD)
    rate += 2 * reach * float((share * unseen).max())
    low = max(reliability - (grown + chance) ** 0.5, 0.0)
    high = reliability + rate + (rate**2 + 2 * rate * max(reliability, 0.0) + chance) ** 0.5
    return BrierDecomposition(
        brier=float((gaps**2).mean()),
        reliability=Estimate(estimate=reliability, low=low, high=high),
        resolution=reliability + uncertainty - float((gaps**2).mean()),
        uncertainty=uncertainty,
        calibration_error=Estimate(
            estimate=max(reliability, 0.0) ** 0.5, low=low**0.5, high=max(high, 0.0) ** 0.5
        ),
        n_items=n,
        n_groups=n_groups,
        n_bins=len(sizes),
        confidence_level=confidence_level,
    )


_NO_SPREAD = 1e-12


def _bin_errors(
    apart: NDArray[np.float64],
    codes: NDArray[np.intp],
    units: NDArray[np.intp],
    sizes: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the covariances of the bins' means, shape (n_bins, n_bins), with a correction.

    A bin of equal items has no spread, although one more group might have differed.
    """
    n_bins, n_groups = len(sizes), int(units.max()) + 1
    cell = units * n_bins + codes
    shape = (n_groups, n_bins)
    sums = np.bincount(cell, weights=apart, minlength=n_groups * n_bins).reshape(shape)
    members = np.bincount(cell, minlength=n_groups * n_bins).reshape(shape)
    filled = np.count_nonzero(members, axis=0)
    scaled = sums * np.sqrt(filled / np.maximum(filled - 1, 1)) / sizes
    errors = np.asarray(scaled.T @ scaled)
    return errors, np.where(np.diagonal(errors) < _NO_SPREAD, 1 / (filled + 1.0) ** 2, 0.0)
