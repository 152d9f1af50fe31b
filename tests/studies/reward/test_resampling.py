"""Intervals from resampling prompts: what they are, where there is none, how often they hold."""

import math

import numpy as np
import pytest
from scipy import stats


@pytest.fixture(scope="session")
def rate(examine_rows):
    """Give the error rate of a base reward that is wrong on so many comparisons per prompt."""

    def examined(wrong, counts, **settings):
        rows = []
        for prompt, (n_wrong, n) in enumerate(zip(wrong, counts, strict=True)):
            bases = [1.0 if k < n_wrong else -1.0 for k in range(n)]
            sides = [("ideal", 0.0), *(("unacceptable", x) for x in bases)]
            sides += [] if n else [("ideal", 0.0)]  # a prompt needs two completions
            rows += [
                {"prompt": prompt, "behavior": "refuse", "label": label, "p": [0.0] * 4, "base": x}
                for label, x in sides
            ]
        found = examine_rows(rows, **{"n_resamples": 1_000} | settings)
        rates = {(row.behavior, row.signal, row.against): row.rate for row in found.error_rates}
        return rates[None, "base", "all"]

    return examined


def _sums(seed, n_prompts=20):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, size=n_prompts)
    return np.minimum(counts, rng.integers(0, 6, size=n_prompts)), counts


def expanded(drawn, n, *, level=0.95):
    """Take the percentiles of a normal variable at the ends that Student's t has."""
    reach = stats.t(n - 1).ppf((1 + level) / 2) * math.sqrt(n / (n - 1))
    places = [stats.norm.sf(reach), stats.norm.cdf(reach)]
    return np.quantile(drawn, places, method="weibull").tolist()


@pytest.mark.parametrize(("seed", "level"), [(0, 0.9), (7, 0.95)])
def test_an_interval_is_that_of_a_loop_over_drawn_prompts(rate, seed, level):
    wrong, counts = _sums(seed)

    found = rate(wrong, counts, n_resamples=400, confidence_level=level, seed=seed)

    draws = np.random.default_rng(seed).integers(20, size=(400, 20))
    ratios = [wrong[prompts].sum() / counts[prompts].sum() for prompts in draws]
    n_prompts = int((counts > 0).sum())
    assert found.value == pytest.approx(wrong.sum() / counts.sum())
    assert (found.n, found.n_prompts) == (counts.sum(), n_prompts)
    assert [found.low, found.high] == pytest.approx(expanded(ratios, n_prompts, level=level))


def test_the_same_seed_gives_the_same_and_another_seed_others(rate):
    sums = _sums(3)

    first, again, other = (rate(*sums, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def test_prompts_without_anything_to_count_change_no_value(rate):
    wrong, counts = _sums(5)

    plain, padded = rate(wrong, counts), rate([*wrong, 0, 0], [*counts, 0, 0])

    assert (plain.value, plain.n_prompts) == (padded.value, padded.n_prompts)


def test_one_prompt_has_no_interval(rate):
    found = rate([1, 0, 0], [4, 0, 0])

    assert found.value == 0.25
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_nothing_to_count_is_nan_without_a_warning(rate):
    found = rate([0, 0, 0], [0, 0, 0])

    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert (found.n, found.n_prompts) == (0, 0)


def test_no_error_in_ten_prompts_may_still_be_some(rate):
    none, every = rate([0] * 10, [3] * 10), rate([3] * 10, [3] * 10)

    # (1 - high)^10 = .025: Clopper and Pearson's bound for 0 of 10
    assert (none.low, none.high) == (0.0, pytest.approx(0.30850, abs=1e-5))
    assert (every.low, every.high) == (pytest.approx(1 - 0.30850, abs=1e-5), 1.0)


def test_without_resamples_there_are_values_and_no_intervals(rate):
    found = rate(*_sums(6), n_resamples=0)

    assert math.isfinite(found.value)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.slow
@pytest.mark.parametrize("n_prompts", [12, 60])
def test_intervals_cover_the_truth_where_drawing_pairs_one_by_one_would_not(rate, n_prompts):
    """Errors of a prompt go together: its rate is drawn from Beta(1, 3), whose mean is .25."""
    rng = np.random.default_rng(11)
    n_studies, n_pairs = 600, 12
    covered = naive = 0
    for study in range(n_studies):
        wrong = rng.binomial(n_pairs, rng.beta(1, 3, size=n_prompts))
        found = rate(wrong, [n_pairs] * n_prompts, n_resamples=400, seed=study)
        covered += found.low <= 0.25 <= found.high
        width = 1.96 * math.sqrt(found.value * (1 - found.value) / (n_prompts * n_pairs))
        naive += abs(found.value - 0.25) <= width

    allowance = 3 * math.sqrt(0.95 * 0.05 / n_studies)
    # plain percentiles cover .89 of the time at 12 prompts
    assert covered / n_studies == pytest.approx(0.95, abs=allowance)
    assert naive / n_studies < 0.8
