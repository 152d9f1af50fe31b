"""Our client against llama.cpp's own server: replies, tokens, usage, and what it refuses."""

import asyncio
import json
import math

import pytest

from servers.overheard import overhear
from voirdire.errors import BadRequestError, UnsupportedError
from voirdire.models import ChatRequest, OpenAICompatibleModel
from voirdire.records import Message

KEYS = ("apology", "judgement", "disclaimer")
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {key: {"type": "boolean"} for key in KEYS},
        "required": list(KEYS),
        "additionalProperties": False,
    }
).encode()


def request_about(text, *, form="json_schema", **more):
    messages = (
        Message(role="system", content="Judge the response. Reply with JSON."),
        Message(role="user", content=text),
    )
    schema = b"" if form == "text" else SCHEMA
    return ChatRequest(
        messages=messages, form=form, schema=schema, **{"max_tokens": 200, "temperature": 0} | more
    )


def ask(server, *requests):
    """Send requests one after the other; give the replies and what went over the wire."""

    async def run():
        async with overhear(server.address) as wire:
            model = OpenAICompatibleModel(model=server.model, base_url=f"{wire.base_url}/v1")
            try:
                return [await model.reply(request) for request in requests], wire
            finally:
                await model.close()

    return asyncio.run(run())


@pytest.mark.ci
def test_the_server_holds_to_the_schema(llama_server):
    requests = [request_about(f"Response {number}") for number in range(6)]

    replies, _ = ask(llama_server, *requests)

    assert [list(json.loads(reply.text)) for reply in replies] == [list(KEYS)] * 6
    assert {reply.form for reply in replies} == {"json_schema"}
    assert {reply.finish_reason for reply in replies} == {"stop"}


@pytest.mark.slow
def test_a_reply_says_what_the_server_says_of_itself(llama_server):
    (reply,), wire = ask(llama_server, request_about("你好，世界 \U0001f600"))

    usage = wire.answers[0]["usage"]
    assert reply.text == wire.answers[0]["choices"][0]["message"]["content"]
    assert reply.model == llama_server.model
    assert reply.steps is None
    assert reply.usage.prompt_tokens == usage["prompt_tokens"] > 0
    assert reply.usage.completion_tokens == usage["completion_tokens"] > 0
    assert reply.usage.cached_tokens == usage["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.slow
def test_tokens_of_the_cache_are_counted(llama_server):
    request = request_about("Asked twice. " * 50)

    (_, second), _ = ask(llama_server, request, request)

    assert 0 < second.usage.cached_tokens < second.usage.prompt_tokens


@pytest.mark.slow
def test_the_same_seed_gives_the_same_reply(llama_server):
    warm = {"form": "text", "temperature": 1.5, "max_tokens": 24}
    requests = [request_about("Anything", seed=seed, **warm) for seed in (7, 7, 8)]

    (first, again, other), _ = ask(llama_server, *requests)

    assert first.text == again.text != other.text
    assert first.finish_reason == "length"


@pytest.mark.slow
@pytest.mark.parametrize("n_top", [1, 5, 20])
def test_tokens_come_with_the_log_probabilities_of_the_server(llama_server, n_top):
    request = request_about("With tokens", top_logprobs=n_top)

    (reply,), wire = ask(llama_server, request)

    choice = wire.answers[0]["choices"][0]
    sent = choice["logprobs"]["content"][: len(reply.steps)]  # white space at the end is cut off
    assert "".join(step.token for step in reply.steps) == reply.text
    assert [step.logprob for step in reply.steps] == [step["logprob"] for step in sent]
    with_top = [index for index, step in enumerate(reply.steps) if step.top]
    assert len(with_top) >= len(KEYS)
    for index in with_top:
        expected = [(top["token"], top["logprob"]) for top in sent[index]["top_logprobs"]]
        assert [(top.token, top.logprob) for top in reply.steps[index].top] == expected
        assert len(expected) == n_top
    for index, step in enumerate(reply.steps):
        if step.token.strip().lower() in ("true", "false", "tr", "fal"):
            assert index in with_top
            assert math.fsum(math.exp(top.logprob) for top in step.top) <= 1 + 1e-4


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_a_bad_request(llama_server):
    with pytest.raises(BadRequestError, match="exceeds the available context size") as caught:
        ask(llama_server, request_about("x" * 100_000))

    assert not isinstance(caught.value, UnsupportedError)
    assert caught.value.status == 400


@pytest.mark.ci
def test_a_schema_that_the_server_cannot_read_is_left_out(llama_server):
    messages = request_about("A schema").messages
    request = ChatRequest(
        messages=messages, form="json_schema", schema=b'{"type": "nonsense"}', max_tokens=20
    )

    (reply,), _ = ask(llama_server, request)

    assert reply.form == "json_object"
