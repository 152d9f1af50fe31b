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

import polars as pl
import pytest

from servers.overheard import overhear
from voirdire.judging import LlmJudge, judge_file
from voirdire.models import load_model

RUBRIC = """
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: apology, kind: boolean, text: {en: "Does it apologise?", zh: "是否道歉？"}}
  - {id: disclaimer, kind: boolean, text: {en: "Does it disclaim?", zh: "是否有免责声明？"}}
  - {id: tone, kind: choice, text: {en: "Which tone?", zh: "语气如何？"}, labels: [warm, cold]}
  - id: topics
    kind: multilabel
    text: {en: "Which topics?", zh: "哪些话题？"}
    labels: [food, travel]
  - id: stars
    kind: scale
    text: {en: "How many stars?", zh: "几颗星？"}
    minimum: 1
    maximum: 5
"""
TEXT = """  - {id: why, kind: text, text: {en: "Why?", zh: "为什么？"}}
"""
PAIRS = """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: {en: "Which is better?", zh: "哪个更好？"}}
"""
BOOLEAN = ("apology", "disclaimer")
TOPICS = ("bread", "地图", "<b>bees</b>")
N_SAMPLES = 3


@pytest.fixture
def judged(tmp_path, llama_server):
    """Judge a few items; give the table, and per response what was said of it, in order."""
    (tmp_path / "kinds.yaml").write_text(RUBRIC + TEXT, encoding="utf-8")
    (tmp_path / "votes.yaml").write_text(RUBRIC, encoding="utf-8")  # a drawn text has no end
    (tmp_path / "pairs.yaml").write_text(PAIRS, encoding="utf-8")
    for name, other in (
        ("kinds", "response"),
        ("votes", "response"),
        ("pairs", "response_a"),
    ):
        rows = [{"id": topic, "prompt": "What of it?", other: f"On {topic}."} for topic in TOPICS]
        if name == "pairs":
            rows = [row | {"response_b": f"Nothing on {row['id']}."} for row in rows]
        pl.DataFrame(rows).write_ndjson(tmp_path / f"{name}.jsonl")

    def judge_some(rubric="kinds", **asking):
        async def run():
            async with overhear(llama_server.address) as wire:
                model = load_model(f"openai/{llama_server.model}", base_url=f"{wire.base_url}/v1")
                judge = LlmJudge(model=model, n_samples=N_SAMPLES, **asking)
                await asyncio.to_thread(
                    judge_file,
                    tmp_path / f"{rubric}.jsonl",
                    tmp_path / "out.parquet",
                    rubric=tmp_path / f"{rubric}.yaml",
                    judge=judge,
                )
                return wire

        wire = asyncio.run(run())
        said = defaultdict(list)
        for request, answer in zip(wire.requests, wire.answers, strict=True):
            said[topic_of(request)].extend(answer["choices"])
        return pl.read_parquet(tmp_path / "out.parquet"), said, wire.requests

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
    asked = [choice for choice in choices if f'"{key}"' in choice["message"]["content"]]
    (choice,) = asked
    steps = choice["logprobs"]["content"]
    begins = [0]
    for step in steps:
        begins.append(begins[-1] + len(step["token"]))
    text = choice["message"]["content"]
    place = begins.index(re.search(rf'"{key}"\s*:', text).end())
    yes, no = weigh(steps[place:])
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
    part = frame.filter(pl.col("question") == question)
    return dict(part.select("item", name).rows())


@pytest.mark.parametrize(
    ("mode", "language"),
    [
        pytest.param("joint", "en", marks=pytest.mark.ci),
        pytest.param("joint", "zh", marks=pytest.mark.slow),
        pytest.param("single", "en", marks=pytest.mark.slow),
        pytest.param("single", "zh", marks=pytest.mark.slow),
    ],
)
def test_log_probabilities_in_the_table_are_the_servers(judged, mode, language):
    frame, said, requests = judged(mode=mode, probability="logprob", language=language)

    assert len(requests) == len(TOPICS) * (1 if mode == "joint" else 6)
    found = []
    for key in BOOLEAN:
        probabilities, masses = (
            column(frame, key, name) for name in ("probability", "missing_mass")
        )
        for topic in TOPICS:
            expected = probability_by_hand(said[topic], key)
            assert (probabilities[topic], masses[topic]) == pytest.approx(expected, abs=1e-9)
            found.append(probabilities[topic])
    assert len(set(found)) > len(TOPICS)
    assert_other_kinds(frame, said)
    assert frame["failure"].null_count() == len(frame)
    assert any("是否道歉" in json.dumps(row, ensure_ascii=False) for row in requests) == (
        language == "zh"
    )


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["joint", "single"])
def test_stated_probabilities_in_the_table_are_those_that_were_written(judged, mode, language):
    frame, said, _ = judged(mode=mode, probability="stated", language=language)

    for key in BOOLEAN:
        found = column(frame, key, "probability")
        assert found == {topic: values_of(said[topic], key)[0] for topic in TOPICS}
    assert_other_kinds(frame, said)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["joint", "single"])
def test_votes_in_the_table_are_the_shares_of_what_was_said(judged, mode, language):
    frame, said, requests = judged("votes", mode=mode, probability="vote", language=language)

    # One request draws all samples. Some cannot be read now and then, and are asked for again.
    n_asked = len(TOPICS) * (1 if mode == "joint" else 5)
    assert len(requests) >= n_asked
    assert sum(request.get("n") == N_SAMPLES for request in requests) == n_asked
    for key in BOOLEAN:
        found = column(frame, key, "probability")
        shares = {topic: fmean(values_of(said[topic], key)) for topic in TOPICS}
        assert found == pytest.approx(shares)
        assert all(2 * len(values_of(said[topic], key)) > N_SAMPLES for topic in TOPICS)
    tones = column(frame, "tone", "label")
    counts = {topic: Counter(values_of(said[topic], "tone")) for topic in TOPICS}
    assert tones == {topic: count.most_common(1)[0][0] for topic, count in counts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("source", ["logprob", "stated"])
def test_a_pair_is_judged_both_ways(judged, source, language):
    frame, said, requests = judged("pairs", probability=source, language=language)

    assert len(requests) == 2 * len(TOPICS)
    back = {"A": "B", "B": "A", "tie": "tie"}
    for topic, label in column(frame, "better", "label").items():
        both = [
            back[value] if is_swapped(request) else value
            for request, value in zip(
                [row for row in requests if topic_of(row) == topic],
                values_of(said[topic], "better"),
                strict=True,
            )
        ]
        assert label == (both[0] if len(set(both)) == 1 else "tie")


def is_swapped(request):
    """Whether the second response of the file is shown as the first."""
    shown = request["messages"][-1]["content"]
    return shown.index('"Nothing on') < shown.index('"On ')


def assert_other_kinds(frame, said):
    """Compare the labels of the other kinds with the only reply that has them."""
    for topic in TOPICS:
        labels = {
            key: column(frame, key, "label")[topic] for key in ("tone", "topics", "stars", "why")
        }
        (tone,), (topics,), (stars,), (why,) = (values_of(said[topic], key) for key in labels)
        assert labels["tone"] == tone
        assert json.loads(labels["topics"]) == sorted(topics, key=("food", "travel").index)
        assert float(labels["stars"]) == stars
        assert labels["why"] == why
