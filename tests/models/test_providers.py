import asyncio
import inspect
import json
import logging
import threading
import traceback

import pytest
from aiohttp import web

from frameworks import require_framework
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    RateLimitError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.models import Capabilities, ChatModel, ChatRequest, ProvidersModel
from voirdire.records import Message, TokenChoice, TokenStep, Usage

require_framework("any_llm", "anthropic")

import any_llm  # noqa: E402
import any_llm.exceptions  # noqa: E402

pytestmark = pytest.mark.ci

KEY = "sk-ant-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
REQUEST = ChatRequest(
    messages=(
        Message(role="system", content="You are a judge."),
        Message(role="user", content="Is this an apology: sorry?"),
    ),
    form="json_schema",
    schema=json.dumps(SCHEMA).encode(),
    max_tokens=50,
)


def message(text='{"ok":true}', **fields):
    """Say something in the dialect of Anthropic's API."""
    usual = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-small-20260101",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "output_tokens": 7,
            "cache_read_input_tokens": 12,
            "cache_creation_input_tokens": 0,
        },
    }
    return web.json_response(usual | fields)


def failure(status, kind, text, **headers):
    body = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
    return web.json_response(body, status=status, headers=headers)


class FakeServer:
    """A server of Anthropic's and OpenAI's dialects that answers as it is told, and remembers."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.bodies = []

    async def handle(self, request):
        self.requests.append(request)
        self.bodies.append(await request.json())
        answer = self.answer(request)
        return await answer if inspect.isawaitable(answer) else answer

    async def __aenter__(self):
        app = web.Application()
        app.router.add_post("/v1/messages", self.handle)
        app.router.add_post("/chat/completions", self.handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *error):
        await self._runner.cleanup()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def asked(answer, request=REQUEST, **options):
    """Ask a server once; give its reply and the server."""

    async def run():
        async with FakeServer(answer) as server:
            usual = {"provider": "anthropic", "model": "claude-small", "base_url": server.url}
            usual["api_key_env"] = "ANTHROPIC_API_KEY"
            model = ProvidersModel(**(usual | options))
            try:
                return await model.reply(request), server
            finally:
                await model.close()

    return asyncio.run(run())


def refused(answer, request=REQUEST, **options):
    """Ask a server that gives no reply; give the error."""
    with pytest.raises(ModelCallError) as raised:
        asked(answer, request, **options)
    return raised.value


def openai_dialect(**options):
    return {"provider": "llamacpp", "model": "small"} | options


def completion(choice, **fields):
    usual = {"id": "1", "object": "chat.completion", "created": 1, "model": "small-1"}
    message = {"role": "assistant", "content": '{"ok":true}'}
    told = {"index": 0, "finish_reason": "stop", "message": message} | choice
    return web.json_response(usual | {"choices": [told]} | fields)


def test_it_is_a_chat_model():
    model = ProvidersModel(provider="anthropic", model="claude-small")

    assert isinstance(model, ChatModel)
    assert model.name == "native/anthropic/claude-small"


def test_a_request_travels_in_the_providers_own_dialect():
    reply, server = asked(lambda request: message(), temperature=0.5)

    (sent,), (body,) = server.requests, server.bodies
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["anthropic-version"]
    assert body["system"] == "You are a judge."
    assert body["messages"] == [{"role": "user", "content": "Is this an apology: sorry?"}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-small", 50, 0.5)
    assert body["output_config"]["format"]["schema"]["properties"] == {"ok": {"type": "boolean"}}
    assert (reply.text, reply.form, reply.steps) == ('{"ok":true}', "json_schema", None)
    assert (reply.finish_reason, reply.model) == ("stop", "claude-small-20260101")
    assert reply.usage == Usage(prompt_tokens=42, completion_tokens=7, cached_tokens=12)


def test_plain_text_is_asked_for_without_a_form():
    request = ChatRequest(messages=REQUEST.messages, form="text", max_tokens=5, temperature=1.0)

    reply, server = asked(lambda request: message("words"), request, temperature=0.1)

    assert reply.form == "text"
    assert "output_config" not in server.bodies[0]
    assert server.bodies[0]["temperature"] == 1.0  # the request's comes before the model's


def test_the_models_own_bound_comes_before_the_requests():
    _, server = asked(lambda request: message(), max_tokens=2_000)

    assert server.bodies[0]["max_tokens"] == 2_000


def test_reasoning_is_no_part_of_the_text():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "{}"},
    ]

    reply, server = asked(
        lambda request: message(content=content), reasoning_effort="low", max_tokens=9_000
    )

    assert reply.text == "{}"
    assert server.bodies[0]["output_config"]["effort"] == "low"


def test_further_parameters_are_passed_on():
    _, server = asked(lambda request: message(), extra={"top_k": 3})

    assert server.bodies[0]["top_k"] == 3


def test_a_seed_that_the_provider_does_not_know_is_left_out():
    request = ChatRequest(messages=REQUEST.messages, max_tokens=5, seed=7)

    reply, server = asked(lambda request: message(), request)

    assert reply.text == '{"ok":true}'
    assert len(server.bodies) == 1
    assert "seed" not in server.bodies[0]


def test_a_reply_that_was_cut_off_says_so():
    reply, _ = asked(lambda request: message('{"ok":', stop_reason="max_tokens"))

    assert (reply.text, reply.finish_reason) == ('{"ok":', "length")


ANSWERS = [
    (401, "authentication_error", "invalid x-api-key", AccessError),
    (403, "permission_error", "no permission for this model", AccessError),
    (404, "not_found_error", "model: claude-small", AccessError),
    (402, "billing_error", "pay first", AccessError),
    (400, "invalid_request_error", "messages: roles must alternate", BadRequestError),
    (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", BadRequestError),
    (413, "request_too_large", "Request exceeds the maximum size", BadRequestError),
    (429, "rate_limit_error", "slow down", RateLimitError),
    (500, "api_error", "Internal server error", ServerError),
    (529, "overloaded_error", "Overloaded", ServerError),
    (400, "invalid_request_error", "blocked by our content filtering policy", ContentFilterError),
]


@pytest.mark.edges
@pytest.mark.parametrize(("status", "kind", "text", "expected"), ANSWERS)
def test_answers_that_are_no_replies_become_our_errors(status, kind, text, expected):
    error = refused(lambda request: failure(status, kind, text))

    assert type(error) is expected
    assert error.status == status
    assert text in str(error)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "7"}, 7), ({"retry-after-ms": "250"}, 0.25), ({}, None)],
)
@pytest.mark.parametrize("status", [429, 529])
def test_the_wait_that_the_server_asks_for_is_kept(status, headers, seconds):
    error = refused(lambda request: failure(status, "rate_limit_error", "wait", **headers))

    assert error.retry_after_s == seconds


@pytest.mark.parametrize("status", [429, 500])
def test_nothing_is_tried_again(status):
    n_calls = 0

    def answer(request):
        nonlocal n_calls
        n_calls += 1
        return failure(status, "api_error", "no")

    refused(answer)

    assert n_calls == 1


@pytest.mark.parametrize(
    "text",
    [
        "output_config.format.schema: property 'minimum' is not supported",
        "output_format: Extra inputs are not permitted",
        "'claude-old' does not support structured outputs",
    ],
)
def test_a_model_without_schemas_is_known_by_its_words(text):
    error = refused(lambda request: failure(400, "invalid_request_error", text))

    assert isinstance(error, UnsupportedError)
    assert error.feature == "json_schema"


@pytest.mark.parametrize(
    ("fields", "feature"),
    [({"top_logprobs": 5}, "logprobs"), ({"form": "json_object"}, "json_object")],
)
def test_what_the_provider_has_no_place_for_is_not_supported(fields, feature):
    usual = {"messages": REQUEST.messages, "max_tokens": 5}

    error = refused(lambda request: message(), ChatRequest(**usual, **fields))

    assert isinstance(error, UnsupportedError)
    assert error.feature == feature


def test_a_refusal_of_the_provider_is_a_content_filter():
    error = refused(lambda request: message("", stop_reason="refusal"))

    assert type(error) is ContentFilterError


def as_json(text):
    return web.Response(text=text, content_type="application/json")


async def _hang(request):
    await asyncio.sleep(30)


async def _reset(request):
    request.transport.abort()
    return web.Response()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_hang, ModelTimeoutError),
        (_reset, ServerError),
        (
            lambda request: web.Response(text="<html>gateway</html>", content_type="text/html"),
            ServerError,
        ),
        (
            lambda request: web.Response(text='{"id": "x', content_type="application/json"),
            ServerError,
        ),
        (lambda request: web.Response(text="\x01", content_type="application/json"), ServerError),
        (lambda request: web.json_response({"type": "message"}), ServerError),
        (lambda request: message(content=None), ServerError),
    ],
    ids=["hang", "reset", "html", "truncated", "no JSON", "empty", "no content"],
)
def test_broken_connections_and_replies_become_our_errors(answer, expected):
    error = refused(answer, timeout_s=1.0)

    assert type(error) is expected


def test_a_server_that_is_not_there_is_a_server_error():
    error = refused(lambda request: message(), base_url="http://127.0.0.1:9")

    assert type(error) is ServerError


def test_log_probabilities_arrive_where_the_provider_gives_them():
    top = [
        {"token": "true", "logprob": -0.1, "bytes": None},
        {"token": "no", "logprob": -3.0, "bytes": None},
    ]
    content = [{"token": "true", "logprob": -0.1, "bytes": None, "top_logprobs": top}]
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "total_tokens": 13,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    request = ChatRequest(messages=REQUEST.messages, top_logprobs=2, seed=5)

    reply, server = asked(
        lambda request: completion({"logprobs": {"content": content}}, usage=usage),
        request,
        **openai_dialect(),
    )

    choices = (TokenChoice("true", -0.1), TokenChoice("no", -3.0))
    assert reply.steps == (TokenStep("true", -0.1, choices),)
    assert reply.usage == Usage(9, 4, 0, 2)
    body = server.bodies[0]
    assert (body["logprobs"], body["top_logprobs"], body["seed"]) == (True, 2, 5)


def test_missing_log_probabilities_are_none_for_the_reader_to_see():
    request = ChatRequest(messages=REQUEST.messages, top_logprobs=2)

    reply, _ = asked(lambda request: completion({}), request, **openai_dialect())

    assert reply.steps is None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"finish_reason": "content_filter"}, ContentFilterError),
        (
            {"message": {"role": "assistant", "content": None, "refusal": "I will not."}},
            RefusalError,
        ),
    ],
)
def test_choices_that_are_no_replies_become_our_errors(choice, expected):
    error = refused(lambda request: completion(choice), **openai_dialect())

    assert type(error) is expected


def test_a_reply_without_choices_is_a_server_error():
    error = refused(lambda request: completion({}, choices=[]), **openai_dialect())

    assert type(error) is ServerError


def test_the_key_is_nowhere_to_be_seen(caplog):
    caplog.set_level(logging.DEBUG)
    model = ProvidersModel(provider="anthropic", model="claude-small")

    error = refused(lambda request: failure(401, "authentication_error", f"bad key {KEY}"))

    shown = "".join(traceback.format_exception(error))
    assert error.__cause__ is None
    assert error.__context__ is None
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("voirdire")]
    for place in (shown, str(error), repr(model), repr(vars(model)), str(model.settings), *ours):
        assert KEY not in place
    assert "***" in str(error)


def test_a_key_of_another_variable_is_sent(monkeypatch):
    monkeypatch.setenv("MY_TEAM_KEY", "another-secret")

    _, server = asked(lambda request: message(), api_key_env="MY_TEAM_KEY")

    assert server.requests[0].headers["x-api-key"] == "another-secret"


@pytest.mark.parametrize(
    ("options", "variable"), [({}, "ANTHROPIC_API_KEY"), ({"api_key_env": "NO_SUCH"}, "NO_SUCH")]
)
def test_a_missing_key_is_known_before_anything_is_sent(monkeypatch, options, variable):
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    with pytest.raises(InputError, match=f"{variable}.* not set"):
        ProvidersModel(provider="anthropic", model="claude-small", **options)


def test_an_unknown_provider_is_refused_with_those_known():
    with pytest.raises(InputError, match=r"`provider` must be one of .*anthropic.*, got 'nobody'"):
        ProvidersModel(provider="nobody", model="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_s": 0}, "`timeout_s`"),
        ({"max_tokens": 0}, "`max_tokens`"),
        ({"extra": {"api_key": "x"}}, "`extra` must not hold 'api_key'"),
        ({"extra": {"metadata": {"api_key": "x"}}}, "`extra` must"),
        ({"model": "https://stranger.example/x"}, "`model` must be what the provider calls"),
        ({"extra": {"server_url": "https://stranger.example"}}, "`extra` must not say where"),
        ({"extra": {"http_options": {"base_url": "https://x"}}}, "`extra` must not say where"),
        ({"extra": {"httpOptions": {}}}, "`extra` must not say where requests go"),
        ({"extra": {"extra_headers": {"Host": "stranger"}}}, "`extra` must not say where"),
        ({"temperature": -1}, "`temperature`"),
        ({"base_url": "ftp://x"}, "`base_url` must be an address"),
        ({"base_url": "http://me:secret@host"}, "`base_url` must hold no password"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(options, message):
    with pytest.raises(InputError, match=message) as raised:
        ProvidersModel(**{"provider": "anthropic", "model": "x"} | options)

    assert "secret" not in str(raised.value)


def test_what_is_known_of_a_provider_is_declared_and_can_be_declared_otherwise():
    own = Capabilities(forms=("text",), top_logprobs=3)

    known = ProvidersModel(provider="anthropic", model="x")
    told = ProvidersModel(provider="anthropic", model="x", capabilities=own)

    assert known.capabilities == Capabilities(forms=("json_schema", "text"), top_logprobs=0)
    assert told.capabilities == own


def test_it_is_used_again_after_closing_and_in_another_event_loop(server_in_a_thread):
    model = ProvidersModel(
        provider="anthropic",
        model="x",
        base_url=server_in_a_thread,
        api_key_env="ANTHROPIC_API_KEY",
    )

    async def run():
        texts = [(await model.reply(REQUEST)).text]
        await model.close()
        await model.close()
        texts.append((await model.reply(REQUEST)).text)
        await model.close()
        return texts

    assert [asyncio.run(run()), asyncio.run(run())] == [['{"ok":true}'] * 2] * 2


@pytest.fixture
def server_in_a_thread():
    """Run the fake server beyond any event loop of the test."""
    ready, stop = threading.Event(), asyncio.Event()
    found = {}

    async def serve():
        async with FakeServer(lambda request: message()) as server:
            found["url"], found["loop"] = server.url, asyncio.get_running_loop()
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    yield found["url"]
    found["loop"].call_soon_threadsafe(stop.set)
    thread.join(10)


def test_no_key_goes_to_another_address_unless_it_is_named():
    with pytest.raises(InputError, match=r"Write `api_key_env='ANTHROPIC_API_KEY'` if it is meant"):
        ProvidersModel(provider="anthropic", model="x", base_url="https://gateway.example")


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_a_provider_with_two_usual_variables_keeps_both_from_another_address(monkeypatch, variable):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "no-key-of-anybody")
    # As any-llm writes it for Gemini, whose own library need not be there.
    kind = any_llm.AnyLLM.get_provider_class("anthropic")
    monkeypatch.setattr(kind, "ENV_API_KEY_NAME", "GEMINI_API_KEY/GOOGLE_API_KEY")

    with pytest.raises(InputError, match=rf"Write `api_key_env='{variable}'` if it is meant"):
        ProvidersModel(provider="anthropic", model="x", base_url="https://gateway.example")


THEIRS = sorted(
    {
        kind
        for name, kind in vars(any_llm.exceptions).items()
        if inspect.isclass(kind)
        and issubclass(kind, any_llm.exceptions.AnyLLMError)
        and not name.startswith("_")
    },
    key=lambda kind: kind.__name__,
)
# What each means. It fails when any-llm grows a new one: decide what that is, and write it down.
MEANINGS = {
    AccessError: """AuthenticationError InsufficientFundsError MissingApiKeyError
        ModelNotFoundError UnsupportedProviderError""",
    BadRequestError: """BatchNotCompleteError ContextLengthExceededError InvalidRequestError
        ProviderFileNotFoundError""",
    ContentFilterError: "ContentFilterError ContentFilterFinishReasonError",
    ModelTimeoutError: "GatewayTimeoutError",
    RateLimitError: "RateLimitError",
    ServerError: "AnyLLMError LengthFinishReasonError ProviderError UpstreamProviderError",
    UnsupportedError: "UnsupportedParameterError",
}
EXPECTED = {name: kind for kind, names in MEANINGS.items() for name in names.split()}


@pytest.mark.edges
@pytest.mark.parametrize("kind", THEIRS, ids=lambda kind: kind.__name__)
def test_every_exception_of_any_llm_has_its_place(monkeypatch, kind):
    error = kind.__new__(kind)
    error.message, error.provider_name = "words", "anthropic"
    if kind is any_llm.exceptions.UnsupportedParameterError:
        error.parameter_name = "top_k"

    async def fail(*_, **__):
        raise error

    monkeypatch.setattr(any_llm.AnyLLM.get_provider_class("anthropic"), "acompletion", fail)

    assert type(refused(lambda request: message())) is EXPECTED[kind.__name__]
