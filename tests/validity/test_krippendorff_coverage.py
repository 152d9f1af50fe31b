"""How often the interval of Krippendorff's alpha covers the alpha of the population."""

import math

import numpy as np
import pytest

from voirdire.stats import krippendorff_alpha

pytestmark = pytest.mark.slow

CONFIDENCE = 0.95


def sample(rng, n_clusters, *, per_cluster, level, missing=0.1, n_raters=4):
    """Labels of clustered items, and their clusters.

    The items of a cluster share its truth half of the time; raters report the truth or a guess.
    """
    n_items = n_clusters * per_cluster
    clusters = np.repeat(np.arange(n_clusters), per_cluster)
    shared = rng.choice(4, n_clusters, p=[0.4, 0.3, 0.2, 0.1])[clusters]
    own = rng.choice(4, n_items, p=[0.4, 0.3, 0.2, 0.1])
    truth = np.where(rng.random(n_items) < 0.5, shared, own)[:, np.newaxis]
    # Clusters also differ in how hard they are.
    care = np.where(rng.random(n_clusters) < 0.5, 0.55, 0.85)[clusters][:, np.newaxis]
    guess = rng.integers(0, 4, (n_items, n_raters))
    labels = np.where(rng.random((n_items, n_raters)) < care, truth, guess)
    gone = rng.random((n_items, n_raters)) < missing
    if level == "nominal":
        return np.where(gone, -1, labels), clusters
    return np.where(gone, np.nan, labels.astype(float)), clusters


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize(("n_clusters", "per_cluster"), [(80, 1), (60, 4)])
def test_the_interval_covers_as_often_as_it_says(level, n_clusters, per_cluster):
    rng = np.random.default_rng([n_clusters, per_cluster, len(level)])
    n_runs = 1_500
    many, _ = sample(rng, 400_000 // per_cluster, per_cluster=per_cluster, level=level)
    alpha = krippendorff_alpha(many, level=level).alpha

    covered = 0
    for _ in range(n_runs):
        labels, clusters = sample(rng, n_clusters, per_cluster=per_cluster, level=level)
        result = krippendorff_alpha(
            labels,
            level=level,
            clusters=clusters if per_cluster > 1 else None,
            confidence_level=CONFIDENCE,
        )
        covered += result.low <= alpha <= result.high

    error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / n_runs)
    assert abs(covered / n_runs - CONFIDENCE) <= 3 * error


def test_the_interval_of_sets_covers_as_often_as_it_says():
    rng = np.random.default_rng(12)
    n_runs, n_labels = 800, 5
    membership = (np.arange(2**n_labels)[:, np.newaxis] >> np.arange(n_labels)) % 2 == 1
    powers = 1 << np.arange(n_labels)

    def draw(n_items):
        truth = rng.random((n_items, 1, n_labels)) < 0.3
        flips = rng.random((n_items, 3, n_labels)) < 0.12
        return ((truth ^ flips) * powers).sum(axis=2)

    alpha = krippendorff_alpha(draw(200_000), level="sets", label_sets=membership).alpha

    covered = 0
    for _ in range(n_runs):
        result = krippendorff_alpha(draw(80), level="sets", label_sets=membership)
        covered += result.low <= alpha <= result.high

    error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / n_runs)
    assert abs(covered / n_runs - CONFIDENCE) <= 3 * error


def test_without_clusters_the_interval_of_clustered_items_is_too_narrow():
    rng = np.random.default_rng(0)
    many, _ = sample(rng, 20_000, per_cluster=20, level="nominal")
    alpha = krippendorff_alpha(many, level="nominal").alpha
    naive = robust = 0
    for _ in range(400):
        labels, clusters = sample(rng, 60, per_cluster=20, level="nominal")
        plain = krippendorff_alpha(labels, level="nominal")
        clustered = krippendorff_alpha(labels, level="nominal", clusters=clusters)
        naive += plain.low <= alpha <= plain.high
        robust += clustered.low <= alpha <= clustered.high

    assert naive / 400 < 0.85
    assert robust / 400 >= CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / 400)
