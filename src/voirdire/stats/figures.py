r"""From outcome sums to p-values, ω and ρ, for all judges and every ε at once.

With :math:`v` the value of :math:`d` per outcome and :math:`c = v - \bar d` the three ways to
estimate the standard error of :math:`\bar d` are

* items independent: :math:`s^2/n`, n - 1 degrees of freedom;
* weighted: :math:`s_\pi^2 / n_\pi` with :math:`s_\pi^2 = \sum\pi(d-\bar d)^2/\sum\pi` and
  :math:`n_\pi = (\sum\pi)^2/\sum\pi^2`, :math:`n_\pi - 1` degrees of freedom [1]_;
* clustered: :math:`\frac{G}{G-1}\, c^\top S c / (\sum\pi)^2`, G - 1 degrees of freedom.

The exact test of weighted or clustered items counts :math:`u = (\sum_g u_g)^2/\sum_g u_g^2` units,
rounded down, of which as large a share is won and lost as of the items, and its p-value is never
below the t-test's.

References
----------
.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
   ACL 2025, appendix on imbalanced labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from voirdire.stats.exact_test import remembered_p_value
from voirdire.stats.fdr import benjamini_hochberg, benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode, Family, Method
    from voirdire.stats.outcome_sums import OutcomeSums

__all__ = [
    "Design",
    "Figures",
    "MeanDifference",
    "TestSettings",
    "compute_figures",
    "exact_counts",
    "mean_difference",
    "passes",
    "share_of_annotators",
    "smallest_epsilons",
    "t_test_p_values",
]

Design: TypeAlias = Literal["items", "weighted", "clustered"]
"""What the standard error takes as independent."""

_ZERO_VARIANCE = 1e-13
"""Relative to Σπ²: variance below it is rounding."""

_STEPS = 1_000
"""Smallest margins are told apart to .001."""

_CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, kw_only=True)
class TestSettings:
    """What determines the test, once labels are compared.

    Attributes
    ----------
    epsilons : ndarray of float, shape (n_epsilons,)
    mode, method, design
        How ε enters; t-test or exact; what is independent.
    false_discovery_rate : float
        Over `family`: the annotators of each judge, or of all judges together.
    min_items : int
        Fewest items of a tested annotator.
    quality : ndarray of float, shape (n_annotators,), or None
        Weights of annotators in ω.
    excluded : int or None
        The expert, who is not tested.
    """

    epsilons: NDArray[np.float64]
    mode: EpsilonMode
    method: Method
    design: Design
    false_discovery_rate: float
    min_items: int
    family: Family = "annotators"
    quality: NDArray[np.float64] | None = None
    excluded: int | None = None


@dataclass(frozen=True, kw_only=True)
class MeanDifference:
    """The mean of d with its standard error, arrays over judges, ε and annotators.

    `mean` is nan without items, `standard_error` with fewer than two units; `target` is the value
    under the null hypothesis: ε, or 0 when ε is multiplicative.
    """

    mean: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    degrees_of_freedom: NDArray[np.float64]
    target: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Arrays over judges, ε and annotators; nan where an annotator is not tested.

    Attributes
    ----------
    tested : ndarray of bool, shape (n_judges, n_annotators)
    n_items : ndarray of int, shape (n_judges, n_annotators)
    advantage_judge, advantage_human : ndarray of float, shape (n_judges, n_annotators)
    difference : MeanDifference
        Of shape (n_judges, n_epsilons, n_annotators).
    p_values : ndarray of float, shape (n_judges, n_epsilons, n_annotators)
    rejected, rejected_bh : ndarray of bool, shape (n_judges, n_epsilons, n_annotators)
    winning_rate, winning_rate_bh : ndarray of float, shape (n_judges, n_epsilons)
    advantage_probability, human_advantage : ndarray of float, shape (n_judges,)
    """

    tested: NDArray[np.bool_]
    n_items: NDArray[np.int64]
    advantage_judge: NDArray[np.float64]
    advantage_human: NDArray[np.float64]
    difference: MeanDifference
    p_values: NDArray[np.float64]
    rejected: NDArray[np.bool_]
    rejected_bh: NDArray[np.bool_]
    winning_rate: NDArray[np.float64]
    winning_rate_bh: NDArray[np.float64]
    advantage_probability: NDArray[np.float64]
    human_advantage: NDArray[np.float64]

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Whether ω is at least .5 (to rounding); never where it is undefined."""
        return passes(self.winning_rate)


def passes(winning_rate: Any) -> Any:
    """Tell whether ω is at least .5, to the rounding of sums of weights; never where it is nan."""
    return winning_rate >= 0.5 - 1e-12


def compute_figures(sums: OutcomeSums, settings: TestSettings) -> Figures:
    """Compute every figure of the test from sums of shape (n_judges, n_annotators)."""
    tested = sums.n_items >= settings.min_items
    if settings.excluded is not None:
        tested[:, settings.excluded] = False
    with np.errstate(invalid="ignore", divide="ignore"):
        mass = sums.weights.sum(axis=-1)
        judge = np.where(tested, sums.weights[..., :2].sum(axis=-1) / mass, np.nan)
        human = np.where(tested, sums.weights[..., 1:].sum(axis=-1) / mass, np.nan)
    difference = mean_difference(
        sums, settings.epsilons, mode=settings.mode, design=settings.design
    )
    p_values = t_test_p_values(difference)
    if settings.method == "exact":
        exact = _exact_p_values(sums, settings, tested)
        p_values = exact if settings.design == "items" else np.maximum(exact, p_values)
    p_values = np.where(tested[:, np.newaxis], p_values, np.nan)
    # An undefined p-value of a tested annotator speaks for nobody: it counts as 1.
    family = np.where(tested[:, np.newaxis] & np.isnan(p_values), 1.0, p_values)
    rejected = _reject(benjamini_yekutieli, family, settings)
    rejected_bh = _reject(benjamini_hochberg, family, settings)
    return Figures(
        tested=tested,
        n_items=sums.n_items,
        advantage_judge=judge,
        advantage_human=human,
        difference=difference,
        p_values=p_values,
        rejected=rejected,
        rejected_bh=rejected_bh,
        winning_rate=share_of_annotators(rejected, tested, settings.quality),
        winning_rate_bh=share_of_annotators(rejected_bh, tested, settings.quality),
        advantage_probability=_mean_over_tested(judge, tested),
        human_advantage=_mean_over_tested(human, tested),
    )


def mean_difference(
    sums: OutcomeSums, epsilons: NDArray[np.float64], *, mode: EpsilonMode, design: Design
) -> MeanDifference:
    """Estimate the mean of d for every ε: sums of shape (..., m) give (..., n_epsilons, m)."""
    values, target = _difference_values(epsilons, mode)
    weights = sums.weights[..., np.newaxis, :, :]
    squares = sums.squares[..., np.newaxis, :, :, :]
    n_units = sums.n_units[..., np.newaxis, :].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = weights.sum(axis=-1)
        mean = (weights * values[:, np.newaxis, :]).sum(axis=-1) / mass
        centred = values[:, np.newaxis, :] - mean[..., np.newaxis]
        if design == "weighted":
            variance = (weights * centred**2).sum(axis=-1) / mass
            effective = mass**2 / np.trace(squares, axis1=-2, axis2=-1)
            squared_error = variance / effective
            freedom = np.broadcast_to(effective - 1, mean.shape)
        else:
            spread = np.einsum("...r,...rs,...s->...", centred, squares, centred)
            scale = np.trace(squares, axis1=-2, axis2=-1)
            spread = np.where(spread <= _ZERO_VARIANCE * scale, 0.0, spread)
            squared_error = spread * n_units / (n_units - 1) / mass**2
            freedom = np.broadcast_to(n_units - 1, mean.shape)
        error = np.sqrt(np.where(n_units > 1, squared_error, np.nan))
    return MeanDifference(
        mean=mean, standard_error=error, degrees_of_freedom=freedom, target=target[:, np.newaxis]
    )


def _difference_values(
    epsilons: NDArray[np.float64], mode: EpsilonMode
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Value of d per outcome, shape (n_epsilons, 3), and its target under the null hypothesis."""
    human = np.array([0.0, 1.0, 1.0])
    judge = np.array([1.0, 1.0, 0.0])
    if mode == "additive":
        return np.broadcast_to(human - judge, (len(epsilons), 3)), epsilons
    return human - judge / (1 - epsilons[:, np.newaxis]), np.zeros(len(epsilons))


def t_test_p_values(difference: MeanDifference) -> NDArray[np.float64]:
    """Left-tail p-values; with no variance 0 if the mean is below its target, else 1."""
    distance = difference.mean - difference.target
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = stdtr(difference.degrees_of_freedom, distance / difference.standard_error)
    certain = np.where(distance < 0, 0.0, 1.0)
    return np.where(difference.standard_error == 0, certain, p_values)


def exact_counts(sums: OutcomeSums) -> NDArray[np.int64]:
    """Count the units that the exact test sees by outcome, shape (..., n_annotators, 3).

    Independent items are themselves; of others wins are rounded down and losses up.
    """
    weights = sums.weights
    with np.errstate(invalid="ignore", divide="ignore"):
        mass = weights.sum(axis=-1)
        units = np.floor(np.nan_to_num(mass**2 / sums.squares.sum(axis=(-2, -1))) + 1e-9)
        shares = np.nan_to_num(weights / mass[..., np.newaxis]) * units[..., np.newaxis]
    won, lost = np.floor(shares[..., 0] + 1e-9), np.ceil(shares[..., 2] - 1e-9)
    return np.stack([won, units - won - lost, lost], axis=-1).astype(np.int64)


def _exact_p_values(
    sums: OutcomeSums, settings: TestSettings, tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    p_values = np.full((tested.shape[0], len(settings.epsilons), tested.shape[1]), np.nan)
    counts = exact_counts(sums)
    for judge, annotator in np.argwhere(tested):
        won, ties, lost = counts[judge, annotator].tolist()
        for position, epsilon in enumerate(settings.epsilons.tolist()):
            p_value = remembered_p_value(won, ties, lost, epsilon, settings.mode)
            p_values[judge, position, annotator] = p_value
    return p_values


def _reject(
    procedure: Callable[..., NDArray[np.bool_]],
    p_values: NDArray[np.float64],
    settings: TestSettings,
) -> NDArray[np.bool_]:
    if settings.family == "annotators":
        return procedure(p_values, false_discovery_rate=settings.false_discovery_rate)
    n_judges, n_epsilons, n_annotators = p_values.shape
    together = p_values.swapaxes(0, 1).reshape(n_epsilons, n_judges * n_annotators)
    rejected = procedure(together, false_discovery_rate=settings.false_discovery_rate)
    return rejected.reshape(n_epsilons, n_judges, n_annotators).swapaxes(0, 1)


def share_of_annotators(
    chosen: NDArray[np.bool_], tested: NDArray[np.bool_], quality: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Share of the tested annotators that are chosen, by their weight; nan without any."""
    weight = tested * (1.0 if quality is None else quality)
    total = weight.sum(axis=-1, keepdims=True)
    won = (chosen * weight[:, np.newaxis]).sum(axis=-1)
    return np.divide(won, total, out=np.full(won.shape, np.nan), where=total > 0)


def _mean_over_tested(
    advantage: NDArray[np.float64], tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    count = np.count_nonzero(tested, axis=-1)
    total = np.where(tested, advantage, 0.0).sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def smallest_epsilons(parts: Sequence[OutcomeSums], settings: TestSettings) -> list[float | None]:
    """Find the smallest margin, a multiple of .001, at which each judge passes in all parts.

    `parts` are sums of shape (n_judges, n_annotators), such as with failures dropped and lost.
    None where no margin below 1 is enough. An exact p-value can rise a little with ε: the search
    by halves gives a margin at which the judge passes while it fails at .001 less, and once in a
    hundred tables a smaller one would do too.
    """
    n_judges, n_annotators = parts[0].n_units.shape
    together = settings.family == "judges"
    step = n_judges if together else max(1, _CELLS_AT_ONCE // (_STEPS * max(n_annotators, 1)))
    if settings.method == "exact":
        step = n_judges if together else 1
    found: list[float | None] = []
    for start in range(0, n_judges, step):
        some = [part.rows(slice(start, start + step)) for part in parts]
        if settings.method == "exact":
            found += [_halve(some, settings, judge) for judge in range(len(some[0].n_units))]
        else:
            passed = _passing(some, settings, np.arange(_STEPS))
            first = np.where(passed.any(axis=1), passed.argmax(axis=1), -1)
            found += [None if place < 0 else place / _STEPS for place in first.tolist()]
    return found


def _halve(parts: Sequence[OutcomeSums], settings: TestSettings, judge: int) -> float | None:
    low, high = -1, _STEPS  # low fails (or is nothing), high passes (or is nothing)
    while high - low > 1:
        middle = (low + high) // 2
        passed = _passing(parts, settings, np.array([middle]))[judge, 0]
        low, high = (low, middle) if passed else (middle, high)
    return None if high == _STEPS else high / _STEPS


def _passing(
    parts: Sequence[OutcomeSums], settings: TestSettings, steps: NDArray[np.int64]
) -> NDArray[np.bool_]:
    varied = replace(settings, epsilons=steps / _STEPS)
    passed: NDArray[np.bool_] = np.all(
        [compute_figures(part, varied).passed for part in parts], axis=0
    )
    return passed
