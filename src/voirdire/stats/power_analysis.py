r"""Simulates the power of an examination, to find how many items and annotators it needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, islice, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._types import EpsilonMode
from voirdire._validation import (
    change_fields,
    check_choice,
    check_count,
    check_epsilons,
    check_fraction,
)
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.records.tables import Tabular
from voirdire.stats.alignment import AccuracyScorer
from voirdire.stats.comparison import HumanBlock
from voirdire.stats.exact_test import exact_bounds
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.figures import (
    Figures,
    TestSettings,
    exact_counts,
    passes,
    t_test_p_values,
)
from voirdire.stats.judge_difference import MOST_FLIPPED, flip_signs
from voirdire.stats.noise_model import NoiseModel, check_shares
from voirdire.stats.outcome import CONSTANT_LEVEL
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, TIE, OutcomeSums
from voirdire.stats.results import Caution  # noqa: TC001  # what reads the JSON looks at the types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.comparison import Comparison

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
        Share of the studies with ω at least .5 by the t-test, in [0, 1].
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
    low, high : float or None
        Ends of its 95% interval, were the items of the pilot drawn again; None without a pilot, or
        with more annotators than it has.
    """

    n_annotators: int
    epsilon: float
    n_items: int | None
    n_labels: int | None
    power: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class PowerResult(Tabular, rows="rows"):
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
    cautions : tuple of Caution
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
    cautions: tuple[Caution, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(rows: Sequence[PowerRow], *, wanted_power: float, **figures: Any) -> PowerResult:
        """Find the smallest sizes and plans of rows, and put everything together."""
        curves: dict[tuple[int, float], list[PowerRow]] = {}
        for row in rows:
            curves.setdefault((row.n_annotators, row.epsilon), []).append(row)
        sizes = []
        for (n_annotators, epsilon), curve in curves.items():
            enough = [*takewhile(lambda row: row.power >= wanted_power, reversed(curve))]
            size = SmallestSize(
                n_annotators=n_annotators,
                epsilon=epsilon,
                n_items=enough[-1].n_items if enough else None,
                n_labels=enough[-1].n_labels if enough else None,
                power=enough[-1].power if enough else None,
            )
            sizes.append(size)
        plans: dict[float, SmallestSize] = {}
        for size in sorted(sizes, key=lambda size: size.n_labels or math.inf):
            plans.setdefault(size.epsilon, size)
        return PowerResult(
            rows=tuple(rows),
            wanted_power=wanted_power,
            smallest_sizes=tuple(sizes),
            smallest_plans=tuple(plans[epsilon] for epsilon in dict.fromkeys(e for _, e in curves)),
            **figures,
        )

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The margins, in the order given."""
        return tuple(dict.fromkeys(row.epsilon for row in self.rows))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of items, ascending."""
        return tuple(dict.fromkeys(row.n_items for row in self.rows))

    def curve(self, *, n_annotators: int, epsilon: float) -> tuple[PowerRow, ...]:
        """Return the rows of one number of annotators and one ε, by number of items."""
        return tuple(
            row for row in self.rows if row.n_annotators == n_annotators and row.epsilon == epsilon
        )


def power(
    *,
    human_noise: float,
    judge_noise: float,
    n_categories: int | None = None,
    prevalences: Sequence[float] | Literal["drawn"] | None = None,
    **settings: Any,
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
    prevalences : sequence of float or "drawn", optional
        Share of each label, summing to 1; by default all are equal. ``"drawn"`` draws them anew for
        every simulated study, uniformly, as the paper does: power is then an average over skewed
        and even questions, and may stay below 1 with any number of items.
    **settings
        Fields of `voirdire.stats.PowerSettings`, such as ``n_annotators=5`` or ``epsilon=0.1``.

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
    does: a judge that guesses blindly does, too. Give `prevalences` where labels will be skewed.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    A judge as noisy as the annotators needs far more items under a narrow margin:

    >>> result = power(human_noise=0.3, judge_noise=0.3, n_simulations=400)
    >>> [(size.epsilon, size.n_items) for size in result.smallest_sizes]
    [(0.1, 200), (0.15, 100), (0.2, 60)]
    """
    shares = None if isinstance(prevalences, str) else prevalences
    if prevalences is None:
        n_categories = check_count("n_categories", n_categories or 2, minimum=2)
        shares = np.full(n_categories, 1 / n_categories).tolist()
    elif shares is None:
        check_choice("prevalences", prevalences, Literal["drawn"])
    shares = None if shares is None else check_shares(shares)
    if n_categories is None:
        n_categories = 2 if shares is None else len(shares)
    model = NoiseModel(
        human_noise=human_noise,
        judge_noise=judge_noise,
        n_categories=n_categories,
        prevalences=shares,
    )
    grid = change_fields(PowerSettings(), settings)
    return PowerResult.of(
        simulate_rows(model, grid, route="assumptions"),
        wanted_power=grid.wanted_power,
        human_kappa=model.human_kappa,
        judge_kappa=model.judge_kappa,
        human_noise=model.human_noise,
        judge_noise=model.judge_noise,
        settings=as_plain(model) | as_plain(grid),
    )


@dataclass(frozen=True, kw_only=True)
class PowerSettings:
    """What a simulation is asked: sizes of study, the test, and how often.

    Attributes
    ----------
    n_items, n_annotators : int or sequence of int
        Sizes of study to look at, at least 2 each; at most 1,000 sizes, and at most 10⁸ labels
        in the largest study. Of a pilot by default as many annotators as it has.
    epsilon : float or sequence of float
        Cost-benefit margins, fractions in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}
        As in `voirdire.alt_test`.
    false_discovery_rate : float
        q of Benjamini-Yekutieli over annotators, in (0, 1).
    min_items : int
        Fewest items for an annotator to be tested, at least 2, as in the examination. With fewer
        nobody is tested, so the power is 0, and `reason` says why.
    wanted_power : float
        In (0, 1).
    n_simulations : int
        Studies per number of annotators, at least 1; the standard error of a power of .8 is .013
        with 1,000.
    seed : int
        Of the simulation.

    Raises
    ------
    InputError
        If a setting is out of its range.
    """

    n_items: Any = DEFAULT_SIZES
    n_annotators: Any = 3
    epsilon: Any = DEFAULT_EPSILONS
    epsilon_mode: EpsilonMode = "additive"
    false_discovery_rate: float = 0.05
    min_items: int = 30
    wanted_power: float = 0.8
    n_simulations: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings; sizes and margins become tuples, sizes ascending."""
        for name in ("n_items", "n_annotators"):
            object.__setattr__(self, name, _counts(name, getattr(self, name)))
        object.__setattr__(self, "epsilon", tuple(dict.fromkeys(check_epsilons(self.epsilon))))
        check_choice("epsilon_mode", self.epsilon_mode, EpsilonMode)
        check_fraction("false_discovery_rate", self.false_discovery_rate)
        check_fraction("wanted_power", self.wanted_power)
        for name, minimum in (("min_items", 2), ("n_simulations", 1), ("seed", 0)):
            count = check_count(name, getattr(self, name), minimum=minimum)
            object.__setattr__(self, name, count)
        most_items, most_annotators = self.n_items[-1], self.n_annotators[-1]
        if most_items * most_annotators > _MOST_LABELS:
            msg = (
                f"`n_items` times `n_annotators` must be at most {_MOST_LABELS:,}, got "
                f"{shorten(f'{most_items:,} times {most_annotators:,}')}. "
                "Ask about smaller studies."
            )
            raise InputError(msg)
        if len(self.n_items) * most_annotators * len(self.epsilon) > _MOST_FIGURES:
            msg = (
                f"`n_items` must hold at most {_MOST_FIGURES:,} numbers times `n_annotators` times "
                f"ε, got {len(self.n_items):,} times {most_annotators:,} times "
                f"{len(self.epsilon):,}. Ask about fewer at once."
            )
            raise InputError(msg)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Split the simulations: number of the first, and how many, per block."""
        n_items, n_annotators = self.n_items[-1], self.n_annotators[-1]
        step = min(_ITEMS_AT_ONCE // n_items, _LABELS_AT_ONCE // (n_items * n_annotators))
        step = max(1, step)
        for start in range(0, self.n_simulations, step):
            yield start, min(step, self.n_simulations - start)


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


def simulate_rows(
    model: NoiseModel,
    grid: PowerSettings,
    *,
    route: Route,
    annotators: Sequence[int] | None = None,
    label_share: float = 1.0,
    judge_share: float = 1.0,
) -> list[PowerRow]:
    """Simulate studies from a noise model, with gaps, for some numbers of annotators or all."""
    wanted = annotators or grid.n_annotators
    n_items = grid.n_items[-1]
    counts: dict[int, Any] = dict.fromkeys(wanted, 0)
    for start, n_studies in grid.blocks():
        labels = model.draw(
            np.random.default_rng([grid.seed, start]),
            n_studies=n_studies,
            n_items=n_items,
            n_annotators=max(wanted),
        )
        # another stream than that of the labels, which are the same with and without gaps
        rng = np.random.default_rng([grid.seed, start, 1])
        judge = _add_gaps(labels.judge, judge_share, rng)
        # annotator by annotator, so that fewer of them stay the first of more
        humans = _add_gaps(np.moveaxis(labels.humans, -1, 0), label_share, rng)
        constants = _frequent_labels(humans, model.n_categories)
        judges = [judge, *(np.broadcast_to(label[:, None], judge.shape) for label in constants)]
        for m in wanted:
            columns = humans[:m].reshape(m, -1).T
            block = HumanBlock(columns, scorer=AccuracyScorer(model.n_categories, m))
            outcomes = (block.outcomes(each.ravel()).reshape(m, *judge.shape) for each in judges)
            counts[m] += _count_studies(outcomes, grid)
    return [
        row
        for m in wanted
        for row in _rows(counts[m], grid, m, route=route, label_share=label_share)
    ]


def _add_gaps(labels: NDArray[Any], share_given: float, rng: np.random.Generator) -> NDArray[Any]:
    """Set labels to -1, missing, at random."""
    if share_given == 1:
        return labels
    given = rng.random(labels.shape, dtype=np.float32) < share_given
    return np.where(given, labels, labels.dtype.type(-1))


def _frequent_labels(humans: NDArray[Any], n_categories: int) -> NDArray[Any]:
    """Find the labels that annotators give most often in each study, shape (n, n_studies)."""
    n_studies = humans.shape[1]
    if n_categories <= _MOST_CONSTANTS:
        labels = np.tile(np.arange(n_categories)[:, np.newaxis], n_studies)
    else:
        counts = [
            np.bincount(codes[codes >= 0], minlength=n_categories)
            for codes in np.moveaxis(humans, 1, 0)
        ]
        labels = np.argpartition(-np.array(counts), _MOST_CONSTANTS)[:, :_MOST_CONSTANTS].T
    return labels.astype(humans.dtype)


def resample_rows(
    pilot: Comparison, grid: PowerSettings, *, n_annotators: int, label_share: float
) -> list[PowerRow]:
    """Find the power of studies with no more annotators than the pilot had.

    Every study draws some of the annotators, and items (or whole clusters of items) with
    replacement. Its first items are the smaller studies. The pilot's first judge is examined; the
    others are the constant answers.
    """
    counts: Any = 0
    everyone = np.arange(pilot.humans.shape[1])
    for start, n_studies in grid.blocks():
        rng = np.random.default_rng([grid.seed, start, n_annotators])
        drawn = rng.permuted(np.tile(everyone, (n_studies, 1)), axis=1)[:, :n_annotators]
        panels, which = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
        blocks = [HumanBlock(pilot.humans[:, panel], scorer=pilot.scorer) for panel in panels]
        n_items, clusters = grid.n_items[-1], None
        if pilot.clusters is None:
            items = rng.integers(len(pilot.humans), size=(n_studies, n_items))
        else:  # whole clusters, one after the other, until there are enough items
            order = np.argsort(pilot.clusters, kind="stable")
            sizes = np.unique(pilot.clusters, return_counts=True)[1]
            starts = np.cumsum(sizes) - sizes
            units = rng.integers(len(sizes), size=(n_studies, -(-n_items // int(sizes.min()))))
            ends = np.cumsum(sizes[units])
            begins = ends - sizes[units].ravel()
            places = begins.reshape(units.shape)[:, :1] + np.arange(n_items)
            clusters = np.searchsorted(ends, places, side="right")
            items = order[starts[units.ravel()[clusters]] + places - begins[clusters]]
        items += which.reshape(-1, 1) * len(pilot.humans)
        compared = (
            np.concatenate([block.outcomes(answers) for block in blocks], axis=1)
            for answers in pilot.judges.T
        )
        outcomes = (each.take(items, axis=1) for each in compared)
        counts += _count_studies(outcomes, grid, clusters)
    return _rows(counts, grid, n_annotators, route="resampling", label_share=label_share)


_N_PILOTS, _N_STUDIES = 60, 60
"""Pilots drawn from the pilot, and studies from each, for the interval of a power."""


def bound_power(
    pilot: Comparison, grid: PowerSettings, *, n_annotators: int
) -> tuple[float, float]:
    """Find the interval of the power at the one size of a grid, were the pilot drawn again.

    The pilot's items (or clusters) are drawn with replacement, and studies from each such pilot;
    percentiles of their powers.
    """
    rng = np.random.default_rng([grid.seed, n_annotators, grid.n_items[0]])
    units = np.arange(len(pilot.humans)) if pilot.clusters is None else pilot.clusters
    members = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    small = replace(grid, n_simulations=_N_STUDIES)
    powers = []
    for _ in range(_N_PILOTS):
        drawn = [members[place] for place in rng.integers(len(members), size=len(members))]
        rows = np.concatenate(drawn)
        clusters = np.repeat(np.arange(len(drawn)), [len(part) for part in drawn])
        again = pilot.take(rows)
        if pilot.clusters is not None:
            again = replace(again, clusters=clusters)
        [row] = resample_rows(again, small, n_annotators=n_annotators, label_share=1.0)
        powers.append(row.power)
    low, high = np.quantile(powers, [0.025, 0.975])
    return float(low), float(high)


def _count_studies(
    outcomes: Iterator[NDArray[np.int8]],
    grid: PowerSettings,
    clusters: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Examine simulated studies: how many pass, reach ω .5, and have an ω, and the sum of ω.

    `outcomes` are the judge's and then those of constant answers, of shape (n_annotators,
    n_studies, n_items); items of a study with the same number in `clusters` are one unit. The
    shape is (4, n_sizes, n_epsilons).
    """
    judge = next(outcomes)
    first = _FirstItems(grid.n_items, clusters)
    sums = _sum_outcomes(judge, first)
    n_compared = sums.n_items.reshape(-1, len(grid.n_items), len(judge))
    above = _gain_p_values(judge, outcomes, n_compared, first) <= CONSTANT_LEVEL
    # ω by the exact test and by the t-test, shape (n_studies, n_sizes, n_epsilons)
    settings = TestSettings(
        epsilons=np.asarray(grid.epsilon),
        mode=grid.epsilon_mode,
        design="clustered" if first.clustered else "items",
        false_discovery_rate=grid.false_discovery_rate,
        min_items=grid.min_items,
    )
    figures = Figures(sums, settings)
    bounds = exact_bounds(
        exact_counts(sums),
        settings.epsilons,
        tested=figures.tested,
        mode=settings.mode,
        false_discovery_rate=settings.false_discovery_rate,
    )
    if first.clustered:
        bounds = np.maximum(bounds, figures.p_values)
    exact = figures.share_of_annotators(figures.reject(benjamini_yekutieli, bounds))
    shape = (2, -1, len(grid.n_items), len(grid.epsilon))
    by_exact, rates = np.reshape([exact, figures.winning_rate], shape)
    passed = passes(by_exact) & above[..., np.newaxis]
    counted = [passed, passes(rates), ~np.isnan(rates), np.nan_to_num(rates)]
    return np.stack([each.sum(axis=0, dtype=np.float64) for each in counted])


def _rows(
    counts: NDArray[np.float64],
    grid: PowerSettings,
    n_annotators: int,
    *,
    route: Route,
    label_share: float,
) -> list[PowerRow]:
    """Report what was counted, size by size."""
    n = grid.n_simulations
    reason = f"no annotator has the {grid.min_items} items of `min_items`"
    return [
        PowerRow(
            n_items=n_items,
            n_annotators=n_annotators,
            epsilon=epsilon,
            power=passed / n,
            standard_error=math.sqrt(passed / n * (1 - passed / n) / n),
            winning_rate_power=won / n,
            winning_rate=total / defined if defined else math.nan,
            n_simulations=n,
            route=route,
            label_share=label_share,
            n_labels=round(n_items * n_annotators * label_share),
            reason=None if defined else reason,
        )
        for n_items, of_size in zip(grid.n_items, np.moveaxis(counts, 0, -1).tolist(), strict=True)
        for epsilon, (passed, won, defined, total) in zip(grid.epsilon, of_size, strict=True)
    ]


class _FirstItems:
    """Sums over the first items of each study, for every size of study in one pass.

    The square of a cluster's sum grows by x² + 2xy with an item x after others that sum to y: so
    second moments over clusters are sums over items too, also where a size cuts through a cluster.
    """

    def __init__(self, sizes: Sequence[int], clusters: NDArray[np.intp] | None) -> None:
        self._starts = [0, *sizes[:-1]]
        self.sizes, self._clusters = sizes, clusters
        self.clustered = clusters is not None
        if clusters is not None:
            opens = np.diff(clusters, axis=1, prepend=-1) != 0
            places = np.where(opens, np.arange(clusters.shape[1]), 0)
            self._opening = np.maximum.accumulate(places, axis=1)

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum values over items, the last axis."""
        kind = np.float64 if values.dtype.kind == "f" else np.int32
        return np.add.reduceat(values, self._starts, axis=-1, dtype=kind).cumsum(axis=-1)

    def second_moments(self, *values: NDArray[Any]) -> list[list[NDArray[Any]]]:
        """Sum the products of any two values, each of which is summed within clusters first."""
        earlier = [self._earlier(value) for value in values] if self.clustered else []
        moments: list[list[Any]] = [[None] * len(values) for _ in values]
        for one, other in combinations_with_replacement(range(len(values)), 2):
            grown = values[one] * values[other]
            if self.clustered:
                grown = grown + earlier[one] * values[other] + values[one] * earlier[other]
            moments[one][other] = moments[other][one] = self.total(grown)
        return moments

    def count_units(self, met: NDArray[np.bool_]) -> NDArray[Any]:
        """Count the items, or the clusters, of which any item is met."""
        return self.total(met & (self._earlier(met) == 0) if self.clustered else met)

    def flip_signs(
        self, gains: NDArray[np.float64], n_differ: NDArray[Any], cells: tuple[NDArray[Any], ...]
    ) -> NDArray[np.float64]:
        """Find the exact p of the gains in some studies and sizes, where few units differ."""
        if self._clusters is not None:
            p_values = []
            for study, size in zip(*cells, strict=True):
                n_items = self.sizes[size]
                here = gains[study, :n_items]
                sums = np.bincount(self._clusters[study, :n_items], here).astype(np.float64)
                p_values.append(flip_signs(sums[np.abs(sums) > 1e-12])[-1])
            return np.array(p_values)
        # of each study the first gains that are not 0, by which all its sizes go
        studies, row = np.unique(cells[0], return_inverse=True)
        which, place = np.nonzero(gains[studies])
        order = np.arange(len(which)) - np.searchsorted(which, which)
        early = order < MOST_FLIPPED
        values = np.zeros((len(studies), MOST_FLIPPED))
        values[which[early], order[early]] = gains[studies[which[early]], place[early]]
        return flip_signs(values)[row, n_differ[cells]]

    def _earlier(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum what stands before each item in its cluster."""
        before = values.cumsum(axis=-1, dtype=np.float64) - values
        opening = np.broadcast_to(self._opening, values.shape)
        return before - np.take_along_axis(before, opening, axis=-1)


def _sum_outcomes(judge: NDArray[np.int8], first: _FirstItems) -> OutcomeSums:
    """Sum outcomes for studies of every size, shape (n_studies * n_sizes, n_annotators)."""
    kinds = [judge == kind for kind in (JUDGE_WINS, TIE, HUMAN_WINS)]
    counts = np.array([first.total(kind) for kind in kinds], dtype=np.int64).transpose(2, 3, 1, 0)
    weights, n_units = counts.astype(np.float64), counts.sum(axis=-1)
    squares = weights[..., np.newaxis] * np.eye(3)
    if first.clustered:
        squares = np.array(first.second_moments(*kinds)).transpose(3, 4, 2, 0, 1)
        n_units = first.count_units(judge >= 0).transpose(1, 2, 0).astype(np.int64)
    arrays = {"counts": counts, "weights": weights, "squares": squares, "n_units": n_units}
    return OutcomeSums(**{name: x.reshape(-1, *x.shape[2:]) for name, x in arrays.items()})


def _gain_p_values(
    judge: NDArray[np.int8],
    constants: Iterable[NDArray[np.int8]],
    n_compared: NDArray[np.int64],
    first: _FirstItems,
) -> NDArray[np.float64]:
    """Test the judge against the constant with the largest ρ, in every study and at every size.

    By the one-sided paired t-test of the items' means over annotators, and where few items differ
    the sign flip, as `Comparison.gains`; nan without a constant.
    """
    compared = judge >= 0
    met = np.asarray(compared.any(axis=0))
    n_annotators = np.maximum(compared.sum(axis=0, dtype=np.int32), 1)
    ahead = judge.view(np.uint8) < HUMAN_WINS
    n_items, n_units = first.total(met), first.count_units(met)
    best = np.full(n_items.shape, -np.inf)
    mean, error = np.full((2, *n_items.shape), np.nan)
    moved, which = np.full(n_items.shape, np.inf), np.zeros(n_items.shape, dtype=np.intp)
    gains: list[NDArray[np.float64]] = []
    for number, constant in enumerate(constants):
        won = (constant.view(np.uint8) < HUMAN_WINS) & compared
        wins = first.total(won).transpose(1, 2, 0)
        advantage = (wins / np.maximum(n_compared, 1)).mean(axis=-1)
        gap = np.subtract(ahead, won, dtype=np.int8).sum(axis=0, dtype=np.int32)
        gains.append(gap / n_annotators)
        (squares, mixed), (_, sizes) = first.second_moments(gains[-1], met)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = first.total(gains[-1]) / n_items
            spread = squares - 2 * gain * mixed + gain**2 * sizes
            spread = np.where(spread <= 1e-12 * np.maximum(squares, 1.0), 0.0, spread)
            found = np.sqrt(n_units / (n_units - 1) * spread) / n_items
        is_best = advantage > best
        mean, error = np.where(is_best, gain, mean), np.where(is_best, found, error)
        moved, which = np.where(is_best, squares, moved), np.where(is_best, number, which)
        best = np.maximum(best, advantage)
    p_values = t_test_p_values(-mean, error, n_units - 1)
    few = p_values <= CONSTANT_LEVEL
    if not first.clustered:  # gains are at most 1, so that few items have small squares
        few &= moved <= MOST_FLIPPED
    for number in np.unique(which[few]).tolist():
        n_differ = first.count_units(gains[number] != 0)
        cells = np.nonzero(few & (which == number) & (n_differ <= MOST_FLIPPED))
        flipped = first.flip_signs(gains[number], n_differ, cells)
        p_values[cells] = np.maximum(p_values[cells], flipped)
    return p_values
