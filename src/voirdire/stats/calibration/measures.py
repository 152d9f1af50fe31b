"""How well calibrated probabilities are: Brier score and expected calibration error."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from voirdire._validation import check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CalibrationBin",
    "CalibrationResult",
    "check_groups",
    "check_probabilities",
    "check_truths",
    "check_weights",
    "measure_calibration",
]


def check_probabilities(values: ArrayLike) -> NDArray[np.float64]:
    """Return probabilities as floats; one-dimensional, in [0, 1], none missing."""
    found = _numbers("probabilities", values)
    outside = ~((found >= 0) & (found <= 1))
    if outside.any():
        got = float(found[outside][0])
        msg = f"`probabilities` must be in [0, 1], got {got!r}. Leave failed calls out."
        raise InputError(msg)
    return found


def check_truths(values: ArrayLike, *, n_items: int) -> NDArray[np.float64]:
    """Return truths as floats in [0, 1], as many as there are items; shares are soft labels."""
    found = _numbers("truths", values)
    _check_length("truths", found, n_items)
    outside = ~((found >= 0) & (found <= 1))
    if outside.any():
        got = float(found[outside][0])
        msg = f"`truths` must be true, false or a share in [0, 1], got {got!r}. Leave others out."
        raise InputError(msg)
    return found


def check_weights(values: ArrayLike | None, *, n_items: int) -> NDArray[np.float64]:
    """Return weights as floats, 1 where none are given; finite, not negative, not all 0."""
    if values is None:
        return np.ones(n_items)
    found = _numbers("weights", values)
    _check_length("weights", found, n_items)
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        msg = "`weights` must be finite, not negative and not all 0. Leave them out for equal ones."
        raise InputError(msg)
    return found


def check_groups(values: ArrayLike | None, *, n_items: int) -> NDArray[np.intp]:
    """Return groups as numbers from 0; every item is its own where none are given."""
    if values is None:
        return np.arange(n_items)
    found = np.asarray(values)
    _check_length("groups", found, n_items)
    return np.unique(found, return_inverse=True)[1]


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be numbers. Pass an array of floats or truth values."
        raise InputError(msg) from error
    if found.ndim != 1:
        msg = f"`{name}` must have one dimension, got the shape {found.shape}. Pass one question."
        raise InputError(msg)
    return found


def _check_length(name: str, values: np.ndarray, n_items: int) -> None:
    if values.shape != (n_items,):
        msg = f"`{name}` must have the shape ({n_items},), got {values.shape}. Align them by item."
        raise InputError(msg)


# How well calibrated --------------------------------------------------------------------------

_CHUNK = 1 << 22


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
    """

    n_items: int
    probability: float
    share: float


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
    calibration_error : float
        Expected calibration error: the mean distance between probability and share over the
        bins, weighted by items; in [0, 1].
    calibration_error_low, calibration_error_high : float
        Its interval, from resampled groups, corrected for the error's own upward bias.
    bins : tuple of CalibrationBin
        Of equal numbers of items, by rising probability.
    n_items, n_groups : int
        What it rests on.
    confidence_level : float
        Of both intervals.
    """

    brier: float
    brier_low: float
    brier_high: float
    baseline_brier: float
    calibration_error: float
    calibration_error_low: float
    calibration_error_high: float
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
    n_resamples: int = 1_000,
    rng: np.random.Generator | int | None = None,
) -> CalibrationResult:
    r"""Measure Brier score and expected calibration error, with intervals.

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
    n_resamples : int, optional
        Bootstrap resamples of groups, for the calibration error.
    rng : numpy.random.Generator or int, optional
        Passed to `numpy.random.default_rng`. Pass an int to reproduce a run.

    Returns
    -------
    CalibrationResult
        Both figures, their intervals and the bins.

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
    With bins :math:`b` the error is :math:`\sum_b |\sum_{i \in b} (p_i - y_i)| / n`. It is never
    0 on data, even of perfect probabilities: the interval is shifted down by how much the
    resampled errors exceed the observed one, and cut at 0. The interval of the Brier score is
    Student's over groups; with 100 items of a judge that is sure and right, whose squared
    distances are very skewed, it covers .93 in the place of .95.

    Examples
    --------
    >>> result = measure_calibration([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2, rng=0)
    >>> round(result.brier, 3), round(result.calibration_error, 3)
    (0.21, 0.25)
    """
    p = check_probabilities(probabilities)
    y = check_truths(truths, n_items=len(p))
    units = check_groups(groups, n_items=len(p))
    n_bins = check_count("n_bins", n_bins, minimum=1)
    level = check_fraction("confidence_level", confidence_level)
    n_resamples = check_count("n_resamples", n_resamples, minimum=1)
    n_groups = int(units.max()) + 1 if len(p) else 0
    if n_groups < 2:
        warnings.warn(
            f"calibration of {len(p)} items in {n_groups} groups has no interval (nan)",
            DegenerateDataWarning,
            stacklevel=2,
        )
    codes = _bin_codes(p, n_bins)
    brier, brier_low, brier_high = _brier(p, y, units, level)
    error, error_low, error_high = _error(
        p - y,
        codes,
        units,
        level=level,
        n_resamples=n_resamples,
        rng=np.random.default_rng(rng),
    )
    share = float(y.mean()) if len(y) else math.nan
    return CalibrationResult(
        brier=brier,
        brier_low=brier_low,
        brier_high=brier_high,
        baseline_brier=share * (1 - share),
        calibration_error=error,
        calibration_error_low=error_low,
        calibration_error_high=error_high,
        bins=_bins(p, y, codes),
        n_items=len(p),
        n_groups=n_groups,
        confidence_level=level,
    )


def _bin_codes(p: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    if not len(p):
        return np.zeros(0, dtype=np.intp)
    edges = np.quantile(p, np.arange(1, n_bins) / n_bins, method="lower")
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def _bins(
    p: NDArray[np.float64], y: NDArray[np.float64], codes: NDArray[np.intp]
) -> tuple[CalibrationBin, ...]:
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=p) / counts
    shares = np.bincount(codes, weights=y) / counts
    return tuple(
        CalibrationBin(n_items=int(count), probability=float(mean), share=float(share))
        for count, mean, share in zip(counts, means, shares, strict=True)
    )


def _brier(
    p: NDArray[np.float64], y: NDArray[np.float64], units: NDArray[np.intp], level: float
) -> tuple[float, float, float]:
    if not len(p):
        return math.nan, math.nan, math.nan
    squares = (p - y) ** 2
    mean = float(squares.mean())
    sums = np.bincount(units, weights=squares - mean)
    n_groups = len(sums)
    if n_groups < 2:
        return mean, math.nan, math.nan
    error = math.sqrt(n_groups / (n_groups - 1) * float(sums @ sums)) / len(p)
    reach = float(stdtrit(n_groups - 1, (1 + level) / 2)) * error
    return mean, max(mean - reach, 0.0), min(mean + reach, 1.0)


def _error(
    gaps: NDArray[np.float64],
    codes: NDArray[np.intp],
    units: NDArray[np.intp],
    *,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    if not len(gaps):
        return math.nan, math.nan, math.nan
    n_groups, n_bins = int(units.max()) + 1, int(codes.max()) + 1
    cells = np.bincount(units * n_bins + codes, weights=gaps, minlength=n_groups * n_bins)
    sums = cells.reshape(n_groups, n_bins)
    sizes = np.bincount(units, minlength=n_groups).astype(np.float64)
    observed = float(np.abs(sums.sum(axis=0)).sum() / len(gaps))
    if n_groups < 2:
        return observed, math.nan, math.nan
    drawn = np.empty(n_resamples)
    rows = max(1, _CHUNK // n_groups)
    for start in range(0, n_resamples, rows):
        n_rows = min(rows, n_resamples - start)
        times = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=n_rows)
        totals = np.abs(times @ sums).sum(axis=1)
        drawn[start : start + n_rows] = totals / (times @ sizes)
    shifted = drawn - (drawn.mean() - observed)
    low, high = np.quantile(shifted, [(1 - level) / 2, (1 + level) / 2])
    return observed, max(float(low), 0.0), min(float(high), 1.0)
