r"""How many items and annotators an examination needs: its power, simulated before it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from voirdire._types import EpsilonMode, Method
from voirdire._validation import (
    check_choice,
    check_count,
    check_epsilons,
    check_fraction,
    shorten,
)
from voirdire.errors import InputError
from voirdire.stats.alignment import AccuracyScorer
from voirdire.stats.comparison import HumanBlock
from voirdire.stats.exact_test import exact_bounds
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.figures import (
    TestSettings,
    exact_counts,
    mean_difference,
    passes,
    t_test_p_values,
)
from voirdire.stats.noise_model import EVERYTHING, NoiseModel, ShareGiven, check_shares
from voirdire.stats.outcome import CONSTANT_LEVEL
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, TIE, OutcomeSums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.noise_model import SimulatedLabels

__all__ = [
    "DEFAULT_EPSILONS",
    "DEFAULT_SIZES",
    "PowerGrid",
    "PowerResult",
    "PowerRow",
    "PowerTally",
    "Route",
    "SmallestSize",
    "StudySums",
    "power",
    "simulate_rows",
]

Route: TypeAlias = Literal["assumptions", "resampling", "noise_model"]
"""Whence simulated labels come: from assumed noise, from the pilot's items and annotators drawn
anew, or from noise fitted to the pilot."""

DEFAULT_SIZES = (30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400)
"""Items of a study to look at where nothing else is said."""

DEFAULT_EPSILONS = (0.1, 0.15, 0.2)
"""Margins for crowds, skilled annotators and experts."""

_ITEMS_AT_ONCE = 1 << 17
"""Items of all studies that are simulated together; bounds memory, and fixes what a seed gives."""

_LABELS_AT_ONCE = 32 * _ITEMS_AT_ONCE
"""Their labels: more than 32 annotators make blocks smaller."""

_MOST_LABELS = 10**8
"""Labels of one study, which is simulated as a whole."""

_MOST_SIZES = 1_000
_MOST_FIGURES = 10**6
"""Sizes by annotators by ε of one study: each takes as much memory as a hundred labels."""

_MOST_CONSTANTS = 10
"""The most frequent labels of a study, of which the constant judge gives the best."""


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """The power of one size of study at one ε.

    Attributes
    ----------
    n_items, n_annotators : int
        Of the study.
    epsilon : float
        Margin, in [0, 1).
    power : float
        Share of the simulated studies whose outcome is ``"passed"``, in [0, 1]. 0 where no
        annotator has enough items to be tested.
    standard_error : float
        Of that share, for a binomial one.
    winning_rate_power : float
        Share of the studies with ω at least .5 by the chosen method, in [0, 1].
    winning_rate : float
        Mean of ω over the studies in which it is defined, in [0, 1]; nan where in none.
    n_simulations : int
        Studies simulated.
    route : {"assumptions", "resampling", "noise_model"}
        Whence their labels came.
    label_share : float
        Share of the study's items that an annotator labels, in (0, 1]: below 1 where the pilot
        has gaps.
    n_labels : int
        Labels that annotators give: n_items * n_annotators * label_share, rounded.
    reason : str or None
        Why ω is undefined in all of them.
    """

    n_items: int
    n_annotators: int
    epsilon: float
    power: float
    standard_error: float
    winning_rate_power: float
    winning_rate: float
    n_simulations: int
    route: Route
    label_share: float
    n_labels: int
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class SmallestSize:
    """The fewest items of the grid from which on the power is as wanted.

    Attributes
    ----------
    n_annotators : int
        Of the study.
    epsilon : float
        Margin, in [0, 1).
    n_items : int or None
        With this many items, and with every larger number of the grid, the power reaches the
        wanted one; None where it does not with the largest.
    n_labels : int or None
        Labels that annotators give there, less than n_items * n_annotators with gaps.
    power : float or None
        The power there.
    """

    n_annotators: int
    epsilon: float
    n_items: int | None
    n_labels: int | None
    power: float | None


@dataclass(frozen=True, kw_only=True)
class PowerResult:
    """The power of studies of many sizes.

    Attributes
    ----------
    wanted_power : float
        In (0, 1).
    human_kappa, judge_kappa : float
        Cohen's kappa of two annotators, and of the judge and an annotator: as assumed (in
        expectation), or pooled over the pairs of labels in the pilot; nan where labels are not of
        a nominal question or kappa is undefined.
    human_noise, judge_noise : float
        η, as assumed or as fitted to the pilot, in [0, 1]; nan where no noise model was fitted.
    rows : tuple of PowerRow
        By number of annotators, then of items, then ε, in this order.
    smallest_sizes : tuple of SmallestSize
        The fewest items for each number of annotators and ε.
    smallest_plans : tuple of SmallestSize
        For each ε the plan with the fewest labels (of equals the one with fewer annotators). ε is
        fixed for reasons of cost before data are seen, so that margins do not compete.
    cautions : tuple of str
        What weakens the figures.
    settings : dict
        Everything that determines them, the seed included.
    """

    wanted_power: float
    human_kappa: float
    judge_kappa: float
    human_noise: float
    judge_noise: float
    rows: tuple[PowerRow, ...]
    smallest_sizes: tuple[SmallestSize, ...]
    smallest_plans: tuple[SmallestSize, ...]
    cautions: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(rows: Sequence[PowerRow], *, wanted_power: float, **figures: Any) -> PowerResult:
        """Find the smallest sizes and plans of rows, and put everything together."""
        curves: dict[tuple[int, float], list[PowerRow]] = {}
        for row in rows:
            curves.setdefault((row.n_annotators, row.epsilon), []).append(row)
        sizes = [_smallest_size(curve, wanted_power) for curve in curves.values()]
        plans = [
            _fewest_labels([size for size in sizes if size.epsilon == epsilon])
            for epsilon in dict.fromkeys(row.epsilon for row in rows)
        ]
        return PowerResult(
            rows=tuple(rows),
            wanted_power=wanted_power,
            smallest_sizes=tuple(sizes),
            smallest_plans=tuple(plans),
            **figures,
        )

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The margins, in the order given."""
        return tuple(dict.fromkeys(row.epsilon for row in self.rows))

    @property
    def annotators(self) -> tuple[int, ...]:
        """The numbers of annotators, ascending."""
        return tuple(dict.fromkeys(row.n_annotators for row in self.rows))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of items, ascending."""
        return tuple(dict.fromkeys(row.n_items for row in self.rows))

    def curve(self, *, n_annotators: int, epsilon: float) -> tuple[PowerRow, ...]:
        """Return the rows of one number of annotators and one ε, by number of items."""
        return tuple(
            row for row in self.rows if row.n_annotators == n_annotators and row.epsilon == epsilon
        )

    def __str__(self) -> str:
        from voirdire.stats.display import text_table

        return f"{text_table(self._table())}\n{self._plans()}"

    def _repr_html_(self) -> str:
        """Show the powers and the smallest plans in a notebook."""
        from voirdire.stats.display import html_table

        return f"<div>{html_table(self._table())}<p>{self._plans()}</p></div>"

    def _table(self) -> list[tuple[str, ...]]:
        """Give a head and a row per size, with a column per number of annotators and ε."""
        columns = [(m, e) for m in self.annotators for e in self.epsilons]
        head = ("items", *(f"{m} annotators, ε {e:g}" for m, e in columns))
        powers = {(row.n_items, row.n_annotators, row.epsilon): row.power for row in self.rows}
        return [
            head,
            *(
                (f"{n:,}", *(f"{powers[n, m, e]:.2f}" for m, e in columns if (n, m, e) in powers))
                for n in self.sizes
            ),
        ]

    def _plans(self) -> str:
        """Say the smallest plan at each margin."""
        said = []
        for plan in self.smallest_plans:
            if plan.n_items is None:
                said.append(f"ε = {plan.epsilon:g}: none reaches {self.wanted_power:g}")
            else:
                size = f"{plan.n_items:,} items by {plan.n_annotators:,} annotators"
                said.append(f"ε = {plan.epsilon:g}: {size}, power {plan.power:.2f}")
        return "Smallest plans: " + "; ".join(said) + "."


def _smallest_size(curve: Sequence[PowerRow], wanted: float) -> SmallestSize:
    found: PowerRow | None = None
    for row in reversed(curve):
        if row.power < wanted:
            break
        found = row
    return SmallestSize(
        n_annotators=curve[0].n_annotators,
        epsilon=curve[0].epsilon,
        n_items=None if found is None else found.n_items,
        n_labels=None if found is None else found.n_labels,
        power=None if found is None else found.power,
    )


def _fewest_labels(sizes: Sequence[SmallestSize]) -> SmallestSize:
    return min(sizes, key=lambda size: float("inf") if size.n_labels is None else size.n_labels)


def power(
    *,
    human_noise: float,
    judge_noise: float,
    n_categories: int | None = None,
    prevalences: Sequence[float] | None = None,
    n_items: int | Sequence[int] = DEFAULT_SIZES,
    n_annotators: int | Sequence[int] = 3,
    epsilon: float | Sequence[float] = DEFAULT_EPSILONS,
    epsilon_mode: EpsilonMode = "additive",
    method: Method = "t",
    false_discovery_rate: float = 0.05,
    min_items: int = 30,
    wanted_power: float = 0.8,
    n_simulations: int = 1_000,
    seed: int = 0,
) -> PowerResult:
    r"""Find how many items and annotators an examination needs, before anyone annotates.

    Studies are simulated under assumed noise and examined by the alternative annotator test with
    the alignment ``"accuracy"`` [1]_. The power of a size of study is the share of simulated
    studies whose outcome is ``"passed"``: ω at least .5 by the exact test, and the judge shown
    closer to the annotators than the best constant answer.

    Parameters
    ----------
    human_noise, judge_noise : float
        η, the probability that an annotator's or the judge's label is a blind guess instead of
        the truth, in [0, 1]. Two annotators then have a Cohen kappa of (1 - η_h)², so that an
        annotator noise of .1, .3, .5 stands for a kappa of .81, .49, .25.
    n_categories : int, optional
        Number of labels, 2 to 10,000; by default as many as `prevalences`, or 2 without them.
    prevalences : sequence of float, optional
        Share of each label, summing to 1. By default drawn anew for every simulated study,
        uniformly: power is then an average over skewed and even questions.
    n_items, n_annotators : int or sequence of int, optional
        Sizes of study to look at, at least 2 each; at most 1,000 sizes, and at most 10⁸ labels
        in the largest study.
    epsilon : float or sequence of float, optional
        Cost-benefit margins, fractions in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}, optional
        As in `voirdire.alt_test`.
    method : {"t", "exact"}, optional
        By which `winning_rate` and `winning_rate_power` are; the outcome is always exact.
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over annotators, in (0, 1).
    min_items : int, optional
        Fewest items for an annotator to be tested, at least 2, as in the examination. With fewer
        nobody is tested, so the power is 0, and `reason` says why.
    wanted_power : float, optional
        In (0, 1).
    n_simulations : int, optional
        Studies per number of annotators, at least 1; the standard error of a power of .8 is .013
        with 1,000.
    seed : int, optional
        Of the simulation.

    Returns
    -------
    PowerResult
        One row per size of study and ε, the fewest items that reach the wanted power, and the
        plan with the fewest labels.

    Raises
    ------
    InputError
        If a setting breaks a rule above.

    Notes
    -----
    Every simulated study is drawn once, at the largest size: its first items and its first
    annotators are the smaller studies, and one pass over cumulative outcomes gives all sizes and
    every ε. Rows are therefore dependent, and rise smoothly. Memory is bounded; time is
    O(n_simulations * n_items * n_annotators²). A seed gives the same figures for the same
    largest `n_items`, whatever the other sizes and, up to 32, the numbers of annotators.

    The noise model lets everyone err independently of each other and alike on all items. Real
    items differ in difficulty, so that errors coincide; then a pilot study tells more, see
    `voirdire.studies.power_from_pilot`. On skewed labels ω passes far more often than the outcome
    does: a judge that guesses blindly does, too. Declare `prevalences` where labels will be
    skewed.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    A judge as noisy as the annotators needs far more items under a narrow margin:

    >>> shares = [0.5, 0.5]
    >>> result = power(human_noise=0.3, judge_noise=0.3, prevalences=shares, n_simulations=400)
    >>> [(size.epsilon, size.n_items) for size in result.smallest_sizes]
    [(0.1, 200), (0.15, 100), (0.2, 60)]
    """
    shares = None if prevalences is None else check_shares(prevalences)
    if n_categories is None:
        n_categories = 2 if shares is None else len(shares)
    model = NoiseModel(
        human_noise=human_noise,
        judge_noise=judge_noise,
        n_categories=n_categories,
        prevalences=shares,
    )
    grid = PowerGrid.of(
        n_items=n_items,
        n_annotators=n_annotators,
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        false_discovery_rate=false_discovery_rate,
        min_items=min_items,
        wanted_power=wanted_power,
        n_simulations=n_simulations,
        seed=seed,
    )
    return PowerResult.of(
        simulate_rows(model, grid, route="assumptions"),
        wanted_power=grid.wanted_power,
        human_kappa=model.human_kappa,
        judge_kappa=model.judge_kappa,
        human_noise=model.human_noise,
        judge_noise=model.judge_noise,
        settings={
            "human_noise": model.human_noise,
            "judge_noise": model.judge_noise,
            "n_categories": model.n_categories,
            "prevalences": None if shares is None else list(shares),
        }
        | grid.as_settings(),
    )


@dataclass(frozen=True, kw_only=True)
class PowerGrid:
    """What a simulation is asked: sizes of study, the test, and how often.

    Attributes
    ----------
    sizes, annotators : tuple of int
        Numbers of items and of annotators, ascending.
    test : TestSettings
        The test of every study.
    wanted_power : float
        In (0, 1).
    n_simulations : int
        Studies per number of annotators.
    seed : int
        Of the simulation.
    """

    sizes: tuple[int, ...]
    annotators: tuple[int, ...]
    test: TestSettings
    wanted_power: float
    n_simulations: int
    seed: int

    @staticmethod
    def of(
        *,
        n_items: int | Sequence[int],
        n_annotators: int | Sequence[int],
        epsilon: float | Sequence[float],
        epsilon_mode: EpsilonMode,
        method: Method,
        false_discovery_rate: float,
        min_items: int,
        wanted_power: float,
        n_simulations: int,
        seed: int,
        clustered: bool = False,
    ) -> PowerGrid:
        """Check what was asked; the rules are those of `voirdire.power`."""
        check_choice("method", method, Method)
        if method == "exact" and clustered:
            msg = "`method` must be 't' with clusters, got 'exact'."
            raise InputError(msg)
        test = TestSettings(
            epsilons=np.asarray(tuple(dict.fromkeys(check_epsilons(epsilon)))),
            mode=check_choice("epsilon_mode", epsilon_mode, EpsilonMode),
            method=method,
            design="clustered" if clustered else "items",
            false_discovery_rate=check_fraction("false_discovery_rate", false_discovery_rate),
            min_items=check_count("min_items", min_items, minimum=2),
        )
        sizes, annotators = _counts("n_items", n_items), _counts("n_annotators", n_annotators)
        _check_memory(sizes, annotators, n_epsilons=len(test.epsilons))
        return PowerGrid(
            sizes=sizes,
            annotators=annotators,
            test=test,
            wanted_power=check_fraction("wanted_power", wanted_power),
            n_simulations=check_count("n_simulations", n_simulations, minimum=1),
            seed=check_count("seed", seed, minimum=0),
        )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Split the simulations: number of the first, and how many, per block."""
        n_items, n_annotators = self.sizes[-1], self.annotators[-1]
        step = min(_ITEMS_AT_ONCE // n_items, _LABELS_AT_ONCE // (n_items * n_annotators))
        step = max(1, step)
        for start in range(0, self.n_simulations, step):
            yield start, min(step, self.n_simulations - start)

    def as_settings(self) -> dict[str, Any]:
        """Return what was asked as plain values."""
        return {
            "n_items": list(self.sizes),
            "n_annotators": list(self.annotators),
            "epsilon": self.test.epsilons.tolist(),
            "epsilon_mode": self.test.mode,
            "method": self.test.method,
            "false_discovery_rate": self.test.false_discovery_rate,
            "min_items": self.test.min_items,
            "wanted_power": self.wanted_power,
            "n_simulations": self.n_simulations,
            "seed": self.seed,
        }


def _counts(name: str, value: int | Sequence[int]) -> tuple[int, ...]:
    """Return whole numbers of at least 2, ascending and each once."""
    given: tuple[Any, ...] = (value,)
    if isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0:
        given = tuple(islice(value, _MOST_SIZES + 1))
    if not given:
        msg = f"`{name}` must hold at least one number, got {shorten(value)}."
        raise InputError(msg)
    if len(given) > _MOST_SIZES:
        msg = f"`{name}` must hold at most {_MOST_SIZES:,} numbers, got more."
        raise InputError(msg)
    return tuple(sorted({check_count(name, count, minimum=2) for count in given}))


def _check_memory(sizes: tuple[int, ...], annotators: tuple[int, ...], *, n_epsilons: int) -> None:
    """Refuse studies that are too large to be simulated one at a time."""
    if sizes[-1] * annotators[-1] > _MOST_LABELS:
        msg = (
            f"`n_items` times `n_annotators` must be at most {_MOST_LABELS:,}, got "
            f"{shorten(f'{sizes[-1]:,} times {annotators[-1]:,}')}. Ask about smaller studies."
        )
        raise InputError(msg)
    if len(sizes) * annotators[-1] * n_epsilons > _MOST_FIGURES:
        msg = (
            f"`n_items` must hold at most {_MOST_FIGURES:,} numbers times `n_annotators` times "
            f"ε, got {len(sizes):,} times {annotators[-1]:,} times {n_epsilons:,}. "
            "Ask about fewer at once."
        )
        raise InputError(msg)


@dataclass(frozen=True, kw_only=True)
class StudySums:
    """What the outcomes of simulated studies follow from.

    Attributes
    ----------
    judge : OutcomeSums
        Of shape (n_studies, n_sizes, n_annotators).
    gain_p_values : ndarray of float, shape (n_studies, n_sizes)
        Of the judge being no closer to the annotators than the best constant answer.
    """

    judge: OutcomeSums
    gain_p_values: NDArray[np.float64]

    @staticmethod
    def of(
        judge: NDArray[np.int8], constants: Iterable[NDArray[np.int8]], sizes: Sequence[int]
    ) -> StudySums:
        """Sum outcomes of shape (n_annotators, n_studies, n_items), for every size in one pass."""
        starts = [0, *sizes[:-1]]

        def sum_up(values: NDArray[Any], kind: Any) -> NDArray[Any]:
            used = values[..., : sizes[-1]]
            return np.add.reduceat(used, starts, axis=-1, dtype=kind).cumsum(axis=-1)

        counts = np.stack(
            [
                sum_up((judge == kind).view(np.uint8), np.int64).transpose(1, 2, 0)
                for kind in (JUDGE_WINS, TIE, HUMAN_WINS)
            ],
            axis=-1,
        )
        weights = counts.astype(np.float64)
        sums = OutcomeSums(
            counts=counts,
            weights=weights,
            squares=weights[..., np.newaxis] * np.eye(3),
            n_units=counts.sum(axis=-1),
        )

        def moments(gains: NDArray[np.float64], met: NDArray[np.bool_]) -> Moments:
            n_met = sum_up(met.view(np.uint8), np.float64)
            total, squares = sum_up(gains, np.float64), sum_up(gains * gains, np.float64)
            return Moments(n_items=n_met, n_units=n_met, total=total, squares=squares)

        return StudySums(
            judge=sums, gain_p_values=gain_p_values(judge, constants, sums, sum_up, moments)
        )


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Sums over items of a judge's gain, arrays over studies and sizes.

    `squares` are those of the items' or clusters' totals; with clusters `mixed` and `sizes` are
    the sums of a cluster's total times its items, and of its items squared.
    """

    n_items: NDArray[np.float64]
    n_units: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    mixed: NDArray[np.float64] | None = None
    sizes: NDArray[np.float64] | None = None

    def p_values(self) -> NDArray[np.float64]:
        """Test the mean above 0 by a paired t-test, one-sided."""
        mixed = self.total if self.mixed is None else self.mixed
        sizes = self.n_items if self.sizes is None else self.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.total / self.n_items
            spread = self.squares - 2 * mean * mixed + mean**2 * sizes
            spread = np.where(spread <= 1e-12 * np.maximum(self.squares, 1.0), 0.0, spread)
            error = np.sqrt(self.n_units / (self.n_units - 1) * spread) / self.n_items
            p_values = stdtr(self.n_units - 1, -mean / error)
            certain = np.where(mean > 1e-12, 0.0, 1.0)
        return np.where(error == 0, certain, p_values)


def gain_p_values(
    judge: NDArray[np.int8],
    constants: Iterable[NDArray[np.int8]],
    sums: OutcomeSums,
    sum_up: Callable[[NDArray[Any], Any], NDArray[Any]],
    moments: Callable[[NDArray[np.float64], NDArray[np.bool_]], Moments],
) -> NDArray[np.float64]:
    """Test the judge against the constant with the largest ρ, in every study and at every size.

    By the paired t-test of the items' means over annotators; nan without a constant.
    """
    compared = judge >= 0
    n_met = np.maximum(np.count_nonzero(compared, axis=0), 1)
    ahead = judge.view(np.uint8) < HUMAN_WINS
    best = np.full(sums.n_units.shape[:-1], -np.inf)
    p_values = np.full(best.shape, np.nan)
    for constant in constants:
        won = (constant.view(np.uint8) < HUMAN_WINS) & compared
        wins = sum_up(won.view(np.uint8), np.float64).transpose(1, 2, 0)
        advantage = (wins / np.maximum(sums.n_items, 1)).mean(axis=-1)
        gap = np.subtract(ahead, won, dtype=np.int8).sum(axis=0, dtype=np.int64)
        found = moments(gap / n_met, np.asarray(compared.any(axis=0))).p_values()
        p_values = np.where(advantage > best, found, p_values)
        best = np.maximum(best, advantage)
    return p_values


class PowerTally:
    """How many studies with some number of annotators were passed, by size and ε."""

    def __init__(self, grid: PowerGrid) -> None:
        self._grid = grid
        shape = (len(grid.sizes), len(grid.test.epsilons))
        self._n_passed = np.zeros(shape, dtype=np.int64)
        self._n_won = np.zeros(shape, dtype=np.int64)
        self._n_defined = np.zeros(shape, dtype=np.int64)
        self._rate_sum = np.zeros(shape)
        self._n_studies = 0

    def add(self, sums: StudySums) -> None:
        """Count studies."""
        test = self._grid.test
        exact = _winning_rates(sums.judge, test, is_exact=True)
        is_exact = test.method == "exact"
        rates = exact if is_exact else _winning_rates(sums.judge, test, is_exact=False)
        above = (sums.gain_p_values <= CONSTANT_LEVEL)[..., np.newaxis]
        self._n_studies += len(rates)
        self._n_passed += np.count_nonzero(passes(exact) & above, axis=0)
        self._n_won += np.count_nonzero(passes(rates), axis=0)
        self._n_defined += np.count_nonzero(~np.isnan(rates), axis=0)
        self._rate_sum += np.nansum(rates, axis=0)

    def rows(self, n_annotators: int, *, route: Route, label_share: float = 1.0) -> list[PowerRow]:
        """Report the counts, size by size."""
        rows = []
        for place, n_items in enumerate(self._grid.sizes):
            for position, epsilon in enumerate(self._grid.test.epsilons.tolist()):
                share = int(self._n_passed[place, position]) / self._n_studies
                n_defined = int(self._n_defined[place, position])
                reason = None
                if not n_defined:
                    reason = (
                        f"no annotator has the {self._grid.test.min_items} items of `min_items`"
                    )
                rows.append(
                    PowerRow(
                        n_items=n_items,
                        n_annotators=n_annotators,
                        epsilon=epsilon,
                        power=share,
                        standard_error=math.sqrt(share * (1 - share) / self._n_studies),
                        winning_rate_power=int(self._n_won[place, position]) / self._n_studies,
                        winning_rate=float(self._rate_sum[place, position]) / n_defined
                        if n_defined
                        else math.nan,
                        n_simulations=self._n_studies,
                        route=route,
                        label_share=label_share,
                        n_labels=round(n_items * n_annotators * label_share),
                        reason=reason,
                    )
                )
        return rows


def _winning_rates(sums: OutcomeSums, test: TestSettings, *, is_exact: bool) -> NDArray[np.float64]:
    """Find ω of every study, as `compute_figures` does: shape (n_studies, n_sizes, n_epsilons)."""
    tested = sums.n_items >= test.min_items
    p_values = None
    if not is_exact or test.design == "clustered":
        p_values = t_test_p_values(
            mean_difference(sums, test.epsilons, mode=test.mode, design=test.design)
        )
    if is_exact:
        counts = sums.counts if test.design == "items" else exact_counts(sums)
        bounds = exact_bounds(
            counts, test.epsilons, mode=test.mode, false_discovery_rate=test.false_discovery_rate
        )
        p_values = bounds if p_values is None else np.maximum(bounds, p_values)
    # An undefined p-value of a tested annotator speaks for nobody: it counts as 1.
    family = np.where(np.isnan(p_values), 1.0, p_values)  # type: ignore[arg-type]
    family[np.broadcast_to(~tested[..., np.newaxis, :], family.shape)] = np.nan
    rejected = benjamini_yekutieli(family, false_discovery_rate=test.false_discovery_rate)
    n_tested = np.count_nonzero(tested, axis=-1)[..., np.newaxis]
    won = np.count_nonzero(rejected, axis=-1)
    return np.divide(won, n_tested, out=np.full(won.shape, np.nan), where=n_tested > 0)


def simulate_rows(
    model: NoiseModel,
    grid: PowerGrid,
    *,
    route: Route,
    annotators: Sequence[int] | None = None,
    given: ShareGiven = EVERYTHING,
) -> list[PowerRow]:
    """Simulate studies from a noise model, with gaps, for some numbers of annotators or all."""
    wanted = grid.annotators if annotators is None else tuple(annotators)
    tallies = {n_annotators: PowerTally(grid) for n_annotators in wanted}
    for start, n_studies in grid.blocks():
        labels = model.draw(
            np.random.default_rng([grid.seed, start]),
            n_studies=n_studies,
            n_items=grid.sizes[-1],
            n_annotators=max(wanted),
        )
        # another stream than that of the labels, which are the same with and without gaps
        labels = given.thin(labels, np.random.default_rng([grid.seed, start, 1]))
        constants = _frequent_labels(labels, model.n_categories)
        for n_annotators, tally in tallies.items():
            humans = labels.humans[..., :n_annotators].reshape(-1, n_annotators)
            block = HumanBlock(humans, scorer=AccuracyScorer(model.n_categories, n_annotators))
            shape = (n_annotators, *labels.judge.shape)
            judge = block.outcomes(labels.judge.ravel()).reshape(shape)
            others = (
                block.outcomes(np.repeat(constant, grid.sizes[-1])).reshape(shape)
                for constant in constants.T
            )
            tally.add(StudySums.of(judge, others, grid.sizes))
    return [
        row
        for m, tally in tallies.items()
        for row in tally.rows(m, route=route, label_share=given.humans)
    ]


def _frequent_labels(labels: SimulatedLabels, n_categories: int) -> NDArray[Any]:
    """Find the labels that annotators give most often in each study, shape (n_studies, n)."""
    n_studies = len(labels.judge)
    if n_categories <= _MOST_CONSTANTS:
        return np.tile(np.arange(n_categories, dtype=labels.judge.dtype), (n_studies, 1))
    return np.stack(
        [
            np.argpartition(
                -np.bincount(codes[codes >= 0], minlength=n_categories), _MOST_CONSTANTS
            )
            for codes in labels.humans.reshape(n_studies, -1)
        ]
    )[:, :_MOST_CONSTANTS].astype(labels.judge.dtype)
