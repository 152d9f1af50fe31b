r"""The exact unconditional test of the judge against one left-out annotator.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr, gammaln, xlog1py, xlogy

from voirdire._types import EpsilonMode
from voirdire._validation import check_choice, check_count, check_fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exact_p_value"]

SAME = 1e-9
"""Statistics closer than this are the same table order."""
_GRID = 129
_LARGEST_GRID = 1025
_ZOOMS = 4
_FINER = 8
_MAX_HILLS = 12
_AT_ONCE = 1 << 17
"""Tie shares times tie counts that are summed in one piece."""
_NEGLIGIBLE_SD = 9.0
"""Tie counts further than this many standard deviations from their mean are left out (< 1e-18)."""


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
        The p-value in [0, 1]; nan without items. Computed in O(n) memory and time per tie share
        that is looked at (some hundred).

    Raises
    ------
    InputError
        If a count is negative, or ε or its mode is out of range.

    Notes
    -----
    Unconditional and maximised over the nuisance parameter as Barnard's test is [1]_; ordered by
    the restricted score statistic as in non-inferiority tests of paired proportions [2]_.

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
    if sum(counts) == 0:
        return float("nan")
    return _p_value(*counts, epsilon, mode)


@lru_cache(maxsize=4096)
def _p_value(n_minus: int, n_ties: int, n_plus: int, epsilon: float, mode: EpsilonMode) -> float:
    boundary = Boundary(epsilon, mode)
    n_items = n_minus + n_ties + n_plus
    observed = float(boundary.statistic(np.array(n_minus), np.array(n_ties), np.array(n_plus)))
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
        """Shares of judge's and of human's wins at a tie share."""
        minus = np.maximum(self._minus[0] - self._minus[1] * ties, 0.0)
        return minus, self._plus[0] - self._plus[1] * ties

    def restricted_tie_share(
        self, n_minus: NDArray[np.int64], n_ties: NDArray[np.int64], n_plus: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Maximum likelihood tie share on the boundary: the smaller root of a quadratic."""
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
        """Score statistic: the mean of d less its target, over its restricted standard error."""
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
    """For each number of ties the most human wins that are as extreme as `observed`, or -1."""
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

    The probability has several hills; the highest hilltops of a grid are climbed by finer grids.
    """
    # the angle whose squared sine is the tie share: there the hills are equally wide throughout
    widest = np.arcsin(np.sqrt(boundary.largest_tie_share))
    n_points = int(np.clip(2 * np.pi * np.sqrt(n_items), _GRID, _LARGEST_GRID))
    angles, step = np.linspace(0.0, widest, n_points, retstep=True)
    height = _probabilities(boundary, n_items, cuts, np.sin(angles) ** 2)
    best = float(height.max())
    for _ in range(_ZOOMS):
        hills = np.flatnonzero(_hilltops(height))
        tops = angles[hills[np.argsort(height[hills])[-_MAX_HILLS:]]]
        step /= _FINER
        around = (tops[:, np.newaxis] + np.arange(-_FINER, _FINER + 1) * step).ravel()
        angles = np.unique(np.clip(around, 0.0, widest))
        height = _probabilities(boundary, n_items, cuts, np.sin(angles) ** 2)
        best = max(best, float(height.max()))
    return best


def _hilltops(height: NDArray[np.float64]) -> NDArray[np.bool_]:
    padded = np.concatenate([[-1.0], height, [-1.0]])
    return (height >= padded[:-2]) & (height >= padded[2:])


def _probabilities(
    boundary: Boundary, n_items: int, cuts: NDArray[np.int64], tie_shares: NDArray[Any]
) -> NDArray[np.float64]:
    """Probability of the region at each tie share."""
    if len(tie_shares) * (n_items + 1) <= _AT_ONCE:
        return _tail_sums(boundary, n_items, cuts, tie_shares, first=0)
    return np.concatenate(
        [_near_the_mean(boundary, n_items, cuts, share) for share in tie_shares[:, np.newaxis]]
    )


def _near_the_mean(
    boundary: Boundary, n_items: int, cuts: NDArray[np.int64], tie_share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability at one tie share from the tie counts that have any."""
    share = float(tie_share[0])
    spread = _NEGLIGIBLE_SD * np.sqrt(n_items * share * (1 - share)) + 20
    first = max(0, int(n_items * share - spread))
    last = min(n_items, int(n_items * share + spread) + 1)
    return _tail_sums(boundary, n_items, cuts[first : last + 1], tie_share, first=first)


def _tail_sums(
    boundary: Boundary,
    n_items: int,
    cuts: NDArray[np.int64],
    tie_shares: NDArray[np.float64],
    *,
    first: int,
) -> NDArray[np.float64]:
    """Sum over tie counts from `first` on: P(that many ties) times P(human wins up to the cut)."""
    n_ties = np.arange(first, first + len(cuts))
    ties = tie_shares[:, np.newaxis]
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
    below = np.where(cuts < 0, 0.0, bdtr(np.maximum(cuts, 0), n_items - n_ties, human_share))
    return (np.exp(log_binomial) * below).sum(axis=1)
