"""Signals and the end: requests under way are answered, and the process ends."""

import signal
import socket
import subprocess
import threading

import pytest

from voirdire.errors import InputError
from voirdire.rewards import LiveReward
from voirdire.testing import golden_judge, golden_reward
from voirdire.web import ServerSettings, serve
from web.conftest import TOKEN
from web.served import SERVE, odd, running, serving, until

REFUSE = {"response": "I'm sorry.", "behavior": "refuse"}


class Asking(threading.Thread):
    """A request under way."""

    def __init__(self, server, items):
        super().__init__(daemon=True)
        self._server, self._items = server, items
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self._server.post(self._items)
        except OSError as error:
            self.answer = error


def under_way(server):
    return server.figures()["voirdire_items_under_way"]


def hanging(path):
    return {"response": f"I'm sorry, hangs until {path}", "behavior": "refuse"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server_with_its_number(number):
    with odd() as server:
        assert server.post([REFUSE]).json["rewards"] == [5.0]

        code = server.end(number)

        assert code == 128 + number
        assert "Traceback" not in server.log


@pytest.mark.ci
def test_requests_under_way_are_answered_before_the_end(tmp_path):
    with odd() as server:
        asking = Asking(server, [hanging(tmp_path / "go")])
        until(lambda: under_way(server) == 1)

        server.process.send_signal(signal.SIGTERM)
        until(lambda: is_refused(server))  # nobody new is let in
        (tmp_path / "go").touch()
        code = server.process.wait(timeout=60)
        asking.join(timeout=60)

    assert asking.answer.json["rewards"] == [5.0]
    assert code == 143


def is_refused(server):
    try:
        with socket.create_connection(server.address, timeout=5):
            return False
    except OSError:
        return True


@pytest.mark.slow
def test_who_takes_longer_than_the_draining_hears_so(tmp_path):
    """The judge is stuck; those who wait are told that there is no verdict, and the server ends."""
    with odd(server={"drain_s": 1.0}) as server:
        asking = Asking(server, [hanging(tmp_path / "never")])
        until(lambda: under_way(server) == 1)

        server.process.send_signal(signal.SIGTERM)
        asking.join(timeout=60)
        (tmp_path / "never").touch()
        code = server.process.wait(timeout=60)

    found = asking.answer.json
    assert found["rewards"] == [None]
    assert found["missing"][0].startswith("failed verdict: ")
    assert code == 143


@pytest.mark.ci
def test_a_full_queue_says_when_to_come_again(tmp_path):
    with odd(server={"queue": 3}) as server:
        asking = Asking(server, [hanging(tmp_path / "go"), REFUSE, REFUSE])
        until(lambda: under_way(server) == 3)

        full = server.post([REFUSE])
        too_long = server.post([REFUSE] * 4)
        (tmp_path / "go").touch()
        asking.join(timeout=60)
        again = server.post([REFUSE] * 3)

    assert (full.status, full.code) == (503, "queue_full")
    assert 1 <= int(full.headers["retry-after"]) <= 60
    assert too_long.status == 413
    assert again.json["rewards"] == [5.0] * 3
    assert asking.answer.json["rewards"] == [5.0] * 3


@pytest.mark.slow
def test_more_items_than_the_queue_ever_holds_are_too_many():
    with odd(server={"queue": 3}) as server:
        answer = server.post([REFUSE] * 4)

    assert (answer.status, answer.code) == (413, "too_large")


@pytest.mark.slow
def test_openrlhf_waits_for_its_place_and_then_gets_numbers(tmp_path):
    """Where it is refused, training ends."""
    asked = {"query": ["how?I'm sorry."] * 2, "prompts": ["how?"] * 2, "labels": ["refuse"] * 2}
    with odd(server={"queue": 3}, live={"deadline_s": 5.0}) as server:
        server.post([REFUSE])
        asking = Asking(server, [hanging(tmp_path / "go"), REFUSE])
        until(lambda: under_way(server) == 2)

        late = server.ask("POST", "/openrlhf", asked)
        (tmp_path / "go").touch()
        asking.join(timeout=60)
        until(lambda: under_way(server) == 0)
        found = server.ask("POST", "/openrlhf", asked)

    assert late.json["rewards"] == [1.0, 1.0]  # the mean of the behavior
    assert late.json["extra_logs"]["missing"] == [1.0, 1.0]
    assert found.json["rewards"] == [5.0, 5.0]


# Slow clients, and many ------------------------------------------------------------------------

POST = b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connect(server, sent=b""):
    connection = socket.create_connection(server.address, timeout=60)
    connection.sendall(sent)
    return connection


@pytest.mark.ci
def test_a_slow_client_costs_one_connection_and_delays_nobody():
    with odd(server={"limit_concurrency": 5}) as server:
        held = [connect(server, b"POST /v1/rewards HTT") for _ in range(4)]
        among_them = server.post([REFUSE]).json["rewards"]
        held.append(connect(server))
        until(lambda: server.get("/healthz").status == 503)
        held.pop().close()
        until(lambda: server.get("/healthz").status == 200)
        for connection in held:
            connection.close()

    assert among_them == [5.0]


@pytest.mark.ci
@pytest.mark.parametrize("head", [b"Content-Length: 100", b"Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_is_not_waited_for(head):
    sent = POST + head + b"\r\n\r\n"
    with odd(server={"body_s": 0.5}) as server, connect(server, sent) as connection:
        found = b""
        while piece := connection.recv(65_536):
            found += piece

    assert found.startswith(b"HTTP/1.1 408")
    assert b'"too_slow"' in found


@pytest.mark.ci
def test_who_sends_too_much_hears_so():
    with odd(server={"max_body": 100_000}) as server:
        answer = server.ask("POST", "/v1/rewards", b"[" + b"1," * 100_000)
        again = server.post([REFUSE])

    assert (answer.status, answer.code, again.status) == (413, "too_large", 200)


# How it starts --------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_another_host_needs_a_token(host):
    live = LiveReward(golden_reward(), judge=golden_judge())

    with pytest.raises(InputError, match="`host` must be an address of this machine alone where"):
        serve(live, host=host, port=0)


@pytest.mark.slow
def test_with_a_token_another_host_is_served(reward_path):
    with serving("--reward", reward_path, "--host", "0.0.0.0", token=TOKEN) as server:
        assert server.url.startswith("http://0.0.0.0:")
        assert server.get("/v1/reward", headers={"Host": "somewhere.example"}).status == 200
        assert server.get("/v1/reward", headers={"Authorization": ""}).status == 401


def test_a_behavior_that_the_reward_does_not_have_is_told():
    live = LiveReward(golden_reward(), judge=golden_judge())

    with pytest.raises(InputError, match="`behavior` must be one that reward 'golden' has"):
        serve(live, settings=ServerSettings(behavior="dance"), port=0)


@pytest.mark.slow
def test_a_taken_port_is_one_line_and_exit_1(reward_path):
    with odd() as server:
        port = server.address[1]
        done = subprocess.run(
            [*SERVE, "--reward", str(reward_path), "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert done.stdout == ""
    assert f"`--port` must be free on 127.0.0.1, got {port}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_is_one_line_and_exit_1(reward_path, tmp_path):
    (tmp_path / "store").mkdir()
    asked = ["--judge", "vllm/x", "--base-url", "http://127.0.0.1:9/v1", "--store"]
    done = subprocess.run(
        [*SERVE, "--reward", str(reward_path), "--port", "0", *asked, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("voirdire: ")


@pytest.mark.slow
def test_ipv6_is_served():
    code = (
        "from voirdire.testing import golden_judge, golden_reward\n"
        "from voirdire.rewards import LiveReward\n"
        "from voirdire.web import serve\n"
        "live = LiveReward(golden_reward(), judge=golden_judge())\n"
        "serve(live, host='::1', port=0, started=lambda url: print(url, flush=True))\n"
    )
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with running([SERVE[0], "-c", code]) as server:
        assert server.url.startswith("http://[::1]:")
        assert server.post([REFUSE]).json["rewards"] == [5.0]
        assert server.get("/healthz").status == 200
