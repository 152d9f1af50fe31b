r"""An alternative annotator test that may be looked at after every label, and a forecast of it.

Looking every few items at a test for a fixed number of items, and stopping at the first pass, finds
a pass too often. Here the evidence is a bet on each item: wealth that hardly ever grows twentyfold
while the hypothesis is true, whenever one stops (Ville's inequality).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import EpsilonMode
from voirdire._validation import check_choice, check_count, check_names
from voirdire.errors import InputError
from voirdire.stats.comparison import compare_labels
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, NO_OUTCOME, TIE
from voirdire.stats.plan import TestPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


_ENOUGH = 20.0
"""Wealth that a true hypothesis reaches with a chance of at most .05."""

_TIES = np.array([0.5, 0.7, 0.8, 0.9, 0.95])
_SHARES = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
"""Shares of ties that bets are made for, and shares of the wealth that are bet on a constant."""

_OF_LABELS = (
    *("alignment", "label_sets", "values", "n_codes", "failed"),
    *("clusters", "largest_cluster"),
)

_MOST_BET = 0.9
_FEWEST_FORECAST, _PSEUDO_ITEMS, _MOST_LOOKS = 20, 2, 500


@dataclass(frozen=True, kw_only=True)
class AnytimeResult:
    """What bets on the items so far say of a judge.

    Attributes
    ----------
    epsilon : float
        The margin ε.
    epsilon_mode : {"additive", "multiplicative"}
        How it is taken off.
    n_items : int
        Items that were bet on.
    n_annotators, n_needed : int
        Annotators who were planned, and how many of them are half of them.
    wealth : tuple of float
        Per annotator, 1 at the start.
    combined_wealth : float
        That of the claim that half of the annotators are within ε; 20 is enough.
    constant_wealth : float
        That of the claim that the judge is closer than every constant answer: the least of them.
    constant : int
        The code of that answer.
    stopped_at : int or None
        The item, from 1, at which both were enough first; a pass once reached stands.
    shown : tuple of int
        The annotators within ε, by e-BH at that item, by column; none before.
    """

    epsilon: float
    epsilon_mode: EpsilonMode
    n_items: int
    n_annotators: int
    n_needed: int
    wealth: tuple[float, ...]
    combined_wealth: float
    constant_wealth: float
    constant: int
    stopped_at: int | None
    shown: tuple[int, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it is shown that the judge may stand in for half of the annotators."""
        return self.stopped_at is not None

    @property
    def is_held_by_constant(self) -> bool:
        """Whether the annotators alone would do, and a constant answer is as good."""
        return not self.passed and self.combined_wealth >= _ENOUGH > self.constant_wealth


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How a study may go on.

    Attributes
    ----------
    n_planned : int
        Items of the whole study.
    share_passing : float
        Share of the continuations that pass by then, in [0, 1].
    more_items : tuple of (int, int, int) or None
        10th, 50th and 90th percentile of the further items at which passing ones pass; None where
        none does.
    n_continuations : int
        How many were drawn.
    """

    n_planned: int
    share_passing: float
    more_items: tuple[int, int, int] | None
    n_continuations: int


def anytime_test(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    constants: ArrayLike,
    epsilon: float = 0.2,
    epsilon_mode: EpsilonMode = "additive",
    **labels: Any,
) -> AnytimeResult:
    r"""Examine a judge against annotators, with a right to stop at any item.

    Parameters
    ----------
    judge : array_like, shape (n_items,)
        Labels of the judge, in the form of `humans`. The items stand in an order that was drawn
        before the first label, and each is closed: everybody who was to label it has done so.
    humans : array_like, shape (n_items, n_annotators)
        As for `alt_test`; a column for each annotator who was planned, labels or not.
    constants : array_like
        The answers that the judge must beat when given always: codes, or numbers for
        ``"neg_rmse"``. They are fixed before the first label.
    epsilon, epsilon_mode
        The margin, as in `TestPlan`; one.
    **labels
        `alignment`, `label_sets`, `values`, `n_codes`, `failed` and `clusters` as for `alt_test`.
        An item that the judge failed on is lost; the items of a cluster lie together.
        `largest_cluster` is the number of items of the largest one of the study, fixed before it,
        and needed with `clusters`.

    Returns
    -------
    AnytimeResult

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Notes
    -----
    For annotator j and an item, :math:`X = 1, x_0, 0` where the judge is closer to the others, as
    close, or less close, with :math:`x_0 = 1/2` (additive) or :math:`1/(2-\varepsilon)`. The
    hypothesis "not within ε" is :math:`E X \le m_0` with :math:`m_0 = (1-\varepsilon)/2` or
    :math:`(1-\varepsilon)/(2-\varepsilon)`. With :math:`y = X - m_0` the wealth is

    .. math:: M_j = \frac{1}{5} \sum_t \prod (1 + \lambda_t y), \qquad
        \lambda_t = \min(0.9 / m_0,\; E_t y / E_t y^2)

    over shares of ties t = .5, .7, .8, .9, .95. Of m annotators :math:`r = \lceil m/2 \rceil` are
    half; the claim that r of them are within ε has the mean of the :math:`m - r + 1` smallest
    :math:`M_j` as its wealth. Against each constant answer c the wealth is the mean over κ of
    :math:`\prod (1 + \kappa Y)`, Y the mean over annotators of :math:`W^f - W^c`. Both must reach
    20 at one item: the chance that a judge that is not within ε of half, or no closer than a
    constant, ever passes is at most .05. Of a cluster the sum over its items, divided by
    `largest_cluster`, is one bet. Weights have no such test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 120)
    >>> humans = truth[:, None] ^ (rng.random((120, 3)) < 0.1)
    >>> found = anytime_test(truth, humans, constants=[0, 1])
    >>> found.stopped_at, found.shown
    (24, (0, 1, 2))
    """
    check_names(labels, _OF_LABELS, of="anytime_test")
    plan = TestPlan(epsilon=epsilon, epsilon_mode=epsilon_mode, n_resamples=0)
    bets = _make_bets(judge, humans, constants=constants, plan=plan, **labels)
    seats, against = np.cumsum(bets.seats, axis=0), np.cumsum(bets.constants, axis=0)
    wealth, against_constants = _mean_wealth(seats), _mean_wealth(against)
    combined = _combine(wealth)
    least = against_constants.min(axis=-1)
    passes = np.flatnonzero((combined >= _ENOUGH) & (least >= _ENOUGH))
    first = int(passes[0]) if passes.size else None
    n_units, n_annotators = wealth.shape
    start = np.ones(n_annotators)
    return AnytimeResult(
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        n_items=int(bets.ends[-1]) if n_units else 0,
        n_annotators=n_annotators,
        n_needed=math.ceil(n_annotators / 2),
        wealth=tuple((wealth[-1] if n_units else start).tolist()),
        combined_wealth=float(combined[-1]) if n_units else 1.0,
        constant_wealth=float(least[-1]) if n_units else 1.0,
        constant=int(against_constants[-1].argmin()) if n_units else 0,
        stopped_at=None if first is None else int(bets.ends[first]),
        shown=() if first is None else _choose_by_ebh(wealth[first]),
    )


def forecast_anytime(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    n_planned: int,
    constants: ArrayLike,
    epsilon: float = 0.2,
    epsilon_mode: EpsilonMode = "additive",
    n_continuations: int = 200,
    seed: int = 0,
    **labels: Any,
) -> Forecast:
    """Forecast whether and when `anytime_test` passes.

    Parameters
    ----------
    judge, humans
        As for `anytime_test`, of the items so far: at least 20.
    n_planned : int
        Items of the whole study (clusters, where there are some).
    constants, epsilon, epsilon_mode
        As for `anytime_test`.
    n_continuations : int, optional
        How many continuations are drawn.
    seed : int, optional
        Of the draws.
    **labels
        Further arguments of `anytime_test`.

    Returns
    -------
    Forecast
        Without any meaning for the test: to stop because of it costs no error.

    Raises
    ------
    InputError
        If there are fewer than 20 items, or an argument breaks a rule.

    Notes
    -----
    A Pólya urn: an item is its row of bets. The urn holds the rows so far, one where the judge wins
    against everybody, and one where it loses; a row that is drawn is put back with a copy. So the
    uncertainty about the truth is in it: it is the Bayesian bootstrap's predictive. Of more than
    500 further items it looks at some 300: after each of the first, at last 2% apart.
    """
    check_names(labels, _OF_LABELS, of="forecast_anytime")
    n_planned = check_count("n_planned", n_planned, minimum=1)
    plan = TestPlan(epsilon=epsilon, epsilon_mode=epsilon_mode, n_resamples=0)
    bets = _make_bets(judge, humans, constants=constants, plan=plan, **labels)
    n_seen = len(bets.seats)
    if n_seen < _FEWEST_FORECAST:
        msg = f"`judge` must have at least {_FEWEST_FORECAST} items for a forecast, got {n_seen}."
        raise InputError(f"{msg} Label more.")
    rng = np.random.default_rng(seed)
    n_more = max(n_planned - n_seen, 0)
    n_urn = n_seen + _PSEUDO_ITEMS
    drawn = np.empty((n_more, n_continuations), dtype=np.intp)
    for step in range(n_more):
        ball = rng.integers(0, n_urn + step, n_continuations)
        copies = drawn[np.maximum(ball - n_urn, 0), np.arange(n_continuations)] if step else ball
        drawn[step] = np.where(ball < n_urn, ball, copies)
    looks = np.arange(1, n_more + 1)  # the further items after which it is looked
    if n_more > _MOST_LOOKS:
        looks = np.unique(np.geomspace(1, n_more, _MOST_LOOKS).astype(int))
    starts = np.concatenate([[0], looks])[:-1]
    parts = (bets.seats.sum(0), bets.urn[0]), (bets.constants.sum(0), bets.urn[1])
    first = np.full(n_continuations, -1)
    for way in range(n_continuations):
        wealth, against = (
            _mean_wealth(so_far + np.cumsum(np.add.reduceat(urn[drawn[:, way]], starts), 0))
            for so_far, urn in parts
        )
        passes = np.flatnonzero((_combine(wealth) >= _ENOUGH) & (against.min(-1) >= _ENOUGH))
        first[way] = looks[passes[0]] if passes.size else -1
    more = first[first > 0]
    percentiles = np.percentile(more, [10, 50, 90]).round().astype(int) if more.size else None
    return Forecast(
        n_planned=n_planned,
        share_passing=more.size / n_continuations,
        more_items=None if percentiles is None else tuple(percentiles.tolist()),
        n_continuations=n_continuations,
    )


@dataclass(frozen=True, kw_only=True)
class _Bets:
    """Logarithms of the factors of each unit, (n_units, n_annotators, 5) and (.., n_constants, 6).

    `ends` has the items up to each unit; `urn` the rows of both with the two pseudo-items.
    """

    seats: NDArray[np.float64]
    constants: NDArray[np.float64]
    ends: NDArray[np.intp]
    urn: tuple[NDArray[np.float64], NDArray[np.float64]]


def _make_bets(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    constants: ArrayLike,
    plan: TestPlan,
    clusters: ArrayLike | None = None,
    largest_cluster: int | None = None,
    **labels: Any,
) -> _Bets:
    [epsilon] = plan.epsilon if not isinstance(plan.epsilon, float) else (plan.epsilon,)
    if not 0 < epsilon < 1:
        msg = f"`epsilon` must be above 0 for bets, got {epsilon}. At 0 no bet pays."
        raise InputError(msg)
    answers = np.asarray(constants)
    if answers.ndim != 1 or not answers.size:
        msg = f"`constants` must list at least one answer, got {constants!r}."
        raise InputError(msg)
    compared = compare_labels(judge, humans, plan=plan, **labels)
    if compared.judges.shape[1] != 1:
        msg = f"`judge` must be one judge, got {compared.judges.shape[1]}."
        raise InputError(msg)
    [(_, lost)] = compared.judge_outcomes()
    n_items = lost.shape[1]
    always = np.broadcast_to(answers.astype(compared.judges.dtype), (n_items, len(answers)))
    is_met = lost != NO_OUTCOME
    wins = np.isin(lost, (JUDGE_WINS, TIE))
    n_met = np.maximum(is_met.sum(axis=0), 1)
    gains = [
        (np.where(is_met, wins.astype(float) - np.isin(c, (JUDGE_WINS, TIE)), 0.0)).sum(0) / n_met
        for c in compared.outcomes(always)
    ]
    rate, paid = _stakes(epsilon, plan.epsilon_mode)
    of_outcome = dict(zip((JUDGE_WINS, TIE, HUMAN_WINS), paid, strict=True))
    y = sum(value * (lost == kind) for kind, value in of_outcome.items()).T  # (n_items, n_seats)
    gain = np.stack(gains, axis=-1)  # (n_items, n_constants)
    ends, scale = _find_units(clusters, n_items, largest_cluster)
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]
    y, gain = (np.add.reduceat(each, starts, axis=0) / scale if n_items else each
               for each in (y, gain))  # fmt: skip
    ones = np.ones((1, y.shape[1])), np.ones((1, gain.shape[1]))
    pseudo_y = np.concatenate([ones[0] * paid[0], ones[0] * paid[2]]) / scale
    pseudo_gain = np.concatenate([ones[1], -ones[1]]) / scale
    seats, pseudo_seats = (np.log1p(each[..., None] * rate) for each in (y, pseudo_y))
    against, pseudo_against = (np.log1p(each[..., None] * _SHARES) for each in (gain, pseudo_gain))
    urn = np.concatenate([seats, pseudo_seats]), np.concatenate([against, pseudo_against])
    return _Bets(seats=seats, constants=against, ends=ends, urn=urn)


def _stakes(epsilon: float, mode: str) -> tuple[NDArray[np.float64], tuple[float, float, float]]:
    """Return λ of each share of ties, and y where the judge wins, ties and loses."""
    check_choice("epsilon_mode", mode, EpsilonMode)
    m0 = (1 - epsilon) / 2 if mode == "additive" else (1 - epsilon) / (2 - epsilon)
    tie = epsilon / 2 if mode == "additive" else epsilon / (2 - epsilon)
    y = np.array([1 - m0, tie, -m0])
    chances = np.stack([(1 - _TIES) / 2, _TIES, (1 - _TIES) / 2], axis=-1)
    rate = np.minimum(_MOST_BET / m0, (chances @ y) / (chances @ y**2))
    return rate, (1 - m0, tie, -m0)


def _find_units(
    clusters: ArrayLike | None, n_items: int, largest: int | None
) -> tuple[NDArray[np.intp], float]:
    """Return how many items there are up to the end of each unit, and the size that divides."""
    if clusters is None:
        return np.arange(1, n_items + 1), 1.0
    units = np.asarray(clusters)
    if units.shape != (n_items,):
        msg = f"`clusters` must have one entry an item, got {units.shape} for {n_items}."
        raise InputError(msg)
    ends = np.append(np.flatnonzero(units[1:] != units[:-1]) + 1, n_items)[: n_items or 0]
    sizes = np.diff(ends, prepend=0)
    if len(np.unique(units)) != len(ends):
        msg = "`clusters` must have the items of a cluster side by side. Sort them."
        raise InputError(msg)
    if largest is None or sizes.max(initial=0) > largest:
        msg = (
            "`largest_cluster` must be the size of the largest cluster of the study, got "
            f"{largest} and one of {sizes.max(initial=0)}."
        )
        raise InputError(msg)
    return ends, float(largest)


def _mean_wealth(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the last axis of the wealth with these logarithms; it may overflow to infinity."""
    with np.errstate(over="ignore"):
        return np.exp(logs).mean(axis=-1)


def _combine(wealth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the smallest, of so many that one of them is not within ε if half is not."""
    n = wealth.shape[-1]
    n_smallest = n - math.ceil(n / 2) + 1
    return np.sort(wealth, axis=-1)[..., :n_smallest].mean(axis=-1)


def _choose_by_ebh(wealth: Sequence[float] | NDArray[np.float64]) -> tuple[int, ...]:
    """Choose the annotators for whom the hypothesis falls, by e-BH at level .05."""
    values = np.asarray(wealth)
    order = np.argsort(-values, kind="stable")
    enough = values[order] * np.arange(1, len(values) + 1) >= len(values) * _ENOUGH
    n = int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0
    return tuple(sorted(order[:n].tolist()))
