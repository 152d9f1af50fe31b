"""Real processes that are interrupted and killed: the file is whole or not there, nobody is left.

Those of a language model, whose replies are kept, are in `llm/test_interruptions.py`.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from voirdire.rubrics import rubric_to_yaml

N_ITEMS = 1_000
DRIVER = """
import os
import sys
import time
from pathlib import Path

import numpy as np

from voirdire.judging import judge_file, run
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
    run.BATCH_ITEMS = 50
    source, output, rubric, workers, _ = sys.argv[1:]
    judge_file(source, output, rubric=load_rubric(rubric), judge=Slow(), workers=int(workers))
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def start(tmp_path, rubric, write_items):
    """Start the run in a process of its own."""
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    (tmp_path / "tiny.yaml").write_text(rubric_to_yaml(rubric), encoding="utf-8")
    source = write_items(N_ITEMS)
    begun = []

    def started(output, *, workers=1, most_parts=N_ITEMS):
        """Let each process judge so many parts before it waits for `let_go`."""
        (tmp_path / "driver.py.hold").touch()
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


@pytest.fixture
def whole(start, tmp_path):
    """Give what one process writes that nobody disturbs."""
    finish(start("whole.parquet"))
    for path in tmp_path.glob("driver.py.*.pid"):
        path.unlink()
    return (tmp_path / "whole.parquet").read_bytes()


def finish(process):
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()


def wait_until(condition, *, seconds=120.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def n_parts(folder):
    return len(list(folder.glob(".out.parquet.*.unfinished/part-*")))


def kill_after(process, folder, *, n, seconds):
    wait_until(lambda: process.poll() is not None or n_parts(folder) >= n)
    time.sleep(seconds)
    process.kill()
    process.wait()


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def worker_pids(tmp_path):
    return [int(path.name.split(".")[-2]) for path in tmp_path.glob("driver.py.*.pid")]


def left_over(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith((".", "out"))]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was(
    start, whole, tmp_path, workers
):
    chance = random.Random(workers)

    for _ in range(4):
        process = start("out.parquet", workers=workers, most_parts=8)
        kill_after(process, tmp_path, n=chance.randrange(1, 8), seconds=chance.random() * 0.1)
        # the parts of this run alone: each run removes what the last one left
        assert [name[:13] for name in left_over(tmp_path)] == [".out.parquet."]
    finish(start("out.parquet", workers=workers))

    assert left_over(tmp_path) == ["out.parquet"]
    assert (tmp_path / "out.parquet").read_bytes() == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_no_file_and_no_process(start, tmp_path, workers):
    process = start("out.parquet", workers=workers, most_parts=6)
    wait_until(lambda: n_parts(tmp_path) >= 4)

    os.killpg(process.pid, signal.SIGINT)
    (tmp_path / "driver.py.hold").unlink()
    _, err = process.communicate(timeout=120)

    assert process.returncode != 0
    assert b"KeyboardInterrupt" in err
    assert err.count(b"Traceback") == 1  # of this process alone: its workers say nothing
    assert left_over(tmp_path) == []
    wait_until(lambda: not any(map(is_alive, worker_pids(tmp_path))))


def test_workers_end_with_the_process_that_was_killed(start, tmp_path):
    process = start("out.parquet", workers=2, most_parts=2)
    wait_until(lambda: len(worker_pids(tmp_path)) == 2)
    pids = worker_pids(tmp_path)
    assert process.poll() is None

    process.kill()
    process.wait()

    wait_until(lambda: not any(map(is_alive, pids)))


def test_a_worker_that_dies_is_our_error_and_leaves_nothing(start, tmp_path):
    process = start("out.parquet", workers=2, most_parts=6)
    wait_until(lambda: n_parts(tmp_path) >= 4)

    os.kill(worker_pids(tmp_path)[0], signal.SIGKILL)
    (tmp_path / "driver.py.hold").unlink()
    _, err = process.communicate(timeout=120)

    assert b"InputError: a worker process ended before its work was done" in err
    assert left_over(tmp_path) == []
