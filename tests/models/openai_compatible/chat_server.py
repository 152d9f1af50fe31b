"""A small HTTP server on loopback that answers as a test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from voirdire.errors import ModelCallError
from voirdire.models import ChatRequest, OpenAICompatibleModel
from voirdire.records import Message, Reply

Handler = Callable[
    [web.Request, dict[str, Any]], Awaitable[web.StreamResponse] | web.StreamResponse
]

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"apology": {"type": "boolean"}},
        "required": ["apology"],
        "additionalProperties": False,
    }
).encode()


@dataclass
class Served:
    """Where the server is, and what came."""

    base_url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def serving(handler: Handler, *, path: str = "/v1", port: int = 0) -> AsyncIterator[Served]:
    """Run a server for as long as the block lasts."""
    served = Served(base_url="")

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        served.bodies.append(body)
        served.places.append(request.raw_path)
        served.headers.append({name.lower(): value for name, value in request.headers.items()})
        answer = handler(request, body)
        return answer if isinstance(answer, web.StreamResponse) else await answer

    app = web.Application(client_max_size=2**26)
    app.router.add_post(path + "/chat/completions", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, bound = runner.addresses[0][:2]
        served.base_url = f"http://{host}:{bound}{path}"
        yield served
    finally:
        await runner.cleanup()


class AskedServer:
    """A server that stays for a session; each call says what it answers."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._answer: tuple[bytes, int, Mapping[str, str]] = (b"", 200, {})
        self.served = Served(base_url="")

    @property
    def body(self) -> dict[str, Any]:
        """What came last."""
        return self.served.bodies[-1]

    def handle(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        content, status, headers = self._answer
        kind = "application/json"
        return web.Response(body=content, status=status, headers=headers, content_type=kind)

    def replies(
        self,
        answer: object,
        requests: Sequence[ChatRequest],
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> list[Reply]:
        """Ask one model, one request after the other."""
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self._answer = (content, status, headers or {})
        settings = {"model": "m", "base_url": self.served.base_url} | settings
        model = OpenAICompatibleModel(timeout_s=30.0, **settings)

        async def ask() -> list[Reply]:
            try:
                return [await model.reply(request) for request in requests]
            finally:
                await model.close()

        return self._runner.run(ask())

    def reply(self, answer: object, request: ChatRequest | None = None, **options: Any) -> Reply:
        """Ask once."""
        (reply,) = self.replies(answer, [request or asked()], **options)
        return reply

    def error(
        self, answer: object, request: ChatRequest | None = None, *, status: int, **options: Any
    ) -> ModelCallError:
        """Ask once, and give the error that there is in place of a reply."""
        try:
            self.reply(answer, request, status=status, **options)
        except ModelCallError as error:
            return error
        msg = "a reply came in place of an error"
        raise AssertionError(msg)


@contextlib.contextmanager
def asked_server() -> Iterator[AskedServer]:
    """Run a server on the event loop on which it is asked."""
    with asyncio.Runner() as runner:
        server = AskedServer(runner)
        stack = contextlib.AsyncExitStack()
        server.served = runner.run(stack.enter_async_context(serving(server.handle)))
        try:
            yield server
        finally:
            runner.run(stack.aclose())


def completion(text: str | None, **fields: Any) -> dict[str, Any]:
    """Write a chat completion; `fields` go into its one choice."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [choice | fields],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def token(text: str, logprob: float = -0.1, **alternatives: float) -> dict[str, Any]:
    """Write one token with its alternatives, in OpenAI's shape."""
    top = [(text, logprob), *alternatives.items()]
    return {
        "token": text,
        "logprob": logprob,
        "bytes": list(text.encode()),
        "top_logprobs": [
            {"token": word, "logprob": p, "bytes": list(word.encode())} for word, p in top
        ],
    }


def asked(user: str = "Judge this.", **fields: Any) -> ChatRequest:
    """Make a request."""
    messages = (
        Message(role="system", content="You are a judge."),
        Message(role="user", content=user),
    )
    return ChatRequest(messages=messages, **fields)
