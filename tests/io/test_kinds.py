"""What the labels of a file are: scales, truth values, sets with blanks, ordered words."""

import pytest

import voirdire
from voirdire.errors import InputError

N = range(60)
PEOPLE = {name: {n: 1 + n % 4 + n // (k + 2) % 2 for n in N} for k, name in enumerate("abc")}
CLOSE = {n: sum(person[n] for person in PEOPLE.values()) / 3 + 0.1 for n in N}


# Scales -----------------------------------------------------------------------------------------


def test_a_scale_is_compared_by_distance_unless_told_otherwise():
    by_distance = voirdire.alt_test(CLOSE, PEOPLE, kind="scale")
    by_equality = voirdire.alt_test(CLOSE, PEOPLE, kind="scale", alignment="accuracy")

    assert (by_distance.alignment, by_distance.outcome) == ("neg_rmse", "passed")
    assert (by_equality.alignment, by_equality.outcome) == ("accuracy", "no_evidence")
    assert by_distance == voirdire.alt_test(CLOSE, PEOPLE, alignment="neg_rmse")


def test_numbers_without_a_kind_are_asked_about_with_both_ways(read):
    message = "kind='scale' if they measure something .*, kind='choice' if they are names"

    with pytest.raises(InputError, match=message):
        read("item,ann,bob\n1,3,4\n2,5,5\n", kind=None)


@pytest.mark.parametrize(
    "order",
    [
        ["disagree", "neutral", "agree"],
        ["Disagree", "NEUTRAL", "agree"],
        ["disagree", "x", "agree"],
    ],
)
def test_ordered_words_are_a_scale(read, order):
    found = read("item,ann,bob\n1,agree,Disagree\n2,disagree,agree\n", order=order, kind=None)

    assert found.kind == "scale"
    assert found.frame["label"].to_list() == [3.0, 1.0, 1.0, 3.0]


def test_a_word_outside_of_the_order_is_unknown(read):
    rows = "".join(f"{n},{'agree' if n % 2 else 'disagree'}\n" for n in range(20))

    found = read(f"item,ann\n{rows}20,maybe\n21,2\n", order=["disagree", "agree"], kind=None)

    assert [row.value for row in found.dropped] == ["maybe", "2"]


@pytest.mark.parametrize("order", [["one"], ["a", "A"], "ab"])
def test_an_order_that_is_none_is_refused(read, order):
    with pytest.raises(InputError, match="`order` must"):
        read("item,ann\n1,a\n", order=order, kind=None)


# Truth values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "judges"),
    [
        (("yes", "no"), ("true", "false")),
        (("true", "false"), ("Yes", "No")),
        (("是", "否"), ("True", "no")),
    ],
)
def test_two_spellings_of_truth_values_are_one(people, judges):
    humans = {name: {n: people[(n + (n % 9 == k)) % 2] for n in N} for k, name in enumerate("abc")}

    found = voirdire.alt_test({n: judges[n % 2] for n in N}, humans)

    assert (found.outcome, found.winning_rate) == ("passed", 1.0)
    assert "strange_labels" not in [row.code for row in found.cautions]


def test_spellings_of_truth_values_in_one_file_are_one(read):
    found = read("item,ann,bob\n1,yes,true\n2,no,false\n3,Yes,FALSE\n", kind=None)

    assert found.kind == "boolean"
    assert found.frame["label"].to_list() == ["true", "false", "true", "true", "false", "false"]
    assert read("item,ann,bob\n1,yes,no\n2,no,no\n", kind=None).kind == "choice"


# Sets -------------------------------------------------------------------------------------------

SPARSE = "item,ann,bob\n" + "".join(
    f"{n},{'a|b' if n % 2 else ''},{'a' if n % 9 else ''}\n" for n in range(40)
)


@pytest.mark.parametrize("role", ["annotator", "judge"])
def test_many_blanks_of_a_rater_are_asked_about(read, role):
    settings = {"kind": "multilabel", "separator": "|", "role": role}

    with pytest.raises(InputError, match=r"20 of 40 by 'ann'\. Declare blank='missing'"):
        read(SPARSE, **settings)

    nothing, missing = (read(SPARSE, blank=word, **settings) for word in ("nothing", "missing"))
    assert nothing.frame["label"].drop_nulls().len() == 80
    assert missing.frame["label"].drop_nulls().len() == 55


def test_few_blanks_mean_that_nothing_applies(read):
    few = "item,ann\n" + "".join(f"{n},{'a|b' if n % 6 else ''}\n" for n in range(60))

    assert len(read(few, kind="multilabel", separator="|")) == 60


def test_blanks_that_are_declared_missing_are_not_asked_about(read):
    found = read(SPARSE, kind="multilabel", separator="|", missing=[""])

    assert len(found) == 55
