"""The model over real HTTP: what is sent, what comes back, and what an answer may be instead."""

import asyncio
import gzip
import json
import math

import pytest
from aiohttp import web

from models.openai_compatible.chat_server import SCHEMA, asked, completion, serving, token
from voirdire.errors import (
    AccessError,
    ContentFilterError,
    InputError,
    RateLimitError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.models import Capabilities, ChatModel, Dialect, OpenAICompatibleModel
from voirdire.records import Usage

NOWHERE = "http://127.0.0.1:9/v1"


def answering(answer, **fields):
    return lambda request, body: web.json_response(answer, **fields)


def ask(handler, request=None, **settings):
    """Send one request to a server; give the reply and what the server saw."""

    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url, **settings)
            try:
                return await model.reply(request or asked()), served
            finally:
                await model.close()

    return asyncio.run(run())


def test_it_is_a_chat_model():
    assert isinstance(OpenAICompatibleModel(model="m", base_url=NOWHERE), ChatModel)


def test_a_reply_has_all_that_the_server_says():
    headers = {"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "2s"}
    tokens = [token('{"apology":'), token("true", -0.2, false=-1.7), token("}")]
    answer = completion('{"apology":true}', logprobs={"content": tokens})
    request = asked(form="json_schema", schema=SCHEMA, top_logprobs=2)

    reply, _ = ask(answering(answer, headers=headers), request)

    assert reply.text == '{"apology":true}'
    assert reply.form == "json_schema"
    assert reply.finish_reason == "stop"
    assert reply.model == "served-model"
    assert reply.usage == Usage(100, 20)
    assert [step.token for step in reply.steps] == ['{"apology":', "true", "}"]
    assert [(c.token, c.logprob) for c in reply.steps[1].top] == [("true", -0.2), ("false", -1.7)]


def test_the_request_arrives_as_it_was_meant():
    request = asked("问题", form="json_schema", schema=SCHEMA, top_logprobs=2, seed=4)

    _, served = ask(answering(completion("{}")), request, temperature=0.5)

    (sent,) = served.bodies
    assert sent["model"] == "m"
    assert sent["messages"][1] == {"role": "user", "content": "问题"}
    assert sent["response_format"]["json_schema"]["schema"] == json.loads(SCHEMA)
    assert (sent["top_logprobs"], sent["seed"], sent["temperature"]) == (2, 4, 0.5)
    assert served.headers[0]["content-type"] == "application/json"
    assert "authorization" not in served.headers[0]
    assert "cookie" not in served.headers[0]


def test_log_probabilities_that_were_asked_for_and_did_not_come_are_none():
    reply, _ = ask(answering(completion("{}", logprobs=None)), asked(top_logprobs=5))

    assert reply.steps is None


@pytest.mark.parametrize("logprobs", ["strange", {"content": [{"tok": 1}]}, {"content": None}])
def test_log_probabilities_of_an_unknown_shape_are_none(logprobs):
    reply, _ = ask(answering(completion("{}", logprobs=logprobs)), asked(top_logprobs=5))

    assert (reply.text, reply.steps) == ("{}", None)


def test_alternatives_of_an_unknown_shape_are_no_log_probabilities():
    tokens = [token("{}") | {"top_logprobs": {"true": -0.1}}]

    reply, _ = ask(answering(completion("{}", logprobs={"content": tokens})), asked(top_logprobs=5))

    assert reply.steps is None


def test_a_reply_that_was_cut_off_is_still_a_reply():
    reply, _ = ask(answering(completion('{"a":', finish_reason="length")))

    assert (reply.text, reply.finish_reason) == ('{"a":', "length")


@pytest.mark.parametrize("content", [None, ""])
def test_a_reply_whose_thinking_used_it_up_is_empty(content):
    reply, _ = ask(answering(completion(content, finish_reason="length")))

    assert reply.text == ""


def test_thoughts_that_the_server_parts_are_left_out():
    message = {"role": "assistant", "content": "{}", "reasoning_content": "Let me think."}

    reply, _ = ask(answering(completion("", message=message)))

    assert reply.text == "{}"


def test_a_message_in_parts_is_its_text():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": '{"a":'},
        {"type": "text", "text": "true}"},
        "stray",
    ]

    reply, _ = ask(answering(completion("", message={"role": "assistant", "content": parts})))

    assert reply.text == '{"a":true}'


@pytest.mark.parametrize("finish_reason", ["stop", None, "content_filter"])
def test_a_refusal_is_an_error_however_it_ends(finish_reason):
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    kind = ContentFilterError if finish_reason == "content_filter" else RefusalError

    with pytest.raises(kind):
        ask(answering(completion("", message=message, finish_reason=finish_reason)))


def test_a_reply_that_ends_with_a_refusal_is_one():
    with pytest.raises(RefusalError, match="declined to reply"):
        ask(answering(completion("", finish_reason="refusal")))


def test_a_refusal_is_told_in_the_models_words():
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}

    with pytest.raises(RefusalError, match=r"m declined to reply: 'I cannot help with that\.'"):
        ask(answering(completion("", message=message)))


@pytest.mark.parametrize("reason", ["content_filter", "content_filter: PROHIBITED_CONTENT"])
def test_a_reply_that_a_filter_held_back_is_an_error(reason):
    with pytest.raises(ContentFilterError, match="held its reply back"):
        ask(answering(completion("half a rep", finish_reason=reason)))


def test_a_reply_that_ends_with_an_error_is_one():
    with pytest.raises(ServerError, match="broke off"):
        ask(answering(completion('"', finish_reason="error")))


def test_an_error_in_place_of_a_reply_is_placed():
    answer = {"error": {"code": 429, "message": "Slow down", "metadata": {}}}

    with pytest.raises(RateLimitError, match="Slow down"):
        ask(answering(answer))


def test_an_error_beside_a_reply_is_placed():
    choice = {"finish_reason": "error", "error": {"code": 502, "message": "upstream broke"}}

    with pytest.raises(ServerError, match="upstream broke"):
        ask(answering(completion("half", **choice)))


@pytest.mark.parametrize("answer", [{"choices": []}, {"choices": None}, {"id": "x"}])
def test_an_answer_without_a_reply_is_a_server_error(answer):
    with pytest.raises(ServerError, match="without a reply"):
        ask(answering(answer))


@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b'{"choices":[{"mess', b"\xff"])
def test_an_answer_that_is_no_chat_completion_is_a_server_error(body):
    def handler(request, sent):
        return web.Response(body=body, content_type="application/json")

    with pytest.raises(ServerError, match="no chat completion"):
        ask(handler)


def test_a_stream_that_nobody_asked_for_is_a_server_error():
    def handler(request, sent):
        return web.Response(text="data: {}\n\ndata: [DONE]\n\n", content_type="text/event-stream")

    with pytest.raises(ServerError, match="no chat completion"):
        ask(handler)


def test_numbers_that_json_lacks_do_not_lose_the_reply():
    answer = completion('{"a":true}', logprobs={"content": [token('{"a":true}', -math.inf)]})

    def handler(request, sent):
        return web.Response(body=json.dumps(answer).encode(), content_type="application/json")

    reply, _ = ask(handler, asked(top_logprobs=1))

    assert reply.steps[0].logprob == -9999


def test_a_status_that_refuses_is_placed():
    answer = {"error": {"message": "'logprobs' is not supported", "param": "logprobs"}}

    with pytest.raises(UnsupportedError) as caught:
        ask(answering(answer, status=400), asked(top_logprobs=5))

    assert (caught.value.feature, caught.value.status) == ("logprobs", 400)


def test_as_many_calls_are_open_at_once_as_are_made():
    n = 150

    async def run():
        everybody = asyncio.Barrier(n)

        async def handler(request, sent):
            await everybody.wait()  # nobody is answered before all are there
            return web.json_response(completion("{}"))

        async with serving(handler) as served, asyncio.timeout(30):
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            try:
                return await asyncio.gather(*(model.reply(asked()) for _ in range(n)))
            finally:
                await model.close()

    assert len(asyncio.run(run())) == n


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_is_neither_followed_nor_tried_again(status):
    n_calls = 0

    def handler(request, sent):
        nonlocal n_calls
        n_calls += 1
        return web.Response(status=status, headers={"Location": str(request.url)})

    # An `AccessError` ends a run: every other call would end the same way.
    with pytest.raises(AccessError, match=f"HTTP {status} and points elsewhere") as raised:
        ask(handler)

    assert (raised.value.status, n_calls) == (status, 1)


def test_a_compressed_reply_is_read():
    def handler(request, sent):
        packed = gzip.compress(json.dumps(completion("{}")).encode())
        return web.Response(
            body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}
        )

    reply, _ = ask(handler)

    assert reply.text == "{}"


def test_settings_are_json_and_hold_what_replies_depend_on(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sw-ordfish-0123456789")

    model = OpenAICompatibleModel(
        model="m",
        base_url="https://A.example/v1/",
        api_key_env="SOME_KEY",
        temperature=0.0,
        reasoning_effort="low",
        max_tokens=10,
        extra={"top_k": 1},
        timeout_s=5,
    )

    assert model.settings == {
        "api": "chat/completions",
        "base_url": "https://a.example/v1",
        "model": "m",
        "temperature": 0.0,
        "reasoning_effort": "low",
        "max_tokens": 10,
        "extra": {"top_k": 1},
    }
    assert "secret" not in json.dumps(model.settings)


def test_names_and_capabilities_are_as_given():
    known = Capabilities(forms=("text",), top_logprobs=0)

    plain = OpenAICompatibleModel(model="m", base_url=NOWHERE)
    named = OpenAICompatibleModel(model="m", base_url=NOWHERE, name="mine", capabilities=known)

    assert (plain.name, plain.capabilities) == ("m", Capabilities())
    assert (named.name, named.capabilities) == ("mine", known)


def test_a_dialect_that_is_given_is_used():
    dialect = Dialect(limit_name="max_completion_tokens")

    _, served = ask(answering(completion("{}")), asked(max_tokens=3), dialect=dialect)

    assert served.bodies[0]["max_completion_tokens"] == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": ""}, "`model` must be a word"),
        ({"name": "a\nb"}, "`name` must be a word"),
        ({"base_url": "nowhere"}, "`base_url` must be an address"),
        ({"temperature": -1}, "`temperature` must be a number in"),
        ({"temperature": math.nan}, "`temperature` must be a number in"),
        ({"temperature": "hot"}, "`temperature` must be a number in"),
        ({"max_tokens": 0}, "`max_tokens` must be a whole number"),
        ({"reasoning_effort": " "}, "`reasoning_effort` must be a word"),
        ({"timeout_s": 0}, "`timeout_s` must be a finite number of seconds above 0"),
        ({"timeout_s": math.inf}, "`timeout_s` must be a finite number of seconds above 0"),
        ({"timeout_s": True}, "`timeout_s` must be a finite number of seconds above 0"),
        ({"extra": {"messages": []}}, "Set it as `messages` of a request"),
        ({"extra": {"stream": True}}, "replies are read whole"),
        ({"extra": {"x": object()}}, "`extra` must hold JSON values"),
        ({"extra": {"provider": {"api_key": "x"}}}, "`extra` must hold no key"),
        ({"extra": {"x": "sk-0123456789abcdef"}}, "`extra` must hold no key"),
    ],
)
def test_a_setting_that_breaks_its_rule_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        OpenAICompatibleModel(**{"model": "m", "base_url": NOWHERE, **settings})
