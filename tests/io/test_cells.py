"""What a cell of labels means, by the kind of question."""

import ast
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire._types import CANNOT_TELL
from voirdire.errors import InputError
from voirdire.io import read_labels

# Labels of each kind ------------------------------------------------------------------------------


def column(labels):
    return "item,annotator,label\n" + "".join(f"{n},ann,{x}\n" for n, x in enumerate(labels))


def judged(rows, header="item,judge,label"):
    return header + "\n" + "".join(f"{n},gpt,{row}\n" for n, row in enumerate(rows))


@pytest.mark.parametrize("word", ["true", "TRUE", "Yes", "1", "是", " yes ", "Y", "t"])
def test_words_for_true(read, word):
    assert read(column([word]), kind="boolean").frame["label"].to_list() == ["true"]


@pytest.mark.parametrize("word", ["false", "False", "NO", "0", "否", "n", "F"])
def test_words_for_false(read, word):
    assert read(column([word]), kind="boolean").frame["label"].to_list() == ["false"]


@pytest.mark.parametrize("word", ["yep", "maybe", "1.5", "2", "ja", "<script>"])
def test_other_words_are_unknown_to_a_boolean_question(read, word):
    table = read(column([word, "yes"]), kind="boolean")

    (drop,) = table.dropped
    assert drop.reason == (
        f"unknown label: must be true or false (yes/no, 1/0, 是/否), got {word!r}"
    )
    assert (drop.value, drop.item, drop.rater, drop.line) == (word, "0", "ann", 2)
    assert drop.column == "label"


def test_choices_are_kept_to_the_letter(read):
    table = read(column([" yes", "3.1", "03", "nay"]))

    assert table.frame["label"].to_list() == [" yes", "3.1", "03", "nay"]


@pytest.mark.parametrize(
    ("words", "numbers", "note"),
    [
        (["3,5", "0,125", "4", "2.5"], [3.5, 0.125, 4, 2.5], ()),
        (["85%", "7,5 %", "0.3"], [0.85, 0.075, 0.3], ("'85%' as 0.85",)),
        (["4/5", "3.5 / 5", "2"], [4, 3.5, 2], ("'4/5' as 4",)),
        (["4 out of 5", "5 out of 5"], [4, 5], ("'4 out of 5' as 4",)),
        (["~4", "5+", "3"], [4, 5, 3], ("'~4' as 4",)),
        (["good (4)", "Score: 5"], [4, 5], ("'good (4)' as 4",)),
        (
            ["4 - good", "1: bad", "2 (so so)", "4 - Good", "3"],
            [4, 1, 2, 4, 3],
            ("'4 - good' as 4",),
        ),
        (["2 stars", "1 star"], [2, 1], ("'2 stars' as 2",)),
        (["500", "1.500", "2.125"], [500, 1500, 2125], ("'1.500' as 1500",)),
        (["500", "1,500", "12,000"], [500, 1500, 12000], ("'1,500' as 1500",)),
        (["1.500", "2.000"], [1.5, 2], ()),
        (["2", "1.500", "0.250"], [2, 1.5, 0.25], ()),
        (["2", "1.375", "2.125"], [2, 1.375, 2.125], ()),
        (["−2", "1", "0"], [-2, 1, 0], ()),
        (["４", "5", "3"], [4, 5, 3], ()),
    ],
)
def test_a_scale_reads_numbers_as_people_write_them(read, words, numbers, note):
    table = read(column([f'"{word}"' for word in words]), kind="scale")

    assert table.frame["label"].to_list() == numbers
    assert table.notes == tuple(f"<stream>: read {each}" for each in note)
    with pytest.raises(InputError, match=r"`kind` must be given for labels of <stream> that are"):
        read(column([f'"{word}"' for word in words]), kind=None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["85%", "70"], "numbers must be written in one way, got '85%' beside '70'"),
        (["4/5", "8/10"], "numbers must be written in one way, got '8/10' beside '4/5'"),
        (["4/5", "7"], "numbers must be written in one way, got '4/5' beside '7'"),
        (["4 - good", "4 - fine"], "in one way, got '4 - fine' beside '4 - good'"),
        (["1,000", "2,000"], "must be a finite number, got '1,000'"),
        (["500", "1,500", "1,250", "2,50"], "must be a finite number, got '1,500'"),
        (["3 or 4", "4-5"], "must be a finite number, got '3 or 4'"),
    ],
)
def test_numbers_that_do_not_agree_are_refused(read, words, message):
    with pytest.raises(InputError, match=message):
        read(column([f'"{word}"' for word in words]), kind="scale")


def test_one_number_is_one_label_id_and_rater(read, labels_of):
    words = ["35.0", "35", "1.10", "1e3", "12e5", "007", "-2.00"]
    rows = "".join(f"{n}.0,{n}.00,{word}\n" for n, word in enumerate(words))

    assert labels_of(read(f"item,annotator,label\n{rows}")) == {
        (f"{n}", f"{n}"): word
        for n, word in enumerate(["35", "35", "1.10", "1e3", "12e5", "007", "-2"])
    }
    assert read(column(["1.0", "0.0"]), kind=None).kind == "boolean"
    assert read(column(["35.0", "007"]), kind="text").frame["label"].to_list() == ["35.0", "007"]


@pytest.mark.parametrize(
    ("cell", "labels"),
    [("['a', 'b']", ["a", "b"]), ("[]", []), ('["it\'s", 2]', ["2", "it's"])],
)
def test_a_list_as_python_prints_it_is_a_set(read, cell, labels):
    quoted = cell.replace('"', '""')
    table = read(f'item,annotator,label\n1,ann,"{quoted}"\n', kind=None)

    assert (table.kind, table.frame["label"].to_list()) == ("multilabel", [labels])


@pytest.mark.parametrize("cell", ["['a' 'b']", "[1, open('x')]", "[['a']]", "[" * 9_000, "['a'"])
def test_what_is_no_list_of_python_is_unknown(read, cell):
    table = read(f'item,annotator,label\n1,ann,"{cell}"\n', kind="multilabel")

    assert table.dropped[0].reason.startswith("unknown label: must be a JSON array")


def test_scales_are_numbers(read):
    table = read(column(["3", "3.5", "-1e2", " 4 ", ".5"]), kind="scale")

    assert table.frame["label"].to_list() == [3, 3.5, -100, 4, 0.5]
    assert table.frame.schema["label"] == pl.Float64


@pytest.mark.parametrize("word", ["inf", "-inf", "1e999", "3 or 4", "1_000", "0x10"])
def test_what_is_no_finite_number_is_unknown_to_a_scale(read, word):
    table = read(column([word, "nan", "NaN"]), kind="scale")

    assert table.frame.is_empty()
    assert [drop.reason for drop in table.dropped[1:]] == ["missing label"] * 2
    assert table.dropped[0].reason == f"unknown label: must be a finite number, got {word!r}"


@pytest.mark.edges
@pytest.mark.parametrize("words", ["can't tell", " Cannot tell"])
@pytest.mark.parametrize("kind", ["boolean", "choice", "text", "scale", "multilabel"])
def test_not_being_able_to_tell_is_no_answer(read, words, kind):
    table = read(column([words]), kind=kind)

    assert table.frame.is_empty()
    assert [(drop.reason, drop.value) for drop in table.dropped] == [("can't tell", words)]


def test_blank_labels_and_declared_words_are_missing(read):
    table = read(column(["", "  ", '""', "X", "x"]), missing=["X"])

    assert table.frame["label"].to_list() == ["x"]
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
    with pytest.raises(InputError, match="`labels` must fit a boolean question, got 'a'"):
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


# Sets of labels -----------------------------------------------------------------------------------


def quoted(cells):
    quoted = (cell.replace('"', '""') for cell in cells)
    return "item,annotator,label\n" + "".join(
        f'{n},ann,"{cell}"\n' for n, cell in enumerate(quoted)
    )


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ('["b", "a", "b"]', ["a", "b"]),
        ("[]", []),
        (' ["x|y"] ', ["x|y"]),
        ("[1, 2.0, true]", ["1", "2", "true"]),
        ('{"choices": ["a", "b"]}', ["a", "b"]),
        ('["<script>", "是"]', ["<script>", "是"]),
    ],
)
def test_a_json_array_is_a_set(read, cell, labels):
    table = read(quoted([cell]), kind="multilabel")

    assert table.frame["label"].to_list() == [labels]
    assert table.frame.schema["label"] == pl.List(pl.String)


@pytest.mark.edges
@pytest.mark.parametrize("cell", ["a", "a|b", "[a]", '{"a": 1}', "[null]", '[["a"]]', '"a"', "3"])
def test_other_text_is_unknown_and_told_the_way_out(read, cell):
    table = read(quoted([cell]), kind="multilabel")

    assert table.frame.is_empty()
    assert table.dropped[0].reason == (
        f"unknown label: must be a JSON array of labels, got {cell!r}; "
        'write ["a", "b"], or declare separator="|"'
    )


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("a", ["a"]),
        ("b| a |b", ["a", "b"]),
        ("a||", ["a"]),
        ("|", []),
        ("[]", []),
        ('["a|b"]', ["a|b"]),
        ("[a]|b", ["[a]", "b"]),
    ],
)
def test_a_separator_parts_labels(read, cell, labels):
    table = read(quoted([cell]), kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [labels]


def test_an_empty_cell_and_an_empty_array_are_the_empty_set(read):
    table = read(quoted(["", "[]", " "]), kind="multilabel")

    assert table.frame["label"].to_list() == [[], [], []]
    assert table.dropped == ()


def test_a_label_outside_the_declared_ones_makes_the_set_unknown(read):
    table = read(quoted(['["a"]', '["a", "c"]', "[]"]), kind="multilabel", labels=["a", "b"])

    assert table.frame["label"].to_list() == [["a"], []]
    assert table.dropped[0].reason == (
        "unknown label: must be some of 'a', 'b', got '[\"a\", \"c\"]'"
    )


def test_lists_of_a_typed_format_are_sets():
    frame = pl.DataFrame(
        {"item": [1, 2, 3], "annotator": "ann", "label": [["b", "a", "b"], [], None]}
    )

    table = read_labels(frame, role="annotator", kind="multilabel", source_name="frame")

    assert table.frame.select("item", "label").rows() == [("1", ["a", "b"]), ("2", [])]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing label", 3)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([[1, 2], [3]], [["1", "2"], ["3"]]),
        ([[1.0, 2.5]], [["1", "2.5"]]),
        ([[True, False]], [["false", "true"]]),
    ],
)
def test_lists_of_numbers_and_truth_values_are_sets_of_text(labels, expected):
    frame = pl.DataFrame({"item": range(len(labels)), "ann": labels})

    table = read_labels(frame, role="annotator", kind="multilabel", source_name="frame")

    assert table.frame["label"].to_list() == expected


def test_lists_are_checked_against_the_declared_labels():
    lists = [["a"], ["c"], ["Can’t tell "], *[["b"]] * 8]
    frame = pl.DataFrame({"item": range(11), "ann": lists})

    table = read_labels(
        frame, role="annotator", kind="multilabel", labels=["a", "b"], source_name="frame"
    )

    assert table.frame["label"].to_list() == [["a"], *[["b"]] * 8]
    assert [(drop.reason, drop.value) for drop in table.dropped] == [
        ("unknown label: must be some of 'a', 'b', got '[\"c\"]'", '["c"]'),
        ("can't tell", '["Can’t tell "]'),
    ]


def test_json_lists_and_text_may_stand_together(read):
    lines = [
        '{"item": 1, "annotator": "ann", "label": ["b", "a"]}',
        '{"item": 2, "annotator": "ann", "label": "a"}',
        '{"item": 3, "annotator": "ann", "label": []}',
    ]

    table = read("\n".join(lines), format="jsonl", kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [["a", "b"], ["a"], []]


def test_a_set_of_nothing_but_not_being_able_to_tell_is_no_answer(read):
    cells = ['["Can’t tell"]', "cannot tell", '["cannot tell", "a"]']

    table = read(quoted(cells), kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [["a", "cannot tell"]]
    assert [drop.reason for drop in table.dropped] == ["can't tell"] * 2


def test_in_text_an_empty_cell_is_the_empty_set_and_a_word_says_what_is_missing(read, labels_of):
    declared = {"kind": "multilabel", "separator": "|"}
    empty = {("1", "ann"): [], ("1", "bob"): ["a"]}

    assert labels_of(read("item,annotator,label\n1,ann,\n1,bob,a\n", **declared)) == empty
    assert labels_of(read("item,ann,bob\n1,,a\n", **declared)) == empty
    assert labels_of(read("item,ann,bob\n1,-,a\n", missing=["-"], **declared)) == {
        ("1", "bob"): ["a"]
    }


# Sorts of values in one column --------------------------------------------------------------------


def jsonl(*labels):
    return "\n".join(
        f'{{"item": {n}, "annotator": "ann", "label": {label}}}'
        for n, label in enumerate(labels, start=1)
    )


@pytest.mark.parametrize(
    ("labels", "kind", "second", "first", "way_out"),
    [
        (("3", '"x"'), "choice", r"'x' \(text\)", r"3 \(numbers\)", "text"),
        (("null", '"x"', "4"), "choice", r"4 \(numbers\)", r"'x' \(text\)", "text"),
        (("true", "1"), "boolean", r"1 \(numbers\)", r"True \(truth values\)", "truth values"),
        (("true", '"yes"'), "boolean", r"'yes' \(text\)", r"True \(truth values\)", "text"),
        (("1", "true"), "scale", r"True \(truth values\)", r"1 \(numbers\)", "numbers"),
        (('["a"]', "3"), "multilabel", r"3 \(numbers\)", r"\['a'\] \(lists\)", "lists"),
        (('"a"', '["a"]'), "choice", r"\['a'\] \(lists\)", r"'a' \(text\)", "text"),
    ],
)
def test_mixed_types_are_refused_with_both_lines_and_values(
    read, labels, kind, second, first, way_out
):
    at = len(labels)
    message = (
        rf"<stream>:{at}: column `label` must hold values of one type, got {second} after "
        rf"{first} at <stream>:{at - 1}: column `label`\. Write all of them as {way_out}\."
    )

    with pytest.raises(InputError, match=message):
        read(jsonl(*labels), format="jsonl", kind=kind)


def test_whole_numbers_and_fractions_are_one_type(read):
    table = read(jsonl("3", "3.0", "3.5"), format="jsonl")

    assert table.frame["label"].to_list() == ["3", "3", "3.5"]


def test_text_numbers_are_fine_on_a_scale(read):
    table = read(jsonl("3", '"3.5"', "null", '"x"'), format="jsonl", kind="scale")

    assert table.frame["label"].to_list() == [3, 3.5]
    assert [drop.reason[:13] for drop in table.dropped] == ["missing label", "unknown label"]


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        ('["a"]', "choice", r"must be one label, got \['a'\]\. Declare kind='multilabel'"),
        ('["a"]', "boolean", r"must be a truth value, got \['a'\]\. Declare kind='multilabel'"),
        ('["a"]', "text", r"must be one text, got \['a'\]\. Declare kind='multilabel'"),
        ("[1]", "scale", r"must be a number, got \[1\]\. Declare kind='multilabel'"),
        ("true", "scale", r"must be a number, got True\. Declare kind='boolean'"),
        ('{"a": 1}', "choice", r"must be one label, got \{'a': 1\}\. Write each label as text"),
        ('{"a": 1}', "multilabel", r"must be a list of labels, got \{'a': 1\}"),
    ],
)
def test_a_column_that_cannot_be_read_as_its_kind_is_refused(read, label, kind, message):
    with pytest.raises(InputError, match=rf"<stream>:1: column `label` {message}"):
        read(jsonl(label), format="jsonl", kind=kind)


def test_the_columns_of_a_wide_table_are_of_one_type():
    frame = pl.DataFrame({"item": [1, 2], "ann": [None, 3], "bob": ["x", "y"]})

    with pytest.raises(
        InputError, match=r"f:1: column `bob` .*got 'x' .*after 3 .*f:2: column `ann"
    ):
        read_labels(frame, role="annotator", kind="choice", source_name="f")


def test_columns_of_nulls_are_of_any_type():
    frame = pl.DataFrame({"item": [1], "ann": [None], "bob": [["a"]]})

    table = read_labels(frame, role="annotator", kind="multilabel", source_name="f")

    assert table.frame.select("rater", "label").rows() == [("bob", ["a"])]


def test_nested_lists_and_structures_are_refused():
    frame = pl.DataFrame({"item": [1], "ann": [[["a"]]], "bob": [{"a": 1}]})

    for name in ("ann", "bob"):
        with pytest.raises(InputError, match=rf"f:1: column `{name}` must be a list of labels"):
            read_labels(frame, role="annotator", kind="multilabel", raters=[name], source_name="f")


def test_without_lines_the_item_and_the_rater_say_where(read_json):
    message = r"<stream>: the label of item '2' by 'ann' must hold values of one type, got 'x'"

    with pytest.raises(InputError, match=message):
        read_json({"ann": {"1": 3, "2": "x"}})


def test_questions_of_several_types_are_asked_one_at_a_time(read):
    text = (
        '{"item": 1, "annotator": "ann", "question": "q", "label": 3}\n'
        '{"item": 1, "annotator": "ann", "question": "r", "label": "x"}\n'
    )

    with pytest.raises(InputError, match=r"Ask for one `question` at a time\."):
        read(text, format="jsonl")

    assert read(text, format="jsonl", question="r").frame["label"].to_list() == ["x"]


# Which words are no answer ------------------------------------------------------------------------


def answers(read_json, texts, **declared):
    """Read texts as an annotator's labels; give those that are answers, by item."""
    rows = [{"item": f"{n}", "annotator": "ann", "label": text} for n, text in enumerate(texts)]
    table = read_json([*rows, {"item": "last", "annotator": "ann", "label": "yes"}], **declared)
    return dict(table.frame.select("item", "label").iter_rows())


def test_null_and_white_space_are_blank(read_json):
    found = answers(read_json, [None, "", " \t\n", "0", "\u3000"])

    assert found == {"3": "0", "last": "yes"}


def test_words_for_missing_are_to_the_letter(read_json):
    found = answers(read_json, ["none", " none ", "nonE!"], missing=["none"])

    assert found == {"2": "nonE!", "last": "yes"}


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["NA", "NA", "no"], "'NA' (2)"),
        (["NaN", "<NA>", "NaN"], "'NaN' (2), '<NA>' (1)"),
        (["#N/A", "null", "no"], "'#N/A' (1), 'null' (1)"),
    ],
)
def test_what_programs_write_for_nothing_is_no_answer_and_said(read, words, note):
    wide = "item,ann,bob\n" + "".join(f"{n},{word},yes\n" for n, word in enumerate(words))
    table = read(wide, kind=None)

    assert {*table.frame["label"].to_list()} == {"yes", *(["no"] if "no" in words else [])}
    assert table.notes == (f"<stream>: taken for no answer: {note}",)
    assert read(wide, kind=None, labels=["yes", "no", *words]).notes == ()
    assert read(wide, kind="text").frame.height == 2 * len(words)


@pytest.mark.parametrize(
    ("words", "named", "role"),
    [
        (["a", "None", "a"], "'None' (1)", "annotator"),
        (["-", "--", "a", "-"], "'-' (2), '--' (1)", "annotator"),
        (["?", "Unsure", "a"], "'?' (1), 'Unsure' (1)", "annotator"),
        (["n/a", ".", "a"], "'n/a' (1), '.' (1)", "annotator"),
        (["EU", "NA", "AP"], "'NA' (1)", "judge"),
        (["无", "是", "跳过"], "'无' (1), '跳过' (1)", "annotator"),
        (["3", "99", "2", "1"], "'99' (1)", "annotator"),
        (["3", "-1", "2", "5"], "'-1' (1)", "annotator"),
    ],
)
def test_a_word_that_may_be_a_label_or_no_answer_is_asked_about(read, words, named, role):
    text = "item,rater,label\n" + "".join(f"{n},ann,{word}\n" for n, word in enumerate(words))

    with pytest.raises(InputError, match=rf"got {re.escape(named)}, which may mean") as refused:
        read(text, role=role)
    advice = re.search(r"missing=(\[.*?\]) if so, or labels=(\[.*?\])", str(refused.value))
    missing, labels = map(ast.literal_eval, advice.groups())
    n_left = len(words) - sum(words.count(word) for word in missing)
    assert read(text, role=role, missing=missing).frame["label"].drop_nulls().len() == n_left
    assert read(text, role=role, labels=labels).frame["label"].to_list() == words


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (["-1", "0", "1"], "scale"),
        (["-2", "-1", "2", "1"], "scale"),
        (["99", "80", "100", "20"], "scale"),
        (["99", "98.5"], "scale"),
        ([f"{n}" for n in range(-1, 30)], "scale"),
    ],
)
def test_a_number_that_others_stand_beside_is_no_code(read, numbers, kind):
    assert read(column(numbers), kind=kind).frame["label"].to_list() == [*map(float, numbers)]


@pytest.mark.edges
@pytest.mark.parametrize("words", [*CANNOT_TELL, "Can’t Tell", "  CANNOT TELL"])
def test_each_way_of_not_being_able_to_tell_is_no_answer_unless_it_is_declared(read_json, words):
    assert answers(read_json, [words]) == {"last": "yes"}
    assert answers(read_json, [words], labels=["yes"]) == {"last": "yes"}
    found = answers(read_json, [words], labels=["yes", words])
    assert found == {"0": words, "last": "yes"}


def test_other_words_are_answers(read_json):
    found = answers(read_json, ["tell", "can't", "can tell"])

    assert found == {"0": "tell", "1": "can't", "2": "can tell", "last": "yes"}


# One text for one value, wherever it is written ---------------------------------------------------


def typed(values, **declared):
    """Read values as labels of items 0, 1, ...; None where nothing is left."""
    rows = {"item": [str(n) for n in range(len(values))], "ann": values}
    kind = declared.get("kind", "choice")
    declared = {"role": "annotator", "kind": kind, "raters": ["ann"], "source_name": "x"} | declared
    table = read_labels(pl.DataFrame(rows, strict=False), **declared)
    found = dict(table.frame.select("item", "label").iter_rows())
    return [found.get(str(n)) for n in range(len(values))]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, None, -2], ["3", None, "-2"]),
        ([3.0, None, 2.5], ["3", None, "2.5"]),
        ([-0.0, 1e-7, 1e22, 123456789012345680.0], ["0", "1e-7", "1e+22", "123456789012345680"]),
        ([float("nan"), 1.0], [None, "1"]),
    ],
)
def test_typed_columns_have_one_text_for_each_value(values, expected):
    assert typed(pl.Series(values)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 3.0, None, 2.5], ["3", "3", None, "2.5"]),
        ([-0.0, 1e-7, 1e22, 123456789012345680.0], ["0", "1e-7", "1e+22", "123456789012345680"]),
        ([2**64, -(2**70)], [str(2**64), str(-(2**70))]),
    ],
)
def test_values_of_json_have_one_text_each(read_json, values, expected):
    rows = [{"item": str(n), "ann": value} for n, value in enumerate(values)]

    table = read_json(rows, raters=["ann"])

    found = dict(table.frame.select("item", "label").iter_rows())
    assert [found.get(str(n)) for n in range(len(values))] == expected


def test_a_number_without_end_is_no_choice():
    assert typed([float("inf"), 2.0]) == [None, "2"]


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_the_number(number):
    (text,) = typed(pl.Series([number]))

    assert float(text) == number


def test_nan_is_no_number():
    assert typed(pl.Series([float("nan"), 1.0]), kind="scale") == [None, 1]


# The kind that nobody declared -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["true", "FALSE"], "boolean"),
        (["1", "0", " 1 "], "boolean"),
        (["1", "can't tell", "", "-"], "boolean"),
        (["yes", "no"], "choice"),
        (["3", "three", "four"], "choice"),
        (["a, b", "b"], "choice"),
        (["and|or", "if"], "choice"),
        (['["a", "b"]', "[]"], "multilabel"),
        (["", "-"], "choice"),
    ],
)
def test_the_labels_tell_their_kind_where_they_leave_no_choice(read, cells, kind):
    assert read(quoted(cells), kind=None, missing=["-"]).kind == kind


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([True, False, None], "boolean"),
        ([1, 0], "boolean"),
        ([1.0, 0.0], "boolean"),
        (["a", None], "choice"),
        ([["a"], [], None], "multilabel"),
    ],
)
def test_typed_labels_tell_their_kind(labels, kind):
    frame = pl.DataFrame({"item": range(len(labels)), "annotator": "ann", "label": labels})

    assert read_labels(frame, role="annotator").kind == kind


@pytest.mark.parametrize("cells", [["1", "2"], ["0", "0.5"], ["3", "4", "NA"], ["-1", "1"]])
def test_numbers_that_are_not_declared_are_refused(read, cells):
    message = (
        f"`kind` must be given for labels of <stream> that are numbers, such as '{cells[0]}'\\. "
        "Declare kind='scale' if they measure something .the distance counts., kind='choice' "
        "if they are names"
    )

    with pytest.raises(InputError, match=message):
        read(quoted(cells), kind=None)


@pytest.mark.parametrize(
    ("cells", "separator", "shown"),
    [(["a|b", "a"], "|", "a|b"), (["x", "a; b", "b;c"], ";", "a; b")],
)
def test_cells_of_several_labels_are_refused_unless_it_is_said_what_they_are(
    read, cells, separator, shown
):
    message = (
        f"that look like several in one cell, such as '{shown}'. Declare kind='multilabel' with "
        f"separator='{separator}', or kind='choice' if each is one label."
    )

    with pytest.raises(InputError, match=re.escape(message)):
        read(quoted(cells), kind=None)
    assert read(quoted(cells)).frame["label"].to_list() == cells


# Spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", ["Yes", "yes ", "ＹＥＳ", "\u00a0yes"])
def test_spellings_of_one_label_are_refused_or_accepted_as_one(read, slip):
    message = f"<stream>: labels must be written alike, got 'yes' and {slip!r}. Correct one"

    with pytest.raises(InputError, match=re.escape(message)):
        read(quoted(["yes", slip]))
    table = read(quoted(["yes", slip]), normalize_labels=True)
    assert table.frame["label"].to_list() == ["yes", "yes"]


def test_spellings_inside_sets_are_refused_or_accepted_as_one(read):
    cells = ['["a b"]', '["A  B", "c"]']

    with pytest.raises(InputError, match=r"labels must be written alike, got '(a b|A  B)' and"):
        read(quoted(cells), kind="multilabel")
    table = read(quoted(cells), kind="multilabel", normalize_labels=True)
    assert table.frame["label"].to_list() == [["a b"], ["a b", "c"]]


def test_spellings_of_one_rater_are_refused_or_accepted_as_one(read):
    text = "item,annotator,label\n1,ann,x\n2,Ann ,y\n"

    with pytest.raises(InputError, match="raters must be written alike, got 'ann' and 'Ann '"):
        read(text)
    assert read(text, normalize_labels=True).raters == ["ann"]


def test_texts_may_differ_by_as_little_as_they_like(read):
    assert read(quoted(["yes", "Yes"]), kind="text").frame["label"].to_list() == ["yes", "Yes"]


# What cannot be read ------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["annotator", "judge"])
def test_more_than_one_label_in_ten_that_cannot_be_read_is_refused(read, role):
    text = column(["maybe", "so", *["yes"] * 18]).replace("annotator", role)
    worse = text.replace("yes", "perhaps", 1)

    table = read(text, kind="boolean", role=role)

    assert [drop.line for drop in table.dropped] == [2, 3]
    message = (
        r"3 of 20 labels of <stream> cannot be read, more than one in ten\. The first, "
        r"<stream>:2: column `label` \(item '0', rater 'ann'\): unknown label: must be true or .*"
        r", got 'maybe'\. Correct the file, or what is declared about it \(`kind`, `labels`"
    )
    with pytest.raises(InputError, match=message):
        read(worse, kind="boolean", role=role)


def test_labels_that_are_missing_are_not_labels_that_cannot_be_read(read):
    cells = ["yes", "maybe", *[""] * 20, *["can't tell"] * 20]

    table = read(column(cells), kind="boolean")

    assert table.frame.height == 1
    assert len(table.dropped) == 41
    with pytest.raises(InputError, match="2 of 3 labels of <stream> cannot be read"):
        read(column([*cells, "so"]), kind="boolean")


def test_a_set_in_memory_is_shown_in_order():
    labels = {"ann": {"a": {"x"}, "b": {"z", "y", "x"}}}

    table = read_labels(labels, role="annotator", labels=["x"])

    assert [(drop.value, drop.reason) for drop in table.dropped] == [
        ('["x","y","z"]', 'unknown label: must be some of \'x\', got \'["x","y","z"]\'')
    ]
