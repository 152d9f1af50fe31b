"""What the classifiers see of an item."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.local.characters import read_characters
from voirdire.judging.local.cue_lexicon import HINTS, find_hints
from voirdire.judging.local.cue_words_en import ENGLISH_CUES
from voirdire.judging.local.cue_words_zh import CHINESE_CUES
from voirdire.judging.local.cues import CUE_SETS, CUES
from voirdire.judging.local.features import batches_of_items, describe_items, describe_many
from voirdire.judging.local.ngrams import BLOCKS, N_COLUMNS, columns_of_block
from voirdire.judging.local.tokens import find_tokens
from voirdire.records import Item, Message


def item(response, prompt=""):
    asked = (Message(role="user", content=prompt),) if prompt else ()
    return Item(id="1", response=response, prompt=asked)


def cue(name, response, prompt=""):
    return describe_items([item(response, prompt)]).cues[0, CUES.index(name)]


def same(left, right):
    return (left.ngrams != right.ngrams).nnz == 0 and (left.cues == right.cues).all()


def test_blocks_and_cue_sets_share_out_all_columns():
    columns = [place for name in BLOCKS for place in range(N_COLUMNS)[columns_of_block(name)]]
    cues = [place for part in CUE_SETS.values() for place in range(len(CUES))[part]]

    assert columns == list(range(N_COLUMNS))
    assert cues == list(range(len(CUES)))
    assert len(set(CUES)) == len(CUES)


def test_an_unknown_block_is_an_error():
    with pytest.raises(KeyError, match="words_9"):
        columns_of_block("words_9")


def test_distinct_ngrams_count_once_and_blocks_have_length_one():
    features = describe_items([item("no no no yes")])

    words = features.ngrams[:, columns_of_block("words_1")]
    pairs = features.ngrams[:, columns_of_block("words_2")]

    # no, yes; and "no no", "no yes".
    assert words.nnz == 2
    assert pairs.nnz == 2
    for name in BLOCKS:
        block = features.ngrams[:, columns_of_block(name)]
        assert block.multiply(block).sum() == pytest.approx(1, abs=1e-6)


def test_an_empty_response_has_no_ngrams_and_is_marked():
    features = describe_items([item("", "Hello?"), item("Hi")])

    assert features.ngrams[0].nnz == 0
    assert features.cues[0, CUES.index("form:empty")] == 1
    assert features.cues[1, CUES.index("form:empty")] == 0


@pytest.mark.parametrize(
    ("name", "response", "value"),
    [
        ("any:apology", "We are so sorry.", 1),
        ("any:apology", "非常抱歉。", 1),
        ("any:apology", "Here you are.", 0),
        ("any:inability", "I can’t do that", 1),
        ("any:inability", "我没办法做到", 1),
        ("any:we_office", "we encourage you", 1),
        ("form:ends_asking", 'He said "why?" ', 1),
        ("form:ends_asking", "为什么？", 1),
        ("form:ends_asking", "Why? Because.", 0),
        ("form:chinese", "这是中文", 1),
        ("form:chinese", "This is English, 是", 0),
        ("form:short", "Sorry, no.", 1),
        ("any:link", "see www.example.org", 1),
        ("early:apology", "word " * 30 + "sorry", 0),
        ("late:apology", "word " * 30 + "sorry", 1),
        ("late:apology", "sorry " + "word " * 30, 0),
    ],
)
def test_cues_are_found_in_both_languages(name, response, value):
    assert cue(name, response) == value


def test_counted_cues_grow_with_the_logarithm():
    assert cue("many:apology", "sorry sorry sorry") == pytest.approx(np.log(4) / 2)
    assert cue("form:questions", "a? b? c?") == pytest.approx(np.log(4) / 1.5)
    assert cue("form:list_marks", "x\n1. a\n- b\nc") == pytest.approx(np.log(3) / 2)
    assert cue("form:long_numbers", "call 555 or 12") == pytest.approx(np.log(2))


def test_overlap_is_the_share_of_longer_words_in_common():
    # Longer words of the response: paint, bicycle, green; of the prompt: bicycle, repair.
    response, prompt = "paint the bicycle green", "bicycle repair"

    assert cue("overlap:response_in_prompt", response, prompt) == pytest.approx(1 / 3)
    assert cue("overlap:prompt_in_response", response, prompt) == pytest.approx(1 / 2)
    # Pairs of the response: 修自 自行 行车; of the prompt: 自行 行车 车坏.
    assert cue("overlap:response_in_prompt", "修自行车", "自行车坏") == pytest.approx(2 / 3)


def test_the_last_text_of_the_user_is_the_prompt():
    messages = (
        Message(role="user", content="Where is my parcel?"),
        Message(role="assistant", content="sorry"),
        Message(role="user", content="Never mind."),
    )

    features = describe_items([Item(id="1", prompt=messages, response="parcel")])

    assert features.cues[0, CUES.index("prompt:questions")] == 0
    assert features.cues[0, CUES.index("overlap:response_in_prompt")] == 0


def test_both_languages_hint_at_the_same_things():
    assert list(ENGLISH_CUES) == list(CHINESE_CUES) == list(HINTS)


@pytest.mark.parametrize(
    ("words", "parting"), [(ENGLISH_CUES, ", "), (CHINESE_CUES, "，")], ids=["en", "zh"]
)
def test_every_phrase_is_found_and_hints_at_what_it_is_listed_for(words, parting):
    for index, name in enumerate(HINTS):
        for phrase in filter(None, words[name].split(parting)):
            _, hints = find_hints(find_tokens(read_characters([f"xx {phrase} yy"])))

            assert index in hints.tolist(), (name, phrase)


def test_a_phrase_is_not_found_across_two_texts():
    tokens = find_tokens(read_characters(["reach", "out"]))

    _, hints = find_hints(tokens)

    assert HINTS.index("seek") not in hints.tolist()


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_a_row_does_not_depend_on_the_others(texts):
    items = [item(text, text[::-1]) for text in texts]

    together = describe_items(items)

    for place, one in enumerate(items):
        alone = describe_items([one])
        assert (together.ngrams[place] != alone.ngrams).nnz == 0
        assert (together.cues[place] == alone.cues[0]).all()
        assert np.isfinite(alone.cues).all()


def test_many_items_are_described_like_few():
    items = [item(f"text number {index} is 抱歉 {index % 7}") for index in range(150)]

    many = describe_many(items)

    assert same(describe_items(items), many)


def test_batches_are_bounded_by_items_and_by_characters():
    small = [item("x")] * 130
    large = [item("x" * 100_000), item("y" * 100_000), item("z" * 300_000), item("")]

    assert [len(batch) for batch in batches_of_items(small)] == [64, 64, 2]
    assert [len(batch) for batch in batches_of_items(large)] == [1, 1, 1, 1]
    assert list(batches_of_items([])) == []
