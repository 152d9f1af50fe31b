"""Where a second judge parts from the one that a model was trained with."""

import asyncio
import io
import json
import math
import random

import numpy as np
import pytest
from rich.console import Console

from rewards.test_criteria_reward import made_rows, write
from voirdire.judging import LlmJudge
from voirdire.reporting import ResultTables
from voirdire.rewards import (
    LiveReward,
    TrainingWatch,
    Turn,
    compare_judges,
    reward_of_criteria,
    score_run,
)
from voirdire.testing import ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")


def drawn(seed, *, n_steps=40, hacked_from=None):
    """Draw rewards of two judges that agree, until one of them is hacked."""
    rng = np.random.default_rng(seed)
    steps = np.repeat(np.arange(n_steps), 16)
    quality = rng.normal(0, 1, steps.size) + rng.normal(0, 0.3, n_steps)[steps]
    trained, second = (quality + rng.normal(0, 0.5, steps.size) for _ in range(2))
    if hacked_from is not None:
        trained = trained + np.clip(steps - hacked_from, 0, 10) * 0.1
    return steps, {"trained": trained, "second": 3 + 0.8 * second}


def test_a_gap_that_grows_is_found_and_another_scale_is_none():
    steps, rewards = drawn(0, hacked_from=20)
    found = compare_judges(steps, **rewards)
    pairs = (drawn(seed) for seed in range(200))
    quiet = [compare_judges(steps, **rewards).step for steps, rewards in pairs]

    assert 20 < found.step < 35
    assert found.trained_last - found.trained_first > 0.5
    assert abs(found.second_last - found.second_first) < 0.3
    assert found.correlation == pytest.approx(np.corrcoef(*rewards.values())[0, 1])
    assert sum(step is not None for step in quiet) <= 4  # of 200 runs without any


def test_what_is_missing_is_left_out():
    steps, rewards = drawn(1)
    rewards["second"][::2] = math.nan
    none = np.full(steps.size, math.nan)

    assert compare_judges(steps, **rewards).n == steps.size // 2
    assert compare_judges(steps, trained=rewards["trained"], second=none) is None
    assert math.isnan(compare_judges([1], trained=[1.0], second=[1.0]).correlation)


def judge_of(name, chance):
    """Make a judge that answers all criteria by the length of the response."""

    def answer(request):
        length = request.messages[-1].content.count("very")
        return dict.fromkeys(json.loads(request.schema)["properties"], chance(length))

    return LlmJudge(model=ScriptedModel(answer, name=name), probability="stated")


def test_a_run_is_scored_by_a_second_judge_over_a_sample(tmp_path):
    rows = made_rows()
    trained = judge_of("trained", lambda n: min(1.0, 0.1 + 0.02 * n))
    other = judge_of("other", lambda n: 0.3)
    for row in rows:
        row["criteria"] = [{"criterion": "Is good", "points": 1, "tags": ["all"]}]
    reward = reward_of_criteria(write(tmp_path / "a.jsonl", rows), judge=trained)
    rng = random.Random(0)

    async def train():
        live, watch = LiveReward(reward, judge=trained), TrainingWatch(
            tmp_path / "run", reward=reward, name="mine", framework="python"
        )  # fmt: skip
        await live.start()
        for step in range(30):
            turns = [
                Turn(prompt=row["prompt"], criteria=row["criteria"],
                     response="very " * (max(0, step - 10) + rng.randrange(3)) + row["response"])
                for row in rows
            ]  # fmt: skip
            watch.add(await live.turn_rewards(turns), turns, step=step)
        await live.close()
        watch.close()

    asyncio.run(train())
    about = {"reward": reward, "store": tmp_path / "s.db"}
    found = score_run(tmp_path / "run", tmp_path / "o.jsonl", judge=other, other_judge=True,
                      sample=90, **about)  # fmt: skip
    own = score_run(tmp_path / "run", tmp_path / "p.jsonl", judge=trained, **about)

    assert found.n_items == found.parting.n == 90  # three of each step
    assert 15 < found.parting.step < 30
    assert (found.parting.second_first, found.parting.second_last) == pytest.approx((0.3, 0.3))
    assert own.parting is None
    file = io.StringIO()
    Console(file=file, width=100).print(ResultTables(found))
    assert f"From step {found.parting.step} on the judges part" in " ".join(file.getvalue().split())
