"""How often the intervals of agreement coefficients cover the figures of the population."""

import math

import numpy as np
import pytest

from voirdire.stats import cohen_kappa, measure_panel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning"),
]

CONFIDENCE = 0.95
N_RUNS = 2_000
ALLOWED = 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_RUNS)


def sample(rng, n_clusters, *, per_cluster, share, n_labels, n_raters=4):
    """Codes of raters, one in ten missing, and the clusters of the items.

    Raters know an item's truth 7 times in 10 and guess otherwise. The items of a cluster share
    its truth half of the time, and clusters differ in how hard they are.
    """
    n_items = n_clusters * per_cluster
    clusters = np.repeat(np.arange(n_clusters), per_cluster)
    known = np.full(n_items, 0.7)
    truth = rng.binomial(n_labels - 1, share, n_items)
    if per_cluster > 1:
        shared = rng.binomial(n_labels - 1, share, n_clusters)[clusters]
        truth = np.where(rng.random(n_items) < 0.5, shared, truth)
        known = rng.choice([0.55, 0.85], n_clusters)[clusters]
    guess = rng.binomial(n_labels - 1, share, (n_items, n_raters))
    labels = np.where(
        rng.random((n_items, n_raters)) < known[:, np.newaxis], truth[:, np.newaxis], guess
    )
    labels[rng.random(labels.shape) < 0.1] = -1
    return labels, clusters if per_cluster > 1 else None


def measure(labels, clusters, n_labels):
    """Every coefficient of three annotators and a judge."""
    result = measure_panel(
        labels[:, :-1],
        labels[:, -1],
        level="nominal" if n_labels == 2 else "interval",
        categories=range(n_labels),
        clusters=clusters,
        confidence_level=CONFIDENCE,
    )
    rows = [*result.panel, *result.ceiling[2:], *result.judges[0].coefficients]
    rows = rows if n_labels == 2 else rows[:-1]  # numbers have no vote
    return {f"{k} {row.coefficient}": row for k, row in enumerate(rows)}


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize(("n_clusters", "per_cluster"), [(200, 1), (80, 4)])
def test_intervals_cover_as_often_as_they_say(n_clusters, per_cluster, n_labels, share):
    rng = np.random.default_rng([n_clusters, per_cluster, n_labels, int(10 * share)])
    shape = {"per_cluster": per_cluster, "share": share, "n_labels": n_labels}
    many, _ = sample(rng, 1_000_000 // per_cluster, **shape)
    truth = {name: row.estimate for name, row in measure(many, None, n_labels).items()}

    covered = dict.fromkeys(truth, 0)
    for _ in range(N_RUNS):
        labels, clusters = sample(rng, n_clusters, **shape)
        for name, row in measure(labels, clusters, n_labels).items():
            covered[name] += row.low <= truth[name] <= row.high

    off = {name: count / N_RUNS - CONFIDENCE for name, count in covered.items()}
    above = ALLOWED if n_labels == 2 and per_cluster == 1 else 0.05  # wide rather than narrow
    assert {name: error for name, error in off.items() if not -ALLOWED <= error <= above} == {}


@pytest.mark.parametrize("n_items", [30, 50])
@pytest.mark.parametrize("per_cluster", [1, 2])
def test_a_rare_label_on_few_items_leaves_intervals_wide_and_not_wrong(n_items, per_cluster):
    rng = np.random.default_rng([n_items, per_cluster])
    shape = {"per_cluster": per_cluster, "share": 0.05, "n_labels": 2}
    many, _ = sample(rng, 500_000 // per_cluster, **shape)
    truth = {name: row.estimate for name, row in measure(many, None, 2).items()}
    truth["two raters"] = cohen_kappa(*many[:, :2].T).estimate

    covered, defined = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(N_RUNS):
        labels, clusters = sample(rng, n_items // per_cluster, **shape)
        rows = measure(labels, clusters, 2)
        rows["two raters"] = cohen_kappa(*labels[:, :2].T, clusters=clusters)
        for name, row in rows.items():
            defined[name] += not math.isnan(row.low)
            covered[name] += row.low <= truth[name] <= row.high

    shares = {x: covered[x] / defined[x] for x in truth}
    assert {name: share for name, share in shares.items() if share < 0.93 - ALLOWED} == {}


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_interval_of_two_raters_covers_at_a_hundred_items(share):
    rng = np.random.default_rng(int(10 * share))
    shape = {"per_cluster": 1, "share": share, "n_labels": 2, "n_raters": 2}
    many, _ = sample(rng, 1_000_000, **shape)
    kappa = cohen_kappa(*many.T).estimate

    covered = 0
    for _ in range(N_RUNS):
        result = cohen_kappa(*sample(rng, 125, **shape)[0].T)
        covered += result.low <= kappa <= result.high

    assert abs(covered / N_RUNS - CONFIDENCE) <= ALLOWED


def test_without_clusters_intervals_of_clustered_items_are_too_narrow():
    rng = np.random.default_rng(0)
    shape = {"per_cluster": 20, "share": 0.5, "n_labels": 2}
    many, _ = sample(rng, 50_000, **shape)
    truth = {name: row.estimate for name, row in measure(many, None, 2).items()}
    naive, robust = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)

    for _ in range(400):
        labels, clusters = sample(rng, 60, **shape)
        for counts, units in ((naive, None), (robust, clusters)):
            for name, row in measure(labels, units, 2).items():
                counts[name] += row.low <= truth[name] <= row.high

    assert max(naive.values()) / 400 < 0.9
    assert min(robust.values()) / 400 >= CONFIDENCE - 3 * math.sqrt(0.05 * 0.95 / 400)
