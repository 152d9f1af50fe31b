"""A model really learns from the reward, in TRL's own trainer."""

import numpy as np
import pytest

from frameworks import require_framework

require_framework("torch", "trl", "datasets")

from adapters.trl_harness import PermutedReward, refusal_reward, train  # noqa: E402
from voirdire.adapters.trl import TrlReward  # noqa: E402

pytestmark = pytest.mark.slow

SEEDS = (0, 1, 2)
N_CONTROLS = 5


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train once for each seed, and remember how."""
    runs = {}

    def trained(seed, *, control=None, again=False):
        key = (seed, control, again)
        if key not in runs:
            reward = TrlReward(refusal_reward(), name="refusal")
            paid = reward if control is None else PermutedReward(reward, seed=1000 + control)
            runs[key] = train(paid, tmp_path_factory.mktemp("run"), seed=seed)
            reward.close()
        return runs[key]

    return trained


def gain(run):
    """Give how much more the last ten steps earned than the first ten."""
    return run.curve[-10:].mean() - run.curve[:10].mean()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_reward_rises_by_more_than_chance(trained, seed):
    run = trained(seed)
    controls = [gain(trained(seed, control=control)) for control in range(N_CONTROLS)]

    assert len(run.curve) == 60
    assert gain(run) >= 3 * np.std(controls, ddof=1)
    assert gain(run) - np.mean(controls) >= 3 * np.std(controls, ddof=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_ends_with_refusing(trained, seed):
    first, last = trained(seed).steps[0], trained(seed).steps[-1]

    def share(step):
        return np.mean(["I can't help with that." in said for said in step.completions])

    assert share(first) < 0.6
    assert share(last) > 0.9


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_gives_the_same_curve(trained, seed):
    once, again = trained(seed), trained(seed, again=True)

    assert once.curve.tolist() == again.curve.tolist()
    assert once.steps[-1].completions == again.steps[-1].completions


def test_other_seeds_give_other_curves(trained):
    curves = {tuple(trained(seed).curve.tolist()) for seed in SEEDS}

    assert len(curves) == len(SEEDS)
