"""One call at a time: to a value or a failure, and stored before it is used."""

import asyncio

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, ends, now, script
from voirdire.errors import (
    BadRequestError,
    ContentFilterError,
    InputError,
    ModelCallError,
    RefusalError,
    UnsupportedError,
)
from voirdire.judging import Limits
from voirdire.judging.calls import Caller, CallFailure, Outcome
from voirdire.records import Failure, Reply, TokenStep, Usage


def test_a_reply_becomes_a_value(run):
    model, shelf = Model(script("7")), Shelf()
    call = call_about(1)

    outcome = run(caller_of(model, shelf=shelf).answer(call))

    assert outcome == Outcome(value=7.0, form="json_schema", attempts=1)
    assert shelf.attempts(call) == [Reply(text="7")]


def test_a_reply_is_stored_before_it_is_read(run):
    seen = []
    shelf = Shelf(delay_s=5)

    def read(reply):
        seen.append(len(shelf.kept))
        return reply.text

    run(caller_of(Model(script("7")), shelf=shelf).answer(call_about(1, read=read)))

    assert seen == [1]


def test_a_call_holds_its_place_until_it_is_stored(run):
    model, shelf = Model(script("7"), delay_s=1), Shelf(delay_s=4)
    caller = caller_of(model, shelf=shelf, concurrency=1)

    async def story():
        await asyncio.gather(*(caller.answer(call_about(n)) for n in range(3)))
        return now()

    # one second for each reply and four for each commit, one after the other
    assert run(story()) == 15
    assert model.times == [0, 5, 10]


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_no_more_calls_are_in_flight_than_allowed(run, concurrency):
    model = Model(script("7"))
    caller = caller_of(model, concurrency=concurrency)

    async def story():
        return await asyncio.gather(*(caller.answer(call_about(n)) for n in range(20)))

    run(story())

    assert model.most_inside == concurrency


def test_an_unreadable_reply_is_asked_for_again_and_both_are_stored(run):
    model, shelf = Model(script("many", "3")), Shelf()
    call = call_about(1)

    outcome = run(caller_of(model, shelf=shelf).answer(call))

    assert outcome == Outcome(value=3.0, form="json_schema", attempts=2)
    assert [reply.text for reply in shelf.attempts(call)] == ["many", "3"]
    assert [request.form for request in model.requests] == ["json_schema", "json_schema"]


@pytest.mark.parametrize("max_attempts", [1, 2, 5])
def test_replies_that_stay_unreadable_are_a_failure(run, max_attempts):
    model, shelf = Model(script("many")), Shelf()
    call = call_about(1)
    caller = caller_of(model, shelf=shelf, max_attempts=max_attempts)

    outcome = run(caller.answer(call))

    assert outcome.value is None
    assert outcome.failure == Failure(reason="unreadable reply: no number: 'many'")
    assert outcome.attempts == len(model.requests) == len(shelf.of(call)) == max_attempts
    assert (caller.state.n_unreadable, caller.state.n_failures) == (max_attempts, 1)


@pytest.mark.parametrize(
    "error",
    [
        RefusalError("I would rather not"),
        ContentFilterError("filtered", status=400),
        BadRequestError("too long", status=400),
        UnsupportedError("no seeds here", feature="seed", status=400),
        ModelCallError("not recorded"),
    ],
)
def test_an_error_that_would_come_again_is_a_failure_at_once(run, error):
    model, shelf = Model(script(error)), Shelf()
    call = call_about(1)

    outcome, at = run(ends(caller_of(model, shelf=shelf), call))

    assert outcome.failure == Failure(reason=f"{error.reason}: {error}")
    assert outcome.attempts == 1
    assert at == 1
    assert shelf.attempts(call) == [
        CallFailure(reason=error.reason, message=str(error), status=error.status)
    ]


def test_a_timeout_that_is_no_deadline_keeps_its_traceback(run):
    def answer(n):
        raise TimeoutError("a bug in the model")

    with pytest.raises(TimeoutError, match="a bug in the model"):
        run(caller_of(Model(answer)).answer(call_about(1)))


@pytest.mark.parametrize("where", ["request", "reply", "read"])
def test_a_bug_keeps_its_traceback_and_frees_its_place(run, where):
    def broken(*_):
        raise ZeroDivisionError(where)

    model = Model(broken if where == "reply" else script("7"))
    call = call_about(1, read=broken) if where == "read" else call_about(1)
    if where == "request":
        call = type(call)(item=call.item, name=call.name, request=broken, read=call.read)
    caller = caller_of(model, max_cost=10, price=lambda usage: 1.0)

    with pytest.raises(ZeroDivisionError, match=where):
        run(caller.answer(call))
    assert caller.state.n_in_flight == 0


def test_a_form_that_the_server_lacks_is_left_for_the_whole_run(run):
    def answer(n):
        form = model.requests[n].form
        return "7" if form == "text" else UnsupportedError(f"no {form}", feature=form)

    model, shelf = Model(answer), Shelf()
    caller = caller_of(model, shelf=shelf, concurrency=3)

    async def story():
        return await asyncio.gather(*(caller.answer(call_about(n)) for n in range(9)))

    outcomes = run(story())

    assert {(outcome.value, outcome.form) for outcome in outcomes} == {(7.0, "text")}
    forms = [request.form for request in model.requests]
    assert forms == ["json_schema"] * 3 + ["json_object"] * 3 + ["text"] * 9
    steps = [(step.from_form, step.to_form, step.reason) for step in caller.state.steps_down]
    assert steps == [
        ("json_schema", "json_object", "no json_schema"),
        ("json_object", "text", "no json_object"),
    ]
    assert caller.state.forms == {"text": 9}
    assert shelf.attempts(call_about(3)) == [Reply(text="7", form="text")]


def test_the_ladder_begins_where_the_model_does(run):
    model = Model(script("7"), forms=("json_object", "text"))

    outcome = run(caller_of(model).answer(call_about(1)))

    assert outcome.form == model.requests[0].form == "json_object"


def test_a_reply_says_the_form_in_which_it_was_asked_for(run):
    model = Model(script(Reply(text="7", form="text")))
    shelf, call = Shelf(), call_about(1)

    outcome = run(caller_of(model, shelf=shelf).answer(call))

    assert outcome.form == shelf.attempts(call)[0].form == "json_schema"


def test_half_a_surrogate_pair_is_replaced_before_it_is_read_and_stored(run):
    texts = []

    def read(reply):
        texts.append(reply.text)
        return reply.steps

    spoilt = Reply(text="a\ud800b", steps=(TokenStep("a\ud800b", -1.0),))
    shelf, call = Shelf(), call_about(1, read=read)

    outcome = run(caller_of(Model(script(spoilt)), shelf=shelf).answer(call))

    assert texts == ["a\ufffdb"]
    assert outcome.value == (TokenStep("a\ufffdb", -1.0),)
    assert shelf.attempts(call)[0].text == "a\ufffdb"


def test_hostile_words_of_a_server_do_not_reach_a_failure(run):
    error = BadRequestError("bad\n\x1b[2Jwords " + "x" * 10_000)

    outcome = run(caller_of(Model(script(error))).answer(call_about(1)))

    assert "\x1b" not in outcome.failure.reason
    assert "\n" not in outcome.failure.reason
    assert len(outcome.failure.reason) < 300


def test_a_store_that_refuses_ends_the_call_with_its_words(run):
    async def full(call):
        raise InputError("the disk is full")

    caller = Caller(Model(script("7")), limits=Limits(), commit=full)

    with pytest.raises(InputError, match="the disk is full"):
        run(caller.answer(call_about(1)))
    assert caller.state.n_in_flight == 0


def test_the_state_counts_what_happened(run):
    usage = Usage(100, 20, 60, 5)
    model = Model(script(Reply(text="x", usage=usage), Reply(text="1", usage=usage)))
    caller = caller_of(model, price=lambda u: u.prompt_tokens * 0.01 + u.completion_tokens * 0.05)

    run(caller.answer(call_about(1)))
    state = caller.state

    assert (state.n_calls, state.n_replies, state.n_retries, state.n_unreadable) == (2, 2, 1, 1)
    assert (state.prompt_tokens, state.completion_tokens, state.cached_tokens) == (200, 40, 120)
    assert state.cost == pytest.approx(2 * (100 * 0.01 + 20 * 0.05))
    assert (state.concurrency, state.n_in_flight, state.is_stopped) == (32, 0, False)


def test_without_a_price_the_cost_is_unknown(run):
    caller = caller_of(Model(script(Reply(text="1", usage=Usage(1, 1)))))

    run(caller.answer(call_about(1)))

    assert caller.state.cost is None
