"""Analyses texts for probes: language, sentences, random draws, and filler of any length."""

from __future__ import annotations

import hashlib
import re
from functools import cache, partial
from importlib.resources import files
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.documents import document_from_text

if TYPE_CHECKING:
    from voirdire._types import Language

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HAN_SHARE = 0.2  # as the local judge tells Chinese from English

# A mark inside a run of marks never begins a match: runs of a megabyte stay linear.
_SENTENCE = re.compile(
    r"\S[^\n]*?(?:(?<![.!?])[.!?]++[\"'”’)\]*_]*+(?=\s|$)|[。！？]++[\"'”’」』）]*+|(?=\n)|$)"
)
_NO_END = re.compile(r"^\W*\d{1,3}[.)]$|(?:^|\s|\()(?:e\.g|i\.e|cf|vs|Dr|Mr|Mrs|Ms|Prof)\.$")

_WORDS_BY_LENGTH = (
    "a", "it", "row", "line", "words", "letter", "heading", "sentence", "paragraph",
    "paragraphs", "handwriting", "illustration",
)  # fmt: skip
_MOST_SEARCHED = {"en": 130, "zh": 30}
"""Characters of filler that two lines make up; what is longer begins with other lines."""

_MISSES = tuple(product((0, -1, 1), (0, -1, 1, -2, 2)))
"""By how many words and characters filler may miss, the smallest first."""


def language_of(text: str) -> Language:
    """Tell Chinese from English: more than a fifth of the characters are Han."""
    n_characters = len(text) - sum(map(str.isspace, text))
    return "zh" if len(_HAN.findall(text)) > _HAN_SHARE * n_characters else "en"


def split_sentences(text: str) -> list[str]:
    """Split into sentences as they stand; a line ends one, and the number of a list begins one."""
    sentences: list[str] = []
    start: int | None = None
    for match in _SENTENCE.finditer(text):
        start = match.start() if start is None else start
        sentence = text[start : match.end()].rstrip()
        if not _NO_END.search(sentence) or not text[match.end() :].strip():
            sentences.append(sentence)
            start = None
    return sentences


def join_sentences(sentences: list[str], language: Language) -> str:
    """Write sentences as one paragraph."""
    return ("" if language == "zh" else " ").join(sentences)


def count_words(text: str) -> int:
    """Count what stands between spaces."""
    return len(text.split())


def draw_for(item_id: str, change_id: str) -> np.random.Generator:
    """Make the generator for one item and one change: the same in every run."""
    digest = hashlib.sha256(f"{item_id}\0{change_id}".encode(errors="surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest))


@cache
def read_data(name: str) -> Any:
    """Read a file of the package's texts."""
    text = (files("voirdire") / "data" / "probes" / name).read_text(encoding="utf-8")
    return document_from_text(text, source=name, what="the texts of probes").value


def neutral_text(n_characters: int, n_words: int, language: Language) -> str:
    """Write filler that says nothing, of so many characters and words.

    Sentences are put together that add up to both, or miss them by up to two characters and one
    word; where there are none, one long word makes up the rest, or a list of words all of it. Words
    are what stands between spaces; in Chinese only characters count.
    """
    if language == "zh":
        n_words = 0
    stock, ends = _stock(language), _ends(language)
    lines: list[str] = []
    rest, rest_words = n_characters, n_words
    while rest > _MOST_SEARCHED[language]:
        wanted = rest / max(rest_words, 1)
        line = min(stock[len(lines) % len(stock)], key=partial(_miss, wanted))
        lines.append(line)
        rest -= len(line) + (language == "en")
        rest_words -= _words(line, language)
    for more_words, more in _MISSES:
        found = ends.get((rest + more, rest_words + more_words))
        if found is not None:
            return join_sentences([*lines, *found], language)
    if language == "zh":
        return "字" * (n_characters - 1) + "。" * (n_characters > 0)
    for (size, words), found in ends.items():
        if n_words - 2 <= words <= n_words and size < n_characters - 1:
            return f"{join_sentences([*found], language)} {_word_of(n_characters - size - 1)}"
    return _list_words(n_characters, max(n_words, 1)) if n_characters > 0 else ""


def _miss(wanted: float, line: str) -> float:
    """How far a line is from so many characters a word."""
    return abs((len(line) + 1) / count_words(line) - wanted)


def _words(line: str, language: Language) -> int:
    return 0 if language == "zh" else count_words(line)


@cache
def _stock(language: Language) -> tuple[tuple[str, ...], ...]:
    """Return the lines of filler, each with the words that may stand in it."""
    texts = read_data("texts.yaml")["neutral"]
    return tuple(
        tuple(dict.fromkeys(line.format(x=word) for word in texts["x"])) for line in texts[language]
    )


@cache
def _ends(language: Language) -> dict[tuple[int, int], tuple[str, ...]]:
    """Find which numbers of characters and words one line has, or two lines together."""
    space = int(language == "en")
    ends: dict[tuple[int, int], tuple[str, ...]] = {}
    for variants in _stock(language):
        for line in variants:
            ends.setdefault((len(line), _words(line, language)), (line,))
    for first, second in permutations(_stock(language), 2):
        for pair in product(first, second):
            n_characters = sum(map(len, pair)) + space
            ends.setdefault((n_characters, sum(_words(line, language) for line in pair)), pair)
    return ends


def _list_words(n_characters: int, n_words: int) -> str:
    """List words, all about as long."""
    n_letters = n_characters - (n_words - 1)
    length, n_longer = divmod(n_letters, n_words)
    sizes = [length + 1] * n_longer + [length] * (n_words - n_longer)
    return " ".join(map(_word_of, sizes))


def _word_of(size: int) -> str:
    if size <= len(_WORDS_BY_LENGTH):
        return _WORDS_BY_LENGTH[size - 1]
    return ("line-" * size)[:size].rstrip("-").ljust(size, "s")
