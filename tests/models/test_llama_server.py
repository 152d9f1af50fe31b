"""Our client against llama.cpp's own server: replies, tokens, usage, and what it refuses."""

import asyncio
import json
import math

import pytest

from models.chat_server import SCHEMA, asked
from servers.overheard import overhear
from voirdire.errors import BadRequestError
from voirdire.models import OpenAICompatibleModel

USUAL = {"form": "json_schema", "max_tokens": 200, "temperature": 0}


def ask(server, *requests):
    """Send requests one after the other; give the replies and what went over the wire."""

    async def run():
        async with overhear(server.address) as wire:
            model = OpenAICompatibleModel(model=server.model, base_url=f"{wire.base_url}/v1")
            try:
                return [await model.reply(request) for request in requests], wire.answers
            finally:
                await model.close()

    return asyncio.run(run())


@pytest.mark.ci
def test_the_server_holds_to_the_schema_or_refuses_it(llama_server):
    odd = asked("x", **USUAL | {"schema": b'{"type": "nonsense"}', "max_tokens": 20})

    replies, _ = ask(llama_server, *(asked(f"Response {n}", **USUAL) for n in range(6)), odd)

    assert {tuple(json.loads(reply.text)) for reply in replies[:6]} == {tuple(SCHEMA["properties"])}
    assert [reply.form for reply in replies] == ["json_schema"] * 6 + ["json_object"]
    assert {reply.finish_reason for reply in replies[:6]} == {"stop"}


@pytest.mark.slow
def test_a_reply_says_what_the_server_says_of_itself_and_of_its_cache(llama_server):
    request = asked("你好，世界 \U0001f600. Asked twice. " * 50, **USUAL)

    (first, second), answers = ask(llama_server, request, request)

    usage = answers[0]["usage"]
    assert first.text == answers[0]["choices"][0]["message"]["content"]
    assert (first.model, first.steps) == (llama_server.model, None)
    assert first.usage.prompt_tokens == usage["prompt_tokens"] > 0
    assert first.usage.completion_tokens == usage["completion_tokens"] > 0
    assert 0 < second.usage.cached_tokens < second.usage.prompt_tokens


@pytest.mark.slow
def test_the_same_seed_gives_the_same_reply(llama_server):
    warm = {"temperature": 1.5, "max_tokens": 24}
    requests = [asked("Anything", seed=seed, **warm) for seed in (7, 7, 8)]

    (first, again, other), _ = ask(llama_server, *requests)

    assert first.text == again.text != other.text
    assert first.finish_reason == "length"


@pytest.mark.slow
@pytest.mark.parametrize("n_top", [1, 5, 20])
def test_tokens_come_with_the_log_probabilities_of_the_server(llama_server, n_top):
    (reply,), answers = ask(llama_server, asked("With tokens", top_logprobs=n_top, **USUAL))

    sent = answers[0]["choices"][0]["logprobs"]["content"][: len(reply.steps)]
    assert "".join(step.token for step in reply.steps) == reply.text
    assert [step.logprob for step in reply.steps] == [step["logprob"] for step in sent]
    with_top = [index for index, step in enumerate(reply.steps) if step.top]
    assert with_top
    for index in with_top:
        expected = [(top["token"], top["logprob"]) for top in sent[index]["top_logprobs"]]
        assert [(top.token, top.logprob) for top in reply.steps[index].top] == expected
        assert len(expected) == n_top
        assert math.fsum(math.exp(top.logprob) for top in reply.steps[index].top) <= 1 + 1e-4


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_a_bad_request(llama_server):
    with pytest.raises(BadRequestError, match="exceeds the available context size"):
        ask(llama_server, asked("x" * 100_000, **USUAL))
