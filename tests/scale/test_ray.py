"""A folder is judged on a real Ray cluster, whose nodes and drivers are killed."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import polars as pl
import pytest

from judging.llm.counted_runs import CONCURRENCY, RUBRIC, item_line, probability, wait_until
from voirdire.errors import InputError
from voirdire.scale import judge_with_ray

pytestmark = pytest.mark.slow
cluster_utils = pytest.importorskip("ray.cluster_utils")

N_FILES, N_EACH = 24, 25
PROGRAM = (sys.executable, "-c", "import voirdire.cli as c; c.run()")


@pytest.fixture
def cluster(monkeypatch):
    """Start a head without processors and two nodes with one each, before there is any load."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made, nodes
    made.shutdown()


@pytest.fixture
def start(tmp_path, cluster, faulty_server):
    """Give what starts the command as a program of its own."""
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(N_FILES):
        lines = map(item_line, range(k * N_EACH, (k + 1) * N_EACH))
        (folder / f"{k:02d}.jsonl").write_text("".join(lines))
    (tmp_path / "tiny.yaml").write_text(RUBRIC)
    faulty_server.answer = lambda item, key, form: probability(item, key)
    began = []

    def run(*options):
        words = ["judge", folder, "-o", tmp_path / "out", "--rubric", tmp_path / "tiny.yaml",
                 "--judge", "openai/test", "--base-url", faulty_server.url,
                 "--probability", "stated", "--concurrency", CONCURRENCY,
                 "--engine", "ray", "--address", cluster[0].address, "--json",
                 *options]  # fmt: skip
        process = subprocess.Popen(
            [*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ,
        )  # fmt: skip
        began.append(process)
        return process

    yield run
    for process in began:
        process.kill()


def test_a_node_and_the_driver_are_killed_and_every_item_is_judged_once(
    tmp_path, cluster, start, faulty_server
):
    faulty_server.delay_s = 0.05
    n_items = N_FILES * N_EACH

    def n_served():
        return sum(faulty_server.served.values())

    first = start()
    wait_until(lambda: n_served() > 0.2 * n_items)
    cluster[0].remove_node(cluster[1][1], allow_graceful=False)
    cluster[0].add_node(num_cpus=1)
    wait_until(lambda: n_served() > 0.5 * n_items)
    first.kill()
    first.communicate()
    second = start()
    out, err = second.communicate(timeout=300)

    assert second.returncode == 0, err
    summary = json.loads(out)
    assert (summary["n_files"], summary["failed"]) == (N_FILES, {})
    assert 0 < summary["judged"]["n_items"] < n_items
    frames = [pl.read_parquet(path) for path in (tmp_path / "out").glob("*.parquet")]
    found = pl.concat(frames).filter(question="sorry")
    assert Counter(found["item"]) == Counter({f"item-{n}": 1 for n in range(n_items)})
    right = [probability(item, "sorry") for item in found["item"]]
    assert found["probability"].to_list() == right
    assert n_served() <= n_items + 2 * 2 * CONCURRENCY  # a node and the driver, with one task each


def test_the_limit_is_that_of_the_cluster(start, faulty_server):
    started = []
    faulty_server.script = lambda item, n: started.append(time.monotonic()) or "ok"

    process = start("--requests-per-minute", 1800)
    _, err = process.communicate(timeout=300)

    assert process.returncode == 0, err
    middle = sorted(started)[50:-50]
    rate = (len(middle) - 1) / (middle[-1] - middle[0])
    assert 27 <= rate <= 33  # a second, over some seconds: of the server's own times of arrival


def test_the_budget_is_that_of_the_cluster(tmp_path, start, faulty_server):
    process = start("--price", "1000,0", "--max-cost", "5")
    _, err = process.communicate(timeout=300)
    n_tokens = sum(len(row["content"]) for row in faulty_server.bodies[-1]["messages"]) // 4
    spent = sum(faulty_server.served.values()) * 1000 * n_tokens / 1e6

    assert process.returncode != 0
    assert "of the cluster is reached" in err
    assert 2.5 < spent <= 5 * 1.1


def test_a_budget_without_a_price_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(item_line(0))
    model = {"base_url": "https://judge.example/v1", "probability": "stated", "max_cost": 5.0}

    with pytest.raises(InputError, match="`max_cost` needs the price of 'openai/test'"):
        judge_with_ray(tmp_path / "in", tmp_path / "out", judge="openai/test", model=model)
