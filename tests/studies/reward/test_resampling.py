"""Resampling prompts: ratios of sums, their intervals, and where there is none."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from voirdire.errors import InputError
from voirdire.rewards.fitting.resampling import Resampling, error_rate
from voirdire.studies.reward import resampling
from voirdire.studies.reward.resampling import PromptResamples


def _sums(seed, n_prompts=20, n_figures=3):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, size=(n_prompts, n_figures)).astype(float)
    return np.minimum(counts, rng.integers(0, 6, size=counts.shape)), counts


def test_values_are_ratios_of_sums_over_prompts():
    tops, bottoms = _sums(0)

    found = PromptResamples(20).estimates(tops, bottoms)

    for k, row in enumerate(found):
        assert row.value == pytest.approx(sum(tops[:, k]) / sum(bottoms[:, k]))
        assert row.n == sum(bottoms[:, k])
        assert row.n_prompts == sum(bottoms[:, k] > 0)


def test_resamples_are_those_of_a_loop_over_drawn_prompts():
    tops, bottoms = _sums(1)

    found = PromptResamples(20, n_resamples=50, seed=7).ratios(tops, bottoms)

    drawn = np.random.default_rng(7).integers(20, size=(50, 20))
    for row, prompts in zip(found, drawn, strict=True):
        for k in range(3):
            top, bottom = sum(tops[p, k] for p in prompts), sum(bottoms[p, k] for p in prompts)
            assert row[k] == pytest.approx(top / bottom)


def expanded(drawn, n, *, level=0.95):
    """Take the percentiles of a normal variable at the ends that Student's t has."""
    reach = stats.t(n - 1).ppf((1 + level) / 2) * math.sqrt(n / (n - 1))
    places = [stats.norm.sf(reach), stats.norm.cdf(reach)]
    return np.quantile(drawn, places, method="weibull").tolist()


def test_an_interval_is_that_of_expanded_percentiles():
    tops, bottoms = _sums(2)
    resamples = PromptResamples(20, n_resamples=400, confidence_level=0.9, seed=3)

    found = resamples.estimates(tops, bottoms)

    drawn = resamples.ratios(tops, bottoms)
    for k, row in enumerate(found):
        expected = expanded(drawn[:, k], int((bottoms[:, k] > 0).sum()), level=0.9)
        assert [row.low, row.high] == pytest.approx(expected)


def test_the_same_comparisons_have_the_same_interval_as_in_a_fit():
    wrong = np.random.default_rng(6).random(30) < 0.4
    ways = {"n_resamples": 4_000, "confidence_level": 0.95, "seed": 0}

    (found,) = PromptResamples(30, **ways).estimates(wrong[:, None].astype(float), np.ones((30, 1)))
    fitted = error_rate(
        np.where(wrong, -1.0, 1.0),
        prompts=np.arange(30),
        weight=np.full(30, 1 / 30),
        resampling=Resampling(behavior="refuse", **ways),
    )

    assert found.value == pytest.approx(fitted.value)
    # 30 prompts: shares are whole thirtieths, so that other draws are off by one at most
    assert [found.low, found.high] == pytest.approx([fitted.low, fitted.high], abs=1 / 30 + 1e-9)


def test_the_same_seed_gives_the_same_and_another_seed_others():
    tops, bottoms = _sums(3)

    first, again, other = (
        PromptResamples(20, seed=seed).estimates(tops, bottoms)[0] for seed in (1, 1, 2)
    )

    assert first == again
    assert first.low != other.low or first.high != other.high


def test_what_does_not_fit_into_memory_is_drawn_again(monkeypatch):
    tops, bottoms = _sums(4)
    kept = PromptResamples(20, n_resamples=90).ratios(tops, bottoms)
    monkeypatch.setattr(resampling, "_MOST_KEPT", 0)
    monkeypatch.setattr(resampling, "_BLOCK_DRAWS", 100)

    resamples = PromptResamples(20, n_resamples=90)

    assert np.array_equal(resamples.ratios(tops, bottoms), resamples.ratios(tops, bottoms))
    assert np.array_equal(resamples.ratios(tops, bottoms), kept)


def test_prompts_without_anything_to_count_change_no_value():
    tops, bottoms = _sums(5)
    empty = np.zeros((5, 3))

    plain = PromptResamples(20).estimates(tops, bottoms)
    padded = PromptResamples(25).estimates(np.vstack([tops, empty]), np.vstack([bottoms, empty]))

    assert [row.value for row in plain] == [row.value for row in padded]
    assert [row.n_prompts for row in plain] == [row.n_prompts for row in padded]


def test_one_prompt_has_no_interval():
    (found,) = PromptResamples(3).estimates(
        np.array([[1.0], [0], [0]]), np.array([[4.0], [0], [0]])
    )

    assert found.value == 0.25
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_nothing_to_count_is_nan_without_a_warning():
    (found,) = PromptResamples(3).estimates(np.zeros((3, 1)), np.zeros((3, 1)))

    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert (found.n, found.n_prompts) == (0, 0)


def test_no_error_in_ten_prompts_may_still_be_some():
    counts = np.full((10, 1), 3.0)

    (none,) = PromptResamples(10).estimates(np.zeros((10, 1)), counts)
    (every,) = PromptResamples(10).estimates(counts, counts)

    # (1 - high)^10 = .025: Clopper and Pearson's bound for 0 of 10
    assert (none.low, none.high) == (0.0, pytest.approx(0.30850, abs=1e-5))
    assert (every.low, every.high) == (pytest.approx(1 - 0.30850, abs=1e-5), 1.0)


@pytest.mark.parametrize("counts", [[10], [5, 100, 100], [3, 4, 200], [1, 1, 1], [40, 300, 7, 7]])
def test_how_far_a_mean_of_zeros_can_be_is_what_a_search_finds(counts):
    n, room = np.array(counts, dtype=float), -math.log(0.025)
    starts = np.random.default_rng(0).dirichlet(np.ones(n.size), size=5) * room / n

    found = PromptResamples(10).farthest(counts)

    # largest mean of p_k = 1 - exp(-x_k) where prod (1 - p_k)^n_k = exp(-n x) is still .025
    searched = [
        minimize(
            lambda x: -np.mean(1 - np.exp(-x)),
            start,
            method="SLSQP",
            bounds=[(0, None)] * n.size,
            constraints={"type": "eq", "fun": lambda x: n @ x - room},
            options={"ftol": 1e-13},
        )
        for start in starts
    ]
    assert found == pytest.approx(max(-each.fun for each in searched), abs=1e-6)


def test_a_mean_that_is_always_zero_has_no_such_bound():
    (found,) = PromptResamples(10).estimates(
        np.zeros((10, 1)), np.full((10, 1), 3.0), is_share=False
    )

    assert (found.low, found.high) == (0.0, 0.0)


def test_without_resamples_there_are_values_and_no_intervals():
    tops, bottoms = _sums(6)

    found = PromptResamples(20, n_resamples=0).estimates(tops, bottoms)

    assert all(math.isfinite(row.value) and math.isnan(row.low) for row in found)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_resamples": -1}, "`n_resamples` must be a whole number of at least 0"),
        ({"confidence_level": 95}, "Write 95% as 0.95"),
        ({"seed": -1}, "`seed` must be a whole number"),
    ],
)
def test_settings_that_break_a_rule_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        PromptResamples(3, **settings)


@pytest.mark.parametrize("n_prompts", [12, 60])
def test_intervals_cover_the_truth_where_drawing_pairs_one_by_one_would_not(n_prompts):
    """Errors of a prompt go together: its rate is drawn from Beta(1, 3), whose mean is .25."""
    rng = np.random.default_rng(11)
    n_studies, n_pairs = 600, 12
    covered = naive = 0
    for study in range(n_studies):
        rates = rng.beta(1, 3, size=(n_prompts, 1))
        wrong = rng.binomial(n_pairs, rates).astype(float)
        counts = np.full((n_prompts, 1), float(n_pairs))
        resamples = PromptResamples(n_prompts, n_resamples=400, seed=study)
        (found,) = resamples.estimates(wrong, counts)
        covered += found.low <= 0.25 <= found.high
        width = 1.96 * math.sqrt(found.value * (1 - found.value) / (n_prompts * n_pairs))
        naive += abs(found.value - 0.25) <= width

    allowance = 3 * math.sqrt(0.95 * 0.05 / n_studies)
    # plain percentiles cover .89 of the time at 12 prompts
    assert covered / n_studies == pytest.approx(0.95, abs=allowance)
    assert naive / n_studies < 0.8
