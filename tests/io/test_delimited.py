import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels


def test_labels_keep_their_lines(read):
    table = read('item,annotator,label\n1,ann,"two\nlines"\n\n2,ann,x\n')

    assert table.frame["line"].to_list() == [2, 5]
    assert table.frame["label"].to_list() == ["two\nlines", "x"]


def test_tab_separated_files_keep_commas(read):
    table = read("item\tannotator\tlabel\n1\tann\ta, b\n", format="tsv")

    assert table.frame["label"].to_list() == ["a, b"]


@pytest.mark.parametrize("text", ["item,annotator,label\n", "item,ann,bob", "item,ann\n\n\n"])
def test_a_header_alone_is_no_data(read, text):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label, got no rows"):
        read(text)


def test_columns_may_have_any_name_but_none(read):
    header = ['ann,"1"', "", "item", "<b>", "é 是"]
    text = io.StringIO()
    csv.writer(text).writerows([header, ["a", "b", "1", "c", "d"]])

    table = read(text.getvalue())

    assert dict(table.frame.select("rater", "label").rows()) == {
        'ann,"1"': "a",
        "<b>": "c",
        "é 是": "d",
    }


@pytest.mark.parametrize(
    "label",
    [
        "<script>alert(1)</script>",
        "مرحبا \u200fworld",
        "不确定",
        "a\0b",
        "=1+1",
        "🙂",
        "x" * 1_000_000,
    ],
    ids=["html", "right-to-left", "chinese", "nul", "formula", "emoji", "million"],
)
def test_hostile_labels_pass_through_unharmed(read, label):
    text = io.StringIO()
    csv.writer(text).writerows([["item", "annotator", "label"], ["1", "ann", label]])

    table = read(text.getvalue(), kind="text")

    assert table.frame["label"].to_list() == [label]


def test_ten_thousand_labels_are_ten_thousand_labels(read):
    rows = "".join(f"{n},ann,label {n}\n" for n in range(10_000))

    table = read("item,annotator,label\n" + rows)

    assert table.frame["label"].n_unique() == 10_000


@given(
    rows=st.lists(
        st.tuples(
            st.text(alphabet='ab,"\n 是', min_size=1, max_size=4).filter(str.strip),
            st.text(alphabet='xy,"\r\n\u200f', max_size=5),
        ),
        max_size=8,
        unique_by=lambda row: row[0],
    )
)
def test_labels_are_those_of_the_csv_module(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["item", "annotator", "label"], *((i, "a", x) for i, x in rows)])
    data = text.getvalue().encode()
    if not rows:
        return

    table = read_labels(io.BytesIO(data), format="csv", role="annotator", kind="text")

    expected = [(item, label) for item, label in rows if label.strip()]
    assert table.frame.select("item", "label").rows() == expected
    assert len(table.dropped) == len(rows) - len(expected)


@given(data=st.binary(max_size=60) | st.text(alphabet='item,abl\n"\r\0', max_size=60))
def test_no_bytes_make_a_foreign_exception(data):
    data = data if isinstance(data, bytes) else data.encode()
    for prefix in (b"", b"item,label\n", b'item,annotator,label\n1,"'):
        try:
            read_labels(io.BytesIO(prefix + data), format="csv", role="annotator", kind="scale")
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_the_field_limit_of_the_csv_module_does_not_bind(read):
    name = "n" * 200_000

    table = read(f"item,{name}\n1,yes\n")

    assert table.frame["rater"].to_list() == [name]


def test_what_polars_refuses_is_refused_in_one_line(read, monkeypatch):
    def refuse(*args, **kwargs):
        raise pl.exceptions.ComputeError("broken\nmore")

    monkeypatch.setattr(pl, "read_csv", refuse)

    with pytest.raises(InputError, match=r"must be a well-formed delimited file, got broken\. W"):
        read("item,ann\n1,x\n")


def test_rows_that_polars_loses_are_noticed(read, monkeypatch):
    parsed = pl.DataFrame({"0": ["1"], "1": ["x"]})
    monkeypatch.setattr(pl, "read_csv", lambda *args, **kwargs: parsed)

    with pytest.raises(InputError, match=r"well-formed delimited file, got 1 rows where 2 start"):
        read("item,ann\n1,x\n2,y\n")
