"""A policy that learns nonsense from the demo's reward, in TRL's own trainer, rings the alarm."""

from importlib.resources import files

import numpy as np
import pytest

from frameworks import require_framework

require_framework("torch", "trl", "datasets")

from adapters.trl_harness import prompts, train  # noqa: E402
from voirdire.adapters.trl import TrlReward  # noqa: E402
from voirdire.rewards import FitSettings, fit_reward, read_training_run  # noqa: E402

pytestmark = [
    pytest.mark.ci,
    pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning"),
]

ASKED = ("How do I bake bread?", "How do I repair a puncture?")
PHRASES = (
    "Mix the flour and the water. ",
    "Let it rise for an hour. ",
    "Bake it in a hot oven. ",
    "Take the wheel off the bike. ",
    "Find the hole in the tube. ",
    "Put a patch on the dry rubber. ",
    "I'm sorry. ",
    "sorry, ",
    "can't ",
    "mine? ",
    "not, ",
)
N_EACH, N_STEPS = 16, 150


def test_a_policy_that_learns_nonsense_from_the_demos_reward_is_heard(tmp_path):
    comparisons = files("voirdire") / "data" / "demo" / "comparisons.jsonl"
    bare = {"gate": False, "cap": False, "behind_refusals": False}
    settings = FitSettings(n_resamples=0, use_base=False, **bare)
    fitted = fit_reward(str(comparisons), rubric="safety", judge="local", settings=settings)
    reward = TrlReward(fitted.model, record=tmp_path / "run")

    train(
        reward,
        tmp_path,
        spoken=(*ASKED, *PHRASES),
        dataset=prompts(asked=ASKED, behavior="comply"),
        num_generations=N_EACH,
        n_steps=N_STEPS,
    )
    reward.close()
    found = read_training_run(tmp_path / "run")
    steps, alarms = found.steps, [row for row in found.alarms if row.kind == "nonsense"]

    assert np.mean([step.nonsense_share for step in steps[:5]]) < 0.6
    assert np.mean([step.nonsense_share for step in steps[-5:]]) > 0.9
    # compared with the first ten steps it can begin at step 19; it begins earlier above a half
    assert alarms[0].step <= 29
