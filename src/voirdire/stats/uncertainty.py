r"""Bootstraps over units how far ω and ρ depend on the items that were drawn.

Items, or clusters where they are declared, are drawn with replacement, as many as there are. The
interval of ρ is bias-corrected and accelerated (BCa [1]_), its tails widened as the t distribution
is wider than the normal [2]_; ω is a decision and has no interval, but the share of resamples in
which it would be made again. Beyond a million units nothing is drawn: the interval of ρ is that of
its standard error on the logit scale, which then is the same.

References
----------
.. [1] B. Efron, "Better Bootstrap Confidence Intervals", Journal of the American Statistical
   Association 82(397), 1987.
.. [2] T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician
   69(4), 2015, section 3.4.
.. [3] A. B. Owen, "The Pigeonhole Bootstrap", Annals of Applied Statistics 1(2), 2007.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from voirdire.stats.figures import Figures, exact_counts, passes
from voirdire.stats.intervals import place_on_scale
from voirdire.stats.judge_difference import PairedGap
from voirdire.stats.outcome_sums import HUMAN_WINS, NO_OUTCOME, find_units
from voirdire.stats.results import Uncertainty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.comparison import Comparison
    from voirdire.stats.figures import TestSettings
    from voirdire.stats.outcome_sums import OutcomeUnits
    from voirdire.stats.plan import TestPlan

_WINS = (slice(None, 2), slice(1, None))
"""Outcomes that count for the judge, and for the human; ties for both."""

_ENDS = (
    *("advantage_low", "advantage_high", "human_advantage_low", "human_advantage_high"),
    *("panel_low", "panel_high"),
)

_CELLS_AT_ONCE = 1 << 17
"""Resamples times annotators times margins whose tests are computed at once."""

_MOST_DRAWN = 1_000_000
"""Items of an annotator up to which units are drawn."""

_UNITS_PER_ROW = 10
"""With more copies of a row than this, binomials are faster than draws one by one."""

_DRAWS_AT_ONCE = 1 << 20
"""Resamples times rows that are drawn at once."""


def bootstrap_judge(
    labels: Comparison,
    judge: int,
    *,
    tested: NDArray[np.bool_],
    tested_lost: NDArray[np.bool_],
    plan: TestPlan,
) -> list[Uncertainty | None]:
    """Resample the units of one judge, for each ε; None without resamples.

    `tested` and `tested_lost` say which annotators are tested with its failures left out and lost.
    """
    settings, nan, level = labels.settings, float("nan"), plan.confidence_level
    if not plan.n_resamples:
        return [None] * len(settings.epsilons)
    [(plain, lost)] = labels.judge_outcomes([judge])
    stability, n_resamples, reason = np.full(len(settings.epsilons), nan), plan.n_resamples, None
    if int(labels.count(plain >= 0)[tested].max(initial=0)) > _MOST_DRAWN:
        intervals, n_units = _close_intervals(labels, plain, tested, level)
        reason = "with more than a million items nothing is drawn anew: intervals are computed"
        n_resamples = 0
    else:
        halves = [(plain, tested)] if lost is plain else [(plain, tested), (lost, tested_lost)]
        weights = [w[x] for outcomes, x in halves if (w := labels.weights(outcomes)) is not None]
        units = find_units(
            np.concatenate([outcomes[who] for outcomes, who in halves]),
            weights=np.concatenate(weights) if weights else None,
            clusters=labels.clusters,
            copies=labels.copies,
            seed=plan.seed,
        )
        n_tested, n_units = int(np.count_nonzero(tested)), units.n_independent
        intervals = [(nan, nan)] * 3
        if not n_tested:
            reason = "no annotator has enough items"
        elif n_units < 2:
            reason = "fewer than two units to resample"
        else:
            # whoever is left is tested: who that is was decided on the whole data
            quality = None if settings.quality is None else settings.quality[halves[-1][1]]
            again = replace(settings, quality=quality, excluded=None, min_items=1)
            draws, stability = _resample(units, n_tested, again, plan)
            shares = [_Shares(units, n_tested, kinds) for kinds in _WINS]
            intervals = [x.interval(drawn, level) for x, drawn in zip(shares, draws, strict=True)]
            of_panel = _panel_interval(
                shares[0].rates,
                float((shares[0].copies @ shares[0].influence ** 2).mean()),
                intervals[0],
                of_items=float(shares[0].copies @ shares[0].influence.mean(axis=1) ** 2),
                n_units=n_units,
                confidence_level=level,
            )
            if np.isnan(intervals).any():
                reason = "all units have the same outcomes"
            elif np.isnan(stability).any():
                reason = "stability is not computed under a family of all judges"
            intervals.append(of_panel)
    ends = dict(zip(_ENDS, chain(*intervals), strict=True))
    return [
        Uncertainty(
            **ends,
            stability=share,
            confidence_level=level,
            n_resamples=n_resamples,
            n_units=n_units,
            clustered=settings.design == "clustered",
            reason=reason,
        )
        for share in stability.tolist()
    ]


def _resample(
    units: OutcomeUnits,
    n_tested: int,
    settings: TestSettings,
    plan: TestPlan,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw: ρ of judge and humans per resample, and the share of resamples that pass per ε.

    That share goes by the exact test, with failures lost, and its p-values for as many items as the
    annotators have on the whole data. It is undefined for a test that is not made again for every
    resample of one judge.
    """
    rng = np.random.default_rng(plan.seed)
    n_columns, n_epsilons = units.weights.shape[1], len(settings.epsilons)
    decides = (slice(None), slice(n_tested if n_columns > n_tested else 0, None))
    whole = units.drawn(units.copies[np.newaxis].astype(np.float64))
    n_items = exact_counts(whole.rows(decides)).sum(axis=-1)[0]
    step = max(1, _CELLS_AT_ONCE // (n_columns * n_epsilons), 1 + 64 // n_epsilons)
    step = min(step, max(64, _DRAWS_AT_ONCE // int(units.copies.sum())))
    draws: list[NDArray[Any]] = []
    n_passed = np.full(n_epsilons, np.nan if settings.family == "judges" else 0.0)
    for start in range(0, plan.n_resamples, step):
        times = draw_times(rng, units.copies, min(step, plan.n_resamples - start))
        sums = units.drawn(times)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = sums.weights[:, :n_tested].sum(axis=-1)
            drawn = np.count_nonzero(mass, axis=1)
            won = [sums.weights[:, :n_tested, kinds].sum(axis=-1) for kinds in _WINS]
            shares_won = [np.where(mass > 0, wins / mass, 0.0).sum(axis=1) / drawn for wins in won]
        draws.append(np.stack(shares_won))
        if settings.family == "annotators":
            rates = Figures(sums.rows(decides), settings).approximate_winning_rate(n_items)
            n_passed += np.count_nonzero(passes(rates), axis=0)
    return np.concatenate(draws, axis=1), n_passed / plan.n_resamples


def draw_times(
    rng: np.random.Generator, copies: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """Draw as many units as there are, with replacement, and count the draws of every row."""
    n_units, n_rows = int(copies.sum()), len(copies)
    if n_units > _UNITS_PER_ROW * n_rows:
        return rng.multinomial(n_units, copies / n_units, size=size).astype(np.float64)
    # unit by unit is faster than a binomial per row where rows have few copies
    row_of_unit = np.repeat(np.arange(n_rows), copies)
    rows = row_of_unit[rng.integers(n_units, size=(size, n_units))]
    rows += np.arange(size)[:, np.newaxis] * n_rows
    return np.bincount(rows.ravel(), minlength=size * n_rows).reshape(size, n_rows).astype(float)


class _Shares:
    """The tested annotators' shares of wins, and how one copy of each row of units moves them."""

    def __init__(self, units: OutcomeUnits, n_tested: int, kinds: slice) -> None:
        self.copies = units.copies.astype(np.float64)
        self.n_units = units.n_independent
        weights = units.weights[:, :n_tested]
        mass, won = weights.sum(axis=-1), weights[..., kinds].sum(axis=-1)
        total = self.copies @ mass
        self.rates = self.copies @ won / total
        self.mean = float(self.rates.mean())
        self.influence = (won - mass * self.rates) / total
        self.decided = (mass / total).mean(axis=1)  # how much of ρ one copy decides

    def interval(self, draws: NDArray[np.float64], confidence_level: float) -> tuple[float, float]:
        """BCa interval with widened tails; one-sided where every unit agrees with every other."""
        copies, estimate, tail = self.copies, self.mean, (1 - confidence_level) / 2
        influence = self.influence.mean(axis=1)
        spread = float(copies @ influence**2)
        if spread <= 1e-24:
            grouped = self.n_units / copies.sum()  # units that one copy of a row stands for
            return _bound_constant_share(estimate, grouped / float(self.decided.max()), tail)
        # as many equal units; failures are none
        n_units = max(1 / float(copies @ self.decided**2), 2.0)
        wide = max(ndtr(np.sqrt(n_units / (n_units - 1)) * stdtrit(n_units - 1, tail)), 1e-12)
        draws = draws[~np.isnan(draws)]  # a draw without any comparison says nothing
        below = np.mean(draws < estimate - 1e-12)
        below += 0.5 * np.mean(np.abs(draws - estimate) <= 1e-12)
        bias = ndtri(np.clip(below, 0.5 / len(draws), 1 - 0.5 / len(draws)))
        skew = float(copies @ influence**3) / (6 * spread**1.5)
        normal = ndtri(np.array([wide, 1 - wide]))
        adjusted = ndtr(bias + (bias + normal) / (1 - skew * (bias + normal)))
        low, high = np.quantile(draws, adjusted)
        return float(min(low, estimate)), float(max(high, estimate))


def _panel_interval(
    rates: NDArray[np.float64],
    own: float,
    of_items_alone: tuple[float, float],
    *,
    of_items: float,
    n_units: int,
    confidence_level: float,
) -> tuple[float, float]:
    r"""Make the interval of ρ for other annotators like these, on other items.

    The variance of ρ over items is joined by that of the annotators' own ρ (`rates`), less what
    items add to the latter, `own` on average (a crossed design [3]_); on the logit scale, with
    Satterthwaite's degrees of freedom.
    """
    rho, n_tested = float(rates.mean()), len(rates)
    if n_tested < 2:
        return float("nan"), float("nan")
    if not 1e-12 < rho < 1 - 1e-12:
        return of_items_alone
    shared = (n_tested * of_items - own) / (n_tested - 1)
    spread = float(rates.var(ddof=1)) / n_tested
    of_panel = max(spread - (own - shared) / n_tested, 0.0)
    variance = of_items + of_panel
    parts = of_items**2 / (n_units - 1) + of_panel**2 / (n_tested - 1)
    freedom = variance**2 / (parts + 1e-300)
    half = float(stdtrit(freedom, (1 + confidence_level) / 2)) * np.sqrt(variance)
    return place_on_scale(rho, half, 0.0)


def _close_intervals(
    labels: Comparison, outcomes: NDArray[np.int8], tested: NDArray[np.bool_], level: float
) -> tuple[list[tuple[float, float]], int]:
    """Make the intervals of ρ of judge, annotators and panel from standard errors.

    Each ρ is a difference: from that of a judge who loses every comparison, which is 0.
    """
    intervals = []
    nobody = np.where(outcomes >= 0, np.int8(HUMAN_WINS), np.int8(NO_OUTCOME))
    turned = np.where(outcomes >= 0, np.int8(HUMAN_WINS) - outcomes, np.int8(NO_OUTCOME))
    gap, of_humans = (PairedGap.between(x, nobody, labels) for x in (outcomes, turned))
    for each in (gap, of_humans):
        half = float(stdtrit(each.n_units - 1, (1 + level) / 2)) * each.error
        intervals.append(
            place_on_scale(each.advantage, half, 0.0)
            if each.error > 1e-12
            else _bound_constant_share(each.advantage, each.n_units, (1 - level) / 2)
        )
    sums = labels.sum(outcomes).rows(tested)
    mass = sums.weights.sum(axis=-1)
    rates = sums.weights[:, _WINS[0]].sum(axis=-1) / mass
    centred = np.array([1.0, 1.0, 0.0]) - rates[:, np.newaxis]
    own = np.einsum("ar,ars,as->a", centred, sums.squares, centred) / mass**2
    of_panel = _panel_interval(
        rates,
        float(own.mean()),
        intervals[0],
        of_items=gap.error**2,
        n_units=gap.n_units,
        confidence_level=level,
    )
    return [*intervals, of_panel], gap.n_units


def _bound_constant_share(estimate: float, n_units: float, tail: float) -> tuple[float, float]:
    """Bound a share that is 0 or 1 in every unit, as Clopper and Pearson do.

    Where units decide unequal shares of ρ, there are as many as would fit of the weightiest: more
    would promise too much.
    """
    if estimate >= 1 - 1e-12:
        return float(tail ** (1 / n_units)), 1.0
    if estimate <= 1e-12:
        return 0.0, float(1 - tail ** (1 / n_units))
    return float("nan"), float("nan")
