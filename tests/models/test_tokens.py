"""Which tokens a reply keeps, and where their alternatives are kept."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import asked, completion, reply_to, token

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.one_of(
    st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=4))
SPACE = st.sampled_from(["", " ", "\n  ", "\t"])


def steps(tokens, text=None):
    spoken = "".join(one["token"] for one in tokens) if text is None else text
    return read(completion(spoken, logprobs={"content": tokens}))


def read(answer):
    return reply_to(answer, asked(top_logprobs=2)).steps


def cut(text, ends):
    """Cut a text at the given places, as a tokenizer might."""
    places = sorted({0, len(text), *(end for end in ends if 0 < end < len(text))})
    return [text[start:end] for start, end in itertools.pairwise(places)]


def rendered(members, *, spaces):
    """Write an object with white space around everything; give its text and values' places.

    A value's place begins behind the colon.
    """
    text, spans = spaces[0] + "{", []
    for index, (key, value) in enumerate(members):
        text += spaces[1] + json.dumps(key, ensure_ascii=index % 2 == 0) + spaces[2] + ":"
        start = len(text)
        text += spaces[3] + json.dumps(value)
        spans.append((start, len(text)))
        text += spaces[0] + ("," if index < len(members) - 1 else "")
    return text + "}" + spaces[1], spans


@pytest.mark.parametrize(
    "text",
    [
        *("  ", "true", "[1]", "{}", "{", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}'),
        *('{"a":{"b":1}}', '{"a":[[1]]}', '{"a":1} more', '{"a":1}{"b":2}', 'x{"a":1}', "{a:1}"),
    ],
)
def test_where_the_text_is_no_flat_object_every_token_keeps_its_alternatives(text):
    found = steps([token(character) for character in text])

    assert all(step.top for step in found)
    assert len(found) == len(text)


LONG = ['{"a":"' + '\\"' * 300_000, "{" + " " * 1_000_000, '{"' * 300_000]


@pytest.mark.parametrize("text", LONG)
def test_a_long_text_is_looked_through_once(text):
    # Quadratic work on these would take hours.
    found = steps([token("{"), token(text[1:]) | {"bytes": None}])

    assert [len(step.top) for step in found] == [1, 1]


@given(
    members=st.lists(st.tuples(TEXT, VALUES), min_size=1, max_size=5),
    spaces=st.tuples(*[SPACE] * 4),
    ends=st.one_of(st.just(range(200)), st.lists(st.integers(0, 200), max_size=40)),
    thoughts=st.sampled_from(["", "hm ", '<think>{"a":true}</think>']),
)
def test_alternatives_are_kept_at_tokens_that_touch_a_value(members, spaces, ends, thoughts):
    text, spans = rendered(members, spaces=spaces)
    tokens = cut(text, ends)

    whole = [*filter(None, [thoughts]), *tokens, "<|end|>"]
    found = steps([token(piece, other=-2.0) for piece in whole], text)

    start = 0
    for piece, step in zip(tokens, found, strict=True):
        end = start + len(piece)
        touches = any(start < last and end > first for first, last in spans)
        assert step.token == piece
        assert [choice.token for choice in step.top] == ([piece, "other"] if touches else [])
        start = end


def test_one_token_that_reaches_over_two_values_keeps_its_alternatives_once():
    found = steps([token('{"a":t'), token('rue,"b":fal', -0.25, other=-1.5), token("se}")])

    assert [len(step.top) for step in found] == [1, 2, 1]
    assert [(c.token, c.logprob) for c in found[1].top] == [('rue,"b":fal', -0.25), ("other", -1.5)]


def test_a_token_that_begins_before_the_text_stays_and_values_are_still_found():
    found = steps([token("thought"), token('\n\n{"a":'), token(" true"), token("}")], '{"a": true}')

    assert [step.token for step in found] == ['\n\n{"a":', " true", "}"]
    assert [bool(step.top) for step in found] == [False, True, False]


def test_tokens_that_do_not_spell_the_text_are_all_kept():
    found = steps([token("quite"), token(" another")], '{"a":true}')

    assert [step.token for step in found] == ["quite", " another"]
    assert all(step.top for step in found)


def test_tokens_that_are_parts_of_characters_are_spelled_by_their_bytes():
    text = '{"理":true}'
    raw = text.encode()
    pieces = [raw[:2], raw[2:3], raw[3:5], raw[5:7], raw[7:11], raw[11:]]

    found = steps([token(str(piece)) | {"bytes": list(piece)} for piece in pieces], text)

    assert "".join(step.token for step in found) == text
    assert sum(bool(step.top) for step in found) == 1


def test_numbers_and_lists_that_are_missing_are_nan_and_none():
    missing = token("true") | {"logprob": None, "top_logprobs": [{"token": "x", "logprob": None}]}
    bare = {"token": "1", "logprob": -0.1}

    found = steps([token('{"a":'), missing, token(',"b":'), bare, token("}")])

    assert math.isnan(found[1].logprob)
    assert math.isnan(found[1].top[0].logprob)
    assert found[3].top == ()
    assert steps([], "text") is None
    assert steps([], "") == ()


def test_the_older_shape_of_parallel_lists_is_read():
    lists = {
        "tokens": ["hm ", '{"a":', "true", "}"],
        "token_logprobs": [-1.0, -0.1, None, -0.3],
        "top_logprobs": [None, {"x": -1.0}, {"true": -0.2, "false": -1.7}],
    }

    found = read(completion('{"a":true}', logprobs=lists))

    assert [step.token for step in found] == ['{"a":', "true", "}"]
    assert [(c.token, c.logprob) for c in found[1].top] == [("true", -0.2), ("false", -1.7)]
    assert math.isnan(found[1].logprob)
    assert [found[0].top, found[2].top] == [(), ()]
