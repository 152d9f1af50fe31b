"""Rows of labels in JSON, JSON Lines, Parquet and data frames."""

import datetime as dt
import decimal
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels

# JSON Lines ---------------------------------------------------------------------------------------


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
        ('{"item": 1,', r"<stream>:2: line must be JSON, got the end at character 12 \(Exp"),
        ('{"item": x}', r"<stream>:2: line must be JSON, got 'x\}' at character 10 \(Exp"),
        ("[1]", r"<stream>:2: row must be a JSON object, got \[1\]\. Correct it"),
        ('"text"', r"<stream>:2: row must be a JSON object"),
        ("[" * 200_000, r"<stream>:2: line must be JSON of sensible depth and numbers"),
        ("1" * 5_000, r"<stream>:2: (line must be JSON of|row must be a JSON object)"),
        (
            '{"item": "\\ud800", "annotator": "ann", "label": "x"}',
            r"<stream>:2: text must be Unicode, got half a surrogate pair\. Correct it",
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


# JSON ---------------------------------------------------------------------------------------------


ROWS = [{"item": 1, "annotator": "ann", "label": "x"}, {"item": 2, "annotator": "ann"}]


def test_a_list_of_other_objects_is_rows(read_json):
    table = read_json(ROWS)

    assert table.frame.select("item", "label", "line").rows() == [("1", "x", 1)]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing label", 2)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("x", r"<stream>: JSON must be an object or a list, got 'x'"),
        ([1], r"<stream>:1: row must be a JSON object, got 1"),
    ],
)
def test_another_shape_is_refused(read_json, document, message):
    with pytest.raises(InputError, match=message):
        read_json(document)


def test_broken_json_is_refused_with_line_and_column(read):
    with pytest.raises(
        InputError, match=r"<stream>:2:3: text must be JSON, got '\}\}' \(Expecting"
    ):
        read('{"ann": {"1": "x",\n  }}', format="json")


# Parquet ------------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """Write a frame to a Parquet file and give its path."""

    def write_frame(columns, name="labels.parquet"):
        path = tmp_path / name
        pl.DataFrame(columns).write_parquet(path)
        return path

    return write_frame


def test_rows_stand_for_lines(write):
    path = write({"item": [1, None, 2], "annotator": ["ann"] * 3, "label": ["x", "y", "z"]})

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame.select("item", "label", "line").rows() == [("1", "x", 1), ("2", "z", 3)]
    assert table.dropped[0].place() == f"{path}:2: column `item`"


@pytest.mark.edges
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 4], ["3", "4"]),
        ([3.0, 0.5], ["3", "0.5"]),
        ([-0.0, 1e300], ["0", "1e+300"]),
        ([2.5, 2.0**62], ["2.5", "4611686018427387904"]),
        ([True, False], ["true", "false"]),
        ([decimal.Decimal("3.00"), decimal.Decimal("2.50")], ["3", "2.5"]),
        ([dt.date(2026, 1, 2), dt.date(2026, 1, 3)], ["2026-01-02", "2026-01-03"]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), ["a", "b"]),
    ],
)
def test_typed_columns_become_canonical_text(write, labels, expected):
    path = write({"item": [1, 2], "ann": labels})

    assert read_labels(path, role="annotator", kind="choice").frame["label"].to_list() == expected


def test_truth_values_and_ones_are_boolean(write):
    path = write({"item": ["a", "b"], "ann": [True, False]})
    ones = write({"item": ["a", "b"], "ann": [1.0, 0.0]}, "ones.parquet")

    for name in (path, ones):
        table = read_labels(name, role="annotator", kind="boolean")
        assert table.frame["label"].to_list() == ["true", "false"]


def test_numbers_that_are_not_finite_are_missing_or_unknown(write):
    path = write(
        {"item": [1, 2, 3], "annotator": ["ann"] * 3, "label": [1.0, float("nan"), -float("inf")]}
    )

    table = read_labels(path, role="annotator", kind="scale")

    assert table.frame["label"].to_list() == [1]
    assert [drop.reason for drop in table.dropped] == [
        "missing label",
        "unknown label: must be a finite number, got '-inf'",
    ]


def test_probabilities_and_failures_of_a_judge(write):
    path = write(
        {
            "item": [1, 2, 3],
            "probability": [0.7, None, 0.2],
            "failure": [None, "timeout", None],
        }
    )

    table = read_labels(path, role="judge", kind="boolean")

    assert table.frame.select("rater", "label", "failure").rows() == [
        ("labels", "true", None),
        ("labels", None, "timeout"),
        ("labels", "false", None),
    ]


def test_a_stream_of_parquet_is_read(write):
    data = write({"item": [1], "ann": ["x"]}).read_bytes()

    table = read_labels(io.BytesIO(data), format="parquet", role="annotator", kind="choice")

    assert table.frame["label"].to_list() == ["x"]


def test_the_name_of_a_file_is_no_pattern(write):
    path = write({"item": [1], "ann": ["x"]}, "labels[1]*.parquet")

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame["source"].to_list() == [str(path)]


def test_a_parquet_file_without_rows_is_no_data(write):
    path = write({"item": [], "ann": []})

    with pytest.raises(NoDataError, match=r"labels\.parquet: must hold at least one label"):
        read_labels(path, role="annotator", kind="choice")


@pytest.mark.parametrize("cut", [4, 20, -1, -200])
def test_a_truncated_file_is_refused_in_one_line(write, cut):
    path = write({"item": list(range(100)), "ann": ["x"] * 100})
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(
        InputError, match=r"labels\.parquet: must be a whole Parquet file, got"
    ) as e:
        read_labels(path, role="annotator", kind="choice")

    assert "\n" not in str(e.value)


def test_damage_inside_a_file_is_refused_in_one_line(write):
    path = write({"item": list(range(1000)), "ann": [f"x{n}" for n in range(1000)]})
    data = bytearray(path.read_bytes())
    data[8:400] = b"\xff" * 392
    path.write_bytes(data)

    with pytest.raises(InputError, match=r"labels\.parquet: must be a whole Parquet file, got"):
        read_labels(path, role="annotator", kind="choice")


@pytest.mark.parametrize("question", [None, "q"])
@pytest.mark.parametrize("reader", ["read_parquet_schema", "read_parquet"])
def test_a_panic_of_polars_is_an_error_of_the_file(write, monkeypatch, reader, question):
    path = write({"item": ["a"], "question": ["q"], "ann": ["x"]})

    def panic(*args, **kwargs):
        raise pl.exceptions.PanicException("range end index out of range\nbacktrace")

    monkeypatch.setattr(pl, reader, panic)
    monkeypatch.setattr(pl, "scan_parquet", panic)

    with pytest.raises(InputError, match=r"must be a whole Parquet file, got 'range end index out"):
        read_labels(path, role="annotator", kind="choice", question=question)


# One question of many -------------------------------------------------------------------------


def many_questions(path, *, n_items=500, column="question"):
    """Write rows of two questions in many row groups, and give what stands in them."""
    rows = [(f"i{n}", question, n % 3 == 0) for n in range(n_items) for question in ("p", "q")]
    frame = pl.DataFrame(rows, schema=["item", column, "label"], orient="row")
    frame.write_parquet(path, row_group_size=64)
    return frame


@pytest.mark.parametrize("column", ["question", "^q.*$"])
def test_one_question_is_read_with_its_rows_in_order(tmp_path, column):
    many_questions(tmp_path / "many.parquet", column=column)
    columns = None if column == "question" else {"question": column}

    table = read_labels(
        tmp_path / "many.parquet", role="judge", kind="boolean", question="q", columns=columns
    )

    assert table.frame["item"].to_list() == [f"i{n}" for n in range(500)]
    assert table.frame["line"].to_list() == [2 * n + 2 for n in range(500)]
    assert set(table.frame["question"]) == {"q"}


def test_a_question_that_is_not_there_names_those_that_are(tmp_path):
    many_questions(tmp_path / "many.parquet")

    with pytest.raises(NoDataError, match=r"got 'r'. Ask for one of 'p', 'q'"):
        read_labels(tmp_path / "many.parquet", role="judge", kind="boolean", question="r")


def test_questions_that_are_numbers_are_found_by_their_text(tmp_path):
    frame = pl.DataFrame({"item": ["a", "b"], "question": [1, 2], "label": [True, False]})
    frame.write_parquet(tmp_path / "numbers.parquet")

    table = read_labels(tmp_path / "numbers.parquet", role="judge", kind="boolean", question="2")

    assert table.frame.select("item", "line", "label").rows() == [("b", 2, "false")]


# Data frames --------------------------------------------------------------------------------------


DATA = {
    "id": [1, 2, 3],
    "ann": ["x", None, "z"],
    "bob": ["y", "w", None],
}


def read_frame(frame, **declared):
    declared = {"role": "annotator", "kind": "choice", "source_name": "humans", **declared}
    return read_labels(frame, **declared)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_frames_of_every_library_are_one_table(make, labels_of):
    table = read_frame(make(DATA))

    assert labels_of(table) == {
        ("1", "ann"): "x",
        ("3", "ann"): "z",
        ("1", "bob"): "y",
        ("2", "bob"): "w",
    }
    assert table.frame["source"].unique().to_list() == ["humans"]
    assert table.frame["line"].to_list() == [1, 3, 1, 2]
    assert table.dropped == ()


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (pd.Series([1.0, np.nan, 3.0]), "choice", ["1", "3"]),
        (pd.Series([1, None, 3], dtype="Int64"), "scale", [1, 3]),
        (pd.Series([True, None, False], dtype="boolean"), "boolean", ["true", "false"]),
        (pd.Series([True, None, False], dtype=object), "boolean", ["true", "false"]),
        (pd.Categorical(["a", None, "b"]), "choice", ["a", "b"]),
        (pd.Series([["b", "a"], None, []], dtype=object), "multilabel", [["a", "b"], []]),
        (pd.Series([{"b", "a"}, None, ("c",)], dtype=object), "multilabel", [["a", "b"], ["c"]]),
        (pd.Series([np.array(["a"]), None, np.array([])]), "multilabel", [["a"], []]),
        (pd.Series([np.int64(3), pd.NA, np.float64(4)], dtype=object), "choice", ["3", "4"]),
        (pd.Series(["1", None, 2.5], dtype=object), "scale", [1, 2.5]),
    ],
)
def test_the_types_of_pandas(column, kind, expected):
    frame = pd.DataFrame({"item": ["a", "b", "c"], "ann": column})

    table = read_frame(frame, kind=kind)

    assert table.frame["item"].to_list() == ["a", "c"]
    assert table.frame["label"].to_list() == expected


def test_python_objects_of_mixed_types_are_refused():
    frame = pd.DataFrame({"item": [1, 2], "ann": pd.Series([1, "a"], dtype=object)})

    with pytest.raises(InputError, match=r"humans:2: column `ann` must hold .* got 'a' \(text\)"):
        read_frame(frame)


def test_a_long_frame_lists_its_missing_labels():
    frame = pd.DataFrame({"item": [1, 2], "annotator": "ann", "label": [np.nan, 2.0]})

    table = read_frame(frame, kind="scale")

    assert [(drop.reason, drop.place()) for drop in table.dropped] == [
        ("missing label", "humans:1: column `label`")
    ]


def test_one_judge_is_called_by_the_name_of_the_source():
    table = read_frame(pl.DataFrame({"item": [1], "label": ["x"]}), role="judge", source_name="gpt")

    assert table.frame["rater"].to_list() == ["gpt"]


def test_lists_of_arrow_and_pandas_stand_together():
    frame = pd.DataFrame(
        {
            "item": [1],
            "ann": pd.Series([["a"]], dtype=object),
            "bob": pd.Series([["b"]], dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        }
    )

    table = read_frame(frame, kind="multilabel")

    assert table.frame.select("rater", "label").rows() == [("ann", ["a"]), ("bob", ["b"])]


def test_a_lazy_frame_is_refused():
    with pytest.raises(InputError, match=r"`frame` must be a pandas, polars or pyarrow table, got"):
        read_frame(pl.LazyFrame(DATA))


def test_columns_without_names_of_text_are_refused():
    with pytest.raises(InputError, match=r"humans: columns must have names of text, got 0"):
        read_frame(pd.DataFrame([[1, 2]]))


def test_a_column_name_twice_is_refused():
    frame = pd.DataFrame([[1, "x", "y"]], columns=["item", "ann", "ann"])

    with pytest.raises(InputError, match=r"humans: columns must have unique names"):
        read_frame(frame)


def test_a_frame_without_rows_is_no_data():
    with pytest.raises(NoDataError, match=r"humans: must hold at least one label, got no rows"):
        read_frame(pl.DataFrame({"item": [], "ann": []}))


def test_half_a_surrogate_pair_is_refused():
    frame = pd.DataFrame({"item": [1], "ann": pd.Series(["\ud800"], dtype=object)})

    with pytest.raises(
        InputError, match=r"humans:1: column `ann` must be Unicode, got half a surrogate"
    ):
        read_frame(frame)
