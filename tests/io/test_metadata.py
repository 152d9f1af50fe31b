"""What is known about items: every format, types, repeated items and hostile text."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_metadata

ROWS = [
    {"item": "1", "source": "web", "length": 120, "ok": True},
    {"item": "2", "source": None, "length": 80.5, "ok": False},
    {"item": "3", "source": "chat", "length": None, "ok": None},
]
EXPECTED = [("1", "web", 120.0, True), ("2", None, 80.5, False), ("3", "chat", None, None)]


def read(text, **declared):
    data = text if isinstance(text, bytes) else text.encode()
    return read_metadata(io.BytesIO(data), **{"format": "csv", **declared})


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "json", "parquet"])
def test_every_typed_format_is_one_frame(tmp_path, ending):
    path = tmp_path / f"items.{ending}"
    if ending == "parquet":
        pl.DataFrame(ROWS).write_parquet(path)
    elif ending == "json":
        path.write_text(json.dumps(ROWS))
    else:
        path.write_text("\n".join(map(json.dumps, ROWS)))

    frame = read_metadata(path)

    assert frame.columns == ["item", "source", "length", "ok"]
    assert frame.rows() == EXPECTED


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("tsv", "\t")])
def test_delimited_files_have_text_and_numbers(tmp_path, ending, mark):
    path = tmp_path / f"items.{ending}"
    rows = ["item,source,length,zip,mixed", "1,web,1.5e2,007,1", "2, ,NaN,123,x"]
    path.write_text("\n".join(rows).replace(",", mark))

    frame = read_metadata(path)

    assert frame.rows() == [("1", "web", 150.0, "007", "1"), ("2", None, None, "123", "x")]
    assert frame.dtypes == [pl.String, pl.String, pl.Float64, pl.String, pl.String]


def test_a_json_object_maps_items_to_what_is_known():
    text = json.dumps({"b": {"source": "web"}, "a": {"source": "chat", "tags": ["x", "y"]}})

    frame = read(text, format="json")

    assert frame.rows() == [("b", "web", None), ("a", "chat", '["x","y"]')]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_frames_of_every_library_are_read(make):
    assert read_metadata(make(ROWS)).rows() == EXPECTED


def test_a_stream_is_jsonl(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b'{"id": 7, "source": "web"}'))
    monkeypatch.setattr("sys.stdin", stream)

    assert read_metadata("-").rows() == [("7", "web")]


def test_the_item_column_is_item_or_id_or_named():
    assert read("id,x\n1,a\n").rows() == [("1", "a")]
    assert read("id,item\nz,1\n").columns == ["item", "id"]
    assert read("key,x\n1,a\n", item="key").rows() == [("1", "a")]


def test_some_columns_are_chosen():
    frame = read("item,a,b,c\n1,x,y,z\n", columns=["c", "a", "c"])

    assert frame.columns == ["item", "c", "a"]


def test_an_index_without_a_name_is_no_column():
    assert read(",item,a,Unnamed: 3\n0,1,x,9\n").columns == ["item", "a"]


def test_a_file_of_items_only_is_read():
    assert read("item\n1\n2\n").rows() == [("1",), ("2",)]


def test_the_rows_of_an_item_are_put_together():
    frame = read("item,a,b\n2,x,\n1,,5\n2,x,7\n1,y,\n")

    assert frame.rows() == [("2", "x", 7.0), ("1", "y", 5.0)]


def test_contradictions_name_file_and_line(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("item,a,b\n1,x,1\n2,x,2\n\n1,x,1\n2,x,3\n")

    message = r"items\.csv:6: column `b` must be one value per item, got 3\.0 after 2\.0 in line 3"
    with pytest.raises(InputError, match=message + " for item '2'"):
        read_metadata(path)
    assert read_metadata(path, columns=["a"]).height == 2


@pytest.mark.parametrize(
    ("text", "declared", "match"),
    [
        ("a,b\n1,2\n", {}, "column `item` must exist, got columns 'a', 'b'"),
        ("item,b\n1,2\n", {"item": "key"}, "column `key` must exist"),
        ("item,b\n1,2\n", {"columns": ["c"]}, "column `c` must exist"),
        ("item,b\n1,2\n ,3\n", {}, r":3: column `item` must name an item, got nothing"),
        ("item,key\n1,2\n", {"item": "key"}, "column `item` must hold the items where it exists"),
        ("x", {"format": "xls"}, "`format` must be one of"),
        ("item,b\n1\n", {}, ":2: row must have 2 fields"),
        ("item,a,a\n1,2,3\n", {}, "column `a` must appear once"),
        (
            "3",
            {"format": "json"},
            "JSON must be a list of objects, or an object of objects by id, got 3",
        ),
        ("[3]", {"format": "json"}, ":1: row must be a JSON object, got 3"),
        ('{"k": "web"}', {"format": "json"}, r":1: row must be a JSON object, got \['k', 'web'\]"),
        ("[]", {"format": "jsonl"}, ":1: row must be a JSON object"),
        (b"item,\xc3\xa9\n1,\xff\n", {}, ":2: text must be UTF-8"),
        (r'{"item": "1", "\ud800": 1}', {"format": "jsonl"}, ":1: text must be Unicode"),
        (r'{"item": "1", "a": "\ud800"}', {"format": "jsonl"}, "half a surrogate pair"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text, declared, match):
    with pytest.raises(InputError, match=match):
        read(text, **declared)


@pytest.mark.parametrize(
    ("text", "declared"),
    [("", {}), ("item,a\n", {}), ("[]", {"format": "json"}), ("{}", {"format": "json"})],
)
def test_nothing_is_no_data(text, declared):
    with pytest.raises(NoDataError, match="must hold at least one"):
        read(text, **declared)


@pytest.mark.parametrize("frame", [3, pl.LazyFrame({"item": [1]}), {"item": [1]}])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(InputError, match="`frame` must be a pandas, polars or pyarrow table"):
        read_metadata(frame)


def test_columns_that_share_a_name_are_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["item", "a", "a"])

    with pytest.raises(InputError, match="metadata: columns must have unique names"):
        read_metadata(frame)


@pytest.mark.parametrize("name", ["*", "^.*$", "line", "0", "<b>", "a\nb", "", "值", "place"])
def test_columns_of_any_name_are_themselves(name):
    frame = pl.DataFrame({"item": ["1", "1", "2"], name: ["x", None, "y"], "^i.*$": [1, 1, 2]})

    found = read_metadata(frame, columns=[name, "^i.*$"])

    assert found.columns == ["item", name, "^i.*$"]
    assert found.rows() == [("1", "x", 1.0), ("2", "y", 2.0)]


def test_hostile_values_stay_text_and_errors_stay_on_one_line():
    evil = "\u202e<script>\x1b[2J\n"
    frame = pl.DataFrame({"item": [evil, evil], "a": ["x" * 500, evil]})

    with pytest.raises(InputError) as caught:
        read_metadata(frame)

    message = str(caught.value)
    assert not {"\n", "\x1b", "\u202e"} & set(message)
    assert len(message) < 500
    assert read_metadata(frame[:1]).rows() == [(evil, "x" * 500)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1, "a", True, None], ["1", "a", "true", None]),
        ([1, 2.5, None, float("nan")], [1.0, 2.5, None, None]),
        ([10**400, 1, 2, 3], [float("inf"), 1.0, 2.0, 3.0]),
        ([{"k": 1}, ["a"], "b", " "], ['{"k":1}', '["a"]', "b", None]),
        ([None, None, None, None], [None] * 4),
    ],
)
def test_cells_of_any_sort_become_one_sort(column, expected):
    lines = [json.dumps({"item": str(n), "a": value}) for n, value in enumerate(column)]

    assert read("\n".join(lines), format="jsonl")["a"].to_list() == expected


def test_numbers_beyond_every_float_stay_text():
    assert read("item,a\n1,1e999\n2,3\n")["a"].to_list() == ["1e999", "3"]


def test_dates_are_text():
    frame = pd.DataFrame({"item": [1, 2], "day": pd.to_datetime(["2024-01-01", "2024-01-02"])})

    assert read_metadata(frame)["day"].str.slice(0, 10).to_list() == [
        "2024-01-01",
        "2024-01-02",
    ]


@pytest.mark.ci
def test_many_items_of_several_rows_are_put_together():
    n = 200_000
    frame = pl.DataFrame({"item": np.arange(n).repeat(2), "a": np.arange(n).repeat(2) % 7})

    assert read_metadata(frame).height == n
