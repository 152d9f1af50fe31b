"""The pace that a server's headroom sets."""

import pytest

from voirdire.judging import Limits
from voirdire.judging.calls.pace import Pace
from voirdire.records import Headroom


def pace(**limits):
    return Pace(Limits(**limits), now=0.0)


def test_without_limits_nobody_waits():
    assert pace().wait_s(1, 10**9, now=0.0) == 0


def test_the_slowest_of_all_limits_decides():
    paced = pace(requests_per_minute=60, tokens_per_minute=60)
    paced.take(1, 11, now=0.0)

    # requests: 1 a second; tokens: 10 short of 1, and 1 a second fills it
    assert paced.wait_s(1, 0, now=0.0) == pytest.approx(10)
    assert paced.wait_s(1, 1, now=0.0) == pytest.approx(11)


def test_a_server_with_little_left_is_asked_as_fast_as_it_recovers():
    paced = pace()

    # 100 are whole again in 50 s: 2 a second; of the 3 that are left, 3 were sent since
    paced.observe(
        Headroom(requests=3, requests_limit=103, requests_reset_s=50.0),
        n_requests_since=3,
        n_tokens_since=0,
        now=0.0,
    )

    assert paced.wait_s(1, 0, now=0.0) == 0.5
    assert paced.wait_s(1, 0, now=0.5) == 0


def test_a_server_with_much_left_is_not_waited_for():
    paced = pace()

    paced.observe(
        Headroom(tokens=9_000, tokens_limit=10_000, tokens_reset_s=6.0),
        n_requests_since=31,
        n_tokens_since=3_000,
        now=0.0,
    )

    assert paced.counts_tokens
    assert paced.wait_s(1, 1_000, now=0.0) == 0


def test_a_later_word_of_the_server_replaces_the_earlier():
    paced = pace()
    for left in (0, 50):
        paced.observe(
            Headroom(requests=left, requests_limit=100, requests_reset_s=60.0),
            n_requests_since=0,
            n_tokens_since=0,
            now=0.0,
        )

    assert paced.wait_s(1, 0, now=0.0) == 0


def test_a_server_that_only_says_none_left_is_left_alone_until_then():
    paced = pace()

    paced.observe(
        Headroom(requests=0, requests_reset_s=12.0), n_requests_since=0, n_tokens_since=0, now=1.0
    )

    assert paced.wait_s(1, 0, now=1.0) == 12


@pytest.mark.parametrize(
    "headroom",
    [
        Headroom(),
        Headroom(requests=0),
        Headroom(requests=0, requests_limit=10),
        Headroom(requests=0, requests_limit=10, requests_reset_s=0.0),
        Headroom(requests=0, requests_limit=10, requests_reset_s=-1.0),
        Headroom(requests=0, requests_limit=10, requests_reset_s=float("nan")),
        Headroom(tokens=0, tokens_limit=10, tokens_reset_s=float("inf")),
        Headroom(requests=10, requests_limit=10, requests_reset_s=1.0),
    ],
)
def test_headroom_that_says_too_little_changes_nothing(headroom):
    paced = pace()

    paced.observe(headroom, n_requests_since=5, n_tokens_since=500, now=0.0)

    assert paced.wait_s(1, 100, now=0.0) == 0


def test_a_longer_hold_is_not_shortened():
    paced = pace()

    added = [paced.hold(10, now=0.0), paced.hold(3, now=1.0), paced.hold(12, now=2.0)]

    assert added == [10, 0, 4]
    assert paced.wait_s(1, 0, now=2.0) == 12
