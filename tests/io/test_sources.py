import io
import json
import sys

import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items, read_labels

LONG = "item,annotator,label\n1,ann,yes\n"


@pytest.mark.parametrize("name", ["x.csv", "x.TSV", "x.jsonl", "x.ndjson", "x.JSON", "a.b.parquet"])
def test_the_ending_of_a_name_tells_the_format(tmp_path, name):
    path = tmp_path / name
    row = {"item": "1", "annotator": "ann", "label": "yes"}
    ending = path.suffix.lower()
    if ending == ".parquet":
        pl.DataFrame([row]).write_parquet(path)
    elif ending in (".csv", ".tsv"):
        path.write_text(LONG.replace(",", "\t" if ending == ".tsv" else ","))
    else:
        path.write_text(json.dumps([row] if ending == ".json" else row))

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame.select("item", "rater", "label").rows() == [("1", "ann", "yes")]


def test_a_stream_is_jsonl_unless_it_is_declared():
    row = {"item": "1", "annotator": "ann", "label": "yes"}

    table = read_labels(io.BytesIO(json.dumps(row).encode()), role="annotator", kind="choice")

    assert table.frame["source"].to_list() == ["<stream>"]


def test_an_unknown_ending_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"must end in one of \.csv.*got 'x\.txt'\. Declare its"):
        read_labels("x.txt", role="annotator", kind="choice")


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"`format` must be one of 'csv'.* got 'xlsx'"):
        read_labels("x.csv", role="annotator", kind="choice", format="xlsx")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_a_file_that_does_not_exist_is_refused(tmp_path, ending):
    with pytest.raises(InputError, match=r"`source` must be a file that exists, got .*nowhere"):
        read_labels(tmp_path / f"nowhere.{ending}", role="annotator", kind="choice")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_a_folder_is_refused(tmp_path, ending):
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()

    with pytest.raises(InputError, match=r"`source` must be a file, got the folder .*folder"):
        read_labels(folder, role="annotator", kind="choice")


def test_a_path_that_no_system_accepts_is_refused():
    with pytest.raises(InputError, match=r"must be a file that can be read, got 'a\\x00\.csv'"):
        read_labels("a\0.csv", role="annotator", kind="choice")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("content", [b"", b" \n \n"])
def test_an_empty_file_is_no_data(tmp_path, ending, content):
    path = tmp_path / f"empty.{ending}"
    path.write_bytes(content)
    if ending == "parquet" and content:
        pytest.skip("white space is a broken Parquet file, not an empty one")

    with pytest.raises(NoDataError, match=r"empty\.\w+: must hold at least one label"):
        read_labels(path, role="annotator", kind="choice")


def test_standard_input_is_read(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(LONG.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    table = read_labels("-", format="csv", role="annotator", kind="choice")

    assert table.frame["source"].to_list() == ["<stdin>"]
    assert table.frame["label"].to_list() == ["yes"]


def test_an_open_file_is_called_by_its_name(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LONG)

    with path.open("rb") as stream:
        table = read_labels(stream, format="csv", role="annotator", kind="choice")

    assert table.frame["source"].to_list() == [str(path)]


def test_a_text_stream_is_refused():
    with pytest.raises(InputError, match=r"stream must give bytes, got str\. Open it with 'rb'"):
        read_labels(io.StringIO(LONG), format="csv", role="annotator", kind="choice")


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_bytes_that_are_not_utf_8_are_refused_with_line_and_byte(read, form):
    data = b"item,annotator,label\n1,ann,\xe9t\xe9\n"

    with pytest.raises(InputError, match=r":2: text must be UTF-8, got byte 0xe9 at offset 27"):
        read(data, format=form)


def test_utf_16_is_refused(read):
    with pytest.raises(InputError, match=r":1: text must be UTF-8, got byte 0xff at offset 0"):
        read(LONG.encode("utf-16"))


@pytest.mark.parametrize("cut", [0, 1])
def test_long_text_of_long_characters_is_read_whole(read, cut):
    # The text is checked by pieces of some megabytes, which may end inside a character.
    label = "a" * cut + "是" * 6_000_000

    table = read(f"item,annotator,label\n1,ann,{label}\n", kind="text")

    assert table.frame["label"].to_list() == [label]


def test_a_character_that_the_end_cuts_is_refused(read):
    data = b"item,annotator,label\n1,ann," + "是".encode()[:2]

    with pytest.raises(InputError, match=r":2: text must be UTF-8, got byte 0xe6 at offset 27"):
        read(data)


@pytest.mark.parametrize("source", [[{"item": "a"}], None, b"item", pl.DataFrame({"item": ["a"]})])
@pytest.mark.parametrize("written", [None, "csv", "parquet"])
def test_what_is_no_file_is_refused(source, written):
    with pytest.raises(InputError, match=r"`source` must be a path or an open binary file, got"):
        read_labels(source, format=written, role="annotator", kind="choice")
    with pytest.raises(InputError, match=rf"got {type(source).__name__}. Read a data frame by"):
        read_items(source, format=written)
