"""What calls cost, in words."""

import pytest

from voirdire.judging.calls.spending import dollars


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        (0.0, "$0.00"),
        (1234.5, "$1,234.50"),
        (1.005, "$1.005"),
        (20, "$20.00"),
        (0.02, "$0.02"),
        (0.001, "$0.001"),
        (0.00003, "$0.00003"),
        (0.0000123456, "$0.0000123"),
    ],
)
def test_an_amount_has_cents_and_as_many_digits_as_say_something(amount, written):
    assert dollars(amount) == written
