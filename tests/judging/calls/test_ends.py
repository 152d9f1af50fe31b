"""What ends a whole run, and what does not."""

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, script
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ServerError,
    StoppedError,
    UnsupportedError,
)
from voirdire.records import Failure


def test_no_access_ends_the_run(run):
    model, shelf = Model(script(AccessError("no such model", status=404))), Shelf()
    caller = caller_of(model, shelf=shelf)

    async def story():
        with pytest.raises(AccessError, match="no such model"):
            await caller.answer(call_about(1))
        with pytest.raises(StoppedError, match="The run ended: no such model"):
            await caller.answer(call_about(2))

    run(story())

    assert len(model.requests) == 1
    assert shelf.kept == {}


@pytest.mark.parametrize("where", ["server", "reader"])
def test_no_log_probabilities_end_the_run_and_the_reply_is_kept(run, where):
    error = UnsupportedError("The reply has no log-probabilities.", feature="logprobs")

    def read(reply):
        raise error

    model, shelf = Model(script(error if where == "server" else "7")), Shelf()
    call = call_about(1, read=read)

    with pytest.raises(UnsupportedError, match=r"no log-probabilities\. .*--probability stated"):
        run(caller_of(model, shelf=shelf).answer(call))
    assert len(shelf.of(call)) == (where == "reader")


def test_a_server_that_knows_no_form_ends_the_run(run):
    error = UnsupportedError("no json_schema", feature="json_schema")
    model = Model(script(error), forms=("json_schema",))

    with pytest.raises(UnsupportedError, match="no json_schema"):
        run(caller_of(model).answer(call_about(1)))


def test_a_server_that_refuses_the_first_ten_calls_ends_the_run(run):
    model = Model(script(BadRequestError("unknown parameter", status=400)))
    caller = caller_of(model, concurrency=1)

    async def story():
        for n in range(9):
            outcome = await caller.answer(call_about(n))
            assert outcome.failure == Failure(reason="bad request: unknown parameter")
        with pytest.raises(BadRequestError, match=r"refused the first 10 calls.*unknown parameter"):
            await caller.answer(call_about(9))

    run(story())


def test_refused_calls_after_a_reply_are_failures_however_many(run):
    model = Model(script("1", BadRequestError("too long")))
    caller = caller_of(model, concurrency=1)

    async def story():
        return [await caller.answer(call_about(n)) for n in range(40)]

    outcomes = run(story())

    assert sum(outcome.failure is not None for outcome in outcomes) == 39


def test_a_server_that_is_down_for_long_ends_the_run(run):
    model = Model(script("1", ServerError("connection refused")))
    caller = caller_of(model, concurrency=1, max_retries=1, max_failures_in_a_row=5)

    async def story():
        outcomes = [await caller.answer(call_about(n)) for n in range(5)]
        with pytest.raises(ServerError, match=r"5 calls failed one after another.*refused"):
            await caller.answer(call_about(5))
        return outcomes

    outcomes = run(story())

    assert [outcome.failure is None for outcome in outcomes] == [True] + [False] * 4


def test_a_reply_in_between_begins_the_count_anew(run):
    model = Model(lambda n: "1" if n % 3 == 0 else ServerError("broke"))
    caller = caller_of(model, concurrency=1, max_retries=0, max_failures_in_a_row=3)

    async def story():
        return [await caller.answer(call_about(n)) for n in range(30)]

    assert sum(outcome.failure is not None for outcome in run(story())) == 20
