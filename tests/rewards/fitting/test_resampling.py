"""Error rates with intervals over prompts, and how comparisons count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.fitting.fit_cases import RUBRIC, labelled_case
from rewards.fitting.fit_oracle import error_rate as counted
from rewards.fitting.test_fit import fit
from voirdire.rewards import FitSettings
from voirdire.rewards.fitting import resampling as resampling_module
from voirdire.rewards.fitting.behavior_data import BehaviorData
from voirdire.rewards.fitting.feature_choice import feature_choices
from voirdire.rewards.fitting.pair_weights import pair_weights
from voirdire.rewards.fitting.resampling import Resampling, error_rate, wrongness
from voirdire.rewards.fitting.weight_problem import WeightProblem


def intervals_of(found):
    return np.array([[row.weight.low, row.weight.high] for row in found.behaviors[0].weights])


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


@pytest.mark.parametrize("kept", [3, 30])
def test_weights_of_some_prompts_are_those_of_their_comparisons_alone(kept):
    rng = np.random.default_rng(1)
    features = np.hstack([rng.random((160, 4)), np.zeros((160, 2))])
    rows = np.arange(160).reshape(40, 4)
    data = BehaviorData(
        behavior="answer",
        items=np.arange(160),
        features=features,
        base=rng.normal(size=160),
        better=rows[:, [0, 0, 1]].ravel(),
        worse=rows[:, [1, 2, 3]].ravel(),
        prompts=np.arange(40).repeat(3),
        margins=rng.uniform(0.5, 2, 120),
    )
    choice = feature_choices(RUBRIC, FitSettings())["answer"]

    def problem(own):
        weight = pair_weights(own.prompts, equal_prompts=False)
        return WeightProblem(data=own, choice=choice, weight=weight, loss="hinge")

    found = problem(data).solve_part(0.1, (np.arange(40) < kept).astype(int))

    expected = problem(data.of_pairs(data.prompts < kept)).solve(0.1)[0]
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
def test_many_prompts_are_drawn_a_few_at_a_time_and_give_the_same_intervals(monkeypatch):
    case = labelled_case(40, n_prompts=600)
    ways = {"l2": 0.05, "n_resamples": 300, "loss": "logistic"}
    whole = intervals_of(fit(case, **ways))
    monkeypatch.setattr(resampling_module, "MOST_DRAWN", 150)

    few = intervals_of(fit(case, **ways))

    # 300 resamples: a percentile has a standard error of about a tenth of a width
    widths, centres = np.diff(whole)[:, 0], np.mean(whole, axis=1)
    assert np.diff(few)[:, 0] / widths == pytest.approx(np.ones(6), abs=0.3)
    assert np.mean(np.diff(few)[:, 0] / widths) == pytest.approx(1, abs=0.12)
    assert (np.mean(few, axis=1) - centres) / widths == pytest.approx(np.zeros(6), abs=0.2)


def test_what_is_wrong_is_below_zero():
    assert wrongness(np.array([1e-8, -1e-8, 0.0, 1e-10])).tolist() == [0.0, 1.0, 0.5, 0.5]
