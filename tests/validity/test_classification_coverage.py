"""How often the intervals of a judge's figures cover those of the population."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from voirdire.errors import DegenerateDataWarning
from voirdire.stats import measure_classification

pytestmark = pytest.mark.slow

CONFIDENCE = 0.95
JUDGES = [(0.5, 0.5), (0.1, 0.9), (0.7, 0.7), (0.9, 0.9), (0.8, 0.99), (0.95, 0.95), (0.99, 0.99)]
PERFECT = (1.0, 1.0)


def too_low(covered, runs):
    """Give the figures that are covered less than .95 by more than three standard errors.

    Their intervals are conservative by construction, so that more is no fault.
    """
    shares = {name: covered[name] / runs[name] for name in covered if runs[name]}
    allowed = {n: 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs[n]) for n in shares}
    return {name: share for name, share in shares.items() if share < CONFIDENCE - allowed[name]}


class Coverage:
    def __init__(self, truth):
        self.truth = truth
        self.covered, self.runs = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)

    def add(self, figures, times=1):
        for name, true in self.truth.items():
            found = figures[name]
            if not math.isnan(found.low):
                self.runs[name] += times
                self.covered[name] += times * (found.low - 1e-9 <= true <= found.high + 1e-9)


def measure(*labels, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return measure_classification(*labels, **settings).figures


def from_table(table):
    """Labels with these counts by gold label (rows) and judge's label (columns)."""
    n_labels = len(table)
    cell = np.repeat(np.arange(n_labels**2), np.ravel(table).astype(int))
    return cell % n_labels, cell // n_labels


def true_figures(shares):
    """The figures of a population, from as many items that a table of whole numbers is close."""
    estimates = measure(*from_table(np.round(1e6 * shares)), n_labels=len(shares))
    return {name: found.estimate for name, found in estimates.items()}


def simulate_tables(shares, *, n_items, n_runs, seed):
    """Draw independent items; a table that comes twice is measured once."""
    coverage = Coverage(true_figures(shares))
    drawn = np.random.default_rng(seed).multinomial(n_items, shares.ravel(), size=n_runs)
    tables, times = np.unique(drawn, axis=0, return_counts=True)
    for table, count in zip(tables, times.tolist(), strict=True):
        own, gold = from_table(table.reshape(shares.shape))
        coverage.add(measure(own, gold, n_labels=len(shares)), count)
    return coverage


def pair_shares(prevalence, sensitivity, specificity):
    return np.array(
        [
            [(1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)],
            [prevalence * (1 - sensitivity), prevalence * sensitivity],
        ]
    )


@pytest.mark.parametrize("n_items", [50, 100, 400])
@pytest.mark.parametrize("prevalence", [0.03, 0.1, 0.5])
def test_figures_of_two_labels_are_covered(n_items, prevalence):
    for judge in [*JUDGES, PERFECT]:
        shares = pair_shares(prevalence, *judge)

        coverage = simulate_tables(shares, n_items=n_items, n_runs=400, seed=n_items)

        assert too_low(coverage.covered, coverage.runs) == {}, judge


@pytest.mark.parametrize("n_items", [50, 100, 400])
@pytest.mark.parametrize("n_labels", [4, 10])
def test_figures_of_several_labels_are_covered(n_items, n_labels):
    for rarer in (1.0, 0.75):
        for right in (0.0, 0.5, 0.8, 0.95, 1.0):
            gold = rarer ** np.arange(n_labels)
            shares = right * np.eye(n_labels) + (1 - right) / n_labels
            shares *= (gold / gold.sum())[:, np.newaxis]

            coverage = simulate_tables(shares, n_items=n_items, n_runs=150, seed=n_labels)

            assert too_low(coverage.covered, coverage.runs) == {}, (rarer, right)


def state(rng, gold, kind, quality):
    """Probabilities of a judge, and its area under the curve among independent items."""
    n = len(gold)
    if kind == "gradual":  # a normal score
        shift = math.sqrt(2) * ndtri(quality)
        return ndtr(rng.standard_normal(n) + gold * shift), quality
    right = rng.random(n) < quality
    if kind == "sure":  # .05 or .95
        return np.where(right == gold, 0.95, 0.05), quality
    # "blind": it sees some of the positives, and all others look like negatives
    stated = rng.random(n) / 10
    return np.where(gold & right, 0.9 + stated, stated), (1 + quality) / 2


@pytest.mark.parametrize("n_items", [50, 100, 400])
@pytest.mark.parametrize("prevalence", [0.03, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["gradual", "sure", "blind"])
def test_the_area_under_the_curve_and_the_brier_score_are_covered(kind, prevalence, n_items):
    for quality in (0.5, 0.97):
        rng = np.random.default_rng([n_items, int(100 * quality)])
        many = rng.random(1_000_000) < prevalence
        stated, area = state(rng, many, kind, quality)
        coverage = Coverage({"auc": area, "brier": ((stated - many) ** 2).mean()})

        for _ in range(100):
            gold = rng.random(n_items) < prevalence
            stated, _ = state(rng, gold, kind, quality)
            judged = (stated >= 0.5).astype(int)
            coverage.add(measure(judged, gold.astype(int), probabilities=stated))

        assert too_low(coverage.covered, coverage.runs) == {}, quality


def draw_clusters(rng, n_clusters, prevalence, distance):
    """Gold labels and a judge's errors, half of whose variance belongs to clusters."""
    clusters = np.repeat(np.arange(n_clusters), rng.choice([1, 2, 4, 9], n_clusters))

    def score():
        shared = rng.standard_normal(n_clusters)[clusters]
        return math.sqrt(0.5) * (shared + rng.standard_normal(len(clusters)))

    gold = score() < ndtri(prevalence)
    stated = ndtr(score() + np.where(gold, distance, -distance))
    return stated, gold.astype(int), clusters


@pytest.mark.parametrize("n_clusters", [20, 40, 100])
@pytest.mark.parametrize("prevalence", [0.1, 0.5])
def test_figures_of_clustered_items_are_covered(prevalence, n_clusters):
    for distance in (0.0, 1.5):
        rng = np.random.default_rng([n_clusters, int(10 * distance)])
        stated, gold, _ = draw_clusters(rng, 100_000, prevalence, distance)
        many = measure((stated >= 0.5).astype(int), gold, probabilities=stated)
        coverage = Coverage({name: found.estimate for name, found in many.items()})

        for _ in range(150):
            stated, gold, clusters = draw_clusters(rng, n_clusters, prevalence, distance)
            judged = (stated >= 0.5).astype(int)
            coverage.add(measure(judged, gold, probabilities=stated, clusters=clusters))

        assert too_low(coverage.covered, coverage.runs) == {}, distance
