import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import csv_records
from voirdire.io.csv_records import scan_records

FIELDS = st.text(alphabet='ab,"\n\r\t|是 ', max_size=6)


def scan(text, separator=","):
    return scan_records(text.encode(), separator=separator, source="x.csv")


def test_lines_are_physical_lines():
    records = scan('a,b\n1,"x\n\ny"\n\n2,z\n"3\n",\n')

    assert records.header == ("a", "b")
    assert records.lines.tolist() == [2, 6, 7]


def test_windows_line_ends_and_a_last_line_without_one():
    records = scan("a,b\r\n1,2\r\n\r\n3,4")

    assert records.header == ("a", "b")
    assert records.lines.tolist() == [2, 4]


def test_a_byte_order_mark_is_no_part_of_the_header():
    assert scan('\ufeff"a",b\n1,2\n').header == ("a", "b")


def test_blank_lines_before_the_header_count_as_lines():
    records = scan("\n\na,b\n1,2\n")

    assert records.header == ("a", "b")
    assert records.lines.tolist() == [4]


@pytest.mark.parametrize(("row", "n"), [("1", 1), ("1,2,3", 3), ('"1,2"', 1)])
def test_a_ragged_row_is_refused_with_its_line(row, n):
    message = rf"x\.csv:3: row must have 2 fields like the header, got {n}\. Quote a field"

    with pytest.raises(InputError, match=message):
        scan(f"a,b\n1,2\n{row}\n3,4\n")


@pytest.mark.parametrize("row", ['1,5" pipe', '1,"x"y', '1,a"b"c', '1, "x"'])
def test_a_quote_inside_a_field_is_refused_with_its_line(row):
    with pytest.raises(InputError, match=r"x\.csv:3: quotes must stand around a whole field"):
        scan(f"a,b\n1,2\n{row}\n")


def test_a_quote_that_nothing_closes_is_refused_with_its_line():
    with pytest.raises(InputError, match=r"x\.csv:2: a quote must be closed, got the end"):
        scan('a,b\n1,"x\n2,y\n')


def test_a_column_name_twice_is_refused():
    with pytest.raises(InputError, match=r"x\.csv:1: column `a` must appear once, got it twice"):
        scan("a,b,a\n1,2,3\n")


def test_blank_lines_alone_are_no_data():
    with pytest.raises(NoDataError, match=r"x\.csv: must hold a header and at least one row"):
        scan("\n\r\n\n")


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 25])
@given(rows=st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=6))
def test_records_start_where_the_csv_module_says(chunk, rows):
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["a", "b", "c"])
    starts = []
    for row in rows:
        starts.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_CHUNK", chunk)
        records = scan(text.getvalue())

    assert records.lines.tolist() == starts
    assert records.lines.dtype == np.uint32
    parsed = csv.reader(io.StringIO(bytes(records.body).decode(), newline=""))
    assert [tuple(row) for row in parsed] == rows
