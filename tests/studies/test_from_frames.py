"""Labels in data frames become the mappings that labels in memory otherwise come in."""

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import voirdire
from voirdire.errors import DegenerateDataWarning, DroppedRowsWarning, InputError
from voirdire.records import Failure

WIDE = pl.DataFrame({"item": [1, 2], "ann": ["yes", "no"], "bob": ["yes", None]})
ONE = pl.DataFrame({"item": [1, 2], "label": ["yes", "no"]})
NAMED = ONE.with_columns(judge=pl.lit("gpt"))


def examine(judges, humans, *, kind="choice", **options):
    """Examine judges by name on few items, where the figures may be undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return voirdire.alt_test(judges=judges, humans=humans, kind=kind, min_items=2, **options)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_read_by_rater_and_item(make, make_survey, rows_of, figures, assert_same):
    survey = make_survey()
    item, annotator, label = zip(*rows_of(survey.humans), strict=True)
    humans = make({"item": list(item), "annotator": list(annotator), "label": list(label)})
    judges = {
        name: make({"item": list(given), "label": list(given.values())})
        for name, given in survey.judges.items()
    }

    found = examine(judges, humans, gold=judges["judge0"])

    expected = examine(survey.judges, survey.humans, gold=survey.judges["judge0"])
    for name in expected:
        assert_same(figures(found[name]), figures(expected[name]))


def test_mappings_beside_frames_name_their_items_by_text():
    found = examine({"j": {1: "yes", 2: Failure()}}, WIDE, gold={1: "no", 2: "no"})["j"]

    assert found.worst_case.n_failures == 1
    assert found.n_items == 1


def test_number_ids_meet_however_they_are_typed():
    frame = pd.DataFrame({"item": [1.0, 2.0], "ann": ["yes", "no"], "bob": ["yes", "no"]})

    found = examine({"j": {1.0: "yes", 2.0: "no"}, "k": {1: "yes", 2: "no"}}, frame)

    assert [found[name].n_items for name in "jk"] == [2, 2]


def test_ids_that_become_the_same_text_are_refused():
    with pytest.raises(InputError, match="item"):
        examine({"j": {1: "yes", "1": "no"}}, WIDE)


def test_a_frame_of_one_named_judge_goes_under_its_own_name():
    assert list(examine({"mine": NAMED}, WIDE)) == ["gpt"]
    assert list(examine({"mine": ONE}, WIDE)) == ["mine"]
    assert list(examine(NAMED, WIDE)) == ["gpt"]


def test_two_frames_of_one_name_do_not_hide_each_other():
    judges = {"first": NAMED, "second": NAMED.with_columns(label=pl.lit("no"))}

    with pytest.raises(InputError, match="'gpt'"):
        examine(judges, WIDE)


def test_a_judges_missing_label_is_a_failure_and_a_truth_value_is_one():
    judge = pl.DataFrame({"item": [1, 2, 3], "label": ["yes", None, "no"]})
    humans = pl.DataFrame(
        {"item": [1, 2, 3], "ann": [True, False, None], "bob": [True, False, False]}
    )

    found = examine({"j": judge, "k": {1: True, 2: None, 3: False}}, humans, kind="boolean")

    for result in found.values():
        assert result.worst_case.n_failures == 1
        assert result.n_items == 1  # the third item has one annotator


def test_everything_dropped_is_kept_and_warned_about_once():
    humans = pl.DataFrame({"item": [1, 2], "ann": ["yes", "perhaps"], "bob": ["can't tell", "no"]})

    with pytest.warns(
        DroppedRowsWarning, match="2 labels in data frames are dropped, the first:"
    ) as w:
        found = examine({"j": ONE}, humans, kind="boolean")

    assert len(w) == 1
    dropped = {(row.rater, row.item) for row in found["j"].dropped}
    assert {("ann", "2"), ("bob", "1")} <= dropped


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
        examine({"j": ONE}, WIDE, gold=gold)


def test_a_frame_of_several_judges_is_not_one_judge():
    several = pl.DataFrame({"item": [1, 1], "judge": ["a", "b"], "label": ["yes", "no"]})

    with pytest.raises(InputError, match=r"one judge's labels, got \['a', 'b'\]"):
        examine({"j": several}, WIDE)
