r"""Estimates intervals of means, of shares, and of coefficients that divide by chance.

There are three of them. Each takes items, or clusters of items, as the random sample.

*A mean.* Its error divided by its standard error is nearly t-distributed where values are many or
symmetric. Where most are near and a few far, Hall's transformation takes the skewness out [1]_.
Coverage at .95 for squared distances of a judge from 5 labels an item (3,000 samples): .93 at 50
items, .96 at 100 and .95 at 400, where the plain t interval covers .90, .93 and .94.

*A share of independent items.* The interval of Clopper and Pearson [2]_.

*A share of clustered items, or a coefficient.* A coefficient :math:`\kappa = 1 - D_o / D_e` is a
smooth function of sums over items, so that its error is close to the sum of the items' influences
on it (the delta method), summed within clusters where there are any. The influence of a unit with
the excess share h of :math:`D_e` is divided by :math:`\sqrt{1 - h}`, which matters where a few
items have all of a rare label: 1 - h would give the change of κ when the unit is left out, as in
the jackknife, whose variance is too large; the root nearly takes the bias out, as in regression
[3]_. The interval is symmetric for

.. math:: z = \log\frac{\kappa - a}{1 - \kappa},

with a the least value that κ can have: Fisher's z for κ (a = -1), the logit for raw agreement
(a = 0). Its half width is the standard error of z times a quantile of the t distribution, whose
degrees of freedom are Satterthwaite's, at most one less than there are units: a standard error that
rests on a few items, as with rare labels, is itself uncertain.

The intervals of κ and α count two pseudo-items, see `voirdire.stats.agreement.coefficients`.

Coverage at .95 in 1,500 samples of three annotators who know an item's truth 7 times in 10, guess
otherwise, and miss one label in ten; two labels, by the share of the rarer one (standard error
.006). Where κ is undefined, as in 7% of samples of 30 items at .05, nothing is counted:

====================== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
items                  30             50             100            200
---------------------- -------------- -------------- -------------- --------------
rarer label            .5   .1   .05  .5   .1   .05  .5   .1   .05  .5   .1   .05
====================== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
raw agreement          .967 .978 .969 .967 .971 .965 .952 .959 .966 .955 .952 .962
Cohen's κ, mean        .959 .964 .995 .955 .946 .983 .952 .938 .943 .955 .950 .936
Cohen's κ, a pair      .963 .977 .997 .961 .962 .983 .955 .957 .950 .946 .953 .957
Fleiss' κ              .960 .970 .995 .963 .955 .978 .947 .951 .960 .955 .951 .961
Krippendorff's α       .959 .952 .992 .957 .942 .970 .948 .953 .948 .956 .952 .947
Gwet's AC1             .971 .981 .972 .965 .971 .966 .954 .957 .963 .954 .949 .961
====================== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====

References
----------
.. [1] P. Hall, "On the Removal of Skewness by Transformation", Journal of the Royal Statistical
   Society B 54(1), pages 221-228, 1992. :doi:`10.1111/j.2517-6161.1992.tb01876.x`
.. [2] C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the
   Case of the Binomial", Biometrika 26(4), pages 404-413, 1934. :doi:`10.1093/biomet/26.4.404`
.. [3] J. G. MacKinnon and H. White, "Some Heteroskedasticity-Consistent Covariance Matrix
   Estimators with Improved Finite Sample Properties", Journal of Econometrics 29(3), pages 305-325,
   1985. :doi:`10.1016/0304-4076(85)90158-7`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, expit, stdtrit

from voirdire.errors import InputError
from voirdire.stats.label_arrays import count_items

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NO_SPREAD = 1e-12
"""Standard errors below it are rounding errors: all units have the same influence."""

_LEAST_LEFT = 0.25
"""Largest share of the chance disagreement that one unit may have."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval; nan where it is undefined.

    Attributes
    ----------
    estimate : float
        The figure.
    low, high : float
        Ends of its interval; nan with fewer than two items or clusters.
    """

    estimate: float
    low: float = np.nan
    high: float = np.nan


UNDEFINED = Estimate(estimate=np.nan)

# Units ----------------------------------------------------------------------------------------


def check_units(clusters: ArrayLike | None, n_items: int) -> NDArray[np.intp] | None:
    """Return the clusters as numbers from 0; None where every item is its own unit."""
    if clusters is None:
        return None
    units = np.asarray(clusters)
    if units.shape != (n_items,):
        msg = f"`clusters` must have the shape ({n_items},), got {units.shape}."
        raise InputError(msg)
    return np.unique(units, return_inverse=True)[1]


def take_units(units: NDArray[np.intp] | None, kept: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Return the units of some items, renumbered from 0."""
    return None if units is None else np.unique(units[kept], return_inverse=True)[1]


def count_units(
    units: NDArray[np.intp] | None,
    counted: NDArray[np.bool_],
    copies: NDArray[np.int64] | None = None,
) -> int:
    """Count the units with an item that is counted."""
    if units is None:
        return int(count_items(counted, copies))
    return int(np.count_nonzero(np.bincount(units, counted)))


def sum_units(values: NDArray[np.float64], units: NDArray[np.intp] | None) -> NDArray[Any]:
    """Sum the values of the items of each unit."""
    return values if units is None else np.bincount(units, weights=values)


def sum_copies(
    values: NDArray[np.float64],
    units: NDArray[np.intp] | None,
    copies: NDArray[np.int64] | None,
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Sum the values of units of rows that stand for several items; how often each unit is there.

    Items that are units themselves are not added up: they are there so many times; None is once.
    """
    if units is None:
        return values, copies
    return sum_units(values if copies is None else values * copies, units), None


# Means and shares -----------------------------------------------------------------------------


def estimate_mean(
    values: NDArray[np.float64], units: NDArray[np.intp] | None, *, confidence_level: float
) -> Estimate:
    """Take the mean of values of items, in clusters numbered from 0 where there are any."""
    if not len(values):
        return UNDEFINED
    mean = float(values.mean())
    sums = sum_units(values - mean, units)
    n_units = len(sums)
    if n_units < 2:
        return Estimate(estimate=mean)
    square = float((sums**2).mean())
    deviation = float(np.sqrt(square * n_units / (n_units - 1))) * n_units / len(values)
    skewness = float((sums**3).mean()) / max(square, 1e-200) ** 1.5
    limit = float(stdtrit(n_units - 1, (1 + confidence_level) / 2)) / np.sqrt(n_units)
    low, high = (mean - deviation * _unskew(x, skewness, n_units) for x in (limit, -limit))
    return Estimate(estimate=mean, low=float(low), high=float(high))


def _unskew(place: float, skewness: float, n_units: int) -> float:
    """Invert Hall's transformation of the mean's error, in standard deviations of a unit."""
    shifted = place - skewness / (6 * n_units)
    if abs(skewness) < 1e-6:
        return shifted
    return float(np.cbrt(1 + skewness * shifted) - 1) * 3 / skewness


def estimate_share(
    values: NDArray[Any], units: NDArray[np.intp] | None, *, confidence_level: float
) -> Estimate:
    """Take the mean of values in [0, 1], on the logit scale."""
    if not len(values):
        return UNDEFINED
    share = float(values.mean())
    low, high = make_interval(
        share,
        (values - share) / len(values),
        n_units=count_units(units, np.ones(len(values), dtype=np.bool_)),
        units=units,
        confidence_level=confidence_level,
        least=0.0,
    )
    return Estimate(estimate=share, low=low, high=high)


def clopper_pearson(n_hits: float, n: float, confidence_level: float) -> tuple[float, float]:
    """Bound a share by the binomial distribution; with weights counts need not be whole."""
    tail = (1 - confidence_level) / 2
    low = float(betaincinv(n_hits, n - n_hits + 1, tail)) if n_hits > 0 else 0.0
    high = float(betaincinv(n_hits + 1, n - n_hits, 1 - tail)) if n_hits < n else 1.0
    return low, high


# Coefficients ---------------------------------------------------------------------------------


def make_interval(
    estimate: float,
    influence: NDArray[np.float64],
    *,
    n_units: int,
    units: NDArray[np.intp] | None,
    confidence_level: float,
    least: float,
    reach: NDArray[np.float64] | None = None,
    copies: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Make the interval of a coefficient of at most 1 and at least `least`.

    `influence` is the change of the estimate with each item's weight, and `reach` the relative
    change of the disagreement expected by chance, where the coefficient divides by one that is
    estimated. Where all units have the same influence, as under perfect agreement, a coefficient
    that divides by chance is closed on its estimate; a share of 0 or 1 is bounded as Clopper and
    Pearson bound it.
    """
    if n_units < 2 or np.isnan(estimate):
        return np.nan, np.nan
    sums, times = sum_copies(influence, units, copies)
    if reach is not None:
        left = 1 - sum_copies(reach, units, copies)[0]
        np.sqrt(np.maximum(left, _LEAST_LEFT, out=left), out=left)
        sums = np.divide(sums, left, out=left)
    weighed = sums if times is None else times * sums
    spread = max(float(weighed @ sums - weighed.sum() ** 2 / n_units), 0.0)
    error = float(np.sqrt(n_units / (n_units - 1) * spread))
    if error <= _NO_SPREAD:
        is_certain = reach is None and least >= 0 and min(estimate, 1 - estimate) <= _NO_SPREAD
        if is_certain:
            return clopper_pearson(n_units * round(estimate), n_units, confidence_level)
        return float(estimate), float(estimate)
    degrees = _degrees_of_freedom(sums, times, spread, n_units)
    half = float(stdtrit(degrees, (1 + confidence_level) / 2)) * error
    return place_on_scale(estimate, half, least)


def _degrees_of_freedom(
    sums: NDArray[np.float64], times: NDArray[np.int64] | None, spread: float, n_units: int
) -> float:
    """Count the degrees of freedom by Satterthwaite, at most one less than there are units.

    A variance that rests on a few large influences is itself uncertain. The part of its error that
    correlates with the estimate (the skewness) is handled by the scale.
    """
    squares = sums * sums
    weighed = squares if times is None else times * squares
    skewness = n_units * float(weighed @ sums) ** 2 / spread**3
    kurtosis = n_units * float(weighed @ squares) / spread**2
    excess = max(kurtosis - 1 - skewness, _NO_SPREAD)
    return min(n_units - 1, 2 * n_units / excess)


def place_on_scale(estimate: float, half: float, least: float) -> tuple[float, float]:
    """Add and subtract half a width, on a scale without limits."""
    above, below = estimate - least, 1 - estimate
    if above <= 0:
        # Weighted coefficients of raters who oppose each other may fall below the usual least.
        return 1 - below * float(np.exp(half / below)), 1 - below * float(np.exp(-half / below))
    width = 1 - least
    place, half = np.log(above / below), half * width / (above * below)
    return least + width * float(expit(place - half)), least + width * float(expit(place + half))
