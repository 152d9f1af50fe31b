"""How often honest annotators are accused, null slices called worse, and intervals cover."""

import math

import numpy as np
import pytest

from voirdire.stats import compare_slices, outlier_annotators

pytestmark = pytest.mark.slow

RATE = 0.05
CONFIDENCE = 0.95


def allowance(share, n_runs):
    """Three binomial standard errors."""
    return 3 * math.sqrt(share * (1 - share) / n_runs)


def panel(rng, *, n_items, slips, n_clusters=None, per_item=None, n_labels=3):
    """Labels of annotators who repeat the truth but for their share of slips, and clusters.

    In clusters annotators also slip together on whole clusters, each on its own ones.
    """
    slips = np.asarray(slips)
    truth = rng.integers(0, n_labels, n_items)[:, np.newaxis]
    shape = (n_items, len(slips))
    clusters = None
    wrong = rng.random(shape) < slips
    if n_clusters is not None:
        clusters = np.arange(n_items) % n_clusters
        wrong |= (rng.random((n_clusters, len(slips))) < slips)[clusters]
    labels = np.where(wrong, rng.integers(0, n_labels, shape), truth)
    if per_item is not None:
        ranks = rng.random(shape).argsort(axis=1)
        labels[ranks >= per_item] = -1
    return labels, clusters


@pytest.mark.parametrize(
    "options",
    [
        {"n_items": 40, "slips": [0.1] * 3},
        {"n_items": 100, "slips": [0.3] * 5},
        {"n_items": 300, "slips": [0.05] * 8},
        {"n_items": 400, "slips": [0.2] * 60, "per_item": 4},
        {"n_items": 200, "slips": [0.2] * 4, "n_clusters": 25},
    ],
    ids=["three", "five", "careful", "crowd", "clusters"],
)
def test_honest_annotators_are_accused_no_more_often_than_q(options):
    rng = np.random.default_rng(len(str(options)))
    n_runs, accused = 1_000, 0

    for _ in range(n_runs):
        labels, clusters = panel(rng, **options)
        rows = outlier_annotators(labels, clusters=clusters, least_effect=1e-9)
        accused += any(row.outlier for row in rows)

    assert accused / n_runs <= RATE + allowance(RATE, n_runs)


def test_beside_careless_annotators_few_accusations_are_false():
    rng = np.random.default_rng(7)
    n_runs, found, false_share = 400, 0, 0.0

    for _ in range(n_runs):
        labels, _ = panel(rng, n_items=120, slips=[0.1, 0.1, 0.1, 0.1, 0.8])
        outlier = np.array([row.outlier for row in outlier_annotators(labels)])
        found += outlier[4]
        false_share += outlier[:4].sum() / max(outlier.sum(), 1)

    assert found / n_runs > 0.98
    assert false_share / n_runs <= RATE + allowance(RATE, n_runs)


def test_the_careless_of_a_crowd_are_found():
    rng = np.random.default_rng(8)
    slips = np.where(np.arange(100) % 10 == 0, 1.0, 0.15)

    labels, _ = panel(rng, n_items=3_000, slips=slips, per_item=5)
    outlier = np.array([row.outlier for row in outlier_annotators(labels)])

    assert outlier[slips == 1].mean() >= 0.9
    assert outlier[slips < 1].sum() <= 1


# Shares of the gaps -1, -1/3, 0, 1/2 and 1.
SHARES = {
    "even": [0.1, 0.2, 0.4, 0.2, 0.1],
    "ahead": [0.02, 0.03, 0.75, 0.1, 0.1],
    "behind": [0.15, 0.1, 0.7, 0.03, 0.02],
    "rarely ahead": [0, 0, 0.93, 0, 0.07],  # Welch alone: worse in 45 of 100 null studies
}
VALUES = np.array([-1, -1 / 3, 0, 1 / 2, 1])


def draw(rng, shares, size):
    return rng.choice(VALUES, size, p=shares)


@pytest.mark.parametrize(
    ("first", "second", "sizes"),
    [
        ("even", "even", (60, 140)),
        ("even", "ahead", (100, 100)),
        ("behind", "ahead", (80, 400)),
        ("ahead", "behind", (300, 60)),
    ],
)
def test_the_interval_of_the_difference_covers_as_often_as_it_says(first, second, sizes):
    rng = np.random.default_rng([sizes[0], len(first)])
    n_runs, covered = 10_000, 0
    truth = float(VALUES @ np.subtract(SHARES[first], SHARES[second]))
    codes = np.repeat([0, 1], sizes)

    for _ in range(n_runs):
        gaps = np.concatenate(
            [draw(rng, SHARES[first], sizes[0]), draw(rng, SHARES[second], sizes[1])]
        )
        row = compare_slices(gaps, [codes])[0]
        covered += row.low <= truth <= row.high

    assert abs(covered / n_runs - CONFIDENCE) <= allowance(CONFIDENCE, n_runs)


def clustered_gaps(rng, n_clusters, per_cluster, shift):
    """Gaps whose clusters differ in how far the judge is ahead, moved by `shift` of each item."""
    level = rng.normal(0, 0.3, n_clusters)[:, np.newaxis]
    noise = rng.normal(0, 0.3, (n_clusters, per_cluster))
    return (level + noise + shift).ravel()


@pytest.mark.parametrize("spanning", [False, True], ids=["nested", "spanning"])
@pytest.mark.parametrize(("n_clusters", "per_cluster"), [(24, 6), (80, 5)])
def test_with_clusters_the_interval_covers_too(n_clusters, per_cluster, spanning):
    rng = np.random.default_rng([n_clusters, spanning])
    n_runs, covered, naive = 6_000, 0, 0
    units = np.repeat(np.arange(n_clusters), per_cluster)
    codes = np.tile(np.arange(per_cluster) % 2, n_clusters) if spanning else units % 2
    shift = -0.2 * codes.reshape(n_clusters, per_cluster)

    for _ in range(n_runs):
        gaps = clustered_gaps(rng, n_clusters, per_cluster, shift)
        row = compare_slices(gaps, [codes], clusters=units)[1]
        covered += row.low <= -0.2 <= row.high
        plain = compare_slices(gaps, [codes])[1]
        naive += plain.low <= -0.2 <= plain.high

    assert abs(covered / n_runs - CONFIDENCE) <= allowance(CONFIDENCE, n_runs)
    if not spanning:
        assert naive / n_runs < 0.8


@pytest.mark.parametrize("shares", list(SHARES))
@pytest.mark.parametrize("n_items", [120, 600])
def test_null_slices_are_rarely_called_different(shares, n_items):
    rng = np.random.default_rng([n_items, len(shares)])
    n_runs, different, worse = 1_500, 0, 0
    weights = np.array([0.5, 0.2, 0.12, 0.1, 0.08])

    for _ in range(n_runs):
        gaps = draw(rng, SHARES[shares], n_items)
        columns = [rng.choice(5, n_items, p=weights) for _ in range(3)]
        rows = compare_slices(gaps, columns)
        different += any(row.p_adjusted <= RATE for row in rows)
        worse += any(row.worse for row in rows)

    assert different / n_runs <= RATE + allowance(RATE, n_runs)
    assert worse / n_runs <= RATE + allowance(RATE, n_runs)


def test_null_slices_of_clusters_are_rarely_called_different():
    rng = np.random.default_rng(3)
    n_runs, different = 1_000, 0
    units = np.repeat(np.arange(40), 5)

    for _ in range(n_runs):
        gaps = clustered_gaps(rng, 40, 5, 0.0).round(1)
        columns = [rng.choice(4, 40, p=[0.4, 0.3, 0.2, 0.1])[units], rng.integers(0, 3, 200)]
        rows = compare_slices(gaps, columns, clusters=units)
        different += any(row.p_adjusted <= RATE for row in rows)

    assert different / n_runs <= RATE + allowance(RATE, n_runs)


def test_a_bad_slice_is_found_among_good_ones():
    rng = np.random.default_rng(5)
    n_runs, found, false_share = 300, 0, 0.0

    for _ in range(n_runs):
        codes = rng.integers(0, 6, 600)
        gaps = np.where(
            codes == 3, draw(rng, SHARES["behind"], 600), draw(rng, SHARES["ahead"], 600)
        )
        other = rng.integers(0, 4, 600)
        rows = compare_slices(gaps, [codes, other])
        worse = [(row.column, row.value) for row in rows if row.worse]
        found += (0, 3) in worse
        false_share += len([x for x in worse if x != (0, 3)]) / max(len(worse), 1)

    assert found / n_runs > 0.9
    assert false_share / n_runs <= RATE + allowance(RATE, n_runs)
