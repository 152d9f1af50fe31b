r"""Computes p-values, ω and ρ from outcome sums, for all judges and every ε at once.

With :math:`v` the value of :math:`d` per outcome and :math:`c = v - \bar d` the three ways to
estimate the standard error of :math:`\bar d` are

* items independent: :math:`s^2/n`, n - 1 degrees of freedom;
* weighted: :math:`s_\pi^2 / n_\pi` with :math:`s_\pi^2 = \sum\pi(d-\bar d)^2/\sum\pi` and
  :math:`n_\pi = (\sum\pi)^2/\sum\pi^2`, :math:`n_\pi - 1` degrees of freedom [1]_;
* clustered: :math:`\frac{G}{G-1}\, c^\top S c / (\sum\pi)^2`, G - 1 degrees of freedom.

The exact test of weighted or clustered items counts :math:`u = (\sum_g u_g)^2/\sum_g u_g^2` units,
rounded down, with the items' shares of wins and losses, and its p-value is never below the
t-test's.

References
----------
.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
   ACL 2025, appendix on imbalanced labels.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from voirdire.stats.exact_test import approximate_p_values, cached_p_value
from voirdire.stats.fdr import benjamini_hochberg, benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode, Family
    from voirdire.stats.outcome_sums import OutcomeSums

Design: TypeAlias = Literal["items", "weighted", "clustered"]
"""Independent units of the standard error."""

_ZERO_VARIANCE = 1e-13
"""Variance below it, relative to Σπ², is a rounding error."""

_STEPS = 1_000
"""Step of the smallest margin."""


@dataclass(frozen=True, kw_only=True)
class TestSettings:
    """Settings of the test of compared labels.

    `design` are the independent units, `family` the p-values that share the false discovery rate,
    `quality` the weights of annotators in ω, and `excluded` the expert, who is not tested; an
    expert's or gold labels are the reference.
    """

    epsilons: NDArray[np.float64]
    mode: EpsilonMode
    design: Design
    false_discovery_rate: float
    min_items: int
    family: Family = "annotators"
    quality: NDArray[np.float64] | None = None
    excluded: int | None = None
    has_reference: bool = False


@dataclass(frozen=True)
class Figures:
    """All figures of the test, each computed when it is first used.

    Arrays over judges, ε and annotators; nan where an annotator is not tested. Figures that begin
    with `exact` use the exact test, the others the t-test.

    Attributes
    ----------
    sums : OutcomeSums
        Of shape (n_judges, n_annotators).
    settings : TestSettings
        Settings of the test.
    """

    sums: OutcomeSums
    settings: TestSettings

    @cached_property
    def tested(self) -> NDArray[np.bool_]:
        """Whether annotators have enough items, shape (n_judges, n_annotators)."""
        tested = self.sums.n_items >= self.settings.min_items
        if self.settings.excluded is not None:
            tested[:, self.settings.excluded] = False
        return tested

    @cached_property
    def advantage_judge(self) -> NDArray[np.float64]:
        """ρ^f of each annotator, shape (n_judges, n_annotators)."""
        return self._share_won(slice(None, 2))

    @cached_property
    def advantage_human(self) -> NDArray[np.float64]:
        """ρ^h of each annotator, shape (n_judges, n_annotators)."""
        return self._share_won(slice(1, None))

    @cached_property
    def advantage_probability(self) -> NDArray[np.float64]:
        """ρ, shape (n_judges,)."""
        return self._mean_over_tested(self.advantage_judge)

    @cached_property
    def human_advantage(self) -> NDArray[np.float64]:
        """The mean of the annotators' own, shape (n_judges,)."""
        return self._mean_over_tested(self.advantage_human)

    @cached_property
    def target(self) -> NDArray[np.float64]:
        """The mean of d under the null hypothesis: ε, or 0 when ε is multiplicative."""
        additive = self.settings.mode == "additive"
        return (self.settings.epsilons if additive else 0.0 * self.settings.epsilons)[:, np.newaxis]

    @cached_property
    def difference(self) -> dict[str, NDArray[np.float64]]:
        """The mean of d, its standard error and degrees of freedom, shape of `p_values`.

        The mean is nan without items, the error with fewer than two units.
        """
        settings, human, judge = self.settings, np.array([0.0, 1, 1]), np.array([1.0, 1, 0])
        values = np.broadcast_to(human - judge, (len(settings.epsilons), 3))
        if settings.mode == "multiplicative":
            values = human - judge / (1 - settings.epsilons[:, np.newaxis])
        weights, squares = self.sums.weights[:, np.newaxis], self.sums.squares[:, np.newaxis]
        n_units = self.sums.n_units[:, np.newaxis].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = weights.sum(axis=-1)
            mean = (weights * values[:, np.newaxis, :]).sum(axis=-1) / mass
            centred = values[:, np.newaxis, :] - mean[..., np.newaxis]
            scale = np.trace(squares, axis1=-2, axis2=-1)
            if settings.design == "weighted":
                variance = (weights * centred**2).sum(axis=-1) / mass
                effective = mass**2 / scale
                squared_error, freedom = variance / effective, effective - 1
            else:
                spread = np.einsum("...r,...rs,...s->...", centred, squares, centred)
                spread = np.where(spread <= _ZERO_VARIANCE * scale, 0.0, spread)
                squared_error = spread * n_units / (n_units - 1) / mass**2
                freedom = n_units - 1
            error = np.sqrt(np.where(n_units > 1, squared_error, np.nan))
        freedom = np.broadcast_to(freedom, mean.shape)
        return {"mean_difference": mean, "standard_error": error, "degrees_of_freedom": freedom}

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """Whether the estimate is within ε, shape of `p_values`."""
        return (self.difference["mean_difference"] < self.target) & self.tested[:, np.newaxis]

    @cached_property
    def within_rate(self) -> NDArray[np.float64]:
        """The share of annotators within ε, shape (n_judges, n_epsilons)."""
        return self.share_of_annotators(self.within)

    @cached_property
    def p_values(self) -> NDArray[np.float64]:
        """p-values by the t-test, shape (n_judges, n_epsilons, n_annotators)."""
        mean, error, freedom = self.difference.values()
        p_values = t_test_p_values(mean - self.target, error, freedom)
        return np.where(self.tested[:, np.newaxis], p_values, np.nan)

    @cached_property
    def exact_p_values(self) -> NDArray[np.float64]:
        """p-values by the exact test; with weights or clusters never below the t-test's."""
        settings, tested = self.settings, self.tested
        epsilons, mode = settings.epsilons.tolist(), settings.mode
        p_values = np.full((*tested.shape, len(epsilons)), np.nan)
        counts = self.sums.counts if settings.design == "items" else exact_counts(self.sums)
        p_values[tested] = [
            [cached_p_value(won, ties, lost, epsilon, mode) for epsilon in epsilons]
            for won, ties, lost in counts[tested].tolist()
        ] or np.zeros((0, len(epsilons)))
        exact = p_values.swapaxes(1, 2)
        return exact if settings.design == "items" else np.maximum(exact, self.p_values)

    @cached_property
    def rejected(self) -> NDArray[np.bool_]:
        """Annotators whom the judge wins under Benjamini-Yekutieli, shape of `p_values`."""
        return self.reject(benjamini_yekutieli, self.p_values)

    @cached_property
    def rejected_bh(self) -> NDArray[np.bool_]:
        """The same under Benjamini-Hochberg."""
        return self.reject(benjamini_hochberg, self.p_values)

    @cached_property
    def exact_rejected(self) -> NDArray[np.bool_]:
        """Annotators whom the judge wins by the exact test."""
        return self.reject(benjamini_yekutieli, self.exact_p_values)

    @cached_property
    def winning_rate(self) -> NDArray[np.float64]:
        """ω, shape (n_judges, n_epsilons)."""
        return self.share_of_annotators(self.rejected)

    @cached_property
    def winning_rate_bh(self) -> NDArray[np.float64]:
        """ω by the exact test under Benjamini-Hochberg."""
        return self.share_of_annotators(self.reject(benjamini_hochberg, self.exact_p_values))

    @cached_property
    def exact_winning_rate(self) -> NDArray[np.float64]:
        """ω by the exact test, which decides outcomes."""
        return self.share_of_annotators(self.exact_rejected)

    def approximate_winning_rate(self, n_items: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """ω by p-values close to those of the exact test, see `approximate_p_values`."""
        settings, counts = self.settings, exact_counts(self.sums)
        p_values = approximate_p_values(counts, n_items, settings.epsilons, settings.mode)
        if settings.design != "items":
            p_values = np.maximum(p_values, self.p_values)
        return self.share_of_annotators(self.reject(benjamini_yekutieli, p_values))

    def share_of_annotators(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the weighted share of the tested annotators that are chosen; nan without any."""
        quality = self.settings.quality
        weight = self.tested * (1.0 if quality is None else quality)
        total = weight.sum(axis=-1, keepdims=True)
        won = (chosen * weight[:, np.newaxis]).sum(axis=-1)
        return np.divide(won, total, out=np.full(won.shape, np.nan), where=total > 0)

    def reject(
        self, procedure: Callable[..., NDArray[np.bool_]], p_values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return whom the judge wins by these p-values, or by bounds with the same rejections.

        An undefined p-value of a tested annotator counts as 1.
        """
        rate = self.settings.false_discovery_rate
        each = np.where(self.tested[:, np.newaxis], np.fmin(p_values, 1.0), np.nan)
        if self.settings.family == "annotators":
            return procedure(each, false_discovery_rate=rate)
        n_judges, n_epsilons, n_annotators = each.shape
        together = each.swapaxes(0, 1).reshape(n_epsilons, n_judges * n_annotators)
        rejected = procedure(together, false_discovery_rate=rate)
        return rejected.reshape(n_epsilons, n_judges, n_annotators).swapaxes(0, 1)

    def _share_won(self, outcomes: slice) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.sums.weights[..., outcomes].sum(axis=-1) / self.sums.weights.sum(axis=-1)
        return np.where(self.tested, share, np.nan)

    def _mean_over_tested(self, advantage: NDArray[np.float64]) -> NDArray[np.float64]:
        count = np.count_nonzero(self.tested, axis=-1)
        total = np.where(self.tested, advantage, 0.0).sum(axis=-1)
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def passes(winning_rate: Any) -> Any:
    """Return whether ω is at least .5, to the rounding of sums of weights.

    Never where it is nan.
    """
    return winning_rate >= 0.5 - 1e-12


def t_test_p_values(
    distance: NDArray[np.float64], error: NDArray[np.float64], freedom: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute left-tail p-values; without variance 0 where the distance is below 0, else 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = stdtr(freedom, distance / error)
    return np.where(error == 0, np.where(distance < 0, 0.0, 1.0), p_values)


def exact_counts(sums: OutcomeSums) -> NDArray[np.int64]:
    """Count the units of the exact test by outcome, shape (..., n_annotators, 3).

    Independent items are counted as they are; for other designs wins are rounded down and losses
    up.
    """
    weights = sums.weights
    with np.errstate(invalid="ignore", divide="ignore"):
        mass = weights.sum(axis=-1)
        units = np.floor(np.nan_to_num(mass**2 / sums.squares.sum(axis=(-2, -1))) + 1e-9)
        shares = np.nan_to_num(weights / mass[..., np.newaxis]) * units[..., np.newaxis]
    won, lost = np.floor(shares[..., 0] + 1e-9), np.ceil(shares[..., 2] - 1e-9)
    return np.stack([won, units - won - lost, lost], axis=-1).astype(np.int64)


def smallest_epsilons(sums: OutcomeSums, settings: TestSettings) -> list[float | None]:
    """Find the smallest margin, a multiple of .001, at which each judge's ω is at least .5.

    `sums` are of shape (n_judges, n_annotators), with failures lost. None where no margin below 1
    is enough.
    """
    smallest = []
    for judge in range(len(sums.n_units)):
        if settings.family == "judges":  # the p-values of all count
            smallest.append(_smallest_epsilon(sums, settings, judge))
        else:
            smallest.append(_smallest_epsilon(sums.rows(slice(judge, judge + 1)), settings, 0))
    return smallest


def _smallest_epsilon(sums: OutcomeSums, settings: TestSettings, judge: int) -> float | None:
    """Search where the normal limit of the exact test begins to pass, and further from there."""

    def figures(step: int) -> Figures:
        return Figures(sums, replace(settings, epsilons=np.array([step / _STEPS])))

    def is_near(step: int) -> bool:
        return bool(passes(figures(step).approximate_winning_rate(None)[judge, 0]))

    @cache
    def is_passed(step: int) -> bool:
        return bool(passes(figures(step).exact_winning_rate[judge, 0]))

    high = bisect_left(range(_STEPS), x=True, key=is_near)
    low, stride = high - 1, 1
    while high < _STEPS and not is_passed(high):
        low, high, stride = high, min(high + stride, _STEPS), 2 * stride
    while low >= 0 and is_passed(low):
        high, low, stride = low, max(low - stride, -1), 2 * stride
    first = bisect_left(range(high), x=True, lo=low + 1, key=is_passed)
    return None if first == _STEPS else first / _STEPS
