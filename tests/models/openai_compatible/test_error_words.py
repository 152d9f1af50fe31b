"""Bodies of errors: what they say, in each of the shapes that servers use."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import asked
from voirdire.errors import UnsupportedError

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "code", "type", "param", "metadata", "raw"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


SILENT = "no explanation"


def words(server, answer, request=None):
    """Give what a message tells of an answer whose status has no name of its own."""
    message = str(server.error(answer, request, status=599))
    return message.removeprefix("m answered HTTP 599: ").removesuffix(".")


@pytest.mark.parametrize(
    "answer",
    [
        {"object": "error", "message": "said", "type": "BadRequestError", "code": 400},
        {"error": "said"},
        {"error": {"message": "said"}},
        {"error": {"error": {"message": "said"}}},
        {"detail": "said"},
        {"message": "said"},
        [{"error": {"code": 400, "message": "said", "status": "INVALID_ARGUMENT"}}],
        {"error": {"message": '{"error": {"message": "said"}}'}},
        {"message": {"detail": "said"}},
        "said",
    ],
)
def test_every_shape_says_the_same(server, answer):
    assert words(server, answer) == "said"


def test_a_router_quotes_its_provider(server):
    raw = json.dumps({"error": {"message": "no logprobs here", "code": "unsupported_parameter"}})
    answer = {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    }

    found = server.error(answer, asked(top_logprobs=5), status=400)

    assert "Provider returned error: no logprobs here." in str(found)
    assert isinstance(found, UnsupportedError)  # by the code that was quoted


def test_fields_that_are_not_taken_are_named_without_their_values(server):
    problem = {
        "type": "extra_forbidden",
        "loc": ["body", "seed"],
        "msg": "Extra inputs are not permitted",
        "input": "the whole prompt",
    }

    found = words(server, {"object": "error", "message": {"detail": [problem]}})

    assert found == "seed: Extra inputs are not permitted"


def test_a_page_is_read_without_its_tags(server):
    page = b"<html><head><style>b{}</style></head><body><h1>502 Bad\nGateway</h1></body></html>"

    assert words(server, page) == "502 Bad Gateway"


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'{"error":null}', b'{"error":{}}'])
def test_a_body_that_says_nothing_has_no_words(server, body):
    assert words(server, body) == SILENT


@given(answer=JSON)
def test_any_json_has_words_on_one_line(server, answer):
    assert len(words(server, answer).splitlines()) == 1


@given(body=st.binary())
def test_any_bytes_have_words_on_one_line(server, body):
    assert len(words(server, body).splitlines()) == 1


@pytest.mark.parametrize("inner", [b"[" * 200_000, b'{"error":' * 200_000])
def test_an_error_that_is_deeper_than_any_stack_is_still_read(server, inner):
    assert words(server, inner)[:8] == inner[:8].decode()


def test_words_end_where_they_repeat_the_request(server):
    prompt = "Some long text that nobody else should read in a log."

    cut = words(server, f"cannot parse {prompt} at 3", asked(f"x {prompt} y"))

    assert cut == "cannot parse …"


def test_words_that_repeat_a_request_over_lines_end_there_too(server):
    request = asked("one\ntwo  three four five six")

    assert words(server, "bad: one two three four five six", request) == "bad: …"


@pytest.mark.parametrize(("n_repeated", "shown"), [(23, "bad: " + 23 * "x"), (24, "bad: …")])
def test_24_characters_in_a_row_are_no_coincidence(server, n_repeated, shown):
    repeated = n_repeated * "x"

    assert words(server, f"bad: {repeated}", asked(f"({repeated})")) == shown


def test_words_of_the_servers_own_stay_whole(server):
    text = "This model does not support the 'logprobs' parameter, it says"

    assert words(server, text, asked("The model is a judge.")) == text


@given(
    said=st.text("ab ", max_size=60),
    sent=st.text("ab ", max_size=60),
    first=st.integers(0, 60),
    last=st.integers(0, 60),
)
def test_words_end_at_the_first_24_characters_that_were_sent(server, said, sent, first, last):
    said = " ".join((said + sent[first:last] + said).split())
    content = " ".join(sent.split())

    found = words(server, {"error": said}, asked(sent))

    places = [at for at in range(len(said) - 23) if said[at : at + 24] in content]
    assert found == (f"{said[: places[0]].rstrip()} …" if places else said or SILENT)
