"""Numbers as they are written on the page."""

import pytest

from voirdire.reporting.page_frame.numerals import percent


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0%"),
        (0.004, "<1%"),
        (0.01, "1%"),
        (0.43, "43%"),
        (0.99, "99%"),
        (0.996, ">99%"),
        (1.0, "100%"),
        (None, "–"),
    ],
)
def test_only_none_is_zero_and_only_all_is_a_hundred(share, words):
    assert percent(share) == words
