"""Stopping, cancelling and running out of money: nothing that came is lost."""

import asyncio

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, now, script
from voirdire.errors import (
    CostLimitReachedError,
    InputError,
    RateLimitError,
    ServerError,
    StoppedError,
    VoirdireError,
)
from voirdire.judging import Limits
from voirdire.judging.calls import Caller
from voirdire.records import Reply, Usage


async def all_of(caller, n_calls):
    return await asyncio.gather(
        *(caller.answer(call_about(n)) for n in range(n_calls)), return_exceptions=True
    )


def test_a_stop_lets_what_is_in_flight_finish_and_begins_nothing(run):
    model, shelf = Model(script("1"), delay_s=10), Shelf(delay_s=2)
    caller = caller_of(model, shelf=shelf, concurrency=3)

    async def story():
        calls = asyncio.create_task(all_of(caller, 9))
        await asyncio.sleep(5)
        caller.stop()
        return await calls, now()

    outcomes, at = run(story())

    assert [getattr(outcome, "value", None) for outcome in outcomes] == [1.0] * 3 + [None] * 6
    assert {type(outcome) for outcome in outcomes[3:]} == {StoppedError}
    assert len(model.requests) == len(shelf.kept) == 3
    assert at == 12
    assert caller.state.is_stopped


@pytest.mark.parametrize(
    "error",
    [
        ServerError("broke"),
        RateLimitError("too many"),
        RateLimitError("too many", retry_after_s=500.0),
    ],
)
def test_a_stop_ends_the_waiting_for_another_try(run, error):
    model, shelf = Model(script(error)), Shelf()
    caller = caller_of(model, shelf=shelf, seed=3, max_retries=100)

    async def story():
        call = asyncio.create_task(caller.answer(call_about(1)))
        await asyncio.sleep(100)
        caller.stop()
        with pytest.raises(StoppedError):
            await call
        return now()

    # at most the reply that is in flight is waited for
    assert run(story()) <= 101
    assert shelf.kept == {}


def test_a_call_that_fails_after_the_stop_does_not_wait_for_another_try(run):
    model = Model(script(ServerError("broke")), delay_s=10)
    caller = caller_of(model, seed=3)

    async def story():
        call = asyncio.create_task(caller.answer(call_about(1)))
        await asyncio.sleep(5)
        caller.stop()
        with pytest.raises(StoppedError):
            await call
        return now()

    assert run(story()) == 10
    assert len(model.requests) == 1


@pytest.mark.parametrize("limits", [{"requests_per_minute": 1}, {"tokens_per_minute": 1}])
def test_a_stop_ends_the_waiting_for_the_pace(run, limits):
    caller = caller_of(Model(script("1")), concurrency=3, **limits)

    async def story():
        calls = asyncio.create_task(all_of(caller, 5))
        await asyncio.sleep(12.3)
        caller.stop()
        return await calls, now()

    outcomes, at = run(story())

    assert outcomes[0].value == 1.0
    assert {type(outcome) for outcome in outcomes[1:]} == {StoppedError}
    assert at == pytest.approx(12.3)
    assert caller.state.n_in_flight == 0


def test_stopping_twice_is_the_same_as_once(run):
    caller = caller_of(Model(script("1")))

    async def story():
        caller.stop()
        caller.stop()
        for _ in range(2):
            with pytest.raises(StoppedError, match="was stopped"):
                await caller.answer(call_about(1))

    run(story())


@pytest.mark.parametrize("n_cancels", [1, 3])
def test_a_cancelled_call_whose_reply_has_come_is_stored(run, n_cancels):
    shelf = Shelf(delay_s=10)
    call = call_about(1)
    caller = caller_of(Model(script("7"), delay_s=1), shelf=shelf)

    async def story():
        task = asyncio.create_task(caller.answer(call))
        for _ in range(n_cancels):
            await asyncio.sleep(2)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(story())

    assert shelf.attempts(call) == [Reply(text="7")]
    assert caller.state.n_in_flight == 0


def test_a_commit_that_hangs_does_not_hold_a_cancelled_call_for_ever(run):
    async def hang(call):
        await asyncio.Event().wait()

    caller = Caller(Model(script("7")), limits=Limits(), commit=hang)

    async def story():
        task = asyncio.create_task(caller.answer(call_about(1)))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(TimeoutError):
            await task
        return now()

    assert run(story()) == 35


def test_a_cancelled_call_that_waits_for_its_reply_is_given_up(run):
    model, shelf = Model(script("7"), delay_s=100), Shelf()
    caller = caller_of(model, shelf=shelf, concurrency=1)

    async def story():
        task = asyncio.create_task(caller.answer(call_about(1)))
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return await caller.answer(call_about(2)), now()

    outcome, at = run(story())

    assert (outcome.value, at) == (7.0, 105)
    assert list(shelf.kept) == [(call_about(2).item, "joint", 0)]


@pytest.mark.parametrize("seed", range(20))
def test_whoever_is_cancelled_wherever_nobody_else_is_lost(run, seed):
    import random

    rng = random.Random(seed)
    model = Model(lambda n: "1" if rng.random() < 0.7 else RateLimitError("x", retry_after_s=2.0))
    shelf = Shelf(delay_s=0.5)
    caller = caller_of(
        model, shelf=shelf, concurrency=4, requests_per_minute=600, tokens_per_minute=10**6
    )

    async def story():
        tasks = [asyncio.create_task(caller.answer(call_about(n))) for n in range(60)]
        doomed = rng.sample(tasks, 30)
        for task in doomed:
            await asyncio.sleep(rng.random())
            task.cancel()
        await asyncio.wait(tasks)
        return tasks

    tasks = run(story())

    for number, task in enumerate(tasks):
        n_kept = len(shelf.of(call_about(number)))
        # what ended with a value is stored, and nothing is stored twice
        assert n_kept <= 1
        assert task.cancelled() or (task.result().value == 1.0 and n_kept == 1)
    assert caller.state.n_in_flight == 0


COST = 0.01


def priced(usage):
    return (usage.prompt_tokens + usage.completion_tokens) * 1e-5


def paid(n):
    return Reply(text="1", usage=Usage(900, 100))


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_is_spent_than_allowed_and_hardly_less(run, concurrency):
    model, shelf = Model(paid), Shelf()
    caller = caller_of(model, shelf=shelf, price=priced, max_cost=1.0, concurrency=concurrency)

    outcomes = run(all_of(caller, 200))

    # each call costs a cent: a hundred of them, but for the first guesses
    values = [outcome for outcome in outcomes if not isinstance(outcome, VoirdireError)]
    ends = [outcome for outcome in outcomes if isinstance(outcome, VoirdireError)]
    assert len(values) == len(shelf.kept) == len(model.requests)
    assert 99 <= len(values) <= 100
    assert {type(end) for end in ends} == {CostLimitReachedError}
    assert "`max_cost` of $1.00 is reached" in str(ends[0])
    assert caller.state.cost == pytest.approx(len(values) * COST)


def test_a_first_guess_that_is_too_high_stops_nobody(run):
    # 3,000 characters are guessed at 1,200 tokens and take 30: alone they would have cost 12 times
    # what may be spent by eight calls at once
    model = Model(lambda n: Reply(text="1", usage=Usage(20, 10)))
    caller = caller_of(model, price=priced, max_cost=0.02, concurrency=8)

    async def story():
        calls = [caller.answer(call_about(n, text="x" * 3_000)) for n in range(50)]
        return await asyncio.gather(*calls)

    assert all(outcome.value == 1.0 for outcome in run(story()))
    assert caller.state.cost == pytest.approx(50 * 30e-5)


def test_a_call_that_alone_costs_too_much_is_not_made(run):
    model = Model(paid)
    caller = caller_of(model, price=priced, max_cost=0.001)

    with pytest.raises(CostLimitReachedError, match=r"of \$0\.001 is reached: \$0\.00 is"):
        run(caller.answer(call_about(1, text="x" * 3_000)))
    assert model.requests == []


@pytest.mark.parametrize("price", [None, lambda usage: None])
def test_a_limit_without_a_price_is_refused_before_anything_is_called(price):
    with pytest.raises(InputError, match="`max_cost` must come with a known price, got 5"):
        caller_of(Model(paid), price=price, max_cost=5)


def test_a_call_that_timed_out_may_be_charged_and_counts_as_its_guess(run):
    model = Model(paid, delay_s=1_000)
    caller = caller_of(
        model, price=priced, max_cost=0.02, timeout_s=1, max_retries=100, concurrency=1
    )

    with pytest.raises(CostLimitReachedError):
        run(caller.answer(call_about(1, text="x" * 1_000)))

    # 1,010 characters at 0.4 and 300 of the reply: 704 tokens, 0.00704 dollars, twice
    assert len(model.requests) == 2
    assert caller.state.cost == 0


def test_a_cancelled_call_gives_back_what_was_set_aside_for_it(run):
    model = Model(lambda n: Reply(text="1", usage=Usage(5, 1)), delay_s=100)
    caller = caller_of(model, price=priced, max_cost=0.0062)

    async def story():
        first = asyncio.create_task(caller.answer(call_about(0)))
        await asyncio.sleep(50)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        for n in range(1, 100):
            await caller.answer(call_about(n))

    with pytest.raises(CostLimitReachedError, match=r"calls without a reply may have cost \$"):
        run(story())

    # The cancelled call may be charged: 306 tokens, as it was guessed. What is left is enough for
    # (0.0062 - 0.00306) / 0.00006 = 52.3 calls.
    assert len(model.requests) == 1 + 52
    assert caller.state.cost == pytest.approx(52 * 0.00006)


def test_what_was_learnt_while_a_call_waited_counts_for_it(run):
    # guessed at 306 tokens each, two calls at once are too many; they take 6
    model = Model(lambda n: Reply(text="1", usage=Usage(5, 1)))
    caller = caller_of(model, price=priced, max_cost=0.0031, concurrency=4)

    outcomes = run(all_of(caller, 40))

    assert [outcome.value for outcome in outcomes] == [1.0] * 40


def test_waiting_for_money_does_not_wake_who_waits_for_the_server(run):
    times = []

    def answer(n):
        number = model.requests[n].messages[0].content.split()[0]
        if number == "item-0" and len(times) < 2:
            times.append(now())
            return ServerError("broke")
        return paid(n)

    model = Model(answer, delay_s=0.01)
    caller = caller_of(model, price=priced, max_cost=100.0, concurrency=4, seed=1)

    async def story():
        first = asyncio.create_task(caller.answer(call_about(0)))
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(1, 30)))
        await first
        return now()

    import random

    draws = random.Random(1)
    waits = draws.random() * 1 + draws.random() * 2
    assert run(story()) == pytest.approx(3 * 0.01 + waits)
