"""Fit a calibrator to probabilities of items whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.stats.calibration.calibrators import (
    CalibrationMethod,
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    log_odds,
)
from voirdire.stats.calibration.checks import check_probabilities, check_truths, check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["fit_calibrator"]

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
        return _platt(log_odds(p), targets, w)
    return _temperature(log_odds(p), targets, w)


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
