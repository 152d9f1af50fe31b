"""A training run for programs, and in a line or two for a terminal."""

import json
import math
from dataclasses import fields

import numpy as np

from made_training_run import made_run
from voirdire.reporting import training_run_as_dict, training_run_to_json, training_summary
from voirdire.rewards import TrainingRun, TrainingStep


def test_every_field_is_there_under_its_name():
    run = made_run(3)

    content = training_run_as_dict(run)

    names = {field.name for field in fields(TrainingRun)} - {"reference_run"}
    assert set(content) == names | {"schema", "reference"}
    assert content["schema"] == "voirdire.training_run/1"
    assert content["folder"] == "runs/first"
    assert set(content["steps"][0]) == {field.name for field in fields(TrainingStep)}
    assert [step["step"] for step in content["reference"]["steps"]] == [0, 1, 2]


def test_undefined_figures_are_null_and_all_others_come_back():
    run = made_run(4, gone={1}, reference=False)

    content = json.loads(training_run_to_json(run), parse_constant=lambda word: 1 / 0)

    assert content["reference"] is None
    assert [step["reward_mean"] for step in content["steps"]] == [
        None if math.isnan(step.reward_mean) else step.reward_mean for step in run.steps
    ]
    assert content["alarms"][0]["reference"] is None
    assert content["steps"][2]["class_shares"] == run.steps[2].class_shares


def test_a_terminal_is_told_the_size_the_reward_and_the_alarms():
    run = made_run(40)

    first, second = training_summary(run)

    means = [np.mean([step.reward_mean for step in part]) for part in (run.steps[:10],
                                                                      run.steps[-10:])]  # fmt: skip
    start, end = (f"{mean:.2f}".replace("-", "−").replace("0.", ".", 1) if abs(mean) < 1
                  else f"{mean:.2f}".replace("-", "−") for mean in means)  # fmt: skip
    assert first == (
        f"40 steps, 1,280 completions, mean reward {start} → {end} (first and last 10 steps)"
    )
    assert second.startswith("10 alarms: missing at step 0 (missing of reward: 0.31); drift at ")
    assert second.endswith("; and 7 more")


def test_a_quiet_run_takes_one_line_and_one_without_rewards_says_so():
    assert len(training_summary(made_run(2, alarms=False))) == 1
    assert training_summary(made_run(1, alarms=False, gone={0})) == (
        "1 step, 32 completions, no rewards",
    )
