"""An application of ours asked in this process, without a socket: what it is sent, it reads."""

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass, replace

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from voirdire.judging import LiveSettings
from voirdire.rewards import LiveReward
from voirdire.testing import GoldenJudge, golden_reward
from voirdire.web import ServerSettings, create_app
from web.served import Answer


@dataclass(frozen=True, kw_only=True)
class NumberJudge(GoldenJudge):
    """Gives the probabilities that stand in a response; waits where it is "wait"."""

    waiting: threading.Event | None = None

    def probabilities(self, items):
        if any(item.response == "wait" for item in items):
            assert self.waiting.wait(60)
        rows = [
            [0.0] * 3 if item.response[:1] not in "01n" else item.response.split()[:3]
            for item in items
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)


@dataclass(frozen=True)
class AskedApp:
    """An application that has begun."""

    app: object
    host: str = "localhost"

    async def send(self, method, path, receive, *, headers=None):
        """Ask with whatever a server would pass on."""
        usual = {"host": self.host} | (
            {"content-type": "application/json"} if method == "POST" else {}
        )
        named = [(name.lower(), value) for name, value in (usual | (headers or {})).items()]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "root_path": "",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "headers": [
                (name.encode(), value if isinstance(value, bytes) else value.encode())
                for name, value in named
                if value is not None
            ],
        }
        scope["path"], _, query = path.partition("?")
        scope["query_string"] = query.encode()
        sent = []

        async def take(message):
            sent.append(message)

        await self.app(scope, receive, take)
        if not sent:
            return None
        told = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
        return Answer(sent[0]["status"], told, b"".join(m.get("body", b"") for m in sent[1:]))

    async def ask(self, method, path, body=None, *, headers=None):
        if not isinstance(body, bytes | None):
            body = json.dumps(body).encode()
        length = {} if body is None else {"content-length": str(len(body))}
        headers = length | {name.lower(): value for name, value in (headers or {}).items()}
        return await self.send(method, path, pieces(body or b""), headers=headers)

    async def post(self, items, **asked):
        return await self.ask("POST", "/v1/rewards", {"items": items, **asked})

    async def figures(self):
        """Read /metrics with Prometheus's own parser: by name and values of labels."""
        text = (await self.ask("GET", "/metrics")).body.decode()
        samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        return {(s.name, *sorted(s.labels.values())): s.value for s in samples}


def pieces(*given, then="end"):
    """Give pieces as a server does; then the end, silence, or that the client has left."""
    pending = [{"type": "http.request", "body": piece, "more_body": True} for piece in given]
    if then == "end":
        pending[-1]["more_body"] = False
    if then == "gone":
        pending.append({"type": "http.disconnect"})

    async def receive():
        if pending:
            return pending.pop(0)
        await asyncio.sleep(3_600)
        raise AssertionError

    return receive


@contextlib.asynccontextmanager
async def begun(judge=None, *, reward=None, live=None, base_column=None, **settings):
    """Begin an application, and end it."""
    given = LiveReward(
        golden_reward() if reward is None else reward,
        judge=NumberJudge() if judge is None else judge,
        base_column=base_column,
        settings=LiveSettings(**live or {}),
    )
    app = create_app(given, settings=ServerSettings(**settings))
    async with app.router.lifespan_context(app):
        yield AskedApp(app)


@contextlib.contextmanager
def asked_app(judge=None, **settings):
    """Begin an application in a loop of its own; give it, and what runs a coroutine there."""
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        app = runner.run(stack.enter_async_context(begun(judge, **settings)))
        try:
            yield app, runner.run
        finally:
            runner.run(stack.aclose())


@dataclass(frozen=True)
class AppServer:
    """An application that is asked as a server is, see `web.served.Served`."""

    app: AskedApp
    run: object
    headers: dict

    def ask(self, method, path, body=None, *, headers=None):
        told = self.headers | (headers or {})
        return self.run(self.app.ask(method, path, body, headers=told))

    def post(self, items, **asked):
        return self.ask("POST", "/v1/rewards", {"items": items, **asked})

    def get(self, path, *, headers=None):
        return self.ask("GET", path, headers=headers)

    def figures(self):
        """Read /metrics: by name with labels."""
        return self.get("/metrics").figures


@contextlib.contextmanager
def app_server(judge=None, *, token=None, **settings):
    """Begin an application that is asked with its token, where it has one."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with asked_app(judge, token=token, **settings) as (app, run):
        yield AppServer(app, run, headers)


def at(app, host):
    """Ask by another name."""
    return replace(app, host=host)
