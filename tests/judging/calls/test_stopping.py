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
    RateLimitError,
    RefusalError,
    ServerError,
)
from voirdire.judging import Price
from voirdire.records import Reply, Usage


async def stopped(model, n_items, *, at_s, **limits):
    """Ask about items and end the judge after a while; give why they failed, and when it ended."""
    live = Live(judge_of(model, **limits), rubric=RUBRIC)
    await live.start()
    asking = asyncio.create_task(live.ask(items_of(range(n_items)), deadline_s=1e6))
    await asyncio.sleep(at_s)
    await live.close(drain_s=1e5)
    return (await asking).failures, now()


def test_a_stop_lets_what_is_in_flight_finish_and_begins_nothing(run):
    model = Model(script(GOOD), delay_s=10)

    failures, at = run(stopped(model, 9, at_s=5, concurrency=3))

    assert failures == (None,) * 3 + (CLOSED,) * 6
    assert len(model.requests) == 3
    assert at == pytest.approx(10)


@pytest.mark.parametrize(
    ("error", "at_s", "delay_s"),
    [
        (ServerError("broke"), 100, 1),
        (RateLimitError("too many", retry_after_s=500.0), 100, 1),
        (ServerError("broke"), 5, 10),  # in flight, and fails after the stop
    ],
)
def test_a_stop_ends_the_waiting_for_another_try(run, error, at_s, delay_s):
    model = Model(script(error), delay_s=delay_s)

    failures, at = run(stopped(model, 1, at_s=at_s, max_retries=100))

    # at most the reply that is in flight is waited for
    assert failures == (CLOSED,)
    assert at <= max(at_s + 1.1, delay_s)


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
        (0.00003, "$0.00003"),
        (0.0000123456, "$0.0000123"),
    ],
)
def test_a_call_that_alone_costs_too_much_is_not_made(virtual_time, max_cost, written):
    model = Model(script(CENT))

    dear = Price(input=max_cost * 1e6, output=0.0)  # no request is cheap enough

    with pytest.raises(CostLimitReachedError) as caught:
        judged(model, price=dear, max_cost=max_cost)

    assert f"of {written} is reached: $0.00 is spent" in str(caught.value)
    assert model.requests == []


@pytest.mark.parametrize(
    ("error", "limits"),
    [
        (RefusalError("declined"), {}),
        (ContentFilterError("held back"), {}),
        (None, {"timeout_s": 0.5, "max_retries": 100}),
    ],
)
def test_what_got_no_answer_may_be_charged_and_counts_as_its_guess(virtual_time, error, limits):
    judged(known := Model(script(CENT)))
    model = Model(script(error or CENT))
    limits |= {"keep_going": True, "concurrency": 1, "price": PRICE}

    with pytest.raises(CostLimitReachedError, match="calls without a reply may have cost"):
        judged(model, range(50), max_cost=5.5 * guessed_cost(known.requests[0]), **limits)

    assert 4 <= len(model.requests) <= 6


def test_a_prompt_that_is_refused_unread_costs_nothing(virtual_time):
    model = Model(lambda n: ContentFilterError("not this prompt", status=400))

    found = judged(model, range(50), price=PRICE, max_cost=0.025, keep_going=True, concurrency=1)

    assert found.reasons == ["content filter: not this prompt"] * 50
