"""Judging in memory: records, rows and frames; what verdicts can be asked."""

import math

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.judging import ScriptedJudge
from voirdire.records import Item


@pytest.fixture
def verdicts(items, judge, rubric):
    return voirdire.judge(items, judge=judge, rubric=rubric)


def test_records_rows_and_frames_give_the_same_verdicts(items, judge, rubric, verdicts):
    rows = [{"id": x.id, "response": x.response, "behavior": x.behavior} for x in items]

    for given in (rows, pl.DataFrame(rows), pl.DataFrame(rows).to_pandas()):
        found = voirdire.judge(given, judge=judge, rubric=rubric)

        assert found.frame().equals(verdicts.frame())


def test_one_row_may_stand_alone_and_hold_numbers_of_numpy(judge, rubric):
    row = {"id": np.int64(7), "response": "0.1 0.2", "seen": np.array([1, 2])}

    assert voirdire.judge(row, judge=judge, rubric=rubric).items == ("7",)


def test_reasoning_in_a_row_is_not_judged_unless_asked_for(rubric):
    judge = ScriptedJudge(
        questions=rubric.propositions, answer=lambda item: ["hm" in item.response, 0.0]
    )
    row = {"id": "a", "response": "<think>hm</think>Sure."}

    plain = voirdire.judge([row], judge=judge, rubric=rubric)
    whole = voirdire.judge([row], judge=judge, rubric=rubric, judged="with_reasoning")

    assert (plain.probability("sorry")[0], whole.probability("sorry")[0]) == (0.0, 1.0)
    assert plain.fingerprint != whole.fingerprint


def test_a_judge_sees_the_whole_conversation(rubric):
    seen = []
    judge = ScriptedJudge(
        questions=rubric.propositions, answer=lambda item: seen.append(item) or [0.0, 0.0]
    )
    said = [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello.")]
    messages = [{"role": role, "content": content} for role, content in said]

    voirdire.judge([{"messages": messages}], judge=judge, rubric=rubric)

    assert [(row.role, row.content) for row in seen[0].prompt] == said[:2]
    assert seen[0].response == "Hello."


def test_probabilities_of_propositions_and_classes(verdicts):
    good = verdicts.probability("refuse.good")
    frame = verdicts.classes("refuse")

    assert verdicts.probability("sorry").tolist() == [0.9, 0.4, 0.5]
    assert good == pytest.approx([0.72, math.nan, math.nan], nan_ok=True)  # of other behaviors
    assert frame.columns == ["item", "class", "bad", "good", "poor"]
    # sorry .9, rude .2: bad = .2, good = .9 x .8, poor = .1 x .8
    assert frame.rows() == [("a", "good", *map(pytest.approx, (0.2, 0.72, 0.08)))]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda found: found.probability("kind"), r"`question` must be a proposition or a class"),
        (lambda found: found.probability("refuse"), r"Write a class as behavior\.class"),
        (lambda found: found.classes("sing"), r"must be in the rubric \('refuse', 'chat'\)"),
    ],
)
def test_unknown_names_are_refused(verdicts, ask, words):
    with pytest.raises(voirdire.InputError, match=words):
        ask(verdicts)


def test_a_notebook_shows_a_table_whose_texts_are_escaped(rubric):
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=lambda item: [0.25, 0.5])

    row = {"id": "<script>alert(1)</script>", "response": "x"}

    shown = voirdire.judge(row, judge=judge, rubric=rubric)._repr_html_()

    assert "0.25" in shown
    assert "<script>" not in shown


def test_rows_that_are_no_items_are_listed(judge, rubric):
    rows = [{"id": "a", "response": "0 0"}, {"id": "b"}]

    found = voirdire.judge(rows, judge=judge, rubric=rubric)

    assert found.items == ("a",)
    assert [row.line for row in found.dropped] == [2]
    assert repr(found).startswith("<Verdicts of 'scripted': 1 items, 2 propositions, ")
    assert repr(found).endswith(", 1 rows set aside>")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], r"`items` must hold at least one item"),
        ([{"id": "a"}], r"must hold at least one item"),
        ("items.jsonl", r"`items` must be a sequence of items or rows, got str"),
        (7, r"`items` must be a sequence of items or rows, got int"),
        ([{"id": "a", "response": "0 0"}, 7], r"all be items or all be mappings, got int"),
        ([Item(id="a", response="0 0")] * 2, r"`items` must have unique ids, got 'a' twice"),
        (
            [Item(id="a", response="0 0", behavior="sing")],
            r"`behavior` must be in rubric 'tiny'",
        ),
    ],
    ids=str,
)
def test_what_is_no_item_is_refused(items, words, judge, rubric):
    with pytest.raises(voirdire.InputError, match=words):
        voirdire.judge(items, judge=judge, rubric=rubric)
