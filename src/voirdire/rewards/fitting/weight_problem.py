"""The weights of one behavior as a convex problem; given weights become part of the margins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtrit

from voirdire.rewards.solving.problem import RankingProblem, RankingSolution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Dropped
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings

__all__ = [
    "L2_GRID",
    "MAX_RESAMPLED_PROMPTS",
    "UNDEFINED",
    "Estimate",
    "WeightProblem",
    "compute_errors",
    "compute_percentiles",
    "cross_validate",
    "estimate_error_rate",
    "resample_weights",
]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval.

    Attributes
    ----------
    value : float
        The figure; nan where it is undefined.
    low, high : float
        Ends of its interval; nan where there is none.
    """

    value: float
    low: float
    high: float


UNDEFINED = Estimate(value=float("nan"), low=float("nan"), high=float("nan"))


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightProblem:
    """Comparisons of one behavior as a feature matrix and arrays of pairs.

    They can be solved for any λ and any prompts.

    Attributes
    ----------
    items : ndarray of int, shape (n_items,)
        Places in the `ComparisonData` of the completions that are compared.
    features : ndarray of float, shape (n_items, n_features)
        Of these completions, all features of the behavior; finite.
    base : ndarray of float, shape (n_items,)
        Their base rewards; 0 where none is used.
    is_vetoed : ndarray of bool, shape (n_items,)
        Which completions lie below all others whatever the weights are.
    better, worse : ndarray of int, shape (n_pairs,)
        Rows of `features`.
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each pair, numbered from 0, ascending.
    margins : ndarray of float, shape (n_pairs,)
        How much higher the better one's reward is to be.
    choice : FeatureChoice
        Which weights are fitted.
    settings : FitSettings
        How comparisons count, folds and resamples.
    dropped : tuple of Dropped
        Completions that were in a pair and could not be used.
    n_cyclic_pairs : int
        Comparisons that go in cycles, of all that were given.
    test : WeightProblem or None
        What is marked to be kept out of the fit, where something is.
    """

    items: NDArray[np.int64] = field(repr=False)
    features: NDArray[np.float64] = field(repr=False)
    base: NDArray[np.float64] = field(repr=False)
    is_vetoed: NDArray[np.bool_] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    choice: FeatureChoice
    settings: FitSettings
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    n_cyclic_pairs: int = 0
    test: WeightProblem | None = field(default=None, repr=False)

    @property
    def behavior(self) -> str:
        """Its id."""
        return self.choice.features.behavior

    @property
    def n_pairs(self) -> int:
        """How many comparisons."""
        return int(self.better.size)

    @property
    def n_prompts(self) -> int:
        """How many prompts these belong to."""
        return int(self.prompts[-1]) + 1 if self.prompts.size else 0

    @property
    def base_gain(self) -> NDArray[np.float64]:
        """How much higher the base reward of the better one is than that of the worse one."""
        return self.base[self.better] - self.base[self.worse]

    def apply_vetoes(self, gain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the gain of a comparison infinite where only one of its sides is vetoed."""
        better, worse = self.is_vetoed[self.better], self.is_vetoed[self.worse]
        return np.where(better == worse, gain, np.where(worse, np.inf, -np.inf))

    def select_pairs(self, kept: NDArray[np.bool_]) -> WeightProblem:
        """Take some of the pairs, with the completions and prompts that are in them."""
        better, worse = self.better[kept], self.worse[kept]
        used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        of_items = ("items", "features", "base", "is_vetoed")
        return replace(
            self,
            **{name: getattr(self, name)[used] for name in of_items},
            better=places[: better.size],
            worse=places[better.size :],
            prompts=np.unique(self.prompts[kept], return_inverse=True)[1],
            margins=self.margins[kept],
        )

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """How much each comparison counts; above 0, adds up to 1.

        A prompt with ten completions has up to 45 comparisons, one with two has one, which
        `equal_prompts` makes up for.
        """
        prompts = self.prompts
        if not self.settings.equal_prompts:
            return np.full(prompts.size, 1.0 / max(prompts.size, 1))
        counts = np.bincount(prompts)
        return 1.0 / (counts[prompts] * np.count_nonzero(counts))

    @property
    def is_fitted(self) -> bool:
        """Whether there is any weight to fit."""
        return bool(self.choice.is_fitted.any())

    @cached_property
    def fitted_features(self) -> NDArray[np.float64]:
        """The features whose weights are fitted."""
        return np.ascontiguousarray(self.features[:, self.choice.is_fitted])

    @cached_property
    def given_gain(self) -> NDArray[np.float64]:
        """How much higher base reward and given weights rank the better one than the worse one."""
        return self.compute_gain(np.nan_to_num(self.choice.given, nan=0.0))

    def compute_gain(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute how much higher the whole reward of the better one is than that of the worse one.

        `weights` are all of them, the given ones too.
        """
        scores = self.features @ weights
        gain: NDArray[np.float64] = scores[self.better] - scores[self.worse]
        return self.base_gain + gain

    def compute_losses(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the loss of each comparison."""
        shortfall = self.margins - self.compute_gain(weights)
        return np.maximum(shortfall, 0.0)

    def draw_prompts(self, *, most: int | None = None) -> Iterator[NDArray[np.int64]]:
        """Draw prompts with replacement, `most` at most, and count how often each is drawn.

        Each behavior has draws of its own, whatever other behaviors there are.
        """
        rng, n_prompts = self.make_generator("resamples"), self.n_prompts
        size = n_prompts if most is None else min(n_prompts, most)
        for _ in range(self.settings.n_resamples):
            yield np.bincount(rng.integers(n_prompts, size=size), minlength=n_prompts)

    def find_interval(self, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        """Find the ends of intervals from figures of resampled prompts."""
        tail = (1.0 - self.settings.confidence_level) / 2.0
        return compute_percentiles(drawn, tail=tail, n_prompts=self.n_prompts)

    def make_generator(self, purpose: str) -> np.random.Generator:
        """Make the generator of one purpose, so that none depends on what others drew."""
        name = f"{self.behavior} {purpose}"
        return np.random.default_rng([self.settings.seed, *name.encode()])

    def make_ranking(self, l2: float, *, counts: NDArray[np.int64] | None = None) -> RankingProblem:
        """Make the problem of some of the prompts.

        `counts` says how many times each prompt counts, by default once; comparisons of prompts
        that do not count are left out.
        """
        fitted = self.choice.is_fitted
        weight = self.weight if counts is None else self.weight * counts[self.prompts]
        kept = weight > 0
        features, better, worse = self.fitted_features, self.better[kept], self.worse[kept]
        if 2 * better.size < len(features):  # few of many: the others need not be looked at
            used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
            features, better, worse = features[used], places[: better.size], places[better.size :]
        return RankingProblem(
            features=features,
            better=better,
            worse=worse,
            gap=(self.margins - self.given_gain)[kept],
            weight=weight[kept] / weight[kept].sum(),
            l2=l2,
            lower=self.choice.lower[fitted],
            upper=self.choice.upper[fitted],
            order=self.choice.order,
        )

    def solve(
        self,
        l2: float,
        counts: NDArray[np.int64] | None = None,
        *,
        start: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], RankingSolution]:
        """Find all weights, with the proof of the fitted ones.

        Each prompt counts as often as `counts` says. Weights near the answer, `start`, save steps
        and change nothing.
        """
        from voirdire.rewards.solving.solve import solve

        weights = self.choice.given.copy()
        if not self.is_fitted:
            reached = float(self.weight @ self.compute_losses(weights))
            return weights, RankingSolution(
                weights=weights[:0], objective=reached, bound=reached, n_iterations=0
            )
        near = None if start is None else start[self.choice.is_fitted]
        solution = solve(self.make_ranking(l2, counts=counts), start=near)
        weights[self.choice.is_fitted] = solution.weights
        return weights, solution


L2_GRID = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Values of λ that are tried."""


def cross_validate(
    problem: WeightProblem,
    *,
    l2s: Sequence[float],
    n_folds: int,
    report: Callable[[], None],
) -> tuple[float, dict[float, float], NDArray[np.float64]]:
    """Fit without each fold in turn, for each λ; fold sizes differ by one prompt at most.

    Returns the λ with the least mean held-out loss, of equal ones the largest; that loss for each
    λ, ascending; and of each comparison the gain under a fit without its prompt.

    A fold's comparisons are ranked under the λ that the *other* folds' losses choose: an error
    rate under the λ that did best on the very same comparisons would be too low. The fits behind
    these losses were made on the fold too. Leaving it out of them would take another round of fits
    for each fold, and makes no difference: in simulation the error rate is that of new prompts, or
    a little above, since each fit is on fewer prompts.
    """
    folds = problem.make_generator("folds").permutation(problem.n_prompts) % n_folds
    of_pair = folds[problem.prompts]
    order = sorted(l2s, reverse=True)
    gains = np.empty((len(order), problem.n_pairs))
    sums = np.zeros((len(order), n_folds))
    for fold in range(n_folds):
        is_held_out, counts = of_pair == fold, (folds != fold).astype(np.int64)
        weights = None
        for row, l2 in enumerate(order):
            weights, _ = problem.solve(l2, counts, start=weights)
            gains[row, is_held_out] = problem.compute_gain(weights)[is_held_out]
            losses = problem.compute_losses(weights)
            sums[row, fold] = problem.weight[is_held_out] @ losses[is_held_out]
            report()
    others = sums.sum(axis=1, keepdims=True) - sums
    chosen = np.array([_find_least(others[:, fold]) for fold in range(n_folds)])
    totals = sums.sum(axis=1)
    losses_of = {l2: float(total) for l2, total in sorted(zip(order, totals, strict=True))}
    gain = gains[chosen[of_pair], np.arange(of_pair.size)]
    return order[_find_least(totals)], losses_of, gain


def _find_least(losses: NDArray[np.float64]) -> int:
    """Find the first loss that is the least one, up to the tolerance of the solver."""
    return int(np.flatnonzero(losses <= losses.min() * (1 + 1e-9) + 1e-12)[0])


MAX_RESAMPLED_PROMPTS = 2_000
"""Prompts in a resample that weights are fitted on; more would take longer and say the same."""


_TIE = 1e-9
"""Rewards that differ by no more are equal, since sums of products are rounded."""


def compute_percentiles(
    drawn: NDArray[np.float64], *, tail: float, n_prompts: int
) -> NDArray[np.float64]:
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
        :math:`\Phi(t_{\alpha/2, n-1} \sqrt{n/(n-1)})`; nan of one prompt.

    References
    ----------
    .. [1] T. Hesterberg, "What teachers should know about the bootstrap", The American
       Statistician 69(4), 371-386, 2015. :doi:`10.1080/00031305.2015.1089789`
    """
    if n_prompts < 2:
        return np.full((2, *drawn.shape[1:]), np.nan)
    reach = stdtrit(n_prompts - 1, tail) * np.sqrt(n_prompts / (n_prompts - 1))
    tail = float(ndtr(reach))
    # Weibull's plotting positions: of n draws the k-th has k/(n + 1) below it.
    ends: NDArray[np.float64] = np.quantile(drawn, (tail, 1.0 - tail), axis=0, method="weibull")
    return ends


def resample_weights(
    problem: WeightProblem,
    *,
    weights: NDArray[np.float64],
    l2: float,
    report: Callable[[], None],
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
    report : callable
        Called after each fit.

    Returns
    -------
    low, high : ndarray of float, shape (n_features,)
        Percentiles of each weight; nan where there are no resamples.

    Notes
    -----
    Of n prompts at most m = `MAX_RESAMPLED_PROMPTS` are drawn. The distance of their weights from
    those of all prompts is multiplied by :math:`\sqrt{m/n}`, by which the spread of estimates
    falls [1]_.
    Time then does not grow with n.

    References
    ----------
    .. [1] P. J. Bickel, F. Götze, W. R. van Zwet, "Resampling fewer than n observations: gains,
       losses, and remedies for losses", Statistica Sinica 7(1), 1-31, 1997.
    """
    n_prompts, n_resamples = problem.n_prompts, problem.settings.n_resamples
    drawn = np.empty((n_resamples, weights.size))
    if not n_resamples:
        return np.full(weights.size, np.nan), np.full(weights.size, np.nan)
    for row, counts in enumerate(problem.draw_prompts(most=MAX_RESAMPLED_PROMPTS)):
        drawn[row], _ = problem.solve(l2, counts, start=weights)
        report()
    if n_prompts > MAX_RESAMPLED_PROMPTS:
        drawn = weights + (drawn - weights) * np.sqrt(MAX_RESAMPLED_PROMPTS / n_prompts)
    low, high = problem.find_interval(drawn)
    return low, high


def compute_errors(gain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where the worse one has the higher reward, 1/2 where they tie, else 0."""
    return np.where(np.abs(gain) <= _TIE, 0.5, (gain < 0).astype(np.float64))


def estimate_error_rate(problem: WeightProblem, gain: NDArray[np.float64]) -> Estimate:
    r"""Estimate how often comparisons are ranked the wrong way, a tie counting half.

    Rewards are not fitted anew in resamples. Where nothing, or everything, is wrong, resamples
    say nothing either: the open end is then that of the exact binomial interval for as many
    prompts, :math:`1 - (\alpha/2)^{1/n}`.
    """
    prompts, n_prompts = problem.prompts, problem.n_prompts
    if not n_prompts:
        return UNDEFINED
    wrong = np.bincount(prompts, weights=problem.weight * compute_errors(gain), minlength=n_prompts)
    total = np.bincount(prompts, weights=problem.weight, minlength=n_prompts)
    rate = float(wrong.sum() / total.sum())
    if not problem.settings.n_resamples:
        return replace(UNDEFINED, value=rate)
    drawn = np.array([(n @ wrong) / (n @ total) for n in problem.draw_prompts()])
    low, high = problem.find_interval(drawn)
    reach = 1.0 - ((1.0 - problem.settings.confidence_level) / 2.0) ** (1.0 / n_prompts)
    if rate <= 0.0:
        high = reach
    elif rate >= 1.0:
        low = 1.0 - reach
    return Estimate(value=rate, low=float(low), high=float(high))
