"""What a reply may look like under its schema: a model that wishes for something gets no other."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import require_framework
from voirdire.errors import UnsupportedError

require_framework("torch", "transformers", "tokenizers")

from models.in_process.tiny_models import Speaker, tiny_tokenizer  # noqa: E402

pytestmark = pytest.mark.ci
LABELS = ["low", 'a "b"', "高", "lower"]
FORMS = {
    "ok": {"type": "boolean"},
    "p": {"type": "number", "minimum": 0, "maximum": 1},
    "n": {"type": "integer", "minimum": -2, "maximum": 12},
    "big": {"type": "integer"},
    "x": {"type": "number", "minimum": 0.5, "maximum": 9},
    "kind": {"type": "string", "enum": LABELS},
    "tags": {"type": "array", "items": {"type": "string", "enum": LABELS}},
    "why": {"type": "string"},
}


@pytest.fixture(scope="module")
def speaker():
    return Speaker(tiny_tokenizer())


def under(forms):
    schema = json.dumps({"type": "object", "properties": forms}).encode()
    return {"form": "json_schema", "schema": schema}


VALUES = st.fixed_dictionaries(
    {
        "ok": st.booleans(),
        "p": st.integers(0, 1000).map(lambda n: n / 1000),
        "n": st.integers(-2, 12),
        "big": st.integers(-999_999_999, 999_999_999),
        "x": st.integers(5, 90).map(lambda n: n / 10),
        "kind": st.sampled_from(LABELS),
        "tags": st.lists(st.sampled_from(LABELS), unique=True),
        "why": st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20),
    }
)


@given(values=VALUES, separators=st.sampled_from([(",", ":"), (", ", ": ")]))
def test_every_answer_can_be_said_to_its_end(speaker, values, separators):
    ordered = {name: values[name] for name in FORMS}
    whole = json.dumps(ordered, ensure_ascii=False, separators=separators)

    reply = speaker.say([*speaker.ids(whole), *speaker.ids(" more")], **under(FORMS))

    assert (reply.text, reply.finish_reason) == (whole, "stop")


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "{}",
        '{"other"',
        '{"ok":1',
        '{"ok":True',
        '{"ok":  ',
        '{"ok":true,"ok"',
        '{"ok":null',
        "\n",
    ],
)
def test_what_leads_to_no_answer_is_not_said(speaker, text):
    reply = speaker.say(speaker.ids(text), **under({"ok": FORMS["ok"]}))

    assert not reply.text.startswith(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", "1.5"),
        ("p", "2"),
        ("p", "-"),
        ("n", "13"),
        ("n", "1."),
        ("n", "-3"),
        ("big", "01"),
        ("kind", '"other'),
        ("kind", '"lowest'),
        ("tags", '["low","low","low","low","l'),
        ("why", '"\n'),
        ("why", '"\\x'),
    ],
)
def test_values_outside_of_their_form_are_not_said(speaker, name, value):
    before = f'{{"{name}":'

    reply = speaker.say(speaker.ids(value), prefill=before, **under({name: FORMS[name]}))

    assert reply.usage.completion_tokens == len(speaker.ids(value))
    assert not reply.text.startswith(before + value)


@pytest.mark.parametrize("value", [b"\xff", b"\xed\xa0"])
def test_bytes_that_are_no_text_are_not_said(speaker, value):
    wish = [*speaker.ids(value), *speaker.ids('a"}')]

    reply = speaker.say(wish, prefill='{"why":"', **under({"why": FORMS["why"]}))

    assert "\ufffd" not in reply.text


def test_a_string_may_have_a_longest_length(speaker):
    schema = under({"why": {"type": "string", "maxLength": 3}})

    fine, long = (
        speaker.say(speaker.ids(text), **schema) for text in ('{"why":"ab高"}', '{"why":"abcd"}')
    )

    assert fine.text == '{"why":"ab高"}'
    assert long.text == '{"why":"abc"}'


@pytest.mark.parametrize(
    "schema",
    [
        {},
        [],
        {"properties": {}},
        {"properties": {"a": {"type": "object"}}},
        {"properties": {"a": {}}},
    ],
)
def test_a_schema_that_is_not_known_is_not_supported(speaker, schema):
    with pytest.raises(UnsupportedError, match="Ask for the form 'text'") as raised:
        speaker.say([0], form="json_schema", schema=json.dumps(schema).encode())

    assert raised.value.feature == "json_schema"


KEYS = st.text(st.sampled_from('{}"\\ab '), max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(
    value=st.dictionaries(KEYS, JSON, max_size=4),
    before=st.sampled_from(["", 'so "}": ']),
)
def test_a_free_reply_ends_with_the_brace_of_its_first_object(speaker, value, before):
    text = before + json.dumps(value)
    tokens = [token for character in text + "} more" for token in speaker.ids(character)]

    reply = speaker.say(tokens)

    assert (reply.text, reply.finish_reason) == (text, "stop")


def test_prose_alone_has_no_end_but_its_length(speaker):
    reply = speaker.say(speaker.ids("no object"))

    assert (reply.text, reply.finish_reason) == ("no object", "length")
