"""What is stored of an attempt can be read again, by this version and the next."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.judging.calls import CallFailure, decode_attempt, encode_attempt
from voirdire.records import Failure, Headroom, Reply, TokenChoice, TokenStep, Usage

FORMS = st.sampled_from(["json_schema", "json_object", "text"])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LOGPROBS = st.floats(max_value=0, allow_nan=False)
COUNTS = st.integers(0, 10**9)
STEPS = st.builds(
    TokenStep,
    token=WORDS,
    logprob=LOGPROBS,
    top=st.lists(st.builds(TokenChoice, token=WORDS, logprob=LOGPROBS), max_size=3).map(tuple),
)
REPLIES = st.builds(
    Reply,
    text=WORDS,
    steps=st.none() | st.lists(STEPS, max_size=4).map(tuple),
    form=FORMS,
    finish_reason=st.none() | WORDS,
    model=st.none() | WORDS,
    usage=st.none() | st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
)
FAILURES = st.builds(
    CallFailure,
    reason=WORDS,
    message=WORDS,
    form=FORMS,
    status=st.none() | st.integers(100, 599),
    n_tries=st.integers(1, 99),
)


@given(REPLIES | FAILURES)
def test_what_was_written_is_read_again(attempt):
    assert decode_attempt(encode_attempt(attempt)) == attempt


def test_headroom_is_true_of_one_moment_and_never_stored():
    reply = Reply(text="x", headroom=Headroom(requests=7))

    assert decode_attempt(encode_attempt(reply)) == Reply(text="x")


def test_a_reply_of_this_version_stays_readable():
    # written by hand: the byte of the version, then text, form, finish_reason, model, usage, steps
    blob = b"\x01" + msgspec.msgpack.encode(
        ["{}", "text", "stop", "m", [3, 2, 1, 0], [["{}", -0.5, [["{}", -0.5], ["[", -2.0]]]]]
    )

    assert decode_attempt(blob) == Reply(
        text="{}",
        form="text",
        finish_reason="stop",
        model="m",
        usage=Usage(3, 2, 1, 0),
        steps=(TokenStep("{}", -0.5, (TokenChoice("{}", -0.5), TokenChoice("[", -2.0))),),
    )


def test_a_failure_of_this_version_stays_readable():
    blob = b"\x02" + msgspec.msgpack.encode(["timeout", "no reply", "json_object", 408, 7])

    assert decode_attempt(blob) == CallFailure(
        reason="timeout", message="no reply", form="json_object", status=408, n_tries=7
    )


def test_a_failure_says_reason_and_message():
    assert CallFailure(reason="timeout", message="no reply").failure() == Failure(
        reason="timeout: no reply"
    )
    assert CallFailure(reason="timeout").failure() == Failure(reason="timeout")


@given(st.binary(max_size=40))
def test_foreign_bytes_are_refused_and_nothing_else(blob):
    with suppress(InputError):
        assert isinstance(decode_attempt(blob), Reply | CallFailure)


@pytest.mark.parametrize("blob", [b"", b"\x03\x90", b"\x01", b"\x01\xc1", b"{}"])
def test_bytes_of_an_unknown_version_say_what_to_do(blob):
    with pytest.raises(InputError, match="must be written as this version of voirdire knows it"):
        decode_attempt(blob)
