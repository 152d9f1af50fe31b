"""The instant server says what it should, to any client, as often as it is asked."""

import asyncio
import json
import math
import urllib.request

import pytest
from aiohttp import ClientSession

from servers.instant import joint_completion, running_instant_server

KEYS = [f"question_{number}" for number in range(20)]


@pytest.fixture(scope="module")
def instant_server():
    completions = {
        "stated": joint_completion(KEYS),
        "logprob": joint_completion(KEYS, n_top=5),
    }
    with running_instant_server(completions) as server:
        yield server


@pytest.mark.parametrize("name", ["stated", "logprob"])
def test_every_client_gets_the_whole_answer_every_time(instant_server, name):
    url = f"{instant_server.base_url(name)}/chat/completions"
    before = instant_server.n_served()[name]

    async def ask(session):
        async with session.post(url, data=b"x" * 100_000) as answer:
            return await answer.read()

    async def run():
        async with ClientSession() as session:
            return await asyncio.gather(*(ask(session) for _ in range(40)))

    answers = asyncio.run(run())
    with urllib.request.urlopen(url, data=b"{}", timeout=10) as answer:
        answers.append(answer.read())

    assert len(set(answers)) == 1
    assert list(json.loads(json.loads(answers[0])["choices"][0]["message"]["content"])) == KEYS
    assert instant_server.n_served()[name] - before == 41


def test_tokens_spell_the_answer_and_chances_sum_to_one():
    choice = joint_completion(KEYS, n_top=5)["choices"][0]

    steps = choice["logprobs"]["content"]
    assert "".join(step["token"] for step in steps) == choice["message"]["content"]
    for step in steps:
        assert len(step["top_logprobs"]) == 5
        chances = [math.exp(top["logprob"]) for top in step["top_logprobs"]]
        assert math.fsum(chances) == pytest.approx(1)


def test_an_answer_with_tokens_is_as_large_as_a_provider_makes_it():
    size = len(json.dumps(joint_completion(KEYS, n_top=5)))

    assert 50_000 < size < 120_000
