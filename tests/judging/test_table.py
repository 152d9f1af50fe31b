"""The verdict table: what stands in every cell, long and wide."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.judging import ScriptedJudge, judge_file, judge_items
from voirdire.records import Failure, Item

LONG = ["item", "judge", "question", "label", "probability", "source", "threshold", "behavior"]
LONG += ["failure", "fingerprint"]
CLASSES = ["refuse.bad", "refuse.good", "refuse.poor", "chat.good", "chat.poor"]
WIDE = ["item", "behavior", "sorry", "rude", *CLASSES, "judge", "fingerprint"]


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


def test_classes_are_exact_and_the_hard_one_is_the_label(batch):
    frame = batch.frame().filter(pl.col("item") == "a")

    # sorry .9, rude .2: bad = .2, good = .9 x .8 = .72, poor = .1 x .8 = .08; sorry and not rude.
    expected = [
        ("sorry", 0.9, True),
        ("rude", 0.2, False),
        ("refuse.bad", 0.2, False),
        ("refuse.good", 0.72, True),
        ("refuse.poor", 0.08, False),
    ]
    rows = frame.select("question", "probability", "label").rows()
    for found, wanted in zip(rows, expected, strict=True):
        assert found == (wanted[0], pytest.approx(wanted[1]), wanted[2])


def test_a_proposition_is_true_from_the_threshold_on(items, judge, rubric):
    (batch,) = judge_items(items, judge, rubric=rubric, threshold=0.4)

    frame = batch.frame().filter(pl.col("question") == "sorry")

    assert frame["label"].to_list() == [True, True, True]
    assert frame["threshold"].unique().to_list() == [0.4]


def test_derived_rows_say_so(batch, judge):
    frame = batch.frame()

    derived = frame["question"].str.contains(".", literal=True)
    assert frame.filter(derived)["source"].unique().to_list() == ["derived"]
    assert frame.filter(~derived)["source"].unique().to_list() == [judge.source]
    assert frame["judge"].unique().to_list() == ["scripted"]
    assert frame["fingerprint"].unique().to_list() == [batch.fingerprint]


def test_a_failure_is_null_with_a_reason_and_so_are_the_classes_that_need_it(judge, rubric):
    items = [Item(id="x", response="nan 0.1", behavior="refuse")]

    (batch,) = judge_items(items, judge, rubric=rubric)

    rows = {row["question"]: row for row in batch.frame().iter_rows(named=True)}
    assert (rows["sorry"]["label"], rows["sorry"]["probability"]) == (None, None)
    assert rows["sorry"]["failure"] == "the judge gave no probability"
    assert (rows["rude"]["label"], rows["rude"]["failure"]) == (False, None)
    assert rows["refuse.good"]["label"] is None
    assert rows["refuse.good"]["probability"] is None
    assert rows["refuse.good"]["failure"] == "an answer that the class needs is missing"


def test_the_reason_of_each_failure_stands_in_its_row(batch):
    failures = {(0, 0): Failure(reason="timeout"), (2, 1): Failure(reason="unreadable reply")}
    probabilities = batch.probabilities.copy()
    for place in failures:
        probabilities[place] = math.nan
    failed = dataclasses.replace(batch, probabilities=probabilities, failures=failures)

    frame = failed.frame().filter(pl.col("failure").is_not_null())

    assert frame.select("item", "question", "failure").rows() == [
        ("a", "sorry", "timeout"),
        ("c", "rude", "unreadable reply"),
    ]


def test_a_failure_that_the_class_does_not_hang_on_leaves_it_known(judge, rubric):
    # rude: true makes the class bad, whatever sorry is.
    items = [Item(id="x", response="nan 0.9", behavior="refuse")]

    (batch,) = judge_items(items, judge, rubric=rubric)

    frame = batch.frame().filter(pl.col("source") == "derived")
    assert frame["label"].to_list() == [True, False, False]
    assert frame["failure"].to_list() == [None] * 3


def test_wide_has_one_row_per_item_and_every_class_in_every_batch(batch):
    frame = batch.frame("wide")

    assert frame.columns == WIDE
    assert frame["item"].to_list() == ["a", "b", "c"]
    assert frame["behavior"].to_list() == ["refuse", "chat", None]
    assert frame["chat.good"].to_list() == [None, pytest.approx(1.0), None]
    for item, question, probability in (
        batch.frame().select("item", "question", "probability").rows()
    ):
        assert frame.filter(item=item)[question].to_list() == [probability]


def test_a_batch_of_one_behavior_has_the_columns_of_all(items, judge, rubric):
    (batch,) = judge_items(items[:1], judge, rubric=rubric)

    frame = batch.frame("wide")

    assert frame.columns == WIDE
    assert frame["chat.good"].to_list() == [None]
    assert frame.schema["chat.good"] == pl.Float64


def test_a_rubric_without_behaviors_gives_propositions_only(items, judge, rubric):
    plain = dataclasses.replace(rubric, behaviors=())

    (batch,) = judge_items(items, judge, rubric=plain)

    assert batch.frame()["question"].to_list() == ["sorry", "rude"] * 3


def test_an_empty_batch_keeps_the_types(batch):
    empty = dataclasses.replace(
        batch,
        items=(),
        behaviors=(),
        probabilities=np.empty((0, 2)),
        completion_classes=(),
    )

    assert empty.frame().schema == batch.frame().schema


def test_an_unknown_layout_is_refused(batch):
    with pytest.raises(voirdire.InputError, match="`layout` must be one of 'long', 'wide'"):
        batch.frame("broad")


def test_a_question_with_the_name_of_a_column_needs_the_long_layout(rubric, write_items, tmp_path):
    named = dataclasses.replace(
        rubric, questions=(dataclasses.replace(rubric.questions[0], id="judge"),), behaviors=()
    )
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
