"""How often the intervals of ρ and of a difference cover, and how often equal judges differ.

A judge and three annotators answer a yes/no question: with probability .7 the truth, and else a
guess drawn by the labels' shares. The true ρ follows from all 32 cases of an item. Widths of the
allowances are three binomial standard errors.
"""

import math
from itertools import product

import numpy as np
import pytest

from voirdire import stats

pytestmark = pytest.mark.slow

LEVEL = 0.95
N_ANNOTATORS = 3
NOISE = 0.3


def allowance(n_runs, level=LEVEL):
    """Three binomial standard errors."""
    return 3 * math.sqrt(level * (1 - level) / n_runs)


def true_advantage(share, noise=NOISE):
    """ρ of a judge with this noise, summed over everything that an item can hold."""
    priors = (1 - share, share)
    total = 0.0
    for truth, judge, *humans in product((0, 1), repeat=2 + N_ANNOTATORS):
        chance = priors[truth]
        for label, guessed in zip((judge, *humans), (noise, *[NOISE] * N_ANNOTATORS), strict=True):
            chance *= (1 - guessed) * (label == truth) + guessed * priors[label]
        for j, own in enumerate(humans):
            others = humans[:j] + humans[j + 1 :]
            total += chance * (others.count(judge) >= others.count(own)) / N_ANNOTATORS
    return total


def sample(rng, share, *, n_clusters=100, per_cluster=1, noises=(NOISE,)):
    """Labels of judges and annotators; a cluster has one truth, and half of the time one guess."""
    n_items = n_clusters * per_cluster
    clusters = np.repeat(np.arange(n_clusters), per_cluster)
    noise = np.array([*noises, *[NOISE] * N_ANNOTATORS])

    def drawn(n):
        return rng.random((n, len(noise)))

    truth = (rng.random(n_clusters) < share)[clusters, np.newaxis]
    shared = rng.random((n_clusters, len(noise)))[clusters] < 0.5
    slips = np.where(shared, drawn(n_clusters)[clusters], drawn(n_items)) < noise
    guesses = np.where(shared, drawn(n_clusters)[clusters], drawn(n_items)) < share
    labels = np.where(slips, guesses, truth).astype(int)
    return labels[:, : len(noises)], labels[:, len(noises) :], clusters


def coverage(share, n_runs, **shape):
    """Share of the runs whose interval of ρ covers."""
    rng = np.random.default_rng([round(100 * share), *shape.values()])
    truth = true_advantage(share)
    covered = 0
    for run in range(n_runs):
        judge, humans, clusters = sample(rng, share, **shape)
        [result] = stats.alt_test(
            judge,
            humans,
            clusters=clusters if shape.get("per_cluster", 1) > 1 else None,
            n_resamples=600,
            confidence_level=LEVEL,
            seed=run,
        )
        found = result.uncertainty
        covered += found.advantage_low <= truth <= found.advantage_high
    return covered / n_runs


def compared(share, n_runs, *, noises, **shape):
    """Share of the runs whose interval of the difference covers, and with p ≤ .05."""
    rng = np.random.default_rng([round(100 * share), *shape.values()])
    truth = true_advantage(share, noises[0]) - true_advantage(share, noises[1])
    covered = significant = 0
    for _ in range(n_runs):
        judges, humans, clusters = sample(rng, share, noises=noises, **shape)
        [pair] = stats.compare_judges(
            judges, humans, clusters=clusters if shape.get("per_cluster", 1) > 1 else None
        )
        covered += pair.low <= truth <= pair.high
        significant += pair.p_value <= 0.05
    return covered / n_runs, significant / n_runs


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_interval_of_rho_covers_as_often_as_it_says(share):
    n_runs = 1_000

    assert abs(coverage(share, n_runs) - LEVEL) <= allowance(n_runs)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_interval_of_rho_over_clusters_covers_as_often_as_it_says(share):
    n_runs = 1_000

    found = coverage(share, n_runs, n_clusters=200, per_cluster=4)

    assert abs(found - LEVEL) <= allowance(n_runs)


@pytest.mark.parametrize(
    ("share", "measured", "shape"),
    [
        (0.1, 0.968, {"n_clusters": 50}),
        (0.05, 0.930, {"n_clusters": 50}),
        (0.5, 0.936, {"n_clusters": 60, "per_cluster": 4}),
        (0.3, 0.924, {"n_clusters": 60, "per_cluster": 4}),
        (0.1, 0.900, {"n_clusters": 60, "per_cluster": 4}),
    ],
)
def test_where_units_are_few_and_rho_is_near_one_coverage_is_what_the_docs_say(
    share, measured, shape
):
    """Few items or clusters and a ρ near 1: what was measured, nominally .95.

    50 items: .968 where the rarer label has a share of .1 (ρ .963), .930 at .05 (ρ .980); 60
    clusters of 4 items: .936 at .5, .924 at .3, .900 at .1. The t interval of the same clusters
    covers .918, .916 and .861; with 200 clusters ours is back at .95.
    """
    n_runs = 1_000

    assert abs(coverage(share, n_runs, **shape) - measured) <= allowance(n_runs, measured)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_interval_of_a_difference_covers_as_often_as_it_says(share):
    n_runs = 4_000

    covered, _ = compared(share, n_runs, noises=(0.2, 0.4))

    assert abs(covered - LEVEL) <= allowance(n_runs)


@pytest.mark.parametrize(
    ("share", "n_clusters"), [(0.5, 60), (0.1, 200), (0.3, 200), (0.5, 200), (0.7, 200), (0.9, 200)]
)
def test_the_interval_of_a_difference_over_clusters_covers_as_often_as_it_says(share, n_clusters):
    n_runs = 4_000 if n_clusters == 60 else 2_000

    shape = {"n_clusters": n_clusters, "per_cluster": 4}
    covered, _ = compared(share, n_runs, noises=(0.2, 0.4), **shape)

    assert abs(covered - LEVEL) <= allowance(n_runs)


@pytest.mark.parametrize("shape", [{}, {"n_clusters": 60, "per_cluster": 4}])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_equal_judges_differ_one_time_in_twenty(share, shape):
    n_runs = 4_000

    _, significant = compared(share, n_runs, noises=(NOISE, NOISE), **shape)

    assert significant - 0.05 <= allowance(n_runs)
    # With 60 clusters of rare labels the test is cautious.
    if share == 0.5 or not shape:
        assert 0.05 - significant <= allowance(n_runs)


@pytest.mark.parametrize("n_annotators", [3, 10])
def test_the_interval_for_other_annotators_covers_over_panels(n_annotators):
    rng = np.random.default_rng(n_annotators)

    def panel(n_items):
        truth = rng.random(n_items) < 0.4
        noise = np.append(0.25, rng.beta(0.9, 2.1, n_annotators))
        slips = rng.random((n_items, n_annotators + 1)) < noise
        guesses = rng.random((n_items, n_annotators + 1)) < 0.4
        labels = np.where(slips, guesses, truth[:, np.newaxis]).astype(int)
        return stats.alt_test(labels[:, 0], labels[:, 1:], n_resamples=100)[0]

    truth = np.mean([panel(400).advantage_probability for _ in range(1_500)])
    found = [panel(100).uncertainty for _ in range(600)]
    covered = np.mean([each.panel_low <= truth <= each.panel_high for each in found])

    assert covered >= LEVEL - allowance(600)
