"""A provider's own API through any-llm, against a server that speaks Anthropic's dialect."""

import asyncio
import inspect
import logging
import traceback

import pytest
from aiohttp import web

from frameworks import require_framework
from models.chat_server import asked
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
)
from voirdire.models import Capabilities, ChatModel, load_model
from voirdire.records import TokenChoice, TokenStep, Usage

require_framework("any_llm", "anthropic")

import any_llm  # noqa: E402
import any_llm.exceptions  # noqa: E402

pytestmark = pytest.mark.ci

KEY = "sk-ant-secret-0123456789"
REQUEST = asked(form="json_schema", max_tokens=50)
TEXT = {"form": "text", "max_tokens": 5}
INVALID = "invalid_request_error"
ANTHROPIC, OPENAI = "native/anthropic/claude-small", "native/llamacpp/small"


def message(text='{"ok":0.5}', **fields):
    """Say something in the dialect of Anthropic's API."""
    usage = {"input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": 12}
    usual = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-small-2026",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage | {"cache_creation_input_tokens": 0},
    }
    return web.json_response(usual | fields)


def failure(status, kind, text, **headers):
    body = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
    return web.json_response(body, status=status, headers=headers)


def completion(choice, **fields):
    told = {"role": "assistant", "content": '{"ok":0.5}'}
    choices = [{"index": 0, "finish_reason": "stop", "message": told} | choice]
    usual = {"id": "1", "object": "chat.completion", "created": 1, "model": "small-1"}
    return web.json_response(usual | {"choices": choices} | fields)


def ask(answer, request=REQUEST, *, name=ANTHROPIC, n_loops=1, **settings):
    """Ask a server once in each of some event loops; give the last reply and what came."""
    seen = []

    async def handle(request):
        seen.append((await request.json(), request.headers.copy()))
        told = answer(request)
        return await told if inspect.isawaitable(told) else told

    async def run(model):
        app = web.Application()
        app.router.add_post("/v1/messages", handle)
        app.router.add_post("/chat/completions", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0 if model is None else ports[0]).start()
        ports[:] = [runner.addresses[0][1]]
        address = {"base_url": f"http://127.0.0.1:{ports[0]}", "api_key_env": "ANTHROPIC_API_KEY"}
        model = model or load_model(name, **address | settings)
        try:
            return await model.reply(request), model
        finally:
            await model.close()
            await model.close()
            await runner.cleanup()

    ports, model = [0], None
    for _ in range(n_loops):
        reply, model = asyncio.run(run(model))
    return reply, seen


def refused(answer, request=REQUEST, **options):
    with pytest.raises(ModelCallError) as raised:
        ask(answer, request, **options)
    return raised.value


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_a_request_travels_in_the_providers_own_dialect():
    settings = {"temperature": 0.5, "max_tokens": 2_000, "extra": {"top_k": 3}}
    reply, ((body, headers),) = ask(lambda _: message(), **settings)

    assert headers["x-api-key"] == KEY
    assert body["system"] == "You are a judge."
    assert body["messages"] == [{"role": "user", "content": "Judge this."}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-small", 2_000, 0.5)
    assert body["output_config"]["format"]["schema"]["properties"]["ok"]["type"] == "number"
    assert body["top_k"] == 3
    assert (reply.text, reply.form, reply.steps) == ('{"ok":0.5}', "json_schema", None)
    assert (reply.finish_reason, reply.model) == ("stop", "claude-small-2026")
    assert reply.usage == Usage(prompt_tokens=42, completion_tokens=7, cached_tokens=12)


def test_reasoning_is_no_part_of_the_text_and_a_reply_may_be_cut_off():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    content = [thinking, {"type": "text", "text": '{"ok":'}]
    answer = {"content": content, "stop_reason": "max_tokens"}

    reply, ((body, _),) = ask(lambda _: message(**answer), reasoning_effort="low", max_tokens=9_000)

    assert (reply.text, reply.finish_reason) == ('{"ok":', "length")
    assert body["output_config"]["effort"] == "low"


def test_a_seed_that_the_library_does_not_know_is_left_out():
    reply, ((body, _),) = ask(lambda _: message("words"), asked(seed=7, temperature=1.0, **TEXT))

    assert (reply.text, reply.form) == ("words", "text")
    assert "seed" not in body
    assert "output_config" not in body


def test_a_form_that_a_model_lacks_is_not_asked_for_again():
    async def answer(request):
        if "output_config" in await request.json():
            return failure(400, INVALID, "output_format: Extra inputs are not permitted")
        return message("{}")

    reply, seen = ask(answer)

    assert (reply.text, reply.form) == ("{}", "text")  # any-llm has no place for a JSON object here
    assert len(seen) == 2


def test_log_probabilities_are_refused_or_arrive():
    assert refused(lambda _: message(), asked(top_logprobs=5, **TEXT)).feature == "logprobs"

    top = [{"token": "true", "logprob": -0.1, "bytes": None}]
    content = [top[0] | {"top_logprobs": [*top, {"token": "no", "logprob": -3.0, "bytes": None}]}]
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    reply, ((body, _),) = ask(
        lambda _: completion({"logprobs": {"content": content}}, usage=usage),
        asked(top_logprobs=2, seed=5),
        name=OPENAI,
    )

    choices = (TokenChoice("true", -0.1), TokenChoice("no", -3.0))
    assert reply.steps == (TokenStep("true", -0.1, choices),)
    assert reply.usage == Usage(9, 4)
    assert (body["logprobs"], body["top_logprobs"], body["seed"]) == (True, 2, 5)


@pytest.mark.parametrize(
    ("status", "kind", "text", "expected"),
    [
        (401, "authentication_error", "invalid x-api-key", AccessError),
        (403, "permission_error", "no permission for this model", AccessError),
        (404, "not_found_error", "model: claude-small", AccessError),
        (402, "billing_error", "pay first", AccessError),
        (400, INVALID, "messages: text content blocks must be non-empty", BadRequestError),
        (400, INVALID, "prompt is too long: 9 tokens > 8 maximum", BadRequestError),
        (413, "request_too_large", "Request exceeds the maximum size", BadRequestError),
        (429, "rate_limit_error", "slow down", RateLimitError),
        (500, "api_error", "Internal server error", ServerError),
        (529, "overloaded_error", "Overloaded", ServerError),
        (400, INVALID, "blocked by our content filtering policy", ContentFilterError),
    ],
)
def test_answers_that_are_no_replies_become_our_errors(status, kind, text, expected):
    error = refused(lambda _: failure(status, kind, text, **{"retry-after": "7"}))

    assert type(error) is expected
    assert error.status == status
    assert text in str(error)
    assert error.retry_after_s == (7 if status in (429, 500, 529) else None)


def page(text, kind="application/json"):
    return lambda _: web.Response(text=text, content_type=kind)


def reset(request):
    request.transport.abort()
    return web.Response()


REFUSAL = {"message": {"role": "assistant", "content": None, "refusal": "I will not."}}


@pytest.mark.parametrize(
    ("answer", "expected", "name"),
    [
        (reset, ServerError, ANTHROPIC),
        (page("<html>gateway</html>", "text/html"), ServerError, ANTHROPIC),
        (page('{"id": "x'), ServerError, ANTHROPIC),
        (lambda _: web.json_response({"type": "message"}), ServerError, ANTHROPIC),
        (lambda _: message(content=None), ServerError, ANTHROPIC),
        (lambda _: message("", stop_reason="refusal"), ContentFilterError, ANTHROPIC),
        (lambda _: completion({"finish_reason": "content_filter"}), ContentFilterError, OPENAI),
        (lambda _: completion(REFUSAL), RefusalError, OPENAI),
        (lambda _: completion({}, choices=[]), ServerError, OPENAI),
    ],
)
def test_broken_connections_and_replies_become_our_errors(answer, expected, name):
    assert type(refused(answer, name=name)) is expected


def test_the_key_is_nowhere_to_be_seen(caplog):
    caplog.set_level(logging.DEBUG)
    model = load_model(ANTHROPIC)

    error = refused(lambda _: failure(401, "authentication_error", f"bad key {KEY}"))

    assert isinstance(model, ChatModel)
    shown = "".join(traceback.format_exception(error))
    assert error.__cause__ is error.__context__ is None
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("voirdire")]
    for place in (shown, str(error), repr(model), repr(vars(model)), str(model.settings), *ours):
        assert KEY not in place
    assert "***" in str(error)


def test_a_missing_key_is_known_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="set the ANTHROPIC_API_KEY environment variable"):
        load_model(ANTHROPIC)
    with pytest.raises(InputError, match="NO_SUCH must hold a key, but it is not set"):
        load_model(ANTHROPIC, api_key_env="NO_SUCH")


def test_no_key_goes_to_another_address_unless_it_is_named(monkeypatch):
    with pytest.raises(InputError, match=r"Write `api_key_env='ANTHROPIC_API_KEY'` if it is meant"):
        load_model(ANTHROPIC, base_url="https://gateway.example")

    monkeypatch.setenv("GOOGLE_API_KEY", "no-key-of-anybody")
    # As any-llm writes it for Gemini, whose own library need not be there.
    kind = any_llm.AnyLLM.get_provider_class("anthropic")
    monkeypatch.setattr(kind, "ENV_API_KEY_NAME", "GEMINI_API_KEY/GOOGLE_API_KEY")
    with pytest.raises(InputError, match=r"Write `api_key_env='GOOGLE_API_KEY'` if it is meant"):
        load_model(ANTHROPIC, base_url="https://gateway.example")


def test_what_is_known_of_a_provider_is_declared_and_can_be_declared_otherwise():
    own = Capabilities(forms=("text",), top_logprobs=3)

    known = load_model(ANTHROPIC)
    assert known.capabilities == Capabilities(forms=("json_schema", "text"), top_logprobs=0)
    assert load_model(ANTHROPIC, capabilities=own).capabilities == own
    nothing = dict.fromkeys(("base_url", "temperature", "reasoning_effort", "max_tokens"))
    here = {"provider": "anthropic", "model": "claude-small", "extra": {}}
    assert known.settings == here | nothing


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("native/anthropic", {}, "must be 'native/<provider>/<model>'"),
        ("native//claude", {}, "`native/` must be followed by one of .*anthropic.*, got ''"),
        ("native/nobody/x", {}, "`native/` must be followed by one of .*anthropic.*, got 'nobody'"),
        ("native/anthropic/https://stranger.example/x", {}, "must be 'native/<provider>/<model>'"),
        (ANTHROPIC, {"max_tokens": 0}, "`max_tokens`"),
        (ANTHROPIC, {"extra": {"api_key": "x"}}, "`extra` must not say where"),
        (ANTHROPIC, {"extra": {"metadata": {"password": "x"}}}, "`extra` must hold no key"),
        (ANTHROPIC, {"extra": {"server_url": "https://x"}}, "`extra` must not say where"),
        (ANTHROPIC, {"extra": {"httpOptions": {}}}, "`extra` must not say where requests go"),
        (ANTHROPIC, {"extra": {"extra_headers": {"Host": "x"}}}, "`extra` must not say where"),
        (ANTHROPIC, {"base_url": "ftp://x"}, "`base_url` must be an address"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(name, settings, message):
    with pytest.raises(InputError, match=message):
        load_model(name, **settings)


def test_it_is_used_again_after_closing_and_in_another_event_loop():
    assert len(ask(lambda _: message(), n_loops=3)[1]) == 3


# What each means. It fails when any-llm grows a new one: decide what that is, and write it down.
MEANINGS = {
    AccessError: """AuthenticationError InsufficientFundsError ModelNotFoundError""",
    BadRequestError: "ContextLengthExceededError InvalidRequestError UnsupportedParameterError",
    ContentFilterError: "ContentFilterError ContentFilterFinishReasonError",
    ModelTimeoutError: "GatewayTimeoutError",
    RateLimitError: "RateLimitError",
    ServerError: """AnyLLMError BatchNotCompleteError LengthFinishReasonError MissingApiKeyError
        ProviderError ProviderFileNotFoundError UnsupportedProviderError UpstreamProviderError""",
}
EXPECTED = {name: kind for kind, names in MEANINGS.items() for name in names.split()}


def test_every_exception_of_any_llm_has_its_place(monkeypatch):
    parent = any_llm.exceptions.AnyLLMError
    theirs = [kind for kind in vars(any_llm.exceptions).values() if inspect.isclass(kind)]
    for kind in [kind for kind in theirs if issubclass(kind, parent) and kind.__name__[0] != "_"]:
        error = kind.__new__(kind)
        error.message, error.provider_name = "words", "anthropic"

        async def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(any_llm.AnyLLM.get_provider_class("anthropic"), "acompletion", fail)
        assert type(refused(lambda _: message())) is EXPECTED[kind.__name__], kind
