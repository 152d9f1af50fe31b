"""Slices against elsewhere: scipy's Welch test, and plain loops over clusters."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voirdire.errors import InputError
from voirdire.stats import benjamini_yekutieli, compare_slices


def bounded(end):
    """Expect an end of the interval of a difference of gaps, which lies in [-2, 2]."""
    return pytest.approx(min(max(end, -2), 2), nan_ok=True)


def sample(seed, n_items, *, n_values=3, missing=0.1):
    rng = np.random.default_rng(seed)
    gaps = rng.choice([-1.0, -0.5, 0.0, 0.25, 1.0], n_items, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    gaps[rng.random(n_items) < missing] = np.nan
    return gaps, rng.integers(-1, n_values, n_items)


def clustered(gaps, inside, units):
    """Welch's and the pooled test with residuals summed by cluster, in plain loops."""
    sides = [inside, ~inside]
    means = [gaps[side].mean() for side in sides]
    sums = [
        {
            u: sum(gaps[i] - mean for i in np.flatnonzero(side) if units[i] == u)
            for u in set(units[side])
        }
        for side, mean in zip(sides, means, strict=True)
    ]
    g = [len(s) for s in sums]
    n = [int(side.sum()) for side in sides]
    squares = [sum(x**2 for x in s.values()) for s in sums]
    v = [squares[k] * g[k] / (g[k] - 1) / n[k] ** 2 for k in (0, 1)]
    shared = sum(sums[0][u] * sums[1][u] for u in sums[0].keys() & sums[1].keys())
    covariance = shared * math.sqrt(g[0] / (g[0] - 1) * g[1] / (g[1] - 1)) / (n[0] * n[1])
    most = len(set(units)) - 1
    freedom = min(sum(v) ** 2 / sum(v[k] ** 2 / (g[k] - 1) for k in (0, 1)), most)
    error = math.sqrt(max(sum(v) - 2 * covariance, 0))
    pooled = sum(squares) * sum(g) / (sum(g) - 2) / sum(n)
    pooled_error = math.sqrt(max(pooled * (1 / n[0] + 1 / n[1]) - 2 * covariance, 0))
    t = means[0] - means[1]
    p = max(
        2 * stats.t.sf(abs(t) / error, freedom),
        2 * stats.t.sf(abs(t) / pooled_error, min(sum(g) - 2, most)),
    )
    if min(squares) == 0:  # a side without variance: the interval takes the pooled one
        error, freedom = pooled_error, min(sum(g) - 2, most)
    half = stats.t.ppf(0.975, freedom) * error
    return t, t - half, t + half, p


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(20, 120), n_values=st.integers(2, 4))
def test_the_figures_are_those_of_scipy(seed, n_items, n_values):
    gaps, codes = sample(seed, n_items, n_values=n_values)

    for row in compare_slices(gaps, [codes], min_items=3):
        known = ~np.isnan(gaps) & (codes >= 0)
        first, second = gaps[known & (codes == row.value)], gaps[known & (codes != row.value)]
        assert (row.n_items, row.n_elsewhere) == (len(first), len(second))
        assert row.gap == pytest.approx(first.mean(), abs=1e-12)
        if len(second) < 3:
            assert row.reason == "fewer than 3 items elsewhere"
            continue
        if np.ptp(first) == 0 or np.ptp(second) == 0:
            continue
        welch = stats.ttest_ind(first, second, equal_var=False)
        student = stats.ttest_ind(first, second, equal_var=True)
        assert row.p_value == pytest.approx(max(welch.pvalue, student.pvalue))
        interval = welch.confidence_interval()
        assert (row.low, row.high) == (bounded(interval.low), bounded(interval.high))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(20, 80),
    n_clusters=st.integers(4, 40),
    nested=st.booleans(),
)
def test_clusters_are_summed_as_plain_loops_do(seed, n_items, n_clusters, nested):
    gaps, codes = sample(seed, n_items, n_values=2)
    units = np.random.default_rng(seed).integers(0, n_clusters, n_items)
    if nested:
        codes = units % 2
    known = ~np.isnan(gaps) & (codes >= 0)

    for row in compare_slices(gaps, [codes], clusters=units, min_items=5):
        inside = codes[known] == row.value
        if row.reason is not None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            t, low, high, p = clustered(gaps[known], inside, units[known])
        assert row.difference == pytest.approx(t, abs=1e-12)
        assert (row.low, row.high) == (bounded(low), bounded(high))
        assert row.p_value == pytest.approx(p, abs=1e-12)


def test_a_slice_that_by_chance_has_one_gap_is_no_certainty():
    # Every tenth item is won; none of the ten in the slice. Welch alone would say p = 0.001.
    gaps = (np.arange(210) % 10 == 0).astype(float)
    codes = np.zeros(210, int)
    codes[[i for i in range(210) if i % 10][:10]] = 1

    [_, row] = compare_slices(gaps, [codes])

    assert row.difference == pytest.approx(-21 / 200)
    assert row.p_value > 0.2
    assert row.low < 0 < row.high


def test_without_any_variance_the_difference_is_exact():
    gaps = np.where(np.arange(40) < 20, -1.0, 0.0)

    apart, same = (
        compare_slices(gaps, [np.arange(40) // 20])[0],
        compare_slices(np.zeros(40), [np.arange(40) // 20])[0],
    )

    assert (apart.low, apart.high, apart.p_value, apart.worse) == (-1, -1, 0, True)
    assert (same.difference, same.p_value, same.worse) == (0, 1, False)


def test_the_better_half_is_not_worse():
    gaps = np.where(np.arange(100) < 50, 1.0, -1.0) * (np.arange(100) % 5 > 0)

    better, worse = compare_slices(gaps, [np.arange(100) // 50])

    assert (better.worse, worse.worse) == (False, True)
    assert better.p_value == worse.p_value
    assert better.difference == -worse.difference


def test_small_slices_are_not_listed_and_unknown_items_are_nowhere():
    gaps = np.zeros(60)
    codes = np.repeat([0, 1, 2, -1], [30, 9, 11, 10])

    rows = compare_slices(gaps, [codes])

    assert [(row.value, row.n_items, row.n_elsewhere) for row in rows] == [(0, 30, 20), (2, 11, 39)]
    [whole] = compare_slices(np.ones(20), [np.zeros(20, int)])
    assert (whole.gap, whole.n_elsewhere, math.isnan(whole.gap_elsewhere)) == (1, 0, True)
    assert compare_slices(np.full(20, np.nan), [np.zeros(20, int)]) == []


@pytest.mark.parametrize(
    ("codes", "clusters", "reason"),
    [
        (np.zeros(30, int), None, "fewer than 10 items elsewhere"),
        (np.repeat([0, 1], [25, 5]), None, "fewer than 10 items elsewhere"),
        (np.repeat([0, 1], 15), np.repeat([0, 1], 15), "fewer than two clusters on one side"),
        (np.repeat([0, 1], 15), np.tile([0, 1, 2], 10), "the clusters leave no variance"),
    ],
)
def test_what_cannot_be_tested_is_undefined(codes, clusters, reason):
    gaps = np.tile(np.repeat([1.0, 0, -1, 0, 0], 3), 2)

    row = compare_slices(gaps, [codes], clusters=clusters)[0]

    assert row.reason.startswith(reason)
    assert all(math.isnan(x) for x in (row.low, row.high, row.p_value, row.p_adjusted))
    assert not row.worse


def test_p_values_are_adjusted_over_all_columns():
    gaps, first = sample(3, 200)
    second = sample(4, 200)[1]

    rows = compare_slices(gaps, [first, second])

    p_values = [row.p_value for row in rows]
    expected = stats.false_discovery_control(p_values, method="by")
    assert [row.p_adjusted for row in rows] == pytest.approx(expected)
    assert [row.column for row in rows] == [0] * 3 + [1] * 3


@given(st.integers(0, 2**32 - 1), st.sampled_from((0.01, 0.05, 0.3)))
def test_an_adjusted_p_value_up_to_q_is_a_rejection_at_q(seed, rate):
    gaps, codes = sample(seed, 120, n_values=6)
    gaps[codes == 2] -= 0.3

    rows = compare_slices(gaps, [codes], min_items=5, false_discovery_rate=rate)

    rejected = benjamini_yekutieli([row.p_value for row in rows], false_discovery_rate=rate)
    adjusted = np.array([row.p_adjusted for row in rows])
    assert ((adjusted <= rate) == rejected).all() or np.isclose(adjusted, rate, rtol=1e-9).any()
    assert [row.worse for row in rows] == [
        bool(found) and row.difference < 0 for found, row in zip(rejected, rows, strict=True)
    ]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"min_items": 1}, "`min_items` must be"),
        ({"confidence_level": 95}, "`confidence_level` must be in"),
        ({"false_discovery_rate": 0}, "`false_discovery_rate` must be in"),
        ({"clusters": [1]}, "`clusters` must have the shape"),
        ({"columns": [[0.5] * 4]}, "`columns` must hold integer codes"),
        ({"columns": [[1]]}, "`columns` must hold integer codes of the shape"),
        ({"gaps": [[0.0]]}, "`gaps` must be finite of the shape"),
        ({"gaps": [0, 0, 0, np.inf]}, "`gaps` must be finite"),
    ],
)
def test_arguments_are_checked(changed, match):
    given = {"gaps": np.zeros(4), "columns": [[0, 0, 1, 1]], **changed}

    with pytest.raises(InputError, match=match):
        compare_slices(given.pop("gaps"), given.pop("columns"), **given)
