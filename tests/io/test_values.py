"""One text for one value, wherever it is written."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.io import table_from_frame


def labels_of(values, **declared):
    """Read values as labels of items 0, 1, ...; None where nothing is left."""
    rows = {"item": [str(n) for n in range(len(values))], "ann": values}
    kind = declared.get("kind", "choice")
    declared = {"role": "annotator", "kind": kind, "raters": ["ann"], "source_name": "x"} | declared
    table = table_from_frame(pl.DataFrame(rows, strict=False), **declared)
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
    assert labels_of(pl.Series(values)) == expected


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


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_the_number(number):
    (text,) = labels_of(pl.Series([number]))

    assert float(text) == number


def test_nan_is_no_number():
    assert labels_of(pl.Series([float("nan"), 1.0]), kind="scale") == [None, 1]
