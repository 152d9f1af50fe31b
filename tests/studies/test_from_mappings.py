"""Dicts become arrays over the same items."""

import numpy as np
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.records import Failure
from voirdire.studies.examination import make_reader
from voirdire.studies.from_mappings import matrix_from_mappings


def aligned(judges, humans, *, alignment="accuracy", kind=None, labels=None, **given):
    return matrix_from_mappings(
        judges,
        humans,
        reader=make_reader(alignment, kind=kind, labels=labels),
        numeric=alignment == "neg_rmse",
        **given,
    )


def test_labels_become_codes_of_shared_categories():
    humans = {"ann": {"x": "yes", "y": "no"}, "bob": {"y": "maybe"}}
    judges = {"j": {"y": "yes", "x": "new"}}

    matrix = aligned(judges, humans)

    def named(codes):
        return [[None if c < 0 else matrix.categories[c] for c in row] for row in codes]

    assert matrix.items == ("x", "y")
    assert named(matrix.humans) == [["yes", None], ["no", "maybe"]]
    assert named(matrix.answers) == [["new"], ["yes"]]
    assert set(matrix.categories) == {"yes", "no", "maybe", "new"}
    assert not matrix.failed.any()
    assert (matrix.universe, matrix.label_sets, matrix.declared) == (None, None, False)


def test_numbers_stay_numbers():
    matrix = aligned(
        {"j": {"x": 2.5, "y": "3"}},
        {"ann": {"x": 1, "y": None}, "bob": {"x": 4, "y": 5}},
        alignment="neg_rmse",
    )

    np.testing.assert_array_equal(matrix.humans, [[1.0, 4.0], [np.nan, 5.0]])
    np.testing.assert_array_equal(matrix.answers, [[2.5], [3.0]])
    assert matrix.categories == ()


def test_sets_become_codes_of_sets():
    matrix = aligned(
        {"j": {"x": ["b", "a"]}}, {"ann": {"x": {"a"}}, "bob": {"x": []}}, alignment="jaccard"
    )

    sets = [matrix.categories[code] for code in (*matrix.humans[0], matrix.answers[0, 0])]
    assert sets == [frozenset("a"), frozenset(), frozenset("ab")]
    assert matrix.universe == ("a", "b")
    assert len(matrix.label_sets) == 3


def test_a_declared_universe_keeps_its_order():
    matrix = aligned(
        {"j": {"x": ["a"]}},
        {"ann": {"x": ["b"]}},
        alignment="hamming",
        labels=["c", "b", "a"],
    )

    assert matrix.universe == ("c", "b", "a")
    assert matrix.declared


def test_what_a_judge_was_asked_and_did_not_answer_has_failed():
    humans = {"ann": dict.fromkeys("vwxyz", "yes")}
    judges = {"j": {"v": "yes", "w": Failure(), "x": None, "y": "can't tell"}}

    matrix = aligned(judges, humans)

    assert matrix.failed[:, 0].tolist() == [False, True, True, True, False]
    assert (matrix.answers[:, 0] >= 0).tolist() == [True, False, False, False, False]
    assert matrix.n_unjudged == {"j": 1}
    assert matrix.dropped == ()


def test_gold_and_clusters_follow_the_items():
    humans = {"ann": {"x": "yes", "y": "no", "z": "no"}}

    matrix = aligned(
        {"j": dict(humans["ann"])},
        humans,
        gold={"z": "yes", "elsewhere": "no"},
        clusters={"x": "k1", "y": "k2", "z": "k1", "elsewhere": "k3"},
    )

    assert [matrix.gold[0], matrix.gold[1]] == [-1, -1]
    assert matrix.categories[matrix.gold[2]] == "yes"
    assert matrix.clusters[0] == matrix.clusters[2] != matrix.clusters[1]
    assert [row.reason for row in matrix.dropped] == ["1 items that nobody annotated"]


@pytest.mark.parametrize("make", [dict, lambda pairs: dict(reversed(list(pairs)))])
def test_codes_do_not_depend_on_who_comes_first(make):
    humans = {"ann": make([("x", "b"), ("y", "a")]), "bob": make([("x", "a"), ("y", "b")])}

    matrix = aligned({"j": {"x": "a"}}, humans)

    row = matrix.items.index("x")
    assert [matrix.categories[code] for code in matrix.humans[row]] == ["b", "a"]


def test_unhashable_and_odd_labels_are_listed():
    humans = {"ann": {"x": {"deep": 1}, "y": "yes", "z": b"no"}, "bob": {"y": "no", "x": "no"}}

    matrix = aligned({"j": {"y": "yes", "x": [["nested"]]}}, humans)

    assert [(row.item, row.reason) for row in matrix.dropped] == [
        ("x", "a dict is no label"),
        ("z", "a bytes is no label"),
        ("x", "labels in a set must be text, got ['nested']"),
    ]
    assert matrix.failed[matrix.items.index("x"), 0]


def test_long_values_are_shortened_in_drops_only():
    label = "x" * 10**6
    humans = {"ann": {"i": label, "j" * 1000: 7j}, "bob": {"i": label}}

    matrix = aligned({"j": {"i": label}}, humans)

    assert matrix.categories[0] == label
    assert len(matrix.dropped[0].item) <= 80


@pytest.mark.parametrize(
    ("judges", "humans", "message"),
    [
        ({"j": {"x": 1}}, {}, "`humans` must be a mapping {rater: {item: label}}, got"),
        ({}, {"ann": {"x": 1}}, "`judges` must be a mapping {rater: {item: label}}, got"),
        ({"j": {"x": 1}}, {"ann": [1]}, "`humans` must map every rater to {item: label}, got"),
        ({"j": 3}, {"ann": {"x": 1}}, "`judges` must map every rater to {item: label}, got"),
        ({"j": {"x": 1}}, {"ann": {"x": "1"}}, "labels must be of one type"),
        ({"j": {"x": ["1"]}}, {"ann": {"x": "1"}}, "labels must be of one type"),
    ],
)
def test_what_is_not_labels_by_rater_is_refused(judges, humans, message):
    with pytest.raises(InputError, match=message):
        aligned(judges, humans)


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
    with pytest.raises(NoDataError, match=message):
        aligned(judges, humans)


def test_a_judge_none_of_whose_labels_fits_is_refused():
    with pytest.raises(InputError, match="labels of judge 'j' must fit the question, got none"):
        aligned({"j": {"x": "nine"}}, {"ann": {"x": 1}}, alignment="neg_rmse")


def test_long_names_do_not_fill_the_error():
    name = "n" * 10**6

    with pytest.raises(NoDataError, match="`judge` must share items") as caught:
        aligned({name: {"y": 1}}, {"ann": {"x": 1}})

    assert len(str(caught.value)) < 500
