"""What turns a probability into a calibrated one: three kinds, none of which turns ranks around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.stats.calibration.checks import check_probabilities

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
    "log_odds",
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
        return np.asarray(expit(self.slope * log_odds(probabilities) + self.intercept))

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
        return np.asarray(expit(log_odds(probabilities) / self.temperature))

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


def log_odds(probabilities: ArrayLike) -> NDArray[np.float64]:
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
