"""What a text looks like, whatever it says: lengths, marks, lists, the way it ends."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.characters import CJK, SPACE, WORD, Characters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.tokens import Tokens

__all__ = ["STRUCTURE", "structure_matrix"]

_SORTS = {
    "line": "\n",
    "question": "?？",
    "shout": "!！",
    "stop": ".。",
    "colon": ":：",
    "quote": '"《',
    "bracket": "([（【",
    "star": "*#",
    "comma": ",，、;；",
    "digit": "0123456789",
}

STRUCTURE = (
    "empty",
    "short",
    "length",
    "tokens",
    "sentences",
    "sentence_length",
    "questions",
    "question_share",
    "ends_asking",
    "ends_closed",
    "lines",
    "list_marks",
    "shouts",
    "colons",
    "quotes",
    "brackets",
    "stars",
    "commas",
    "digits",
    "long_numbers",
    "capitals",
    "chinese",
)
"""Names of the columns, in order."""

_SHORT = 15


def structure_matrix(characters: Characters, tokens: Tokens) -> NDArray[np.float64]:
    """Describe the form of each text by numbers of about the size of one.

    Parameters
    ----------
    characters : Characters
        A batch of texts.
    tokens : Tokens
        Its tokens.

    Returns
    -------
    ndarray of float64, shape (n_texts, len(STRUCTURE))
        One column per name in `STRUCTURE`.
    """
    counts = _counts(characters)
    n_tokens = np.diff(tokens.firsts)
    length = np.bincount(characters.text, minlength=characters.n_texts)
    n_sentences = np.maximum(counts["question"] + counts["shout"] + counts["stop"], 1)
    ends_asking, ends_closed = _endings(characters)
    values = {
        "empty": n_tokens == 0,
        "short": n_tokens < _SHORT,
        "length": np.log1p(length) / 8,
        "tokens": np.log1p(n_tokens) / 6,
        "sentences": np.log1p(n_sentences) / 4,
        "sentence_length": np.log1p(n_tokens / n_sentences) / 4,
        "questions": np.log1p(counts["question"]) / 1.5,
        "question_share": 1.5 * counts["question"] / n_sentences,
        "ends_asking": ends_asking,
        "ends_closed": ends_closed,
        "lines": np.log1p(counts["line"]) / 3,
        "list_marks": np.log1p(_list_marks(characters)) / 2,
        "shouts": np.log1p(counts["shout"]) / 2,
        "colons": np.log1p(counts["colon"]) / 3,
        "quotes": np.log1p(counts["quote"]) / 3,
        "brackets": np.log1p(counts["bracket"]) / 3,
        "stars": np.log1p(counts["star"]) / 3,
        "commas": np.log1p(counts["comma"]) / 3,
        "digits": np.log1p(counts["digit"]) / 3,
        "long_numbers": np.log1p(_long_numbers(characters, tokens)),
        "capitals": np.minimum(10 * characters.n_capitals / np.maximum(length, 1), 3),
        "chinese": np.bincount(
            characters.text[characters.kinds == CJK], minlength=characters.n_texts
        )
        > 0.2 * length,
    }
    return np.column_stack([np.asarray(values[name], dtype=np.float64) for name in STRUCTURE])


def _counts(characters: Characters) -> dict[str, NDArray[np.int64]]:
    sorts = _sort_of_code()[np.minimum(characters.codes, 0xFFFF)]
    n_sorts = len(_SORTS) + 1
    keys = characters.text * n_sorts + sorts
    table = np.bincount(keys, minlength=characters.n_texts * n_sorts).reshape(-1, n_sorts)
    return {name: table[:, index] for index, name in enumerate(_SORTS, start=1)}


@cache
def _sort_of_code() -> NDArray[np.uint8]:
    table = np.zeros(0x10000, dtype=np.uint8)
    for index, marks in enumerate(_SORTS.values(), start=1):
        for mark in marks:
            table[ord(mark)] = index
    return table


def _endings(characters: Characters) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the last character, but for space, quotes and brackets, asks or closes."""
    trailing = np.isin(characters.codes, np.array([ord(mark) for mark in "\"')]*）】》_"]))
    solid = np.flatnonzero((characters.kinds != SPACE) & ~trailing)
    last = np.searchsorted(characters.text[solid], np.arange(characters.n_texts), side="right") - 1
    code = np.zeros(characters.n_texts, dtype=np.uint32)
    found = last >= 0
    found[found] = characters.text[solid[last[found]]] == np.flatnonzero(found)
    code[found] = characters.codes[solid[last[found]]]
    closes = np.isin(code, [ord(mark) for mark in ".。!"])
    return np.isin(code, [ord(mark) for mark in "?？"]), closes


def _list_marks(characters: Characters) -> NDArray[np.int64]:
    """Lines that begin with a digit or a bullet."""
    codes = characters.codes
    begins = np.flatnonzero(codes[:-1] == ord("\n")) + 1
    begins = begins[characters.text[begins] == characters.text[begins - 1]]
    digit = (codes[begins] >= ord("0")) & (codes[begins] <= ord("9"))
    bullet = np.isin(codes[begins], [ord(mark) for mark in "-*•·"])
    marks = characters.text[begins[digit | bullet]]
    return np.bincount(marks, minlength=characters.n_texts)


def _long_numbers(characters: Characters, tokens: Tokens) -> NDArray[np.int64]:
    """Numbers of three digits or more: telephones, years, amounts."""
    first = characters.codes[tokens.starts]
    long = (tokens.kinds == WORD) & (tokens.ends - tokens.starts >= 3)
    long &= (first >= ord("0")) & (first <= ord("9"))
    return np.bincount(tokens.text[long], minlength=tokens.n_texts)
