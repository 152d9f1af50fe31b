"""Answers with an error's status, in the words of servers: their kind, their wait, their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import KEY, asked, error_of, read_rows, reply_to
from voirdire.errors import AccessError


def error(message, **fields):
    return {"error": {"message": message, **fields}}


# In the words of servers: status, headers and answer; the kind of error after others were answered,
# how long to wait, and how the message ends.
@pytest.mark.parametrize("row", read_rows("errors.jsonl"), ids=str)
def test_an_answer_is_placed_and_its_words_and_wait_are_read(row):
    said = row["said"].encode() if isinstance(row["said"], str) else row["said"]
    request = asked(max_tokens=9, temperature=0.0)

    found = error_of(row["status"], said, request, headers=row.get("headers", {}))

    assert (type(found).__name__, found.status) == (row["kind"], row["status"])
    assert found.retry_after_s == row.get("wait")
    assert str(found).endswith(row.get("words", "."))


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
    assert "check the base URL" in str(reply_to((307, b"", {})))
    assert "name of the model and the base URL" in str(reply_to((404, b"", {})))
    assert str(error_of(599, b"")) == "m answered HTTP 599: no explanation."


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
