import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import table_from_frame

DATA = {
    "id": [1, 2, 3],
    "ann": ["x", None, "z"],
    "bob": ["y", "w", None],
}


def read(frame, **declared):
    declared = {"role": "annotator", "kind": "choice", "source_name": "humans", **declared}
    return table_from_frame(frame, **declared)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_frames_of_every_library_are_one_table(make, labels_of):
    table = read(make(DATA))

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

    table = read(frame, kind=kind)

    assert table.frame["item"].to_list() == ["a", "c"]
    assert table.frame["label"].to_list() == expected


def test_python_objects_of_mixed_types_are_refused():
    frame = pd.DataFrame({"item": [1, 2], "ann": pd.Series([1, "a"], dtype=object)})

    with pytest.raises(InputError, match=r"humans:2: column `ann` must hold .* got 'a' \(text\)"):
        read(frame)


def test_a_long_frame_lists_its_missing_labels():
    frame = pd.DataFrame({"item": [1, 2], "annotator": "ann", "label": [np.nan, 2.0]})

    table = read(frame, kind="scale")

    assert [(drop.reason, drop.place()) for drop in table.dropped] == [
        ("missing label", "humans:1: column `label`")
    ]


def test_one_judge_is_called_by_the_name_of_the_source():
    table = read(pl.DataFrame({"item": [1], "label": ["x"]}), role="judge", source_name="gpt")

    assert table.frame["rater"].to_list() == ["gpt"]


def test_lists_of_arrow_and_pandas_stand_together():
    frame = pd.DataFrame(
        {
            "item": [1],
            "ann": pd.Series([["a"]], dtype=object),
            "bob": pd.Series([["b"]], dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        }
    )

    table = read(frame, kind="multilabel")

    assert table.frame.select("rater", "label").rows() == [("ann", ["a"]), ("bob", ["b"])]


@pytest.mark.parametrize("frame", [pl.LazyFrame(DATA), DATA, [1], None], ids=str)
def test_what_is_no_eager_frame_is_refused(frame):
    with pytest.raises(InputError, match=r"`frame` must be a pandas, polars or pyarrow table, got"):
        read(frame)


def test_columns_without_names_of_text_are_refused():
    with pytest.raises(InputError, match=r"humans: columns must have names of text, got 0"):
        read(pd.DataFrame([[1, 2]]))


def test_a_column_name_twice_is_refused():
    frame = pd.DataFrame([[1, "x", "y"]], columns=["item", "ann", "ann"])

    with pytest.raises(InputError, match=r"humans: columns must have unique names"):
        read(frame)


def test_no_rows_are_no_data():
    with pytest.raises(NoDataError, match=r"humans: must hold at least one label, got no rows"):
        read(pl.DataFrame({"item": [], "ann": []}))


def test_half_a_surrogate_pair_is_refused():
    frame = pd.DataFrame({"item": [1], "ann": pd.Series(["\ud800"], dtype=object)})

    with pytest.raises(InputError, match=r"humans: text must be Unicode, got half a surrogate"):
        read(frame)
