"""A provider's own API through any-llm, against a server that speaks Anthropic's dialect."""

import asyncio
import inspect
import logging
import traceback
from urllib.parse import urlsplit

import pytest

from frameworks import require_framework
from models.chat_server import asked, completion, hang_up, serving, token
from voirdire import errors
from voirdire.models import Capabilities, ChatModel, load_model
from voirdire.records import TokenChoice, TokenStep, Usage

require_framework("any_llm", "anthropic")

import any_llm  # noqa: E402
import any_llm.exceptions  # noqa: E402

pytestmark = pytest.mark.ci

KEY, VARIABLE = "sk-ant-secret-0123456789", "ANTHROPIC_API_KEY"
REQUEST = asked(form="json_schema", max_tokens=50)
INVALID = "invalid_request_error"
ANTHROPIC, OPENAI = "native/anthropic/claude-small", "native/llamacpp/small"


def message(text='{"ok":0.5}', **fields):
    """Say something in the dialect of Anthropic's API."""
    usage = {"input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": 12}
    usual = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-small-2026"}
    usual |= {"stop_reason": "end_turn", "stop_sequence": None}
    usual |= {"usage": usage | {"cache_creation_input_tokens": 0}}
    return usual | {"content": [{"type": "text", "text": text}]} | fields


def failure(status, kind, text):
    error = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
    return status, error, {"retry-after": "7"}


def ask(answer, request=REQUEST, *, name=ANTHROPIC, n_loops=1, **settings):
    """Ask a server once in each of some event loops; give the last reply or error and what came."""
    model, port = None, 0

    async def run():
        nonlocal model, port
        async with serving(answer, port=port) as (base_url, seen):
            port = urlsplit(base_url).port
            address = {"base_url": base_url.removesuffix("/v1"), "api_key_env": VARIABLE}
            model = model or load_model(name, **address | settings)
            try:
                return await model.reply(request), seen
            except errors.ModelCallError as error:
                return error, seen
            finally:
                await model.close()
                await model.close()

    return [asyncio.run(run()) for _ in range(n_loops)][-1]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_a_request_travels_in_the_providers_own_dialect_in_every_event_loop():
    settings = {"temperature": 0.5, "max_tokens": 2_000, "extra": {"top_k": 3}}
    reply, ((body, headers, path),) = ask(message(), n_loops=2, **settings)

    assert (headers["x-api-key"], path) == (KEY, "/v1/messages")
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
    answer = {"content": [thinking, {"type": "text", "text": "{"}], "stop_reason": "max_tokens"}

    reply, ((body, *_),) = ask(message(**answer), reasoning_effort="low", max_tokens=9_000)

    assert (reply.text, reply.finish_reason) == ("{", "length")
    assert body["output_config"]["effort"] == "low"


def test_what_the_library_or_the_server_lacks_is_left_out():
    refused = failure(400, INVALID, "output_format: Extra inputs are not permitted")

    reply, seen = ask(
        lambda body, _: refused if "output_config" in body else message("{}"),
        asked(form="json_schema", max_tokens=5, seed=7),
    )

    assert (reply.text, reply.form) == ("{}", "text")  # any-llm has no place for a JSON object here
    assert ["seed" in body for body, *_ in seen] == [False, False]


def test_log_probabilities_are_refused_or_arrive():
    refused, _ = ask(message(), asked(top_logprobs=5, max_tokens=5))
    assert refused.feature == "logprobs"

    answer = completion("true", logprobs={"content": [token("true", no=-3.0)]})
    reply, ((body, *_),) = ask(answer, asked(top_logprobs=2, seed=5), name=OPENAI)

    choices = (TokenChoice("true", -0.1), TokenChoice("no", -3.0))
    assert (reply.steps, reply.usage) == ((TokenStep("true", -0.1, choices),), Usage(100, 20))
    assert (body["logprobs"], body["top_logprobs"], body["seed"]) == (True, 2, 5)


REFUSAL = {"message": {"role": "assistant", "content": None, "refusal": "I will not."}}
TOO_LONG = "prompt is too long: 9 tokens > 8 maximum"
ERRORS = [
    (failure(401, "authentication_error", "invalid x-api-key"), "AccessError", 401),
    (failure(404, "not_found_error", "model: claude-small"), "AccessError", 404),
    (failure(400, INVALID, "messages: text must be non-empty"), "BadRequestError", 400),
    (failure(400, INVALID, TOO_LONG), "BadRequestError", 400),
    (failure(429, "rate_limit_error", "slow down"), "RateLimitError", 429),
    (failure(529, "overloaded_error", "Overloaded"), "ServerError", 529),
    (failure(400, INVALID, "blocked by our content filtering policy"), "ContentFilterError", 400),
    (message("", stop_reason="refusal"), "ContentFilterError", None),
    (message(content=None), "ServerError", None),
    (b'{"id": "x', "ServerError", None),
    (hang_up, "ServerError", None),
    (completion("{}", finish_reason="content_filter"), "ContentFilterError", None),
    (completion("{}", **REFUSAL), "RefusalError", None),
    (completion("{}") | {"choices": []}, "ServerError", None),
]


@pytest.mark.parametrize(("answer", "expected", "status"), ERRORS)
def test_answers_that_are_no_replies_become_our_errors(answer, expected, status):
    is_openai = isinstance(answer, dict) and "choices" in answer

    error, _ = ask(answer, name=OPENAI if is_openai else ANTHROPIC)

    assert type(error).__name__ == expected
    assert error.status in (status, 200, 500)
    assert error.retry_after_s == (7 if status in (429, 529) else None)


def test_the_key_is_nowhere_to_be_seen(caplog):
    caplog.set_level(logging.DEBUG)
    model = load_model(ANTHROPIC)

    error, _ = ask(failure(401, "authentication_error", f"bad key {KEY}"))

    assert isinstance(model, ChatModel)
    assert error.__cause__ is error.__context__ is None
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("voirdire")]
    shown = [*traceback.format_exception(error), repr(model), repr(vars(model)), *ours]
    for place in (str(error), str(model.settings), *shown):
        assert KEY not in place
    assert "***" in str(error)


def test_no_key_goes_to_another_address_unless_it_is_named(monkeypatch):
    with pytest.raises(errors.InputError, match=r"Write `api_key_env='ANTHROPIC_API_KEY'` if"):
        load_model(ANTHROPIC, base_url="https://gateway.example")

    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(errors.InputError, match="set the ANTHROPIC_API_KEY environment variable"):
        load_model(ANTHROPIC)

    monkeypatch.setenv("GOOGLE_API_KEY", "no-key-of-anybody")
    # As any-llm writes it for Gemini, whose own library need not be there.
    kind = any_llm.AnyLLM.get_provider_class("anthropic")
    monkeypatch.setattr(kind, "ENV_API_KEY_NAME", "GEMINI_API_KEY/GOOGLE_API_KEY")
    with pytest.raises(errors.InputError, match=r"Write `api_key_env='GOOGLE_API_KEY'` if"):
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
        (ANTHROPIC, {"api_key_env": "NO_SUCH"}, "NO_SUCH must hold a key, but it is not set"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(name, settings, message):
    with pytest.raises(errors.InputError, match=message):
        load_model(name, **settings)


# What each means. It fails when any-llm grows a new one: decide what that is, and write it down.
MEANINGS = {
    "AccessError": "AuthenticationError InsufficientFundsError ModelNotFoundError",
    "BadRequestError": "ContextLengthExceededError InvalidRequestError UnsupportedParameterError",
    "ContentFilterError": "ContentFilterError ContentFilterFinishReasonError",
    "ModelTimeoutError": "GatewayTimeoutError",
    "RateLimitError": "RateLimitError",
    "ServerError": """AnyLLMError BatchNotCompleteError LengthFinishReasonError MissingApiKeyError
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
        assert type(ask(message())[0]).__name__ == EXPECTED[kind.__name__]
