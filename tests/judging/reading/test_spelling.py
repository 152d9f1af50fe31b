"""Tokens and the text that they spell."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.reading.spelling import spell
from voirdire.records import TokenStep


def steps_of(*tokens):
    return tuple(TokenStep(token=token, logprob=0.0) for token in tokens)


@given(
    text=st.text(min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    around=st.tuples(st.sampled_from(["", "<s>", "\n"]), st.sampled_from(["", "</s>", " "])),
)
def test_every_character_is_found_in_the_token_that_writes_it(text, cuts, around):
    whole = text.join(around)
    if whole.count(text) != 1 or whole.find(text, whole.find(text) + 1) >= 0:
        return
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    tokens = [whole[a:b] for a, b in pairwise(edges)]

    spelling = spell(text, steps_of(*tokens))

    assert spelling.ends == edges[1:]
    for offset, character in enumerate(text):
        assert spelling.written[spelling.place(offset)] == character


def test_what_the_tokens_do_not_spell_is_not_found():
    assert spell('{"a":true}', steps_of('{"a"', ":", "false", "}")) is None
    assert spell('{"a":true}', steps_of('{"a"', ":", "true")) is None
    assert spell('{"a":true}', ()) is None


def test_a_text_that_the_tokens_spell_twice_is_not_found():
    assert spell("{}", steps_of("{}", " ", "{}")) is None
    assert spell("aa", steps_of("a", "aa")) is None  # also where the two overlap


def test_characters_divided_among_tokens_do_not_matter():
    text = '{"x": "很好", "a": true}'
    tokens = ['{"x"', ': "', "\ufffd", "\ufffd\ufffd", '好", "', "a", '":', " true", "}<|end|>"]

    spelling = spell(text, steps_of(*tokens))

    start = spelling.place(text.index("true"))
    assert spelling.written[start:].startswith("true}")
    assert spelling.ends[6] < start < spelling.ends[7]


def test_other_letters_are_not_taken_for_divided_ones():
    assert spell('{"x": "很"}', steps_of('{"x": "', "好", '"}')) is None


def test_divided_characters_do_not_hide_another_text():
    assert spell('{"x": "很", "a": true}', steps_of('{"x": "', "\ufffd", '", "a": false}')) is None


def test_a_replacement_character_that_the_model_wrote_is_a_character():
    spelling = spell('{"x": "\ufffd"}', steps_of('{"x": "', "\ufffd", '"}'))

    assert spelling.place(9) == 9


def test_divided_characters_and_a_text_that_stands_twice():
    assert spell('"很"', steps_of('"', "\ufffd", '""', "\ufffd", '"')) is None
