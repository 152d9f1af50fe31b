"""Real processes that are interrupted and killed: what is left, and how a run goes on."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from voirdire.judging import kept_items
from voirdire.rubrics import rubric_to_yaml

N_ITEMS = 1_000
DRIVER = """
import os
import sys
import time
from pathlib import Path

import numpy as np

from voirdire.judging import judge_file
from voirdire.judging.runs import file_judging
from voirdire.rubrics import load_rubric


calls = []


class Slow:
    name, questions, source, fingerprint = "slow", ("sorry", "rude"), "classifier", "sha256:slow"

    def probabilities(self, items):
        Path(f"{sys.argv[0]}.{os.getpid()}.pid").touch()
        time.sleep(0.04)
        calls.append(1)
        while len(calls) > int(sys.argv[5]) and os.path.exists(f"{sys.argv[0]}.hold"):
            time.sleep(0.005)
        return np.array([[float(word) for word in item.response.split()] for item in items])


if __name__ == "__main__":
    file_judging.PART_ITEMS = 50
    source, output, rubric, workers, _ = sys.argv[1:]
    summary = judge_file(
        source, output, rubric=load_rubric(rubric), judge=Slow(), workers=int(workers)
    )
    print(summary.n_reused, flush=True)
"""


@pytest.fixture
def start(tmp_path, rubric, write_items):
    """Start the run in a process of its own."""
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    (tmp_path / "tiny.yaml").write_text(rubric_to_yaml(rubric), encoding="utf-8")
    source = write_items(N_ITEMS)
    begun = []

    def started(output, *, workers=1, most_parts=N_ITEMS):
        """Let each process judge so many parts before it waits for `let_go`."""
        hold(tmp_path).touch()
        words = [tmp_path / "driver.py", source, tmp_path / output, tmp_path / "tiny.yaml"]
        words += [workers, most_parts]
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that a Ctrl-C reaches its workers and not the tests
        )
        begun.append(process)
        return process

    yield started
    for process in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def hold(tmp_path):
    """Name the file that is there as long as nobody comes to the end of its work."""
    return tmp_path / "driver.py.hold"


def finished(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()
    return int(out)


def wait_until(condition, *, seconds=120.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def worker_pids(tmp_path):
    return [int(path.name.split(".")[-2]) for path in tmp_path.glob("driver.py.*.pid")]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("end", ["parquet", "jsonl"])
def test_a_run_that_is_killed_again_and_again_gives_the_same_file(start, tmp_path, workers, end):
    chance = random.Random(f"{workers} {end}")
    assert finished(start(f"whole.{end}")) == 0
    output = tmp_path / f"out.{end}"
    seen = []

    while not output.exists():
        # three runs at least, however late they are killed: twenty parts, eight at most in each
        process = start(output.name, workers=workers, most_parts=4)
        kill_after_a_part(process, output, chance.random() * 0.3)
        seen.append(kept_items(output))

    *kept, _ = seen
    assert len(kept) >= 2
    assert kept == sorted(kept)
    assert output.read_bytes() == (tmp_path / f"whole.{end}").read_bytes()
    finished(start(output.name))
    assert not output.with_name(f"{output.name}.partial").exists()


def kill_after_a_part(process, output, seconds):
    before = kept_items(output)
    wait_until(lambda: process.poll() is not None or kept_items(output) > before)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(start, tmp_path, workers):
    finished(start("whole.parquet"))
    for path in tmp_path.glob("driver.py.*.pid"):
        path.unlink()
    output = tmp_path / "out.parquet"
    process = start(output.name, workers=workers, most_parts=6)
    wait_until(lambda: kept_items(output) >= 200)

    os.killpg(process.pid, signal.SIGINT)
    hold(tmp_path).unlink()
    _, err = process.communicate(timeout=120)

    kept = kept_items(output)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in err
    assert err.count(b"Traceback") == 1  # of this process alone: its workers say nothing
    assert kept >= 200
    wait_until(lambda: not any(map(is_alive, worker_pids(tmp_path))))
    assert finished(start(output.name)) == kept
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.slow
def test_workers_end_with_the_process_that_was_killed(start, tmp_path):
    output = tmp_path / "out.parquet"
    process = start(output.name, workers=2, most_parts=2)
    wait_until(lambda: len(worker_pids(tmp_path)) == 2)
    pids = worker_pids(tmp_path)
    assert process.poll() is None

    process.send_signal(signal.SIGKILL)
    process.wait()

    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.slow
def test_a_worker_that_dies_is_our_error_and_nothing_is_lost(start, tmp_path):
    output = tmp_path / "out.parquet"
    process = start(output.name, workers=2, most_parts=6)
    wait_until(lambda: kept_items(output) >= 200)

    os.kill(worker_pids(tmp_path)[0], signal.SIGKILL)
    hold(tmp_path).unlink()
    _, err = process.communicate(timeout=120)

    assert b"InputError: a worker process ended before its work was done" in err
    assert kept_items(output) >= 200
    assert finished(start(output.name)) >= 200


@pytest.mark.slow
def test_workers_write_what_one_process_writes(start, tmp_path):
    finished(start("alone.parquet"))

    finished(start("together.parquet", workers=2))

    alone, together = ((tmp_path / f"{x}.parquet").read_bytes() for x in ("alone", "together"))
    assert alone == together
