"""`--items`: numbers, lists and grids."""

import pytest

from voirdire.cli.item_grid import as_sizes
from voirdire.cli.shell import UsageError


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ([], []),
        (["50"], [50]),
        (["30", "100"], [30, 100]),
        (["30,50, 100"], [30, 50, 100]),
        (["30:60:10"], [30, 40, 50, 60]),
        (["30:65:10", "200"], [30, 40, 50, 60, 200]),
        (["30:40:10,100"], [30, 40, 100]),
    ],
)
def test_sizes_are_read(words, sizes):
    assert as_sizes(words) == sizes


@pytest.mark.parametrize("word", ["x", "30:60", "60:30:10", "30:60:0", "30:60:-1", "", "1.5", "3,"])
def test_anything_else_is_refused_with_the_forms_that_are_read(word):
    with pytest.raises(UsageError, match=r"`--items` must be numbers, as 30,50,100 or START"):
        as_sizes([word])


@pytest.mark.parametrize("words", [["30:1000000:1"], ["30,2:10000000000000000000000:1"]])
def test_a_grid_of_more_than_a_thousand_sizes_is_refused_unread(words):
    with pytest.raises(UsageError, match=r"at most 1,000 sizes, got more"):
        as_sizes(words)


def test_a_thousand_sizes_are_read():
    assert as_sizes(["2:1001:1"]) == list(range(2, 1_002))
