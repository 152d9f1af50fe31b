"""An HTTP server on loopback that answers chat completions as a test tells it to."""

import asyncio
import contextlib
import json
from types import SimpleNamespace
from typing import Any, NamedTuple

from aiohttp import web

from voirdire.errors import ModelCallError
from voirdire.models import ChatRequest, OpenAICompatibleModel
from voirdire.records import Message

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["ok"],
    "additionalProperties": False,
}
KEY = "sw-ordfish-0123456789"


class Asked(NamedTuple):
    """What a server was asked, and what became of it."""

    results: list[Any]
    bodies: tuple[Any, ...]
    headers: tuple[Any, ...]
    paths: tuple[str, ...]
    model: OpenAICompatibleModel


@contextlib.asynccontextmanager
async def serving(answer, *, path="/v1"):
    """Run a server for as long as the block lasts: give its address, and what came."""
    seen = []

    async def handle(request):
        body = json.loads(await request.read())
        seen.append((body, request.headers.copy(), request.raw_path))
        told = answer(body, request)
        told = await told if asyncio.iscoroutine(told) else told
        if isinstance(told, web.StreamResponse):
            return told
        status, content, headers = told if isinstance(told, tuple) else (200, told, {})
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        return web.Response(
            body=content, status=status, headers=headers, content_type="application/json"
        )

    app = web.Application(client_max_size=2**26)
    app.router.add_post(path + "/chat/completions", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{path}", seen
    finally:
        await runner.cleanup()


class Shared:
    """One server and one event loop for all tests that need no other."""

    answer = runner = base_url = seen = None


@contextlib.contextmanager
def shared_server():
    """Run the server that `ask` asks."""
    stack = contextlib.AsyncExitStack()
    with asyncio.Runner() as Shared.runner:
        running = serving(lambda body, request: _told(Shared.answer, body))
        Shared.base_url, Shared.seen = Shared.runner.run(stack.enter_async_context(running))
        yield
        Shared.runner.run(stack.aclose())


def _told(answer, body):
    return answer(body) if callable(answer) else answer


def ask(answer, *requests, n=1, **settings):
    """Send requests one after the other; give replies or errors, and what the server saw."""

    async def run():
        Shared.answer = answer
        Shared.seen.clear()
        model = OpenAICompatibleModel(**{"model": "m", "base_url": Shared.base_url, **settings})
        results = []
        async with contextlib.aclosing(SimpleNamespace(aclose=model.close)):
            for request in requests or (asked(),):
                try:
                    replies = await model.samples(request, n)
                    results.append(replies[0] if n == 1 else replies)
                except ModelCallError as error:
                    results.append(error)
        return Asked(results, *(list(zip(*Shared.seen, strict=True)) or [()] * 3), model)

    return Shared.runner.run(run())


def reply_to(answer, request=None, **settings):
    """Ask once, and give the reply or the error."""
    return ask(answer, *filter(None, [request]), **settings).results[0]


def error_of(status, said, request=None, *, headers=(), **settings):
    """Give what an answer with this status becomes after others were answered."""
    answers = iter([completion("{}")])
    told = ask(
        lambda body: next(answers, (status, said, dict(headers))),
        asked(),
        request or asked(),
        **settings,
    )
    return told.results[1]


def asked(user="Judge this.", **fields):
    """Make a request; with a schema where its form is one."""
    schema = json.dumps(SCHEMA).encode() if "json" in fields.get("form", "") else b""
    messages = (
        Message(role="system", content="You are a judge."),
        Message(role="user", content=user),
    )
    return ChatRequest(**{"messages": messages, "schema": schema, "form": "text", **fields})


def completion(text, /, *others, usage=(100, 20), **fields):
    """Write a chat completion of one choice or several; `fields` go into each."""
    choices = [
        {"index": place, "message": {"role": "assistant", "content": each}, "finish_reason": "stop"}
        | fields
        for place, each in enumerate((text, *others))
    ]
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return {"id": "1", "object": "chat.completion", "model": "m-1", "choices": choices} | {
        "usage": counts
    }


def token(text, logprob=-0.1, **alternatives):
    """Write one token with its alternatives, in OpenAI's shape."""
    top = [
        {"token": word, "logprob": p, "bytes": list(word.encode())}
        for word, p in ((text, logprob), *alternatives.items())
    ]
    return top[0] | {"top_logprobs": top}
