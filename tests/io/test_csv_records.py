"""Rows of CSV and the lines on which they start."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels

FIELDS = st.text(alphabet='ab,"\n\r\t|是 ', max_size=6)


def rows_of(table):
    return table.frame.select("item", "rater", "label", "line").rows()


def test_lines_are_physical_lines(read):
    table = read('item,ann\n1,"x\n\ny"\n\n2,z\n"3\n",w\n')

    assert [(item.strip(), line) for item, _, _, line in rows_of(table)] == [
        ("1", 2),
        ("2", 6),
        ("3", 7),
    ]


def test_windows_line_ends_and_a_last_line_without_one(read):
    table = read("item,ann\r\n1,2\r\n\r\n3,4")

    assert rows_of(table) == [("1", "ann", "2", 2), ("3", "ann", "4", 4)]


def test_a_byte_order_mark_is_no_part_of_the_header(read):
    assert rows_of(read('\ufeff"item",ann\n1,2\n')) == [("1", "ann", "2", 2)]


def test_blank_lines_before_the_header_count_as_lines(read):
    assert rows_of(read("\n\nitem,ann\n1,2\n")) == [("1", "ann", "2", 4)]


@pytest.mark.parametrize(("row", "n"), [("1", 1), ("1,2,3", 3), ('"1,2"', 1)])
def test_a_ragged_row_is_refused_with_its_line(read, row, n):
    message = rf"<stream>:3: row must have 2 fields like the header, got {n}\. Quote a field"

    with pytest.raises(InputError, match=message):
        read(f"item,ann\n1,2\n{row}\n3,4\n")


@pytest.mark.parametrize("row", ['1,5" pipe', '1,"x"y', '1,a"b"c', '1, "x"'])
def test_a_quote_inside_a_field_is_refused_with_its_line(read, row):
    with pytest.raises(InputError, match=r"<stream>:3: quotes must stand around a whole field"):
        read(f"item,ann\n1,2\n{row}\n")


def test_a_quote_that_nothing_closes_is_refused_with_its_line(read):
    with pytest.raises(InputError, match=r"<stream>:2: a quote must be closed, got the end"):
        read('item,ann\n1,"x\n2,y\n')


def test_a_column_name_twice_is_refused(read):
    with pytest.raises(InputError, match=r":1: column `ann` must appear once, got it twice"):
        read("ann,item,ann\n1,2,3\n")


def test_blank_lines_alone_are_no_data(read):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label"):
        read("\n\r\n\n")


def written(rows):
    """Write rows by the csv module; give the text and the line on which every row starts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["item", "note", "ann"])
    starts = []
    for row in rows:
        starts.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    return text.getvalue(), starts


@given(fields=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=6))
def test_rows_start_where_the_csv_module_says(fields):
    rows = [(str(n), note, f"x{label}x") for n, (note, label) in enumerate(fields)]
    text, starts = written(rows)

    table = read_labels(
        io.BytesIO(text.encode()), format="csv", role="annotator", kind="text", raters=["ann"]
    )

    parsed = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert rows_of(table) == [
        (item, "ann", label, start) for (item, _, label), start in zip(parsed, starts, strict=True)
    ]


@pytest.mark.slow
def test_rows_of_a_file_of_many_megabytes_start_where_the_csv_module_says():
    # Longer than what is scanned at once, with quotes and line ends all along.
    rows = [(str(n), 'a "quoted"\n' * 40, f"x\n{n}") for n in range(100_000)]
    text, _ = written(rows[:1])
    lines_per_row = text.count("\n") - 1
    whole = io.StringIO(newline="")
    csv.writer(whole).writerows([["item", "note", "ann"], *rows])

    table = read_labels(
        io.BytesIO(whole.getvalue().encode()),
        format="csv",
        role="annotator",
        kind="text",
        raters=["ann"],
    )

    assert table.frame["line"].to_list() == [2 + lines_per_row * n for n in range(100_000)]
    assert table.frame["label"].to_list() == [label for _, _, label in rows]
