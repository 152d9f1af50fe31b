"""Connections that break, hang or send too much; event loops that come and go."""

import asyncio
import gc
import gzip
import json
import socket
import threading
import tracemalloc

import pytest
from aiohttp import web

from clocks import put_forward, run_forward
from models.openai_compatible.chat_server import asked, completion, serving
from voirdire.errors import InputError, ModelTimeoutError, ServerError
from voirdire.models import OpenAICompatibleModel

MOST_BYTES = 16 * 2**20


def fine(request, body):
    return web.json_response(completion("{}"))


def ask(handler, **settings):
    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url, **settings)
            try:
                return await model.reply(asked())
            finally:
                await model.close()

    return run_forward(run())


def ask_raw(answer, *, then=None):
    """Ask a server that writes bytes and closes the connection."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if then is not None:
            then(writer)
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAICompatibleModel(model="m", base_url=f"http://127.0.0.1:{port}/v1")
        try:
            return await model.reply(asked())
        finally:
            await model.close()
            server.close()

    return asyncio.run(run())


def test_a_server_that_hangs_runs_into_the_deadline():
    async def handler(request, body):
        put_forward(301)
        await asyncio.sleep(3_600)

    with pytest.raises(ModelTimeoutError, match=r"no reply in time \(300 s, 127\.0\.0\.1:\d+\)"):
        ask(handler, timeout_s=300)


def test_a_server_that_drips_runs_into_the_same_deadline():
    async def handler(request, body):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(600):
            await response.write(b" ")
            await asyncio.sleep(0.002)  # it is sent
            put_forward(10)
        return response

    with pytest.raises(ModelTimeoutError):
        ask(handler, timeout_s=300)


def test_no_server_is_a_server_error_that_says_so():
    async def run():
        model = OpenAICompatibleModel(model="m", base_url="http://127.0.0.1:9/v1")
        try:
            await model.reply(asked())
        finally:
            await model.close()

    with pytest.raises(ServerError, match=r"m: no connection \(.*\), 127\.0\.0\.1:9"):
        asyncio.run(run())


def test_a_connection_that_is_reset_is_a_server_error():
    def reset(writer):
        writer.transport.abort()

    with pytest.raises(ServerError):
        ask_raw(b"", then=reset)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnogz",
    ],
)
def test_what_is_no_whole_http_is_a_server_error(answer):
    with pytest.raises(ServerError):
        ask_raw(answer)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_reply_that_is_too_large_is_not_read_to_its_end(is_packed):
    n_sent = 0
    spaces = b" " * 2**20
    sent = gzip.compress(spaces) if is_packed else spaces

    async def handler(request, body):
        nonlocal n_sent
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if is_packed else {})
        await response.prepare(request)
        for _ in range(200):
            await response.write(sent)
            n_sent += 1
        return response

    tracemalloc.start()
    with pytest.raises(ServerError, match="larger than 16 MiB"):
        ask(handler)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert is_packed or n_sent < 100
    assert peak < 5 * MOST_BYTES


def test_a_reply_that_is_large_and_allowed_is_read():
    text = "x" * 10_000_000

    reply = ask(lambda request, body: web.json_response(completion(text)))

    assert reply.text == text


def test_calls_at_once_are_answered_each_with_its_own():
    async def handler(request, body):
        await asyncio.sleep(0.01)
        return web.json_response(completion(body["messages"][1]["content"]))

    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            questions = [f"question {n}" for n in range(50)]
            replies = await asyncio.gather(*(model.reply(asked(one)) for one in questions))
            await model.close()
            return questions, [reply.text for reply in replies]

    questions, texts = asyncio.run(run())

    assert texts == questions


def test_a_call_that_is_cancelled_leaves_the_model_usable():
    is_there = asyncio.Event()

    async def handler(request, body):
        if body["messages"][1]["content"] == "slow":
            is_there.set()
            await asyncio.sleep(3_600)
        return web.json_response(completion("{}"))

    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            slow = asyncio.create_task(model.reply(asked("slow")))
            await is_there.wait()
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            reply = await model.reply(asked("fast"))
            await model.close()
            return reply.text

    assert asyncio.run(run()) == "{}"


def test_a_model_is_used_again_after_it_was_closed():
    async def run():
        async with serving(fine) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            await model.close()
            first = await model.reply(asked())
            await model.close()
            await model.close()
            second = await model.reply(asked())
            await model.close()
            return first.text, second.text

    assert asyncio.run(run()) == ("{}", "{}")


@pytest.mark.ci
def test_one_model_serves_one_event_loop_after_the_other():
    """The second loop must not be given connections of the first, which is closed."""
    texts = []

    async def run(model):
        async with serving(fine, port=port):
            texts.append((await model.reply(asked())).text)
            await model.close()

    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    model = OpenAICompatibleModel(model="m", base_url=f"http://127.0.0.1:{port}/v1")
    asyncio.run(run(model))
    asyncio.run(run(model))
    gc.collect()

    assert texts == ["{}", "{}"]


def test_one_model_serves_two_threads_at_once():
    """Each thread has an event loop of its own, and so connections of its own."""
    address, ready, done = [], threading.Event(), threading.Event()

    async def serve():
        async with serving(fine) as served:
            address.append(served.base_url)
            ready.set()
            await asyncio.to_thread(done.wait, 60)

    server = threading.Thread(target=lambda: asyncio.run(serve()))
    server.start()
    ready.wait(60)
    model = OpenAICompatibleModel(model="m", base_url=address[0])
    texts = []

    async def ask_often():
        replies = [await model.reply(asked()) for _ in range(20)]
        texts.extend(reply.text for reply in replies)
        await model.close()

    threads = [threading.Thread(target=lambda: asyncio.run(ask_often())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    done.set()
    server.join(60)

    assert texts == ["{}"] * 40


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    """The proxy answers itself: the host that was asked for exists nowhere."""
    seen = []

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head.split(b"\r\n")[0])
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        body = json.dumps(completion("{}")).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://somebody:pass@127.0.0.1:{port}")
        model = OpenAICompatibleModel(model="m", base_url="http://models.invalid/v1")
        reply = await model.reply(asked())
        await model.close()
        server.close()
        return reply.text

    assert asyncio.run(run()) == "{}"
    assert seen == [b"POST http://models.invalid/v1/chat/completions HTTP/1.1"]


@pytest.fixture
def way_to(proxy, monkeypatch):
    """Tell which way a model takes to an address."""
    monkeypatch.setenv("https_proxy", proxy.served.base_url.removeprefix("http://"))

    def way(base_url):
        try:
            proxy.reply(completion("{}"), base_url=base_url)
        except ServerError as error:
            return "the proxy refused" if "the proxy refused" in str(error) else str(error)
        except AssertionError as error:  # no test reaches further than this machine
            return str(error).partition(";")[0]
        return "the proxy answered"

    return way


def test_proxies_are_those_of_the_environment(way_to, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "b.example")

    assert way_to("http://a.example/v1") == "the proxy answered"
    assert way_to("https://a.example/v1") == "the proxy refused"  # it makes no tunnels
    assert way_to("http://b.example/v1") == "a test tried to reach 'b.example'"
    assert way_to("https://b.example/v1") == "a test tried to reach 'b.example'"

    monkeypatch.delenv("http_proxy")

    assert way_to("http://a.example/v1") == "a test tried to reach 'a.example'"


def test_a_proxy_of_another_kind_is_an_error_without_its_address(proxy, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:swordfish@proxy.example:1080")

    with pytest.raises(InputError, match="got one of kind 'socks5'") as caught:
        proxy.reply(completion("{}"), base_url="https://a.example/v1")

    assert "swordfish" not in str(caught.value)
