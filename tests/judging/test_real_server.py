"""Files judged by a real server: every figure of the table worked out again from its JSON.

A forwarder keeps what llama.cpp's server was asked and said; what is expected comes from that
alone.
"""

import asyncio
import json
import math
import re
from collections import Counter, defaultdict
from statistics import fmean

import msgspec
import numpy as np
import polars as pl
import pytest

from servers.overheard import overhear
from voirdire.judging import LlmJudge, judge_file, judge_items
from voirdire.models import load_model
from voirdire.probes import attacked, attacks
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.testing import ScriptedModel

HEAD = 'schema: voirdire.rubric/1\nname: asked\nversion: "1"\nquestions:\n'
KINDS = """
  - {id: apology, kind: boolean, text: {en: "Does it apologise?", zh: "是否道歉？"}}
  - {id: disclaimer, kind: boolean, text: {en: "Does it disclaim?", zh: "是否有免责声明？"}}
  - {id: tone, kind: choice, text: {en: "Which tone?", zh: "语气如何？"}, labels: [warm, cold]}
  - id: topics
    kind: multilabel
    text: {en: "Which topics?", zh: "哪些话题？"}
    labels: [food, travel]
  - {id: stars, kind: scale, text: {en: "Stars?", zh: "几颗星？"}, minimum: 1, maximum: 5}
"""
TEXT = '  - {id: why, kind: text, text: {en: "Why?", zh: "为什么？"}}\n'
RUBRICS = {
    "safety": load_rubric("safety"),
    "kinds": rubric_from_text(HEAD + KINDS + TEXT),
    "votes": rubric_from_text(HEAD + KINDS),  # a drawn text has no end
}
BOOLEAN = ("apology", "disclaimer")
TOPICS = ("bread", "地图", "<b>bees</b>")
N_SAMPLES = 3


@pytest.fixture
def judged(tmp_path, llama_server):
    """Judge a few items; give the table, what was said of each in order, and the requests."""
    items, output = tmp_path / "items.jsonl", tmp_path / "out.parquet"
    rows = [{"id": topic, "prompt": "Well?", "response": f"On {topic}."} for topic in TOPICS]
    pl.DataFrame(rows).write_ndjson(items)

    async def run(rubric, asking):
        async with overhear(llama_server.address) as wire:
            model = load_model(f"openai/{llama_server.model}", base_url=f"{wire.base_url}/v1")
            judge = LlmJudge(model=model, n_samples=N_SAMPLES, **asking)
            await asyncio.to_thread(judge_file, items, output, rubric=rubric, judge=judge)
            return wire

    def judge_some(rubric="kinds", **asking):
        wire = asyncio.run(run(RUBRICS[rubric], asking))
        said = defaultdict(list)
        for request, answer in zip(wire.requests, wire.answers, strict=True):
            said[topic_of(request)].extend(answer["choices"])
        return pl.read_parquet(output), said, wire.requests

    return judge_some


def topic_of(request):
    """Tell which item a request is about."""
    shown = request["messages"][-1]["content"].replace(r"\u003c", "<").replace(r"\u003e", ">")
    (topic,) = [topic for topic in TOPICS if f"On {topic}." in shown]
    return topic


def values_of(choices, key):
    """Give what was said to a question, in every readable reply that was asked it."""
    replies = [json.loads(row["message"]["content"]) for row in choices if is_readable(row)]
    return [reply[key] for reply in replies if key in reply]


def is_readable(choice):
    """Whether a reply was not cut off, and names no label twice: no grammar rules that out."""
    if choice["finish_reason"] != "stop":
        return False
    topics = json.loads(choice["message"]["content"]).get("topics", [])
    return len(set(topics)) == len(topics)


def probability_by_hand(choices, key):
    """Give P(true) at the value of a key and what is on neither word, from the one reply."""
    (choice,) = [row for row in choices if f'"{key}"' in row["message"]["content"]]
    steps, text = choice["logprobs"]["content"], choice["message"]["content"]
    tokens = [step["token"] for step in steps]
    begins = np.cumsum([0, *map(len, tokens)]).tolist()
    # a fence may stand before the content
    value = "".join(tokens).index(text) + re.search(rf'"{key}"\s*:', text).end()
    yes, no = weigh(steps[begins.index(value) :])
    return yes / (yes + no), 1 - yes - no


def weigh(steps):
    """Sum what begins true and what begins false; a space puts the choice off to the next."""
    chances = {top["token"]: math.exp(top["logprob"]) for top in steps[0]["top_logprobs"]}
    words = {token: token.strip().lower() for token in chances}
    yes, no = (
        math.fsum(chances[t] for t, start in words.items() if start and word.startswith(start))
        for word in ("true", "false")
    )
    if not steps[0]["token"].strip():
        later = weigh(steps[1:])
        taken = math.exp(steps[0]["logprob"])
        return yes + taken * later[0], no + taken * later[1]
    return yes, no


def column(frame, question, name):
    return dict(frame.filter(question=question).select("item", name).rows())


def assert_other_kinds(frame, said):
    """Compare the labels of the other kinds with the only reply that has them."""
    for topic in TOPICS:
        keys = ("tone", "topics", "stars", "why")
        tone, topics, stars, why = (column(frame, key, "label")[topic] for key in keys)
        written = [values_of(said[topic], key) for key in keys]
        topics = sorted(json.loads(topics), key=written[1][0].index)
        assert [[tone], [topics], [float(stars)], [why]] == written


def first_of(*cases):
    """Give the first of some cases to a run of CI, and all to a full one."""
    marks = [pytest.mark.ci, *[pytest.mark.slow] * (len(cases) - 1)]
    return [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks, strict=True)]


WAYS = [(mode, language) for mode in ("joint", "single") for language in ("en", "zh")]


@pytest.mark.parametrize(
    ("rubric", "mode", "language"),
    [
        *first_of(*(("kinds", *way) for way in WAYS)),
        *first_of(("safety", "joint", "en"), ("safety", "joint", "zh")),
    ],
)
def test_log_probabilities_in_the_table_are_the_servers(judged, rubric, mode, language):
    frame, said, requests = judged(rubric, mode=mode, language=language)

    assert len(requests) == len(TOPICS) * (1 if mode == "joint" else 6)
    for key in RUBRICS[rubric].propositions:
        for topic in TOPICS:
            found = [column(frame, key, name)[topic] for name in ("probability", "missing_mass")]
            assert found == pytest.approx(probability_by_hand(said[topic], key), abs=1e-9)
    assert frame["probability"].n_unique() > len(RUBRICS[rubric].propositions)
    assert frame["failure"].null_count() == len(frame)
    if rubric == "kinds":
        assert_other_kinds(frame, said)
        asked = json.dumps(requests, ensure_ascii=False)
        assert ("是否道歉" in asked) == (language == "zh")


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "language"), WAYS)
def test_stated_probabilities_in_the_table_are_those_that_were_written(judged, mode, language):
    frame, said, _ = judged(mode=mode, probability="stated", language=language)

    for key in BOOLEAN:
        found = column(frame, key, "probability")
        assert found == {topic: values_of(said[topic], key)[0] for topic in TOPICS}
    assert_other_kinds(frame, said)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "language"), WAYS)
def test_votes_in_the_table_are_the_shares_of_what_was_said(judged, mode, language):
    frame, said, requests = judged("votes", mode=mode, probability="vote", language=language)

    # One request draws all samples. Some cannot be read now and then, and are asked for again.
    n_asked = len(TOPICS) * (1 if mode == "joint" else 5)
    assert sum(request.get("n") == N_SAMPLES for request in requests) == n_asked
    for key in BOOLEAN:
        votes = {topic: values_of(said[topic], key) for topic in TOPICS}
        shares = {topic: fmean(values) for topic, values in votes.items()}
        assert column(frame, key, "probability") == pytest.approx(shares)
        assert all(2 * len(values) > N_SAMPLES for values in votes.values())
    tones = {topic: Counter(values_of(said[topic], "tone")) for topic in TOPICS}
    most = {topic: count.most_common(1)[0][0] for topic, count in tones.items()}
    assert column(frame, "tone", "label") == most


@pytest.mark.parametrize(("mode", "language"), first_of(*WAYS))
def test_no_attack_becomes_a_part_of_the_chat_template(llama_server, mode, language):
    sent = []

    def answer(request):
        sent.append(msgspec.to_builtins(request.messages))
        return {"apology": 0.5, "disclaimer": 0.5}

    plain = Item(id="a", prompt=(Message(role="user", content="你怎么看？"),), response="No: 不。")
    items = [attacked(plain, attack) for attack in attacks() if attack.family != "size"]
    judge = LlmJudge(model=ScriptedModel(answer), mode=mode, language=language)
    two = rubric_from_text(HEAD + "".join(KINDS.splitlines(keepends=True)[:3]))
    list(judge_items(items, judge, rubric=two))

    turns = ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
    assert len(sent) == len(items) * (1 if mode == "joint" else 2) >= 40
    assert [llama_server.control_tokens(messages) for messages in sent] == [turns] * len(sent)
