"""The one-sample t-test from sums, against SciPy, direct formulas and the stored exact sizes."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alt_test_oracle import (
    boundary_probabilities,
    t_test_p,
    t_test_size,
    table_probabilities,
    tables_of,
)
from voirdire.stats import OutcomeSums, sum_outcomes
from voirdire.stats.paired_test import difference_values, mean_difference, t_test_p_values

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "t_test_size.json"
EPSILONS = np.array([0.0, 0.05, 0.1, 0.2, 0.3])
MODES = ("additive", "multiplicative")


def values_of(outcomes, epsilon, mode):
    """d of each item, from its definition."""
    judge, human = outcomes <= 1, outcomes >= 1
    if mode == "additive":
        return human.astype(float) - judge, epsilon
    return human - judge / (1 - epsilon), 0.0


def random_outcomes(seed, n=40, shares=(0.3, 0.4, 0.3)):
    return np.random.default_rng(seed).choice(3, n, p=shares).astype(np.int8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_t_is_that_of_scipy(mode, seed):
    outcomes = random_outcomes(seed, n=5 + 9 * seed)

    difference = mean_difference(
        sum_outcomes(outcomes[np.newaxis]), EPSILONS, mode=mode, design="items"
    )
    p_values = t_test_p_values(difference)

    assert p_values.shape == (len(EPSILONS), 1)
    for row, epsilon in enumerate(EPSILONS):
        d, target = values_of(outcomes, epsilon, mode)
        expected = stats.ttest_1samp(d, target, alternative="less")
        statistic = (difference.mean - difference.target) / difference.standard_error
        assert statistic[row, 0] == pytest.approx(expected.statistic, rel=1e-10)
        assert p_values[row, 0] == pytest.approx(expected.pvalue, rel=1e-9)
        assert difference.degrees_of_freedom[row, 0] == expected.df


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_the_weighted_error_is_that_of_its_formula(mode, seed):
    outcomes = random_outcomes(seed)
    pi = np.random.default_rng(seed + 100).gamma(1, 1, 40)

    difference = mean_difference(
        sum_outcomes(outcomes[np.newaxis], weights=pi[np.newaxis]),
        EPSILONS,
        mode=mode,
        design="weighted",
    )

    for row, epsilon in enumerate(EPSILONS):
        d, target = values_of(outcomes, epsilon, mode)
        mean = np.average(d, weights=pi)
        n_pi = pi.sum() ** 2 / np.sum(pi**2)
        s_pi = math.sqrt(np.sum(pi * (d - mean) ** 2) / pi.sum())
        t = (mean - target) / (s_pi / math.sqrt(n_pi))
        assert difference.mean[row, 0] == pytest.approx(mean)
        assert difference.degrees_of_freedom[row, 0] == pytest.approx(n_pi - 1)
        assert t_test_p_values(difference)[row, 0] == pytest.approx(stats.t.cdf(t, n_pi - 1))


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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_clustered_error_is_the_sandwich_of_a_regression(mode, weighted, seed):
    rng = np.random.default_rng(seed)
    clusters = np.sort(rng.integers(0, 12, 60))
    outcomes = rng.integers(0, 3, 60).astype(np.int8)
    pi = rng.gamma(2, 1, 60) if weighted else np.ones(60)

    difference = mean_difference(
        sum_outcomes(outcomes[np.newaxis], weights=pi[np.newaxis], clusters=clusters),
        EPSILONS,
        mode=mode,
        design="clustered",
    )

    for row, epsilon in enumerate(EPSILONS):
        d, _ = values_of(outcomes, epsilon, mode)
        assert difference.standard_error[row, 0] == pytest.approx(sandwich_error(d, pi, clusters))
        assert difference.degrees_of_freedom[row, 0] == len(np.unique(clusters)) - 1


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.sampled_from(EPSILONS.tolist()),
    st.sampled_from(MODES),
    st.sampled_from(("items", "weighted", "clustered")),
    st.integers(0, 2**32 - 1),
)
def test_p_values_are_those_of_the_oracle(outcomes, epsilon, mode, design, seed):
    rng = np.random.default_rng(seed)
    outcomes = np.array(outcomes, dtype=np.int8)
    n = len(outcomes)
    pi = rng.choice([0.5, 1.0, 3.0], n) if design == "weighted" else None
    clusters = np.sort(rng.integers(0, n, n)) if design == "clustered" else None
    d, target = values_of(outcomes, epsilon, mode)

    sums = sum_outcomes(
        outcomes[np.newaxis],
        weights=None if pi is None else pi[np.newaxis],
        clusters=clusters,
    )
    p_values = t_test_p_values(mean_difference(sums, np.array([epsilon]), mode=mode, design=design))

    expected = t_test_p(d, target, pi, clusters)
    assert p_values[0, 0] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("design", ["items", "weighted", "clustered"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("outcome", "epsilon", "additive", "multiplicative"),
    [
        (0, 0.0, 0, 0),  # the judge always wins: d = -1, or -1 / (1 - 0)
        (0, 0.2, 0, 0),
        (1, 0.0, 1, 1),  # always ties: 0 is not below 0
        (1, 0.2, 0, 0),  # but below .2; and 1 - 1/.8 is below 0
        (2, 0.0, 1, 1),  # always loses
        (2, 0.3, 1, 1),
    ],
)
def test_without_variance_the_mean_decides(
    design, mode, outcome, epsilon, additive, multiplicative
):
    outcomes = np.full((1, 12), outcome, dtype=np.int8)
    weights = np.linspace(0.1, 0.7, 12)[np.newaxis] if design == "weighted" else None
    clusters = np.arange(12) // 3 if design == "clustered" else None

    difference = mean_difference(
        sum_outcomes(outcomes, weights=weights, clusters=clusters),
        np.array([epsilon]),
        mode=mode,
        design=design,
    )

    expected = additive if mode == "additive" else multiplicative
    assert t_test_p_values(difference)[0, 0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_clusters_that_each_balance_leave_no_variance(mode):
    outcomes = np.array([[0, 2, 0, 2, 2, 0]], dtype=np.int8)
    sums = sum_outcomes(outcomes, clusters=np.array([0, 0, 1, 1, 2, 2]))

    difference = mean_difference(sums, np.array([0.0, 0.2]), mode=mode, design="clustered")

    # Each cluster has a mean d of 0, or 1/2 - 1/(2 * .8) < 0 when multiplicative.
    assert difference.standard_error.ravel().tolist() == [0, 0]
    assert t_test_p_values(difference).ravel().tolist() == [1, 0]


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4])
def test_a_mean_on_the_boundary_is_not_below_it(epsilon):
    # 20 items a cluster: their mean d is 0 when multiplicative if w + t = (1 - e)(t + l).
    percent = round(100 * epsilon)
    wins, losses = 100 - percent, 100
    cluster = [0] * wins + [2] * losses
    outcomes = np.array([cluster * 3], dtype=np.int8)
    sums = sum_outcomes(outcomes, clusters=np.repeat(np.arange(3), len(cluster)))

    difference = mean_difference(
        sums, np.array([epsilon]), mode="multiplicative", design="clustered"
    )

    assert t_test_p_values(difference).item() == 1


def test_one_unit_has_no_error():
    one_item = mean_difference(
        sum_outcomes(np.array([[0]], dtype=np.int8)), EPSILONS, mode="additive", design="items"
    )
    one_cluster = mean_difference(
        sum_outcomes(np.array([[0, 1, 2]], dtype=np.int8), clusters=np.zeros(3, dtype=int)),
        EPSILONS,
        mode="additive",
        design="clustered",
    )

    for difference in (one_item, one_cluster):
        assert np.isnan(difference.standard_error).all()
        assert np.isnan(t_test_p_values(difference)).all()


def test_no_items_have_no_mean():
    sums = sum_outcomes(np.full((1, 3), -1, dtype=np.int8))

    difference = mean_difference(sums, EPSILONS, mode="additive", design="items")

    assert np.isnan(difference.mean).all()
    assert np.isnan(t_test_p_values(difference)).all()


def test_one_cluster_per_item_is_no_clusters():
    outcomes = random_outcomes(1)[np.newaxis]

    plain = mean_difference(sum_outcomes(outcomes), EPSILONS, mode="additive", design="items")
    clustered = mean_difference(
        sum_outcomes(outcomes, clusters=np.arange(40)),
        EPSILONS,
        mode="additive",
        design="clustered",
    )

    np.testing.assert_allclose(clustered.standard_error, plain.standard_error)
    assert (clustered.degrees_of_freedom == plain.degrees_of_freedom).all()


@pytest.mark.parametrize("mode", MODES)
def test_copies_within_a_cluster_add_no_evidence(mode):
    rng = np.random.default_rng(8)
    clusters = np.sort(rng.integers(0, 15, 45))
    outcomes = rng.integers(0, 3, (1, 45)).astype(np.int8)

    once, thrice = (
        mean_difference(
            sum_outcomes(np.repeat(outcomes, n, axis=1), clusters=np.repeat(clusters, n)),
            EPSILONS,
            mode=mode,
            design="clustered",
        )
        for n in (1, 3)
    )

    np.testing.assert_allclose(t_test_p_values(thrice), t_test_p_values(once), rtol=1e-10)


def test_values_of_d_by_hand():
    values, target = difference_values(np.array([0.0, 0.2]), "multiplicative")

    # W^h - W^f / .8 on a win, a tie and a loss of the judge.
    np.testing.assert_allclose(values, [[-1, 0, 1], [-1.25, -0.25, 1]])
    assert target.tolist() == [0, 0]
    values, target = difference_values(np.array([0.0, 0.2]), "additive")
    assert values.tolist() == [[-1, 0, 1]] * 2
    assert target.tolist() == [0, 0.2]


def sizes_of_t(n, tie_share, epsilon, mode):
    """The size of voirdire's own t-test: the probability of all tables that it rejects."""
    tables = tables_of(n)
    sums = OutcomeSums(
        counts=tables,
        weights=tables.astype(float),
        squares=tables[..., np.newaxis] * np.eye(3),
        n_units=tables.sum(axis=1),
    )
    difference = mean_difference(sums, np.array([epsilon]), mode=mode, design="items")
    rejected = t_test_p_values(difference)[0] <= 0.05
    point = boundary_probabilities(tie_share, epsilon, mode)
    return float(table_probabilities(tables, point)[rejected, 0].sum())


def test_the_size_of_the_t_test_is_the_stored_one():
    rows = json.loads(REFERENCE.read_text())["rows"]

    for row in rows:
        size = sizes_of_t(row["n"], row["tie_share"], row["epsilon"], "additive")

        assert size == pytest.approx(row["size"], abs=1e-6), row


@pytest.mark.parametrize("tie_share", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("n", [7, 20])
def test_the_multiplicative_size_is_that_of_the_oracle(n, tie_share):
    size = sizes_of_t(n, tie_share, 0.2, "multiplicative")

    assert size == pytest.approx(t_test_size(n, tie_share, 0.2, "multiplicative"), abs=1e-9)


def test_the_t_test_is_too_large_where_ties_are_many():
    # The figures of the design: .167, .123 and .080 at a tie share of .8 and epsilon .2.
    sizes = [round(sizes_of_t(n, 0.8, 0.2, "additive"), 3) for n in (15, 30, 100)]

    assert sizes == [0.167, 0.123, 0.080]
