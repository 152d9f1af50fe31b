"""How often the outcome passes judges that should not, and how often judges that should."""

import math

import numpy as np
import pytest

from voirdire import stats

pytestmark = pytest.mark.slow

N_RUNS = 300
EPSILON = 0.2
SCALE = [0.02, 0.03, 0.1, 0.25, 0.6]
"""Shares of 1 to 5 on a skewed scale."""


def draw_truth(rng, shares, n_items, per_cluster):
    return np.repeat(rng.choice(len(shares), n_items // per_cluster, p=shares), per_cluster)


def err(rng, truth, rate, n_labels, per_cluster=1):
    """Give another label at a rate, in whole clusters."""
    n_units = len(truth) // per_cluster
    wrong = np.repeat(rng.random(n_units) < rate, per_cluster)
    shift = np.repeat(rng.integers(1, n_labels, n_units), per_cluster)
    return np.where(wrong, (truth + shift) % n_labels, truth)


def shares_passed(
    judge_of, *, shares, noise=0.0, n_items=100, per_cluster=1, n_runs=N_RUNS, **options
):
    """Simulate studies of three annotators: how often the outcome passes, and ω does."""
    passed = won = 0
    for run in range(n_runs):
        rng = np.random.default_rng([run, n_items, per_cluster])
        truth = draw_truth(rng, shares, n_items, per_cluster)
        humans = np.stack([err(rng, truth, noise, len(shares)) for _ in range(3)], axis=1)
        if per_cluster > 1:
            options["clusters"] = np.arange(n_items) // per_cluster
        judge = judge_of(rng, truth)
        [result] = stats.alt_test(judge, humans, epsilon=EPSILON, n_codes=len(shares), **options)
        passed += result.outcome == "passed"
        won += result.t_test.passed
    return passed / n_runs, won / n_runs


def above(level, n_runs=N_RUNS):
    return level + 3 * math.sqrt(level * (1 - level) / n_runs)


def two(prevalence):
    return [1 - prevalence, prevalence]


@pytest.fixture(scope="module")
def rate_at_the_boundary():
    """Find the rate of errors with which a judge is exactly ε worse than annotators who err too."""

    def find(shares, noise):
        rng = np.random.default_rng(0)
        truth = draw_truth(rng, shares, 100_000, 1)
        humans = np.stack([err(rng, truth, noise, len(shares)) for _ in range(3)], axis=1)
        low, high = 0.0, 1.0
        for _ in range(9):
            rate = (low + high) / 2
            judge = err(np.random.default_rng(1), truth, rate, len(shares))
            [found] = stats.alt_test(judge, humans, epsilon=EPSILON, n_codes=len(shares))
            worse = np.mean([row.mean_difference for row in found.annotators]) > EPSILON
            low, high = (low, rate) if worse else (rate, high)
        return (low + high) / 2

    return find


@pytest.mark.parametrize("n_items", [30, 100, 300])
@pytest.mark.parametrize("shares", [two(0.03), two(0.1), two(0.25), two(0.5), SCALE], ids=str)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_judges_at_the_boundary_constants_and_random_judges_seldom_pass(
    rate_at_the_boundary, n_items, shares, noise
):
    rate = EPSILON if noise == 0 else rate_at_the_boundary(shares, noise)
    cell = {"shares": shares, "noise": noise, "n_items": n_items}
    top = int(np.argmax(shares))

    boundary, _ = shares_passed(lambda rng, truth: err(rng, truth, rate, len(shares)), **cell)
    constant, _ = shares_passed(lambda rng, truth: np.full_like(truth, top), **cell)
    random, _ = shares_passed(lambda rng, truth: rng.permutation(truth), **cell)

    assert boundary <= above(0.05)
    assert constant == 0
    assert random <= above(0.01)


def test_by_omega_alone_unanimous_panels_pass_more():
    cell = {"shares": two(0.5), "n_items": 30}

    outcome, omega = shares_passed(lambda rng, truth: err(rng, truth, EPSILON, 2), **cell)

    assert outcome <= above(0.05)
    assert omega > outcome + 0.02


@pytest.mark.parametrize("prevalence", [0.03, 0.1, 0.25])
def test_weighted_judges_at_the_boundary_seldom_pass(prevalence):
    cell = {"shares": two(prevalence), "n_items": 300, "weights": "imbalance"}

    outcome, _ = shares_passed(lambda rng, truth: err(rng, truth, EPSILON, 2), **cell)
    constant, _ = shares_passed(lambda rng, truth: np.zeros_like(truth), **cell)

    assert outcome <= above(0.05)
    assert constant == 0


@pytest.mark.parametrize("per_cluster", [3, 10])
def test_judges_at_the_boundary_in_correlated_clusters_seldom_pass(per_cluster):
    cell = {"shares": two(0.5), "n_items": 300, "per_cluster": per_cluster}

    def judge(rng, truth):
        return err(rng, truth, EPSILON, 2, per_cluster)

    outcome, _ = shares_passed(judge, **cell)

    assert outcome <= above(0.05)


@pytest.mark.parametrize(
    ("prevalence", "n_items", "least"),
    [(0.5, 50, 0.95), (0.25, 100, 0.95), (0.1, 50, 0.4), (0.1, 100, 0.85)],
)
def test_a_perfect_judge_passes_as_often_as_the_docs_say(prevalence, n_items, least):
    outcome, omega = shares_passed(
        lambda _, truth: truth, shares=two(prevalence), noise=0.05, n_items=n_items
    )

    assert outcome >= least
    assert omega >= outcome


@pytest.mark.parametrize("prevalence", [0.03, 0.1, 0.2])
@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("n_items", [50, 120])
def test_a_constant_but_for_a_few_items_seldom_passes(prevalence, noise, n_items):
    """Where the few items are as often true as not, it is no closer than the constant."""

    def answer(rng, truth):
        few = rng.random(int(rng.integers(3, 9))) < 0.5
        sides = [rng.permutation(np.flatnonzero(truth == side)) for side in (0, 1)]
        answers = np.zeros_like(truth)
        answers[sides[1][: few.sum()]] = answers[sides[0][: (~few).sum()]] = 1
        return answers

    passed, _ = shares_passed(
        answer, shares=two(prevalence), noise=noise, n_items=n_items, n_runs=200
    )

    assert passed <= above(0.03, 200)
