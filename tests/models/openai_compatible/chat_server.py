"""A small HTTP server on loopback that answers as a test tells it to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from voirdire.models import ChatRequest
from voirdire.records import Message

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


@contextlib.asynccontextmanager
async def serving(handler: Handler, *, path: str = "/v1", port: int = 0) -> AsyncIterator[Served]:
    """Run a server for as long as the block lasts."""
    served = Served(base_url="")

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        served.bodies.append(body)
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
