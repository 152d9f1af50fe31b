"""From outcome sums to ω, ρ and p-values, for all judges and every ε at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.exact_test import exact_p_value
from voirdire.stats.fdr import benjamini_hochberg, benjamini_yekutieli
from voirdire.stats.paired_test import Design, mean_difference, t_test_p_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode, Method
    from voirdire.stats.outcome_sums import OutcomeSums
    from voirdire.stats.paired_test import MeanDifference

__all__ = ["Figures", "TestSettings", "compute_figures", "passes"]


@dataclass(frozen=True, kw_only=True)
class TestSettings:
    """What determines the test, once labels are compared.

    Attributes
    ----------
    epsilons : ndarray of float, shape (n_epsilons,)
    mode, method, design
        How ε enters; t-test or exact; what is independent.
    false_discovery_rate : float
        Over annotators.
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
    quality: NDArray[np.float64] | None = None
    excluded: int | None = None


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Arrays over judges, ε and annotators; nan where an annotator is not tested.

    Attributes
    ----------
    tested : ndarray of bool, shape (n_judges, n_annotators)
    advantage_judge, advantage_human : ndarray of float, shape (n_judges, n_annotators)
    difference : MeanDifference
        Of shape (n_judges, n_epsilons, n_annotators).
    p_values : ndarray of float, shape (n_judges, n_epsilons, n_annotators)
    rejected, rejected_bh : ndarray of bool, shape (n_judges, n_epsilons, n_annotators)
    winning_rate, winning_rate_bh : ndarray of float, shape (n_judges, n_epsilons)
    advantage_probability, human_advantage : ndarray of float, shape (n_judges,)
    """

    tested: NDArray[np.bool_]
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
    p_values = _p_values(sums, difference, settings, tested)
    # An undefined p-value of a tested annotator speaks for nobody: it counts as 1.
    family = np.where(tested[:, np.newaxis] & np.isnan(p_values), 1.0, p_values)
    rejected = benjamini_yekutieli(family, false_discovery_rate=settings.false_discovery_rate)
    rejected_bh = benjamini_hochberg(family, false_discovery_rate=settings.false_discovery_rate)
    return Figures(
        tested=tested,
        advantage_judge=judge,
        advantage_human=human,
        difference=difference,
        p_values=p_values,
        rejected=rejected,
        rejected_bh=rejected_bh,
        winning_rate=_winning_rate(rejected, tested, settings.quality),
        winning_rate_bh=_winning_rate(rejected_bh, tested, settings.quality),
        advantage_probability=_mean_over_tested(judge, tested),
        human_advantage=_mean_over_tested(human, tested),
    )


def _p_values(
    sums: OutcomeSums,
    difference: MeanDifference,
    settings: TestSettings,
    tested: NDArray[np.bool_],
) -> NDArray[np.float64]:
    if settings.method == "exact":
        p_values = _exact_p_values(sums, settings, tested)
    else:
        p_values = t_test_p_values(difference)
    return np.where(tested[:, np.newaxis], p_values, np.nan)


def _exact_p_values(
    sums: OutcomeSums, settings: TestSettings, tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    n_judges, n_annotators = tested.shape
    p_values = np.full((n_judges, len(settings.epsilons), n_annotators), np.nan)
    for judge, annotator in np.argwhere(tested):
        minus, ties, plus = sums.counts[judge, annotator].tolist()
        for position, epsilon in enumerate(settings.epsilons.tolist()):
            p_values[judge, position, annotator] = exact_p_value(
                n_judge_wins=minus,
                n_ties=ties,
                n_human_wins=plus,
                epsilon=epsilon,
                epsilon_mode=settings.mode,
            )
    return p_values


def _winning_rate(
    rejected: NDArray[np.bool_], tested: NDArray[np.bool_], quality: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    weight = tested * (1.0 if quality is None else quality)
    total = weight.sum(axis=-1, keepdims=True)
    won = (rejected * weight[:, np.newaxis]).sum(axis=-1)
    return np.divide(won, total, out=np.full(won.shape, np.nan), where=total > 0)


def _mean_over_tested(
    advantage: NDArray[np.float64], tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    count = np.count_nonzero(tested, axis=-1)
    total = np.where(tested, advantage, 0.0).sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
