"""Two processes train one model with TRL, and gather rewards and figures over gloo."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from frameworks import require_framework
from voirdire.rewards import read_training_run

require_framework("torch", "trl", "datasets")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 240
N_STEPS = 4


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Train on two ranks with the whole judge: what each told, and the record."""
    folder = tmp_path_factory.mktemp("healthy")
    return *trained(folder), folder / "run"


def trained(folder, **variables):
    """Train on two ranks, and read what each of them told."""
    run_both(folder, variables)
    told = [folder / f"rank-{rank}.json" for rank in range(2)]
    return [json.loads(path.read_text(encoding="utf-8")) for path in told]


def run_both(folder, variables):
    """Run both ranks to their end, with the variables that `torchrun` gives them."""
    ranks = []
    for rank in range(2):
        place = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29500",  # never opened: they meet in a file
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'src'}",
        }
        command = [sys.executable, "-m", "adapters.trl_harness", str(folder)]
        ranks.append(
            subprocess.Popen(
                command,
                env=os.environ | place | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    try:
        said = [rank.communicate(timeout=LIMIT_S)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(said)


def test_both_ranks_gather_the_same_rewards_and_figures(healthy):
    first, second, _ = healthy
    name = first["name"]

    assert first["n_processes"] == second["n_processes"] == 2
    assert second["name"] == name
    assert second["rewards"] == first["rewards"]
    assert second["completions"] == first["completions"]
    assert second["weights"] == first["weights"]
    figures = [key for key in first["log"][0] if key.startswith(f"{name}/")]
    assert f"{name}/reward" in figures
    for mine, other in zip(first["log"][:N_STEPS], second["log"][:N_STEPS], strict=True):
        assert {key: mine[key] for key in figures} == {key: other[key] for key in figures}
    for line, (rewards, _) in zip(first["log"], first["rewards"], strict=False):
        assert len(rewards) == 32
        assert line[f"{name}/reward"] == pytest.approx(np.mean(rewards), abs=1e-5)


def test_both_ranks_write_the_record(healthy):
    first, _, folder = healthy

    recorded = read_training_run(folder)

    assert {path.name[:5] for path in (folder / "completions").iterdir()} == {"r0of2", "r1of2"}
    assert [step.n for step in recorded.steps] == [32] * N_STEPS
    means = [np.mean(rewards) for rewards, _ in first["rewards"]]
    np.testing.assert_allclose([step.reward_mean for step in recorded.steps], means, atol=1e-5)


def test_a_judge_that_is_out_of_order_on_one_rank_holds_up_neither(tmp_path):
    first, second = trained(tmp_path, HURT_RANK="1")

    name = first["name"]

    assert second["weights"] == first["weights"]
    for line, (rewards, advantages) in zip(first["log"], first["rewards"], strict=False):
        assert [math.isnan(reward) for reward in rewards] == [False] * 16 + [True] * 16
        assert not any(advantages[16:])
        assert line[f"{name}/missing"] == 0.5
        # the rank without rewards has no mean, and says none
        assert line[f"{name}/reward"] == pytest.approx(np.mean(rewards[:16]), abs=1e-5)


def test_an_alarm_that_the_first_rank_sees_stops_both_at_the_same_step(tmp_path, healthy):
    """Where one rank stopped alone, the other would wait for it until its time is over."""
    first, second = trained(tmp_path, HURT_RANK="0", STOP_ON="missing")

    assert healthy[0]["n_steps"] == N_STEPS
    # an alarm begins where its step ends: with the first completions of the second one
    assert (first["n_steps"], second["n_steps"]) == (2, 2)
    assert second["weights"] == first["weights"]
