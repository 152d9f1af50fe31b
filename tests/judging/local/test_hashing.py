"""Hashes are the same on every machine, in every process and wherever a text stands."""

import numpy as np
import pytest

from voirdire.judging.local.characters import MAX_CHARACTERS, read_characters
from voirdire.judging.local.hashing import extend_runs, hash_rows, hash_spans, scramble, to_bucket
from voirdire.judging.local.tokens import find_tokens

MASK = 2**64 - 1


def tokens_of(text):
    characters = read_characters([text])
    tokens = find_tokens(characters)
    return [
        "".join(map(chr, characters.codes[start:end]))
        for start, end in zip(tokens.starts, tokens.ends, strict=True)
    ]


def plain_scramble(value):
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ (value >> 33)


def plain_span(text):
    base = 0x9E3779B97F4A7C15
    total = sum((ord(mark) + 1) * pow(base, place, 2**64) for place, mark in enumerate(text))
    return plain_scramble(total & MASK)


def test_scrambling_is_that_of_plain_integers():
    values = [0, 1, 2, 12345678901234567890, MASK]

    found = scramble(np.array(values, dtype=np.uint64))

    assert found.tolist() == [plain_scramble(value) for value in values]


@pytest.mark.parametrize("word", ["sorry", "抱", "a", "zażółć"])
def test_a_span_has_the_hash_of_plain_integers_wherever_it_stands(word):
    before = "some words before it "
    codes = np.frombuffer((before + word).encode("utf-32-le"), dtype="<u4")
    start, end = np.array([len(before)]), np.array([len(before) + len(word)])

    found = hash_spans(codes, start, end)

    assert found.tolist() == [plain_span(word)]


def test_hashes_of_words_are_pinned():
    characters = read_characters(["Sorry, I can't. 抱歉"])
    tokens = find_tokens(characters)

    assert tokens.hashes.tolist() == [
        plain_span(word) for word in ["sorry", ",", "i", "can't", ".", "抱", "歉"]
    ]
    # Weights that were saved on one machine are read on others: these numbers may never change.
    assert tokens.hashes[0] == PINNED_SORRY
    assert to_bucket(tokens.hashes, 15).tolist() == PINNED_BUCKETS


PINNED_SORRY = 12289957567531471915
PINNED_BUCKETS = [10440, 9547, 11607, 30215, 1174, 19938, 29901]


def test_runs_made_step_by_step_are_those_of_rows():
    units = scramble(np.arange(1, 8, dtype=np.uint64))
    pairs = extend_runs(units, units, 2)
    triples = extend_runs(pairs, units, 3)

    rows = np.stack([units[place : place + 3] for place in range(5)])

    assert triples.tolist() == hash_rows(rows).tolist()


def test_runs_of_too_few_units_are_none():
    units = scramble(np.arange(1, 2, dtype=np.uint64))

    assert len(extend_runs(units, units, 2)) == 0


def test_buckets_lie_within_the_table_and_spread():
    buckets = to_bucket(scramble(np.arange(40_000, dtype=np.uint64)), 10)

    counts = np.bincount(buckets, minlength=1024)

    assert len(counts) == 1024
    # 39 a bucket, standard deviation 6.2: ten of them either way never happens by chance.
    assert counts.max() < 39 + 62


def test_words_marks_and_chinese_characters_are_tokens():
    assert tokens_of("I can't—really! 'quoted'  don’t\n对不起，OK？") == [
        "i", "can't", "—", "really", "!", "'", "quoted", "'", "don't", "对", "不", "起", ",",
        "ok", "?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("ＳＯＲＲＹ！", "sorry!"),
        ("SORRY", "sorry"),
        ("so\u200brry", "sorry"),
        ("so\u00adrry", "sorry"),
        ("\u202esorry\u202c", "sorry"),
        ("“sorry”", '"sorry"'),
        ("Ünder ÀÉ", "ünder àé"),
        ("ПРИВЕТ", "привет"),
    ],
)
def test_case_width_and_invisible_marks_do_not_matter(written, plain):
    assert tokens_of(written) == tokens_of(plain)


def test_lone_surrogates_part_words_and_do_no_harm():
    assert tokens_of("a\ud800b") == ["a", "b"]


def test_a_word_does_not_run_on_into_the_next_text():
    characters = read_characters(["left", "right"])
    tokens = find_tokens(characters)

    assert tokens.hashes.tolist() == [plain_span("left"), plain_span("right")]
    assert tokens.firsts.tolist() == [0, 1, 2]


def test_of_a_very_long_text_the_beginning_and_the_end_are_read():
    text = "a" + " " * MAX_CHARACTERS + "z"

    assert tokens_of(text) == ["a", "z"]
    assert tokens_of("x " * MAX_CHARACTERS + "end")[-1] == "end"
