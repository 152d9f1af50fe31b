"""Error rates with intervals over prompts, and how comparisons count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.fitting.fit_oracle import error_rate as counted
from voirdire.rewards.fitting.pair_weights import pair_weights
from voirdire.rewards.fitting.resampling import Resampling, error_rate, wrongness


def resampling(n_resamples=200, *, seed=0, behavior="answer"):
    return Resampling(n_resamples=n_resamples, confidence_level=0.95, seed=seed, behavior=behavior)


@given(st.lists(st.sampled_from([-2.0, -1e-12, 0.0, 1e-12, 0.5]), min_size=1, max_size=12))
def test_a_tie_counts_half(gains):
    weight = np.full(len(gains), 1 / len(gains))

    found = error_rate(
        np.array(gains),
        prompts=np.zeros(len(gains), dtype=int),
        weight=weight,
        resampling=resampling(0),
    )

    assert found.value == pytest.approx(counted(gains))
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_a_prompt_with_many_comparisons_counts_as_one_under_equal_prompts():
    prompts = np.array([0, 0, 0, 1])

    equal = pair_weights(prompts, equal_prompts=True)
    plain = pair_weights(prompts, equal_prompts=False)

    assert equal.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert plain.tolist() == [0.25] * 4


def test_the_interval_draws_prompts_and_not_comparisons():
    # 40 prompts of 25 comparisons that are all wrong or all right: as good as 40 coin tosses.
    wrong = np.random.default_rng(1).random(40) < 0.5
    prompts = np.repeat(np.arange(40), 25)
    gains = np.where(wrong[prompts], -1.0, 1.0)

    found = error_rate(
        gains,
        prompts=prompts,
        weight=pair_weights(prompts, equal_prompts=False),
        resampling=resampling(2_000),
    )

    rate = wrong.mean()
    reach = 1.96 * np.sqrt(rate * (1 - rate) / 40)
    assert found.value == pytest.approx(rate)
    assert found.high - found.low == pytest.approx(2 * reach, rel=0.1)


def test_no_error_at_all_leaves_room_for_some():
    prompts = np.repeat(np.arange(10), 3)
    weight = pair_weights(prompts, equal_prompts=False)

    none = error_rate(np.ones(30), prompts=prompts, weight=weight, resampling=resampling())
    all_wrong = error_rate(-np.ones(30), prompts=prompts, weight=weight, resampling=resampling())

    # Clopper-Pearson for 0 of 10: 1 - .025^(1/10) = .3085.
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(0.30850, abs=1e-5)
    assert (all_wrong.value, all_wrong.high) == (1.0, 1.0)
    assert all_wrong.low == pytest.approx(1 - 0.30850, abs=1e-5)


def test_without_comparisons_there_is_no_rate():
    found = error_rate(
        np.zeros(0), prompts=np.zeros(0, dtype=int), weight=np.zeros(0), resampling=resampling()
    )

    assert np.isnan([found.value, found.low, found.high]).all()


def test_draws_hang_on_seed_and_behavior_and_nothing_else():
    def draws(**ways):
        return [counts.tolist() for counts in resampling(50, **ways).counts(7)]

    assert draws() == draws()
    assert draws() != draws(seed=1)
    assert draws() != draws(behavior="refuse")
    assert all(sum(counts) == 7 for counts in draws())


def test_what_is_wrong_is_below_zero():
    assert wrongness(np.array([1e-8, -1e-8, 0.0, 1e-10])).tolist() == [0.0, 1.0, 0.5, 0.5]
