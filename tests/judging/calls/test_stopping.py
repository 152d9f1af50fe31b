"""Stopping and running out of money: nothing that came is lost, nothing more is begun."""

import asyncio

import pytest

from judging.calls.scripted_calls import (
    GOOD,
    RUBRIC,
    VALUE,
    Model,
    Runs,
    items_of,
    judge_of,
    judged,
    n_characters,
    now,
    script,
)
from judging.live.live_cases import CLOSED, Live
from voirdire.errors import (
    ContentFilterError,
    CostLimitReachedError,
    InputError,
    RateLimitError,
    RefusalError,
    ServerError,
)
from voirdire.judging import Price
from voirdire.records import Reply, Usage


def stopped(model, n_items, *, at_s, **limits):
    """Ask about items and end the judge after a while; give why they failed, and when it ended."""

    async def story():
        live = Live(judge_of(model, **limits), rubric=RUBRIC)
        await live.start()
        asking = asyncio.create_task(live.ask(items_of(range(n_items)), deadline_s=1e6))
        await asyncio.sleep(at_s)
        await live.close(drain_s=1e5)
        return (await asking).failures, now()

    return story()


def test_a_stop_lets_what_is_in_flight_finish_and_begins_nothing(run):
    model = Model(script(GOOD), delay_s=10)

    failures, at = run(stopped(model, 9, at_s=5, concurrency=3))

    assert failures == (None,) * 3 + (CLOSED,) * 6
    assert len(model.requests) == 3
    assert at == pytest.approx(10)


@pytest.mark.parametrize(
    "error",
    [
        ServerError("broke"),
        RateLimitError("too many"),
        RateLimitError("too many", retry_after_s=500.0),
    ],
)
def test_a_stop_ends_the_waiting_for_another_try(run, error):
    model = Model(script(error))

    failures, at = run(stopped(model, 1, at_s=100, max_retries=100))

    # at most the reply that is in flight is waited for
    assert failures == (CLOSED,)
    assert at <= 101.1


def test_a_call_that_fails_after_the_stop_does_not_wait_for_another_try(run):
    model = Model(script(ServerError("broke")), delay_s=10)

    _, at = run(stopped(model, 1, at_s=5))

    assert at == pytest.approx(10)
    assert len(model.requests) == 1


@pytest.mark.parametrize("limits", [{"requests_per_minute": 1}, {"tokens_per_minute": 1}])
def test_a_stop_ends_the_waiting_for_the_pace(run, limits):
    failures, at = run(stopped(Model(script(GOOD)), 5, at_s=12.3, concurrency=3, **limits))

    assert failures == (None,) + (CLOSED,) * 4
    assert at == pytest.approx(12.3)


PRICE = Price(input=10.0, output=10.0)  # a thousand tokens are a cent
CENT = Reply(text=GOOD, usage=Usage(900, 100))


def guessed_cost(request):
    """Say what a request costs before anybody knows: 0.4 tokens a character, and the reply."""
    return (0.4 * n_characters(request) + min(300, request.max_tokens)) * 1e-5


def dear(n_dollars):
    """Make a price at which no request is cheap enough."""
    return Price(input=n_dollars * 1e6, output=0.0)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_more_is_spent_than_allowed_and_hardly_less(tmp_path, virtual_time, concurrency):
    model, runs = Model(script(CENT)), Runs(tmp_path)

    with pytest.raises(CostLimitReachedError, match=r"`max_cost` of \$1\.00 is reached") as caught:
        runs(model, range(200), price=PRICE, max_cost=1.0, concurrency=concurrency)

    # each call costs a cent: a hundred of them, but for the guesses
    assert 98 <= len(model.requests) <= 100
    assert len(runs.rows()) == len(model.requests)
    assert f"{len(model.requests)} items are done" in str(caught.value)


def test_a_first_guess_that_is_too_high_stops_nobody(virtual_time):
    # guessed at more than a thousand tokens, a call takes 30: eight at once would be too dear
    model = Model(script(Reply(text=GOOD, usage=Usage(20, 10))))

    found = judged(model, range(50), price=PRICE, max_cost=0.025, concurrency=8)

    assert 8 * guessed_cost(model.requests[0]) > 0.025
    assert found.values == [VALUE] * 50


@pytest.mark.parametrize(
    ("max_cost", "written"),
    [
        (1234.5, "$1,234.50"),
        (1.005, "$1.005"),
        (20, "$20.00"),
        (0.02, "$0.02"),
        (0.001, "$0.001"),
        (0.00003, "$0.00003"),
        (0.0000123456, "$0.0000123"),
    ],
)
def test_a_call_that_alone_costs_too_much_is_not_made(virtual_time, max_cost, written):
    model = Model(script(CENT))

    with pytest.raises(CostLimitReachedError) as caught:
        judged(model, price=dear(max_cost), max_cost=max_cost)

    assert f"of {written} is reached: $0.00 is spent" in str(caught.value)
    assert model.requests == []


def test_a_limit_without_a_price_is_refused_before_anything_is_called():
    model = Model(script(CENT))

    with pytest.raises(InputError, match="`max_cost` needs the price of 'model'"):
        judged(model, max_cost=5)
    assert model.requests == []


def test_a_call_that_timed_out_may_be_charged_and_counts_as_its_guess(virtual_time):
    model = Model(script(CENT), delay_s=1_000)
    judged(known := Model(script(CENT)))
    limits = {"timeout_s": 1, "max_retries": 100, "concurrency": 1}

    with pytest.raises(CostLimitReachedError, match="calls without a reply may have cost"):
        judged(model, price=PRICE, max_cost=2.5 * guessed_cost(known.requests[0]), **limits)

    assert len(model.requests) == 2


@pytest.mark.parametrize("error", [RefusalError("declined"), ContentFilterError("held back")])
def test_what_was_refused_counts_as_what_may_have_been_charged(virtual_time, error):
    model = Model(lambda n: error)
    known = Model(script(GOOD))
    judged(known)
    limits = {"keep_going": True, "concurrency": 1}

    with pytest.raises(CostLimitReachedError, match="calls without a reply may have cost"):
        judged(
            model,
            range(50),
            price=PRICE,
            max_cost=5.5 * guessed_cost(known.requests[0]),
            **limits,
        )

    assert 4 <= len(model.requests) <= 6


def test_a_prompt_that_is_refused_unread_costs_nothing(virtual_time):
    model = Model(lambda n: ContentFilterError("not this prompt", status=400))
    limits = {"keep_going": True, "concurrency": 1}

    found = judged(model, range(50), price=PRICE, max_cost=0.025, **limits)

    assert found.reasons == ["content filter: not this prompt"] * 50
