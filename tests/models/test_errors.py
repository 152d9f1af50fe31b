"""Answers with an error's status, in the words of servers: their kind, their wait, their text."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import KEY, ask, asked, completion, error_of, reply_to
from voirdire.errors import AccessError


def error(message, **fields):
    return {"error": {"message": message, **fields}}


# In the words of servers: status, answer, and the kind of error after others were answered.
LINES = Path(__file__).with_name("errors.jsonl").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", [json.loads(line) for line in LINES], ids=str)
def test_an_answer_is_placed(row):
    said = row["said"].encode() if isinstance(row["said"], str) else row["said"]

    found = error_of(row["status"], said, asked(max_tokens=9, temperature=0.0))

    assert (type(found).__name__, found.status) == (row["kind"], row["status"])


@pytest.mark.parametrize("status", [403, 404, 405, 410])
@pytest.mark.parametrize("said", [b"<html>no</html>", error("no")])
def test_before_the_first_reply_nobody_has_access(status, said):
    assert type(reply_to((status, said, {}))) is AccessError


def test_the_message_says_status_and_words_and_the_way_out(some_key):
    found = error_of(401, error("Bad credentials."), name="openai/m", **some_key)

    assert str(found) == (
        "openai/m answered HTTP 401: Bad credentials. "
        "Check the key in the environment variable SOME_KEY."
    )
    assert "Name the environment variable that holds its key" in str(error_of(401, b""))
    assert "Check the account" in str(error_of(402, b""))
    assert "check the base URL" in str(error_of(307, b""))
    assert "name of the model and the base URL" in str(reply_to((404, b"", {})))
    assert str(error_of(599, b"")) == "m answered HTTP 599: no explanation."


RAW = json.dumps(error("said"))
SHAPES = [
    {"object": "error", "message": "said", "type": "BadRequestError", "code": 400},
    {"error": "said"},
    error("said"),
    {"error": error("said")},
    {"detail": "said"},
    {"detail": [{"type": "extra_forbidden", "loc": ["body"], "msg": "said", "input": "a prompt"}]},
    {"Message": "said"},
    {"errors": [{"message": "said", "code": 1}]},
    [{"error": {"code": 400, "message": "said", "status": "INVALID_ARGUMENT"}}],
    error(RAW),
    {"error": {"metadata": {"raw": RAW, "provider_name": "X"}}},
    {"message": {"detail": "said"}},
    "said",
    b"said",
    b"<html><head><style>b{}</style></head><body><h1>said</h1></body></html>",
]


@pytest.mark.parametrize("answer", SHAPES)
def test_every_shape_says_the_same(answer):
    said = str(error_of(599, answer)).removeprefix("m answered HTTP 599: ")

    assert said.removeprefix("body: ") == "said."


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'{"error":null}', b'{"error":{}}'])
def test_a_body_that_says_nothing_has_no_words(body):
    assert "no explanation" in str(error_of(599, body))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["error", "message", "code", "type", "raw"]), inner),
    ),
    max_leaves=12,
)


@given(answer=st.one_of(st.binary(), JSON))
def test_any_body_has_words_on_one_line(answer):
    assert len(str(error_of(599, answer)).splitlines()) == 1


@pytest.mark.parametrize("inner", [b"[" * 200_000, b'{"error":' * 200_000])
def test_an_error_that_is_deeper_than_any_stack_is_still_read(inner):
    assert inner[:8].decode() in str(error_of(599, inner))


def test_words_are_short_and_cannot_act():
    found = str(error_of(500, error("a\x1b[2J\u202e\nb" + "x" * 1_000)))

    assert len(found) < 400
    assert found.isprintable()


@given(
    said=st.text("ab ", max_size=60),
    sent=st.text("ab ", max_size=60),
    first=st.integers(0, 60),
    last=st.integers(0, 60),
)
def test_words_end_at_the_first_24_characters_that_were_sent(said, sent, first, last):
    said = " ".join((said + sent[first:last] + said).split())
    content = " ".join(sent.split())

    found = str(error_of(599, {"error": said}, asked(sent)))

    places = [at for at in range(len(said) - 23) if said[at : at + 24] in content]
    shown = f"{said[: places[0]].rstrip()} …" if places else said or "no explanation"
    assert found == f"m answered HTTP 599: {shown}."


def test_a_key_that_a_server_repeats_is_hidden_even_where_the_words_are_cut(some_key):
    for n_before in range(250, 320, 3):
        found = str(error_of(400, error("x" * n_before + f" {KEY} {KEY}"), **some_key))

        assert KEY[:6] not in found


NOW = datetime(2020, 1, 1, tzinfo=UTC)
DATE = {"date": format_datetime(NOW, usegmt=True)}
LATER = NOW + timedelta(seconds=42)
WAITS = [
    ({"retry-after": "7"}, "", 7),
    ({"Retry-After": "0"}, "", 0),
    ({"retry-after": "1.5"}, "", 1.5),
    ({"retry-after": format_datetime(LATER, usegmt=True), **DATE}, "", 42),
    ({"retry-after": "6h"}, "", 21_600),
    ({"retry-after": "soon"}, "", None),
    ({"retry-after": "-1"}, "", None),
    ({}, "", None),
    ({}, "Rate limit reached. Please try again in 1.242s. Visit", 1.242),
    ({}, "Please try again in 6m30s.", 390),
    ({}, "Please retry in 34.07s.", 34.07),
    ({}, "Please try again in 20ms", 0.02),
    ({}, "Please retry after 26 seconds.", 26),
    ({}, "wait 2 hours 5 minutes and try", 7_500),
    ({}, "Try again later with 3 documents.", None),
    ({"x-ratelimit-reset-requests": "5h23m0s", "x-ratelimit-remaining-requests": "0"}, "", 19_380),
    ({"ratelimit-reset-a": "5h", "ratelimit-reset-b": "6s", "ratelimit-remaining-b": "0"}, "", 6),
    ({"x-ratelimit-reset-requests": "120", "x-ratelimit-reset-tokens": "6"}, "", 6),
    ({"X-RateLimit-Reset": f"{int(LATER.timestamp())}000", **DATE}, "", 42),
    ({"X-RateLimit-Reset": f"{int(LATER.timestamp())}", **DATE}, "", 42),
    ({}, "Rate limit exceeded: free-models-per-day. Add 10 credits", 3_600),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "words", "seconds"), WAITS)
def test_the_wait_is_read_from_headers_and_words(headers, words, seconds):
    assert error_of(429, {"error": words}, headers=headers).retry_after_s == seconds


@pytest.mark.parametrize("status", [503, 408])
def test_a_server_that_is_busy_may_ask_for_a_wait_too(status):
    assert error_of(status, error("wait"), headers={"Retry-After": "7"}).retry_after_s == 7
    reset = {"x-ratelimit-reset": "9"}
    assert error_of(status, error("wait"), headers=reset).retry_after_s is None


def test_a_401_ends_access_at_any_time():
    told = ask(lambda body: (401, b"", {}) if "b" in str(body) else completion("{}"), asked("b"))

    assert type(told.results[0]) is AccessError
