import polars as pl
import pytest

from voirdire.errors import InputError


def column(labels):
    return "item,annotator,label\n" + "".join(f"{n},ann,{x}\n" for n, x in enumerate(labels))


def judged(rows, header="item,judge,label"):
    return header + "\n" + "".join(f"{n},gpt,{row}\n" for n, row in enumerate(rows))


@pytest.mark.parametrize("word", ["true", "TRUE", "Yes", "1", "是", " yes "])
def test_words_for_true(read, word):
    assert read(column([word]), kind="boolean").frame["label"].to_list() == ["true"]


@pytest.mark.parametrize("word", ["false", "False", "NO", "0", "否"])
def test_words_for_false(read, word):
    assert read(column([word]), kind="boolean").frame["label"].to_list() == ["false"]


@pytest.mark.parametrize("word", ["y", "maybe", "1.0", "2", "ja", "<script>"])
def test_other_words_are_unknown_to_a_boolean_question(read, word):
    table = read(column([word, "yes"]), kind="boolean")

    (drop,) = table.dropped
    assert drop.reason == (
        f"unknown label: must be true or false (yes/no, 1/0, 是/否), got {word!r}"
    )
    assert (drop.value, drop.item, drop.rater, drop.line) == (word, "0", "ann", 2)
    assert drop.column == "label"


def test_choices_are_kept_to_the_letter(read):
    table = read(column([" yes", "Yes", "3.0", "03", "nan"]))

    assert table.frame["label"].to_list() == [" yes", "Yes", "3.0", "03", "nan"]


def test_scales_are_numbers(read):
    table = read(column(["3", "3.5", "-1e2", " 4 ", ".5"]), kind="scale")

    assert table.frame["label"].to_list() == [3, 3.5, -100, 4, 0.5]
    assert table.frame.schema["label"] == pl.Float64


@pytest.mark.parametrize("word", ["inf", "-inf", "nan", "1e999", "3 stars", "1_000", "0x10"])
def test_what_is_no_finite_number_is_unknown_to_a_scale(read, word):
    table = read(column([word]), kind="scale")

    assert table.frame.is_empty()
    assert table.dropped[0].reason == f"unknown label: must be a finite number, got {word!r}"


@pytest.mark.parametrize(
    "words", ["can't tell", "CAN’T TELL", "cant tell", " Cannot tell", "无法判断"]
)
@pytest.mark.parametrize("kind", ["boolean", "choice", "text", "scale", "multilabel"])
def test_not_being_able_to_tell_is_no_answer(read, words, kind):
    table = read(column([words]), kind=kind)

    assert table.frame.is_empty()
    assert [(drop.reason, drop.value) for drop in table.dropped] == [("can't tell", words)]


def test_not_being_able_to_tell_is_an_answer_where_it_is_declared(read):
    table = read(column(["can't tell", "yes"]), labels=["yes", "no", "can't tell"])

    assert table.frame["label"].to_list() == ["can't tell", "yes"]


def test_blank_labels_and_declared_words_are_missing(read):
    table = read(column(["", "  ", '""', "NA", "na"]), missing=["NA"])

    assert table.frame["label"].to_list() == ["na"]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [
        ("missing label", line) for line in (2, 3, 4, 5)
    ]


def test_a_number_may_mean_missing(read_json):
    table = read_json({"ann": {"1": -1, "2": 3, "3": -1.0}}, kind="scale", missing=["-1"])

    assert table.frame["label"].to_list() == [3.0]
    assert [drop.reason for drop in table.dropped] == ["missing label"] * 2


def test_labels_outside_the_declared_ones_are_unknown(read):
    table = read(column(["a", "A", "b"]), labels=["a", "b"])

    assert table.frame["label"].to_list() == ["a", "b"]
    (drop,) = table.dropped
    assert drop.reason == "unknown label: must be one of 'a', 'b', got 'A'"


def test_many_declared_labels_are_counted_and_not_all_shown(read):
    table = read(column(["x"]), labels=[str(n) for n in range(100)])

    assert "'7' and 92 more, got 'x'" in table.dropped[0].reason


def test_declared_numbers_bound_a_scale(read):
    table = read(column(["1", "6", "2.0"]), kind="scale", labels=[1, 2, 3, 4, 5])

    assert table.frame["label"].to_list() == [1, 2]
    assert table.dropped[0].reason.endswith("got '6'")


def test_declared_truth_values_bound_a_boolean(read):
    table = read(column(["yes", "0"]), kind="boolean", labels=["yes"])

    assert table.frame["label"].to_list() == ["true"]
    with pytest.raises(InputError, match=r"`labels` must be truth values .* got \['a'\]"):
        read(column(["yes"]), kind="boolean", labels=["a"])


def test_a_long_value_is_shortened_for_display_only(read):
    label = "x" * 1_000

    table = read(column([label]), kind="boolean")
    kept = read(column([label]), kind="text")

    assert len(table.dropped[0].value) == 80
    assert len(table.dropped[0].reason) < 200
    assert kept.frame["label"].to_list() == [label]


def test_a_judge_without_a_usable_label_has_failed(read):
    table = read(judged(["yes", "", "maybe", "can't tell"]), role="judge", kind="boolean")

    reason = "unknown label: must be true or false (yes/no, 1/0, 是/否), got 'maybe'"
    assert table.frame.select("label", "failure").rows() == [
        ("true", None),
        (None, "missing label"),
        (None, reason),
        (None, "can't tell"),
    ]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [(reason, 4)]


def test_a_declared_failure_is_one_whatever_the_label(read):
    rows = ["yes,timeout", ",TRUE", "yes,", "yes,false", "yes,0", "maybe,1"]

    table = read(judged(rows, "item,judge,label,failure"), role="judge", kind="boolean")

    assert table.frame.select("label", "failure").rows() == [
        (None, "timeout"),
        (None, "failed"),
        ("true", None),
        ("true", None),
        ("true", None),
        (None, "failed"),
    ]
    assert table.dropped == ()


def test_an_annotators_table_has_no_failures(read):
    table = read("item,annotator,label,failure\n1,ann,x,timeout\n")

    assert table.frame.select("label", "failure").rows() == [("x", None)]


def test_a_probability_is_true_from_the_threshold_on(read):
    text = judged(["0.49", "0.5", "1", "0", "5e-1"], "item,judge,probability")

    plain = read(text, role="judge", kind="boolean")
    strict = read(text, role="judge", kind="boolean", threshold=0.9)

    assert plain.frame["label"].to_list() == ["false", "true", "true", "false", "true"]
    assert strict.frame["label"].to_list() == ["false", "false", "true", "false", "false"]


@pytest.mark.parametrize("word", ["1.01", "-0.1", "nan", "inf", "high"])
def test_what_is_no_probability_is_a_failure_and_listed(read, word):
    table = read(judged([word], "item,judge,probability"), role="judge", kind="boolean")

    reason = f"unknown label: must be a probability in [0, 1], got {word!r}"
    assert table.frame.select("label", "failure").rows() == [(None, reason)]
    assert [drop.reason for drop in table.dropped] == [reason]
    assert table.dropped[0].column == "probability"


def test_a_label_stands_in_for_an_absent_probability(read):
    text = judged(["yes,", "no,0.9", ","], "item,judge,value,probability")

    table = read(text, role="judge", kind="boolean")

    assert table.frame.select("label", "failure").rows() == [
        ("true", None),
        ("true", None),
        (None, "missing label"),
    ]


def test_a_probability_means_nothing_to_other_kinds(read):
    text = judged(["a,0.9"], "item,judge,value,probability")

    assert read(text, role="judge", kind="choice").frame["label"].to_list() == ["a"]
    with pytest.raises(InputError, match="column `label` must exist"):
        read(judged(["0.9"], "item,judge,probability"), role="judge", kind="choice")
