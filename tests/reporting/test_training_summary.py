"""A training run in a few lines for a terminal."""

import numpy as np

from made_training_run import made_run
from voirdire.reporting import training_summary


def test_a_terminal_is_told_the_size_the_reward_and_the_alarms():
    run = made_run(40)

    first, second, _ = training_summary(run)

    means = [np.mean([step.reward_mean for step in part]) for part in (run.steps[:10],
                                                                      run.steps[-10:])]  # fmt: skip
    start, end = (f"{mean:.2f}".replace("-", "−").replace("0.", ".", 1) if abs(mean) < 1
                  else f"{mean:.2f}".replace("-", "−") for mean in means)  # fmt: skip
    assert first == (
        f"40 steps, 1,280 completions, mean reward {start} → {end} (first and last 10 steps)"
    )
    assert second.startswith("4 alarms: missing at step 0 (missing: 0.31); length at step 10")
    assert second.endswith("; and 1 more")


def test_a_run_without_rewards_says_so():
    assert training_summary(made_run(1, alarms=False, gone={0}))[0] == (
        "1 step, 32 completions, no rewards"
    )
