"""How often the intervals of rates cover the rate of the population."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import hypergeom

from voirdire.errors import InputError
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


def unless_refused(estimate, *labels, **settings):
    """Return an estimate, or None where the draw is refused, as one in a thousand is."""
    try:
        return estimate(*labels, **settings)
    except InputError as error:
        if "how the labelled items were drawn" not in str(error):
            raise
        return None


def most_refused(n_draws):
    """How many of so many draws may be refused: one in a thousand, and three standard errors."""
    return 0.001 * n_draws + 3 * math.sqrt(0.001 * n_draws)


@cache
def of_counts(counts, positive, negative, labelled):
    """Estimate from the table of the labelled items and the verdicts on the others."""
    judged = np.repeat([1.0, 1, 0, 0, 1, 0], [*counts, positive, negative])
    labels = np.repeat([1.0, 0, 1, 0, np.nan, np.nan], [*counts, positive, negative])
    return unless_refused(estimate_rate, judged, labels, labelled=labelled)


def draw_counts(rng, labelled, n, rate, judge, n_items):
    """Labelled items as yes-true, yes-false, no-true, no-false; and the verdicts on the others."""
    finds, alarms = judge[0], 1 - judge[1]
    table = np.array([rate * finds, (1 - rate) * alarms, rate * (1 - finds), 0])
    table[3] = 1 - table.sum()
    if labelled == "class":
        right, wrong = rng.binomial(n // 2, finds), rng.binomial(n - n // 2, alarms)
        counts = (right, wrong, n // 2 - right, n - n // 2 - wrong)
        yes = rng.binomial(n_items, table[:2].sum())
        return counts, yes, n_items - yes
    population = rng.multinomial(n_items, table)
    if labelled == "random":
        counts = rng.multivariate_hypergeometric(population, n)
    else:
        n_yes = min(n // 2, population[:2].sum())
        counts = np.concatenate([
            rng.multivariate_hypergeometric(population[:2], n_yes),
            rng.multivariate_hypergeometric(population[2:], n - n_yes),
        ])  # fmt: skip
    left = population - counts
    return tuple(counts.tolist()), int(left[:2].sum()), int(left[2:].sum())


@pytest.mark.parametrize("n_labelled", [30, 50, 100, 200, 500])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("labelled", ["random", "verdict", "class"])
def test_of_three_draws(labelled, rate, n_labelled):
    n_runs, n_items = 400, 3_000
    rng = np.random.default_rng([len(labelled), int(1_000 * rate), n_labelled])
    judges = [judge for judge in JUDGES if labelled != "class" or sum(judge) > 1.2]
    covered, refused = {}, 0
    for judge in judges:
        runs = [
            of_counts(*draw_counts(rng, labelled, n_labelled, rate, judge, n_items), labelled)
            for _ in range(n_runs)
        ]
        found = [run.rate for run in runs if run is not None and not np.isnan(run.rate.estimate)]
        refused += sum(run is None for run in runs)
        covered[judge] = np.mean([covers(each, rate) for each in found])
        width = np.mean([each.high - each.low for each in found])
        error = 3 * np.std([each.estimate for each in found]) / math.sqrt(n_runs)
        bias = abs(np.mean([each.estimate for each in found]) - rate)
        assert bias - error <= max(0.1 * rate, width / 4), judge
        for name, skill in zip(("sensitivity", "specificity"), judge, strict=True):
            ends = [getattr(run, name) for run in runs if run is not None]
            seen = [covers(found, skill) for found in ends if not np.isnan(found.low)]
            if len(seen) > 0.9 * n_runs:
                covered[judge, name] = np.mean(seen)

    least = 0.925 - 3 * math.sqrt(0.925 * 0.075 / n_runs)
    rates = {judge: covered[judge] for judge in judges}
    skills = {key: share for key, share in covered.items() if key not in rates}
    assert {key: share for key, share in rates.items() if share < least} == {}
    assert {key: share for key, share in skills.items() if share < least} == {}
    pooled = 0.925 - 3 * math.sqrt(0.925 * 0.075 / (n_runs * len(judges)))
    assert np.mean([*rates.values()]) >= pooled
    assert refused <= most_refused(n_runs * len(judges))


@pytest.mark.parametrize("n_yes", [30, 300, 1_500])
@pytest.mark.parametrize("n", [30, 100])
def test_a_random_draw_is_refused_less_than_once_in_a_thousand(n, n_yes):
    draws = hypergeom(3_000, n_yes, n)
    refused = [
        k
        for k in range(min(n, n_yes) + 1)
        if of_counts((k, 0, 0, n - k), n_yes - k, 3_000 - n_yes - n + k, "random") is None
    ]

    assert refused
    assert draws.pmf(refused).sum() <= 0.001


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
    found = []
    for _ in range(N_RUNS):
        truth = rng.random(300) < rate
        score = rng.normal(size=300) + skill * (truth - 0.5)
        labels = np.where(np.arange(300) < 100, truth, np.nan)
        found.append(unless_refused(estimate_rate, 1 / (1 + np.exp(-3 * score - 1)), labels))

    assert found.count(None) <= most_refused(N_RUNS)
    assert np.mean([covers(run.rate, rate) for run in found if run is not None]) >= LEAST


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


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("first", "second"), [(0.05, 0.05), (0.3, 0.3), (0.2, 0.4)])
def test_of_differences(first, second, paired):
    rng = np.random.default_rng([int(100 * first), int(100 * second), paired])
    is_second = np.repeat([False, True], 300)
    prompts = np.tile(np.arange(300), 2)
    found = []
    for _ in range(N_RUNS):
        hard = rng.random(300)[prompts] if paired else rng.random(600)
        rates = np.where(is_second, second, first)
        truth = np.where(rng.random(600) < 0.7, hard < rates, rng.random(600) < rates)
        run = unless_refused(
            compare_rates,
            verdicts(rng, truth, 0.9, 0.9),
            np.where(prompts < 80, truth, np.nan),
            is_second=is_second,
            clusters=prompts if paired else None,
        )
        found.append(run)

    runs = [run for run in found if run is not None]
    assert found.count(None) <= most_refused(2 * N_RUNS)
    assert np.mean([covers(run.difference, second - first) for run in runs]) >= LEAST
    seen = np.mean([run.p_value <= 0.05 for run in runs])
    assert seen <= 1 - LEAST if first == second else seen > 0.6


@pytest.mark.parametrize(
    ("share", "first", "second"),
    [(0.5, (0.95, 0.95), (0.95, 0.95)), (0.7, (0.8, 0.9), (0.95, 0.7)), (0.5, (1, 1), (0.9, 0.9))],
)
def test_of_two_steps_in_a_row(share, first, second):
    """Whether an item is right after both steps, from 100 labels of each among 600 items."""
    rng = np.random.default_rng([int(10 * share), int(100 * first[0])])
    covered = n_runs = n_refused = 0
    for _ in range(N_RUNS):
        right = []
        for skill in (first, second):
            truth = rng.random(600) < share
            step = verdicts(rng, truth, *skill) == truth
            seen = verdicts(rng, step, 0.9, 0.8)
            labels = np.where(np.arange(600) < 100, step, np.nan)
            right.append(unless_refused(estimate_rate, seen, labels))
        n_refused += right.count(None)
        if None in right:
            continue
        n_runs += 1
        end = chain_rates({"first": right[0].rate, "second": right[1].rate}).rate
        skills = [share * skill[0] + (1 - share) * skill[1] for skill in (first, second)]
        covered += covers(end, skills[0] * skills[1])

    assert n_refused <= most_refused(2 * N_RUNS)
    assert covered / n_runs >= LEAST
