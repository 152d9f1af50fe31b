"""Calls that are made again, and how long they wait for it."""

import asyncio
import random

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, ends, now, script
from voirdire.errors import (
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from voirdire.judging.calls import CallFailure, Outcome
from voirdire.records import Failure, Headroom, Reply, Usage


@pytest.mark.parametrize(
    "error",
    [
        ServerError("broke", status=500),
        ModelTimeoutError("late"),
        RateLimitError("slow", status=429),
    ],
)
def test_an_error_that_may_pass_is_tried_again(run, error):
    model, shelf = Model(script(error, error, error, "4")), Shelf()
    call = call_about(1)
    caller = caller_of(model, shelf=shelf)

    outcome = run(caller.answer(call))

    assert outcome == Outcome(value=4.0, form="json_schema", attempts=1)
    assert len(shelf.of(call)) == 1
    assert (caller.state.n_calls, caller.state.n_retries) == (4, 3)


@pytest.mark.parametrize("max_retries", [0, 1, 6])
def test_an_error_that_stays_is_a_failure_with_its_reason(run, max_retries):
    model, shelf = Model(script(ServerError("broke", status=500))), Shelf()
    call = call_about(1)

    outcome = run(caller_of(model, shelf=shelf, max_retries=max_retries).answer(call))

    tried = f" (tried {max_retries + 1} times)" if max_retries else ""
    assert outcome.failure == Failure(reason=f"server error: broke{tried}")
    assert len(model.requests) == max_retries + 1
    assert shelf.attempts(call) == [
        CallFailure(
            reason="server error", message=f"broke{tried}", status=500, n_tries=max_retries + 1
        )
    ]


def test_waits_between_tries_are_drawn_from_a_range_that_doubles(run):
    model = Model(script(ServerError("broke")), delay_s=0)

    run(caller_of(model, max_retries=8, seed=5).answer(call_about(1)))

    draws = random.Random(5)
    waits = [draws.random() * longest for longest in (1, 2, 4, 8, 16, 32, 60, 60)]
    assert [b - a for a, b in zip(model.times, model.times[1:], strict=False)] == pytest.approx(
        waits
    )


def test_errors_and_unreadable_replies_have_budgets_of_their_own(run):
    broke = ServerError("broke")
    model = Model(script(broke, "many", broke, "many", broke, "5"))

    outcome = run(caller_of(model, max_retries=3, max_attempts=3).answer(call_about(1)))

    assert (outcome.value, outcome.attempts) == (5.0, 3)


def test_a_call_that_takes_too_long_is_given_up_and_made_again(run):
    async def slow_once(n):
        await asyncio.sleep(1_000 if n == 0 else 0)
        return "6"

    model = Model(slow_once, delay_s=0)

    outcome, at = run(ends(caller_of(model, timeout_s=10, seed=1), call_about(1)))

    assert outcome.value == 6.0
    assert model.n_inside == 0
    assert at == pytest.approx(10 + random.Random(1).random())


def test_retry_after_is_waited_for_exactly_and_by_everybody(run):
    first = RateLimitError("slow down", status=429, retry_after_s=30.0)
    model = Model(script(first, "1"))
    caller = caller_of(model, concurrency=2)

    async def story():
        one = asyncio.create_task(caller.answer(call_about(1)))
        await asyncio.sleep(5)
        two = asyncio.create_task(caller.answer(call_about(2)))
        await asyncio.gather(one, two)

    run(story())

    # refused at 1 s; nothing is sent before 31 s, and then one by one: the places were halved
    assert model.times == [0, 31, 32]
    assert caller.state.rate_limit_wait_s == 30
    assert caller.state.n_rate_limits == 1


def test_a_server_that_is_overloaded_may_say_for_how_long(run):
    model = Model(script(ServerError("busy", status=503, retry_after_s=7.5), "1"))

    run(caller_of(model).answer(call_about(1)))

    assert model.times == [0, 8.5]


@pytest.mark.parametrize(("retry_after_s", "is_tried_again"), [(600.0, True), (601.0, False)])
def test_nobody_waits_for_longer_than_ten_minutes(run, retry_after_s, is_tried_again):
    model = Model(script(RateLimitError("come back later", retry_after_s=retry_after_s), "1"))

    outcome = run(caller_of(model).answer(call_about(1)))

    assert len(model.requests) == 1 + is_tried_again
    assert (outcome.failure is None) is is_tried_again


def test_a_rate_limit_counts_only_while_nobody_gets_through(run):
    # a server that takes one call in ten seconds, and says only "too many" to the others
    taken = []

    def answer(n):
        if taken and now() < taken[-1] + 10:
            return RateLimitError("too many")
        taken.append(now())
        return "1"

    caller = caller_of(Model(answer), concurrency=12, max_retries=6)

    async def story():
        return await asyncio.gather(*(caller.answer(call_about(n)) for n in range(40)))

    outcomes = run(story())

    assert [outcome.value for outcome in outcomes] == [1.0] * 40
    assert caller.state.n_rate_limits > 40


def test_a_call_that_is_always_over_the_limit_ends_though_others_get_through(run):
    def request_of(n):
        return model.requests[n].messages[0].content

    def answer(n):
        return RateLimitError("too large") if "item-7 " in request_of(n) else "1"

    model = Model(answer)
    caller = caller_of(model, concurrency=4, max_retries=2)

    async def busy(done):
        number = 100
        while not done.is_set():
            number += 1
            await caller.answer(call_about(number))

    async def story():
        done = asyncio.Event()
        others = asyncio.create_task(busy(done))
        outcome = await caller.answer(call_about(7))
        done.set()
        await others
        return outcome

    outcome = run(story())

    assert outcome.failure is not None
    # one for the first, which nobody overtook; ten are borne, and the next is the end
    assert sum("item-7 " in request_of(n) for n in range(len(model.requests))) in (11, 12)


def test_complaints_lower_the_concurrency_and_successes_raise_it(run):
    def answer(n):
        return RateLimitError("too many") if model.most_inside > 4 and n < 16 else "1"

    model = Model(answer)
    caller = caller_of(model, concurrency=16)

    async def story():
        calls = [asyncio.create_task(caller.answer(call_about(n))) for n in range(300)]
        await asyncio.sleep(1.001)
        low = caller.state.concurrency
        await asyncio.gather(*calls)
        return low

    assert run(story()) == 8
    assert caller.state.concurrency == 16


def test_requests_per_minute_hold_in_every_minute(run):
    model = Model(script("1"), delay_s=0.1)
    caller = caller_of(model, requests_per_minute=30)

    async def story():
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(100)))

    run(story())

    for start in model.times:
        assert sum(start <= at < start + 60 - 1e-6 for at in model.times) <= 30
    assert model.times[-1] == pytest.approx(99 * 2)


def test_tokens_per_minute_are_learnt_from_what_calls_take(run):
    # guessed far too low at first: 20 characters that take 1,000 tokens
    model = Model(lambda n: Reply(text="1", usage=Usage(900, 100)), delay_s=0.1)
    caller = caller_of(model, tokens_per_minute=60_000, concurrency=4)

    async def story():
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(200)))

    run(story())

    # 60 a minute: 1,000 tokens a second
    for start in model.times[10:-60]:
        assert sum(start <= at < start + 60 for at in model.times) == pytest.approx(60, abs=3)


def test_tokens_that_were_guessed_too_low_are_paid_back_before_the_next_call(run):
    model = Model(lambda n: Reply(text="1", usage=Usage(19_000, 1_000)), delay_s=1)
    caller = caller_of(model, tokens_per_minute=60_000, concurrency=4)

    async def story():
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(5)))

    run(story())

    # the four that went at once took 80,000 tokens, and 1,000 come back per second
    assert model.times[3] < 2
    assert model.times[4] == pytest.approx(80, rel=0.05)


def test_small_calls_do_not_overtake_a_large_one_for_ever(run):
    # 1,000 tokens a second and as many at once; guessed at 0.4 a character and 300 for the reply
    model = Model(script("1"), delay_s=0)
    caller = caller_of(model, tokens_per_minute=60_000)

    async def later(n):
        await asyncio.sleep(0.35 * n)
        await caller.answer(call_about(n))

    async def story():
        first = [caller.answer(call_about(n)) for n in (97, 98)]
        large = caller.answer(call_about(99, text="x" * 5_000))
        await asyncio.gather(*first, large, *(later(n) for n in range(1, 20)))

    run(story())

    items = [request.messages[0].content.split()[0] for request in model.requests]
    assert items.index("item-99") == 2


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
        return Reply(text="1", headroom=headroom)


@pytest.mark.parametrize("delay_s", [0.1, 1.0, 5.0])
def test_what_the_server_says_is_left_sets_the_pace(run, delay_s):
    caller = caller_of(CountingServer(delay_s=delay_s), concurrency=16)

    async def story():
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(180)))
        return now()

    # 60 are there at the start, and 120 come at one a second
    assert run(story()) == pytest.approx(120, rel=0.15)


def test_a_rate_limit_counts_again_once_nobody_else_gets_through(run):
    def answer(n):
        return "1" if "item-1 " in model.requests[n].messages[0].content else RateLimitError("no")

    model = Model(answer)
    caller = caller_of(model, concurrency=2, max_retries=2)

    async def story():
        return await asyncio.gather(*(caller.answer(call_about(n)) for n in (1, 2)))

    other, outcome = run(story())

    # the first error came with a reply to the other call; of those after it, the third is the end
    assert other.value == 1.0
    assert outcome.failure.reason == "rate limit: no (tried 4 times)"
