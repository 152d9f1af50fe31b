"""An HTTP server on loopback that answers chat completions as a test tells it to."""

import asyncio
import contextlib
import inspect
import json
from pathlib import Path
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
async def serving(answer, *, port=0):
    """Run a server for as long as the block lasts: give its address, and what came.

    Its answer is a body, a status with body and headers, or a function of what came.
    """
    seen = []

    async def handle(request):
        body = json.loads(await request.read() or b"null")
        seen.append((body, request.headers.copy(), request.raw_path))
        told = answer
        while callable(told) or inspect.isawaitable(told):
            told = told(body, request) if callable(told) else await told
        if isinstance(told, web.StreamResponse):
            return told
        status, content, headers = told if isinstance(told, tuple) else (200, told, {})
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        return web.Response(
            body=content, status=status, headers=headers, content_type="application/json"
        )

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/{path:.*}", handle)
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", seen
    finally:
        await runner.cleanup()


def hang_up(_, request):
    request.transport.abort()
    return web.Response()


def read_rows(name):
    """Read what servers say, a row a line, from a file beside this one."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


class Shared:
    """One server and one event loop for all tests that need no other."""

    answer = runner = base_url = seen = None


@contextlib.contextmanager
def shared_server():
    """Run the server that `ask` asks."""
    stack = contextlib.AsyncExitStack()
    with asyncio.Runner() as Shared.runner:
        running = serving(lambda *_: Shared.answer)
        Shared.base_url, Shared.seen = Shared.runner.run(stack.enter_async_context(running))
        yield
        Shared.runner.run(stack.aclose())


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
    failure = (status, said, dict(headers))
    requests = (asked(), request or asked())
    return ask(lambda *_: next(answers, failure), *requests, **settings).results[1]


def asked(user="Judge this.", **fields):
    """Make a request; with a schema where its form is one."""
    schema = json.dumps(SCHEMA).encode() if "json" in fields.get("form", "") else b""
    said = {"system": "You are a judge.", "user": user}
    messages = tuple(Message(role=role, content=text) for role, text in said.items())
    return ChatRequest(**{"messages": messages, "schema": schema, "form": "text", **fields})


def completion(text, /, *others, usage=(100, 20), **fields):
    """Write a chat completion of one choice or several; `fields` go into each."""
    choices = []
    for place, each in enumerate((text, *others)):
        message = {"role": "assistant", "content": each}
        choices.append({"index": place, "message": message, "finish_reason": "stop"} | fields)
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m-1"}
    return head | {"choices": choices, "usage": counts}


def token(text, logprob=-0.1, **alternatives):
    """Write one token with its alternatives, in OpenAI's shape."""
    likely = ((text, logprob), *alternatives.items())
    top = [{"token": word, "logprob": p, "bytes": list(word.encode())} for word, p in likely]
    return top[0] | {"top_logprobs": top}
