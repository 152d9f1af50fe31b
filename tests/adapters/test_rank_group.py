"""Two ranks that end together: one whose judge fails, and one that could have gone on."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from frameworks import require_framework

require_framework("torch")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120
RANK = """
import asyncio, copy, datetime, json, os, sys, time
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist

from voirdire.testing import GoldenJudge, golden_reward
from voirdire.adapters.trl import TrlReward
from voirdire.errors import JudgeUnavailableError

folder, case, rank = Path(sys.argv[1]), sys.argv[2], int(os.environ["RANK"])
dist.init_process_group(
    "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2,
    timeout=datetime.timedelta(seconds=60),
)


class Judge(GoldenJudge):
    def __init__(self, *, fails_from=10**9, wait_s=0.0):
        super().__init__()
        self.n_calls, self.fails_from, self.wait_s = 0, fails_from, wait_s

    def probabilities(self, items):
        self.n_calls += 1
        time.sleep(self.wait_s)
        if self.n_calls > self.fails_from:
            raise RuntimeError("out of order")
        return super().probabilities(items)


def reward(name, **does):
    return TrlReward(golden_reward(), judge=Judge(**does), name=name, behavior="refuse",
                     give_up_after=2, log=False)


async def step(functions, number):
    given = {"prompts": ["how?"], "trainer_state": SimpleNamespace(global_step=number)}
    said = [f"I'm sorry, {rank} {number}."]
    return await asyncio.gather(*(one(completions=said, **given) for one in functions))


def train(functions):
    for number in range(6):
        try:
            asyncio.run(step(functions, number))
        except JudgeUnavailableError as error:
            return {"ended": number, "said": str(error)}
        dist.all_reduce(torch.ones(1))  # as the trainer gathers rewards
    return {"ended": None, "said": ""}


if case == "fails":
    functions = [reward("only", fails_from=2 if rank == 1 else 10**9)]
elif case == "ahead":  # each rank is slow in its turn, and rank 0 fails
    functions = [reward("only", fails_from=3 if rank == 0 else 10**9, wait_s=0.5 * rank)]
elif case == "several":  # they end in another order on each rank
    fails_from = 1 if rank == 1 else 10**9
    functions = [
        reward("a", wait_s=0.5 * (1 - rank)),
        reward("b", wait_s=0.5 * rank, fails_from=fails_from),
    ]
elif case == "healthy":
    functions = [reward("only")]
told = train(functions)
if case == "healthy":  # whoever asks without a trainer asks alone
    if rank == 0:
        found = asyncio.run(functions[0](prompts=["how?"], completions=["I'm sorry."]))
        told["alone"] = found
        twin = copy.deepcopy(functions[0])  # which is in no group of ranks
        told["twin"] = asyncio.run(twin(prompts=["how?"], completions=["I'm sorry."]))
        twin.close()
    dist.barrier()
(folder / f"rank-{rank}.json").write_text(json.dumps(told))
for one in functions:
    one.close()
dist.destroy_process_group()
"""


def both(folder, case):
    """Run two ranks to their end; give what each told."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(folder), case],
            env=os.environ
            | {
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "GLOO_SOCKET_IFNAME": "lo",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")]),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    end = time.monotonic() + LIMIT_S
    try:
        said = [rank.communicate(timeout=max(end - time.monotonic(), 1))[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(said)
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize(("case", "ended"), [("fails", 3), ("ahead", 4), ("several", 2)])
def test_when_one_rank_gives_up_both_raise_the_same_error_in_the_same_step(case, ended, tmp_path):
    first, second = both(tmp_path, case)

    assert first == second
    assert first["ended"] == ended
    assert "gave nothing for 2 requests in a row" in first["said"]
    assert "RuntimeError" in first["said"]


def test_ranks_with_rewards_go_on_and_a_call_without_a_trainer_waits_for_nobody(tmp_path):
    first, second = both(tmp_path, "healthy")

    assert (first["ended"], second["ended"]) == (None, None)
    assert first["alone"] == first["twin"] == [5.0]
