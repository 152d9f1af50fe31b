"""What is stored is not called again: answers, failures, and replies that were unreadable once."""

import itertools

import pytest

from judging.calls.scripted_calls import Model, Shelf, call_about, caller_of, script
from voirdire.errors import InputError, ServerError, UnsupportedError, VerdictParseError
from voirdire.judging.calls import CallFailure, Outcome, encode_attempt
from voirdire.records import Failure, Reply

GOOD = encode_attempt(Reply(text="7", form="text"))
BAD = encode_attempt(Reply(text="many"))
FAILED = encode_attempt(CallFailure(reason="timeout", message="no reply", form="json_object"))


def reuse(stored, *, retry_failures=False, max_attempts=3):
    caller = caller_of(Model(script("9")), max_attempts=max_attempts)
    return caller.reuse(call_about(1), stored, retry_failures=retry_failures)


def test_nothing_stored_must_be_called():
    assert reuse([]) is None


@pytest.mark.parametrize("stored", [[GOOD], [BAD, GOOD], [BAD, BAD, BAD, GOOD], [FAILED, GOOD]])
@pytest.mark.parametrize("retry_failures", [False, True])
def test_a_reply_that_can_be_read_is_the_answer(stored, retry_failures):
    assert reuse(stored, retry_failures=retry_failures) == Outcome(
        value=7.0, form="text", attempts=len(stored), is_reused=True
    )


def test_the_first_reply_that_can_be_read_is_the_answer():
    other = encode_attempt(Reply(text="8"))

    assert reuse([BAD, GOOD, other]).value == 7.0


def test_a_stored_failure_stays_one_unless_it_is_tried_again():
    assert reuse([FAILED]) == Outcome(
        failure=Failure(reason="timeout: no reply"), form="json_object", is_reused=True
    )
    assert reuse([FAILED], retry_failures=True) is None


@pytest.mark.parametrize(
    ("stored", "max_attempts", "is_over"),
    [
        ([BAD], 3, False),
        ([BAD, BAD], 3, False),
        ([BAD, BAD, BAD], 3, True),
        ([BAD, BAD, BAD], 4, False),
        ([BAD], 1, True),
        ([BAD, FAILED], 3, True),
        ([FAILED, BAD], 3, False),
        ([BAD, BAD, FAILED, BAD], 3, False),
        ([FAILED, BAD, BAD, BAD], 3, True),
    ],
)
def test_unreadable_replies_are_over_once_there_are_enough_since_the_last_failure(
    stored, max_attempts, is_over
):
    outcome = reuse(stored, max_attempts=max_attempts)

    assert (outcome is not None) is is_over
    if is_over:
        assert outcome.value is None
        assert outcome.failure is not None
        assert outcome.attempts == len(stored)
    assert reuse(stored, max_attempts=max_attempts, retry_failures=True) is None


def test_a_reader_that_has_learnt_something_needs_no_new_call():
    def read(reply):
        return {"many": 1_000.0}[reply.text]

    caller = caller_of(Model(script("9")))

    outcome = caller.reuse(call_about(1, read=read), [BAD, BAD, FAILED])

    assert (outcome.value, outcome.is_reused) == (1_000.0, True)


def test_a_reply_without_log_probabilities_is_asked_for_again(run):
    def read(reply):
        if reply.steps is None:
            raise UnsupportedError("no log-probabilities", feature="logprobs")
        return 1.0

    model, shelf = Model(script(Reply(text="7", steps=()))), Shelf()
    caller, call = caller_of(model, shelf=shelf), call_about(1, read=read)

    assert caller.reuse(call, [GOOD]) is None
    outcome = run(caller.answer(call, stored=[GOOD]))

    assert (outcome.value, outcome.attempts) == (1.0, 2)


def test_attempts_are_numbered_on_from_what_is_stored(run):
    model, shelf = Model(script("3")), Shelf()
    caller, call = caller_of(model, shelf=shelf), call_about(1)

    outcome = run(caller.answer(call, stored=[BAD, FAILED]))

    assert outcome.attempts == 3
    assert [key[2] for key in shelf.kept] == [2]


@pytest.mark.parametrize(
    ("stored", "n_calls"),
    [([], 3), ([BAD], 2), ([BAD, BAD], 1), ([BAD, BAD, BAD], 3), ([BAD, BAD, FAILED], 3)],
)
def test_an_interrupted_call_goes_on_with_the_attempts_that_are_left(run, stored, n_calls):
    model = Model(script("many"))

    outcome = run(caller_of(model).answer(call_about(1), stored=stored))

    assert len(model.requests) == n_calls
    assert outcome.attempts == len(stored) + n_calls


def test_a_call_that_ended_is_the_same_when_it_is_read_again(run):
    """Whatever the server does, a second run finds the end of the first and calls nothing."""
    said = ["7", "many", ServerError("broke")]
    for story in itertools.product(said, repeat=4):
        model, shelf, call = Model(script(*story)), Shelf(), call_about(1)
        caller = caller_of(model, shelf=shelf, max_attempts=2, max_retries=1)

        first = run(caller.answer(call))
        again = caller.reuse(call, shelf.of(call))

        assert (again.value, again.failure, again.form, again.attempts) == (
            first.value,
            first.failure,
            first.form,
            first.attempts,
        )


def test_a_foreign_blob_is_refused():
    with pytest.raises(InputError, match="must be written as this version"):
        reuse([b"something else"])


def test_a_bug_in_the_reader_keeps_its_traceback():
    def read(reply):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        caller_of(Model(script("1"))).reuse(call_about(1, read=read), [GOOD])


def test_the_reason_of_unreadable_replies_is_that_of_the_last():
    def read(reply):
        raise VerdictParseError(f"cannot read {reply.text}", reply=reply)

    caller = caller_of(Model(script("1")), max_attempts=2)

    outcome = caller.reuse(call_about(1, read=read), [BAD, GOOD])

    assert outcome.failure == Failure(reason="unreadable reply: cannot read 7")
    assert outcome.form == "text"
