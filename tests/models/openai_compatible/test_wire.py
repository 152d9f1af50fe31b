"""Bodies of answers: what is a chat completion, and what it says was charged."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import asked, completion, token
from voirdire.errors import ModelCallError, ServerError
from voirdire.records import Usage

WITH_LOGPROBS = asked(top_logprobs=2)


def usage(server, **counts):
    return server.reply(completion("{}") | {"usage": counts}).usage


@pytest.mark.edges
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
@pytest.mark.parametrize("chat_request", [asked(), WITH_LOGPROBS])
def test_what_is_no_chat_completion_is_a_server_error(server, body, chat_request):
    with pytest.raises(ServerError, match="no chat completion"):
        server.reply(body, chat_request)


@pytest.mark.parametrize("where", ["%s", '{"x":%s}', '{"choices":%s}', '{"usage":%s,"x":NaN}'])
def test_a_body_that_is_deeper_than_any_stack_is_a_server_error(server, where):
    with pytest.raises(ServerError, match="no chat completion"):
        server.reply(where.encode() % (b"[" * 200_000), WITH_LOGPROBS)


@given(body=st.binary())
def test_any_bytes_are_a_reply_or_an_error_of_the_model(server, body):
    with pytest.raises(ModelCallError):
        server.reply(body, WITH_LOGPROBS)


def test_a_reply_is_read_without_log_probabilities_of_an_unknown_shape(server):
    found = server.reply(completion("text", logprobs={"content": "strange"}), WITH_LOGPROBS)

    assert (found.text, found.steps) == ("text", None)


def test_log_probabilities_that_nobody_asked_for_are_not_looked_at(server):
    found = server.reply(completion("text", logprobs={"content": [token("text")]}))

    assert found.steps is None


def test_numbers_that_json_lacks_are_read_as_servers_mean_them(server):
    answer = completion("no", logprobs={"content": [token("no", -math.inf, yes=math.nan)]})

    found = server.reply(json.dumps(answer).encode(), WITH_LOGPROBS).steps

    assert found[0].logprob == -9999
    assert math.isnan(found[0].top[1].logprob)


def test_openais_usage_is_read(server):
    found = usage(
        server,
        prompt_tokens=100,
        completion_tokens=50,
        total_tokens=150,
        prompt_tokens_details={"cached_tokens": 64, "audio_tokens": 0},
        completion_tokens_details={"reasoning_tokens": 30},
    )

    assert found == Usage(100, 50, 64, 30)


def test_reasoning_that_only_the_total_counts_is_charged(server):
    assert usage(server, prompt_tokens=10, completion_tokens=5, total_tokens=35) == Usage(
        10, 25, 0, 20
    )


def test_reasoning_beside_the_completion_is_charged(server):
    details = {"reasoning_tokens": 20}

    found = usage(
        server,
        prompt_tokens=10,
        completion_tokens=5,
        total_tokens=35,
        completion_tokens_details=details,
    )

    assert found == Usage(10, 25, 0, 20)


def test_a_cache_that_is_named_otherwise_is_read(server):
    found = usage(server, prompt_tokens=10, completion_tokens=5, prompt_cache_hit_tokens=8)

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
def test_usage_that_says_nothing_is_none(server, counts):
    assert usage(server, **counts) is None


@pytest.mark.parametrize("raw", [None, "free", {"prompt_tokens": "many"}, []])
def test_usage_of_another_shape_is_none(server, raw):
    assert server.reply(completion("{}") | {"usage": raw}).usage is None


@pytest.mark.parametrize("part", [-(10**12), 10**400])
def test_a_part_of_the_tokens_is_no_more_than_all_and_no_less_than_none(server, part):
    found = usage(
        server,
        prompt_tokens=10,
        completion_tokens=5,
        total_tokens=10**400,
        prompt_tokens_details={"cached_tokens": part},
        completion_tokens_details={"reasoning_tokens": part},
    )

    assert 0 <= found.cached_tokens <= found.prompt_tokens == 10
    assert 0 <= found.reasoning_tokens <= found.completion_tokens <= 2 * 10**9
