r"""Computes the exact unconditional test of the judge against one left-out annotator.

Each item has one of three outcomes, so :math:`(n_-, n_0, n_+)` is multinomial. On the boundary of
the null hypothesis one nuisance parameter is left, the tie share :math:`p_0`:

.. math:: p_+ = a_+ - b_+ p_0, \qquad p_- = a_- - b_- p_0, \qquad 0 \le p_0 \le 1 - \varepsilon,

with :math:`a_\pm = (1 \pm \varepsilon)/2,\ b_\pm = 1/2` for an additive ε and
:math:`a_+ = b_- = 1/(2-\varepsilon),\ a_- = b_+ = (1-\varepsilon)/(2-\varepsilon)` for a
multiplicative one. Tables are ordered by the score statistic, the mean of d less its target over
its standard error with the variance restricted to the boundary, and the p-value is the largest
probability, over all tie shares, of a table at least as extreme. Its size is at most the level for
every tie share, where the t-test's is not.

Given :math:`n_0` the statistic grows with :math:`n_+`, so the rejection region is one cut per
:math:`n_0`, and its probability is a sum of n + 1 binomial tails instead of n²/2 tables.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebval
from scipy.special import bdtr, gammaln, ndtr, ndtri, xlog1py, xlogy

from voirdire._types import EpsilonMode
from voirdire._validation import check_choice, check_count, check_fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAME = 1e-9
"""Statistics closer than this are equal in the order of tables."""
_NEGLIGIBLE_SD, _NEGLIGIBLE_COUNTS = 6.5, 20
"""Standard deviations, and counts, from the mean beyond which tie counts are left out.

Their probability is below 1e-10.
"""
_MOST_HILLS = 8
_LARGE = 3_000
_HUGE = 10_000
"""With more items the normal approximation of the statistic is used."""
_FAR = (-6.0, 0.0)
"""Statistics outside of this range are far from all usual levels.

There the normal p-value is used above `_LARGE` items.
"""


def exact_p_value(
    *,
    n_judge_wins: int,
    n_ties: int,
    n_human_wins: int,
    epsilon: float,
    epsilon_mode: EpsilonMode = "additive",
) -> float:
    """Test exactly whether the judge is at least as close to the rest as the annotator.

    The null hypothesis is that the judge's advantage does not exceed the annotator's less ε
    (times 1 - ε when multiplicative). A small p-value speaks for the judge.

    Parameters
    ----------
    n_judge_wins, n_ties, n_human_wins : int
        Items where the judge is closer to the other annotators, where both are equally close,
        and where the left-out annotator is closer.
    epsilon : float
        Cost-benefit margin, a fraction in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}, optional
        How ε enters.

    Returns
    -------
    float
        The p-value in [0, 1]; nan without items. Takes some 2 ms at 200 items, and is remembered;
        above 3,000 items the normal p-value stands for those below 1e-9 or above .5.

    Raises
    ------
    InputError
        If a count is negative, or ε or its mode is out of range.

    Notes
    -----
    Unconditional and maximised over the nuisance parameter as Barnard's test is [1]_; ordered by
    the restricted score statistic as in non-inferiority tests of paired proportions [2]_. Beyond
    10,000 items the normal limit of that statistic serves: at 10,000 the exact value is larger by
    at most 2% of it where p is about .05, by 6% where it is .0002.

    References
    ----------
    .. [1] G. A. Barnard, "Significance tests for 2 x 2 tables", Biometrika 34, 1947.
    .. [2] T. Tango, "Equivalence test and confidence interval for the difference in proportions
       for the paired-sample design", Statistics in Medicine 17, 1998.

    Examples
    --------
    Thirty items. With 24 ties and three wins on either side the judge is close enough; with 27
    ties and three wins of the annotator the t-test says p = .04, and the exact test says no:

    >>> round(exact_p_value(n_judge_wins=3, n_ties=24, n_human_wins=3, epsilon=0.2), 3)
    0.021
    >>> round(exact_p_value(n_judge_wins=0, n_ties=27, n_human_wins=3, epsilon=0.2), 3)
    0.123
    """
    counts = tuple(
        check_count(name, count, minimum=0)
        for name, count in (
            ("n_judge_wins", n_judge_wins),
            ("n_ties", n_ties),
            ("n_human_wins", n_human_wins),
        )
    )
    epsilon = check_fraction("epsilon", epsilon, open_below=False)
    mode = check_choice("epsilon_mode", epsilon_mode, EpsilonMode)
    return cached_p_value(*counts, epsilon, mode)


@lru_cache(maxsize=1 << 16)
def cached_p_value(
    n_minus: int, n_ties: int, n_plus: int, epsilon: float, mode: EpsilonMode
) -> float:
    """Compute `exact_p_value` without its checks."""
    if n_minus + n_ties + n_plus == 0:
        return float("nan")
    boundary = Boundary(epsilon, mode)
    n_items = n_minus + n_ties + n_plus
    observed = float(boundary.statistic(np.array(n_minus), np.array(n_ties), np.array(n_plus)))
    if n_items > _HUGE or (n_items > _LARGE and not _FAR[0] < observed < _FAR[1]):
        return float(ndtr(observed))
    cuts = _cuts(boundary, n_items, observed)
    return min(1.0, _largest_probability(boundary, n_items, cuts))


class Boundary:
    """The multinomial distributions at the edge of the null hypothesis."""

    def __init__(self, epsilon: float, mode: EpsilonMode) -> None:
        self.largest_tie_share = 1 - epsilon
        if mode == "additive":
            self._plus, self._minus = ((1 + epsilon) / 2, 0.5), ((1 - epsilon) / 2, 0.5)
            self._values, self._target = (-1.0, 0.0, 1.0), epsilon
        else:
            one, rest = 1 / (2 - epsilon), (1 - epsilon) / (2 - epsilon)
            self._plus, self._minus = (one, rest), (rest, one)
            self._values, self._target = (-1.0, -epsilon, 1 - epsilon), 0.0

    def shares(self, ties: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of judge's and of human's wins at a tie share."""
        minus = np.maximum(self._minus[0] - self._minus[1] * ties, 0.0)
        return minus, self._plus[0] - self._plus[1] * ties

    def restricted_tie_share(
        self, n_minus: NDArray[np.int64], n_ties: NDArray[np.int64], n_plus: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the maximum likelihood tie share on the boundary.

        It is the smaller root of a quadratic.
        """
        (a_plus, b_plus), (a_minus, b_minus) = self._plus, self._minus
        n_items = n_minus + n_ties + n_plus
        quadratic = n_items * b_plus * b_minus
        linear = (
            n_ties * (a_plus * b_minus + a_minus * b_plus)
            + n_plus * b_plus * a_minus
            + n_minus * b_minus * a_plus
        )
        constant = n_ties * a_plus * a_minus
        root = np.sqrt(np.maximum(linear**2 - 4 * quadratic * constant, 0.0))
        return np.minimum(2 * constant / (linear + root), self.largest_tie_share)

    def statistic(
        self, n_minus: NDArray[np.int64], n_ties: NDArray[np.int64], n_plus: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the score statistic: mean of d less its target, over its restricted error."""
        n_items = n_minus + n_ties + n_plus
        low, middle, high = self._values
        mean = (low * n_minus + middle * n_ties + high * n_plus) / n_items
        ties = self.restricted_tie_share(n_minus, n_ties, n_plus)
        minus, plus = self.shares(ties)
        second = low**2 * minus + middle**2 * ties + high**2 * plus
        variance = np.maximum(second - self._target**2, 0.0)
        distance = mean - self._target
        with np.errstate(divide="ignore", invalid="ignore"):
            score = distance * np.sqrt(n_items / variance)
        return np.where(np.abs(distance) < SAME, 0.0, score)


def _cuts(boundary: Boundary, n_items: int, observed: float) -> NDArray[np.int64]:
    """Return, by number of ties, the most human wins that are as extreme as `observed`, or -1."""
    n_ties = np.arange(n_items + 1)
    most = n_items - n_ties
    low = np.full(n_items + 1, -1)
    high = most.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        inside = boundary.statistic(most - middle, n_ties, middle) <= observed + SAME
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle - 1)
    return low


def _largest_probability(boundary: Boundary, n_items: int, cuts: NDArray[np.int64]) -> float:
    """Maximise the probability of the region over the tie share.

    It is smooth in the angle whose squared sine is the tie share, with peaks as wide as 1/√n: a
    Chebyshev interpolant finds the peaks, which are then computed.
    """
    widest = np.arcsin(np.sqrt(boundary.largest_tie_share))

    def height(places: NDArray[np.float64]) -> NDArray[np.float64]:
        return _probabilities(boundary, n_items, cuts, np.sin((places + 1) / 2 * widest) ** 2)

    degree = 24 + int(2.0 * np.sqrt(n_items))
    coefficients = chebinterpolate(height, degree)  # type: ignore[type-var]
    places, step = np.linspace(-1.0, 1.0, 16 * degree + 1, retstep=True)
    surface = chebval(places, coefficients)
    padded = np.concatenate([[-1.0], surface, [-1.0]])
    hills = np.flatnonzero((surface >= padded[:-2]) & (surface >= padded[2:]))
    highest = places[hills[np.argsort(surface[hills])[-_MOST_HILLS:]]]
    around = np.clip(highest[:, np.newaxis] + np.linspace(-step, step, 129), -1.0, 1.0)
    tops = chebval(around, coefficients).argmax(axis=1)
    return float(height(around[np.arange(len(tops)), tops]).max())


def _probabilities(
    boundary: Boundary, n_items: int, cuts: NDArray[np.int64], tie_shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability of the region at each tie share.

    Sums P(that many ties) times P(human wins up to the cut) over the tie counts near their mean.
    """
    ties = tie_shares[:, np.newaxis]
    spread = _NEGLIGIBLE_SD * np.sqrt(n_items * ties * (1 - ties)) + _NEGLIGIBLE_COUNTS
    width = min(2 * int(spread.max()) + 1, n_items + 1)
    first = np.clip((n_items * ties).astype(np.int64) - width // 2, 0, n_items + 1 - width)
    n_ties = first + np.arange(width)
    log_binomial = (
        gammaln(n_items + 1)
        - gammaln(n_ties + 1)
        - gammaln(n_items - n_ties + 1)
        + xlogy(n_ties, ties)
        + xlog1py(n_items - n_ties, -ties)
    )
    minus, plus = boundary.shares(ties)
    decided = minus + plus
    human_share = np.divide(plus, decided, out=np.zeros_like(plus), where=decided > 0)
    most = cuts[n_ties]
    below = np.where(most < 0, 0.0, bdtr(np.maximum(most, 0), n_items - n_ties, human_share))
    return (np.exp(log_binomial) * below).sum(axis=1)


_FURTHEST, _NEAREST = -4.5, -0.5
_MOST_PRECISE = 1_000
"""With more items the normal limit serves for resamples."""


def approximate_p_values(
    counts: NDArray[np.int64],
    n_items: NDArray[np.int64] | None,
    epsilons: NDArray[np.float64],
    mode: EpsilonMode,
) -> NDArray[np.float64]:
    """Approximate the exact p-values of many resamples of the same annotators.

    The p-value as a function of the score statistic is computed at some places for the
    annotator's own number of items, `n_items`, and interpolated on the normal scale between them;
    without `n_items` the normal limit serves. Counts have the shape (n_resamples, n_annotators,
    3), p-values that of (n_resamples, n_epsilons, n_annotators); nan without items.
    """
    p_values = np.full((len(counts), len(epsilons), counts.shape[1]), np.nan)
    for row, epsilon in enumerate(epsilons.tolist()):
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = Boundary(epsilon, mode).statistic(*np.moveaxis(counts, -1, 0))
        p_values[:, row] = ndtr(statistics)
        for column, size in enumerate([] if n_items is None else n_items.tolist()):
            if 0 < size <= _MOST_PRECISE:
                places, normal = _normal_scores(size, epsilon, mode)
                inside = np.clip(statistics[:, column], _FURTHEST, _NEAREST)
                beyond = statistics[:, column] - inside
                p_values[:, row, column] = ndtr(np.interp(inside, places, normal) + beyond)
    return p_values


@lru_cache(maxsize=1 << 12)
def _normal_scores(
    n_items: int, epsilon: float, mode: EpsilonMode
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return statistics, and the normal quantiles of their p-values."""
    places = np.linspace(_FURTHEST, _NEAREST, max(5, 1_000 // n_items))
    boundary = Boundary(epsilon, mode)
    cuts = [_cuts(boundary, n_items, place) for place in places.tolist()]
    regions = {each.tobytes(): each for each in cuts}  # of few items there are few
    known = {key: _largest_probability(boundary, n_items, x) for key, x in regions.items()}
    p_values = [known[each.tobytes()] for each in cuts]
    return places, ndtri(np.clip(p_values, 1e-15, 1 - 1e-15))


_CUTS: dict[tuple[int, float, EpsilonMode, float], tuple[float, float]] = {}
"""Cache of the statistics between which the p-value crosses a threshold, by items and ε."""
_MOST_CUTS = 1 << 16


def exact_bounds(
    counts: NDArray[np.int64],
    epsilons: NDArray[np.float64],
    *,
    tested: NDArray[np.bool_],
    mode: EpsilonMode,
    false_discovery_rate: float,
) -> NDArray[np.float64]:
    """Return the smallest threshold of Benjamini-Yekutieli that each exact p-value does not exceed.

    The step-up procedure over m annotators compares p-values with a few thresholds only. Among
    tables of one number of items the p-value grows with the score statistic, so each threshold cuts
    them, in the order of that statistic, in two: bisection finds the cut with a few p-values, and
    the cache serves the next tables.

    Counts have the shape (..., n_annotators, 3), bounds (..., n_epsilons, n_annotators): 1 above
    every threshold, nan without items. They lead to the same rejections as the p-values.
    """
    if len(_CUTS) > _MOST_CUTS:
        _CUTS.clear()
    n_tested = np.unique(np.count_nonzero(tested, axis=-1)).tolist()
    thresholds = np.unique([  # of Benjamini-Yekutieli, for these numbers of annotators
        rank * false_discovery_rate / (n * (1 / np.arange(1, n + 1)).sum())
        for n in n_tested
        for rank in range(1, n + 1)
    ])  # fmt: skip
    tables, place = _distinct(counts.reshape(-1, 3))
    bounds = np.full((len(tables), len(epsilons)), np.nan)
    n_items = tables.sum(axis=1)
    for size in np.unique(n_items[n_items > 0]).tolist():
        rows = np.flatnonzero(n_items == size)
        for position, epsilon in enumerate(epsilons.tolist()):
            statistics = Boundary(epsilon, mode).statistic(*tables[rows].T)
            order = np.argsort(statistics, kind="stable")
            found = np.ones(len(rows))
            ordered, listed = statistics[order], tables[rows[order]]
            for threshold in thresholds[::-1].tolist():
                key = (size, epsilon, mode, threshold)
                inside, outside = _CUTS.get(key, (-np.inf, np.inf))
                low = int(np.searchsorted(ordered, inside + SAME, side="right"))
                high = int(np.searchsorted(ordered, outside - SAME, side="left"))
                while low < high:  # the tables whose p-value does not exceed the threshold
                    middle = (low + high) // 2
                    if cached_p_value(*listed[middle].tolist(), epsilon, mode) <= threshold:
                        low, inside = middle + 1, float(ordered[middle])
                    else:
                        high, outside = middle, float(ordered[middle])
                _CUTS[key] = (inside, outside)
                found[order[:low]] = threshold * _BELOW
            bounds[rows, position] = found
    every = bounds[place].reshape(*counts.shape[:-1], len(epsilons))
    return np.moveaxis(every, -1, -2)


_BELOW = 1 - 1e-12
"""Factor that keeps a bound on its side of the threshold in spite of rounding."""


def _distinct(tables: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the distinct rows, and the place of each row among them."""
    base = int(tables.max(initial=0)) + 1
    keys = (tables[:, 0] * base + tables[:, 1]) * base + tables[:, 2]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return tables[first], place
