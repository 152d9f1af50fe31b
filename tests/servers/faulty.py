"""A server of chat completions that fails as servers do, to a script, and counts what it served.

It speaks OpenAI's dialect over real HTTP on this machine, in a thread of its own. What an item is,
it reads from the request: the first word such as ``item-17`` in the last message.
"""

import asyncio
import json
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import inf, log
from typing import Any, Literal

import pytest
from aiohttp import web

Fault = Literal[
    "ok",
    "429",
    "429_in_seconds",
    "429_at_date",
    "500",
    "503",
    "503_in_seconds",
    "hang",
    "reset",
    "cut_off",
    "no_json",
    "html",
    "no_choices",
    "no_utf8",
    "500_no_utf8",
    "error_beside",
    "truncated",
    "malformed",
    "empty",
    "wrong_keys",
    "missing_key",
    "duplicate_keys",
    "out_of_range",
    "nan",
    "word",
    "refusal",
    "content_filter",
    "filtered_reply",
    "huge",
    "bad_request",
    "no_access",
    "no_logprobs",
]

UNREADABLE: tuple[Fault, ...] = (
    "truncated",
    "malformed",
    "empty",
    "wrong_keys",
    "missing_key",
    "duplicate_keys",
    "out_of_range",
    "nan",
    "word",
)
"""Faults that are replies, and that nobody can read as what was asked for."""

TRANSIENT: tuple[Fault, ...] = (
    "429",
    "429_in_seconds",
    "429_at_date",
    "500",
    "503",
    "503_in_seconds",
    "hang",
    "reset",
    "cut_off",
    "no_json",
    "html",
    "no_choices",
    "no_utf8",
    "500_no_utf8",
    "error_beside",
    "huge",
)
"""Faults after which the same request may get a reply."""

FINAL: tuple[Fault, ...] = ("refusal", "content_filter", "filtered_reply", "bad_request")
"""Faults that the same request meets every time."""

HUGE = 24 * 1024 * 1024
_ITEM = re.compile(r"item-\w+")
_VALUE = re.compile(r"\btrue\b|\bfalse\b")


class FaultyServer:
    """What the server is told to do, and what it did.

    Attributes
    ----------
    script : callable
        Takes an item and how often it was asked about before, and gives a `Fault`.
    answer : callable
        Takes an item and a property of the schema with its name, and gives the value to write.
    probability : callable
        Takes an item and a key, and gives the probability of true where a reply carries
        log-probabilities.
    forms : sequence of str
        The response formats that it knows; others are refused with 400.
    keys : sequence of str
        What it answers where a request carries no schema.
    retry_after_s : int
        What ``429_in_seconds``, ``429_at_date`` and ``503_in_seconds`` ask for.
    served : Counter
        Requests per item, whatever came of them.
    replied : Counter
        Good replies per item.
    log : list of (str, str)
        Every item with what it met, in order.
    bodies : list of dict
        The last requests.
    most_at_once : int
        How many requests were inside at the same time.
    n_allowed : float
        So many requests are let through; those after them wait inside until more are allowed.
    """

    def __init__(self) -> None:
        self.script: Callable[[str, int], str] = lambda item, n: "ok"
        self.answer: Callable[[str, str, dict], Any] = lambda item, key, form: (
            self.probability(item, key) >= 0.5 if form.get("type") == "boolean" else _value(form)
        )
        self.probability: Callable[[str, str], float] = lambda item, key: 0.75
        self.forms: Sequence[str] = ("json_schema", "json_object", "text")
        self.keys: Sequence[str] = ("apology",)
        self.retry_after_s = 1
        self.delay_s = 0.0
        self.n_allowed = inf
        self.headers: dict[str, str] = {}
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Forget what was served."""
        self.served: Counter[str] = Counter()
        self.replied: Counter[str] = Counter()
        self.log: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.n_inside = 0
        self.most_at_once = 0

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, or fail it."""
        self.n_inside += 1
        self.most_at_once = max(self.most_at_once, self.n_inside)
        try:
            return await self._served(request, await request.json())
        finally:
            self.n_inside -= 1

    async def _served(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        self.bodies = [*self.bodies[-19:], body]
        form = (body.get("response_format") or {"type": "text"})["type"]
        if form not in self.forms:
            return _error(400, f"response_format type {form!r} is not supported by this model")
        item = _item(body)
        fault = self.script(item, self.served[item])
        self.served[item] += 1
        self.log.append((item, fault))
        place = len(self.log)
        while place > self.n_allowed:  # noqa: ASYNC110  # it is told from another thread
            await asyncio.sleep(0.005)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        failed = await self._failed(fault, request)
        if failed is not None:
            return failed
        reply = self._completion(item, body, fault)
        if fault == "ok":
            self.replied[item] += 1
        if fault == "error_beside":  # the answer was broken off, and begins as a whole one would
            reply["error"] = {"message": "The provider broke off", "code": 502}
        if fault == "no_utf8":
            reply["model"] = "\udcff"
        # NaN is no JSON, and some servers write it all the same
        text = json.dumps(reply, ensure_ascii=fault != "no_utf8")
        return web.Response(
            body=text.encode(errors="surrogateescape"),
            content_type="application/json",
            headers=self.headers,
        )

    async def _failed(self, fault: str, request: web.Request) -> web.StreamResponse | None:
        refused = self._refused(fault)
        if refused is not None:
            return refused
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "reset":
            return _reset(request)
        if fault == "cut_off":
            return await _cut_off(request)
        if fault == "no_json":
            return web.Response(text='{"choices": [{"mess', content_type="application/json")
        if fault == "html":
            return web.Response(text="<html>Bad gateway</html>", content_type="text/html")
        if fault == "500_no_utf8":
            return web.Response(
                body=b'{"error": {"message": "Speicher \xfcberlaufen"}}', status=500
            )
        if fault == "no_choices":
            return web.json_response({"id": "x", "object": "chat.completion", "choices": []})
        if fault == "huge":
            return web.Response(body=b'{"x": "' + b"y" * HUGE + b'"}')
        return None

    def _refused(self, fault: str) -> web.Response | None:
        seconds = {"Retry-After": str(self.retry_after_s)}
        # an HTTP date has whole seconds: the next but one is the first that is not too early
        later = datetime.now(UTC) + timedelta(seconds=self.retry_after_s)
        date = {"Retry-After": format_datetime(later, usegmt=True)}
        errors: dict[str, tuple[int, str, dict[str, str], str | None]] = {
            "429": (429, "Rate limit reached", {}, "rate_limit_exceeded"),
            "429_in_seconds": (429, "Rate limit reached", seconds, "rate_limit_exceeded"),
            "429_at_date": (429, "Rate limit reached", date, "rate_limit_exceeded"),
            "500": (500, "The server had an error", {}, None),
            "503": (503, "The server is overloaded", {}, None),
            "503_in_seconds": (503, "The server is overloaded", seconds, None),
            "content_filter": (400, "The response was filtered", {}, "content_filter"),
            "bad_request": (400, "The prompt is too long", {}, "context_length_exceeded"),
            "no_access": (401, "Incorrect API key provided", {}, "invalid_api_key"),
        }
        if fault == "500_no_utf8":
            return web.Response(body=b'{"error": {"message": "\xfcberlastet"}}', status=500)
        if fault not in errors:
            return None
        status, message, headers, code = errors[fault]
        return _error(status, message, headers=headers, code=code)

    def _completion(self, item: str, body: dict[str, Any], fault: str) -> dict[str, Any]:
        answers = {key: self.answer(item, key, form) for key, form in self._asked(body).items()}
        text = json.dumps(answers, ensure_ascii=False)
        message: dict[str, Any] = {"role": "assistant", "content": _spoilt(text, answers, fault)}
        if fault == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot judge this."}
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "finish_reason": {"truncated": "length", "filtered_reply": "content_filter"}.get(
                fault, "stop"
            ),
        }
        if body.get("logprobs") and fault != "no_logprobs":
            choice["logprobs"] = {
                "content": self._steps(item, message["content"] or "", body.get("top_logprobs", 0))
            }
        prompt_tokens = sum(len(message["content"]) for message in body["messages"]) // 4
        return {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", "faulty"),
            "choices": [choice],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": len(text) // 4,
                "total_tokens": prompt_tokens + len(text) // 4,
            },
        }

    def _asked(self, body: dict[str, Any]) -> dict[str, dict]:
        format_ = body.get("response_format") or {}
        schema = (format_.get("json_schema") or {}).get("schema") or format_.get("schema")
        if schema is None:
            return {key: {"type": "number"} for key in self.keys}
        return schema["properties"]

    def _steps(self, item: str, text: str, n_top: int) -> list[dict[str, Any]]:
        """Cut the text at its truth values, each with what might have stood there."""
        steps: list[dict[str, Any]] = []
        keys = iter(re.findall(r'"([^"]*)":', text))
        end = 0
        for match in _VALUE.finditer(text):
            steps.append(_step(text[end : match.start()], 1.0, {}))
            p = self.probability(item, next(keys, ""))
            choices = {"true": p, "false": 1 - p}
            top = dict(sorted(choices.items(), key=lambda choice: -choice[1])[:n_top])
            steps.append(_step(match.group(), choices[match.group()], top))
            end = match.end()
        return [*steps, _step(text[end:], 1.0, {})]


def _step(token: str, probability: float, top: dict[str, float]) -> dict[str, Any]:
    return {
        "token": token,
        "logprob": log(probability) if probability > 0 else -9999.0,
        "bytes": list(token.encode()),
        "top_logprobs": [
            {
                "token": word,
                "logprob": log(p) if p > 0 else -9999.0,
                "bytes": list(word.encode()),
            }
            for word, p in top.items()
        ],
    }


def _item(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    found = _ITEM.search(content if isinstance(content, str) else content[0]["text"])
    return found.group() if found else ""


def _value(form: dict[str, Any]) -> Any:
    if "enum" in form:
        return form["enum"][0]
    kind = form.get("type")
    if kind == "array":
        return [_value(form["items"])]
    if kind == "string":
        return "words"
    return max(form.get("minimum", 0), 0.25 if kind == "number" else 0)


def _spoilt(text: str, answers: dict[str, Any], fault: str) -> str:
    """Write a reply as the fault wants it."""
    first = next(iter(answers), "apology")
    inside = text[1:-1]
    return {
        "truncated": text[: len(text) // 2],
        "malformed": text.replace(":", "=", 1),
        "empty": "",
        "wrong_keys": text.replace(f'"{first}"', '"something_else"', 1),
        "missing_key": json.dumps({key: answers[key] for key in list(answers)[1:]}),
        "duplicate_keys": f"{{{inside}, {json.dumps(first)}: {json.dumps(answers.get(first))}}}",
        "out_of_range": json.dumps({**answers, first: 1.5}),
        "nan": json.dumps({**answers, first: float("nan")}),
        "word": json.dumps({**answers, first: "very likely"}),
    }.get(fault, text)


def _error(
    status: int, message: str, *, headers: dict[str, str] | None = None, code: str | None = None
) -> web.Response:
    return web.json_response(
        {"error": {"message": message, "type": "error", "param": None, "code": code}},
        status=status,
        headers=headers,
    )


def _reset(request: web.Request) -> web.Response:
    transport = request.transport
    if transport is not None:
        # closed with time 0 to linger, a connection is reset
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        transport.abort()
    return web.Response()


async def _cut_off(request: web.Request) -> web.StreamResponse:
    """Promise more than is sent."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    if request.transport is not None:
        request.transport.close()
    return response


@contextmanager
def running_faulty_server() -> Iterator[FaultyServer]:
    """Run the server in a thread until the block ends."""
    server = FaultyServer()
    loop = asyncio.new_event_loop()
    started, ended = threading.Event(), asyncio.Event()

    async def serve() -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", server.completions)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}/v1"
        started.set()
        await ended.wait()
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}  # handlers that hang on purpose
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert started.wait(timeout=60)
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(timeout=60)
        loop.close()


@pytest.fixture
def faulty_server() -> Iterator[FaultyServer]:
    """Give a server that does as its `script` says."""
    with running_faulty_server() as server:
        yield server


def mixed_faults(seed: int, *, share: float = 0.3, faults: Sequence[str]) -> Callable[..., str]:
    """Make a script in which some tries meet a fault, the same ones for the same seed."""

    def script(item: str, n: int) -> str:
        chance = random.Random(f"{seed}/{item}/{n}")
        return chance.choice(faults) if chance.random() < share else "ok"

    return script
