"""Several calls in one, for models that answer many faster than one by one."""

import asyncio

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, now, script
from voirdire.errors import (
    AccessError,
    InputError,
    ModelTimeoutError,
    RefusalError,
    ServerError,
    StoppedError,
    UnsupportedError,
)
from voirdire.judging.calls import CallFailure, encode_attempt
from voirdire.records import Failure, Reply


class BatchModel(Model):
    """Answers batches: `answer` gets the number of an item and how often it was asked before."""

    def __init__(self, answer, **options):
        super().__init__(lambda n: "0", **options)
        self.said = answer
        self.n_asked = {}
        self.sizes = []

    async def replies(self, requests):
        self.sizes.append(len(requests))
        await asyncio.sleep(self.delay_s)
        return [self._one(request) for request in requests]

    def _one(self, request):
        number = int(request.messages[0].content.split()[0].removeprefix("item-"))
        n = self.n_asked[number] = self.n_asked.get(number, -1) + 1
        said = self.said(number, n)
        return said if isinstance(said, Exception) else Reply(text=said, form=request.form)


def together(caller, n_calls, **options):
    return caller.answer_together([call_about(n) for n in range(n_calls)], **options)


def test_outcomes_come_in_the_order_of_the_calls_and_are_stored(run):
    model, shelf = BatchModel(lambda number, n: str(number)), Shelf()

    outcomes = run(together(caller_of(model, shelf=shelf), 8))

    assert [outcome.value for outcome in outcomes] == list(range(8))
    assert model.sizes == [8]
    assert len(shelf.kept) == 8


def test_only_what_has_no_end_is_asked_again(run):
    errors = {1: "many", 2: ServerError("broke"), 3: RefusalError("no")}
    model = BatchModel(lambda number, n: errors.get(number, "5") if n == 0 else "6")
    shelf = Shelf()
    caller = caller_of(model, shelf=shelf)

    outcomes = run(together(caller, 5))

    assert [outcome.value for outcome in outcomes] == [5.0, 6.0, 6.0, None, 5.0]
    assert outcomes[3].failure == Failure(reason="refusal by the judge: no")
    assert [outcome.attempts for outcome in outcomes] == [1, 2, 1, 1, 1]
    assert model.sizes == [5, 2]
    assert (caller.state.n_calls, caller.state.n_retries) == (7, 2)


def test_an_error_of_the_whole_batch_is_one_of_each(run):
    class Broken(BatchModel):
        async def replies(self, requests):
            self.sizes.append(len(requests))
            raise ServerError("out of memory")

    shelf = Shelf()

    outcomes = run(together(caller_of(Broken(None), shelf=shelf, max_retries=1), 3))

    reason = "server error: out of memory (tried 2 times)"
    assert [outcome.failure for outcome in outcomes] == [Failure(reason=reason)] * 3
    assert {type(shelf.attempts(call_about(n))[0]) for n in range(3)} == {CallFailure}


def test_what_came_is_stored_though_another_call_ends_the_run(run):
    model = BatchModel(lambda number, n: AccessError("no credit") if number == 1 else "4")
    shelf = Shelf()
    caller = caller_of(model, shelf=shelf)

    with pytest.raises(AccessError, match="no credit"):
        run(together(caller, 4))

    assert sorted(key[0][-1] for key in shelf.kept) == [0, 2, 3]
    with pytest.raises(StoppedError):
        run(together(caller, 1))


def test_a_batch_has_the_time_of_its_calls_one_by_one(run):
    model = BatchModel(lambda number, n: "1", delay_s=25)

    async def story(n_calls):
        return await together(caller_of(model, timeout_s=10, max_retries=0), n_calls), now()

    late, at = run(story(2))
    in_time, _ = run(story(3))

    assert at == 20
    assert {outcome.failure.reason for outcome in late} == {
        f"{ModelTimeoutError.reason}: no reply within 20 s"
    }
    assert [outcome.value for outcome in in_time] == [1.0] * 3


def test_a_form_that_is_not_known_is_left_for_all(run):
    def answer(number, n):
        return UnsupportedError("no schemas", feature="json_schema") if n == 0 else "1"

    caller = caller_of(BatchModel(answer))

    outcomes = run(together(caller, 3))

    assert {outcome.form for outcome in outcomes} == {"json_object"}
    assert len(caller.state.steps_down) == 1


def test_a_cancelled_batch_is_stored_where_its_replies_have_come(run):
    shelf = Shelf(delay_s=10)
    caller = caller_of(BatchModel(lambda number, n: "1"), shelf=shelf)

    async def story():
        task = asyncio.create_task(together(caller, 6))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(story())

    assert len(shelf.kept) == 6


def test_stored_attempts_are_counted_per_call(run):
    bad = encode_attempt(Reply(text="many"))
    shelf = Shelf()
    model = BatchModel(lambda number, n: "many")

    outcomes = run(
        together(caller_of(model, shelf=shelf, max_attempts=2), 3, stored=[[], [bad], [bad, bad]])
    )

    assert [outcome.attempts for outcome in outcomes] == [2, 2, 4]
    assert sorted((key[0][-1], key[2]) for key in shelf.kept) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (2, 2),
        (2, 3),
    ]


def test_requests_per_minute_count_each_call_of_a_batch(run):
    model = BatchModel(lambda number, n: "1", delay_s=0)
    caller = caller_of(model, requests_per_minute=60)

    async def story():
        for _ in range(3):
            await together(caller, 30)
        return now()

    # the first batch leaves a debt of 29, the second one of 30 more
    assert run(story()) == pytest.approx(60)


def test_no_calls_are_no_batch(run):
    model = BatchModel(lambda number, n: "1")

    assert run(together(caller_of(model), 0)) == []
    assert model.sizes == []


def test_a_model_that_takes_one_at_a_time_is_refused(run):
    with pytest.raises(InputError, match=r"`model` must be a BatchChatModel .* got Model\. Use"):
        run(together(caller_of(Model(script("1"))), 2))
