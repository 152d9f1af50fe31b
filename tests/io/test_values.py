import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.io.values import first_of_each_sort, numbers, texts


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 3.0, None, 2.5], ["3", "3", None, "2.5"]),
        ([-0.0, 1e-7, 1e22, 123456789012345680.0], ["0", "1e-7", "1e+22", "123456789012345680"]),
        ([True, False], ["true", "false"]),
        ([2**64, -(2**70)], [str(2**64), str(-(2**70))]),
        ([["b", 1, None], {"a": 2**70}], ['["b",1,null]', '{"a":1180591620717411303424}']),
    ],
)
def test_python_values_have_one_text_each(values, expected):
    assert texts(values, source="x").to_list() == expected


@given(values=st.lists(st.floats(allow_nan=False) | st.none(), max_size=6))
def test_a_number_has_the_same_text_in_python_and_in_a_typed_column(values):
    typed = texts(pl.Series(values, dtype=pl.Float64), source="x")

    assert texts(values, source="x").to_list() == typed.to_list()


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_the_number(number):
    (text,) = texts([number], source="x")

    assert float(text) == number


def test_nan_is_nothing():
    assert numbers(pl.Series([float("nan"), 1])).to_list() == [None, 1]
    assert numbers([None, 2, 10**400]).to_list() == [None, 2, float("inf")]
    assert texts(pl.Series([float("nan"), 1]), source="x").to_list() == [None, "1"]


def test_the_first_of_each_sort_is_found():
    column = [None, "a", 1, 2.5, True, ["x"], "b", {"a": 1}]

    assert dict(first_of_each_sort(column)) == {
        "text": 1,
        "number": 2,
        "truth": 4,
        "list": 5,
        "object": 7,
    }
    assert dict(first_of_each_sort(pl.Series([None, 3]))) == {"number": 1}
    assert dict(first_of_each_sort(pl.Series([None, None], dtype=pl.String))) == {}
