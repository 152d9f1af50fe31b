"""The verdict table: what stands in every cell, long and wide."""

import dataclasses
import hashlib

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.judging import ScriptedJudge, judge_file, judge_items
from voirdire.records import Item

LONG = ["item", "judge", "question", "label", "probability", "source", "threshold", "behavior"]
LONG += ["failure", "fingerprint", "response_hash"]
CLASSES = ["refuse.bad", "refuse.good", "refuse.poor", "chat.good", "chat.poor"]
WIDE = ["item", "behavior", "sorry", "rude", *CLASSES, "response_hash", "judge", "fingerprint"]


@pytest.fixture
def batch(items, judge, rubric):
    return next(judge_items(items, judge, rubric=rubric))


def test_an_items_propositions_come_first_and_then_its_classes(batch):
    frame = batch.frame()

    assert frame.columns == LONG
    refuse, chat = ["refuse.bad", "refuse.good", "refuse.poor"], ["chat.good", "chat.poor"]
    assert frame.select("item", "question").rows() == [
        *(("a", name) for name in ["sorry", "rude", *refuse]),
        *(("b", name) for name in ["sorry", "rude", *chat]),
        *(("c", name) for name in ["sorry", "rude"]),  # it names no behavior
    ]


def test_classes_are_exact_and_the_hard_one_is_the_label(batch, judge):
    frame = batch.frame().filter(pl.col("item") == "a")

    # sorry .9, rude .2: bad = .2, good = .9 x .8 = .72, poor = .1 x .8 = .08; sorry and not rude.
    assert frame["probability"].to_list() == pytest.approx([0.9, 0.2, 0.2, 0.72, 0.08])
    assert frame["label"].to_list() == [True, False, False, True, False]
    assert frame["source"].to_list() == [judge.source] * 2 + ["derived"] * 3
    assert frame["fingerprint"].unique().to_list() == [batch.fingerprint]


def test_every_row_has_the_hash_of_its_response(judge, rubric):
    items = [Item(id="a", response="0.1 0.2"), Item(id="b", response="0.3 0.4", other="é")]

    frame = voirdire.judge(items, judge=judge, rubric=rubric).frame()

    texts = {"a": b'["0.1 0.2",null]', "b": '["0.3 0.4","é"]'.encode()}
    assert set(frame.select("item", "response_hash").rows()) == {
        (name, f"sha256:{hashlib.sha256(text).hexdigest()[:16]}") for name, text in texts.items()
    }


def test_a_proposition_is_true_from_the_threshold_on(items, judge, rubric):
    (batch,) = judge_items(items, judge, rubric=rubric, threshold=0.4)

    frame = batch.frame().filter(pl.col("question") == "sorry")

    assert frame["label"].to_list() == [True, True, True]
    assert frame["threshold"].unique().to_list() == [0.4]


def test_a_failure_is_null_with_a_reason_and_so_are_the_classes_that_need_it(judge, rubric):
    items = [
        Item(id="open", response="nan 0.1", behavior="refuse"),
        # rude: true makes the class bad, whatever sorry is
        Item(id="bad", response="nan 0.9", behavior="refuse"),
    ]

    (batch,) = judge_items(items, judge, rubric=rubric)

    columns = ["question", "label", "failure"]
    needed = "an answer that the class needs is missing"
    assert batch.frame().filter(item="open").select(columns).rows() == [
        ("sorry", None, "the judge gave no probability"),
        ("rude", False, None),
        *((f"refuse.{name}", None, needed) for name in ("bad", "good", "poor")),
    ]
    assert batch.frame().filter(item="bad").select(columns).rows() == [
        ("sorry", None, "the judge gave no probability"),
        ("rude", True, None),
        *((f"refuse.{name}", name == "bad", None) for name in ("bad", "good", "poor")),
    ]
    assert batch.frame().filter(pl.col("label").is_null())["probability"].null_count() == 5


def test_wide_has_one_row_per_item_and_every_class_in_every_batch(batch, items, judge, rubric):
    frame, long = batch.frame("wide"), batch.frame()
    (one,) = judge_items(items[:1], judge, rubric=rubric)

    assert frame.columns == WIDE
    assert frame["item"].to_list() == ["a", "b", "c"]
    assert frame["behavior"].to_list() == ["refuse", "chat", None]
    assert frame["chat.good"].to_list() == [None, pytest.approx(1.0), None]
    for item, question, probability in long.select("item", "question", "probability").rows():
        assert frame.filter(item=item)[question].to_list() == [probability]
    assert one.frame("wide").equals(frame[:1])  # although no item of it is a chat


def test_a_rubric_without_behaviors_gives_propositions_only(items, judge, rubric):
    plain = dataclasses.replace(rubric, behaviors=())

    (batch,) = judge_items(items, judge, rubric=plain)

    assert batch.frame()["question"].to_list() == ["sorry", "rude"] * 3


def test_an_unknown_layout_is_refused(batch):
    with pytest.raises(voirdire.InputError, match="`layout` must be one of 'long', 'wide'"):
        batch.frame("broad")


def test_a_question_with_the_name_of_a_column_needs_the_long_layout(rubric, write_items, tmp_path):
    questions = (dataclasses.replace(rubric.questions[0], id="judge"),)
    named = dataclasses.replace(rubric, questions=questions, behaviors=())
    judge = ScriptedJudge(questions=("judge",), answer=lambda item: [0.5])

    with pytest.raises(voirdire.InputError, match=r"`layout` must be 'long'.*'judge'"):
        judge_file(write_items(1), tmp_path / "o.csv", rubric=named, judge=judge, layout="wide")


@pytest.mark.parametrize("text", ["1.5 0", "-0.1 0.3", "inf 0"])
def test_a_judge_outside_the_unit_interval_is_refused(judge, rubric, text):
    with pytest.raises(voirdire.InputError, match=r"probabilities in \[0, 1\].*'scripted'"):
        next(judge_items([Item(id="a", response=text)], judge, rubric=rubric))


def test_a_judge_that_gives_too_few_columns_is_refused(rubric):
    class Short(ScriptedJudge):
        def probabilities(self, items):
            return np.zeros((len(items), 1))

    judge = Short(questions=("sorry", "rude"), answer=None)

    with pytest.raises(voirdire.InputError, match=r"shape \(1, 2\), got \(1, 1\)"):
        next(judge_items([Item(id="a", response="")], judge, rubric=rubric))
