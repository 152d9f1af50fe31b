"""What labels in dicts may be, and what is said of those that may not."""

import re
import warnings

import pytest

from voirdire import DegenerateDataWarning, alt_test
from voirdire.errors import InputError, NoDataError
from voirdire.records import Failure


def examine(judges, humans, **options):
    """Examine judges on few items, where the figures may be undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return alt_test(judges=judges, humans=humans, min_items=2, **options)


def test_what_a_judge_was_asked_and_did_not_answer_has_failed():
    humans = dict.fromkeys(("ann", "bob"), dict.fromkeys("vwxyz", "yes"))
    judges = {"j": {"v": "yes", "w": Failure(), "x": None, "y": "can't tell"}}

    result = examine(judges, humans)["j"]

    assert result.worst_case.n_failures == 3
    assert result.n_items == 1
    assert "1 of 5 annotated items were not judged" in result.warnings


def test_gold_labels_and_clusters_of_other_items_are_listed_or_left_out():
    labels = {"x": "yes", "y": "no", "z": "no"}

    result = examine(
        {"j": labels},
        {"ann": labels},
        gold={"z": "yes", "y": "no", "elsewhere": "no"},
        clusters={"x": "k1", "y": "k2", "z": "k1", "elsewhere": "k3"},
    )["j"]

    assert result.n_items == 2
    assert result.settings["n_clusters"] == 2
    assert [row.reason for row in result.dropped] == ["1 items that nobody annotated"]


def test_unhashable_and_odd_labels_are_listed():
    humans = {"ann": {"x": {"deep": 1}, "y": "yes", "z": b"no"}, "bob": {"y": "no", "x": "no"}}

    result = examine({"j": {"y": "yes", "x": [["nested"]]}}, humans)["j"]

    assert [(row.item, row.reason) for row in result.dropped] == [
        ("x", "a dict is no label"),
        ("z", "a bytes is no label"),
        (None, "1 items with fewer than 2 annotators"),
        ("x", "labels in a set must be text, got ['nested']"),
    ]
    assert result.worst_case.n_failures == 1


def test_long_values_are_shortened_in_drops_only():
    label = "x" * 10**6
    humans = {"ann": {"i": label, "j" * 1000: 7j}, "bob": {"i": label}}

    result = examine({"j": {"i": label}}, humans)["j"]

    assert len(result.dropped[0].item) <= 80


@pytest.mark.parametrize(
    ("judges", "humans", "message"),
    [
        ({"j": {"x": 1}}, {}, "`humans` must be a mapping {rater: {item: label}}, got"),
        ({}, {"ann": {"x": 1}}, "`judges` must be a mapping {rater: {item: label}}, got"),
        ({"j": {"x": 1}}, {"ann": [1]}, "`humans` must map every rater to {item: label}, got"),
        ({"j": 3}, {"ann": {"x": 1}}, "must be a pandas, polars or pyarrow table, got int"),
        ({"j": {"x": 1}}, {"ann": {"x": "1"}}, "labels must be of one type"),
        ({"j": {"x": ["1"]}}, {"ann": {"x": "1"}}, "labels must be of one type"),
    ],
)
def test_what_is_not_labels_by_rater_is_refused(judges, humans, message):
    with pytest.raises(InputError, match=re.escape(message)):
        examine(judges, humans)


@pytest.mark.parametrize(
    ("judges", "humans", "message"),
    [
        ({"j": {"x": 1}}, {"ann": {}}, "`humans` must hold at least one annotation, got none"),
        ({"j": {}}, {"ann": {"x": 1}}, "`judge` must share items with `humans`"),
        ({"j": {"y": 1}}, {"ann": {"x": 1}}, "`judge` must share items with `humans`"),
        ({"j": {"x": 1}}, {"ann": {"x": None}}, "`humans` must hold at least one label that can"),
    ],
)
def test_nothing_to_examine_is_its_own_error(judges, humans, message):
    with pytest.raises(NoDataError, match=re.escape(message)):
        examine(judges, humans)


def test_a_judge_none_of_whose_labels_fits_is_refused():
    with pytest.raises(InputError, match="labels of judge 'j' must fit the question, got none"):
        examine({"j": {"x": "nine"}}, {"ann": {"x": 1}}, alignment="neg_rmse")


def test_long_names_do_not_fill_the_error():
    name = "n" * 10**6

    with pytest.raises(NoDataError, match="`judge` must share items") as caught:
        examine({name: {"y": 1}}, {"ann": {"x": 1}})

    assert len(str(caught.value)) < 500
