"""The offline text similarity against scikit-learn's counts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import paired_cosine_distances

from voirdire import alt_test
from voirdire.stats import character_cosine

TEXTS = (
    "The judge was right.",
    "the judge was RIGHT",
    "A wholly different answer, of other words",
    "评审的回答是正确的",
    "评审的回答不正确",
    "القاضي على حق",
    "<script>alert('x')</script>",
    "x",
    "Straße",
    "STRASSE",
    "👍👍",
)


def test_cosines_are_those_of_counted_grams():
    pairs = [(a, b) for a in TEXTS for b in TEXTS]
    first, second = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))
    counter = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False)
    counter.fit([text.casefold() for text in TEXTS])

    cosines = character_cosine(first, second)

    vectors = [counter.transform([text.casefold() for text in side]) for side in (first, second)]
    expected = 1 - paired_cosine_distances(vectors[0].toarray(), vectors[1].toarray())
    np.testing.assert_allclose(cosines, expected, atol=1e-12)


def test_equal_texts_are_exactly_one_and_strangers_exactly_zero():
    a = np.array(["same", "", "abc", "Groß", "wörter " * 50], dtype=object)
    b = np.array(["same", "", "xyz", "GROSS", "wörter " * 50], dtype=object)

    assert character_cosine(a, b).tolist() == [1, 1, 0, 1, 1]


def test_the_cosine_is_symmetric_and_bounded():
    pairs = [(a, b) for a in (*TEXTS, "") for b in (*TEXTS, "")]
    first, second = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))

    forth, back = character_cosine(first, second), character_cosine(second, first)

    assert (forth == back).all()
    assert ((forth >= 0) & (forth <= 1)).all()


def test_an_empty_text_shares_nothing():
    assert character_cosine(np.array(["", "a"]), np.array(["a", ""])).tolist() == [0, 0]


def test_no_pairs_no_cosines():
    assert character_cosine(np.array([], dtype=str), np.array([], dtype=str)).shape == (0,)


def test_anything_else_is_compared_by_its_text():
    a, b = np.array([12, 3.5], dtype=object), np.array(["12", "3.5"], dtype=object)

    assert character_cosine(a, b).tolist() == [1, 1]


def test_it_is_the_default_of_the_similarity_alignment():
    humans = {
        "a": {i: TEXTS[i % 5] for i in range(30)},
        "b": {i: TEXTS[(i + 1) % 5] for i in range(30)},
        "c": {i: TEXTS[(i * i) % 5] for i in range(30)},
    }
    judge = {i: TEXTS[(2 * i) % 5] for i in range(30)}

    default = alt_test(judge, humans, alignment="similarity")
    given = alt_test(judge, humans, alignment="similarity", similarity=character_cosine)

    assert default.annotators == given.annotators


@pytest.mark.parametrize("length", [100_000])
def test_a_long_text_is_read_whole(length):
    long = "ab" * (length // 2)

    cosine = character_cosine(np.array([long, long]), np.array([long, long[:-1] + "c"]))

    assert cosine[0] == 1
    assert 0.99 < cosine[1] < 1
