"""How often the intervals of rates cover the rate of the population."""

import math
from functools import cache

import numpy as np
import pytest

from voirdire.stats import chain_rates, compare_rates, estimate_rate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning"),
]

CONFIDENCE = 0.95
N_RUNS = 1_000
LEAST = CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_RUNS)
RATES = (0.03, 0.1, 0.5)
JUDGES = [(0.5, 0.5), (0.3, 0.7), (0.7, 0.8), (0.9, 0.9), (0.9, 0.99), (0.8, 1), (1, 0.99), (1, 1)]
"""Sensitivity and specificity, from useless to perfect."""


def covers(interval, rate):
    return interval.low <= rate <= interval.high


def verdicts(rng, truth, sensitivity, specificity):
    return (rng.random(truth.shape) < np.where(truth, sensitivity, 1 - specificity)).astype(float)


@cache
def of_counts(counts, positive, negative, method):
    """Estimate from the table of the labelled items and the verdicts on the others."""
    judged = np.repeat([1.0, 1, 0, 0, 1, 0], [*counts, positive, negative])
    labels = np.repeat([1.0, 0, 1, 0, np.nan, np.nan], [*counts, positive, negative])
    return estimate_rate(judged, labels, method=method)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("n_labelled", "n_others"), [(100, 100), (100, 1_000)])
def test_of_items_labelled_at_random(n_labelled, n_others, judge):
    rng = np.random.default_rng([n_labelled, n_others, *(int(100 * skill) for skill in judge)])
    covered, widths = {}, {}
    for rate in RATES:
        hits, false = rate * judge[0], (1 - rate) * (1 - judge[1])
        table = [hits, false, rate - hits, 1 - rate - false]
        counts = rng.multinomial(n_labelled, table, N_RUNS).tolist()
        positive = rng.binomial(n_others, hits + false, N_RUNS).tolist()
        results = [
            of_counts(tuple(row), k, n_others - k, "ppi")
            for row, k in zip(counts, positive, strict=True)
        ]
        for name in ("rate", "human"):
            found = [getattr(result, name) for result in results]
            covered[rate, name] = np.mean([covers(interval, rate) for interval in found])
            widths[rate, name] = np.mean([interval.high - interval.low for interval in found])

    assert {key: share for key, share in covered.items() if share < LEAST} == {}
    # wider than the labels alone by the one label more that is counted as a disagreement
    assert {x for x in RATES if widths[x, "rate"] > 1.05 * widths[x, "human"]} == set()


def test_the_usual_interval_of_ppi_would_not_cover():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(N_RUNS):
        y = rng.random(200) < 0.03
        f = verdicts(rng, y, 0.9, 0.99)
        labels, known, rest = y[:100].astype(float), f[:100], f[100:]
        spread = f.var(ddof=1)
        power = np.clip(np.cov(labels, known)[0, 1] / (2 * spread), 0, 1) if spread else 0.0
        estimate = labels.mean() - power * (known.mean() - rest.mean())
        error = math.sqrt((labels - power * known).var() / 100 + (power * rest).var() / 100)
        covered += abs(estimate - 0.03) <= 1.96 * error

    assert covered / N_RUNS < 0.92


@pytest.mark.parametrize("skill", [0, 1.5, 4.5])
@pytest.mark.parametrize("rate", RATES)
def test_of_probabilities_that_are_not_calibrated(rate, skill):
    rng = np.random.default_rng([int(100 * rate), int(10 * skill)])
    covered = 0
    for _ in range(N_RUNS):
        truth = rng.random(300) < rate
        score = rng.normal(size=300) + skill * (truth - 0.5)
        labels = np.where(np.arange(300) < 100, truth, np.nan)
        covered += covers(estimate_rate(1 / (1 + np.exp(-3 * score - 1)), labels).rate, rate)

    assert covered / N_RUNS >= LEAST


@pytest.mark.parametrize("judge", [(0.5, 0.5), (0.9, 0.95), (1, 1)])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_of_clusters_of_five(rate, whole, judge):
    rng = np.random.default_rng([int(10 * rate), whole, int(10 * judge[0])])
    clusters = np.repeat(np.arange(80), 5)
    covered = dict.fromkeys(("rate", "human"), 0)
    for _ in range(N_RUNS):
        shared = rng.random(80)[clusters] < rate
        truth = np.where(rng.random(400) < 0.6, shared, rng.random(400) < rate)
        known = clusters < 40 if whole else rng.random(400) < 0.4
        labels = np.where(known, truth, np.nan)
        result = estimate_rate(verdicts(rng, truth, *judge), labels, clusters=clusters)
        for name in covered:
            covered[name] += covers(getattr(result, name), rate)

    assert {name: n for name, n in covered.items() if n / N_RUNS < LEAST} == {}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("n_positive", "n_negative"), [(50, 50), (20, 80)])
def test_of_items_labelled_by_verdict(n_positive, n_negative, judge):
    rng = np.random.default_rng([n_positive, *(int(100 * skill) for skill in judge)])
    shares = {}
    for rate in RATES:
        covered = 0
        for _ in range(N_RUNS):
            truth = rng.random(1_000) < rate
            judged = verdicts(rng, truth, *judge)
            places = rng.permutation(1_000)
            said_yes = judged[places] == 1
            chosen = [places[said_yes][:n_positive], places[~said_yes][:n_negative]]
            labels = np.full(1_000, np.nan)
            labels[np.concatenate(chosen)] = truth[np.concatenate(chosen)]
            covered += covers(estimate_rate(judged, labels, labelled="verdict").rate, rate)
        shares[rate] = covered / N_RUNS

    assert {rate: share for rate, share in shares.items() if share < LEAST} == {}


@pytest.mark.parametrize("judge", [judge for judge in JUDGES if sum(judge) > 1.2])
@pytest.mark.parametrize(("n_positive", "n_negative"), [(50, 50), (20, 80)])
def test_of_items_labelled_by_class(n_positive, n_negative, judge):
    rng = np.random.default_rng([n_positive, *(int(100 * skill) for skill in judge)])
    labels = np.repeat([1, 0, np.nan], [n_positive, n_negative, 300])
    shares = {}
    for rate in RATES:
        covered = 0
        for _ in range(N_RUNS):
            truth = np.where(np.isnan(labels), rng.random(len(labels)) < rate, labels == 1)
            judged = verdicts(rng, truth, *judge)
            covered += covers(estimate_rate(judged, labels, labelled="class").rate, rate)
        shares[rate] = covered / N_RUNS

    assert {rate: share for rate, share in shares.items() if share < LEAST} == {}


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("first", "second"), [(0.05, 0.05), (0.3, 0.3), (0.2, 0.4)])
def test_of_differences(first, second, paired):
    rng = np.random.default_rng([int(100 * first), int(100 * second), paired])
    is_second = np.repeat([False, True], 300)
    prompts = np.tile(np.arange(300), 2)
    covered = found = 0
    for _ in range(N_RUNS):
        hard = rng.random(300)[prompts] if paired else rng.random(600)
        rates = np.where(is_second, second, first)
        truth = np.where(rng.random(600) < 0.7, hard < rates, rng.random(600) < rates)
        result = compare_rates(
            verdicts(rng, truth, 0.9, 0.9),
            np.where(prompts < 80, truth, np.nan),
            is_second=is_second,
            clusters=prompts if paired else None,
        )
        covered += covers(result.difference, second - first)
        found += result.p_value <= 0.05

    assert covered / N_RUNS >= LEAST
    if first == second:
        assert found / N_RUNS <= 1 - LEAST
    else:
        assert found / N_RUNS > 0.6


@pytest.mark.parametrize(
    ("share", "first", "second"),
    [(0.5, (0.95, 0.95), (0.95, 0.95)), (0.7, (0.8, 0.9), (0.95, 0.7)), (0.5, (1, 1), (0.9, 0.9))],
)
def test_of_two_steps_in_a_row(share, first, second):
    """Whether an item is right after both steps, from 100 labels of each among 600 items."""
    rng = np.random.default_rng([int(10 * share), int(100 * first[0])])
    covered = 0
    for _ in range(N_RUNS):
        right = []
        for skill in (first, second):
            truth = rng.random(600) < share
            step = verdicts(rng, truth, *skill) == truth
            seen = verdicts(rng, step, 0.9, 0.8)
            right.append(estimate_rate(seen, np.where(np.arange(600) < 100, step, np.nan)).rate)
        end = chain_rates({"first": right[0], "second": right[1]}).rate
        skills = [share * skill[0] + (1 - share) * skill[1] for skill in (first, second)]
        covered += covers(end, skills[0] * skills[1])

    assert covered / N_RUNS >= LEAST
