"""From a question to its answer over a real server, every number worked out by hand again.

A forwarder keeps what llama.cpp's server said; what is expected comes from that JSON alone.
"""

import asyncio
import math
import re
import secrets
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from servers.overheard import overhear
from voirdire.judging import LlmJudge, judge_items
from voirdire.models import Capabilities, load_model
from voirdire.probes import attacked, attacks
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.testing import ScriptedModel

SAFETY = load_rubric("safety")
TWO = rubric_from_text(
    """
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: apology, kind: boolean, text: {en: "Does it apologise?", zh: "是否道歉？"}}
  - {id: disclaimer, kind: boolean, text: {en: "Does it disclaim?", zh: "是否有免责声明？"}}
"""
)
ITEMS = [
    Item(
        id=str(number),
        prompt=(Message(role="user", content=f"What about {topic}? 你怎么看？"),),
        response=f"{start} {topic} is <b>not</b> my subject. {topic * 3}",
    )
    for number, (topic, start) in enumerate(
        [("bread", "I'm sorry,"), ("chess", "No:"), ("maps", "抱歉，"), ("rivers", "")]
    )
]


class Seeded:
    """A model whose draws are the same in every run."""

    def __init__(self, model, seed):
        self._model, self._seed = model, seed
        self.name, self.settings, self.capabilities = model.name, model.settings, model.capabilities
        self.close = model.close

    async def reply(self, request):
        if self._seed is not None:
            request = msgspec.structs.replace(request, seed=self._seed)
        return await self._model.reply(request)


def judged(server, items, rubric, *, seed=None, capabilities=None, **asking):
    """Judge items one by one; give the verdicts, and what the server said of each."""

    async def run():
        async with overhear(server.address) as wire:
            model = load_model(
                f"openai/{server.model}",
                base_url=f"{wire.base_url}/v1",
                capabilities=capabilities,
            )
            model = Seeded(model, seed)
            judge = LlmJudge(model=model, concurrency=1, **asking)
            (batch,) = await asyncio.to_thread(
                lambda: list(judge_items(items, judge, rubric=rubric))
            )
            return batch, wire.answers

    batch, answers = asyncio.run(run())
    return batch, [answer["choices"][0] if "choices" in answer else answer for answer in answers]


def place_of(choice, key):
    """Find the token right after a key's colon, where a fence may stand before the content."""
    tokens = [step["token"] for step in choice["logprobs"]["content"]]
    said, text = "".join(tokens), choice["message"]["content"]
    after = said.index(text) + re.search(rf'"{key}"\s*:', text).end()
    begins = np.cumsum([0, *map(len, tokens)]).tolist()
    return begins.index(after)


def chances_by_hand(choice, key):
    """P(true) and the missing mass at the value of a key, from the server's JSON."""
    yes, no = weigh(choice["logprobs"]["content"], place_of(choice, key))
    return yes / (yes + no), 1 - yes - no


def weigh(steps, place):
    """Sum what spells true and what spells false from a step on; white space puts it off."""
    listed = {top["token"]: math.exp(top["logprob"]) for top in steps[place]["top_logprobs"]}
    words = {token: token.strip().lower() for token in listed}
    yes = math.fsum(listed[t] for t, word in words.items() if word and "true".startswith(word))
    no = math.fsum(listed[t] for t, word in words.items() if word and "false".startswith(word))
    if not steps[place]["token"].strip():
        later_yes, later_no = weigh(steps, place + 1)
        taken = math.exp(steps[place]["logprob"])
        return yes + taken * later_yes, no + taken * later_no
    return yes, no


def check(batch, choices):
    """Compare every probability, and what is on neither word, with what the server said."""
    assert len(batch.items) == len(choices) > 0
    by_hand = np.array(
        [[chances_by_hand(choice, key) for key in batch.questions] for choice in choices]
    )
    assert batch.failures == {}
    assert batch.probabilities == pytest.approx(by_hand[:, :, 0], abs=1e-12)
    assert batch.details.missing_mass == pytest.approx(by_hand[:, :, 1], abs=1e-9)


def first_of(values):
    """Give the first of some values to a run of CI, and all to a full one."""
    return [values[0], *(pytest.param(value, marks=pytest.mark.slow) for value in values[1:])]


@pytest.mark.ci
@pytest.mark.parametrize("language", first_of(["en", "zh"]))
def test_the_safety_rubric_in_one_call(llama_server, language):
    batch, choices = judged(llama_server, ITEMS, SAFETY, language=language)

    check(batch, choices)
    for choice in choices:
        for key in SAFETY.propositions:
            assert both_are_listed(choice, key)
    assert len(set(batch.probabilities.ravel())) > len(SAFETY.propositions)


def both_are_listed(choice, key):
    """Whether true and false are among the likely tokens where a value may begin."""
    seen = set()
    for step in choice["logprobs"]["content"][place_of(choice, key) :]:
        seen |= {top["token"].strip() for top in step["top_logprobs"]}
        if step["token"].strip():
            return {"true", "false"} <= seen
    return False


@pytest.mark.slow
def test_however_a_value_is_spelled_its_probability_is_that_of_all_spellings(
    llama_server, monkeypatch
):
    # the same fences and the same draws in every run
    monkeypatch.setattr(secrets, "token_hex", lambda n_bytes: "0" * 2 * n_bytes)
    # White space of its own, words with a space before them, words in two tokens.
    wanted = {" ", " true", " false", "true", "false", "fal"}

    spelled = set()
    for seed in range(80):
        asking = {"language": ("en", "zh")[seed % 2], "temperature": 1.0}
        turned = TWO.questions[::-1] if seed % 4 > 1 else TWO.questions  # other prompts
        rubric = replace(TWO, questions=turned)
        batch, choices = judged(llama_server, ITEMS, rubric, seed=seed, **asking)

        check(batch, choices)
        spelled.update(
            choice["logprobs"]["content"][place_of(choice, key)]["token"]
            for choice in choices
            for key in batch.questions
        )
        if wanted <= spelled:
            break
    assert wanted <= spelled


@pytest.mark.slow
@pytest.mark.parametrize("source", ["logprob", "stated", "vote"])
def test_babble_is_unreadable_and_never_a_score(llama_server, source):
    free = Capabilities(forms=("text",))

    batch, _ = judged(llama_server, ITEMS[:2], TWO, capabilities=free, probability=source)

    assert np.isnan(batch.probabilities).all()
    assert all(why.reason.startswith("unreadable reply: ") for why in batch.failures.values())


TURNS = ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
ATTACKS = attacks()
SMALL = [attack for attack in ATTACKS if attack.family != "size"]


def messages_about(items, **asking):
    """Give what a model is sent about items."""
    sent = []

    def answer(request):
        sent.append(msgspec.to_builtins(request.messages))
        return {"apology": 0.5, "disclaimer": 0.5}

    judge = LlmJudge(model=ScriptedModel(answer), concurrency=1, **asking)
    list(judge_items(items, judge, rubric=TWO))
    return sent


@pytest.mark.ci
@pytest.mark.parametrize("language", first_of(["en", "zh"]))
@pytest.mark.parametrize("mode", first_of(["joint", "single"]))
def test_no_attack_becomes_a_part_of_the_chat_template(llama_server, mode, language):
    items = [attacked(ITEMS[0], attack) for attack in SMALL]

    sent = messages_about(items, mode=mode, language=language)

    assert len(sent) == len(SMALL) * (1 if mode == "joint" else 2) >= 40
    assert [llama_server.control_tokens(messages) for messages in sent] == [TURNS] * len(sent)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_under_attack_a_reply_still_answers_what_was_asked(llama_server, language):
    items = [attacked(ITEMS[0], attack) for attack in SMALL]

    batch, choices = judged(llama_server, items, TWO, language=language)

    check(batch, choices)
    assert ((batch.probabilities > 0) & (batch.probabilities < 1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["size/words", "size/brackets"])
def test_a_huge_response_neither_breaks_out_nor_fits(llama_server, name):
    attack = next(attack for attack in ATTACKS if attack.id == name)
    items = [attacked(ITEMS[0], attack), ITEMS[1]]

    batch, _ = judged(llama_server, items[::-1], TWO)

    assert llama_server.control_tokens(messages_about(items)[0]) == TURNS
    assert not np.isnan(batch.probabilities[0]).any()
    assert batch.failures[1, 0].reason.startswith("bad request: ")
    assert "context" in batch.failures[1, 0].reason
