"""Bodies of answers: what is a chat completion, and what it says was charged."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import completion, token
from voirdire.models.openai_compatible.steps import steps_of
from voirdire.models.openai_compatible.wire import decode_completion, usage_of
from voirdire.records import Usage


def decoded(answer, *, with_logprobs=False):
    return decode_completion(json.dumps(answer).encode(), with_logprobs=with_logprobs)


def usage(**counts):
    return usage_of(msgspec.Raw(json.dumps(counts).encode()))


def test_a_chat_completion_is_read():
    found = decoded(completion('{"a":true}'))

    assert found.choices[0].message.content == '{"a":true}'
    assert found.model == "served-model"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"choices":[',
        b"[]",
        b'"text"',
        b'{"choices":[{}]}',
        b'{"choices":[1]}',
        b'{"choices":[{"message":{"content":7}}]}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_chat_completion_is_none(body):
    assert decode_completion(body, with_logprobs=False) is None
    assert decode_completion(body, with_logprobs=True) is None


@pytest.mark.parametrize("where", ["%s", '{"x":%s}', '{"choices":%s}', '{"usage":%s,"x":NaN}'])
def test_a_body_that_is_deeper_than_any_stack_is_none(where):
    body = where.encode() % (b"[" * 200_000)

    assert decode_completion(body, with_logprobs=True) is None


@given(st.binary())
def test_any_bytes_are_a_chat_completion_or_none(body):
    found = decode_completion(body, with_logprobs=True)

    assert found is None or found.choices is None or isinstance(found.choices, list)


def test_a_reply_is_read_without_log_probabilities_of_an_unknown_shape():
    found = decoded(completion("text", logprobs={"content": "strange"}), with_logprobs=True)

    assert found.choices[0].message.content == "text"
    assert not hasattr(found.choices[0], "logprobs")


def test_log_probabilities_that_nobody_asked_for_are_not_looked_at():
    found = decoded(completion("text", logprobs={"content": [token("text")]}))

    assert not hasattr(found.choices[0], "logprobs")


def test_numbers_that_json_lacks_are_read_as_servers_mean_them():
    answer = completion("no", logprobs={"content": [token("no", -math.inf, yes=math.nan)]})
    body = json.dumps(answer).encode()

    found = decode_completion(body, with_logprobs=True)

    steps = steps_of(found.choices[0].logprobs, text="no", body=body)
    assert steps[0].logprob == -9999
    assert math.isnan(steps[0].top[1].logprob)


def test_openais_usage_is_read():
    found = usage(
        prompt_tokens=100,
        completion_tokens=50,
        total_tokens=150,
        prompt_tokens_details={"cached_tokens": 64, "audio_tokens": 0},
        completion_tokens_details={"reasoning_tokens": 30},
    )

    assert found == Usage(100, 50, 64, 30)


def test_reasoning_that_only_the_total_counts_is_charged():
    assert usage(prompt_tokens=10, completion_tokens=5, total_tokens=35) == Usage(10, 25, 0, 20)


def test_reasoning_beside_the_completion_is_charged():
    details = {"reasoning_tokens": 20}

    found = usage(
        prompt_tokens=10, completion_tokens=5, total_tokens=35, completion_tokens_details=details
    )

    assert found == Usage(10, 25, 0, 20)


def test_a_cache_that_is_named_otherwise_is_read():
    found = usage(prompt_tokens=10, completion_tokens=5, prompt_cache_hit_tokens=8)

    assert found == Usage(10, 5, 8, 0)


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": 10**400, "completion_tokens": 1},
        {"prompt_tokens": 1, "completion_tokens": 2**64},
    ],
)
def test_usage_that_says_nothing_is_none(counts):
    assert usage(**counts) is None


@pytest.mark.parametrize("raw", [b"null", b'"free"', b'{"prompt_tokens":"many"}', b"[]"])
def test_usage_of_another_shape_is_none(raw):
    assert usage_of(msgspec.Raw(raw)) is None


@pytest.mark.parametrize("part", [-(10**12), 10**400])
def test_a_part_of_the_tokens_is_no_more_than_all_and_no_less_than_none(part):
    found = usage(
        prompt_tokens=10,
        completion_tokens=5,
        total_tokens=10**400,
        prompt_tokens_details={"cached_tokens": part},
        completion_tokens_details={"reasoning_tokens": part},
    )

    assert 0 <= found.cached_tokens <= found.prompt_tokens == 10
    assert 0 <= found.reasoning_tokens <= found.completion_tokens <= 2 * 10**9
