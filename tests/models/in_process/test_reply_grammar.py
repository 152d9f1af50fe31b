import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import require_framework
from voirdire.errors import UnsupportedError

require_framework("regex")

from voirdire.models.in_process.object_end import ObjectEnd  # noqa: E402
from voirdire.models.in_process.reply_grammar import ReplyGrammar  # noqa: E402

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


def grammar(**forms):
    return ReplyGrammar(json.dumps({"type": "object", "properties": forms}).encode())


VALUES = st.fixed_dictionaries(
    {
        "ok": st.booleans(),
        "p": st.integers(0, 1000).map(lambda n: n / 1000),
        "n": st.integers(-2, 12),
        "big": st.integers(-999_999_999, 999_999_999),
        "x": st.integers(5, 90).map(lambda n: n / 10),
        "kind": st.sampled_from(LABELS),
        "tags": st.lists(st.sampled_from(LABELS), unique=True),
        "why": st.text(st.characters(exclude_categories=["Cc", "Cs"])),
    }
)


@given(VALUES, st.sampled_from([(",", ":"), (", ", ": ")]))
def test_every_answer_is_complete_and_each_of_its_beginnings_open(values, separators):
    ordered = {name: values[name] for name in FORMS}
    whole = json.dumps(ordered, ensure_ascii=False, separators=separators).encode()
    wanted = grammar(**FORMS)

    assert wanted.state(whole) == "complete"
    assert {wanted.state(whole[:n]) for n in range(len(whole))} == {"open"}


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "{}",
        '{"other"',
        '{"ok":1',
        '{"ok":True',
        '{"ok":  ',
        '{"ok":true}}',
        '{"ok":true,"ok"',
        '{"ok":null',
        "\n",
    ],
)
def test_what_leads_to_no_answer_is_impossible(text):
    assert grammar(ok={"type": "boolean"}).state(text.encode()) == "impossible"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", "1.5"),
        ("p", "2"),
        ("p", "-0"),
        ("n", "13"),
        ("n", "1."),
        ("n", "-3"),
        ("big", "01"),
        ("kind", '"other'),
        ("kind", '"lowest'),
        ("tags", '["low","low","low","low","l'),
        ("why", '"\n'),
        ("why", '"\\x'),
        ("why", b'"\xff'),
        ("why", b'"\xed\xa0'),
    ],
)
def test_values_outside_of_their_form_are_impossible(name, value):
    value = value if isinstance(value, bytes) else value.encode()

    assert (
        grammar(**{name: FORMS[name]}).state(b'{"%b":%b' % (name.encode(), value)) == "impossible"
    )


def test_a_string_may_have_a_longest_length():
    short = grammar(why={"type": "string", "maxLength": 3})

    assert short.state('{"why":"ab高"}'.encode()) == "complete"
    assert short.state(b'{"why":"abcd') == "impossible"


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
def test_a_schema_that_is_not_known_is_not_supported(schema):
    with pytest.raises(UnsupportedError, match="Ask for the form 'text'") as raised:
        ReplyGrammar(json.dumps(schema).encode())

    assert raised.value.feature == "json_schema"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('{}"\\ab ')),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from('{}"\\ab ')), inner, max_size=3)
    ),
)


@given(
    st.dictionaries(st.text(st.sampled_from('{}"\\ab ')), JSON), st.sampled_from(["", 'so "}": '])
)
def test_an_object_ends_with_its_own_brace(value, before):
    text = before + json.dumps(value)
    end = ObjectEnd()

    reached = [end.reached(character) for character in text]

    assert reached == [False] * (len(text) - 1) + [True]


@given(st.dictionaries(st.text(), st.text(), min_size=1), st.randoms())
def test_where_it_is_cut_makes_no_difference(value, random):
    text = json.dumps(value)
    cuts = sorted(random.sample(range(len(text)), k=min(5, len(text))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    end = ObjectEnd()

    assert [end.reached(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_prose_alone_has_no_object():
    assert re.search("[{]", "no object") is None
    assert not ObjectEnd().reached("no object")
