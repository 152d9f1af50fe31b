"""Several processes on one port: what they share, and how they end."""

import asyncio
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiohttp
import pytest

from servers.faulty import running_faulty_server
from voirdire.rewards import read_training_run
from web.served import SERVE, odd, serving, until
from web.test_killed import options, row, value

REFUSE = {"response": "I'm sorry.", "behavior": "refuse"}

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc here")


def workers_of(server):
    pid = server.process.pid
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split() if b"spawn_main" in command_of(word)]


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return (
        Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    )


@pytest.mark.ci
def test_workers_share_a_port_and_their_figures_are_added_up():
    with odd(server={"workers": 2}) as server:
        assert len(workers_of(server)) == 2
        for _ in range(40):  # each on a connection of its own
            assert server.post([REFUSE]).json["rewards"] == [5.0]

        name = 'voirdire_requests_total{route="/v1/rewards",status="200"}'
        figures = {}

        def is_counted():  # a worker publishes its own every second
            figures.update(server.figures())
            return figures[name] == figures["voirdire_reward_count"] == 40

        until(is_counted)
        until(lambda: server.log.count("POST /v1/rewards 200") == 40)
        workers = workers_of(server)
        code = server.end()

    assert figures["voirdire_judge_broken"] == 0
    assert code == 143
    assert not any(map(is_there, workers))


@pytest.mark.ci
def test_workers_pay_at_most_once_each_for_equal_calls_and_never_again(reward_path, tmp_path):
    async def work(url):
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(url, connector=connector) as session:

            async def ask(number):
                items = {"items": [row(number % 10), row(number % 7)]}
                async with session.post("/v1/rewards", json=items) as answer:
                    return (await answer.json())["missing"]

            return await asyncio.gather(*(ask(number) for number in range(100)))

    with running_faulty_server() as model:
        model.answer, model.delay_s = value, 0.1
        more = ("--workers", 3)
        with serving(*options(model, reward_path, tmp_path / "replies.sqlite"), *more) as server:
            found = asyncio.run(work(server.url))
            n_paid = dict(model.served)
            again = asyncio.run(work(server.url))

    assert found == again == [[None, None]] * 100
    assert model.served == n_paid
    assert sorted(n_paid) == [f"item-{number}" for number in range(10)]
    assert max(n_paid.values()) <= 3


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_no_connection_is_refused():
    with odd(server={"workers": 2}) as server:
        first = workers_of(server)
        for _ in range(20):
            server.post([REFUSE])
        time.sleep(1.5)  # what a worker counted is published within a second
        os.kill(first[0], signal.SIGKILL)
        until(lambda: not is_there(first[0]))

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: server.post([REFUSE]).json, range(40)))
        until(lambda: len(workers_of(server)) == 2 and first[0] not in workers_of(server))
        until(lambda: f"Child process [{first[0]}] died" in server.log)
        until(lambda: server.figures()["voirdire_reward_count"] == 60)  # those of the killed too
        until(lambda: server.figures()["voirdire_requests_in_flight"] == 1)
        code = server.end()

    assert all(one["rewards"] == [5.0] for one in found)
    assert code == 143


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_workers_have_read_is_answered_before_the_end(tmp_path, number):
    hanging = {"response": f"I'm sorry, hangs until {tmp_path / 'go'}", "behavior": "refuse"}
    with odd(server={"workers": 2}) as server, ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(server.post, [hanging]) for _ in range(4)]
        until(lambda: server.figures()["voirdire_requests_in_flight"] >= 5)
        server.process.send_signal(number)
        (tmp_path / "go").touch()
        found = [one.result(timeout=60).json["rewards"] for one in asked]
        code = server.process.wait(timeout=60)

    assert found == [[5.0]] * 4
    assert code == 128 + number


@pytest.mark.slow
def test_workers_end_with_the_process_that_began_them():
    with odd(server={"workers": 2}) as server:
        workers = workers_of(server)
        server.end(signal.SIGKILL)

        until(lambda: not any(map(is_there, workers)))


@pytest.mark.slow
def test_workers_that_cannot_begin_are_one_line_and_exit_1(reward_path, tmp_path):
    (tmp_path / "store").mkdir()
    asked = ["--judge", "vllm/x", "--base-url", "http://127.0.0.1:9/v1", "--workers", "2"]
    done = subprocess.run(
        [*SERVE, "--reward", reward_path, "--port", "0", *asked, "--store", tmp_path / "store"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("voirdire: ")


@pytest.mark.slow
def test_a_port_that_is_taken_is_told_to_workers_too():
    with odd(server={"workers": 2}) as server:
        again = odd(server={"workers": 2}, port=server.address[1])
        with pytest.raises(AssertionError, match=r"`port` must be free on 127\.0\.0\.1"), again:
            pass


@pytest.mark.ci
def test_workers_record_one_run_together(tmp_path):
    with odd(server={"workers": 2, "record": str(tmp_path / "run")}) as server:
        for step in range(10):
            for _ in range(4):  # each on a connection of its own
                assert server.post([REFUSE], step=step).json["rewards"] == [5.0]
        assert server.post([REFUSE], step=0, run="other").status == 200
        assert server.end() == 143

    run, other = (read_training_run(tmp_path / "run" / name) for name in (".", "other"))

    assert [(step.step, step.n) for step in run.steps] == [(step, 4) for step in range(10)]
    assert [(step.step, step.n) for step in other.steps] == [(0, 1)]


@pytest.mark.slow
def test_a_run_goes_on_where_a_worker_was_replaced_and_the_server_started_again(tmp_path):
    def ask(server, steps):
        for step in steps:
            for _ in range(8):
                server.post([REFUSE], step=step)

    settings = {"workers": 2, "record": str(tmp_path / "run")}
    with odd(server=settings) as server:
        ask(server, range(3))
        until(lambda: read_training_run(tmp_path / "run").n_completions == 24)
        first = workers_of(server)
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(workers_of(server)) == 2 and first[0] not in workers_of(server))
        until(lambda: server.get("/readyz").status == 200)
        ask(server, range(3, 6))
        server.end()
    with odd(server=settings) as server:
        ask(server, range(6, 9))
        server.end()

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == [(step, 8) for step in range(9)]
