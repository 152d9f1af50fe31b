"""Alarms: silent while a run is stable, heard soon after it changes, and once."""

import numpy as np
import pytest

from rewards.training.recorded_runs import simulated_steps, step_of
from voirdire.rewards.training.alarms import find_alarms

CHANGED_AT = 60


def heard(steps):
    return [alarm.kind for alarm in find_alarms(steps)]


# Simulations ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n_prompts", "n_each"), [(8, 8), (2, 16), (4, 4)])
def test_fifty_stable_runs_of_200_steps_ring_no_alarm(n_prompts, n_each):
    rng = np.random.default_rng(1)
    shape = {"n_prompts": n_prompts, "n_each": n_each}

    found = [heard(simulated_steps(rng, **shape)) for _ in range(50)]

    assert [alarms for alarms in found if alarms] == []


@pytest.mark.slow
@pytest.mark.parametrize("nonsense", [0.0, 0.02, 0.2])
@pytest.mark.parametrize(("n_prompts", "n_each"), [(8, 8), (4, 4)])
def test_nonsense_from_the_start_that_is_not_paid_for_rings_no_alarm(n_prompts, n_each, nonsense):
    rng = np.random.default_rng(8)
    shape = {"n_prompts": n_prompts, "n_each": n_each, "nonsense": nonsense}

    found = [heard(simulated_steps(rng, **shape)) for _ in range(50)]

    assert [kind for alarms in found for kind in alarms if kind == "nonsense"] == []


@pytest.mark.edges
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"missing": 0.3}, "missing"),
        ({"noise": 0.0}, "saturation"),
        ({"length": 320.0}, "length"),
        ({"nonsense": 0.3}, "nonsense"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_planted_change_is_heard_within_a_window(change, expected):
    rng = np.random.default_rng(2)

    for _ in range(5):
        steps = simulated_steps(rng, spread=0.1, n_steps=100, changed_at=CHANGED_AT, change=change)
        alarms = find_alarms(steps)

        of_kind = [row for row in alarms if row.kind == expected]
        assert len(of_kind) == 1
        assert CHANGED_AT <= of_kind[0].step <= CHANGED_AT + 10
        assert [row for row in alarms if row.step < CHANGED_AT] == []


@pytest.mark.slow
def test_lengths_that_differ_from_prompt_to_prompt_are_not_longer():
    rng = np.random.default_rng(7)

    def steps():
        lengths = 80 * np.exp(0.6 * rng.normal(size=200))  # one prompt a step
        return [step_of(k, length_mean=x) for k, x in enumerate(lengths.tolist())]

    found = [heard(steps()) for _ in range(20)]

    assert sum(map(bool, found)) <= 3  # held against twice the length alone, more than half do


# Each alarm by hand ---------------------------------------------------------------------------


def test_a_judge_that_is_down_is_heard_at_once():
    steps = [step_of(0), step_of(1, n_missing=64)]

    [alarm] = find_alarms(steps)

    # 64 of 128 completions
    assert (alarm.kind, alarm.step, alarm.value) == ("missing", 1, 0.5)
    assert "50% of the rewards are missing" in alarm.text


def test_a_few_missing_rewards_of_a_small_step_are_no_alarm():
    steps = [step_of(k, n=8, n_missing=k == 3) for k in range(20)]

    assert find_alarms(steps) == ()


def test_an_alarm_begins_once_and_again_only_after_it_ended():
    shares = [0.0] * 5 + [0.5] * 20 + [0.0] * 40 + [0.5] * 20

    alarms = find_alarms([step_of(k, n_missing=int(64 * x)) for k, x in enumerate(shares)])

    assert [alarm.kind for alarm in alarms] == ["missing", "missing"]
    assert 5 <= alarms[0].step < 8
    assert 65 <= alarms[1].step < 68


def test_a_figure_at_the_border_does_not_ring_at_every_other_step():
    counts = [8 if k % 2 else 12 for k in range(100)]  # 12.5 and 18.8 %

    assert len(find_alarms([step_of(k, n_missing=n) for k, n in enumerate(counts)])) == 1


def test_groups_without_spread_leave_no_signal():
    steps = [step_of(k, zero_spread_share=1.0 if k >= 5 else 0.0) for k in range(20)]

    [alarm] = find_alarms(steps)

    # nine of ten steps: steps 5 to 13 within those from 4 on
    assert (alarm.kind, alarm.step) == ("saturation", 13)


def test_longer_responses_are_held_against_the_first_ten_steps():
    steps = [step_of(k, length_mean=100.0 if k < 12 else 250.0) for k in range(40)]

    [alarm] = find_alarms(steps)

    # the window's mean is 100 + 150 j / 10 after j such steps: above 200 from j = 7 on
    assert (alarm.kind, alarm.step) == ("length", 19)


def test_nonsense_that_gets_frequent_is_heard_and_again_after_it_has_gone():
    shares = [0.0] * 20 + [0.5] * 15 + [0.0] * 15 + [0.5] * 15
    figures = [{"nonsense_share": x, "n_nonsense": int(64 * x)} for x in shares]

    alarms = find_alarms([step_of(number, **row) for number, row in enumerate(figures)])

    # j of ten steps with a half: j / 20 is above five times sqrt(j (10 - j) / 3600) from j = 8 on
    assert [(row.kind, row.step) for row in alarms] == [("nonsense", 27), ("nonsense", 57)]
    assert alarms[0].text == "40% of the responses are nonsense (before: 0%)"


def test_a_run_that_was_not_looked_at_for_nonsense_rings_no_alarm_of_it():
    assert find_alarms([step_of(k) for k in range(30)]) == ()


@pytest.mark.parametrize("kind", ["gated", "nonsense"])
def test_a_run_that_begins_with_what_is_no_answer_is_told_with_the_first_step(kind):
    [alarm] = find_alarms([step_of(k, **{f"{kind}_share": 0.9}) for k in range(20)])

    assert (alarm.kind, alarm.step, alarm.value) == (kind, 0, pytest.approx(0.9))
    assert "90% of the responses" in alarm.text


def test_a_gate_that_floors_what_it_may_is_no_alarm():
    assert find_alarms([step_of(k, gated_share=0.1) for k in range(40)]) == ()


def test_a_run_of_which_nearly_all_is_paid_the_cap_has_no_signal_left():
    steps = [step_of(k, capped_share=0.5 if k < 5 else 1.0) for k in range(40)]

    [alarm] = find_alarms(steps)

    # the window's mean is 1/2 + j / 20 after j such steps: 9/10 from j = 8 on
    assert (alarm.kind, alarm.step) == ("capped", 12)


def test_responses_that_come_near_the_gate_are_told_before_it_floors_them():
    steps = [step_of(k, margin_mean=-4.0 if k < 20 else -2.0) for k in range(40)]

    [alarm] = find_alarms(steps)

    # the window's mean is -4 + j / 5 after j such steps: a gain of more than 1 from j = 6 on, and
    # above four errors, 4 * 2 * sqrt(j (10 - j) / 900), from j = 7 on
    assert (alarm.kind, alarm.step) == ("margin", 26)
    assert alarm.text == "responses are nearer to the gate: -2.6 (before: -4.0)"


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

    assert find_alarms(steps) == ()
