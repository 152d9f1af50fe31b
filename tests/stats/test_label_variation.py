"""The distance of a judge from the distribution of people's labels, by hand and by simulation."""

import numpy as np
import pytest

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import label_variation


def test_figures_of_two_items_follow_from_fractions():
    found = label_variation([0.5, 1.0], [[1, 3], [0, 2]])

    # item 1: q̂ = 3/4, (1/2 - 3/4)² = 1/16, less 2 · 3/16 / (2 · 3) = 1/16; item 2: 0
    assert found.distance.estimate == pytest.approx(0)
    # two people agree on item 1 in 3 · 2 / (4 · 3) = 1/2, on item 2 always
    assert found.agreement_people.estimate == pytest.approx(3 / 4)
    assert found.distance_person.estimate == pytest.approx((1 / 4 + 0) / 2)
    # a drawn label of the judge: 1/2 on item 1, 1 on item 2
    assert found.agreement.estimate == pytest.approx(3 / 4)
    # overall share of yes 7/8: (1/8)² less 1/16, and (1/8)²
    assert found.distance_base_rate.estimate == pytest.approx((1 / 64 - 1 / 16 + 1 / 64) / 2)
    assert found.gain.estimate == pytest.approx((1 / 64 - 1 / 16 + 1 / 64) / 2)
    assert found.doubt_correlation == pytest.approx(1)
    assert found.n_items == found.n_units == 2


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_few_labels_an_item_give_the_distance_from_many(n_labels):
    rng = np.random.default_rng(n_labels)
    truth = rng.dirichlet(np.full(n_labels, 0.7), 4_000)
    judge = 0.7 * truth + 0.3 * rng.dirichlet(np.ones(n_labels), 4_000)
    n = rng.integers(2, 6, 4_000)
    counts = rng.multinomial(n, truth)

    found = label_variation(judge, counts)

    expected = {
        "distance": ((judge - truth) ** 2).sum(axis=1).mean() / 2,
        "distance_person": (1 - (truth**2).sum(axis=1)).mean() / 2,
        "agreement": (judge * truth).sum(axis=1).mean(),
        "agreement_people": (truth**2).sum(axis=1).mean(),
    }
    for name, value in expected.items():
        interval = getattr(found, name)
        error = (interval.high - interval.low) / 4
        assert abs(interval.estimate - value) < 4 * error
    assert found.gain.low > 0.02


def test_the_interval_covers_what_it_should():
    rng = np.random.default_rng(7)
    covered, n_runs = 0, 400
    for _ in range(n_runs):
        share = rng.beta(0.7, 1.2, 100)
        judge = np.where(share > 0.5, 0.8, 0.1)
        yes = rng.binomial(5, share)
        found = label_variation(judge, np.stack([5 - yes, yes], axis=1)).distance
        covered += found.low <= 0.030016 <= found.high

    # E (judge - share)² under this beta law, by numerical integration (scipy.integrate.quad)
    assert covered / n_runs > 0.95 - 3 * (0.95 * 0.05 / n_runs) ** 0.5


def test_items_of_one_cluster_are_no_more_than_one():
    counts, judge = np.array([[1, 2], [3, 0], [2, 2], [0, 4]]), np.array([0.6, 0.2, 0.4, 0.9])
    twice = np.repeat(np.arange(4), 2)

    alone = label_variation(judge, counts)
    doubled = label_variation(judge[twice], counts[twice], clusters=twice)

    assert doubled.n_units == 4
    assert doubled.distance.low == pytest.approx(alone.distance.low)
    assert doubled.agreement.high == pytest.approx(alone.agreement.high)


def test_items_without_two_labels_or_an_answer_are_left_out():
    found = label_variation([0.5, 0.9, np.nan, 0.1], [[2, 2], [0, 1], [3, 3], [4, 0]])

    assert found.n_items == 2


def test_nothing_to_measure_is_undefined():
    with pytest.warns(DegenerateDataWarning, match="no item has two labels"):
        found = label_variation([0.5], [[1, 0]])
    assert np.isnan(found.distance.estimate)
    assert np.isnan(found.doubt_correlation)

    with pytest.warns(DegenerateDataWarning, match="at least two items, or two clusters"):
        found = label_variation([0.5, 0.2], [[1, 1], [2, 1]], clusters=[3, 3])
    assert np.isfinite(found.distance.estimate)
    assert np.isnan(found.distance.low)


@pytest.mark.parametrize(
    ("probabilities", "counts", "message"),
    [
        ([0.5], [2], r"`counts` must have the shape \(n_items, n_labels\)"),
        ([0.5], [[1, -1]], "whole numbers from 0"),
        ([0.5], [[1, 0.5]], "whole numbers from 0"),
        ([0.5], [[1, 1, 1]], r"`probabilities` must have the shape of `counts`"),
        ([1.5], [[1, 1]], r"in \[0, 1\]"),
        ([[0.5, 0.4]], [[1, 1]], "sum to 1"),
    ],
)
def test_what_is_no_distribution_is_refused(probabilities, counts, message):
    with pytest.raises(InputError, match=message):
        label_variation(probabilities, counts)
