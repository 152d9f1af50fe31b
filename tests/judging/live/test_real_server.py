"""A live judge before a real server: what it says is what is worked out from the server's JSON."""

import asyncio

import numpy as np
import pytest

from judging.live.live_cases import items_of, living
from judging.test_real_server import probability_by_hand
from servers.overheard import overhear
from voirdire.judging import LlmJudge
from voirdire.models import load_model
from voirdire.rubrics import rubric_from_text

KEYS = ("sorry", "rude")
RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  comply: {demands: {sorry: required}, classes: {good: all(required), poor: otherwise}}
"""
)


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["joint", "single"])
def test_probabilities_are_those_of_the_servers_own_tokens(mode, llama_server, tmp_path):
    items = items_of(3)
    store = tmp_path / "replies.sqlite"

    async def work():
        async with overhear(llama_server.address) as wire:
            model = load_model(f"openai/{llama_server.model}", base_url=f"{wire.base_url}/v1")
            judge = LlmJudge(model=model, mode=mode)
            async with living(judge, rubric=RUBRIC, store=store) as live:
                found = await asyncio.gather(*(live.ask([item]) for item in items))
            async with living(judge, rubric=RUBRIC, store=store) as live:
                again = await live.ask(items)
            return wire, found, again

    wire, found, again = asyncio.run(work())

    assert len(wire.requests) == 3 * {"joint": 1, "single": 2}[mode]
    for item, verdict in zip(items, found, strict=True):
        said = [
            answer["choices"][0]
            for request, answer in zip(wire.requests, wire.answers, strict=True)
            if item.response in request["messages"][-1]["content"]
        ]
        by_hand = [probability_by_hand(said, key)[0] for key in KEYS]
        assert verdict.failures == (None,)
        assert verdict.probabilities[0] == pytest.approx(by_hand, abs=1e-9)
    assert np.array_equal(again.probabilities, np.vstack([each.probabilities for each in found]))
    assert again.n_stored == 3
