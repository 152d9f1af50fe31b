"""A program that asks live is killed: what it has used is stored, and nothing is paid twice."""

import json
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from judging.llm.counted_runs import CONCURRENCY, Runs, probability, wait_until

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("asking_program.py")
N_ITEMS = 200


@pytest.fixture
def runs(tmp_path, faulty_server):
    made = Runs(tmp_path, faulty_server, n_items=N_ITEMS)
    made.server.delay_s = 0.02
    yield made
    made.close()


def begin(runs):
    told = {
        "base_url": runs.server.url,
        "concurrency": CONCURRENCY,
        "items": str(runs.items),
        "rubric": str(runs.folder / "tiny.yaml"),
        "store": str(runs.store),
    }
    return subprocess.Popen(
        [sys.executable, PROGRAM, json.dumps(told)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_by(process):
    """Give what a program said before its end, by item."""
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    lines = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
    said = {name: (numbers, why) for line in lines for name, numbers, why in line["verdicts"]}
    return said, sum(line["n_stored"] for line in lines)


def is_right(said):
    return all(
        why is None and numbers == [probability(name, key) for key in ("sorry", "rude")]
        for name, (numbers, why) in said.items()
    )


def test_killed_and_started_again_it_loses_only_what_was_in_flight(runs):
    chance = random.Random(7)
    moments = sorted(chance.sample(range(10, N_ITEMS - 10), k=5))

    for n_killed, moment in enumerate(moments, start=1):
        process = begin(runs)
        wait_until(partial(runs.has_served, moment))
        time.sleep(chance.random() * 0.03)
        process.kill()
        used, _ = said_by(process)
        assert is_right(used)
        assert runs.stored() >= len(used)
        assert 0 <= runs.n_served - runs.stored() <= n_killed * CONCURRENCY
    n_before = runs.stored()
    said, n_stored = said_by(begin(runs))

    assert len(said) == N_ITEMS
    assert is_right(said)
    assert n_stored == n_before
    assert runs.stored() == N_ITEMS
    assert runs.n_served <= N_ITEMS + len(moments) * CONCURRENCY
