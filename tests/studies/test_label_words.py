"""What one raw label means, by kind of question."""

import math
import warnings

import numpy as np
import pytest

from voirdire import DegenerateDataWarning, Failure, InputError, alt_test

NAN = float("nan")
GOOD = {"boolean": True, "choice": "yes", "multilabel": ["x"], "scale": 3, "text": "yes"}


def examine(judge, humans, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return alt_test(judge, humans, min_items=2, **options)


def agrees(raw, value, **options):
    """Tell whether a judge that always says `raw` always ties with people who say `value`."""
    people = {name: dict.fromkeys(range(4), value) for name in "ab"}
    result = examine(dict.fromkeys(range(4), raw), people, **options)
    return [row.n_ties for row in result.annotators] == [4, 4]


def beside(raw, *, kind=None, good=None, **options):
    """Examine good labels among which the judge says `raw` once, of item 2."""
    good = GOOD.get(kind, "yes") if good is None else good
    people = {name: dict.fromkeys(range(4), good) for name in "ab"}
    return examine(dict.fromkeys(range(4), good) | {2: raw}, people, kind=kind, **options)


@pytest.mark.edges
@pytest.mark.parametrize("kind", [None, "boolean", "choice", "multilabel", "scale", "text"])
@pytest.mark.parametrize(
    "raw",
    [
        *(None, NAN, np.float64("nan"), "can't tell", "CAN’T TELL ", "无法判断"),
        Failure(reason="429"),
    ],
)
def test_no_answer_is_a_failure_and_never_a_label_in_every_kind(kind, raw):
    result = beside(raw, kind=kind)

    assert result.worst_case.n_failures == 1
    assert result.n_items == 3
    assert result.dropped == ()


@pytest.mark.parametrize("raw", ["", " \n"])
def test_blank_text_is_no_answer_but_for_sets_where_it_is_the_empty_set(raw):
    for kind in (None, "boolean", "choice", "scale", "text"):
        assert beside(raw, kind=kind).worst_case.n_failures == 1
    assert agrees(raw, [], kind="multilabel")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (None, "yes", "yes"),
        (None, " yes ", " yes "),
        (None, True, True),
        (None, True, 1),
        (None, "0", False),
        (None, ["b", "a", "b"], frozenset("ab")),
        (None, {"a"}, frozenset("a")),
        (None, (), frozenset()),
        (None, np.bool_(True), True),
        (None, np.array(["a", "b"]), frozenset("ab")),
        ("choice", 3, "3"),
        ("choice", 3.0, "3"),
        ("choice", 2.5, "2.5"),
        ("choice", np.int64(3), 3),
        ("choice", True, "true"),
        ("choice", np.float32(4), "4"),
        ("text", 3, "3"),
        ("scale", 3, 3),
        ("scale", 2.5, 2.5),
        ("scale", "3.5", 3.5),
        ("scale", " 4 ", 4.0),
        ("boolean", "Yes", True),
        ("boolean", "是", True),
        ("boolean", " FALSE", False),
        ("boolean", 0, False),
        ("boolean", 1.0, True),
        ("boolean", "1", True),
        ("multilabel", ["x"], frozenset("x")),
        ("multilabel", [], frozenset()),
        ("multilabel", '["x", "y"]', frozenset("xy")),
        ("multilabel", frozenset({"a", "b"}), frozenset("ab")),
    ],
)
def test_a_label_has_one_form_in_each_kind(kind, raw, value):
    assert agrees(raw, value, kind=kind)


@pytest.mark.parametrize(
    ("kind", "raw", "other"),
    [
        ("scale", 2.5, 3),
        ("choice", 3, "3.10"),
        ("boolean", "是", False),
        ("boolean", 0, True),
        ("multilabel", ["a"], ["a", "b"]),
        ("scale", "3.5", 3.0),
    ],
)
def test_other_labels_are_others(kind, raw, other):
    assert not agrees(raw, other, kind=kind)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("kind", "good", "raw", "reason"),
    [
        ("scale", "3", "three", "must be a finite number, got 'three'"),
        ("scale", 3, math.inf, "must be a finite number, got 'inf'"),
        ("scale", "3", "inf", "must be a finite number, got 'inf'"),
        ("boolean", "yes", "maybe", "must be true or false (yes/no, 1/0, 是/否), got 'maybe'"),
        ("boolean", 1, 2, "must be true or false (yes/no, 1/0, 是/否), got '2'"),
        ("boolean", 1, 0.5, "must be true or false (yes/no, 1/0, 是/否), got '0.5'"),
        ("multilabel", '["x"]', "a", 'must be a JSON array of labels, got \'a\'; write ["a", "b"]'),
        ("multilabel", ["x"], ["a", None], "must be a list of labels"),
    ],
)
def test_what_is_no_label_says_why(kind, good, raw, reason):
    result = beside(raw, kind=kind, good=good)

    [dropped] = result.dropped
    assert (dropped.item, dropped.rater) == ("2", "judge")
    assert dropped.reason.startswith(f"unknown label: {reason}")
    assert result.worst_case.n_failures == 1


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        *(("scale", True), ("scale", ["a"]), ("choice", ["a"]), ("multilabel", 1)),
        *((None, object()), (None, b"yes")),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(kind, raw):
    with pytest.raises(InputError, match="the label of item '2' by 'judge' must"):
        beside(raw, kind=kind)


def test_a_text_that_reads_as_nan_is_missing_on_a_scale():
    assert beside("nan", kind="scale").dropped == ()
    assert beside("nan", kind="scale").worst_case.n_failures == 1


# Declared labels ------------------------------------------------------------------------------


def test_a_set_with_one_label_outside_is_unknown_and_names_it():
    declared = {"kind": "multilabel", "good": ["a"], "labels": ["a", "b"]}

    [dropped] = beside(["a", "z", "y"], **declared).dropped

    assert '"z"' in dropped.reason
    assert '"y"' in dropped.reason
    assert beside([], **declared).dropped == beside(["a", "b"], **declared).dropped == ()


@pytest.mark.parametrize(
    ("kind", "labels", "good", "outside"),
    [
        ("choice", [1, 2.0, "3"], "2", "4"),
        ("scale", ["1", 2], 2, 3),
        ("boolean", ["no", "yes"], 1, 7),
        (None, ["a", "b", "a"], "a", "c"),
    ],
)
def test_declared_labels_are_read_like_labels(kind, labels, good, outside):
    result = beside(outside, kind=kind, good=good, labels=labels)

    assert result.n_items == 3
    assert len(result.dropped) == 1


def test_cannot_tell_may_be_declared():
    declared = {"kind": "choice", "labels": ["yes", "can't tell"]}

    assert beside("can't tell", **declared).worst_case.n_failures == 0
    assert beside("Cannot tell", **declared).worst_case.n_failures == 1


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        (None, "abc", "`labels` must be a sequence of at least one label, got 'abc'"),
        ("choice", [], "`labels` must be a sequence of at least one label, got "),
        ("scale", ["one"], "`labels` must be finite numbers under kind 'scale', got 'one'"),
        ("boolean", ["maybe"], "`labels` must fit a boolean question, got 'maybe'"),
        ("choice", [["a"]], "`labels` must fit a choice question, got "),
        ("choice", ["a", None], "`labels` must fit a choice question, got 'None'"),
        ("multilabel", ["a", None], "`labels` must fit a multilabel question, got 'None'"),
        ("multilabel", [["a"], "b"], "`labels` must fit a multilabel question, got "),
    ],
)
def test_a_universe_that_is_none_is_refused(kind, labels, message):
    with pytest.raises(InputError, match=message):
        beside(GOOD.get(kind, "yes"), kind=kind, labels=labels)


# Kinds and alignments -------------------------------------------------------------------------


def test_an_alignment_of_numbers_reads_a_scale():
    assert agrees("3", 3.0, alignment="neg_rmse")
    assert agrees(3, "3.0", kind="scale", alignment="neg_rmse")


def test_an_alignment_of_sets_reads_sets():
    assert agrees(["x"], {"x"}, alignment="hamming")
    assert len(beside("x", good='["x"]', alignment="hamming").dropped) == 1


@pytest.mark.parametrize(
    ("kind", "alignment"),
    [
        ("choice", "neg_rmse"),
        ("text", "neg_rmse"),
        ("scale", "jaccard"),
        ("multilabel", "neg_rmse"),
    ],
)
def test_kinds_that_the_alignment_cannot_use_are_refused(kind, alignment):
    with pytest.raises(InputError, match=f"`alignment` must suit a {kind} question"):
        beside(GOOD[kind], kind=kind, alignment=alignment)
