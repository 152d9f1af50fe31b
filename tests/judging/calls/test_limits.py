"""Limits are checked before anything is called."""

import math

import pytest

from voirdire.errors import InputError
from voirdire.judging import Limits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0),
        ("concurrency", 2.5),
        ("concurrency", True),
        ("requests_per_minute", 0),
        ("tokens_per_minute", -1),
        ("timeout_s", 0),
        ("timeout_s", math.inf),
        ("timeout_s", math.nan),
        ("timeout_s", "10"),
        ("max_attempts", 0),
        ("max_retries", -1),
        ("max_cost", 0),
        ("max_cost", -1.0),
        ("max_failures_in_a_row", 0),
    ],
)
def test_a_limit_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(InputError, match=f"`{name}` must be"):
        Limits(**{name: value})


def test_the_smallest_limits_are_allowed():
    limits = Limits(
        concurrency=1,
        requests_per_minute=1,
        tokens_per_minute=1,
        timeout_s=1e-3,
        max_attempts=1,
        max_retries=0,
        max_cost=1e-9,
        max_failures_in_a_row=1,
    )

    assert limits.max_retries == 0
