"""What stands in the log: never a word of a request, whatever goes wrong with it."""

import asyncio
import contextlib
import json
import logging
import socket
import subprocess
import sys
import threading

import pytest

from servers.faulty import FINAL, UNREADABLE
from voirdire.adapters.run_notes import describe_error
from voirdire.web.logs import keep_quiet, make_log_config
from web.served import odd, serving, until

CANARY = "canary-77c2f1"
HEAD = "POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"


def failing(text):
    raise ValueError(text)


def caught(text):
    try:
        failing(text)
    except ValueError as error:
        return error


def test_an_error_is_told_by_its_type_and_places_only():
    error = caught(CANARY)

    found = describe_error(error)

    assert CANARY not in found
    assert found.startswith("ValueError at ")
    assert "failing" in found


def test_of_a_group_the_first_error_is_told():
    group = ExceptionGroup(CANARY, [ExceptionGroup(CANARY, [caught(CANARY)])])

    assert describe_error(group).startswith("ValueError at ")


@contextlib.contextmanager
def logs_here(as_json):
    """Log in this process as a server does, for the time being."""
    names = ("voirdire", "uvicorn", "asyncio", "concurrent")
    before = [
        (row, row.handlers, row.propagate, row.level) for row in map(logging.getLogger, names)
    ]
    hook = threading.excepthook
    config = make_log_config(as_json=as_json)
    made = {"()": config["handlers"]["stderr"].pop("()"), **config["handlers"]["stderr"]}
    handler = made.pop("()")(**made)
    for name in names:
        logging.getLogger(name).handlers = [handler]
        logging.getLogger(name).propagate = False
    try:
        yield
    finally:
        handler.close()
        threading.excepthook = hook
        for row, row.handlers, row.propagate, level in before:
            row.setLevel(level)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", ["voirdire", "uvicorn.error", "asyncio"])
def test_whoever_logs_an_error_here_quotes_none(capsys, as_json, name):
    with logs_here(as_json):
        logging.getLogger(name).error("it failed", exc_info=caught(CANARY))

    found = capsys.readouterr().err
    assert CANARY not in found
    assert "it failed" in found
    assert "ValueError at " in found
    if as_json:
        assert json.loads(found)["level"] == "error"


def test_what_fails_in_the_background_quotes_nothing(capsys):
    async def work():
        keep_quiet(asyncio.get_running_loop())
        task = asyncio.create_task(later())
        await asyncio.wait([task])
        del task
        thread = threading.Thread(target=failing, args=(CANARY,))
        thread.start()
        thread.join()

    async def later():
        failing(CANARY)

    with logs_here(False):
        asyncio.run(work())

    found = capsys.readouterr().err
    assert CANARY not in found
    assert "in the background: ValueError at " in found
    assert "in a thread: ValueError at " in found


@pytest.mark.ci
def test_a_log_that_nobody_reads_stops_nothing():
    """A pipe takes 64 KiB; whoever does not read it must not find the server waiting for it."""
    code = (
        "import logging.config\n"
        "from voirdire.web.logs import make_log_config\n"
        "logging.config.dictConfig(make_log_config(as_json=False))\n"
        "for _ in range(30_000):\n"
        "    logging.getLogger('voirdire').error('x' * 100)\n"
        "print('done', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "done\n"
        finally:
            process.kill()


def item(text, **more):
    return {
        "response": f"{CANARY} {text}",
        "prompt": f"{CANARY} how?",
        "behavior": "refuse",
        **more,
    }


ASKED = [
    [item("is answered")],
    [item("raises")],
    [item("nothing")],
    [item("sleeps")],
    [item("x", behavior=CANARY)],
    [item("x", behavior=None)],
    [item("x", group=CANARY, id=CANARY)],
    [{"response": [{"role": "user", "content": CANARY}], "behavior": "refuse"}],
    [{"response": [{"role": CANARY, "content": CANARY}], "behavior": "refuse"}],
    [{"response": CANARY, "prompt": [{"x": CANARY}], "behavior": "refuse"}],
    [{CANARY: CANARY}],
    CANARY,
]


def is_noted(served):
    """Leave before everything is sent, before the server gives up; tell whether that is noted."""
    with socket.create_connection(served.address, timeout=60) as connection:
        connection.sendall(f"{HEAD}\r\nContent-Length: 1000\r\n\r\n{CANARY}".encode())
    return "499" in served.log


@pytest.mark.ci
@pytest.mark.parametrize("as_json", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_failing_path_writes_a_word_of_a_request(as_json, tmp_path):
    record = tmp_path / "record"
    server = {"json_log": as_json, "max_body": 50_000, "body_s": 0.5, "record": str(record)}
    with odd(live={"deadline_s": 0.2}, server=server) as served:
        for items in ASKED:
            served.post(items)
            served.post(items, **{CANARY: CANARY})
        for body in (
            CANARY.encode(),
            f'{{"items": [{{"response": "{CANARY}'.encode(),
            f'{{"items": [{{"response": "{CANARY}", "base_reward": NaN}}]}}'.encode(),
            f'{{"items": [{{"response": "{CANARY}", "response": "{CANARY}"}}]}}'.encode(),
            CANARY.encode() + b"\xff",
            CANARY.encode() * 10_000,
        ):
            for path in ("/v1/rewards", "/openrlhf"):
                served.ask("POST", path, body)
        served.ask(
            "POST", "/openrlhf", {"query": [CANARY], "prompts": [CANARY], "labels": [CANARY]}
        )
        served.ask("POST", "/openrlhf", {"query": [f"x{CANARY} raises"], "prompts": ["x"]})
        served.ask("POST", f"/v1/rewards?{CANARY}={CANARY}", {"items": []})
        served.get(f"/{CANARY}")
        served.ask("POST", "/v1/rewards", {"items": []}, headers={"X-More": CANARY})
        served.ask("POST", "/v1/rewards", {"items": []}, headers={"Content-Type": CANARY})
        served.get("/healthz", headers={"Host": CANARY})
        served.get("/v1/reward", headers={"Authorization": f"Bearer {CANARY}"})
        for raw in (
            f"{CANARY} / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            f"{HEAD}\r\nContent-Length: 1000\r\n\r\n{CANARY}",
            f"GET /healthz HTTP/1.1\r\n{CANARY}\r\n\r\n",
        ):
            with socket.create_connection(served.address, timeout=30) as connection:
                connection.sendall(raw.encode())
                connection.recv(65_536)
        until(lambda: is_noted(served))
        figures = served.get("/metrics").body.decode()
        code = served.end()
        log = served.log

    assert CANARY not in log
    assert CANARY not in figures
    assert code == 143
    assert "/v1/rewards" in log
    if as_json:
        lines = [json.loads(line) for line in log.splitlines()]
        assert {"client", "method", "route", "status", "milliseconds"} <= set(
            next(line for line in lines if line.get("route") == "/v1/rewards")
        )


@pytest.mark.slow
def test_a_model_that_fails_in_every_way_writes_no_word_either(
    faulty_server, reward_path, tmp_path
):
    faults = [*UNREADABLE, *FINAL, "500", "no_json", "html", "cut_off", "reset", "no_access"]
    faulty_server.script = lambda name, n: faults[int(name.rpartition("-")[2])]
    options = ("--judge", "vllm/m", "--base-url", faulty_server.url, "--probability", "stated")
    items = [
        {"response": f"item-{n} {CANARY}", "prompt": CANARY, "behavior": "hard_refuse"}
        for n in range(len(faults))
    ]
    with serving(
        *("--reward", reward_path, "--store", tmp_path / "s.sqlite", "--deadline", 2), *options
    ) as served:
        found = [served.post([one]).json for one in items]
        served.end()
        log = served.log

    assert all(answer["rewards"] == [None] for answer in found)
    assert CANARY not in log
