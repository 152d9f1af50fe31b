"""Fit the weights of one behavior, a convex problem, and estimate how good they are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtrit

from voirdire._messages import list_names
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.features import VETO, compute_veto_penalty
from voirdire.rewards.solving.problem import RankingProblem, RankingSolution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Dropped
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings


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
            return weights, RankingSolution(weights=weights[:0], objective=reached, bound=reached)
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


# One behavior -----------------------------------------------------------------------------------

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""

_FAR_APART = 10.0
_MOST_NAMED = 6
_L2_OF_FEW = 0.01
_ROUNDING = 1e-7
"""Coordinates of directions below this are rounding."""


@dataclass(frozen=True, kw_only=True)
class BehaviorFit:
    """How the weights of one behavior came about.

    Attributes
    ----------
    behavior : str
        Its id.
    n_prompts, n_items, n_pairs : int
        What it was fitted on: at least 1 pair.
    n_test_prompts : int
        Prompts that are marked `test`: no weight was fitted on them, and `error_rate` is of them.
        Where it is 0, each prompt of the fit was held out once, unless there is only one.
    l2 : float
        λ that was used, at least 0.
    l2_path : mapping of float to float
        Held-out loss for each λ that was tried; empty where λ was given.
    objective, bound : float
        The value at these weights, and a lower bound of it for any weights.
    weights : tuple of FittedWeight
        In the order of the features.
    error_rate : Estimate
        Share of comparisons that the reward ranks the wrong way, a tie counting half: held out by
        prompt.
    error_rate_fitted : float
        The same on the comparisons that it was fitted on: too low.
    error_rate_base : Estimate
        The same by the base reward alone; nan where there is none.
    is_separable : bool
        Whether some weights rank every comparison right; without λ the size of the weights then
        says nothing.
    n_cyclic_pairs : int
        Comparisons that go in cycles, of all that were given for this behavior: also of prompts
        that are marked `test`, and of completions that were then dropped.
    notes : tuple of str
        What the reader should know.
    """

    behavior: str
    n_prompts: int
    n_items: int
    n_pairs: int
    n_test_prompts: int = 0
    l2: float
    l2_path: Mapping[float, float] = field(default_factory=dict, repr=False)
    objective: float
    bound: float
    weights: tuple[FittedWeight, ...] = field(repr=False)
    error_rate: Estimate
    error_rate_fitted: float
    error_rate_base: Estimate
    is_separable: bool
    n_cyclic_pairs: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FittedWeight:
    """The weight of one feature.

    Attributes
    ----------
    feature : str
        Its name.
    weight : Estimate
        With the interval of the bootstrap over prompts.
    origin : {"fitted", "fixed", "ignored", "undetermined", "veto"}
        Undetermined: no comparison depends on it. Veto: the penalty of the feature ``"(veto)"``,
        which all other weights together cannot make up for.
    """

    feature: str
    weight: Estimate
    origin: str


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedBehavior:
    """The weights of one behavior, all but that of the veto, with their record.

    `is_loose` tells whether some weights can be shifted against each other without changing any
    difference, beyond the gauge of the class features.
    """

    record: BehaviorFit
    weights: NDArray[np.float64] = field(repr=False)
    is_loose: bool
    problem: WeightProblem = field(repr=False)

    @property
    def rule_rewards(self) -> NDArray[np.float64]:
        """The rule rewards of the completions of the fit."""
        veto = sum(row.weight.value for row in self.record.weights if row.feature == VETO)
        return self.problem.features @ self.weights + self.problem.is_vetoed * veto


def count_solves(problem: WeightProblem) -> int:
    """Count the problems that `fit_behavior` solves: what a progress bar counts."""
    l2s, n_folds = _choose_search(problem)
    return 1 + len(l2s) * n_folds + problem.settings.n_resamples


def fit_behavior(
    problem: WeightProblem, *, has_base: bool, report: Callable[[], None]
) -> FittedBehavior:
    """Fit the weights of one behavior; `report` is called after each problem that is solved."""
    settings, (l2s, n_folds) = problem.settings, _choose_search(problem)
    l2, l2_path, gain = l2s[0], {}, None
    if n_folds:
        best, losses, gain = cross_validate(problem, l2s=l2s, n_folds=n_folds, report=report)
        if len(l2s) > 1:
            l2, l2_path = best, losses
    notes = []
    if settings.l2 is None and not l2_path:
        notes.append(
            f"{_count(problem.n_prompts, 'prompt')}: too few to choose λ by cross-validation in "
            f"{settings.n_folds} folds; it is {l2:g}"
        )
    try:
        weights, solution = problem.solve(l2)
    except InputError as error:
        msg = f"behavior {problem.behavior!r}: {error}"
        raise InputError(msg) from error
    report()
    low, high = resample_weights(problem, weights=weights, l2=l2, report=report)
    is_separable, undetermined, is_loose = _find_limits(problem)
    held_out = problem
    if problem.test is not None:
        held_out, gain = problem.test, problem.test.compute_gain(weights)
    base_alone = estimate_error_rate(held_out, held_out.base_gain) if has_base else UNDEFINED
    error_rate = UNDEFINED
    if gain is not None:
        error_rate = estimate_error_rate(held_out, held_out.apply_vetoes(gain))
    rows = _list_weights(problem, weights, low=low, high=high, undetermined=undetermined)
    fitted_errors = compute_errors(problem.apply_vetoes(problem.compute_gain(weights)))
    notes += _list_notes(problem, is_separable=is_separable, undetermined=undetermined, rows=rows)
    record = BehaviorFit(
        behavior=problem.behavior,
        n_prompts=problem.n_prompts,
        n_items=int(problem.items.size),
        n_pairs=problem.n_pairs,
        n_test_prompts=0 if problem.test is None else problem.test.n_prompts,
        l2=l2,
        l2_path=l2_path,
        objective=solution.objective,
        bound=solution.bound,
        weights=tuple(rows),
        error_rate=error_rate,
        error_rate_fitted=float(problem.weight @ fitted_errors),
        error_rate_base=base_alone,
        is_separable=is_separable,
        n_cyclic_pairs=problem.n_cyclic_pairs,
        notes=tuple(notes),
    )
    return FittedBehavior(record=record, weights=weights, is_loose=is_loose, problem=problem)


def _choose_search(problem: WeightProblem) -> tuple[tuple[float, ...], int]:
    """Choose the values of λ to try, and the folds; 0 where no prompt can, or need, be held out."""
    settings, n_prompts = problem.settings, problem.n_prompts
    if settings.l2 is not None:
        l2s: tuple[float, ...] = (float(settings.l2),)
    else:
        l2s = (_L2_OF_FEW,) if n_prompts < 2 * settings.n_folds else L2_GRID
    if n_prompts < 2 or (problem.test is not None and len(l2s) == 1):
        return l2s, 0
    return l2s, min(settings.n_folds, n_prompts)


def _find_limits(problem: WeightProblem) -> tuple[bool, list[str], bool]:
    """Find whether comparisons are separable, and which weights they do not determine.

    The latter are the features on which no comparison depends, and whether others can be shifted
    against each other, beyond the gauge, which is always undetermined. Without λ and base rewards
    separable comparisons have no loss; else one of them at least has the loss of its whole margin.
    """
    from voirdire.rewards.solving.problem import find_idle_directions
    from voirdire.rewards.solving.solve import solve

    if not problem.is_fitted:
        return False, [], False
    ranking = problem.make_ranking(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        best = solve(replace(ranking, gap=np.ones(ranking.gap.size)))
    is_separable = best.objective < ranking.weight.min() / 2
    idle = find_idle_directions(ranking)
    is_constant = np.linalg.norm(idle, axis=1) > 1.0 - _ROUNDING
    names = np.array(problem.choice.features.names, dtype=object)[problem.choice.is_fitted]
    parts = [rows[:, ~is_constant] for rows in (problem.choice.list_gauge(), idle.T)]
    n_gauge, n_idle = (np.linalg.matrix_rank(x, tol=_ROUNDING) if x.size else 0 for x in parts)
    return bool(is_separable), names[is_constant].tolist(), bool(n_idle > n_gauge)


def _list_weights(
    problem: WeightProblem,
    weights: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    undetermined: Sequence[str],
) -> list[FittedWeight]:
    """List all weights with their intervals; that of a veto is one that no others make up for."""
    choice, rows = problem.choice, []
    names, values = choice.features.names, (weights + 0.0).tolist()  # never -0
    for place, name in enumerate(names):
        origin, estimate = "fitted", replace(UNDEFINED, value=values[place])
        if not choice.is_fitted[place]:
            origin = "ignored" if name in choice.ignored else "fixed"
        elif name in undetermined:
            origin = "undetermined"
        else:
            estimate = replace(estimate, low=float(low[place]), high=float(high[place]))
        rows.append(FittedWeight(feature=name, weight=estimate, origin=origin))
    if choice.vetoes:
        test = problem.test
        base = problem.base if test is None else np.concatenate([problem.base, test.base])
        penalty = compute_veto_penalty(
            replace(choice.features, vetoes=choice.vetoes),
            dict(zip(names, values, strict=True)),
            base_range=float(np.ptp(base)),
        )
        veto = FittedWeight(feature=VETO, weight=replace(UNDEFINED, value=-penalty), origin="veto")
        rows.insert(len(choice.features.asked), veto)
    return rows


def _list_notes(
    problem: WeightProblem,
    *,
    is_separable: bool,
    undetermined: Sequence[str],
    rows: Sequence[FittedWeight],
) -> Iterator[str]:
    """Write notes on the fit of a behavior, the most important first."""
    if vetoes := problem.choice.vetoes:
        limit = "no weights make up for"
        if problem.base.any():
            limit = "neither weights nor the base rewards of the fit make up for"
        penalty = -next(row.weight.value for row in rows if row.feature == VETO)
        n_against = int((problem.apply_vetoes(np.zeros(problem.n_pairs)) < 0).sum())
        yield (
            f"veto of {list_names(vetoes, most=_MOST_NAMED)}: it takes {penalty:.3g} off, "
            f"which {limit}; "
            f"{int(problem.is_vetoed.sum()):,} of {problem.items.size:,} completions have it"
            + (f", the better one in {_count(n_against, 'comparison')}" if n_against else "")
        )
    if is_separable:
        yield (
            "there are weights that rank every comparison right: the size of the fitted ones "
            "follows from margin and λ, not from the data"
        )
    if undetermined:
        yield (
            f"no comparison depends on {list_names(undetermined, most=_MOST_NAMED)}: "
            f"{'its weight is' if len(undetermined) == 1 else 'their weights are'} 0"
        )
    n_prompts = problem.n_prompts
    if n_prompts == 1 and problem.settings.n_resamples:
        yield f"1 prompt: no interval is defined; collect comparisons of at least {FEW_PROMPTS}"
    elif n_prompts < FEW_PROMPTS and problem.settings.n_resamples:
        yield (
            f"{_count(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    base, margin = float(np.abs(problem.base_gain).mean()), float(problem.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {base / margin:,.0f} times the margin: "
            "give a margin in their scale, or rescale them"
        )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
