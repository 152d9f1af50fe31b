import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.io import read_labels

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["item", "annotator", "label", "data", "annotations", "result"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def test_objects_are_rows_and_lines_are_lines(read, labels_of):
    text = (
        '\ufeff{"item": 1, "annotator": "ann", "label": "x"}\r\n'
        "\n  \n"
        '{"label": "y", "annotator": 7, "item": 2.0}'
    )

    table = read(text, format="jsonl")

    assert labels_of(table) == {("1", "ann"): "x", ("2", "7"): "y"}
    assert table.frame["line"].to_list() == [1, 4]


def test_rows_may_be_wide_and_lack_keys(read, labels_of):
    text = '{"item": "a", "ann": true}\n{"item": "b", "bob": false}\n{"item": "c", "ann": null}'

    table = read(text, format="jsonl", kind="boolean")

    assert labels_of(table) == {("a", "ann"): "true", ("b", "bob"): "false"}
    assert table.dropped == ()


def test_a_stream_is_jsonl_by_default(read):
    table = read('{"item": 1, "ann": "x"}', format=None)

    assert table.frame["label"].to_list() == ["x"]


@pytest.mark.parametrize("label", ["NaN", "null", '""'])
def test_nan_and_null_are_missing(read, label):
    table = read(f'{{"item": 1, "annotator": "ann", "label": {label}}}', format="jsonl")

    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing label", 1)]


@pytest.mark.parametrize("label", ["Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_numbers_beyond_every_float_are_refused_on_a_scale(read, label):
    table = read(
        f'{{"item": 1, "annotator": "ann", "label": {label}}}', format="jsonl", kind="scale"
    )

    assert table.dropped[0].reason.startswith("unknown label: must be a finite number, got")


def test_whole_numbers_of_any_size_are_exact(read):
    number = 2**70 + 1
    text = f'{{"item": {number}, "annotator": "ann", "label": {number}}}'

    table = read(text, format="jsonl")

    assert table.frame.select("item", "label").row(0) == (str(number), str(number))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item": 1,', r"<stream>:2:12: text must be JSON, got the end \(Expecting"),
        ('{"item": x}', r"<stream>:2:10: text must be JSON, got 'x\}' \(Expecting value\)"),
        ("[1]", r"<stream>:2: line must be a JSON object, got '\[1\]'\. Write"),
        ('"text"', r"<stream>:2: line must be a JSON object"),
        ("[" * 200_000, r"<stream>:2: JSON must be of sensible depth and numbers"),
        ("1" * 5_000, r"<stream>:2: (JSON must be of|line must be a JSON object)"),
        (
            '{"item": "\\ud800", "annotator": "ann", "label": "x"}',
            r"<stream>: text must be Unicode, got half a surrogate pair in '\\ud800'",
        ),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(read, line, message):
    with pytest.raises(InputError, match=message):
        read('{"item": 0, "annotator": "ann", "label": "x"}\n' + line, format="jsonl")


def test_failures_may_be_truth_values_or_text(read):
    rows = [
        {"item": 1, "label": "x", "failure": False},
        {"item": 2, "label": None, "failure": True},
        {"item": 3, "label": None, "failure": None},
    ]

    table = read("\n".join(map(json.dumps, rows)), format="jsonl", role="judge")

    assert table.frame["failure"].to_list() == [None, "failed", "missing label"]


@given(rows=st.lists(VALUES, max_size=4), kind=st.sampled_from(["choice", "scale", "multilabel"]))
def test_no_json_makes_a_foreign_exception(rows, kind):
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    document = json.dumps(rows).encode()
    for data, form in ((lines, "jsonl"), (document, "json")):
        try:
            read_labels(io.BytesIO(data), format=form, role="annotator", kind=kind)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
