"""Files judged by a model: every item once, what is stored is used again, what fails says why."""

import asyncio
import math
import random

import numpy as np
import polars as pl
import pytest

import voirdire
import voirdire.models
from asked_models import Asked, make_items
from voirdire.errors import BadRequestError, InputError, RefusalError
from voirdire.judging import (
    LlmJudge,
    estimate_run,
    judge_file,
    judge_file_with_several,
)
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

TWO = """
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  refuse:
    description: "A polite refusal."
    demands: {sorry: required, rude: unacceptable}
    classes: {bad: any(unacceptable), good: all(required), poor: otherwise}
  chat:
    description: "A friendly answer."
    demands: {rude: undesired}
    classes: {good: not rude, poor: otherwise}
"""


@pytest.fixture(scope="module")
def two():
    return rubric_from_text(TWO)


@pytest.fixture
def write_items(tmp_path):
    def write(items, name="items.jsonl"):
        path = tmp_path / name
        rows = [
            {
                "id": item.id,
                "prompt": "".join(row.content for row in item.prompt),
                "response": item.response,
                "behavior": item.behavior,
            }
            for item in items
        ]
        pl.DataFrame(rows).write_ndjson(path)
        return path

    return write


def number_in(shown):
    return int(shown["response"].split()[-1])


def read_off(shown):
    """Give probabilities that follow from the number in the response."""
    number = number_in(shown)
    return {"sorry": number % 10 / 10, "rude": number % 7 / 10}


def expected(n_items):
    return np.array([(n % 10 / 10, n % 7 / 10) for n in range(n_items)])


def test_every_item_gets_its_own_answers_in_the_order_of_the_file(tmp_path, two, write_items):
    source = write_items(make_items(1_203))
    asked = Asked(read_off)

    summary = judge_file(
        source, tmp_path / "v.parquet", rubric=two, judge=LlmJudge(model=asked.model)
    )

    found = pl.read_parquet(tmp_path / "v.parquet").filter(pl.col("source") == "logprob")
    assert found["item"].unique(maintain_order=True).to_list() == [f"i{n}" for n in range(1_203)]
    wide = found.pivot("question", index="item", values="probability", maintain_order=True)
    assert wide.select("sorry", "rude").to_numpy() == pytest.approx(expected(1_203), abs=1e-9)
    assert summary.n_items == 1_203
    assert set(asked.seen.values()) == {1}
    assert sum(asked.seen.values()) == 1_203


def test_another_class_rule_pays_for_nothing_and_another_question_for_everything(
    tmp_path, two, write_items
):
    source = write_items(make_items(50))
    judge_file(
        source, tmp_path / "a.parquet", rubric=two, judge=LlmJudge(model=Asked(read_off).model)
    )
    other_class, other_word = Asked(read_off), Asked(read_off)

    judge_file(
        source,
        tmp_path / "b.parquet",
        rubric=rubric_from_text(TWO.replace("good: not rude", "good: not rude and not sorry")),
        judge=LlmJudge(model=other_class.model),
    )
    judge_file(
        source,
        tmp_path / "c.parquet",
        rubric=rubric_from_text(TWO.replace("Is it rude?", "Is it very rude?")),
        judge=LlmJudge(model=other_word.model),
    )

    assert not other_class.seen
    assert len(other_word.seen) == 50


def test_a_failed_call_is_a_failure_and_called_again_only_when_asked(tmp_path, two, write_items):
    source = write_items(make_items(40))
    broken = {3: RefusalError("I cannot judge this"), 8: "no JSON at all"}
    first = Asked(lambda shown: broken.get(number_in(shown)) or read_off(shown))
    again, retried = Asked(read_off), Asked(read_off)
    output = tmp_path / "v.jsonl"

    one = judge_file(source, output, rubric=two, judge=LlmJudge(model=first.model))
    rows = pl.read_ndjson(output).filter(
        pl.col("item").is_in(["i3", "i8"]), ~pl.col("question").str.contains(".", literal=True)
    )
    two_runs = judge_file(source, output, rubric=two, judge=LlmJudge(model=again.model))
    three = judge_file(
        source,
        output,
        rubric=two,
        judge=LlmJudge(model=retried.model),
        retry_failures=True,
    )

    assert one.calls.failures == {"refusal by the judge": 1, "unreadable reply": 1}
    assert rows["label"].to_list() == rows["probability"].to_list() == [None] * 4
    assert [reason.partition(":")[0] for reason in rows["failure"]] == (
        ["refusal by the judge"] * 2 + ["unreadable reply"] * 2
    )
    assert first.seen["answer 3"] == 1  # a refusal is not asked again
    assert first.seen["answer 8"] == 3  # an unreadable reply is, within limits
    assert not again.seen
    assert two_runs.calls.failures == one.calls.failures
    assert set(retried.seen) == {"answer 3", "answer 8"}
    assert three.calls.failures == {}


def test_a_server_known_to_give_none_is_refused_before_anything_is_called():
    model = ScriptedModel(lambda request: {}, log_probabilities=False)

    with pytest.raises(InputError, match="'stated' or 'vote'"):
        LlmJudge(model=model)


def test_every_kind_of_question_reaches_the_table(tmp_path, kinds, write_items):
    def answer(shown):
        return {
            "sorry": 0.75,
            "tone": "warm",
            "topics": ["food", "work"],
            "quality": 4,
            "why": "because\nof “it”",
        }

    source = write_items(make_items(3))
    output = tmp_path / "v.csv"

    summary = judge_file(source, output, rubric=kinds, judge=LlmJudge(model=Asked(answer).model))

    rows = pl.read_csv(output, schema_overrides={"label": pl.String}).filter(pl.col("item") == "i1")
    assert dict(rows.select("question", "label").rows()) == {
        "sorry": "true",
        "tone": "warm",
        "topics": '["food", "work"]',
        "quality": "4",
        "why": "because\nof “it”",
    }
    assert rows.filter(pl.col("question") == "sorry")["probability"].to_list() == [0.75]
    assert rows.filter(pl.col("question") == "tone")["probability"].to_list() == [None]
    shares = {row.question: (row.shares, row.mean) for row in summary.calls.answers}
    assert shares["tone"][0] == {"warm": 1.0, "cold": 0.0}
    assert shares["topics"][0] == {"food": 1.0, "travel": 0.0, "work": 1.0}
    assert shares["quality"][1] == 4.0
    assert math.isnan(shares["why"][1])


def test_a_judge_that_always_takes_the_first_response_ends_in_ties(pairs):
    first = ScriptedModel(lambda request: {"better": "A"})
    items = [Item(id=f"i{n}", response=f"x{n}", other=f"y{n}") for n in range(4)]

    verdicts = voirdire.judge(items, judge=LlmJudge(model=first), rubric=pairs)

    assert verdicts.frame()["label"].to_list() == ["tie"] * 4


def test_a_judge_that_reads_the_pair_is_not_moved_by_the_order(pairs):
    def longer(shown):
        return {"better": "A" if len(shown["response_a"]) > len(shown["response_b"]) else "B"}

    items = [
        Item(id="a", response="a long response", other="short"),
        Item(id="b", response="short", other="a long response"),
    ]

    verdicts = voirdire.judge(items, judge=LlmJudge(model=Asked(longer).model), rubric=pairs)

    assert verdicts.frame()["label"].to_list() == ["A", "B"]


def test_several_judges_write_a_file_each_and_one_that_fails_stops_nobody(
    tmp_path, two, write_items
):
    source = write_items(make_items(60))
    dull = Asked(lambda shown: {"sorry": 0.5, "rude": 0.5}, version="x")
    judges = [
        LlmJudge(model=Asked(read_off).model, name="good/one"),
        LlmJudge(
            model=ScriptedModel(lambda request: BadRequestError("no such luck"), version="bad"),
            name="bad",
        ),
        LlmJudge(model=dull.model, name="dull"),
    ]

    judged = judge_file_with_several(source, tmp_path / "out", judges=judges, rubric=two)

    assert [row.judge for row in judged] == ["good/one", "dull"]
    assert "no such luck" in str(judged.failed["bad"])
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == [
        "dull.parquet",
        "good-one.parquet",
    ]
    found = pl.read_parquet(tmp_path / "out" / "dull.parquet")
    assert found["judge"].unique().to_list() == ["dull"]


def test_judges_of_one_name_are_refused(tmp_path, two, write_items):
    model = Asked(read_off).model

    with pytest.raises(InputError, match="must have different names"):
        judge_file_with_several(
            write_items(make_items(1)),
            tmp_path / "out",
            judges=[LlmJudge(model=model), LlmJudge(model=model)],
            rubric=two,
        )


def test_a_run_inside_a_running_loop_works_as_in_a_notebook(two):
    async def cell():
        return voirdire.judge(
            make_items(3), judge=LlmJudge(model=Asked(read_off).model), rubric=two
        )

    assert asyncio.run(cell()).items == ("i0", "i1", "i2")


def test_answers_of_every_kind_can_be_had_without_a_table(kinds):
    def answer(shown):
        number = number_in(shown)
        return {
            "sorry": number / 10,
            "tone": "cold",
            "topics": ["food"],
            "quality": 2,
            "why": f"since {number}",
        }

    verdicts = voirdire.judge(
        make_items(8), judge=LlmJudge(model=Asked(answer).model), rubric=kinds
    )

    assert verdicts.answers("sorry") == [number >= 5 for number in range(8)]
    assert verdicts.answers("topics") == [("food",)] * 8
    assert verdicts.answers("why")[3] == "since 3"
    assert "1 propositions, 4 other questions" in repr(verdicts)
    with pytest.raises(InputError, match="must have been asked"):
        verdicts.answers("nothing")


def test_verdicts_are_examined_as_they_are(two):
    def careful(shown):
        return {"sorry": 0.9 if number_in(shown) % 2 else 0.1, "rude": 0.2}

    items = make_items(60)
    judges = [
        LlmJudge(model=Asked(careful).model, name="careful"),
        LlmJudge(model=Asked(lambda shown: {"sorry": 0.9, "rude": 0.2}).model, name="always"),
    ]
    draws = random.Random(5)
    people = [
        {"item": item.id, "rater": f"p{k}", "question": "sorry", "label": (n % 2 == 1) != slip}
        for n, item in enumerate(items)
        for k in range(3)
        for slip in [draws.random() < 0.15]
    ]

    verdicts = [voirdire.judge(items, judge=judge, rubric=two) for judge in judges]
    found = voirdire.examine(humans=pl.DataFrame(people), judges=verdicts, kind="boolean")

    assert {row.judge: row.outcome for row in found.results} == {
        "careful": "passed",
        "always": "failed",
    }


def test_an_estimate_counts_stored_failures_where_they_are_called_again(tmp_path, two, write_items):
    source = write_items(make_items(12))
    broken = Asked(lambda shown: RefusalError("no") if number_in(shown) == 3 else read_off(shown))
    judge = LlmJudge(model=broken.model)
    store = tmp_path / "replies.sqlite"
    judge_file(source, tmp_path / "v.parquet", rubric=two, judge=judge, store=store)

    after = estimate_run(source, judge=judge, rubric=two, store=store)
    again = estimate_run(source, judge=judge, rubric=two, store=store, retry_failures=True)

    assert (after.n_calls, after.n_stored) == (0, 12)
    assert (again.n_calls, again.n_stored) == (1, 11)
    assert again.prompt_tokens > after.prompt_tokens == 0


def test_in_single_mode_an_edited_question_is_paid_for_alone(tmp_path, two):
    edited = rubric_from_text(TWO.replace("Is it rude?", "Is it very rude?"))
    first, second = Asked(read_off), Asked(read_off)
    store = tmp_path / "replies.sqlite"

    one = voirdire.judge(
        make_items(5), judge=LlmJudge(model=first.model, mode="single"), rubric=two, store=store
    )
    other = voirdire.judge(
        make_items(5), judge=LlmJudge(model=second.model, mode="single"), rubric=edited, store=store
    )

    assert sum(first.seen.values()) == 10
    assert sum(second.seen.values()) == 5
    assert one.fingerprint != other.fingerprint
