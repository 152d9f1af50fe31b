"""Cutting items into slices by their metadata."""

import polars as pl
import pytest

from voirdire.io import metadata_from_frame
from voirdire.studies.slice_columns import slice_items


def cut(values, items=None):
    names = [f"t{number}" for number in range(len(values))]
    metadata = metadata_from_frame(pl.DataFrame({"item": names, "x": values}, strict=False))
    return slice_items(metadata, names if items is None else items)


def by_value(slicing):
    [column] = slicing.columns
    return [column.values[code] if code >= 0 else None for code in column.codes.tolist()]


def test_texts_are_slices_in_the_order_of_the_items():
    slicing = cut(["web", None, "chat", "web"], items=["t3", "t2", "t9", "t1", "t0"])

    assert by_value(slicing) == ["web", "chat", None, None, "web"]
    assert slicing.n_unknown == 1


def test_truth_values_are_two_slices():
    slicing = cut([True, False, None, True])

    assert slicing.columns[0].values == ("false", "true")
    assert by_value(slicing) == ["true", "false", None, "true"]


def test_few_numbers_are_slices_of_their_own():
    assert by_value(cut([3, 1.5, None, 3, 10, 2])) == ["3", "1.5", None, "3", "10", "2"]


def test_many_numbers_are_cut_into_quarters_with_their_ends():
    slicing = cut([*range(1, 9), None])

    assert slicing.columns[0].values == ("1 to 2", "3 to 4", "5 to 6", "7 to 8")
    assert by_value(slicing)[-1] is None
    assert by_value(slicing)[4] == "5 to 6"


def test_a_quarter_of_equal_numbers_has_one_end():
    slicing = cut([0] * 6 + [1, 2, 3, 4, 5, 6])

    assert slicing.columns[0].values == ("0", "1 to 3", "4 to 6")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["a"] * 5, "one value only"),
        ([None] * 5, "no value for any item"),
        ([7.0] * 5, "one value only"),
        ([f"v{n}" for n in range(21)], "21 distinct values, more than 20"),
    ],
)
def test_columns_that_cut_nothing_are_skipped_with_their_reason(values, reason):
    slicing = cut(values)

    assert slicing.columns == ()
    assert [row.as_dict() for row in slicing.skipped] == [{"column": "x", "reason": reason}]


def test_only_the_items_at_hand_count():
    slicing = cut([f"v{n}" for n in range(30)], items=["t1", "t2"])

    assert slicing.columns[0].values == ("v1", "v2")


def test_twenty_hostile_values_are_themselves():
    evil = ["\x1b[2J", "<b>", "^.*$", "a\nb", "\u202e", "null", "None", "", *map(str, range(13))]
    known = [value for value in evil if value.strip()]

    assert by_value(cut(evil)) == [value if value in known else None for value in evil]
