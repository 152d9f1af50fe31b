"""Which tokens a reply keeps, and where their alternatives are kept."""

import itertools
import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import completion, token
from voirdire.models.openai_compatible.steps import steps_of, value_spans
from voirdire.models.openai_compatible.wire import LogProbs, decode_completion

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=4))
SPACE = st.sampled_from(["", " ", "\n  ", "\t"])


def steps(tokens, text=None):
    spoken = "".join(one["token"] for one in tokens) if text is None else text
    return read(completion(spoken, logprobs={"content": tokens}), spoken)


def read(answer, text):
    body = json.dumps(answer).encode()
    found = decode_completion(body, with_logprobs=True)
    return steps_of(found.choices[0].logprobs, text=text, body=body)


def cut(text, ends):
    """Cut a text at the given places, as a tokenizer might."""
    places = sorted({0, len(text), *(end for end in ends if 0 < end < len(text))})
    return [text[start:end] for start, end in itertools.pairwise(places)]


def rendered(members, *, spaces):
    """Write an object with white space around everything; give its text and values' places.

    A value's place begins behind the colon.
    """
    pieces, spans, at = [], [], 0

    def add(piece):
        nonlocal at
        pieces.append(piece)
        at += len(piece)

    add(spaces[0] + "{")
    for index, (key, value) in enumerate(members):
        add(spaces[1] + json.dumps(key, ensure_ascii=index % 2 == 0) + spaces[2] + ":")
        start = at
        add(spaces[3] + json.dumps(value))
        spans.append((start, at))
        add(spaces[0] + ("," if index < len(members) - 1 else ""))
    add("}" + spaces[1])
    return "".join(pieces), spans


@given(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5), st.tuples(*[SPACE] * 4))
def test_values_are_found_wherever_they_stand(members, spaces):
    text, expected = rendered(members, spaces=spaces)

    assert value_spans(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "true",
        "[1]",
        "{}",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,',
        '{"a":1,}',
        '{"a":{"b":1}}',
        '{"a":[[1]]}',
        '{"a":1} more',
        '{"a":1}{"b":2}',
        'x{"a":1}',
        "{a:1}",
    ],
)
def test_what_is_no_flat_object_has_no_values(text):
    assert value_spans(text) is None


@pytest.mark.parametrize(
    "text", ['{"a":"' + '\\"' * 300_000, "{" + " " * 1_000_000, '{"' * 300_000]
)
def test_a_long_text_is_looked_through_once(text):
    # Quadratic work on these would take hours.
    assert value_spans(text) is None


@given(st.text())
def test_any_text_has_values_or_none(text):
    spans = value_spans(text)

    assert spans is None or all(0 <= start < end <= len(text) for start, end in spans)


@given(
    members=st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5),
    spaces=st.tuples(*[SPACE] * 4),
    ends=st.lists(st.integers(0, 200), max_size=40),
)
def test_alternatives_are_kept_at_exactly_the_tokens_that_touch_a_value(members, spaces, ends):
    text, spans = rendered(members, spaces=spaces)
    tokens = cut(text, ends)

    found = steps([token(piece, other=-2.0) for piece in tokens])

    start = 0
    for piece, step in zip(tokens, found, strict=True):
        end = start + len(piece)
        touches = any(start < last and end > first for first, last in spans)
        assert step.token == piece
        assert [choice.token for choice in step.top] == ([piece, "other"] if touches else [])
        start = end


def test_log_probabilities_are_those_of_the_server():
    found = steps([token('{"a":'), token("true", -0.25, false=-1.5), token("}")])

    assert [step.logprob for step in found] == [-0.1, -0.25, -0.1]
    assert [(c.token, c.logprob) for c in found[1].top] == [("true", -0.25), ("false", -1.5)]


def test_one_token_that_reaches_over_two_values_keeps_its_alternatives_once():
    found = steps([token('{"a":t'), token('rue,"b":fal'), token("se}")])

    assert [bool(step.top) for step in found] == [True, True, True]


def test_where_the_text_is_no_object_every_token_keeps_its_alternatives():
    found = steps([token("Yes"), token(", it is.")])

    assert all(step.top for step in found)


def test_the_tokens_of_reasoning_before_the_text_are_left_out():
    text = '{"a":true}'
    tokens = [token(piece) for piece in ["<think>", '{"a":true}', "</think>", '{"a":', "true", "}"]]

    found = steps(tokens, text)

    assert [step.token for step in found] == ['{"a":', "true", "}"]
    assert [bool(step.top) for step in found] == [False, True, False]


def test_the_token_that_ends_the_turn_is_left_out():
    found = steps([token('{"a":'), token("true}"), token("<|im_end|>")], '{"a":true}')

    assert [step.token for step in found] == ['{"a":', "true}"]


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
    tokens = [token(str(piece)) | {"bytes": list(piece)} for piece in pieces]

    found = steps(tokens, text)

    assert b"".join(pieces) == raw
    assert "".join(step.token for step in found) == text
    assert found[0].token == '{"'
    assert sum(bool(step.top) for step in found) == 1


def test_log_probabilities_that_are_null_are_nan():
    missing = token("true") | {"logprob": None, "top_logprobs": [{"token": "x", "logprob": None}]}

    found = steps([token('{"a":'), missing, token("}")])

    assert math.isnan(found[1].logprob)
    assert math.isnan(found[1].top[0].logprob)


@pytest.mark.parametrize("top", [None, [], "absent"])
def test_tokens_without_alternatives_have_none(top):
    bare = {"token": "true", "logprob": -0.1} | ({} if top == "absent" else {"top_logprobs": top})

    found = steps([token('{"a":'), bare, token("}")])

    assert found[1].top == ()


def test_no_tokens_for_a_text_are_no_log_probabilities():
    assert steps([], "text") is None
    assert steps([], "") == ()


def test_the_older_shape_of_parallel_lists_is_read():
    lists = {
        "tokens": ["hm ", '{"a":', "true", "}"],
        "token_logprobs": [-1.0, -0.1, None, -0.3],
        "top_logprobs": [None, {"x": -1.0}, {"true": -0.2, "false": -1.7}],
    }

    found = read(completion('{"a":true}', logprobs=lists), '{"a":true}')

    assert [step.token for step in found] == ['{"a":', "true", "}"]
    assert [(c.token, c.logprob) for c in found[1].top] == [("true", -0.2), ("false", -1.7)]
    assert math.isnan(found[1].logprob)
    assert [found[0].top, found[2].top] == [(), ()]


@pytest.mark.parametrize("lists", [{}, {"tokens": ["a"]}, {"tokens": ["a"], "token_logprobs": []}])
def test_lists_that_do_not_match_are_no_log_probabilities(lists):
    assert steps_of(msgspec.convert(lists, LogProbs), text="a", body=b"{}") is None
