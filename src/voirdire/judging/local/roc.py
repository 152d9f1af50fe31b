"""The area under the ROC curve with its standard error, and differences of two areas.

Standard errors are those of DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or
more correlated receiver operating characteristic curves", Biometrics 44(3), 1988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["RocArea", "area_difference", "roc_area"]

_Z = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class RocArea:
    """How well scores rank positives above negatives.

    Attributes
    ----------
    area : float
        In [0, 1]; nan without a positive or without a negative.
    low, high : float
        95% interval, made on the scale of log-odds; nan with fewer than two of either.
    """

    area: float
    low: float
    high: float


def roc_area(scores: Array, truths: NDArray[np.bool_]) -> RocArea:
    """Measure how well scores rank.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_items,)
        The higher, the likelier true.
    truths : ndarray of bool, shape (n_items,)
        What is the case.

    Returns
    -------
    RocArea
        Ties count half.
    """
    n_true = int(truths.sum())
    if n_true == 0 or n_true == len(truths):
        return RocArea(area=np.nan, low=np.nan, high=np.nan)
    places_true, places_false = _placements(scores, truths)
    area = float(places_true.mean())
    if min(n_true, len(truths) - n_true) < 2:
        return RocArea(area=area, low=np.nan, high=np.nan)
    error = np.sqrt(_variance(places_true, places_false))
    # Half a success more on either side keeps the log-odds finite at 0 and 1.
    inner = (area * n_true + 0.5) / (n_true + 1)
    error = max(error, 0.5 / (n_true + 1))
    spread = _Z * error / (inner * (1 - inner))
    centre = np.log(inner / (1 - inner))
    low, high = 1 / (1 + np.exp(-(centre + np.array([-spread, spread]))))
    return RocArea(area=area, low=float(min(low, area)), high=float(max(high, area)))


def area_difference(first: Array, second: Array, truths: NDArray[np.bool_]) -> tuple[float, float]:
    """Compare two scores of the same items: area of `first` minus that of `second`.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n_items,)
        Two scores.
    truths : ndarray of bool, shape (n_items,)
        What is the case; at least two of either.

    Returns
    -------
    difference, standard_error : float
        Of the areas, paired by item.
    """
    a, b = _placements(first, truths), _placements(second, truths)
    true, false = a[0] - b[0], a[1] - b[1]
    return float(true.mean()), float(np.sqrt(_variance(true, false)))


def _placements(scores: Array, truths: NDArray[np.bool_]) -> tuple[Array, Array]:
    """For each positive the share of negatives below it; for each negative, positives above."""
    true, false = scores[truths], scores[~truths]
    return _share_below(true, false), 1 - _share_below(false, true)


def _share_below(values: Array, others: Array) -> Array:
    others = np.sort(others)
    below = np.searchsorted(others, values, side="left")
    not_above = np.searchsorted(others, values, side="right")
    return (below + not_above) / (2 * len(others))


def _variance(true: Array, false: Array) -> float:
    return float(true.var(ddof=1) / len(true) + false.var(ddof=1) / len(false))
