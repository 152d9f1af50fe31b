"""Buckets against a plain count: how much went through in any minute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.calls.buckets import Bucket


def through(bucket, amounts, *, until):
    """Take amounts one after another, as early as the bucket lets them; times with amounts."""
    now, taken = 0.0, []
    for amount in amounts:
        while (wait := bucket.wait_s(amount, now=now)) > 0:
            now += wait
        if now >= until:
            break
        bucket.take(amount, now=now)
        taken.append((now, amount))
    return taken


def most_in_a_minute(taken):
    """Add up the minute that ends with each taking, and give the largest sum."""
    most = inside = first = 0
    for at, amount in taken:
        inside += amount
        while taken[first][0] <= at - 60 + 1e-6:
            inside -= taken[first][1]
            first += 1
        most = max(most, inside)
    return most


@pytest.mark.parametrize("per_minute", [1, 2, 7, 60, 61, 500, 6_000])
def test_no_minute_sees_more_requests_than_allowed(per_minute):
    bucket = Bucket.per_minute(per_minute, now=0.0)

    taken = through(bucket, [1] * (3 * per_minute), until=150)

    assert most_in_a_minute(taken) <= per_minute
    # and hardly fewer: the second minute is used to the last request but two
    in_second = sum(60 <= at < 120 for at, _ in taken)
    assert in_second >= per_minute - max(2, per_minute / 50)


@given(st.lists(st.floats(1, 5_000), min_size=1, max_size=200))
def test_tokens_overshoot_by_one_call_at_most(amounts):
    bucket = Bucket.per_minute(10_000, now=0.0)

    taken = through(bucket, amounts, until=1e9)

    assert len(taken) == len(amounts)
    assert most_in_a_minute(taken) <= 10_001 + max(amounts)


def test_more_than_the_bucket_holds_waits_until_it_is_full_and_leaves_a_debt():
    bucket = Bucket(capacity=10, per_second=2, now=0.0)
    bucket.take(10, now=0.0)

    # full again after 10 / 2 s; then 25 leave it 15 short, and 1 more needs 16 / 2 s
    assert bucket.wait_s(25, now=0.0) == 5
    bucket.take(25, now=5.0)
    assert bucket.wait_s(1, now=5.0) == 8


def test_what_is_given_back_never_overfills():
    bucket = Bucket(capacity=10, per_second=1, now=0.0)

    bucket.take(-100, now=0.0)

    assert bucket.wait_s(10, now=0.0) == 0
    bucket.take(10, now=0.0)
    assert bucket.wait_s(1, now=0.0) == 1


def test_a_clock_that_goes_back_fills_nothing():
    bucket = Bucket(capacity=10, per_second=1, now=5.0)
    bucket.take(10, now=5.0)

    assert bucket.wait_s(1, now=4.0) == 1
