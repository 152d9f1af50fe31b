"""Tells language from words in a row, and an answer from phrases that fit every prompt, by form."""

from __future__ import annotations

import hashlib
import io
import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*|\d+(?:[-.,/]\d+)*|\n+|[^\w\s]|\w")
_SUFFIX = re.compile(r"(?:ing|ions?|ed|ly|ness|ments?|ity|ous|ive|ful|able|al|ers?|es|s)$")
_CAPITAL_WITHIN = re.compile(
    r"[a-z,] (?:An?|The|It|This|That|There|If|In|To|As|And|But|You|We|For|On)\b"
)
_SMALL_AFTER_END = re.compile(r"[.!?] +[a-z]")
_WORD = re.compile(r"\w[\w'-]*")
_LATIN_LETTER, _OTHER_LETTER = re.compile(r"[A-Za-z]"), re.compile(r"[^\W\d_A-Za-z]")
N_CLASSES, _N_FUNCTION_WORDS = 64, 120
_FEWEST_WORDS, _FEWEST_JUDGED_WELL = 3, 6
"""Names and numbers are answers of one or two words, and two words in any order look like them."""


def is_foreign(text: str) -> bool:
    """Tell whether most letters are none of English: the gate knows no such language."""
    return len(_OTHER_LETTER.findall(text)) > len(_LATIN_LETTER.findall(text))


def is_too_short(text: str) -> bool:
    """Tell whether a text has one word or two, so that its form says nothing."""
    return 0 < len(_WORD.findall(text)) < _FEWEST_WORDS


def is_short(text: str) -> bool:
    """Tell whether a text has so few words that its form says little."""
    return len(_WORD.findall(text)) < _FEWEST_JUDGED_WELL and not is_foreign(text)


# Language ---------------------------------------------------------------------------------------


class LanguageModel:
    """Counts of trigrams over the commonest words; every other word counts by its suffix.

    A new topic is then no surprise, and a new order of words is one. Probabilities are smoothed by
    method C of Witten and Bell, "The zero-frequency problem", IEEE Trans. Inf. Theory 37, 1991.
    """

    def __init__(
        self,
        *,
        words: Sequence[str],
        classes: Sequence[str],
        pairs: NDArray[np.int64],
        n_pairs: NDArray[np.int64],
        triples: NDArray[np.int64],
        n_triples: NDArray[np.int64],
    ) -> None:
        self.words, self.classes = tuple(words), tuple(classes)
        self.pairs, self.n_pairs, self.triples, self.n_triples = pairs, n_pairs, triples, n_triples
        self._codes = {word: code for code, word in enumerate(words, 1)}
        self._class_codes = {name: 1 + len(words) + code for code, name in enumerate(classes)}
        self.first_class, self.size = 1 + len(words), 1 + len(words) + N_CLASSES
        # whether a word is a function word, a mark, the end of a sentence
        self.kinds = np.zeros((3, self.size), dtype=bool)
        common = [word for word in words if word[0].isalpha()][:_N_FUNCTION_WORDS]
        for kind, chosen in enumerate(
            (common, [word for word in words if not word[0].isalnum()], ".!?:\n")
        ):
            self.kinds[kind, [self._codes[word] for word in chosen if word in self._codes]] = True
        single = np.bincount(pairs % self.size, weights=n_pairs, minlength=self.size) + 0.05
        self._share = single / single.sum()
        self._n_after = np.bincount(pairs // self.size, weights=n_pairs, minlength=self.size)
        self._n_different_after = np.bincount(pairs // self.size, minlength=self.size)
        self._contexts, starts = np.unique(triples // self.size, return_index=True)
        self._n_context = np.add.reduceat(n_triples, starts)
        self._n_different_context = np.diff(np.append(starts, triples.size))

    def encode(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Turn words into numbers; 0 stands before and after a text."""
        codes, classes, other = self._codes, self._class_codes, self.size - 1
        numbers = [codes.get(word) or classes.get(name_class(word), other) for word in words]
        return np.array([0, *numbers, 0], dtype=np.int64)

    def number_runs(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Turn into numbers the runs of two and of three words."""
        pairs = codes[:-1] * self.size + codes[1:]
        return pairs, pairs[:-1] * self.size + codes[2:]

    def compute_surprise(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Compute the bits of each word but the first two after one word, and after two.

        Then follows whether these two words, and these three, were never seen.
        """
        pairs, triples = self.number_runs(codes)
        n_pair = _look_up(self.pairs, self.n_pairs, pairs)
        n, n_different = self._n_after[codes[:-1]], self._n_different_after[codes[:-1]]
        after_one = (n_pair + n_different * self._share[codes[1:]] + 1e-9) / (
            n + n_different + 1e-9
        )
        n_triple = _look_up(self.triples, self.n_triples, triples)
        n = _look_up(self._contexts, self._n_context, pairs[:-1])
        n_different = _look_up(self._contexts, self._n_different_context, pairs[:-1])
        after_two = (n_triple + n_different * after_one[1:]) / np.maximum(n + n_different, 1)
        after_two = np.where(n > 0, after_two, after_one[1:])
        return -np.log2(after_one[1:]), -np.log2(after_two), n_pair[1:] == 0, n_triple == 0


def split_words(text: str) -> list[str]:
    """Split a text into words in small letters, numbers, marks and ends of lines."""
    found = _TOKEN.findall(text.lower().replace("’", "'"))
    return ["\n" if word[0] == "\n" else word for word in found]


def name_class(word: str) -> str:
    """Name the class by which a word counts that is not among the commonest."""
    if word[0].isdigit():
        return "0"
    if not word.isascii() or not word[0].isalpha():
        return "é" if word[0].isalpha() else word
    match = _SUFFIX.search(word)
    return match[0] if match else "-"


def _look_up(
    keys: NDArray[np.int64], values: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    places = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[places] == wanted, values[places], 0)


_VERY_RARE_BITS = 13


def measure_language(model: LanguageModel, texts: Sequence[str]) -> NDArray[np.float64]:
    """Compute the figures that tell language from words in a row, one row a text.

    Means over the words of: bits after one word and after two, runs of two and three that are new,
    function words, marks, ends of sentences, rare forms, repetitions, very rare words; the worst
    stretch of 8 and 16 words; repeated runs; how rich the words are; the length; the same for short
    texts; the longest run of words between function words and marks; capitals within sentences, and
    small letters after them.
    """
    documents = [split_words(text) for text in texts]
    codes = np.concatenate([*map(model.encode, documents), np.zeros(2, dtype=np.int64)])
    bits, bits_after_two, is_new_pair, is_new_triple = model.compute_surprise(codes)
    here = codes[1:-1]
    by_word = np.column_stack(
        [
            *(bits, bits_after_two, is_new_pair, is_new_triple, bits_after_two > _VERY_RARE_BITS),
            *model.kinds[:, here],
            *(here >= model.first_class, here == codes[:-2]),
        ]
    )
    sums = np.vstack([np.zeros(by_word.shape[1]), np.cumsum(by_word, axis=0)])
    rows, start = [], 0
    for text, words in zip(texts, documents, strict=True):
        n = len(words)
        part = sums[start : start + n + 1]
        start += n + 2
        mean = (part[-1] - part[0]) / max(n, 1)
        worst = [(part[k:, 1] - part[:-k, 1]).max() / k if n >= k else mean[1] for k in (8, 16)]
        n_rare = (part[8:, 4] - part[:-8, 4]).max() if n >= 8 else mean[4] * n
        runs = (zip(*(words[shift:] for shift in range(k)), strict=False) for k in (2, 3))
        repeated = [1 - len(set(run)) / max(n - k, 1) for k, run in enumerate(runs, 1)]
        breaks = np.flatnonzero((np.diff(part[:, 5:7], axis=0) > 0).any(axis=1))
        between = np.diff(np.concatenate([[-1], breaks, [n]])) - 1
        is_short = float(n < 16)
        rows.append(
            [
                *(*mean, *worst, *repeated, abs(mean[5] - 0.45), n_rare),
                *(min(len(set(words)) / math.sqrt(max(n, 1)), 6), math.log1p(n)),
                *(is_short * mean[1], is_short * mean[2], is_short),
                *(math.log1p(between.max()), (between >= 4).sum() * 4 / max(n, 1)),
                is_short * math.log1p(between.max()),
                len(_CAPITAL_WITHIN.findall(text)) / max(n, 1),
                len(_SMALL_AFTER_END.findall(text)) / max(n, 1),
            ]
        )
    return np.array(rows)


# An answer --------------------------------------------------------------------------------------

REFUSAL = re.compile(
    r"\b(?:can(?:'t|not| not)|won't|will not|unable to|not able to|not going to|refuse|decline|"
    r"sorry|apologi[sz]e|against (?:my|the|our) (?:guidelines|policy|policies|rules|values))\b",
    re.IGNORECASE,
)
_STEM, _FEWEST_OF_ANSWER, _FEWEST_ON_TOPIC = 5, 12, 20
_SHARE_NEW, _FEWEST_OF_TOPIC = 0.06, 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LIST_NUMBER = re.compile(r"(?:^|\s)\d+[.)]\s")
_BRIEF = re.compile(
    r"\d|\b(?:yes|no|not|never|none|true|false|half|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"hundred|thousand|today|always)\b",
    re.IGNORECASE,
)


def list_stems(text: str) -> list[str]:
    """List the first letters of the words of a text."""
    return [word[:_STEM] for word in split_words(text) if word[0].isalpha()]


def says_nothing(prompt: str, response: str) -> bool:
    """Tell whether a response is of phrases that fit every prompt.

    A refusal is left to the rules. A short answer may say yes or no, or a number.
    """
    if (words := _read_answer(prompt, response)) is None:
        return False
    n_words, said, prompt_stems = words
    n_new = len(said - load_gate().general - prompt_stems)
    if n_words >= _FEWEST_OF_ANSWER:
        return n_new <= _SHARE_NEW * len(said)
    is_brief = n_words < _FEWEST_WORDS or _BRIEF.search(_LIST_NUMBER.sub(" ", response))
    return not n_new and not is_brief


def misses_topic(prompt: str, response: str) -> bool:
    """Tell whether a response of some length has none of the words that a prompt is about.

    So have half of the answers to other prompts, and some answers in other words than the prompt's.
    """
    if (words := _read_answer(prompt, response)) is None:
        return False
    n_words, said, prompt_stems = words
    topic = prompt_stems - load_gate().general
    is_long = len(topic) >= _FEWEST_OF_TOPIC and n_words >= _FEWEST_ON_TOPIC
    return is_long and topic.isdisjoint(said)


def _read_answer(prompt: str, response: str) -> tuple[int, set[str], set[str]] | None:
    """Count the words of an answer, and list its stems and its prompt's; None for a refusal."""
    if REFUSAL.search(response.replace("’", "'")) or is_foreign(response):
        return None
    prompt_stems = set(list_stems(prompt))
    n_words, said = 0, set()
    for sentence in _SENTENCE.split(response):
        stems = list_stems(sentence)
        n_words += len(stems)
        if len(stems) < 4 or sum(map(prompt_stems.__contains__, stems)) < 0.8 * len(stems):
            said |= set(stems)  # the prompt once more is no answer to it
    return n_words, said, prompt_stems


# The gate ---------------------------------------------------------------------------------------


class Gate:
    """Tells how far a response is from what the gate lets through.

    Attributes
    ----------
    fingerprint : str
        Of everything that it has learned.
    general : frozenset of str
        Stems of words that fit every prompt.
    """

    def __init__(self, data: bytes) -> None:
        self.fingerprint = f"sha256:{hashlib.sha256(data).hexdigest()}"
        arrays = np.load(io.BytesIO(data), allow_pickle=False)
        self.general = frozenset(str(arrays["general"]).split("\0"))
        self._model = LanguageModel(
            words=str(arrays["words"]).split("\0"),
            classes=str(arrays["classes"]).split("\0"),
            pairs=np.cumsum(arrays["pairs"], dtype=np.int64),
            n_pairs=arrays["n_pairs"],
            triples=np.cumsum(arrays["triples"], dtype=np.int64),
            n_triples=arrays["n_triples"],
        )
        self._center, self._scale, self._weights = arrays["figures"]
        self._squares, self._intercept = arrays["squares"], float(arrays["intercept"])

    def measure_margins(self, responses: Sequence[str]) -> NDArray[np.float64]:
        """Measure the log odds that texts are no language; nan where the gate cannot tell.

        A text without any letter or digit is none at all: infinity.
        """
        margins = np.full(len(responses), np.nan)
        rows = []
        for row, text in enumerate(responses):
            if not _WORD.search(text):
                margins[row] = np.inf
            elif not is_foreign(text) and not is_too_short(text):
                rows.append(row)
        if rows:
            figures = measure_language(self._model, [responses[row] for row in rows])
            scaled = np.clip((figures - self._center) / self._scale, -5, 5)
            margins[rows] = scaled @ self._weights + scaled**2 @ self._squares + self._intercept
        return margins


@cache
def load_gate() -> Gate:
    """Load the gate that ships with voirdire."""
    return Gate(files("voirdire").joinpath("data/gate/english.npz").read_bytes())
