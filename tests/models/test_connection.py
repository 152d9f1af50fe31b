"""Connections, addresses and keys: what breaks, what is sent where, and what nobody sees."""

import asyncio
import gc
import gzip
import json
import logging
import pickle
import threading
import traceback
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from unittest import mock

import aiohttp
import pytest
from aiohttp import web

from models.chat_server import KEY, Shared, ask, asked, completion, hang_up, reply_to, serving
from voirdire.errors import AccessError, InputError, ModelCallError, ModelTimeoutError, ServerError
from voirdire.models import OpenAICompatibleModel

FINE = completion("{}")
NOWHERE = "http://127.0.0.1:9/v1"


def model_at(base_url=NOWHERE, **settings):
    return OpenAICompatibleModel(model="m", base_url=base_url, **settings)


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        *(hang_up, b"", b"nonsense\r\n\r\n", HEAD + b"Content-Length: 100\r\n\r\n{"),
        *(HEAD + b"Content-Length: many\r\n\r\n{", HEAD + b"X: " + b"x" * 100_000 + b"\r\n\r\n"),
        *(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk for chunk in (b"ffff\r\n{", b"zz")),
        HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnogz",
    ],
)
def test_what_is_no_whole_http_is_a_server_error(answer):
    def write(_, request):
        request.transport.write(answer)
        request.transport.close()
        return web.Response()

    assert type(reply_to(answer if callable(answer) else write)) is ServerError


# To try again helps with servers and deadlines, not with access: what each exception of the client
# means. It fails when the client grows a new one: decide what that means, and write it down.
KINDS = {
    AccessError: """ClientConnectorCertificateError InvalidURL InvalidUrlClientError
        InvalidUrlRedirectClientError""",
    ModelTimeoutError: "ConnectionTimeoutError ServerTimeoutError SocketTimeoutError",
    ServerError: """ClientConnectionError ClientConnectionResetError ClientConnectorDNSError
        ClientConnectorError ClientConnectorSSLError ClientError ClientHttpProxyError ClientOSError
        ClientPayloadError ClientProxyConnectionError ClientResponseError ClientSSLError
        ContentTypeError NonHttpUrlClientError RedirectClientError ServerConnectionError
        ServerDisconnectedError ServerFingerprintMismatch TooManyRedirects UploadAbortedError
        UnixClientConnectorError WSServerHandshakeError NonHttpUrlRedirectClientError""",
}
MEANINGS = {name: kind for kind, names in KINDS.items() for name in names.split()}


def family(kind):
    return {kind}.union(*(family(child) for child in kind.__subclasses__()))


def test_every_exception_of_the_client_has_its_place_and_its_words(monkeypatch):
    untrusted = aiohttp.ClientConnectorCertificateError
    kinds = [kind for kind in family(aiohttp.ClientError) if kind.__module__.startswith("aiohttp")]
    for error, expected, words in [
        *((kind.__new__(kind), MEANINGS[kind.__name__], "") for kind in kinds),
        (ConnectionResetError(104, "Connection reset"), ServerError, "broke (Connection reset)"),
        (aiohttp.ClientHttpProxyError(None, (), status=407), AccessError, "the proxy refused"),
        (untrusted.__new__(untrusted), AccessError, "file of that authority in SSL_CERT_FILE"),
    ]:
        request = mock.Mock(side_effect=error)
        monkeypatch.setattr(aiohttp.ClientSession, "request", request)
        found = reply_to(FINE)
        assert type(found) is expected
        assert words in str(found)


def test_no_server_is_a_server_error_that_says_where():
    found = reply_to(FINE, base_url=NOWHERE)

    assert type(found) is ServerError
    assert str(found).startswith("m: no connection (Connect call failed")
    assert str(found).endswith(", 127.0.0.1:9.")


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_reply_that_is_too_large_is_not_read_to_its_end(is_packed):
    n_sent = 0

    async def answer(body, request):
        nonlocal n_sent
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if is_packed else {})
        await response.prepare(request)
        while n_sent < 200:
            n_sent += 1
            await response.write(gzip.compress(b" " * 2**20) if is_packed else b" " * 2**20)
        return response

    tracemalloc.start()
    found = reply_to(answer)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert type(found) is ServerError
    assert "larger than 16 MiB" in str(found)
    assert is_packed or n_sent < 100
    assert peak < 80 * 2**20


def test_a_reply_that_is_large_or_compressed_and_allowed_is_read():
    packed = gzip.compress(json.dumps(completion("é" * 10)).encode())

    assert reply_to(completion("x" * 10_000_000)).text == "x" * 10_000_000
    assert reply_to((200, packed, {"Content-Encoding": "gzip"})).text == "é" * 10


def test_calls_are_open_at_once_answered_each_with_its_own_and_may_be_cancelled():
    n = 150
    questions = [f"question {place}" for place in range(n)]

    async def run():
        everybody = asyncio.Barrier(n + 1)

        async def answer(body, request):
            await everybody.wait()  # nobody is answered before all are there
            question = body["messages"][1]["content"]
            await asyncio.sleep(3_600 if question == "slow" else 0)
            return completion(question)

        async with serving(answer) as (base_url, _), asyncio.timeout(30):
            model = model_at(base_url)
            await model.close()
            slow = asyncio.create_task(model.reply(asked("slow")))
            replies = await asyncio.gather(*(model.reply(asked(each)) for each in questions))
            slow.cancel()
            await model.close()
            await model.close()
            await asyncio.wait([slow])
            return [reply.text for reply in replies], slow.cancelled()

    assert asyncio.run(run()) == (questions, True)


@pytest.mark.ci
def test_one_model_serves_event_loops_after_each_other_and_at_once():
    """Connections belong to the loop that they began in."""
    address, done = Queue(), threading.Event()

    async def serve():
        async with serving(lambda *_: FINE) as (base_url, _):
            address.put(base_url)
            await asyncio.to_thread(done.wait, 60)

    async def ask_often():
        texts = [(await model.reply(asked())).text for _ in range(20)]
        await model.close()
        return texts

    with ThreadPoolExecutor(3) as threads:
        threads.submit(asyncio.run, serve())
        model = model_at(address.get(timeout=60))
        answers = [threads.submit(asyncio.run, ask_often()) for _ in range(3)]
        texts = [text for answer in answers for text in answer.result(60)]
        done.set()
    gc.collect()

    assert texts == ["{}"] * 60


def test_addresses_come_in_one_form_and_keep_their_query():
    for given, expected in [
        (" https://API.Example.com/v1/ ", "https://api.example.com/v1"),
        ("https://a.example/v1/chat/completions", "https://a.example/v1"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("https://a.example/x?api-version=2024", "https://a.example/x?api-version=2024"),
    ]:
        assert model_at(given).settings["base_url"] == expected
    assert ask(FINE, base_url=f"{Shared.base_url}/?v=1").paths == ("/v1/chat/completions?v=1",)


@pytest.mark.parametrize(
    "given",
    [
        *("", "localhost:8000", "ftp://a.example", "http://", "http://a b", "http://[::1", None),
        *("http://a:x", "http://a.example/\nv1", "file:///etc/passwd", "http://a..example"),
        *(f"http://{'a' * 64}.example", "http://xn--/v1", "http://bücher.example"),
        *("https://stranger.example\\.a.example/v1", "https://stranger.example%2f.a.example/v1"),
        *("https://stranger.example;.a.example/v1", "htp://user:swordfish@a.example?key=swordfish"),
        *("https://user:swordfish@a.example", "https://swordfish@a.example"),
        "https://a.example/v1?key=swordfish",
    ],
)
def test_what_is_no_http_address_or_holds_a_secret_is_refused_and_not_shown(given):
    with pytest.raises(InputError, match=r"`base_url` must be an address|no password") as caught:
        model_at(given)

    assert "swordfish" not in str(caught.value)


@pytest.mark.usefixtures("proxied")
def test_proxies_are_those_of_the_environment_and_never_for_this_machine(monkeypatch):
    (path,) = ask(FINE, base_url="http://a.example/v1").paths
    assert path == "http://a.example/v1/chat/completions"
    for host in ("localhost", "127.0.0.5", "[::1]"):
        assert "no connection" in str(reply_to(FINE, base_url=f"http://{host}:9/v1"))

    monkeypatch.setenv("NO_PROXY", "b.example")
    with pytest.raises(AssertionError, match=r"tried to reach 'b\.example'"):
        reply_to(FINE, base_url="http://b.example/v1")

    monkeypatch.setenv("https_proxy", Shared.base_url.removeprefix("http://"))
    assert "the proxy refused" in str(reply_to(FINE, base_url="https://a.example/v1"))

    monkeypatch.setenv("https_proxy", "socks5://user:swordfish@proxy.example:1080")
    with pytest.raises(InputError, match="got one of kind 'socks5'") as caught:
        model_at("https://a.example/v1")
    assert "swordfish" not in str(caught.value)


def test_the_key_comes_from_the_environment_in_its_header_and_follows_no_redirect(some_key):
    (bearer,) = ask(FINE, **some_key).headers
    (own,) = ask(FINE, key_header="api-key", **some_key).headers
    away = ask((307, b"", {"Location": Shared.base_url}), **some_key)

    assert bearer["authorization"] == f"Bearer {KEY}"
    assert (own["api-key"], "authorization" in own) == (KEY, False)
    assert (type(away.results[0]), len(away.bodies)) == (AccessError, 1)


@pytest.mark.parametrize(
    ("value", "settings", "words"),
    [
        ("", {}, "variable SOME_KEY must hold a key, but it is not set"),
        ("  ", {}, "variable SOME_KEY must hold a key, but it is not set"),
        (f"{KEY}\r\nX-Evil: 1", {}, "printable ASCII on one line"),
        (KEY, {"api_key_env": KEY}, "must name an environment variable"),
        (KEY, {"key_header": "a b"}, "`key_header` must name a header"),
        (KEY, {"key_header": "x", "api_key_env": None}, "`api_key_env` names holds the key"),
    ],
)
def test_a_key_that_breaks_its_rule_is_refused_unseen(monkeypatch, value, settings, words):
    monkeypatch.setenv("SOME_KEY", value)

    with pytest.raises(InputError, match=words) as caught:
        model_at(**{"api_key_env": "SOME_KEY"} | settings)

    assert KEY not in str(caught.value)


def test_what_looks_like_somebodys_key_is_hidden_and_short_words_are_not(monkeypatch):
    words = "Incorrect API key: sk-proj-abc*****wxyz, tasks and risk-taking a banana"
    monkeypatch.setenv("SHORT", "a")
    monkeypatch.setenv("WORD", "false")
    monkeypatch.setenv("OTHER", "0123456789abcdef")

    found = str(reply_to((418, {"error": words}, {}), api_key_env="SHORT"))

    assert "key: ***, tasks and risk-taking a banana." in found
    assert reply_to(completion("false"), api_key_env="WORD").text == "false"
    echoed = reply_to(completion("0123456789abcdef"), api_key_env="OTHER")
    assert "sent a key back" in str(echoed)


PROMPT = "A prompt that holds somebody's private words, at some length."
ECHO = f"{KEY} {PROMPT}"
LEAKS = {
    **{
        str(status): (status, {"error": {"message": f"Bad: Bearer {ECHO}", "code": ECHO}}, {})
        for status in (400, 401, 402, 403, 404, 408, 422, 429, 500, 503, 307)
    },
    "page": (502, f"<html>{ECHO}</html>".encode(), {}),
    "error with 200": {"error": {"message": ECHO, "code": 401}},
    "no reply": {"choices": [], "message": ECHO},
    "no JSON": f"{KEY} is {KEY}".encode(),
    "refusal": completion("", message={"role": "assistant", "refusal": f"no, {KEY}"}),
    "reply": completion(f'{{"apology": "{KEY}"}}'),
    "model": completion("{}") | {"model": KEY},
}


@pytest.mark.parametrize("name", LEAKS)
def test_an_error_shows_no_key_and_no_prompt_anywhere(name, some_key, caplog, capsys):
    caplog.set_level(logging.DEBUG)

    told = ask(LEAKS[name], asked(PROMPT), **some_key)

    (failure,) = told.results
    assert isinstance(failure, ModelCallError)
    assert failure.__cause__ is failure.__context__ is None
    # crash reports show the locals of every frame that an exception went through
    shown = traceback.TracebackException.from_exception(failure, capture_locals=True)
    frames = [frame for frame in shown.stack if "chat_server" not in frame.filename]
    local = [text for frame in frames for text in (frame.locals or {}).values()]
    seen = [str(failure), repr(failure), repr(vars(failure)), caplog.text, *capsys.readouterr()]
    for text in (*seen, *traceback.format_exception(failure)):
        assert KEY not in text
        assert PROMPT not in text
    assert not [text for text in local if KEY in text]


def test_nothing_that_describes_a_model_shows_its_key_and_it_does_not_travel(some_key):
    model = model_at(**some_key)

    parts = [vars(part) for part in vars(model).values() if hasattr(part, "__dict__")]
    for text in (repr(model), json.dumps(model.settings), repr(vars(model)), repr(parts)):
        assert KEY not in text
    with pytest.raises(TypeError, match=r"do not travel|pickle"):
        pickle.dumps(model)
