"""Labels as a user has them: tables, frames, files and dicts give the same examination."""

import re
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import voirdire
from voirdire.errors import (
    DegenerateDataWarning,
    DoubtfulLabelsWarning,
    DroppedRowsWarning,
    InputError,
    NoDataError,
)
from voirdire.io import read_labels
from voirdire.studies import examine

WIDE = pl.DataFrame({"item": [1, 2], "ann": ["yes", "no"], "bob": ["yes", None]})
ONE = pl.DataFrame({"item": [1, 2], "label": ["yes", "no"]})
NAMED = ONE.with_columns(judge=pl.lit("gpt"))


def few(judges, humans, **options):
    """Examine judges on few items, where the figures may be undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return examine(judges=judges, humans=humans, min_items=2, around=False, **options)


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    words = np.array(["no", "yes"])

    def noisy(share):
        labels = words[np.where(rng.random(60) < share, 1 - truth, truth)].tolist()
        return dict(zip([f"t{i}" for i in range(60)], labels, strict=True))

    judges = {"good": noisy(0.1), "bad": noisy(0.5)}
    return {name: noisy(0.1) for name in ("ann", "bob", "eve")}, judges


def long_frame(raters, role):
    rows = [(item, rater, x) for rater, given in raters.items() for item, x in given.items()]
    return pl.DataFrame(rows, schema=["item", role, "label"], orient="row")


def figures(examination):
    return [(row.judge, asdict(row)["annotators"], row.uncertainty) for row in examination.results]


# The forms ------------------------------------------------------------------------------------


@pytest.mark.ci
def test_every_form_gives_the_same_figures(study, tmp_path):
    humans, judges = study
    people, machines = long_frame(humans, "annotator"), long_frame(judges, "judge")
    people.write_csv(tmp_path / "humans.csv")
    machines.write_csv(tmp_path / "judges.csv")
    frames = {name: make(judges) for name, make in ONE_EACH.items()}

    found = [
        examine(humans=humans, judges=judges),
        examine(humans=people, judges=machines.to_pandas()),
        examine(humans=people.to_arrow(), judges=machines),
        *(examine(humans=people, judges=each) for each in frames.values()),
        examine(humans=tmp_path / "humans.csv", judges=str(tmp_path / "judges.csv")),
        examine(
            humans=read_labels(people, role="annotator", kind="choice", source_name="humans"),
            judges=judges,
        ),
    ]

    assert all(figures(each) == figures(found[0]) for each in found)


ONE_EACH = {
    library.__name__: lambda judges, make=make: {
        name: make({"item": list(given), "label": list(given.values())})
        for name, given in judges.items()
    }
    for library, make in ((pd, pd.DataFrame), (pl, pl.DataFrame), (pa, pa.table))
}


def test_a_frame_of_one_named_judge_goes_under_its_own_name():
    assert few({"mine": NAMED}, WIDE).judges == ("gpt",)
    assert few({"mine": ONE}, WIDE).judges == ("mine",)
    assert few(NAMED, WIDE).judges == ("gpt",)


def test_two_frames_of_one_name_do_not_hide_each_other():
    judges = {"first": NAMED, "second": NAMED.with_columns(label=pl.lit("no"))}

    with pytest.raises(InputError, match="'gpt'"):
        few(judges, WIDE)


def test_number_ids_meet_however_they_are_typed():
    frame = pd.DataFrame({"item": [1.0, 2.0], "ann": ["yes", "no"], "bob": ["yes", "no"]})
    judges = {"j": {1.0: "yes", 2.0: "no"}, "k": {1: "yes", 2: "no"}, "l": {"1": "yes", "2": "no"}}

    assert [result.n_items for result in few(judges, frame).results] == [2, 2, 2]


def test_ids_that_become_the_same_text_are_refused():
    with pytest.raises(InputError, match="item"):
        few({"j": {1: "yes", "1": "no"}}, WIDE)


# What is no answer, and what is set aside -----------------------------------------------------


def test_a_missing_label_in_a_frame_is_a_failure_of_the_judge():
    judge = pl.DataFrame({"item": [1, 2, 3], "label": ["yes", None, "no"]})
    humans = pl.DataFrame(
        {"item": [1, 2, 3], "ann": [True, False, None], "bob": [True, False, False]}
    )

    for one in (judge, {1: True, 2: None, 3: False}):
        [result] = few(one, humans, kind="boolean").results

        assert result.worst_case.n_failures == 1
        assert result.n_items == 1  # the third item has one annotator


def test_gold_labels_and_clusters_of_other_items_are_listed_or_left_out():
    labels = {"x": "yes", "y": "no", "z": "no"}

    found = few(
        labels,
        {"ann": labels},
        gold={"z": "yes", "y": "no", "elsewhere": "no"},
        clusters={"x": "k1", "y": "k2", "z": "k1", "elsewhere": "k3"},
    )

    [result] = found.results
    assert result.n_items == 2
    assert result.settings["n_clusters"] == 2
    assert [row.reason for row in found.dropped] == ["1 items without annotations"]


def test_everything_dropped_is_kept_and_warned_about_once(study):
    humans, judges = study
    humans["ann"] |= {"t4": "perhaps"}
    humans["bob"] |= {"t5": "can't tell"}

    words = "2 labels set aside, the first: humans.*unknown label.*'perhaps'"
    with pytest.warns(DroppedRowsWarning, match=words) as caught:
        found = voirdire.alt_test(judges["good"], humans, kind="boolean")

    assert len(caught) == 1
    dropped = {(row.rater, row.item, row.value) for row in found.dropped}
    assert dropped == {("ann", "t4", "perhaps"), ("bob", "t5", "can't tell")}


def test_labels_that_nobody_else_uses_are_warned_about(study):
    humans, judges = study
    strange = judges["good"] | {f"t{i}": "perhaps" for i in range(9)}

    with pytest.warns(DoubtfulLabelsWarning, match="9 of 60 answers of the judge .*'perhaps'"):
        voirdire.alt_test(strange, humans)
    with pytest.warns(DoubtfulLabelsWarning, match="share no label with any other annotator: 'x'"):
        voirdire.alt_test(judges["good"], humans | {"x": {f"t{i}": f"l{i}" for i in range(60)}})


@pytest.mark.ci
def test_long_values_are_shortened_in_drops_and_errors():
    label, name = "x" * 10**6, "n" * 10**6
    items = range(30)
    humans = dict.fromkeys(("ann", "bob"), dict.fromkeys(items, label))
    humans = humans | {"eve": dict.fromkeys(items, label) | {7: "y" * 10**6}}

    result = voirdire.alt_test(dict.fromkeys(items, label), humans, labels=[label])

    assert len(result.dropped[0].value) <= 80
    with pytest.raises(NoDataError, match="`judges` must share items") as caught:
        few({name: {"y": "a"}}, {"ann": {"x": "a"}})
    assert len(str(caught.value)) < 500


# What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("humans", "message"),
    [
        ({"ann": ["yes"]}, "`humans` must be a mapping {rater: {item: label}}, got"),
        (["yes", "no"], "`source` must be a file that exists, got 'yes'"),
        ([3], "`humans` must be a label table, a data frame, a path"),
        (3, "`humans` must be a label table, a data frame, a path"),
        (None, "`humans` must be given, or one table of people and judges"),
        ([], "`humans` must be a label table, a data frame, a path"),
    ],
)
def test_anything_else_is_refused(study, humans, message):
    with pytest.raises(InputError, match=re.escape(message)):
        examine(humans=humans, judges=study[1])


@pytest.mark.parametrize(
    ("judges", "humans", "message"),
    [
        ({"j": {"x": "a"}}, {}, "`humans` must hold at least one label, got none"),
        ({}, {"ann": {"x": "a"}}, "`judges` must hold at least one label, got none"),
        ({"j": {"x": "a"}}, {"ann": {}}, "humans: must hold at least one label, got no rows"),
        ({"j": {}}, {"ann": {"x": "a"}}, "judges: must hold at least one label, got no rows"),
        ({"j": {"y": "a"}}, {"ann": {"x": "a"}}, "`judges` must share items with `humans`"),
        (
            {"j": {"x": "a"}},
            {"ann": {"x": None}},
            "no annotation is left to examine, 1 are dropped",
        ),
    ],
)
def test_nothing_to_examine_is_its_own_error(judges, humans, message):
    with pytest.raises(NoDataError, match=re.escape(message)):
        few(judges, humans)


@pytest.mark.parametrize(
    ("judge", "label", "options", "message"),
    [
        ("1", 2, {}, "`kind` must be given for labels of humans that are numbers"),
        ("nine", 1, {"alignment": "neg_rmse"}, "60 of 60 labels of judges cannot be read"),
        (["1"], "a", {}, "the label of item '0' by 'j' must be one label, got ['1']"),
        ("1", {"deep": 1}, {}, "the label of item '0' by 'ann' must be"),
        ("yes", "yes", {"alignment": ["neg_rmse"]}, "must be a finite number, got 'yes'"),
    ],
)
def test_labels_that_do_not_fit_the_question_are_refused(judge, label, options, message):
    humans = dict.fromkeys(("ann", "bob"), dict.fromkeys(range(60), label))

    with pytest.raises(InputError, match=re.escape(message)):
        few({"j": dict.fromkeys(range(60), judge)}, humans, **options)


def test_several_golden_raters_are_refused(study):
    gold = pl.DataFrame({"item": ["t0", "t0"], "judge": ["a", "b"], "label": ["yes", "no"]})

    with pytest.raises(InputError, match="`gold` must hold one label per item, got labels by 'a'"):
        examine(humans=study[0], judges=study[1], gold=gold)


def test_a_kind_that_contradicts_a_table_is_refused(study):
    humans, judges = study
    table = read_labels(
        long_frame(humans, "annotator"), role="annotator", kind="choice", source_name="humans"
    )

    with pytest.raises(InputError, match="`kind` must be that of the tables"):
        examine(humans=table, judges=judges, kind="boolean")


def test_alignments_count_once_and_one_needs_no_list(study):
    humans, judges = study

    one = examine(humans=humans, judges=judges, alignment="accuracy")
    twice = examine(humans=humans, judges=judges, alignment=["accuracy", "accuracy"])

    assert figures(one) == figures(twice)
    for strange in (3, [3], ["kappa"], []):
        with pytest.raises(InputError, match="`alignment` must"):
            examine(humans=humans, judges=judges, alignment=strange)


# Agreement ------------------------------------------------------------------------------------


def test_a_scale_is_measured_on_its_numbers_whatever_the_alignment():
    rng = np.random.default_rng(1)
    values = np.array([1.0, 8, 27, 64, 125])
    humans = {
        name: {f"t{i}": float(values[k]) for i, k in enumerate(rng.integers(0, 5, 60))}
        for name in ("ann", "bob", "eve")
    }
    judges = {"mine": humans["ann"] | {"t0": 8.0, "t1": 8.0}}

    found = [
        examine(humans=humans, judges=judges, kind="scale", alignment=names)
        .questions[0]
        .agreement.panel
        for names in (["neg_rmse"], ["accuracy"], ["accuracy", "neg_rmse"])
    ]

    assert found[0] == found[1] == found[2]


def test_declared_labels_are_what_chance_is_counted_on(study):
    humans, judges = study

    def gwet(**settings):
        [question] = examine(humans=humans, judges=judges, **settings).questions
        [row] = [row for row in question.agreement.panel if row.coefficient == "gwet_ac"]
        return row.estimate

    assert gwet(labels=["yes", "no"]) == gwet()
    assert gwet(labels=["yes", "no", "maybe"]) != gwet()


# What annotators had seen ----------------------------------------------------------------------


def test_an_annotator_who_accepted_what_was_shown_does_not_make_the_judge_an_annotator(study):
    humans, judges = study
    rows = long_frame(humans | {"led": judges["good"]}, "annotator")
    seen = pl.when(pl.col("annotator") == "led").then(pl.lit("good"))

    found = examine(humans=rows.with_columns(seen_judge=seen), judges={"good": judges["good"]})

    [result] = found.results
    assert result.untested == ("led",)
    alone = examine(humans=humans, judges={"good": judges["good"]})
    assert result.annotators == alone.results[0].annotators
    with pytest.raises(InputError, match="whose labels are those of 'led'"):
        examine(humans=rows, judges={"good": judges["good"]})
