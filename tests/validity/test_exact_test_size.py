"""The exact test's type I error and power by simulation, through the whole pipeline."""

import math

import numpy as np
import pytest

from alt_test_oracle import boundary_probabilities
from voirdire import stats

pytestmark = pytest.mark.slow

LEVEL = 0.05


def rejection_rate(rng, n_items, point, epsilon, mode, n_runs):
    """The share of simulated studies of one annotator, with gold label 0, that reject."""
    rejected = 0
    # Judge right and annotator wrong is a win, both right a tie, only the annotator right a loss.
    outcomes = rng.choice(3, size=(n_runs, n_items), p=point)
    for row in outcomes:
        judge = (row == 2).astype(int)  # label 0 is gold
        human = (row == 0).astype(int)
        [result] = stats.alt_test(
            judge,
            human[:, np.newaxis],
            gold=np.zeros(n_items, dtype=int),
            n_codes=2,
            epsilon=epsilon,
            epsilon_mode=mode,
            min_items=2,
        )
        rejected += result.annotators[0].exact_p_value <= LEVEL
    return rejected / n_runs


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
@pytest.mark.parametrize("tie_share", [0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("n_items", [15, 30, 100])
def test_the_exact_test_holds_its_level(n_items, tie_share, epsilon, mode):
    rng = np.random.default_rng([n_items, round(100 * tie_share), round(100 * epsilon)])
    n_runs = 1_000
    point = boundary_probabilities(tie_share, epsilon, mode)

    rate = rejection_rate(rng, n_items, point / point.sum(), epsilon, mode, n_runs)

    assert rate <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / n_runs)


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_power_grows_with_the_number_of_items(mode):
    rng = np.random.default_rng(1)
    point = np.array([0.25, 0.5, 0.25])

    powers = [rejection_rate(rng, n, point, 0.2, mode, 500) for n in (15, 40, 120)]

    assert powers[0] < powers[1] < powers[2]


def test_the_exact_test_never_knows_more_than_the_t_test_where_ties_are_few():
    # Without many ties both tests are alike in power; the exact one costs little.
    rng = np.random.default_rng(4)
    outcomes = rng.choice(3, size=(500, 60), p=[0.4, 0.25, 0.35])
    rejected = {"t": 0, "exact": 0}
    for row in outcomes:
        [result] = stats.alt_test(
            (row == 2).astype(int),
            (row == 0).astype(int)[:, np.newaxis],
            gold=np.zeros(60, dtype=int),
            n_codes=2,
        )
        [annotator] = result.annotators
        rejected["t"] += annotator.p_value <= LEVEL
        rejected["exact"] += annotator.exact_p_value <= LEVEL

    assert abs(rejected["t"] - rejected["exact"]) <= 0.05 * 500
