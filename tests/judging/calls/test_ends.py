"""What ends a whole run, and what does not."""

import asyncio

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, now, script
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ModelTimeoutError,
    RefusalError,
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

    with pytest.raises(UnsupportedError, match="no log-probabilities") as caught:
        run(caller_of(model, shelf=shelf).answer(call))
    # a reader says its way out itself
    assert ("--probability stated" in str(caught.value)) == (where == "server")
    assert len(shelf.of(call)) == (where == "reader")


def test_a_server_that_knows_no_form_ends_the_run(run):
    error = UnsupportedError("no json_schema", feature="json_schema")
    model = Model(script(error), forms=("json_schema",))

    with pytest.raises(UnsupportedError, match="no json_schema"):
        run(caller_of(model).answer(call_about(1)))


def test_a_server_that_refuses_the_first_ten_calls_ends_the_run(run):
    model, shelf = Model(script(BadRequestError("unknown parameter", status=400))), Shelf()
    caller = caller_of(model, shelf=shelf, concurrency=1)

    async def story():
        for n in range(9):
            outcome = await caller.answer(call_about(n))
            assert outcome.failure == Failure(reason="bad request: unknown parameter")
        with pytest.raises(BadRequestError, match=r"refused the first 10 calls.*unknown parameter"):
            await caller.answer(call_about(9))
        with pytest.raises(StoppedError, match="The run ended: The server refused the first 10"):
            await caller.answer(call_about(10))

    run(story())

    # all of them, so that --retry-failures means all of them
    assert [len(shelf.of(call_about(n))) for n in range(11)] == [1] * 10 + [0]
    assert caller.state.n_failures == 10


def test_refused_calls_after_a_reply_are_failures_however_many(run):
    model = Model(script("1", BadRequestError("too long")))
    caller = caller_of(model, concurrency=1)

    async def story():
        return [await caller.answer(call_about(n)) for n in range(40)]

    outcomes = run(story())

    assert sum(outcome.failure is not None for outcome in outcomes) == 39


def test_a_server_that_is_down_for_long_ends_the_run(run):
    model, shelf = Model(script("1", ServerError("connection refused"))), Shelf()
    limits = {"concurrency": 1, "max_retries": 1, "max_failures_in_a_row": 5}
    caller = caller_of(model, shelf=shelf, **limits)

    async def story():
        outcomes = [await caller.answer(call_about(n)) for n in range(5)]
        with pytest.raises(ServerError, match=r"5 calls failed one after another.*refused"):
            await caller.answer(call_about(5))
        return outcomes

    outcomes = run(story())

    assert [outcome.failure is None for outcome in outcomes] == [True] + [False] * 4
    assert [len(shelf.of(call_about(n))) for n in range(7)] == [1] * 6 + [0]


NOBODY = ServerError("no connection, 127.0.0.1:1.")


def unreached(answer, **about):
    """Make a model that is at an address."""
    model = Model(answer, **about)
    model.settings = {"base_url": "http://127.0.0.1:1/v1"}
    return model


@pytest.mark.parametrize(
    ("n_calls", "concurrency", "n_tried"),
    [(1, 32, 3), (2, 32, 6), (3, 32, 9), (20, 1, 9), (20, 3, 9)],
)
def test_a_server_that_is_not_there_ends_the_run_at_once(run, n_calls, concurrency, n_tried):
    model, shelf = unreached(script(NOBODY), delay_s=0), Shelf()
    caller = caller_of(model, shelf=shelf, concurrency=concurrency)

    async def story():
        calls = [caller.answer(call_about(n)) for n in range(n_calls)]
        return await asyncio.gather(*calls, return_exceptions=True), now()

    ends, at = run(story())

    (said,) = [end for end in ends if isinstance(end, ServerError)]
    assert "http://127.0.0.1:1/v1. The last of them: no connection, 127.0.0.1:1. See" in str(said)
    assert sum(isinstance(end, StoppedError) for end in ends) == n_calls - 1
    assert n_tried <= len(model.requests) <= 3 * n_calls
    assert at < 2.0
    assert shelf.kept == {}


def test_a_worker_alone_does_not_wait_for_calls_that_cannot_begin(run):
    model = unreached(script(NOBODY), delay_s=0)

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        run(caller_of(model, concurrency=1).answer(call_about(1)))
    assert len(model.requests) == 3


def test_retries_that_are_not_wanted_are_not_made_of_a_server_that_is_not_there(run):
    model = unreached(script(NOBODY))

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        run(caller_of(model, max_retries=0).answer(call_about(1)))
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "first", ["1", BadRequestError("too long"), RefusalError("no"), ServerError("x", status=500)]
)
def test_whoever_has_answered_once_is_borne_with(run, first):
    model = unreached(script(first, NOBODY))
    caller = caller_of(model, concurrency=1, max_retries=4)

    async def story():
        return [await caller.answer(call_about(n)) for n in range(4)]

    outcomes = run(story())

    assert [outcome.failure.reason for outcome in outcomes[1:]] == [
        "server error: no connection, 127.0.0.1:1. (tried 5 times)"
    ] * 3


def test_a_server_that_is_late_to_start_loses_nothing(run):
    model = unreached(script(*[NOBODY] * 8, "1"), delay_s=0)
    caller = caller_of(model, max_retries=2)

    async def story():
        return await asyncio.gather(*(caller.answer(call_about(n)) for n in range(4)))

    assert all(outcome.value == 1.0 for outcome in run(story()))


def test_deadlines_that_pass_say_nothing_of_a_server(run):
    model = unreached(script(ModelTimeoutError("late"), NOBODY, NOBODY, NOBODY))

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        run(caller_of(model).answer(call_about(1)))
    assert len(model.requests) == 4


def test_a_model_in_this_process_is_never_unreachable(run):
    model = Model(script(ServerError("out of memory")))

    outcome = run(caller_of(model).answer(call_about(1)))

    assert outcome.failure == Failure(reason="server error: out of memory (tried 7 times)")


def test_a_reply_in_between_begins_the_count_anew(run):
    model = Model(lambda n: "1" if n % 3 == 0 else ServerError("broke"))
    caller = caller_of(model, concurrency=1, max_retries=0, max_failures_in_a_row=3)

    async def story():
        return [await caller.answer(call_about(n)) for n in range(30)]

    assert sum(outcome.failure is not None for outcome in run(story())) == 20
