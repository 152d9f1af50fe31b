"""Bodies of errors: what they say, in each of the shapes that servers use."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.models.openai_compatible.error_words import read_error, without_echo

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


def words(answer):
    return read_error(json.dumps(answer).encode())


def test_openais_shape_is_read():
    found = words(
        {
            "error": {
                "message": "Unsupported parameter.",
                "type": "invalid_request_error",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        }
    )

    assert found.text == "Unsupported parameter."
    assert found.codes == {"invalid_request_error", "unsupported_parameter"}
    assert found.param == "max_tokens"


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
def test_every_shape_says_the_same(answer):
    assert words(answer).text == "said"


def test_a_router_quotes_its_provider():
    raw = json.dumps({"error": {"message": "no logprobs here", "code": "unsupported_parameter"}})
    answer = {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    }

    found = words(answer)

    assert found.text == "Provider returned error: no logprobs here"
    assert "unsupported_parameter" in found.codes


def test_fields_that_are_not_taken_are_named_without_their_values():
    problem = {
        "type": "extra_forbidden",
        "loc": ["body", "seed"],
        "msg": "Extra inputs are not permitted",
        "input": "the whole prompt",
    }

    found = words({"object": "error", "message": {"detail": [problem]}})

    assert found.text == "seed: Extra inputs are not permitted"
    assert found.param == "seed"
    assert "extra_forbidden" in found.codes


def test_an_inner_code_is_read():
    inner = {"code": "ResponsibleAIPolicyViolation"}

    found = words({"error": {"message": "filtered", "code": "content_filter", "innererror": inner}})

    assert found.codes == {"content_filter", "responsibleaipolicyviolation"}


def test_a_page_is_read_without_its_tags():
    page = b"<html><head><style>b{}</style></head><body><h1>502 Bad\nGateway</h1></body></html>"

    assert read_error(page).text == "502 Bad Gateway"


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'{"error":null}', b'{"error":{}}'])
def test_a_body_that_says_nothing_has_no_words(body):
    assert read_error(body).text == ""


@given(JSON)
def test_any_json_has_words_on_one_line(answer):
    found = words(answer)

    assert "\n" not in found.text
    assert isinstance(found.param, str)


@given(st.binary())
def test_any_bytes_have_words_on_one_line(body):
    assert "\n" not in read_error(body).text


@pytest.mark.parametrize("inner", [b"[" * 200_000, b'{"error":' * 200_000])
def test_an_error_that_is_deeper_than_any_stack_is_still_read(inner):
    assert len(read_error(inner).text) <= 20_000


def test_words_end_where_they_repeat_the_request():
    prompt = "Some long text that nobody else should read in a log."

    cut = without_echo(f"cannot parse {prompt} at 3", contents=["other", f"x {prompt} y"])

    assert cut == "cannot parse …"


def test_words_that_repeat_a_request_over_lines_end_there_too():
    assert without_echo(
        "bad: one two three four five six", contents=["one\ntwo  three four five six"]
    ) == ("bad: …")


def test_words_of_the_servers_own_stay_whole():
    text = "This model does not support the 'logprobs' parameter."

    assert without_echo(text, contents=["The model is a judge.", ""]) == text


@given(
    st.text("ab ", max_size=60),
    st.text("ab ", max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_words_end_at_the_first_24_characters_that_were_sent(said, sent, first, last):
    said += sent[first:last] + said
    content = " ".join(sent.split())

    found = without_echo(said, contents=[sent])

    places = [at for at in range(len(said) - 23) if said[at : at + 24] in content]
    assert found == (f"{said[: places[0]].rstrip()} …" if places else said)
