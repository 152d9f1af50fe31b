"""Bodies with status 200: what is the answer, what is none, and what was charged."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import ask, asked, completion, reply_to, token
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    ModelCallError,
    RateLimitError,
    RefusalError,
    ServerError,
)
from voirdire.records import Usage

JSON = asked(form="json_schema")
OBJECT = '{"ok": 0.25}'


def message(content=None, **fields):
    return completion("", message={"role": "assistant", "content": content, **fields})


def events(*chunks, end="data: [DONE]\n\n", begin="data: "):
    return ("".join(f"{begin}{json.dumps(chunk)}\n\n" for chunk in chunks) + end).encode()


def delta(content=None, finish=None, **fields):
    choice = {"index": 0, "delta": {"content": content, **fields}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def call(arguments):
    return [{"type": "function", "function": {"name": "verdict", "arguments": arguments}}]


ANSWERS = {
    "plain": completion(OBJECT),
    "byte-order mark": b"\xef\xbb\xbf" + json.dumps(completion(OBJECT)).encode(),
    "white space first": b"\n \n" + json.dumps(completion(OBJECT)).encode(),
    "parts": message([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": OBJECT}, 1]),
    "decoded": message({"ok": 0.25}),
    "thoughts apart": message(OBJECT, reasoning_content="Let me think."),
    "in reasoning_content": message(None, reasoning_content=OBJECT),
    "in reasoning": message("", reasoning=f"\n```json\n{OBJECT}\n```"),
    "in a tool call": message(None, tool_calls=call(OBJECT)),
    "in a decoded tool call": message("  ", tool_calls=call({"ok": 0.25})),
    "in a function call": message(None, function_call={"name": "v", "arguments": OBJECT}),
    "a text choice": completion("", message=None, text=OBJECT),
    "events": events(delta("", role="assistant"), delta('{"ok": '), delta("0.25}", "stop")),
    "events without an end": events(delta('{"ok": '), delta("0.25}", "stop"), end=""),
    "comments": b": PROCESSING\n\n" + events(delta(OBJECT, "stop")),
    "lines": events(delta('{"ok": '), delta("0.25}", "stop"), begin="", end=""),
    "a whole reply as event": events(completion(OBJECT)),
    "reasoning in events": events(delta(reasoning='{"ok":'), delta(reasoning="0.25}", finish="x")),
    "odd fields": completion(OBJECT) | {"model": 7, "usage": "free", "error": None},
    "odd reason": completion(OBJECT, finish_reason={"type": "stop"}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_read_wherever_it_is(name):
    told = ask(ANSWERS[name], JSON, JSON)

    assert [json.loads(reply.text) for reply in told.results] == [{"ok": 0.25}] * 2
    is_elsewhere = name.startswith(("in ", "reasoning"))
    assert len(told.model.adaptations) == is_elsewhere
    assert all("leaves `content` empty" in sentence for sentence in told.model.adaptations)


@pytest.mark.parametrize(
    "answer",
    [
        message(None, reasoning_content='Maybe {"ok": 1}? No, let me'),
        message(None, reasoning_content="Let me think."),
        message("", tool_calls=[]),
        message(None, tool_calls=call('{"ok": ')),
        completion("", finish_reason="length"),
    ],
)
def test_thoughts_and_halves_are_no_answer(answer):
    assert reply_to(answer, JSON).text == ""


def test_where_words_were_asked_for_no_other_field_is_read():
    assert reply_to(message("", reasoning_content=OBJECT)).text == ""


ERRORS = [
    (b"", ServerError, "no chat completion"),
    (b"null", ServerError, "no chat completion"),
    (b"<html>hello</html>", ServerError, "no chat completion"),
    (b'{"choices":[{"mess', ServerError, "no chat completion"),
    (b'"text"', ServerError, "no chat completion"),
    (b"\xff\xfe", ServerError, "no chat completion"),
    (b'{"choices":[1]}', ServerError, "no chat completion"),
    (b'{"choices":[{"message":{"content":7}}]}', ServerError, "no chat completion"),
    (b'{"usage":' + b"[" * 200_000 + b',"x":NaN}', ServerError, "no chat completion"),
    (events(delta('{"ok": 0.2'), end=""), ServerError, "no chat completion"),
    (events({"error": {"message": "slow down", "code": 429}}, end=""), RateLimitError, "slow down"),
    ({"choices": []}, ServerError, "no explanation"),
    ({"id": "x", "choices": None}, ServerError, "no explanation"),
    ({"error": {"code": 429, "message": "Slow down"}}, RateLimitError, "HTTP 429: Slow down"),
    ({"error": {"code": "x", "message": "broke"}}, ServerError, "broke"),
    ({"error": "broke"}, ServerError, "broke"),
    ({"error": {"message": "maximum context length is 8 tokens"}}, BadRequestError, "context"),
    ({"code": "X", "message": "Range of input length should be [1, 6]"}, BadRequestError, "input"),
    ({"error": {"message": "Insufficient credits", "code": 402}}, AccessError, "credits"),
    ({"error": {"message": "Invalid API key provided"}}, AccessError, "API key"),
    ({"success": False, "errors": [{"message": "model not found"}]}, AccessError, "not found"),
    (completion("half") | {"error": {"message": "broke", "code": 502}}, ServerError, "broke"),
    (completion("half", error={"code": 502, "message": "upstream broke"}), ServerError, "upstream"),
    (completion('"', finish_reason="error"), ServerError, "broke off"),
    (completion('"', finish_reason="abort"), ServerError, "broke off"),
    (completion("", finish_reason="insufficient_system_resource"), ServerError, "broke off"),
    (completion("", finish_reason="content_filter: PROHIBITED"), ContentFilterError, "held"),
    (completion("", finish_reason="SAFETY"), ContentFilterError, "held its reply back"),
    (completion("", finish_reason="sensitive"), ContentFilterError, "held its reply back"),
    (completion("", finish_reason="refusal"), RefusalError, "declined to reply"),
    (message(None, refusal="I cannot help with that."), RefusalError, "'I cannot help with that.'"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "words"), ERRORS)
@pytest.mark.parametrize("request_", [JSON, asked(top_logprobs=2)])
def test_what_is_no_reply_says_why(answer, kind, words, request_):
    found = reply_to(answer, request_)

    assert type(found) is kind
    assert words in str(found)


@given(body=st.binary())
def test_any_bytes_are_a_reply_or_an_error_of_the_model(body):
    assert isinstance(reply_to(body, asked(top_logprobs=2)), ModelCallError)


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "max_tokens", "model_length"])
def test_a_reply_that_was_cut_off_says_so(reason):
    assert reply_to(completion('{"a":', finish_reason=reason)).finish_reason == "length"


def test_a_reply_has_all_that_the_server_says():
    reply = reply_to(completion(OBJECT), JSON)

    assert (reply.form, reply.finish_reason, reply.model) == ("json_schema", "stop", "m-1")
    assert reply.usage == Usage(100, 20)


def test_half_a_surrogate_pair_in_a_reply_does_not_lose_it():
    body = json.dumps(completion('{"why": "half ')).replace("half ", "half \\ud83d ")

    assert reply_to(body.encode()).text == '{"why": "half ? '


def test_log_probabilities_of_any_shape_do_not_lose_the_reply():
    odd = [
        "strange",
        {"content": [{"tok": 1}]},
        {"content": None},
        {"content": [token("{}")], "x": 1},
    ]
    for logprobs in [*odd, None, {"tokens": ["a"], "token_logprobs": []}]:
        reply = reply_to(completion("{}", logprobs=logprobs), asked(top_logprobs=5))

        assert reply.text == "{}"
        assert (reply.steps is None) is (logprobs is not odd[3])


def test_numbers_that_json_lacks_are_read_as_servers_mean_them():
    answer = completion("no", logprobs={"content": [token("no", -math.inf, yes=math.nan)]})

    (step,) = reply_to(json.dumps(answer).encode(), asked(top_logprobs=2)).steps

    assert step.logprob == -9999
    assert math.isnan(step.top[1].logprob)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        ({"prompt_tokens": "10", "completion_tokens": "5"}, Usage(10, 5)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            Usage(100, 50, 64, 30),
        ),
        # reasoning that only the total counts
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35}, Usage(10, 25, 0, 20)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
            Usage(10, 5, 8, 0),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 10**12},
            },
            Usage(10, 5, 10, 0),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": -1, "completion_tokens": 1}, None),
        ({"prompt_tokens": 10**400, "completion_tokens": 1}, None),
        ({"prompt_tokens": 1, "completion_tokens": 2**64}, None),
        ({"prompt_tokens": 1}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_usage_is_what_was_charged_or_none(counts, expected):
    assert reply_to(completion("{}") | {"usage": counts}).usage == expected


def test_several_replies_have_the_usage_of_their_call_once():
    answer = completion("a", "bb", "ccc", usage=(100, 60))

    ((first, *others),) = ask(answer, n=3).results

    assert [first.text, *(other.text for other in others)] == ["a", "bb", "ccc"]
    assert first.usage == Usage(100, 60)
    assert [other.usage for other in others] == [None, None]


def test_choices_without_a_reply_are_left_out_where_others_have_one():
    answer = completion("a", "b")
    answer["choices"][0]["finish_reason"] = "content_filter"

    ((reply,),) = ask(answer, n=2).results

    assert (reply.text, reply.usage) == ("b", Usage(100, 20))


def test_more_replies_than_were_asked_for_are_not_kept():
    assert reply_to(completion("a", "b")).text == "a"


def test_a_limit_that_is_used_up_for_hours_is_told_before_the_next_call():
    headers = {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "5h30m"}
    told = ask((200, completion("{}"), headers), asked(), asked())

    reply, error = told.results
    assert reply.text == "{}"
    assert isinstance(error, RateLimitError)
    assert error.retry_after_s == pytest.approx(19_800, abs=60)
    assert len(told.bodies) == 1


def test_a_limit_that_is_used_up_for_seconds_is_left_to_the_caller():
    headers = {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "6s"}

    assert len(ask((200, completion("{}"), headers), asked(), asked()).bodies) == 2


def test_a_stream_in_the_middle_of_others_is_told_apart():
    answers = iter([events(delta("a", "stop")), completion("b")])

    assert [reply.text for reply in ask(lambda _: next(answers), asked(), asked()).results] == [
        "a",
        "b",
    ]
