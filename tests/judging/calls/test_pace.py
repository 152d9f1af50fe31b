"""How fast calls are made: the run's own limits, and what the server says is left."""

import asyncio

import pytest

from judging.calls.scripted_calls import GOOD, VALUE, Model, judged, now, script
from voirdire.records import Headroom, Reply, Usage

pytestmark = pytest.mark.usefixtures("virtual_time")


def most_in_a_minute(times, amounts=None):
    """Add up the minute that begins with each call, and give the largest sum."""
    amounts = [1] * len(times) if amounts is None else amounts
    calls = list(zip(times, amounts, strict=True))
    return max(sum(n for at, n in calls if start <= at < start + 60 - 1e-6) for start, _ in calls)


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

    # the four that went at once took 800,000 tokens, and 10,000 come back per second
    assert model.times[3] < 1
    assert model.times[4] == pytest.approx(80, rel=0.05)


def test_the_slower_of_both_limits_decides():
    model = Model(lambda n: Reply(text=GOOD, usage=Usage(900, 100)), delay_s=0)

    judged(model, range(20), requests_per_minute=600, tokens_per_minute=6_000, concurrency=1)

    # a hundred tokens a second: ten seconds for each call
    assert model.times[-1] - model.times[9] == pytest.approx(100, abs=3)


class CountingServer(Model):
    """Takes 60 calls a minute, counts them as they arrive, and says what is left as it replies."""

    def __init__(self, **options):
        super().__init__(None, **options)
        self.left, self.at = 60.0, 0.0

    async def reply(self, request):
        self.left, self.at = min(60.0, self.left + now() - self.at) - 1, now()
        assert self.left >= 0, "a server that counts strictly would have refused this call"
        headroom = Headroom(
            requests=int(self.left), requests_limit=60, requests_reset_s=60 - self.left
        )
        await asyncio.sleep(self.delay_s)
        self.times.append(now())
        return Reply(text=GOOD, headroom=headroom)


@pytest.mark.parametrize("delay_s", [0.1, 1.0, 5.0])
def test_what_the_server_says_is_left_sets_the_pace(delay_s):
    server = CountingServer(delay_s=delay_s)

    found = judged(server, range(180), concurrency=16)

    # 60 are there at the start, and 120 come at one a second
    assert found.values == [VALUE] * 180
    assert server.times[-1] == pytest.approx(120, rel=0.15)


def waits_after(*headrooms):
    """Say when calls are sent, one after another, where replies carry these words."""
    said = [Reply(text=GOOD, headroom=headroom) for headroom in headrooms]
    model = Model(script(*said, GOOD), delay_s=0)
    judged(model, range(len(said) + 3), concurrency=1)
    return model.times[len(said) :]


def left(requests, reset_s=60.0, limit=100):
    return Headroom(requests=requests, requests_limit=limit, requests_reset_s=reset_s)


def test_a_server_with_little_left_is_asked_as_fast_as_it_recovers():
    # 50 are whole again in 25 s: two a second, and one is left
    assert waits_after(left(1, reset_s=25.0, limit=51)) == pytest.approx([0, 0.5, 1.0])


def test_a_server_with_nothing_left_is_asked_when_one_is_there():
    assert waits_after(left(0, reset_s=50.0)) == pytest.approx([0.5, 1.0, 1.5])


def test_a_later_word_of_the_server_replaces_the_earlier():
    assert waits_after(left(1), left(50)) == pytest.approx([0.0, 0.0, 0.0])


def test_a_server_that_only_says_none_left_is_left_alone_until_then():
    assert waits_after(Headroom(requests=0, requests_reset_s=12.0)) == [12, 12, 12]


def test_tokens_that_are_left_count_as_well():
    said = Headroom(tokens=0, tokens_limit=100_000, tokens_reset_s=100_000.0)

    # one token a second: a call of some hundred waits for minutes
    first, second, third = waits_after(said)
    assert first > 100
    assert second - first == pytest.approx(third - second)


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
        Headroom(tokens=90_000, tokens_limit=100_000, tokens_reset_s=6.0),
    ],
)
def test_headroom_that_says_too_little_or_that_much_is_left_changes_nothing(headroom):
    assert waits_after(headroom) == [0, 0, 0]


def test_small_calls_do_not_overtake_a_large_one_for_ever():
    # each item is guessed at a few hundred tokens, and the fourth at more than all others
    texts = {3: "x" * 200_000}
    model = Model(script(GOOD), delay_s=0)

    judged(model, range(30), texts=texts, tokens_per_minute=60_000, concurrency=30)

    assert model.items == list(range(30))
