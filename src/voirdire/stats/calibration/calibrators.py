"""What turns a probability into a calibrated one: three kinds, none of which turns ranks around.

They are fitted to items whose truth is known, or out of fold, so that neither an item's own truth
nor its group's gets into its probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit

from voirdire._validation import check_choice, check_count, shorten
from voirdire.errors import InputError
from voirdire.stats.calibration.measures import (
    check_groups,
    check_probabilities,
    check_truths,
    check_weights,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CalibrationMethod",
    "Calibrator",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "calibrator_from_dict",
    "cross_calibrate",
    "fit_calibrator",
    "group_folds",
]

CalibrationMethod: TypeAlias = Literal["platt", "temperature", "isotonic"]
"""Two parameters, one parameter, or any rising step function."""

_CLIP = 1e-6
"""Log-odds end at ±13.8: a judge that writes 0 or 1 is sure, not infinitely sure."""


@dataclass(frozen=True, kw_only=True)
class PlattCalibrator:
    """A line through the log-odds.

    Attributes
    ----------
    slope : float
        At least 0, so that the order of items stays.
    intercept : float
        Added to the log-odds.
    """

    slope: float
    intercept: float

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.asarray(expit(self.slope * _log_odds(probabilities) + self.intercept))

    def to_dict(self) -> dict[str, Any]:
        """Give what `calibrator_from_dict` reads back."""
        return {"method": "platt", "slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True, kw_only=True)
class TemperatureCalibrator:
    """Log-odds divided by a temperature: 1/2 stays 1/2.

    Attributes
    ----------
    temperature : float
        Above 0; above 1 where the judge was too sure. Infinite where its order is of no use.
    """

    temperature: float

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.asarray(expit(_log_odds(probabilities) / self.temperature))

    def to_dict(self) -> dict[str, Any]:
        """Give what `calibrator_from_dict` reads back."""
        temperature = self.temperature if np.isfinite(self.temperature) else None
        return {"method": "temperature", "temperature": temperature}


@dataclass(frozen=True, kw_only=True)
class IsotonicCalibrator:
    """A rising line through points; flat outside of them.

    Attributes
    ----------
    points : tuple of float
        Probabilities of the judge, rising.
    values : tuple of float
        Calibrated ones at these points, not falling.
    """

    points: tuple[float, ...]
    values: tuple[float, ...]

    def apply(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Calibrate probabilities, shape (n_items,)."""
        return np.interp(check_probabilities(probabilities), self.points, self.values)

    def to_dict(self) -> dict[str, Any]:
        """Give what `calibrator_from_dict` reads back."""
        return {"method": "isotonic", "points": list(self.points), "values": list(self.values)}


Calibrator: TypeAlias = PlattCalibrator | TemperatureCalibrator | IsotonicCalibrator


def _log_odds(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Log-odds of probabilities, at most 13.8 in size."""
    clipped = np.clip(check_probabilities(probabilities), _CLIP, 1 - _CLIP)
    return np.asarray(logit(clipped))


def calibrator_from_dict(content: Mapping[str, Any]) -> Calibrator:
    """Read a calibrator from what its `to_dict` gave.

    Parameters
    ----------
    content : mapping of str to object
        As from JSON; it may come from anybody, so everything in it is checked.

    Returns
    -------
    PlattCalibrator, TemperatureCalibrator or IsotonicCalibrator
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
        return _from_dict(dict(content))
    except (KeyError, TypeError, ValueError) as error:
        msg = (
            "`content` must be what a calibrator's `to_dict` gives, got "
            f"{shorten(repr(content))}. Fit the calibrator again."
        )
        raise InputError(msg) from error


def _from_dict(content: dict[str, Any]) -> Calibrator:
    method = content.pop("method")
    result: Calibrator
    if method == "platt":
        slope, intercept = _floats([content.pop("slope"), content.pop("intercept")])
        result, fine = PlattCalibrator(slope=slope, intercept=intercept), slope >= 0
    elif method == "temperature":
        value = content.pop("temperature")
        temperature = np.inf if value is None else _floats([value])[0]
        result, fine = TemperatureCalibrator(temperature=temperature), temperature > 0
    elif method == "isotonic":
        points, values = _floats(content.pop("points")), _floats(content.pop("values"))
        result = IsotonicCalibrator(points=points, values=values)
        fine = _rises(points, values)
    else:
        raise ValueError(method)
    if content or not fine:
        raise ValueError(method)
    return result


def _floats(values: Any) -> tuple[float, ...]:
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError
    return tuple(found.tolist())


def _rises(points: tuple[float, ...], values: tuple[float, ...]) -> bool:
    in_range = all(0 <= number <= 1 for number in (*points, *values))
    same = len(points) == len(values) >= 1
    return bool(same and in_range and (np.diff(points) > 0).all() and (np.diff(values) >= 0).all())


# Fitting --------------------------------------------------------------------------------------

_MAX_STEPS = 100
_TOLERANCE = 1e-12
_MIN_SLOPE = 1e-9
"""Under this slope the order of the items is of no use, and one number says it all."""


def fit_calibrator(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    method: CalibrationMethod = "platt",
    weights: ArrayLike | None = None,
) -> Calibrator:
    r"""Fit what turns these probabilities into calibrated ones.

    `platt` fits a slope and an intercept to the log-odds by maximum likelihood, `temperature` the
    slope alone, `isotonic` the rising function with the least squared error. All three keep the
    order of the items. Fit on items that the judge was not trained on, see `cross_calibrate`.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        The judge's, in [0, 1]; not nan.
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so; a share in [0, 1] is a soft label.
    method : {"platt", "temperature", "isotonic"}, optional
        `isotonic` wants some hundreds of items; `temperature` does with few.
    weights : array_like of float, shape (n_items,), optional
        How much each item counts; not negative. Equal by default.

    Returns
    -------
    PlattCalibrator, TemperatureCalibrator or IsotonicCalibrator
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
    p = check_probabilities(probabilities)
    y = check_truths(truths, n_items=len(p))
    w = check_weights(weights, n_items=len(p))
    n_true, n_false = float(w @ y), float(w @ (1 - y))
    if n_true <= 0 or n_false <= 0:
        msg = "`truths` must hold true and false ones, got only one of them. Label more items."
        raise InputError(msg)
    if method == "isotonic":
        return _isotonic(p, y, w)
    low, high = 1 / (n_false + 2), (n_true + 1) / (n_true + 2)
    targets = low + (high - low) * y
    if method == "platt":
        return _platt(_log_odds(p), targets, w)
    return _temperature(_log_odds(p), targets, w)


def _platt(
    x: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> PlattCalibrator:
    design = np.column_stack([x, np.ones_like(x)])
    slope, intercept = _logistic_fit(design, targets, weights)
    if slope < _MIN_SLOPE:
        level = float(logit(weights @ targets / weights.sum()))
        return PlattCalibrator(slope=0.0, intercept=level)
    return PlattCalibrator(slope=slope, intercept=intercept)


def _temperature(
    x: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> TemperatureCalibrator:
    (slope,) = _logistic_fit(x[:, None], targets, weights)
    return TemperatureCalibrator(temperature=1 / slope if slope >= _MIN_SLOPE else np.inf)


def _logistic_fit(
    design: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[float]:
    """Maximise a logistic likelihood by Newton's method, halving steps that do not help."""
    weights = weights / weights.sum()
    coefficients = np.zeros(design.shape[1])
    loss = _loss(design @ coefficients, targets, weights)
    for _ in range(_MAX_STEPS):
        fitted = expit(design @ coefficients)
        gradient = design.T @ (weights * (fitted - targets))
        curvature = (design * (weights * fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = 1.0
        while size > _TOLERANCE:
            tried = coefficients - size * step
            tried_loss = _loss(design @ tried, targets, weights)
            if tried_loss <= loss:
                break
            size /= 2
        gain = loss - tried_loss
        if size <= _TOLERANCE:
            break
        coefficients, loss = tried, tried_loss
        if gain <= _TOLERANCE * max(1.0, loss) and float(gradient @ step) <= _TOLERANCE:
            break
    return [float(number) for number in coefficients]


def _loss(
    scores: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    return float(weights @ (np.logaddexp(0.0, scores) - targets * scores))


def _isotonic(
    p: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> IsotonicCalibrator:
    from scipy.optimize import isotonic_regression

    points, places = np.unique(p, return_inverse=True)
    total = np.bincount(places, weights=weights)
    kept = total > 0
    means = np.bincount(places, weights=weights * y)[kept] / total[kept]
    levels = isotonic_regression(means, weights=total[kept]).x
    points = points[kept]
    # of a level only its two ends are needed
    inner = np.zeros(len(points), dtype=bool)
    inner[1:-1] = (levels[1:-1] == levels[:-2]) & (levels[1:-1] == levels[2:])
    clipped = np.clip(levels[~inner], 0.0, 1.0)
    return IsotonicCalibrator(points=tuple(points[~inner].tolist()), values=tuple(clipped.tolist()))


# Out of fold ----------------------------------------------------------------------------------


def group_folds(groups: ArrayLike, *, n_folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """Deal groups out over folds of about equal size; a group is never split.

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
    units = check_groups(groups, n_items=len(np.asarray(groups)))
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
        fold = int(filled.argmin())
        fold_of_group[group] = fold
        filled[fold] += sizes[group]
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
    method : {"platt", "temperature", "isotonic"}, optional
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
    p = check_probabilities(probabilities)
    y = check_truths(truths, n_items=len(p))
    folds = group_folds(check_groups(groups, n_items=len(p)), n_folds=n_folds, seed=seed)
    result = np.empty_like(p)
    for fold in range(n_folds):
        inside = folds == fold
        calibrator = fit_calibrator(p[~inside], y[~inside], method=method)
        result[inside] = calibrator.apply(p[inside])
    return result
