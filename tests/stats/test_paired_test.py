"""The one-sample t-test of one annotator against SciPy, direct formulas and exact sizes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as t_distribution
from scipy.stats import ttest_1samp

from alt_test_oracle import (
    boundary_probabilities,
    t_test_p,
    t_test_size,
    table_probabilities,
    tables_of,
)
from made_outcomes import labels_with, outcomes_of
from voirdire import stats

EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.3)
MODES = ("additive", "multiplicative")


def examine(*annotators, gold=None, **options):
    """Test one judge whose outcomes are given, by ε."""
    settings = {"min_items": 2} | options
    return stats.alt_test(**labels_with(*annotators, gold=gold), **settings)


def rows_of(outcomes, **options):
    """The row of a single annotator, by ε."""
    return [result.annotators[0] for result in examine(outcomes, **options)]


def values_of(outcomes, epsilon, mode):
    """d of each item, from its definition, and what its mean is tested against."""
    judge, human = outcomes <= 1, outcomes >= 1
    if mode == "additive":
        return human.astype(float) - judge, epsilon
    return human - judge / (1 - epsilon), 0.0


def random_outcomes(seed, n=40):
    return np.random.default_rng(seed).choice(3, n, p=(0.3, 0.4, 0.3))


def labels_and_weights(seed, n):
    """Gold labels of unequal frequency, and the weight that each gives its item."""
    gold = np.random.default_rng(seed).choice(4, n, p=(0.6, 0.2, 0.1, 0.1))
    return gold, 1 / np.bincount(gold)[gold]


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_t_is_that_of_scipy(mode, seed):
    outcomes = random_outcomes(seed, n=5 + 9 * seed)

    rows = rows_of(outcomes, epsilon=EPSILONS, epsilon_mode=mode)

    for row, epsilon in zip(rows, EPSILONS, strict=True):
        d, target = values_of(outcomes, epsilon, mode)
        expected = ttest_1samp(d, target, alternative="less")
        statistic = (row.mean_difference - target) / row.standard_error
        assert statistic == pytest.approx(expected.statistic, rel=1e-10)
        assert row.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert row.degrees_of_freedom == expected.df


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_the_weighted_error_is_that_of_its_formula(mode, seed):
    outcomes = random_outcomes(seed)
    gold, pi = labels_and_weights(seed, 40)

    rows = rows_of(outcomes, gold=gold, weights="imbalance", epsilon=EPSILONS, epsilon_mode=mode)

    for row, epsilon in zip(rows, EPSILONS, strict=True):
        d, target = values_of(outcomes, epsilon, mode)
        mean = np.average(d, weights=pi)
        n_pi = pi.sum() ** 2 / np.sum(pi**2)
        s_pi = math.sqrt(np.sum(pi * (d - mean) ** 2) / pi.sum())
        t = (mean - target) / (s_pi / math.sqrt(n_pi))
        assert row.mean_difference == pytest.approx(mean)
        assert row.degrees_of_freedom == pytest.approx(n_pi - 1)
        assert row.p_value == pytest.approx(t_distribution.cdf(t, n_pi - 1))


def sandwich_error(d, pi, clusters):
    """The cluster-robust error of a weighted mean: the regression of d on a constant."""
    x = np.ones((len(d), 1))
    bread = np.linalg.inv(x.T @ (pi[:, np.newaxis] * x))
    residuals = d - float((bread @ x.T @ (pi * d))[0])
    groups = np.unique(clusters)
    meat = np.zeros((1, 1))
    for group in groups:
        own = clusters == group
        score = x[own].T @ (pi[own] * residuals[own])
        meat += np.outer(score, score)
    g = len(groups)
    return math.sqrt((g / (g - 1) * bread @ meat @ bread).item())


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_clustered_error_is_the_sandwich_of_a_regression(mode, weighted, seed):
    outcomes, clusters = random_outcomes(seed, n=60), np.arange(60) * 7 % 12
    gold, pi = labels_and_weights(seed, 60) if weighted else (None, np.ones(60))

    rows = rows_of(
        outcomes,
        gold=gold,
        weights="imbalance" if weighted else None,
        clusters=clusters,
        epsilon=EPSILONS,
        epsilon_mode=mode,
    )

    for row, epsilon in zip(rows, EPSILONS, strict=True):
        d, _ = values_of(outcomes, epsilon, mode)
        assert row.standard_error == pytest.approx(sandwich_error(d, pi, clusters))
        assert row.degrees_of_freedom == 11


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.sampled_from(EPSILONS),
    st.sampled_from(MODES),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_p_values_are_those_of_the_oracle(outcomes, epsilon, mode, weighted, clustered, seed):
    outcomes, n = np.array(outcomes), len(outcomes)
    gold, pi = labels_and_weights(seed, n) if weighted else (None, None)
    clusters = np.random.default_rng(seed).integers(0, n, n) if clustered else None
    options = {"weights": "imbalance" if weighted else None, "clusters": clusters}

    [row] = rows_of(outcomes, gold=gold, epsilon=epsilon, epsilon_mode=mode, **options)

    expected = t_test_p(*values_of(outcomes, epsilon, mode), pi, clusters)
    assert row.p_value == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.edges
@pytest.mark.parametrize("design", ["items", "weighted", "clustered"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("outcome", "epsilon", "p_value"),
    [
        (0, 0.0, 0),  # the judge always wins: d = -1, or -1 / (1 - 0)
        (0, 0.2, 0),
        (1, 0.0, 1),  # always ties: 0 is not below 0
        (1, 0.2, 0),  # but below .2; and 1 - 1/.8 is below 0
        (2, 0.0, 1),  # always loses
        (2, 0.3, 1),
    ],
)
def test_without_variance_the_mean_decides(design, mode, outcome, epsilon, p_value):
    options = {
        "items": {},
        "weighted": {"gold": np.arange(12) % 5 % 3, "weights": "imbalance"},
        "clustered": {"clusters": np.arange(12) // 3},
    }[design]

    [row] = rows_of(np.full(12, outcome), epsilon=epsilon, epsilon_mode=mode, **options)

    assert row.p_value == p_value
    assert row.standard_error == 0


@pytest.mark.parametrize("mode", MODES)
def test_clusters_that_each_balance_leave_no_variance(mode):
    clusters = [0, 0, 1, 1, 2, 2]

    rows = rows_of([0, 2, 0, 2, 2, 0], clusters=clusters, epsilon=[0.0, 0.2], epsilon_mode=mode)

    # Each cluster has a mean d of 0, or 1/2 - 1/(2 * .8) < 0 when multiplicative.
    assert [row.standard_error for row in rows] == [0, 0]
    assert [row.p_value for row in rows] == [1, 0]


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4])
def test_a_mean_on_the_boundary_is_not_below_it(epsilon):
    # The mean d of a cluster is 0 when multiplicative if w + t = (1 - e)(t + l).
    cluster = outcomes_of((100 - round(100 * epsilon), 0, 100))
    clusters = np.repeat(np.arange(3), len(cluster))

    [row] = rows_of(
        np.tile(cluster, 3), clusters=clusters, epsilon=epsilon, epsilon_mode="multiplicative"
    )

    assert row.p_value == 1


def test_one_cluster_has_no_error():
    rows = rows_of([0, 1, 2], clusters=[4, 4, 4], epsilon=EPSILONS)

    assert np.isnan([row.standard_error for row in rows]).all()
    assert np.isnan([row.p_value for row in rows]).all()


@pytest.mark.parametrize(
    ("mode", "means"),
    # W^h - W^f, and W^h - W^f / .8, on one win, one tie and two losses of the judge.
    [("additive", 1 / 4), ("multiplicative", 3 / 4 - 2 / 4 / 0.8)],
)
def test_the_mean_difference_by_hand(mode, means):
    [row] = rows_of(outcomes_of((1, 1, 2)), epsilon=0.2, epsilon_mode=mode)

    assert row.mean_difference == pytest.approx(means)


@pytest.mark.edges
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tie_share", [0.0, 0.4, 0.8])
def test_the_size_of_the_test_is_that_of_the_oracle(tie_share, mode):
    tables = tables_of(15)

    [result] = examine(*map(outcomes_of, tables), epsilon=0.2, epsilon_mode=mode)

    rejected = np.array([row.p_value <= 0.05 for row in result.annotators])
    point = boundary_probabilities(tie_share, 0.2, mode)
    size = float(table_probabilities(tables, point)[rejected, 0].sum())
    assert size == pytest.approx(t_test_size(15, tie_share, 0.2, mode), abs=1e-9)
    if (tie_share, mode) == (0.8, "additive"):
        assert round(size, 3) == 0.167  # of the design: too large where ties are many
