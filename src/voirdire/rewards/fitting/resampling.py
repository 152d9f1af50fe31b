"""Intervals by the bootstrap over prompts: comparisons of one prompt are never told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtrit

from voirdire.rewards.fitting.result import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from voirdire.rewards.fitting.weight_problem import WeightProblem

__all__ = [
    "MOST_DRAWN",
    "Resampling",
    "error_rate",
    "generator",
    "percentiles",
    "resampled_weights",
    "wrongness",
]

MOST_DRAWN = 2_000
"""Prompts in a resample that weights are fitted on; more would take longer and say the same."""

_TIE = 1e-9
"""Rewards that differ by no more are equal: that is what sums of rounded products leave."""


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are made.

    Attributes
    ----------
    n_resamples : int
        0 for none.
    confidence_level : float
        In (0, 1).
    seed : int
        Of the draws.
    behavior : str
        Each has draws of its own, whatever other behaviors there are.
    """

    n_resamples: int
    confidence_level: float
    seed: int
    behavior: str

    @property
    def tail(self) -> float:
        """The share outside each end of an interval."""
        return (1.0 - self.confidence_level) / 2.0

    def interval(self, drawn: NDArray[np.float64], *, n_prompts: int) -> NDArray[np.float64]:
        """Find the ends of intervals from resampled figures.

        Parameters
        ----------
        drawn : ndarray of float, shape (n_resamples, ...)
            Figures.
        n_prompts : int
            What was resampled.

        Returns
        -------
        ndarray of float, shape (2, ...)
            Of `percentiles`.
        """
        return percentiles(drawn, tail=self.tail, n_prompts=n_prompts)

    def counts(self, n_prompts: int, *, most: int | None = None) -> Iterator[NDArray[np.int64]]:
        """Draw prompts with replacement, time and again: how often each was drawn.

        Parameters
        ----------
        n_prompts : int
            From how many, and as many as are drawn.
        most : int, optional
            Draw no more than this.
        """
        rng = generator(self.seed, f"{self.behavior} resamples")
        size = n_prompts if most is None else min(n_prompts, most)
        for _ in range(self.n_resamples):
            yield np.bincount(rng.integers(n_prompts, size=size), minlength=n_prompts)


def percentiles(drawn: NDArray[np.float64], *, tail: float, n_prompts: int) -> NDArray[np.float64]:
    r"""Find the ends of intervals from figures of resampled prompts.

    Parameters
    ----------
    drawn : ndarray of float, shape (n_resamples, ...)
        Figures.
    tail : float
        The share :math:`\alpha/2` that is to be outside each end, in (0, 0.5).
    n_prompts : int
        What was resampled.

    Returns
    -------
    ndarray of float, shape (2, ...)
        Expanded percentiles [1]_: resampled figures spread too little by the factor that
        Student's t makes up for, so that their tails are taken at
        :math:`\Phi(t_{\alpha/2, n-1} \sqrt{n/(n-1)})`.

    References
    ----------
    .. [1] T. Hesterberg, "What teachers should know about the bootstrap", The American
       Statistician 69(4), 371-386, 2015. :doi:`10.1080/00031305.2015.1089789`
    """
    if n_prompts > 1:
        reach = stdtrit(n_prompts - 1, tail) * np.sqrt(n_prompts / (n_prompts - 1))
        tail = float(ndtr(reach))
    # Weibull's plotting positions: of n draws the k-th has k/(n + 1) below it.
    ends: NDArray[np.float64] = np.quantile(drawn, (tail, 1.0 - tail), axis=0, method="weibull")
    return ends


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Make the generator of one purpose, so that no purpose depends on what others drew."""
    return np.random.default_rng([seed, *purpose.encode()])


def resampled_weights(
    problem: WeightProblem,
    *,
    weights: NDArray[np.float64],
    l2: float,
    resampling: Resampling,
    tell: Callable[[], None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Fit anew on every resample of the prompts.

    Parameters
    ----------
    problem : WeightProblem
        All comparisons.
    weights : ndarray of float, shape (n_features,)
        Those of all comparisons, under the same λ.
    l2 : float
        λ, the same in every resample.
    resampling : Resampling
        How often.
    tell : callable
        Called after each fit.

    Returns
    -------
    low, high : ndarray of float, shape (n_features,)
        Percentiles of each weight; nan where there are no resamples.

    Notes
    -----
    Of n prompts at most `MOST_DRAWN` are drawn, and how far the weights of so few, m, lie from
    those of all is shortened by :math:`\sqrt{m/n}`, by which the spread of estimates falls [1]_.
    Time then does not grow with n.

    References
    ----------
    .. [1] P. J. Bickel, F. Götze, W. R. van Zwet, "Resampling fewer than n observations: gains,
       losses, and remedies for losses", Statistica Sinica 7(1), 1-31, 1997.
    """
    n_features, n_prompts = weights.size, problem.data.n_prompts
    if not resampling.n_resamples:
        return np.full(n_features, np.nan), np.full(n_features, np.nan)
    drawn = np.empty((resampling.n_resamples, n_features))
    for row, counts in enumerate(resampling.counts(n_prompts, most=MOST_DRAWN)):
        drawn[row] = problem.solve_part(l2, counts, start=weights)
        tell()
    if n_prompts > MOST_DRAWN:
        drawn = weights + (drawn - weights) * np.sqrt(MOST_DRAWN / n_prompts)
    low, high = resampling.interval(drawn, n_prompts=n_prompts)
    return low, high


def wrongness(gain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give 1 where the worse one has the higher reward, and a half where they tie."""
    return np.where(np.abs(gain) <= _TIE, 0.5, (gain < 0).astype(np.float64))


def error_rate(
    gain: NDArray[np.float64],
    *,
    prompts: NDArray[np.int64],
    weight: NDArray[np.float64],
    resampling: Resampling,
) -> Estimate:
    r"""Estimate how often comparisons are ranked the wrong way, a tie counting half.

    Parameters
    ----------
    gain : ndarray of float, shape (n_pairs,)
        The better one's reward less the worse one's.
    prompts : ndarray of int, shape (n_pairs,)
        Numbered from 0.
    weight : ndarray of float, shape (n_pairs,)
        How much each comparison counts.
    resampling : Resampling
        How the interval is made.

    Returns
    -------
    Estimate
        The share with the percentiles over resampled prompts.

    Notes
    -----
    Rewards are not fitted anew in resamples. Where nothing, or everything, is wrong, resamples
    say nothing either: the open end is then that of the exact binomial interval for as many
    prompts, :math:`1 - (\alpha/2)^{1/n}`.
    """
    n_prompts = int(prompts[-1]) + 1 if prompts.size else 0
    if not n_prompts:
        return Estimate(value=np.nan, low=np.nan, high=np.nan)
    wrong = np.bincount(prompts, weights=weight * wrongness(gain), minlength=n_prompts)
    total = np.bincount(prompts, weights=weight, minlength=n_prompts)
    rate = float(wrong.sum() / total.sum())
    if not resampling.n_resamples:
        return Estimate(value=rate, low=np.nan, high=np.nan)
    drawn = np.array([(n @ wrong) / (n @ total) for n in resampling.counts(n_prompts)])
    low, high = resampling.interval(drawn, n_prompts=n_prompts)
    reach = 1.0 - resampling.tail ** (1.0 / n_prompts)
    if rate <= 0.0:
        high = reach
    elif rate >= 1.0:
        low = 1.0 - reach
    return Estimate(value=rate, low=float(low), high=float(high))
