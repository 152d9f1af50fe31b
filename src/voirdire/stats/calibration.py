"""Calibrates a judge's probabilities, and measures how well calibrated they are.

There are two kinds of calibrators, none of which reverses ranks. They are fitted to items whose
truth is known, or out of fold, so that neither an item's own truth nor its group's gets into its
probability.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit, stdtrit

from voirdire._messages import shorten
from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CalibrationBin",
    "CalibrationMethod",
    "CalibrationResult",
    "Calibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "calibrator_from_dict",
    "check_groups",
    "cross_calibrate",
    "fit_calibrator",
    "group_folds",
    "measure_calibration",
]

CalibrationMethod: TypeAlias = Literal["platt", "temperature"]
"""Two parameters, or one."""

_CLIP = 1e-6
"""Log-odds are clipped at ±13.8, so that a probability of 0 or 1 stays finite."""


# Checks ---------------------------------------------------------------------------------------

_SHARES = {
    "probabilities": ("in [0, 1]", "Leave failed calls out."),
    "truths": ("true, false or a share in [0, 1]", "Leave others out."),
}


def _check_shares(name: str, values: ArrayLike, n_items: int | None = None) -> NDArray[np.float64]:
    """Return probabilities or truths as floats; in [0, 1], none missing."""
    shares = _check_numbers(name, values, n_items)
    outside = ~((shares >= 0) & (shares <= 1))
    if outside.any():
        rule, remedy = _SHARES[name]
        msg = f"`{name}` must be {rule}, got {float(shares[outside][0])!r}. {remedy}"
        raise InputError(msg)
    return shares


def _check_weights(values: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    """Return weights as floats, 1 where none are given; finite, not negative, not all 0."""
    if values is None:
        return np.ones(n_items)
    weights = _check_numbers("weights", values, n_items)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        msg = "`weights` must be finite, not negative and not all 0. Leave them out for equal ones."
        raise InputError(msg)
    return weights


def check_groups(values: ArrayLike | None, n_items: int) -> NDArray[np.intp]:
    """Return groups as numbers from 0; by default every item is its own group."""
    if values is None:
        return np.arange(n_items)
    return np.unique(_check_shape("groups", np.asarray(values), n_items), return_inverse=True)[1]


def _check_numbers(name: str, values: ArrayLike, n_items: int | None) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be numbers. Pass an array of floats or truth values."
        raise InputError(msg) from error
    return _check_shape(name, numbers, n_items)


def _check_shape(name: str, values: NDArray[Any], n_items: int | None) -> NDArray[Any]:
    if values.ndim != 1 or n_items not in (None, len(values)):
        wanted = "n_items" if n_items is None else n_items
        msg = f"`{name}` must have the shape ({wanted},), got {values.shape}. Align them by item."
        raise InputError(msg)
    return values


# Calibrators ----------------------------------------------------------------------------------


class _JsonCalibrator:
    """A calibrator that can be written as JSON; an infinite number becomes null."""

    PLAIN: ClassVar = ("method",)
    method: ClassVar[CalibrationMethod]

    def to_dict(self) -> dict[str, Any]:
        """Return values that `calibrator_from_dict` reads."""
        fields = {name: None if value == np.inf else value for name, value in vars(self).items()}
        return {"method": self.method} | fields


@dataclass(frozen=True, kw_only=True)
class PlattCalibrator(_JsonCalibrator):
    """A line through the log-odds.

    Attributes
    ----------
    slope : float
        At least 0, so that the order of items stays.
    intercept : float
        Added to the log-odds.
    """

    method = "platt"
    slope: float
    intercept: float

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.asarray(expit(self.slope * _log_odds(probabilities) + self.intercept))

    def apply_one(self, probability: float) -> float:
        """Calibrate one probability without an array, which is fifteen times faster."""
        return _expit_of(self.slope * _log_odds_of(probability) + self.intercept)


@dataclass(frozen=True, kw_only=True)
class TemperatureCalibrator(_JsonCalibrator):
    """Log-odds divided by a temperature: 1/2 stays 1/2.

    Attributes
    ----------
    temperature : float
        Above 0; above 1 where the judge was too sure. Infinite where its order is of no use.
    """

    method = "temperature"
    temperature: float

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.asarray(expit(_log_odds(probabilities) / self.temperature))

    def apply_one(self, probability: float) -> float:
        """Calibrate one probability without an array."""
        return _expit_of(_log_odds_of(probability) / self.temperature)


Calibrator: TypeAlias = PlattCalibrator | TemperatureCalibrator
_CALIBRATORS: dict[CalibrationMethod, type[Calibrator]] = {
    "platt": PlattCalibrator,
    "temperature": TemperatureCalibrator,
}


def _log_odds(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Return the log-odds of probabilities, at most 13.8 in size."""
    clipped = np.clip(_check_shares("probabilities", probabilities), _CLIP, 1 - _CLIP)
    return np.asarray(logit(clipped))


def _log_odds_of(probability: float) -> float:
    clipped = min(max(probability, _CLIP), 1 - _CLIP)
    return math.log(clipped / (1 - clipped))


def _expit_of(log_odds: float) -> float:
    if log_odds < 0:  # so that no power overflows
        power = math.exp(log_odds)
        return power / (1 + power)
    return 1 / (1 + math.exp(-log_odds))


def calibrator_from_dict(content: Mapping[str, Any]) -> Calibrator:
    """Read a calibrator from what its `to_dict` gave.

    Parameters
    ----------
    content : mapping of str to object
        As from JSON; it may come from anybody, so everything in it is checked.

    Returns
    -------
    PlattCalibrator or TemperatureCalibrator
        The calibrator.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a number breaks its rule.

    Examples
    --------
    >>> calibrator_from_dict({"method": "platt", "slope": 0.5, "intercept": 0.0})
    PlattCalibrator(slope=0.5, intercept=0.0)
    """
    try:
        fields = {name: _read(value) for name, value in content.items() if name != "method"}
        found = _CALIBRATORS[content["method"]](**fields)
        if not _is_fine(found):
            raise ValueError(found)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        msg = (
            "`content` must be what a calibrator's `to_dict` gives, got "
            f"{shorten(repr(content))}. Fit the calibrator again."
        )
        raise InputError(msg) from error
    return found


def _read(value: Any) -> Any:
    if value is not None and not isinstance(value, int | float):
        raise TypeError
    return np.inf if value is None else float(value)


def _is_fine(found: Calibrator) -> bool:
    if isinstance(found, PlattCalibrator):
        return bool(np.isfinite([found.slope, found.intercept]).all() and found.slope >= 0)
    return found.temperature > 0


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
    PlattCalibrator or TemperatureCalibrator
        The calibrator, with ``apply(probabilities)``.

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
    w = _check_weights(weights, len(p))
    n_true, n_false = float(w @ y), float(w @ (1 - y))
    if n_true <= 0 or n_false <= 0:
        msg = "`truths` must hold true and false ones, got only one of them. Label more items."
        raise InputError(msg)
    low, high = 1 / (n_false + 2), (n_true + 1) / (n_true + 2)
    targets = low + (high - low) * y
    x = _log_odds(p)
    if method == "temperature":
        (slope,) = _logistic_fit(x[:, np.newaxis], targets, w)
        return TemperatureCalibrator(temperature=1 / slope if slope >= _MIN_SLOPE else np.inf)
    slope, intercept = _logistic_fit(np.column_stack([x, np.ones_like(x)]), targets, w)
    if slope < _MIN_SLOPE:
        slope, intercept = 0.0, float(logit(w @ targets / w.sum()))
    return PlattCalibrator(slope=slope, intercept=intercept)


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


@dataclass(frozen=True, kw_only=True)
class CalibrationResult:
    """How far probabilities are from the truth.

    Attributes
    ----------
    brier : float
        Mean squared distance between probability and truth, in [0, 1]; 0 is best.
    brier_low, brier_high : float
        Its interval, from the spread between groups; nan under two groups.
    baseline_brier : float
        That of the best single number for all items, share × (1 − share).
    bins : tuple of CalibrationBin
        Of equal numbers of items, by rising probability.
    n_items, n_groups : int
        What it rests on.
    confidence_level : float
        Of the intervals.
    """

    brier: float
    brier_low: float
    brier_high: float
    baseline_brier: float
    bins: tuple[CalibrationBin, ...]
    n_items: int
    n_groups: int
    confidence_level: float


def measure_calibration(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_bins: int = 10,
    confidence_level: float = 0.95,
) -> CalibrationResult:
    r"""Measure Brier score, with its interval, and shares of true items beside probabilities.

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
    CalibrationResult
        The score and the bins.

    Raises
    ------
    InputError
        If lengths differ or a number is out of its range.

    Warns
    -----
    DegenerateDataWarning
        If there are no items (everything is nan) or one group (intervals are nan).

    Notes
    -----
    The mean distance of probabilities and shares over the bins is never 0 on data, even of perfect
    probabilities; `decompose_brier` gives an error that chance does not raise, with an interval.
    The interval of the Brier score is Student's over groups; with 100 items of a judge that is sure
    and right, whose squared distances are very skewed, it covers .93 in the place of .95. Intervals
    of shares in bins are
    those of Clopper and Pearson, of as many independent items as would have the variance between
    groups [1]_.

    References
    ----------
    .. [1] E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions with Small Expected
       Number of Positive Counts Estimated from Survey Data", Survey Methodology 24(2), pages
       193-201, 1998.

    Examples
    --------
    >>> result = measure_calibration([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2)
    >>> round(result.brier, 3), [each.share for each in result.bins]
    (0.21, [0.0, 0.5])
    """
    p = _check_shares("probabilities", probabilities)
    y = _check_shares("truths", truths, len(p))
    units = check_groups(groups, len(p))
    n_bins = check_count("n_bins", n_bins, minimum=1)
    level = check_fraction("confidence_level", confidence_level)
    n_items, n_groups = len(p), int(units.max(initial=-1)) + 1
    codes = _bin_codes(p, n_bins)
    squares = (p - y) ** 2
    with np.errstate(invalid="ignore"):
        brier, share = squares.sum() / n_items, y.sum() / n_items
    brier_low = brier_high = math.nan
    if n_groups < 2:
        warnings.warn(
            f"calibration of {n_items} items in {n_groups} groups has no interval (nan)",
            DegenerateDataWarning,
            stacklevel=2,
        )
    else:
        brier_low, brier_high = _mean_interval(squares, units, level)
    return CalibrationResult(
        brier=float(brier),
        brier_low=max(brier_low, 0.0),
        brier_high=min(brier_high, 1.0),
        baseline_brier=float(share * (1 - share)),
        bins=tuple(
            _measure_bin(p[codes == code], y[codes == code], units[codes == code], level)
            for code in range(int(codes.max(initial=-1)) + 1)
        ),
        n_items=n_items,
        n_groups=n_groups,
        confidence_level=level,
    )


def _bin_codes(p: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    if not len(p):
        return np.zeros(0, dtype=np.intp)
    edges = np.quantile(p, np.arange(1, n_bins) / n_bins, method="lower")
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def _measure_bin(
    p: NDArray[np.float64], y: NDArray[np.float64], units: NDArray[np.intp], level: float
) -> CalibrationBin:
    share, groups = float(y.mean()), np.unique(units, return_inverse=True)[1]
    n_groups, low, high = int(groups.max()) + 1, math.nan, math.nan
    if n_groups > 1:
        sums = np.bincount(groups, weights=y - share)
        variance = n_groups / (n_groups - 1) * float(sums @ sums) / len(y) ** 2
        spread = share * (1 - share) * len(y) / (len(y) - 1)
        n = min(spread / variance, len(y)) if variance > 0 and spread > 0 else n_groups
        low, high = clopper_pearson(n * share, n, level)
    return CalibrationBin(
        n_items=len(y), probability=float(p.mean()), share=share, low=low, high=high
    )


def _mean_interval(
    values: NDArray[np.float64], units: NDArray[np.intp], level: float
) -> tuple[float, float]:
    mean = float(values.mean())
    sums = np.bincount(units, weights=values - mean)
    degrees = len(sums) - 1
    error = math.sqrt(len(sums) / degrees * float(sums @ sums)) / len(values)
    reach = float(stdtrit(degrees, (1 + level) / 2)) * error
    return mean - reach, mean + reach
