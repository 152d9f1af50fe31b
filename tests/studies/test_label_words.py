"""What one raw label means, by kind of question."""

import math

import numpy as np
import pytest

from voirdire.errors import InputError
from voirdire.records import Failure
from voirdire.studies.label_words import LabelReader

NAN = float("nan")


def reader(kind=None, *, numeric=False, sets=False, labels=None):
    return LabelReader(kind=kind, numeric=numeric, sets=sets, labels=labels)


@pytest.mark.parametrize("kind", [None, "boolean", "choice", "multilabel", "scale", "text"])
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "missing label"),
        (NAN, "missing label"),
        (np.float64("nan"), "missing label"),
        ("", "missing label"),
        (" \n", "missing label"),
        ("can't tell", "can't tell"),
        ("CAN’T TELL ", "can't tell"),
        ("无法判断", "can't tell"),
    ],
)
def test_no_answer_is_missing_in_every_kind(kind, raw, reason):
    word = reader(kind).read(raw)

    assert (word.status, word.reason) == ("missing", reason)


@pytest.mark.parametrize("kind", [None, "boolean", "multilabel"])
def test_a_failure_is_never_a_label(kind):
    word = reader(kind, labels=[True] if kind != "multilabel" else ["x"]).read(
        Failure(reason="429")
    )

    assert (word.status, word.reason) == ("failed", "429")


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (None, "yes", "yes"),
        (None, " yes ", " yes "),
        (None, 3, 3),
        (None, 2.5, 2.5),
        (None, True, True),
        (None, ["b", "a", "b"], frozenset("ab")),
        (None, {"a"}, frozenset("a")),
        (None, (), frozenset()),
        (None, np.int64(3), 3),
        (None, np.bool_(True), True),
        (None, np.array(["a", "b"]), frozenset("ab")),
        ("choice", 3, "3"),
        ("choice", 3.0, "3"),
        ("choice", 2.5, "2.5"),
        ("choice", True, "true"),
        ("choice", np.float32(4), "4"),
        ("text", 3, "3"),
        ("scale", "3.5", 3.5),
        ("scale", " 4 ", 4.0),
        ("scale", 4, 4.0),
        ("boolean", "Yes", True),
        ("boolean", "是", True),
        ("boolean", " FALSE", False),
        ("boolean", 0, False),
        ("boolean", 1.0, True),
        ("boolean", "1", True),
        ("multilabel", ["x"], frozenset("x")),
        ("multilabel", [], frozenset()),
        ("multilabel", frozenset({"a", "b"}), frozenset("ab")),
    ],
)
def test_a_label_has_one_form_in_each_kind(kind, raw, value):
    word = reader(kind).read(raw)

    assert word.status == "label"
    assert word.value == value
    assert type(word.value) is type(value)


@pytest.mark.parametrize(
    ("kind", "raw", "reason"),
    [
        ("scale", "three", "not a number"),
        ("scale", math.inf, "not a finite number"),
        ("scale", "inf", "not a finite number"),
        ("scale", True, "not a number"),
        ("scale", ["a"], "a set of labels does not answer a scale question"),
        ("boolean", "maybe", "not a truth value"),
        ("boolean", 2, "not a truth value"),
        ("boolean", 0.5, "not a truth value"),
        ("choice", ["a"], "a set of labels does not answer a choice question"),
        ("multilabel", "a", "not a list or set of labels"),
        ("multilabel", 1, "not a list or set of labels"),
        ("multilabel", True, "not a set"),
        ("multilabel", ["a", 1], "labels in a set must be text, got 1"),
        ("multilabel", ["a", None], "labels in a set must be text, got None"),
        (None, {"a": 1}, "a dict is no label"),
        (None, object(), "a object is no label"),
        (None, b"yes", "a bytes is no label"),
    ],
)
def test_what_is_no_label_says_why(kind, raw, reason):
    word = reader(kind).read(raw)

    assert (word.status, word.reason) == ("unknown", reason)


def test_a_text_that_reads_as_nan_is_missing_on_a_scale():
    assert reader("scale").read("nan").status == "missing"


def test_families_tell_types_apart():
    raws = ["yes", 1, 1.5, True, ["a"]]

    assert [reader().read(raw).family for raw in raws] == [
        "text",
        "number",
        "number",
        "truth value",
        "set of labels",
    ]


# Declared labels ------------------------------------------------------------------------------


def test_a_label_outside_the_universe_is_unknown():
    declared = reader(labels=["yes", "no"])

    assert declared.declared == ("yes", "no")
    assert declared.read("yes").status == "label"
    assert declared.read("perhaps").status == "unknown"
    assert declared.read("perhaps").reason == "unknown label 'perhaps'"


def test_a_set_with_one_label_outside_is_unknown_and_names_it():
    declared = reader("multilabel", labels=["a", "b"])

    assert declared.read([]).status == "label"
    assert declared.read(["a", "b"]).status == "label"
    assert declared.read(["a", "z", "y"]).reason == "unknown label 'y', 'z'"


def test_declared_labels_are_read_like_labels():
    assert reader("choice", labels=[1, 2.0, "3"]).declared == ("1", "2", "3")
    assert reader("scale", labels=["1", 2]).declared == (1.0, 2.0)
    assert reader("boolean", labels=["no", "yes"]).declared == (False, True)
    assert reader(labels=["a", "b", "a"]).declared == ("a", "b")


def test_cannot_tell_may_be_declared():
    declared = reader("choice", labels=["yes", "can't tell"])

    assert declared.read("can't tell").value == "can't tell"
    assert declared.read("Cannot tell").status == "missing"


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        (None, "abc", "`labels` must be a collection of labels, got the text 'abc'"),
        ("scale", ["one"], "`labels` must fit the question, got 'one': not a number"),
        ("boolean", ["maybe"], "`labels` must fit the question, got 'maybe': not a truth value"),
        ("choice", [["a"]], "`labels` must fit the question, got .*: a set of labels does not"),
        ("choice", ["a", None], "`labels` must fit the question, got 'None'"),
    ],
)
def test_a_universe_that_is_none_is_refused(kind, labels, message):
    with pytest.raises(InputError, match=message):
        reader(kind, labels=labels)


@pytest.mark.parametrize("labels", [["a", 1], ["a", None], [["a"], "b"]])
def test_labels_of_sets_are_texts(labels):
    with pytest.raises(InputError, match="`labels` must fit the question, got"):
        reader("multilabel", labels=labels)


# Kinds and alignments -------------------------------------------------------------------------


def test_an_alignment_of_numbers_reads_a_scale():
    assert reader(numeric=True).read("3").value == 3.0
    assert reader("scale", numeric=True).read(3).value == 3.0


def test_an_alignment_of_sets_reads_sets():
    assert reader(sets=True).read(["x"]).value == frozenset("x")
    assert reader(sets=True).read("x").status == "unknown"


@pytest.mark.parametrize(
    ("kind", "need"),
    [("choice", {"numeric": True}), ("text", {"numeric": True}), ("scale", {"sets": True})],
)
def test_kinds_that_the_alignment_cannot_use_are_refused(kind, need):
    with pytest.raises(InputError, match="`kind` must fit the alignment, which needs"):
        reader(kind, **need)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match=r"`kind` must be one of 'boolean'.*got 'pairwise'"):
        reader("pairwise")
