"""The exact test against the enumerating oracle, and its size computed through its p-values."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alt_test_oracle import (
    boundary_probabilities,
    exact_p_oracle,
    outcome_values,
    score_statistic,
    table_probabilities,
    tables_of,
)
from voirdire import InputError, alt_test
from voirdire.stats import exact_p_value

MODES = ("additive", "multiplicative")
TIE_SHARES = (0.2, 0.4, 0.6, 0.8)


def p_of(wins, ties, losses, epsilon=0.2, mode="additive"):
    return exact_p_value(
        n_judge_wins=int(wins),
        n_ties=int(ties),
        n_human_wins=int(losses),
        epsilon=epsilon,
        epsilon_mode=mode,
    )


def rejected_tables(n, epsilon, mode, alpha=0.05):
    """All tables of n items that the p-value function rejects.

    At a given number of ties p grows with the human wins (tested below for all tables of 15), and
    the largest rejected number of them changes little from one number of ties to the next: the
    walk along that edge asks for some 2 n p-values instead of n² / 2.
    """
    rejected = []
    cut = -1
    for ties in range(n + 1):
        most = n - ties
        cut = min(cut, most)
        while cut >= 0 and p_of(most - cut, ties, cut, epsilon, mode) > alpha:
            cut -= 1
        while cut < most and p_of(most - cut - 1, ties, cut + 1, epsilon, mode) <= alpha:
            cut += 1
        rejected += [(most - losses, ties, losses) for losses in range(cut + 1)]
    return np.array(rejected).reshape(-1, 3)


@given(
    st.integers(1, 14).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))
    ),
    st.sampled_from((0.0, 0.1, 0.2, 0.3)),
    st.sampled_from(MODES),
)
def test_p_values_are_those_of_the_oracle(drawn, epsilon, mode):
    n, a, b = drawn
    wins, ties, losses = min(a, b), abs(a - b), n - max(a, b)

    p = p_of(wins, ties, losses, epsilon, mode)

    assert p == pytest.approx(exact_p_oracle(wins, ties, losses, epsilon, mode), abs=2e-6)


def test_p_values_by_hand():
    # Two wins of two have the smallest statistic; P = win², largest without ties: .5², .4², (4/9)².
    assert p_of(2, 0, 0, 0.0) == pytest.approx(1 / 4)
    assert p_of(2, 0, 0, 0.2) == pytest.approx(0.4**2)
    assert p_of(2, 0, 0, 0.2, "multiplicative") == pytest.approx((4 / 9) ** 2)
    assert p_of(0, 0, 3) == pytest.approx(1)
    assert math.isnan(p_of(0, 0, 0))


def test_one_item_is_no_evidence():
    for mode in MODES:
        for epsilon in (0.0, 0.1, 0.3):
            for table in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
                assert p_of(*table, epsilon, mode) > 0.3


def test_at_epsilon_zero_both_modes_are_one_test():
    for table in tables_of(8):
        additive, multiplicative = (p_of(*table, 0.0, mode) for mode in MODES)

        assert additive == pytest.approx(multiplicative, abs=1e-9)


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_p_falls_when_an_item_moves_towards_the_judge(epsilon, mode):
    n = 15
    p = {tuple(table): p_of(*table, epsilon, mode) for table in tables_of(n).tolist()}

    for (wins, ties, losses), value in p.items():
        assert 0 <= value <= 1
        if losses:
            assert p[wins + 1, ties, losses - 1] <= value + 1e-9, (wins, ties, losses)
            assert p[wins, ties + 1, losses - 1] <= value + 1e-9, (wins, ties, losses)
        if ties:
            assert p[wins + 1, ties - 1, losses] <= value + 1e-9, (wins, ties, losses)


@pytest.mark.ci
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_one_more_win_never_raises_p(epsilon, mode):
    # The reverse does not hold: with one more loss n grows too, and p may fall a little (the
    # oracle says so as well: (8, 4, 10) has .5429 and (8, 4, 11) .5347 at .2, multiplicative).
    for n in range(1, 13):
        for wins, ties, losses in tables_of(n).tolist():
            more = p_of(wins + 1, ties, losses, epsilon, mode)

            assert more <= p_of(wins, ties, losses, epsilon, mode) + 1e-9, (wins, ties, losses)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("table", "epsilon", "mode"),
    [
        ((490, 63, 447), 0.05, "multiplicative"),
        ((131, 29, 140), 0.1, "additive"),
        ((12, 5, 13), 0.1, "additive"),
    ],
)
def test_p_is_the_largest_probability_over_all_tie_shares(table, epsilon, mode):
    wins, ties, losses = table
    n = sum(table)
    own = score_statistic(wins, ties, losses, epsilon, mode)
    shares = np.concatenate([np.geomspace(1e-4, 0.02, 60), np.linspace(0.98, 1, 60)]) * (
        1 - epsilon
    )

    best = 0.0
    for tie in shares:
        win, _, loss = boundary_probabilities(tie, epsilon, mode)
        near = stats.binom.ppf([1e-9, 1 - 1e-9], n, tie).astype(int)
        chance = 0.0
        for n_ties in range(near[0], near[1] + 1):
            cut = last_extreme(n, n_ties, own, epsilon, mode)
            chance += stats.binom.pmf(n_ties, n, tie) * stats.binom.cdf(
                cut, n - n_ties, loss / (win + loss)
            )
        best = max(best, chance)

    assert p_of(*table, epsilon, mode) >= best - 1e-6


@cache
def last_extreme(n, n_ties, own, epsilon, mode):
    """The most human wins at which the oracle's statistic is at most `own`, or -1."""
    low, high = -1, n - n_ties
    while low < high:
        middle = (low + high + 1) // 2
        if score_statistic(n - n_ties - middle, n_ties, middle, epsilon, mode) <= own + 1e-12:
            low = middle
        else:
            high = middle - 1
    return low


def sizes(n, epsilon, mode):
    """P(rejection) at each tie share of a grid, the requested ones included, on the boundary."""
    edge = np.geomspace(1e-4, 0.02, 25)
    inner = np.concatenate([edge, np.linspace(0, 1, 81), 1 - edge]) * (1 - epsilon)
    grid = np.concatenate([TIE_SHARES, inner])
    points = boundary_probabilities(grid[grid <= 1 - epsilon + 1e-12], epsilon, mode)
    region = rejected_tables(n, epsilon, mode)
    return table_probabilities(region, points).sum(axis=0)


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
@pytest.mark.parametrize("n", [15, 30, pytest.param(100, marks=pytest.mark.slow)])
def test_the_exact_size_is_at_most_the_level(n, epsilon, mode):
    size = sizes(n, epsilon, mode)

    assert size.max() <= 0.05 + 1e-9
    # And it is not merely timid: somewhere on the boundary most of the level is used.
    assert size.max() > 0.03


@pytest.mark.parametrize("mode", MODES)
def test_the_size_holds_off_the_boundary_too(mode):
    epsilon, n = 0.2, 15
    share = np.linspace(0, 1, 41)
    win, tie = (x.ravel() for x in np.meshgrid(share, share))
    points = np.stack([win, tie, 1 - win - tie], axis=1)
    null = points[(points[:, 2] >= -1e-12) & (points @ outcome_values(epsilon, mode) >= -1e-12)]

    chances = table_probabilities(rejected_tables(n, epsilon, mode), np.maximum(null, 0))

    assert chances.sum(axis=0).max() <= 0.05 + 1e-9


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [15, 30])
def test_the_walk_along_the_edge_finds_all_rejected_tables(n, mode):
    walked = {tuple(table) for table in rejected_tables(n, 0.2, mode).tolist()}

    listed = {tuple(table) for table in tables_of(n).tolist() if p_of(*table, 0.2, mode) <= 0.05}

    assert walked == listed


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", [(0.4, 0.3, 0.3), (0.15, 0.75, 0.1)])
def test_power_grows_with_the_number_of_items(point, mode):
    powers = [table_probabilities(rejected_tables(n, 0.2, mode), point).sum() for n in (10, 20, 40)]

    assert powers[0] < powers[1] < powers[2]
    assert powers[2] > 0.5


def test_the_statistic_orders_tables_as_the_oracle_does():
    # Tables with a smaller statistic never have a larger p-value.
    for mode in MODES:
        tables = tables_of(9).tolist()
        ordered = sorted(tables, key=lambda table: score_statistic(*table, 0.1, mode))

        p = [p_of(*table, 0.1, mode) for table in ordered]

        assert (np.diff(p) >= -1e-6).all()


@pytest.mark.parametrize("n", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_large_counts_approach_the_t_test(n):
    wins, ties = round(0.3 * n), round(0.28 * n)
    losses = n - wins - ties
    mean = (losses - wins) / n
    # Choose epsilon so that t is about -2: both p-values are near .023.
    error = math.sqrt(((wins + losses) / n - mean**2) / n)
    epsilon = mean + 2 * error

    p = p_of(wins, ties, losses, epsilon)

    assert p == pytest.approx(0.0228, abs=0.003)


@pytest.mark.ci
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tie_share", [0.3, 0.7])
def test_beyond_ten_thousand_items_the_normal_limit_goes_on_where_the_exact_value_ends(
    mode, tie_share
):
    ties = round(10_000 * tie_share)
    for deviations in (-2.5, -1.645, -1.0):
        target = 0.1 if mode == "additive" else (1 - tie_share) * 0.1 / 1.9 + tie_share * 0.1
        gain = target + deviations * math.sqrt(1 - tie_share) / 100
        wins = round((10_000 - ties - gain * 10_000) / 2)
        exact = p_of(wins, ties, 10_000 - ties - wins, 0.1, mode)
        limit = p_of(wins, ties, 10_000 - ties - wins + 1, 0.1, mode)

        assert limit == pytest.approx(exact, rel=0.06)


@pytest.mark.parametrize("mode", MODES)
def test_all_ties_are_not_certain(mode):
    # The t-test has p = 0 here; at .2 an all-tie table of n has at least .8^n.
    for n in (5, 15, 30):
        assert p_of(0, n, 0, 0.2, mode) >= 0.8**n - 1e-12


def test_the_exact_p_value_of_an_annotator_is_this_one():
    rng = np.random.default_rng(3)
    humans = {f"h{k}": dict(enumerate(rng.integers(0, 3, 40).tolist())) for k in range(4)}
    judge = dict(enumerate(rng.integers(0, 3, 40).tolist()))

    for mode in MODES:
        for epsilon in (0.1, 0.3):
            options = {"kind": "choice", "epsilon_mode": mode}
            result = alt_test(judge, humans, epsilon=epsilon, **options)
            for row in result.annotators:
                counts = (row.n_judge_wins, row.n_ties, row.n_human_wins)
                assert row.exact_p_value == p_of(*counts, result.epsilon, mode)


@pytest.mark.parametrize("count", [-1, 2.5, "3", True])
def test_counts_are_whole_and_not_negative(count):
    with pytest.raises(InputError, match="`n_ties` must be a whole number of at least 0"):
        exact_p_value(n_judge_wins=1, n_ties=count, n_human_wins=1, epsilon=0.2)


@pytest.mark.parametrize("epsilon", [-0.1, 1.0, 20, math.nan, "0.2"])
def test_epsilon_is_a_fraction(epsilon):
    with pytest.raises(InputError, match="`epsilon` must be"):
        p_of(1, 1, 1, epsilon)


def test_the_mode_is_one_of_two_words():
    with pytest.raises(InputError, match="`epsilon_mode` must be one of"):
        p_of(1, 1, 1, 0.2, "relative")
