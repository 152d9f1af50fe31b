"""Alarms: silent while a run is stable, heard soon after it changes, and once."""

import numpy as np
import pytest

from rewards.training.recorded_runs import simulated_steps, step_of
from voirdire.rewards.training.alarms import find_alarms

PAYING = ("sorry",)
CHANGED_AT = 60


def heard(steps, reference=None):
    return [(alarm.kind, alarm.subject) for alarm in ring(steps, reference)]


def ring(steps, reference=None):
    return find_alarms(steps, paying=PAYING, reference=reference)


# Simulations ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n_prompts", "n_each"), [(8, 8), (2, 16), (4, 4)])
def test_fifty_stable_runs_of_200_steps_ring_no_alarm(n_prompts, n_each):
    rng = np.random.default_rng(1)
    shape = {"n_prompts": n_prompts, "n_each": n_each}

    found = [
        heard(simulated_steps(rng, **shape), reference=simulated_steps(rng, **shape))
        for _ in range(50)
    ]

    assert [alarms for alarms in found if alarms] == []


@pytest.mark.slow
@pytest.mark.parametrize("nonsense", [0.0, 0.02, 0.2])
@pytest.mark.parametrize(("n_prompts", "n_each"), [(8, 8), (4, 4)])
def test_nonsense_from_the_start_that_is_not_paid_for_rings_no_alarm(n_prompts, n_each, nonsense):
    rng = np.random.default_rng(8)
    shape = {"n_prompts": n_prompts, "n_each": n_each, "nonsense": nonsense}

    found = [
        heard(
            simulated_steps(rng, **shape),
            reference=simulated_steps(rng, **shape) if number % 2 else None,
        )
        for number in range(50)
    ]

    assert [row for alarms in found for row in alarms if row[0] == "nonsense"] == []


@pytest.mark.edges
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"missing": 0.3}, ("missing", "reward")),
        ({"rate": 1.6}, ("saturation", "sorry")),
        ({"rate": 0.05}, ("drift", "sorry")),
        ({"length": 320.0}, ("length", "length")),
        ({"paid": 2.0}, ("length", "length and reward")),
        ({"noise": 0.01}, ("spread", "reward")),
        ({"nonsense": 0.3}, ("nonsense", "nonsense")),
        ({"nonsense": 0.1, "nonsense_paid": 3.0}, ("nonsense", "nonsense and reward")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_planted_change_is_heard_within_a_window(change, expected):
    rng = np.random.default_rng(2)
    reference = simulated_steps(rng, spread=0.1, n_steps=100)

    for _ in range(5):
        steps = simulated_steps(rng, spread=0.1, n_steps=100, changed_at=CHANGED_AT, change=change)
        alarms = ring(steps, reference)

        of_kind = [row for row in alarms if (row.kind, row.subject) == expected]
        assert len(of_kind) == 1
        assert CHANGED_AT <= of_kind[0].step <= CHANGED_AT + 10
        assert [row for row in alarms if row.step < CHANGED_AT] == []


def rare_steps(rng, *, rate=0.5, n_steps=200):
    """Simulate a behavior of every twentieth prompt, whose eight completions are all alike."""
    steps = []
    for number in range(n_steps):
        n_prompts = rng.binomial(8, 0.05)
        good = float((rng.random(n_prompts) < rate).mean()) if n_prompts else float("nan")
        counts = {"n_by_behavior": {"rare": 8 * int(n_prompts)}}
        steps.append(step_of(number, class_shares={"rare": {"good": good}}, **counts))
    return steps


def test_a_rare_behavior_whose_prompts_differ_does_not_drift():
    rng = np.random.default_rng(4)

    found = [heard(rare_steps(rng), reference=rare_steps(rng)) for _ in range(5)]

    assert found == [[]] * 5


def test_a_rare_behavior_that_is_learnt_otherwise_drifts():
    rng = np.random.default_rng(5)
    changed = rare_steps(rng, rate=1.0)

    assert heard(changed, reference=rare_steps(rng, rate=0.0)) == [("drift", "rare/good")]


def test_a_share_rests_on_the_completions_of_its_behavior():
    def steps(share):
        figures = {"class_shares": {"rare": {"good": share}}, "n_by_behavior": {"rare": 1}}
        return [step_of(k, **figures) for k in range(10)]

    # the error of ten completions is sqrt(.4 * .6 / 10) = .155; of 640 it would be .019
    assert heard(steps(0.4), reference=steps(0.7)) == []


def test_a_correlation_of_five_lengths_a_step_is_chance():
    rng = np.random.default_rng(6)

    def steps():
        for number in range(200):
            pairs = rng.normal(size=(2, 5))
            found = float(np.corrcoef(pairs)[0, 1])
            yield step_of(number, n=5, length_reward_correlation=found)

    assert [heard(list(steps())) for _ in range(5)] == [[]] * 5


@pytest.mark.slow
def test_lengths_that_differ_from_prompt_to_prompt_are_not_longer():
    rng = np.random.default_rng(7)

    def steps():
        lengths = 80 * np.exp(0.6 * rng.normal(size=200))  # one prompt a step
        return [step_of(k, length_mean=x) for k, x in enumerate(lengths.tolist())]

    found = [heard(steps(), reference=steps()) for _ in range(20)]

    assert sum(map(bool, found)) <= 3  # held against twice the length alone, more than half do


def test_a_rate_near_the_edge_is_saturated_only_beyond_chance():
    noisy = [0.99, 0.81] * 5
    steps = [step_of(k, n=8, proposition_rates={"sorry": x}) for k, x in enumerate(noisy)]
    later = [step_of(k, n=8, proposition_rates={"sorry": 0.985}) for k in range(10, 30)]

    # before: .9 with an error of at least .03; after: .985
    assert heard(steps + later) == []


# Each alarm by hand ---------------------------------------------------------------------------


def test_a_judge_that_is_down_is_heard_at_once():
    steps = [step_of(0), step_of(1, n_missing=64, missing_share=1.0)]

    [alarm] = ring(steps)

    # 64 of 128 completions
    assert (alarm.kind, alarm.step, alarm.value) == ("missing", 1, 0.5)
    assert "50% of the rewards are missing" in alarm.text


def test_a_few_missing_rewards_of_a_small_step_are_no_alarm():
    steps = [step_of(k, n=8, n_missing=k == 3, missing_share=(k == 3) / 8) for k in range(20)]

    assert ring(steps) == ()


def test_an_alarm_begins_once_and_again_only_after_it_ended():
    shares = [0.0] * 5 + [0.5] * 20 + [0.0] * 40 + [0.5] * 20

    alarms = ring([step_of(k, n_missing=int(64 * x)) for k, x in enumerate(shares)])

    assert [alarm.kind for alarm in alarms] == ["missing", "missing"]
    assert 5 <= alarms[0].step < 8
    assert 65 <= alarms[1].step < 68


def test_a_figure_at_the_border_does_not_ring_at_every_other_step():
    counts = [8 if k % 2 else 12 for k in range(100)]  # 12.5 and 18.8 %

    assert len(ring([step_of(k, n_missing=n) for k, n in enumerate(counts)])) == 1


def test_a_proposition_that_was_true_from_the_beginning_is_not_saturated():
    assert ring([step_of(k, proposition_rates={"sorry": 0.99}) for k in range(40)]) == ()


def test_a_proposition_that_becomes_true_is_saturated():
    rates = [0.5] * 10 + [0.995] * 20
    steps = [step_of(k, proposition_rates={"sorry": x, "rude": x}) for k, x in enumerate(rates)]

    [alarm] = ring(steps)  # `rude` does not pay

    assert (alarm.kind, alarm.subject, alarm.step) == ("saturation", "sorry", 19)
    assert alarm.reference == pytest.approx(0.5)


def test_groups_without_spread_leave_no_signal():
    steps = [step_of(k, zero_spread_share=1.0 if k >= 5 else 0.0) for k in range(20)]

    [alarm] = ring(steps)

    # nine of ten steps: steps 5 to 13 within those from 4 on
    assert (alarm.kind, alarm.subject, alarm.step) == ("saturation", "groups", 13)


def test_drift_is_measured_at_the_same_steps_of_the_reference():
    rising = [step_of(k, proposition_rates={"sorry": 0.2 + 0.6 * k / 50}) for k in range(50)]
    flat = [step_of(k, proposition_rates={"sorry": 0.2}) for k in range(50)]

    assert heard(rising, reference=rising) == []
    assert ("drift", "sorry") in heard(flat, reference=rising)


def test_a_reference_without_these_steps_is_taken_whole():
    reference = [step_of(k, proposition_rates={"sorry": 0.9}) for k in range(20)]
    steps = [step_of(500 + k, proposition_rates={"sorry": 0.5}) for k in range(12)]

    [alarm] = [row for row in ring(steps, reference) if row.kind == "drift"]

    assert alarm.reference == pytest.approx(0.9)


def test_a_difference_within_its_error_is_no_drift():
    rng = np.random.default_rng(3)
    noisy = [
        step_of(k, n=4, proposition_rates={"sorry": float(rng.random() < 0.5)}) for k in range(100)
    ]
    reference = [step_of(k, n=4, proposition_rates={"sorry": 0.5}) for k in range(100)]

    assert [row for row in heard(noisy, reference) if row[0] == "drift"] == []


def test_a_class_drifts_under_its_behavior():
    def share(x):
        return {"class_shares": {"refuse": {"good": x}}}

    steps = [step_of(k, **share(0.2)) for k in range(20)]
    reference = [step_of(k, **share(0.8)) for k in range(20)]

    assert heard(steps, reference) == [("drift", "refuse/good")]


def test_longer_responses_are_held_against_the_first_ten_steps():
    steps = [step_of(k, length_mean=100.0 if k < 12 else 250.0) for k in range(40)]

    [alarm] = ring(steps)

    # the window's mean is 100 + 150 j / 10 after j such steps: above 200 from j = 7 on
    assert (alarm.kind, alarm.step) == ("length", 19)


def test_steps_with_few_rewards_count_little_for_the_correlation_with_length():
    steps = [step_of(k, n=3, length_reward_correlation=1.0) for k in range(40)]

    assert ring(steps) == ()


def test_nonsense_that_is_always_there_is_heard_when_it_is_paid_for():
    def gain(number):
        return {"nonsense_gain": 1.0 if number >= 30 else 0.0}

    shares = {"nonsense_share": 0.25, "n_nonsense": 16}
    alarms = ring([step_of(number, **shares, **gain(number)) for number in range(60)])

    # j of ten steps with a gain of 1: the mean j / 10 is above half the standard deviation of 1
    # from j = 6 on, and above five times its error sqrt(j (10 - j) / 900) from j = 8 on
    assert [(row.kind, row.subject, row.step) for row in alarms] == [
        ("nonsense", "nonsense and reward", 37)
    ]
    assert alarms[0].value == pytest.approx(0.8)


def test_nonsense_that_gets_frequent_is_heard_and_again_after_it_has_gone():
    shares = [0.0] * 20 + [0.5] * 15 + [0.0] * 15 + [0.5] * 15
    figures = [{"nonsense_share": x, "n_nonsense": int(64 * x)} for x in shares]

    alarms = ring([step_of(number, **row) for number, row in enumerate(figures)])

    # j of ten steps with a half: j / 20 is above five times sqrt(j (10 - j) / 3600) from j = 8 on
    assert [(row.subject, row.step) for row in alarms] == [("nonsense", 27), ("nonsense", 57)]
    assert alarms[0].text == "40% of the responses are nonsense (before: 0%)"


def test_a_run_that_was_not_looked_at_for_nonsense_rings_no_alarm_of_it():
    assert ring([step_of(k) for k in range(30)], [step_of(k) for k in range(30)]) == ()


def test_undefined_figures_ring_nothing():
    nan = float("nan")
    steps = [
        step_of(
            k,
            reward_mean=nan,
            reward_sd=nan,
            proposition_rates={"sorry": nan},
            class_shares={"refuse": {"good": nan}},
            length_mean=nan,
            length_reward_correlation=nan,
            zero_spread_share=nan,
            n_groups=0,
        )
        for k in range(30)
    ]

    assert ring(steps, reference=steps) == ()
