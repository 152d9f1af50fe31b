"""The body of a request: what goes into it, under which name, and that pieces are kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import SCHEMA, asked, completion
from voirdire.errors import InputError
from voirdire.models import ChatRequest, Dialect
from voirdire.records import Message

PLAIN = Dialect()


@pytest.fixture
def body(server):
    """Give what the server sees of a request."""

    def seen(request, **settings):
        server.reply(completion("{}"), request, **{"dialect": PLAIN} | settings)
        return server.body

    return seen


def bodies(server, requests):
    server.served.bodies.clear()
    server.replies(completion("{}"), requests)
    return server.served.bodies


def test_a_plain_request_holds_model_and_messages_only(body):
    sent = body(asked("hello"))

    assert sent == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You are a judge."},
            {"role": "user", "content": "hello"},
        ],
    }


def test_a_schema_is_sent_strict_and_named(body):
    sent = body(asked(form="json_schema", schema=SCHEMA))

    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": json.loads(SCHEMA)},
    }


def test_a_schema_that_is_missing_is_an_error(body):
    with pytest.raises(InputError, match="must hold a JSON Schema"):
        body(asked(form="json_schema"))


@pytest.mark.parametrize("takes_schema", [True, False])
def test_a_json_object_carries_the_schema_where_the_server_takes_it(body, takes_schema):
    dialect = Dialect(object_takes_schema=takes_schema)

    sent = body(asked(form="json_object", schema=SCHEMA), dialect=dialect)

    expected = {"type": "json_object"} | ({"schema": json.loads(SCHEMA)} if takes_schema else {})
    assert sent["response_format"] == expected


def test_text_asks_for_no_form(body):
    assert "response_format" not in body(asked(form="text", schema=b""))


def test_log_probabilities_are_a_flag_with_a_number(body):
    sent = body(asked(top_logprobs=5))

    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 5)


def test_log_probabilities_are_the_number_itself_in_another_dialect(body):
    sent = body(asked(top_logprobs=5), dialect=Dialect(logprobs="count"))

    assert sent["logprobs"] == 5
    assert "top_logprobs" not in sent


def test_parameters_have_the_names_of_the_dialect(body):
    dialect = Dialect(limit_name="max_completion_tokens", seed_name="random_seed")

    sent = body(asked(max_tokens=7, seed=3), dialect=dialect)

    assert (sent["max_completion_tokens"], sent["random_seed"]) == (7, 3)
    assert not {"max_tokens", "seed"} & set(sent)


@pytest.mark.parametrize(
    ("of_request", "of_model", "expected"), [(0.0, 0.7, 0.0), (None, 0.7, 0.7), (0.5, None, 0.5)]
)
def test_the_temperature_of_a_request_goes_before_that_of_the_model(
    body, of_request, of_model, expected
):
    sent = body(asked(temperature=of_request), temperature=of_model)

    assert sent["temperature"] == expected


def test_a_model_that_refuses_a_temperature_is_sent_only_its_own(body):
    dialect = Dialect(takes_temperature=False)

    assert "temperature" not in body(asked(temperature=0.0), dialect=dialect)
    assert body(asked(temperature=0.0), dialect=dialect, temperature=1)["temperature"] == 1


def test_the_limit_of_the_model_goes_before_that_of_a_request(body):
    assert body(asked(max_tokens=7), max_tokens=900)["max_tokens"] == 900


def test_a_bound_on_the_reply_alone_is_not_sent_to_a_model_that_thinks_first(body):
    dialect = Dialect(is_reasoning=True)

    assert "max_tokens" not in body(asked(max_tokens=7), dialect=dialect)
    assert body(asked(max_tokens=7), dialect=dialect, max_tokens=900)["max_tokens"] == 900


def test_a_seed_of_zero_is_sent(body):
    assert body(asked(seed=0))["seed"] == 0


def test_settings_and_further_fields_are_sent(body):
    sent = body(asked(), reasoning_effort="low", extra={"provider": {"order": ["a"]}})

    assert sent["reasoning_effort"] == "low"
    assert sent["provider"] == {"order": ["a"]}


@pytest.mark.ci
def test_one_model_sends_requests_that_differ(server):
    requests = [
        asked(f"user {n}", form=form, schema=SCHEMA, top_logprobs=top, seed=n)
        for n in range(70)
        for form in ("json_schema", "json_object")
        for top in (None, 5)
    ]

    sent = bodies(server, requests * 2)

    for request, got in zip(requests * 2, sent, strict=True):
        assert got["messages"][1]["content"] == request.messages[1].content
        assert got["response_format"]["type"] == request.form
        assert got.get("top_logprobs") == request.top_logprobs
        assert got["seed"] == request.seed


def test_a_system_message_that_changes_is_not_served_from_what_was_kept(server):
    texts = [f"system {n}" for n in range(100)]

    sent = bodies(
        server,
        [ChatRequest(messages=(Message(role="system", content=text),)) for text in texts],
    )

    assert [one["messages"][0]["content"] for one in sent] == texts


def test_the_name_of_the_model_is_escaped(body):
    assert body(asked(), model='a"b')["model"] == 'a"b'


@given(
    conversation=st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), max_size=4
    )
)
def test_any_text_arrives_as_it_was(server, conversation):
    messages = tuple(Message(role=role, content=text) for role, text in conversation)

    (sent,) = bodies(server, [ChatRequest(messages=messages)])

    assert [(one["role"], one["content"]) for one in sent["messages"]] == conversation


def test_half_a_surrogate_pair_is_named_and_nothing_breaks(body):
    sent = body(asked("before \ud83d after"))

    assert sent["messages"][1]["content"] == "before \ud83d after"
