"""Labels as a user has them: tables, frames, files and dicts give the same examination."""

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.io import table_from_frame
from voirdire.records import Failure
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    words = np.array(["no", "yes"])

    def noisy(share):
        return dict(
            zip(
                [f"t{i}" for i in range(60)],
                words[np.where(rng.random(60) < share, 1 - truth, truth)].tolist(),
                strict=True,
            )
        )

    return {name: noisy(0.1) for name in ("ann", "bob", "eve")}, {
        "good": noisy(0.1),
        "bad": noisy(0.5),
    }


def long_frame(raters, role):
    rows = [
        (item, rater, label) for rater, given in raters.items() for item, label in given.items()
    ]
    return pl.DataFrame(rows, schema=["item", role, "label"], orient="row")


def figures(examination):
    return [(row.judge, asdict(row)["annotators"], row.uncertainty) for row in examination.results]


def test_every_form_gives_the_same_figures(study, tmp_path):
    humans, judges = study
    people, machines = long_frame(humans, "annotator"), long_frame(judges, "judge")
    people.write_csv(tmp_path / "humans.csv")
    machines.write_csv(tmp_path / "judges.csv")

    found = [
        examine(humans, judges),
        examine(people, machines.to_pandas()),
        examine(people.to_arrow(), machines),
        examine(tmp_path / "humans.csv", str(tmp_path / "judges.csv")),
        examine(
            table_from_frame(people, role="annotator", kind="choice", source_name="humans"), judges
        ),
    ]

    assert all(figures(each) == figures(found[0]) for each in found)


def test_dicts_give_what_alt_test_gives(study):
    humans, judges = study

    [result] = examine(humans, judges["good"], plan=Plan(epsilon=0.1)).results

    alone = voirdire.alt_test(judges["good"], humans, epsilon=0.1)
    assert result.judge == "judge"
    assert result.annotators == alone.annotators
    assert result.uncertainty == alone.uncertainty


def test_failures_and_missing_labels_stay_what_they_are(study):
    humans, judges = study
    answers = judges["good"] | {"t0": Failure(reason="timeout"), "t1": None, "t2": float("nan")}

    [result] = examine(humans, answers).results

    assert result.worst_case.n_failures == 3
    assert result.n_items == 57


@pytest.mark.parametrize(
    ("alignment", "label"), [("neg_rmse", 2), ("jaccard", {"a", "b"}), ("accuracy", True)]
)
def test_labels_of_every_kind_are_taken(alignment, label):
    humans = {name: dict.fromkeys(range(40), label) for name in ("ann", "bob", "eve")}

    [result] = examine(humans, dict.fromkeys(range(40), label), alignments=[alignment]).results

    assert result.advantage_probability == 1


@pytest.mark.parametrize(
    ("humans", "message"),
    [
        ({}, "`humans` must be a mapping"),
        ({"ann": ["yes"]}, "`humans` must be a mapping"),
        (["yes", "no"], "`humans` must be a label table, a data frame, a path"),
        (3, "`humans` must be a label table"),
    ],
)
def test_anything_else_is_refused(study, humans, message):
    with pytest.raises(InputError, match=message):
        examine(humans, study[1])


def test_words_are_no_numbers(study):
    with pytest.raises(InputError, match=r"must be a number, got '(no|yes)'"):
        examine(*study, alignments=["neg_rmse"])


def test_a_kind_that_contradicts_a_table_is_refused(study):
    humans, judges = study
    table = table_from_frame(
        long_frame(humans, "annotator"), role="annotator", kind="choice", source_name="humans"
    )

    with pytest.raises(InputError, match="`kind` must be that of the tables"):
        examine(table, judges, kind="boolean")


def test_names_are_lists_and_count_once(study):
    humans, judges = study

    twice = examine(humans, judges, alignments=["accuracy", "accuracy"])

    assert len(twice.results) == 2
    with pytest.raises(InputError, match="`alignments` must be a list of names, got 'accuracy'"):
        examine(humans, judges, alignments="accuracy")
    with pytest.raises(InputError, match="`slices` must name columns of `metadata`"):
        examine(humans, judges, slices=["length"])


def test_a_scale_is_measured_on_its_numbers_whatever_the_alignment():
    rng = np.random.default_rng(1)
    values = np.array([1.0, 8, 27, 64, 125])
    humans = {
        name: {f"t{i}": float(values[k]) for i, k in enumerate(rng.integers(0, 5, 60))}
        for name in ("ann", "bob", "eve")
    }
    judges = {"mine": humans["ann"]}

    found = [
        examine(humans, judges, kind="scale", alignments=names).questions[0].agreement.as_dict()
        for names in (["neg_rmse"], ["accuracy"], ["accuracy", "neg_rmse"])
    ]

    assert found[0]["panel"] == found[1]["panel"] == found[2]["panel"]


def test_declared_labels_are_what_chance_is_counted_on(study):
    humans, judges = study

    def gwet(**settings):
        [question] = examine(humans, judges, **settings).questions
        [row] = [row for row in question.agreement.panel if row.coefficient == "gwet_ac"]
        return row.estimate

    assert gwet(labels=["yes", "no"]) == gwet()
    assert gwet(labels=["yes", "no", "maybe"]) != gwet()
