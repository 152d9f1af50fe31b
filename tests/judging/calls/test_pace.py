"""How fast calls are made: the run's own limits, and what the server says is left."""

import pytest

from judging.calls.scripted_calls import GOOD, Model, judged, script
from voirdire.records import Reply, Usage

pytestmark = pytest.mark.usefixtures("virtual_time")


def most_in_a_minute(times, amounts=None):
    """Add up the minute that begins with each call, and give the largest sum."""
    amounts = [1] * len(times) if amounts is None else amounts
    calls = list(zip(times, amounts, strict=True))
    return max(sum(n for at, n in calls if start <= at < start + 60 - 1e-6) for start, _ in calls)


@pytest.mark.edges
@pytest.mark.parametrize("per_minute", [1, 2, 7, 60, 61, 200])
def test_no_minute_sees_more_requests_than_allowed_and_hardly_fewer(per_minute):
    model = Model(script(GOOD), delay_s=0.1)

    judged(model, range(3 * per_minute), requests_per_minute=per_minute, concurrency=64)

    assert most_in_a_minute(model.times) <= per_minute
    in_second = sum(60 <= at < 120 for at in model.times)
    assert in_second >= per_minute - max(2, per_minute / 50)


def test_tokens_per_minute_are_learnt_from_what_calls_take():
    # guessed far too low at first
    model = Model(lambda n: Reply(text=GOOD, usage=Usage(4_500, 500)), delay_s=0.1)

    judged(model, range(200), tokens_per_minute=300_000, concurrency=4)

    # 60 a minute: 5,000 tokens a second
    for start in model.times[10:-60]:
        assert sum(start <= at < start + 60 for at in model.times) == pytest.approx(60, abs=3)


def test_tokens_that_were_guessed_too_low_are_paid_back_before_the_next_call():
    model = Model(lambda n: Reply(text=GOOD, usage=Usage(190_000, 10_000)), delay_s=1)

    judged(model, range(5), tokens_per_minute=600_000, concurrency=4)

    # each takes 200,000 tokens, and 10,000 come back per second; the first goes alone
    assert model.times[1] == pytest.approx(20, rel=0.05)
    assert model.times[4] == pytest.approx(80, rel=0.05)


def test_the_slower_of_both_limits_decides():
    model = Model(lambda n: Reply(text=GOOD, usage=Usage(900, 100)), delay_s=0)

    judged(model, range(20), requests_per_minute=600, tokens_per_minute=6_000, concurrency=1)

    # a hundred tokens a second: ten seconds for each call
    assert model.times[-1] - model.times[9] == pytest.approx(100, abs=3)


def test_small_calls_do_not_overtake_a_large_one_for_ever():
    # each item is guessed at a few hundred tokens, and the fourth at more than all others
    texts = {3: "x" * 200_000}
    model = Model(script(GOOD), delay_s=0)

    judged(model, range(30), texts=texts, tokens_per_minute=60_000, concurrency=30)

    assert model.items == list(range(30))
