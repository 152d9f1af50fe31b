"""A jury: its answers are worked out by hand from those of its judges."""

import json
import math

import numpy as np
import polars as pl
import pytest

import voirdire
from judging.live.live_cases import RUBRIC as MIXED
from voirdire.errors import AccessError, DegenerateDataWarning, InputError, RefusalError
from voirdire.judging import (
    CascadeJudge,
    JuryJudge,
    LlmJudge,
    ScriptedJudge,
    judge_file,
    load_judges,
)
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  chat: {demands: {sorry: required}, classes: {good: all(required), poor: otherwise}}
"""
)
QUESTIONS = RUBRIC.propositions
ITEMS = [Item(id=f"i{n}", response=f"response {n}") for n in range(7)]


def local(name, *rows):
    """Make a judge in process that says one row of numbers after the other."""
    by_item = {item.response: list(rows[n % len(rows)]) for n, item in enumerate(ITEMS)}
    return ScriptedJudge(name=name, questions=QUESTIONS, answer=lambda item: by_item[item.response])


def model(name, answer):
    return LlmJudge(model=ScriptedModel(answer, name=name), probability="stated")


def says(**chances):
    """Answer what is asked with these chances."""

    return lambda request: {key: chances[key] for key in json.loads(request.schema)["properties"]}


def judged(jury, **settings):
    return voirdire.judge(ITEMS, judge=jury, rubric=RUBRIC, **settings)


def test_a_probability_is_the_weighted_mean_of_the_judges():
    first = local("first", (0.9, 0.1), (0.2, 0.4))
    second = model("second", says(sorry=0.5, rude=0.75))
    third = local("third", (0.3, 0.6))

    jury = JuryJudge(judges=(first, second, third), weights=(2, 1, 1))
    chats = [Item(id=item.id, response=item.response, behavior="chat") for item in ITEMS]

    found = judged(jury)
    classes = voirdire.judge(chats, judge=jury, rubric=RUBRIC).classes("chat")

    # (2 × .9 + .5 + .3) / 4, (2 × .1 + .75 + .6) / 4 and so on
    odd, even = [2.6 / 4, 1.55 / 4], [1.2 / 4, 2.15 / 4]
    assert found.probabilities == pytest.approx(np.array([odd, even] * 3 + [odd]))
    assert (found.judge, found.source) == ("first & second & third", "jury")
    assert classes["good"].to_list() == pytest.approx(found.probabilities[:, 0])


def test_a_majority_is_the_share_of_the_judges_who_say_yes():
    judges = [local("a", (0.51, 0.2)), local("b", (0.99, 0.4)), local("c", (0.49, 0.5))]

    found = judged(JuryJudge(judges=judges, combine="majority"))

    assert found.probabilities == pytest.approx(np.array([[2 / 3, 1 / 3]] * 7))


def test_judges_without_an_answer_are_left_out_while_the_others_weigh_more_than_half():
    a = local("a", (0.2, math.nan))
    b = local("b", (0.4, 0.6), (math.nan, math.nan))
    c = local("c", (0.6, math.nan))

    found = judged(JuryJudge(judges=(a, b, c)))

    assert found.probabilities[:, 0] == pytest.approx([0.4, 0.4] * 3 + [0.4])
    assert np.isnan(found.probabilities[:, 1]).all()
    assert set(found.missing) == {item.id for item in ITEMS}


def test_a_model_that_refuses_costs_the_jury_its_vote_only():
    never = model("never", lambda request: RefusalError("no"))
    three = (local("a", (0.2, 0.2)), local("b", (0.4, 0.4)), never)

    found = judged(JuryJudge(judges=three))
    with pytest.warns(DegenerateDataWarning, match="none of 7 items got an answer: refusal"):
        two = judged(JuryJudge(judges=three[1:]))

    assert found.probabilities == pytest.approx(np.full((7, 2), 0.3))
    assert np.isnan(two.probabilities).all()
    assert two.failures[0, 0].reason.startswith("refusal")


def test_other_questions_go_by_majority():
    def tone(*said):
        answers = [says(sorry=0.5, tone=word, rude=0.5) for word in said]
        jury = JuryJudge(judges=[model(f"m{n}", answer) for n, answer in enumerate(answers)])
        return voirdire.judge(ITEMS[:1], judge=jury, rubric=MIXED).answers("tone")

    assert tone("warm", "cold", "warm") == ["warm"]
    assert tone("warm", "cold") == [None]  # a tie
    two = JuryJudge(judges=(local("a", (0, 1)), local("b", (0, 1))))
    with pytest.raises(InputError, match="must be language models for 'tone'"):
        voirdire.judge(ITEMS, judge=two, rubric=MIXED)


def test_a_cascade_may_sit_on_a_jury_and_what_ends_its_run_ends_the_jurys():
    quick, other = local("quick", (0.01, 0.01), (0.5, 0.01)), local("b", (0.5, 0.5))

    def jury(answer):
        cascade = CascadeJudge(first=quick, then=model("then", answer), unsure=(0.1, 0.9))
        return JuryJudge(judges=(cascade, other))

    found = judged(jury(says(sorry=1.0, rude=0.0)))
    with pytest.raises(AccessError, match="no key"):
        judged(jury(lambda request: AccessError("no key")))

    sure, unsure = [0.51 / 2, 0.51 / 2], [1.5 / 2, 0.5 / 2]
    assert found.probabilities == pytest.approx(np.array([sure, unsure] * 3 + [sure]))


def test_a_file_and_a_second_run_say_the_same(tmp_path):
    path, output = tmp_path / "items.jsonl", tmp_path / "verdicts.parquet"
    items = [Item(id=f"i{n}", response=f"response {n}") for n in range(40)]
    path.write_text("\n".join(json.dumps({"id": x.id, "response": x.response}) for x in items))
    half = ScriptedJudge(name="half", questions=QUESTIONS, answer=lambda item: [0.5, 1.0])
    jury = JuryJudge(judges=(model("model", says(sorry=0.125, rude=0.5)), half))

    summary = judge_file(path, output, judge=jury, rubric=RUBRIC)
    again = judge_file(path, output, judge=jury, rubric=RUBRIC)

    table = pl.read_parquet(output).filter(pl.col("source") == "jury")
    assert table["probability"].unique().sort().to_list() == [0.3125, 0.75]
    assert summary.calls.n_calls == 40
    assert (again.calls.n_calls, again.calls.n_reused) == (0, 40)


JURY = """
schema: voirdire.jury/1
jury:
  name: three
  combine: majority
  judges:
    - {name: mini, model: openai/gpt-4o-mini, probability: stated, weight: 2}
    - {model: openai/gpt-4.1, mode: single}
    - {judge: local}
"""


def test_a_jury_is_read_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    path = tmp_path / "jury.yaml"
    path.write_text(JURY)

    (jury,) = load_judges(path)

    first, second, third = jury.judges
    assert (jury.name, jury.combine, jury.weights) == ("three", "majority", (2.0, 1.0, 1.0))
    assert (first.name, first.probability) == ("mini", "stated")
    assert (second.mode, third) == ("single", "local")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (JURY.replace("majority", "median"), r"jury.yaml:5:.*combine"),
        (JURY.replace("weight: 2", "weight: 0"), r"jury.yaml:7:.*weight"),
        (JURY.replace("{judge: local}", "{judge: local, mode: joint}"), r"nothing but `weight`"),
        (JURY.replace("{judge: local}", "{name: x}"), r"jury.yaml:9:.*key `model`"),
        (JURY.partition("    - {model")[0], r"at least 2 judges"),
        (JURY.replace("name: mini", "name: mini, api_key: sk-" + "a1" * 20), "without keys"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path, wrong, message):
    path = tmp_path / "jury.yaml"
    path.write_text(wrong)

    with pytest.raises(InputError, match=message) as caught:
        load_judges(path, reads_keys=False)

    assert "a1a1a1" not in str(caught.value)


TWO = (local("a", (0.5, 0.5)), local("b", (0.5, 0.5)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"judges": (local("a", (0.5, 0.5)),)}, "at least 2 judges"),
        ({"judges": "local"}, "at least 2 judges"),
        ({"combine": "median"}, "`combine`"),
        ({"weights": (1,)}, "2 numbers above 0"),
        ({"weights": (1, -1)}, "2 numbers above 0"),
        ({"judges": (local("a", (0.5, 0.5)),) * 2}, "different names, got 'a' twice"),
        ({"judges": (JuryJudge(judges=TWO), TWO[0])}, "without juries"),
    ],
)
def test_a_jury_that_is_none_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        judged(JuryJudge(**{"judges": TWO} | wrong))
