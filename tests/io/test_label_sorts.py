import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.io import table_from_frame


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
        InputError, match=r"f:2: column `ann` .*got 3 .*after 'x' .*f:1: column `bob"
    ):
        table_from_frame(frame, role="annotator", kind="choice", source_name="f")


def test_columns_of_nulls_are_of_any_type():
    frame = pl.DataFrame({"item": [1], "ann": [None], "bob": [["a"]]})

    table = table_from_frame(frame, role="annotator", kind="multilabel", source_name="f")

    assert table.frame.select("rater", "label").rows() == [("bob", ["a"])]


def test_nested_lists_and_structures_are_refused():
    frame = pl.DataFrame({"item": [1], "ann": [[["a"]]], "bob": [{"a": 1}]})

    for name in ("ann", "bob"):
        with pytest.raises(InputError, match=rf"f:1: column `{name}` must be a list of labels"):
            table_from_frame(
                frame, role="annotator", kind="multilabel", raters=[name], source_name="f"
            )


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
