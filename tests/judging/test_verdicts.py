"""Judging in memory: records, rows and frames; what verdicts can be asked."""

import math

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.judging import ScriptedJudge
from voirdire.records import Item, Message


@pytest.fixture
def verdicts(items, judge, rubric):
    return voirdire.judge(items, judge=judge, rubric=rubric)


def test_records_rows_and_frames_give_the_same_verdicts(items, judge, rubric, verdicts):
    rows = [{"id": x.id, "response": x.response, "behavior": x.behavior} for x in items]

    for given in (rows, pl.DataFrame(rows), pl.DataFrame(rows).to_pandas()):
        found = voirdire.judge(given, judge=judge, rubric=rubric)

        assert found.frame().equals(verdicts.frame())


def test_one_row_may_stand_alone(judge, rubric):
    found = voirdire.judge({"prompt": "?", "response": "0.1 0.2"}, judge=judge, rubric=rubric)

    assert found.items == ("items:1",)


def test_numbers_of_numpy_in_rows_are_numbers(judge, rubric):
    row = {"id": np.int64(7), "response": "0.1 0.2", "seen": np.array([1, 2])}

    assert voirdire.judge([row], judge=judge, rubric=rubric).items == ("7",)


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
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
    ]

    voirdire.judge([{"messages": messages}], judge=judge, rubric=rubric)

    assert seen[0].prompt == (
        Message(role="system", content="Be kind."),
        Message(role="user", content="Hi"),
    )
    assert seen[0].response == "Hello."


def test_probabilities_of_propositions_and_classes(verdicts):
    assert verdicts.probability("sorry").tolist() == [0.9, 0.4, 0.5]
    good = verdicts.probability("refuse.good")
    assert good[0] == pytest.approx(0.72)
    assert math.isnan(good[1])  # of another behavior
    assert math.isnan(good[2])  # of none


def test_classes_of_the_items_that_a_behavior_concerns(verdicts):
    frame = verdicts.classes("refuse")

    assert frame.columns == ["item", "class", "bad", "good", "poor"]
    assert frame.select("item", "class").rows() == [("a", "good")]
    assert frame.select(pl.sum_horizontal("bad", "good", "poor")).to_series().to_list() == [
        pytest.approx(1.0)
    ]


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

    shown = voirdire.judge(
        [{"id": "<script>alert(1)</script>", "response": "x"}], judge=judge, rubric=rubric
    )._repr_html_()

    assert "0.25" in shown
    assert "<script>" not in shown


def test_the_repr_says_how_much_there_is(verdicts):
    assert repr(verdicts) == (
        "<Verdicts of 'scripted': 3 items, 2 propositions, classes of refuse, chat, threshold 0.5>"
    )


def test_rows_that_are_no_items_are_listed(judge, rubric):
    rows = [{"id": "a", "response": "0 0"}, {"id": "b"}]

    found = voirdire.judge(rows, judge=judge, rubric=rubric)

    assert found.items == ("a",)
    assert [row.line for row in found.dropped] == [2]
    assert "1 rows set aside" in repr(found)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], r"`items` must hold at least one item"),
        ([{"id": "a"}], r"must hold at least one item"),
        ("items.jsonl", r"`items` must be a sequence of items or rows, got str"),
        (7, r"`items` must be a sequence of items or rows, got int"),
        ([{"id": "a", "response": "0 0"}, 7], r"all be items or all be mappings, got int"),
        ([Item(id="a", response="0 0")] * 2, r"`items` must have unique ids, got 'a' twice"),
    ],
    ids=str,
)
def test_what_is_no_item_is_refused(items, words, judge, rubric):
    with pytest.raises(voirdire.InputError, match=words):
        voirdire.judge(items, judge=judge, rubric=rubric)


def test_an_items_own_unknown_behavior_is_an_error_in_memory(judge, rubric):
    items = [Item(id="a", response="0 0", behavior="sing")]

    with pytest.raises(voirdire.InputError, match=r"`behavior` must be in rubric 'tiny'"):
        voirdire.judge(items, judge=judge, rubric=rubric)


def test_the_fingerprint_covers_what_verdicts_depend_on(items, judge, rubric):
    def fingerprint(**settings):
        return voirdire.judge(items, **({"judge": judge, "rubric": rubric} | settings)).fingerprint

    other = ScriptedJudge(questions=judge.questions, answer=judge.answer, version="2")
    found = [
        fingerprint(),
        fingerprint(threshold=0.3),
        fingerprint(judge=other),
        fingerprint(judged="whole_turn"),
    ]

    assert len(set(found)) == 4
    assert fingerprint() == found[0]
    assert all(len(each) == len("sha256:") + 64 for each in found)
