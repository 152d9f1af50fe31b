"""Calls that are made again, and how long they wait for it."""

import asyncio

import numpy as np
import pytest

from judging.calls.scripted_calls import GOOD, VALUE, Model, by_item, judged, now, script
from voirdire.errors import ModelTimeoutError, RateLimitError, ServerError

pytestmark = pytest.mark.usefixtures("virtual_time")


def of_items(answer, **options):
    """Make a model that answers by the number of an item and how often it was asked before."""
    answered = by_item(answer)
    model = Model(lambda n: answered(model.requests[n]), **options)
    return model


@pytest.mark.parametrize(
    "error",
    [
        ServerError("broke", status=502),
        ModelTimeoutError("late"),
        RateLimitError("slow", status=429),
    ],
)
def test_an_error_that_may_pass_is_tried_again_apart_from_unreadable_replies(error):
    model = Model(script(error, "many", error, error, "many", GOOD))

    found = judged(model, max_retries=3, max_attempts=3)

    assert found.values == [VALUE]
    assert len(model.requests) == 6


@pytest.mark.parametrize("max_retries", [0, 6])
def test_an_error_that_stays_is_a_failure_with_its_reason(max_retries):
    model = Model(script(ServerError("broke", status=502)))

    found = judged(model, max_retries=max_retries)

    tried = f" (tried {max_retries + 1} times)" if max_retries else ""
    assert found.reasons == [f"server error: broke{tried}"]
    assert len(model.requests) == max_retries + 1


@pytest.mark.ci
def test_waits_between_tries_are_drawn_from_a_range_that_doubles():
    model = Model(script(ServerError("broke")), delay_s=0)

    judged(model, range(200), concurrency=200, max_retries=8, keep_going=True)

    times = [
        [at for at, item in zip(model.times, model.items, strict=True) if item == n]
        for n in range(200)
    ]
    waits = np.diff(times, axis=1)
    longest = np.array([1, 2, 4, 8, 16, 32, 60, 60])
    assert (waits <= longest + 1e-9).all()
    # uniform: the mean of 200 lies so close to the middle unless something is wrong
    assert waits.mean(axis=0) == pytest.approx(longest / 2, rel=0.25)
    assert (waits.max(axis=0) > 0.9 * longest).all()


def test_a_call_that_takes_too_long_is_given_up_and_made_again():
    async def slow_once(n):
        await asyncio.sleep(1_000 if n == 0 else 0)
        return GOOD

    model = Model(slow_once, delay_s=0)

    found = judged(model, timeout_s=10)

    assert found.values == [VALUE]
    assert model.n_inside == 0
    assert 10 <= model.times[1] <= 11


def test_retry_after_is_waited_for_exactly_and_by_everybody():
    first = RateLimitError("slow down", status=429, retry_after_s=30.0)
    model = Model(script(first, GOOD))

    judged(model, range(3), concurrency=1)

    # refused at 1 s; nothing is sent before 31 s
    assert model.times == [0, 31, 32, 33]


def test_a_longer_wait_is_not_shortened_by_a_later_word():
    said = [RateLimitError("no", retry_after_s=seconds) for seconds in (12.0, 3.0, 5.0)]

    async def in_turn(n):
        await asyncio.sleep(max(n - 1, 0))  # after the first, refused at 0, 1 and 2 s
        return said[n - 1] if 0 < n < 4 else GOOD

    model = Model(in_turn, delay_s=0)

    judged(model, range(4), concurrency=3)

    assert model.times[:5] == [0, 0, 0, 0, 12]


def test_a_server_that_is_overloaded_may_say_for_how_long():
    model = Model(script(ServerError("busy", status=503, retry_after_s=7.5), GOOD))

    judged(model)

    assert model.times == [0, 8.5]


def test_ten_minutes_are_waited_for_and_a_longer_wait_ends_the_run():
    def refused_for(seconds):
        return Model(script(RateLimitError("come back tomorrow", retry_after_s=seconds), GOOD))

    model = refused_for(601.0)
    with pytest.raises(ServerError, match=r"for 10 minutes more.*tomorrow.*repeat the same run"):
        judged(model)

    assert len(model.requests) == 1
    assert judged(refused_for(600.0)).reasons == [None]
    on = judged(refused_for(601.0), keep_going=True)
    assert on.reasons == ["rate limit: come back tomorrow"]


def test_a_rate_limit_counts_only_while_nobody_gets_through():
    # a server that takes one call in two seconds, and says only "too many" to the others
    taken = []

    def answer(n):
        if taken and now() < taken[-1] + 2:
            return RateLimitError("too many")
        taken.append(now())
        return GOOD

    model = Model(answer)

    found = judged(model, range(40), concurrency=12, max_retries=6)

    assert found.values == [VALUE] * 40
    assert len(model.requests) > 80


def test_a_call_that_is_always_over_the_limit_ends_though_others_get_through():
    model = of_items(lambda number, n: RateLimitError("too large") if number == 7 else GOOD)

    found = judged(model, range(400), concurrency=4, max_retries=2)

    assert [n for n, reason in enumerate(found.reasons) if reason] == [7]
    # ten are borne, and two in a moment when nobody else got through; the next is the end
    assert 11 <= model.items.count(7) <= 13


def test_complaints_lower_the_concurrency_and_successes_raise_it():
    inside = []

    def answer(n):
        inside.append(model.n_inside)
        return RateLimitError("too many") if 0 < n < 17 else GOOD

    model = Model(answer)

    found = judged(model, range(400), concurrency=16)

    # sixteen complaints of one round trip halve the places once; each round then adds one
    assert found.values == [VALUE] * 400
    assert max(inside[17:21]) == 8
    assert model.most_inside == max(inside[300:]) == 16
