"""Where values stand: against the standard library's own decoder."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.judging.reading import value_spans
from voirdire.judging.reading.json_members import members_of, object_in_prose

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    value=st.dictionaries(st.text(), VALUES, max_size=5),
    is_ascii=st.booleans(),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    gaps=st.sampled_from([(",", ":"), (" ,\n ", "\t:\r ")]),
    around=st.tuples(st.text(" \t\r\n", max_size=2), st.text(" \t\r\n", max_size=2)),
)
def test_each_value_is_decoded_from_where_it_is_said_to_stand(
    value, is_ascii, indent, gaps, around
):
    written = json.dumps(value, ensure_ascii=is_ascii, indent=indent, separators=gaps)
    text = written.join(around)

    found = value_spans(text)

    assert [(key, json.loads(text[start:end])) for key, start, end in found] == list(value.items())


@given(text=st.text(alphabet='{}[]",:\\ntrue01.-eEu/ \n\x00é', max_size=40))
@example('{"a":1,}')
@example('{"a":01}')
@example('{"a":1.}')
@example('{"a":+1}')
@example('{"a" 1}')
@example('{,"a":1}')
@example('{"a":1 "b":2}')
@example('{"a":1}}')
@example('{"a":"\n"}')
@example('{"a":"\\x"}')
@example('{"a":"\\u12g4"}')
@example('{"a":True}')
@example('{"a":[1,2}')
@example('{"a":[}')
@example("{'a':1}")
@example('\ufeff{"a":1}')
@example("")
@example("{")
@example("{}")
@example("{} x")
def test_what_is_one_object_and_what_is_not(text):
    try:
        pairs = json.loads(text, object_pairs_hook=tuple)
    except ValueError:
        pairs = None
    is_object = isinstance(pairs, tuple)

    found = members_of(text)

    assert (found is not None) == is_object
    if is_object:
        assert [key for key, _, _ in found] == [key for key, _ in pairs]


def test_infinities_and_no_numbers_are_no_values():
    for word in ("NaN", "Infinity", "-Infinity"):
        assert members_of(f'{{"a": {word}}}') is None


def test_a_key_that_repeats_is_there_each_time():
    assert value_spans('{"a": 1, "a": 2}') == [("a", 6, 7), ("a", 14, 15)]


def test_escapes_in_keys_are_resolved():
    assert value_spans('{"\\u0061\\n": 1}') == [("a\n", 13, 14)]


def test_half_of_a_surrogate_pair_in_a_key_is_left_as_it_is_written():
    assert [key for key, _, _ in value_spans('{"\\ud83d": 1}')] == ["\\ud83d"]


@pytest.mark.parametrize("text", ["[1]", "", '{"a": 1} {"b": 2}', "true"])
def test_what_is_no_object_is_an_input_error(text):
    with pytest.raises(InputError, match="`text` must be one JSON object, got"):
        value_spans(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 500_000,
        '{"a":' * 200_000,
        '{"a":' + "[" * 900_000,
        '{"a": "' + "\\" * 900_000,
        '{"' + "x" * 900_000,
        '{"a"' + " " * 900_000,
        '{"a": ' + "1" * 900_000 + "}",
        '{"a": [' + "1" * 900_000 + "]}",
        '{"a": [' + '"x",' * 200_000,
        '{"a": "\\u00' * 90_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_texts_of_a_million_characters_come_to_an_end(text):
    spans = members_of(text)

    assert spans is None or [key for key, _, _ in spans] == ["a"]


PROSE = [
    '{"a": 1}',
    ' \n{"a": 1}\n ',
    'Here it is: {"a": 1}. As asked.',
    '```json\n{"a": 1}\n```',
    '```\n{"a": 1}\n```\nDone.',
    '<think>Perhaps {"a": 0}?</think>\n{"a": 1}',
    '\n<think>{{{ ]</think> So: ```json\n{"a": 1}```',
    'It says {"a": 0}, hm.</think>\n{"a": 1}',  # some servers swallow the tag that opens
    '<think></think>{"a": 1}',
]


@pytest.mark.parametrize("text", PROSE)
def test_the_one_object_in_prose_is_found(text):
    span = object_in_prose(text)

    assert text[slice(*span)] == '{"a": 1}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no object",
        "{",
        "}",
        "} {",
        '{"a": 1}}',
        'See {x}: {"a": 1}',
        '{"a": 0} {"a": 1}',
        '```json\n{"a": 0}\n```\n```json\n{"a": 1}\n```',
        '<think>Perhaps {"a": 0}?',  # still thinking
        '{"a": 1} <think>But then',
        'Well, <think>{"a": 1}',
        '<think>x</think><think>{"a": 1}',
        '[{"a": 1}]',
        'A list: [ {"a": 1} , 2]',
        '[0, {"a": 1}]',
        '{"a": 0} </think> {"a": 1}',
    ],
)
def test_where_more_than_one_thing_could_be_the_object_none_is(text):
    span = object_in_prose(text)

    assert span is None or members_of(text[slice(*span)]) is None


def test_a_tag_inside_of_a_text_does_not_cut_it():
    text = '{"a": "it says </think> and <think>"}'

    assert object_in_prose(text) == (0, len(text))


@given(
    before=st.text(alphabet='{}"a:1,\\ <think>/[]`', max_size=30),
    inner=st.dictionaries(st.text(max_size=5), st.text(max_size=10), min_size=1, max_size=2),
    behind=st.text(alphabet='{}"a:1,\\ <think>/[]`', max_size=30),
)
def test_what_is_found_in_prose_is_never_one_of_two(before, inner, behind):
    text = before + json.dumps(inner) + behind

    span = object_in_prose(text)

    if span is not None and members_of(text[slice(*span)]) is not None:
        # Braces are left only inside of it and in what was thought before it.
        thought = text[: span[0]].rpartition("</think>")
        assert not {"{", "}"} & set(thought[2] + text[span[1] :])
        assert "<think>" not in thought[2] + text[span[1] :]
