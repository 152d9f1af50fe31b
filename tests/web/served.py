"""Servers under test: real processes on this machine, asked over real connections."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

TESTS = Path(__file__).resolve().parents[1]
ODD = Path(__file__).with_name("odd_server.py")
SERVE = [sys.executable, "-c", "from voirdire.cli import run; run()", "serve"]
JSON = {"Content-Type": "application/json"}
START_S = 60


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        def refuse(word):
            raise AssertionError(word)

        return json.loads(self.body, parse_constant=refuse)

    @property
    def code(self):
        return self.json["error"]["code"]

    @property
    def figures(self):
        """Read figures: by name with labels."""
        rows = [row.rpartition(" ") for row in self.body.decode().splitlines() if row[:1] != "#"]
        return {name: float(value) for name, _, value in rows}


@dataclass
class Served:
    """A server that runs."""

    process: subprocess.Popen
    url: str
    log_path: Path
    headers: dict = field(default_factory=dict)

    @property
    def address(self):
        parts = urlsplit(self.url)
        return parts.hostname, parts.port

    def ask(self, method, path, body=None, *, headers=None, timeout=60):
        """Ask on a connection of its own."""
        connection = http.client.HTTPConnection(*self.address, timeout=timeout)
        if not isinstance(body, bytes | None):
            body = json.dumps(body).encode()
        sent = (JSON if method == "POST" else {}) | self.headers | (headers or {})
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return Answer(
                answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def post(self, items, **asked):
        return self.ask("POST", "/v1/rewards", {"items": items, **asked})

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def figures(self):
        """Read /metrics: by name with labels."""
        return self.get("/metrics").figures

    @property
    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def end(self, number=signal.SIGTERM, timeout=60):
        """Send a signal, and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=timeout)


@contextmanager
def running(command, *, token=None, **variables):
    """Run a server that prints its address; end it, whatever became of it."""
    paths = filter(None, (str(TESTS), os.environ.get("PYTHONPATH")))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    environment |= variables
    environment.pop("VOIRDIRE_TOKEN", None)
    if token is not None:
        environment["VOIRDIRE_TOKEN"] = token
    with tempfile.TemporaryDirectory() as folder:
        log_path = Path(folder) / "log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [*map(str, command)], stdout=subprocess.PIPE, stderr=log, env=environment, text=True
            )
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http"), log_path.read_text(encoding="utf-8")
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            yield Served(process, url, log_path, headers)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(timeout=START_S)
            process.stdout.close()


def serving(*arguments, **more):
    """Run `voirdire serve`."""
    return running([*SERVE, "--port", 0, *arguments], **more)


def odd(*, live=None, server=None, port=0, **more):
    """Run a server whose judge does what responses tell it, see `odd_server`."""
    told = {"live": live or {}, "server": server or {}, "port": port}
    return running([sys.executable, ODD, json.dumps(told)], **more)


def until(is_true, *, seconds=120):
    """Wait until something is so; fail where it never is."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
