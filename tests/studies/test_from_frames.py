"""Labels in data frames become the mappings that labels in memory otherwise come in."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import voirdire
from voirdire.errors import DroppedRowsWarning, InputError
from voirdire.records import Failure
from voirdire.studies.from_frames import holds_frames, read_frames

HUMANS = {"ann": {"1": "yes", "2": "no"}, "bob": {"1": "yes"}}
WIDE = pl.DataFrame({"item": [1, 2], "ann": ["yes", "no"], "bob": ["yes", None]})
ONE = pl.DataFrame({"item": [1, 2], "label": ["yes", "no"]})
NAMED = ONE.with_columns(judge=pl.lit("gpt"))


@pytest.mark.parametrize(
    ("judges", "humans", "gold", "answer"),
    [
        ({"j": {}}, HUMANS, None, False),
        ({"j": {}}, HUMANS, {}, False),
        ({"j": ONE}, HUMANS, None, True),
        (NAMED, HUMANS, None, True),
        ({"j": {}}, WIDE, None, True),
        ({"j": {}}, HUMANS, ONE, True),
    ],
)
def test_anything_but_mappings_is_a_frame(judges, humans, gold, answer):
    assert holds_frames(judges, humans, gold) is answer


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_read_by_rater_and_item(make):
    humans = make(
        {"item": [1, 2, 1], "annotator": ["ann", "ann", "bob"], "label": ["yes", "no", "yes"]}
    )
    judge = make({"item": [1, 2], "label": ["yes", "no"]})

    found = read_frames({"j": judge}, humans, judge, kind="choice")

    assert found.humans == HUMANS
    assert found.judges == {"j": {"1": "yes", "2": "no"}}
    assert found.gold == {"1": "yes", "2": "no"}
    assert found.dropped == ()


def test_mappings_beside_frames_name_their_items_by_text():
    found = read_frames({"j": {1: "yes", 2: Failure()}}, WIDE, {2: "no"}, kind="choice")

    assert found.judges == {"j": {"1": "yes", "2": Failure()}}
    assert found.gold == {"2": "no"}
    assert found.humans == HUMANS


def test_number_ids_meet_however_they_are_typed():
    frame = pd.DataFrame({"item": [1.0, 2.0], "ann": ["yes", "no"], "bob": ["yes", "no"]})

    found = read_frames({"j": {1.0: "yes", 2.0: "no"}}, frame, None, kind="choice")

    assert found.judges["j"].keys() == found.humans["ann"].keys()


def test_ids_that_become_the_same_text_are_refused():
    with pytest.raises(InputError, match="item"):
        read_frames({"j": {1: "yes", "1": "no"}}, WIDE, None, kind="choice")


def test_a_frame_of_one_named_judge_goes_under_its_own_name():
    assert list(read_frames({"mine": NAMED}, WIDE, None, kind="choice").judges) == ["gpt"]
    assert list(read_frames({"mine": ONE}, WIDE, None, kind="choice").judges) == ["mine"]
    assert list(read_frames(NAMED, WIDE, None, kind="choice").judges) == ["gpt"]


def test_two_frames_of_one_name_do_not_hide_each_other():
    judges = {"first": NAMED, "second": NAMED.with_columns(label=pl.lit("no"))}

    with pytest.raises(InputError, match="'gpt'"):
        read_frames(judges, WIDE, None, kind="choice")


def test_a_judges_missing_label_is_a_failure_and_a_truth_value_is_one():
    judge = pl.DataFrame({"item": [1, 2, 3], "label": ["yes", None, "no"]})
    humans = pl.DataFrame({"item": [1, 2, 3], "ann": [True, False, None]})

    found = read_frames({"j": judge}, humans, None, kind="boolean")

    assert found.judges["j"]["1"] is True
    assert isinstance(found.judges["j"]["2"], Failure)
    assert found.judges["j"]["3"] is False
    assert found.humans == {"ann": {"1": True, "2": False}}


def test_everything_dropped_is_kept_and_warned_about_once():
    humans = pl.DataFrame({"item": [1, 2], "ann": ["yes", "perhaps"], "bob": ["can't tell", "no"]})

    with pytest.warns(
        DroppedRowsWarning, match="2 labels in data frames are dropped, the first:"
    ) as w:
        found = read_frames({"j": ONE}, humans, None, kind="boolean")

    assert len(w) == 1
    assert {(row.rater, row.item) for row in found.dropped} == {("ann", "2"), ("bob", "1")}


def test_what_frames_drop_is_in_the_result(make_survey):
    survey = make_survey("boolean")
    humans = pl.DataFrame(
        {"item": list(survey.humans["ann0"])}
        | {name: [str(x) for x in labels.values()] for name, labels in survey.humans.items()}
    ).with_columns(ann0=pl.when(pl.col("item") == "i4").then(pl.lit("maybe")).otherwise("ann0"))

    with pytest.warns(DroppedRowsWarning, match="1 labels"):
        result = voirdire.alt_test(survey.judges["judge0"], humans, kind="boolean")

    assert [(row.rater, row.item, row.value) for row in result.dropped] == [("ann0", "i4", "maybe")]


def test_gold_labels_may_stand_in_a_frame(make_survey):
    survey = make_survey()
    gold = survey.judges["judge0"]
    frame = pl.DataFrame({"item": list(gold), "label": list(gold.values())})

    found = voirdire.outperforms_humans(
        survey.judges["judge1"], survey.humans, gold=frame, kind="choice"
    )

    expected = voirdire.outperforms_humans(
        survey.judges["judge1"], survey.humans, gold=gold, kind="choice"
    )
    assert found == expected


def test_several_golden_raters_are_refused():
    gold = pl.DataFrame({"item": [1, 1], "judge": ["a", "b"], "label": ["yes", "no"]})

    with pytest.raises(InputError, match=r"one judge's labels|gold"):
        read_frames({"j": ONE}, WIDE, gold, kind="choice")


def test_a_frame_of_several_judges_is_not_one_judge():
    several = pl.DataFrame({"item": [1, 1], "judge": ["a", "b"], "label": ["yes", "no"]})

    with pytest.raises(InputError, match=r"one judge's labels, got \['a', 'b'\]"):
        read_frames({"j": several}, WIDE, None, kind="choice")
