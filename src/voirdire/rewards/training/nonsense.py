"""Find nonsense among responses by rules that are cheap enough for every completion.

They stand beside the gate: it finds nearly all shuffled English, which these rules find two thirds
of, but many a reward has no gate, and it takes what it was not made for, such as Spanish, for words
in no order. An alarm on every Spanish response would be worth less than none.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire.judging.local.features import cue_phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

NonsenseKind: TypeAlias = Literal["empty", "echoed", "repeated", "strung", "shuffled"]
"""Kinds of nonsense: no letter and no digit; a copy of the prompt; the same words again and again;
stock phrases in a row without sentences; words in no order."""

_LETTER = re.compile(r"[^\W_]")
_WORD = re.compile(r"[\w']+")
"""A word; in Chinese, which has no spaces, a clause."""
_MARKS = ",.;:!?…\n，。；：！？、"
_MARK = re.compile(f"[{_MARKS}]")
_SENTENCE_END = re.compile(r"[.!?…]+['\")\]]*(?=\s+[^\sa-z]|\s*$)|[。！？\n]")

_ECHO, _FEWEST_ECHOED = 0.8, 12
_DISTINCT_TRIGRAMS, _FEWEST_TRIGRAMS = 0.55, 8
_GUIRAUD, _FEWEST_WORDS = 2.0, 8
_COMPRESSION, _LONG_WORD = 4.0, 20
_PIECE_WORDS, _FEWEST_PIECES, _SENTENCE_PIECES, _STOCK = 2.5, 4, 3, 0.5
_MISPLACED, _FEWEST_MISPLACED = 0.015, 2

_NO_NOUNS = frozenset(
    {"of", "and", "to", "is", "are", "or", "be", "was", "were", "have", "has", "if", "but", "for",
     "with", "by", "as", "at", "on", "in", "you", "they", "i"}
)  # fmt: skip
_NOT_AFTER_ARTICLES = _NO_NOUNS | {
    "the", "a", "an", "your", "their", "my", "our", "we", "he", "she", "that", "this", "these",
    "those", "because", "from", "into", "than", "should", "would", "could", "can't", "i'm", "it's",
}  # fmt: skip
_CANNOT_FOLLOW = {"of": _NO_NOUNS} | dict.fromkeys(
    ("the", "an", "your", "their", "its", "my", "our"), _NOT_AFTER_ARTICLES
)
"""Words that cannot follow an English word; "a" is left out, since it is also a letter."""


def find_nonsense(response: str, prompt: str = "") -> NonsenseKind | None:
    """Tell whether a response is nonsense by its form alone, in English or Chinese.

    Parameters
    ----------
    response : str
        What was answered.
    prompt : str, optional
        The last text of the user.

    Returns
    -------
    {"empty", "echoed", "repeated", "strung", "shuffled"} or None
        The first that applies; None where none does.

    Notes
    -----
    ``empty``: no letter and no digit. ``echoed``: of 12 characters or more, and the prompt but for
    a fifth of it at most. ``repeated``: fewer than 55 % of the word trigrams are distinct (as the
    filters of [1]_ count repeated n-grams); or there are fewer distinct words than 2 √n of n ≥ 8
    (Guiraud's index [2]_), or than n / 3 of fewer; or, where words are long, as in text without
    spaces, zlib makes it four times shorter. ``strung``: four pieces or more between marks, of 2.5
    words or fewer in the mean, and half of them are of words that a safety judge looks for.
    ``shuffled``: of the English words, 1.5 % and two at least cannot follow the one before, such as
    "the of". The time is linear in the length.

    The rules do not find well-formed sentences that say nothing, such as stock sentences in a row;
    of shuffled words they find one in two English responses, and none in Chinese. They do find
    what is the right answer to some prompts: an echo that was asked for, and code or a list of
    links whose words repeat (one in seventy paragraphs of technical documentation).

    References
    ----------
    .. [1] Rae et al., "Scaling Language Models: Methods, Analysis & Insights from Training
       Gopher", 2021, table A1. :arxiv:`2112.11446`
    .. [2] Guiraud, "Les caractères statistiques du vocabulaire", 1954.

    Examples
    --------
    >>> find_nonsense("sorry, can't sorry, mine? not")
    'strung'
    >>> find_nonsense("I'm sorry. " * 12)
    'repeated'
    >>> find_nonsense("I'm sorry, I can't help with that.") is None
    True
    """
    if _LETTER.search(response) is None:
        return "empty"
    text = response.lower().replace("’", "'")
    words = _WORD.findall(text)
    if _is_echo(response, prompt):
        return "echoed"
    if _is_repeated(words, text):
        return "repeated"
    if _is_strung(words, text, n_sentences=len(_SENTENCE_END.findall(response))):
        return "strung"
    n_misplaced = sum(other in _CANNOT_FOLLOW.get(one, ()) for one, other in pairwise(words))
    is_shuffled = n_misplaced >= max(_FEWEST_MISPLACED, _MISPLACED * len(words))
    return "shuffled" if is_shuffled else None


def _is_echo(response: str, prompt: str) -> bool:
    n_response, n_prompt = len(response), len(prompt)
    if min(n_response, n_prompt) < max(_FEWEST_ECHOED, _ECHO * max(n_response, n_prompt)):
        return False
    one, other = (" ".join(_WORD.findall(text.lower())) for text in (response, prompt))
    return one in other or other in one


def _is_repeated(words: Sequence[str], text: str) -> bool:
    n, n_distinct = len(words), len(set(words))
    if n_distinct < _GUIRAUD * sqrt(n) if n >= _FEWEST_WORDS else n >= 4 and n_distinct * 3 <= n:
        return True
    n_trigrams = n - 2
    if n_trigrams >= _FEWEST_TRIGRAMS:
        n_distinct = len(set(zip(words, words[1:], words[2:], strict=False)))
        if n_distinct < _DISTINCT_TRIGRAMS * n_trigrams:
            return True
    if len(text) < _LONG_WORD * n:
        return False
    letters = "".join(words).encode("utf-8", "surrogatepass")
    return len(letters) > _COMPRESSION * len(zlib.compress(letters, 1))


def _is_strung(words: Sequence[str], text: str, *, n_sentences: int) -> bool:
    if len(words) > _PIECE_WORDS * (sum(map(text.count, _MARKS)) + 1):
        return False  # decides quickly for most English texts
    stock = _list_stock_words()
    if sum(map(stock.__contains__, words)) * _PIECE_WORDS < _STOCK * len(words):
        return False  # decides quickly for most Chinese texts
    pieces = [
        words_of_piece for piece in _MARK.split(text) if (words_of_piece := _WORD.findall(piece))
    ]
    if len(pieces) < max(_FEWEST_PIECES, _SENTENCE_PIECES * n_sentences + 1):
        return False  # a curt answer, such as "No. Sorry. I can't."
    if len(words) > _PIECE_WORDS * len(pieces):
        return False
    return sum(map(stock.issuperset, pieces)) >= _STOCK * len(pieces)


@cache
def _list_stock_words() -> frozenset[str]:
    """List the words of English phrases, and whole Chinese phrases, which have no spaces."""
    english = (word for phrase in cue_phrases("en") for word in phrase.split())
    return frozenset(english) | frozenset(cue_phrases("zh"))
