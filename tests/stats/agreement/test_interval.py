"""The interval of a share: its scale, its units, its degrees of freedom."""

import math

import numpy as np
import pytest
from scipy.stats import t as t_distribution

from voirdire import InputError, stats


def panel(hits):
    """Labels of two raters who agree where `hits` says so, on evenly frequent labels."""
    first = np.arange(len(hits)) % 2
    second = np.where(hits, first, 1 - first)
    return np.column_stack([first, second])


def agreement(hits, **options):
    return stats.raw_agreement(panel(np.asarray(hits, dtype=bool)), **options)


def test_the_interval_of_a_share_is_that_of_its_logit():
    result = agreement([1] * 30 + [0] * 10)

    # The error of a logit is that of the share over p (1 - p): sqrt(pq / (n - 1)) / pq.
    half = t_distribution.ppf(0.975, 39) / math.sqrt(0.75 * 0.25 * 39)
    assert result.estimate == 0.75
    assert result.low == pytest.approx(1 / (1 + math.exp(-(math.log(3) - half))))
    assert result.high == pytest.approx(1 / (1 + math.exp(-(math.log(3) + half))))
    assert result.n_clusters == 40


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("seed", [0, 2])
def test_clusters_of_unequal_size_take_degrees_of_freedom(seed, level):
    rng = np.random.default_rng(seed)
    sizes = rng.permutation([1] * 20 + [2] * 5 + [15, 25])
    clusters = np.repeat(np.arange(27), sizes)
    hits = rng.random(len(clusters)) < np.repeat(rng.uniform(0.3, 0.9, 27), sizes)

    result = agreement(hits, clusters=clusters, confidence_level=level)

    # Satterthwaite's degrees of freedom, with what of the variance goes with the mean left out.
    p, n_units = hits.mean(), 27
    sums = np.bincount(clusters, weights=(hits - p) / len(hits))
    spread = (sums**2).sum()
    skewness = n_units * (sums**3).sum() ** 2 / spread**3
    kurtosis = n_units * (sums**4).sum() / spread**2
    degrees = min(n_units - 1, 2 * n_units / (kurtosis - 1 - skewness))
    half = t_distribution.ppf((1 + level) / 2, degrees) * math.sqrt(n_units / 26 * spread)
    logits = math.log(p / (1 - p)) + np.array([-1, 1]) * half / (p * (1 - p))
    assert degrees < 26
    assert (result.low, result.high) == pytest.approx(1 / (1 + np.exp(-logits)))


def test_items_that_only_one_rater_labelled_are_no_units():
    labels = np.concatenate([panel([1] * 20 + [0] * 5), [[0, -1]] * 15])
    clusters = np.arange(40) // 5

    items = stats.raw_agreement(labels)
    clustered = stats.raw_agreement(labels, clusters=clusters)

    assert (items.n_clusters, clustered.n_clusters) == (25, 5)


@pytest.mark.parametrize(("hits", "end"), [(1, "low"), (0, "high")])
def test_a_share_without_spread_is_bounded_as_clopper_and_pearson_do(hits, end):
    result = agreement([hits] * 30)

    bound = 0.025 ** (1 / 30)
    assert result.estimate == hits
    assert getattr(result, end) == pytest.approx(bound if hits else 1 - bound)
    assert (result.low, result.high)[hits] == hits


def test_perfect_agreement_on_one_rare_label_is_no_certainty():
    rare, even = (stats.cohen_kappa(x, x) for x in ([1] + [0] * 29, [0, 1] * 15))

    assert (rare.estimate, rare.high, even.estimate, even.high) == (1, 1, 1, 1)
    assert rare.low < 0 < 0.5 < even.low


def test_kappa_of_opposed_raters_keeps_above_minus_one():
    result = stats.cohen_kappa([0, 1] * 20, [1, 0] * 19 + [0, 1])

    assert -1 < result.low < result.estimate < result.high < 0


@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
def test_fewer_than_two_units_have_no_interval():
    result = agreement([1, 0, 1], clusters=["one"] * 3)

    assert math.isnan(result.low)
    assert math.isnan(result.high)


def test_clusters_have_any_names():
    hits = [1, 1, 0, 1, 0, 1]

    named = agreement(hits, clusters=["b", "b", "a", "a", "ä", "ä"])

    assert named == agreement(hits, clusters=[1, 1, 0, 0, 2, 2])
    with pytest.raises(InputError, match="`clusters` must have the shape"):
        agreement(hits, clusters=[1, 2])
