"""Computes cheap cues of a batch of items (hints, form, overlap) as one small matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cue_words_en import ENGLISH_CUES
from voirdire.judging.local.cue_words_zh import CHINESE_CUES
from voirdire.judging.local.tokens import (
    CJK,
    SPACE,
    WORD,
    Characters,
    Tokens,
    extend_runs,
    find_tokens,
    hash_rows,
    read_characters,
    to_bucket,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import Language
    from voirdire.judging.local.tokens import Characters, Tokens

__all__ = [
    "CUES",
    "CUE_SETS",
    "HINTS",
    "OVERLAP",
    "STRUCTURE",
    "compute_cues",
    "compute_overlap",
    "compute_structure",
    "cue_phrases",
    "find_hints",
]

# Phrases ------------------------------------------------------------------------------------------

HINTS = tuple(ENGLISH_CUES)
"""What the phrases hint at, such as `apology`."""

_SIEVE_BITS = 16


@dataclass(frozen=True, kw_only=True)
class _Phrases:
    """All phrases of one length: their hashes in order, and the hint of each."""

    length: int
    hashes: NDArray[np.uint64]
    hints: NDArray[np.int64]
    sieve: NDArray[np.bool_]


def cue_phrases(language: Language) -> tuple[str, ...]:
    """Return every phrase of one language, once."""
    told = CHINESE_CUES if language == "zh" else ENGLISH_CUES
    between = "，" if language == "zh" else ", "
    phrases = (phrase for text in told.values() for phrase in text.split(between))
    return tuple(dict.fromkeys(filter(None, phrases)))


def find_hints(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find phrases in the tokens, with their hints.

    Parameters
    ----------
    tokens : Tokens
        A batch of texts.

    Returns
    -------
    places : ndarray of int64, shape (n_found,)
        Index of the first token of each phrase found.
    hints : ndarray of int64, shape (n_found,)
        Index into `HINTS`; a phrase may hint at several, and is then found as often.
    """
    places, hints = [], []
    runs = tokens.hashes
    length = 1
    for phrases in _lexicon():
        while length < phrases.length:
            length += 1
            runs = extend_runs(runs, tokens.hashes, length)
        found, hint = _matches(runs, phrases)
        inside = tokens.text[found] == tokens.text[found + phrases.length - 1]
        places.append(found[inside])
        hints.append(hint[inside])
    return np.concatenate(places), np.concatenate(hints)


def _matches(
    runs: NDArray[np.uint64], phrases: _Phrases
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    likely = np.flatnonzero(phrases.sieve[to_bucket(runs, _SIEVE_BITS)])
    low = np.searchsorted(phrases.hashes, runs[likely], side="left")
    high = np.searchsorted(phrases.hashes, runs[likely], side="right")
    n_hints = high - low
    total = int(n_hints.sum())
    offset = np.arange(total) - np.repeat(np.cumsum(n_hints) - n_hints, n_hints)
    return np.repeat(likely, n_hints), phrases.hints[np.repeat(low, n_hints) + offset]


@cache
def _lexicon() -> tuple[_Phrases, ...]:
    texts, hints = [], []
    for index, name in enumerate(HINTS):
        phrases = [*ENGLISH_CUES[name].split(", "), *CHINESE_CUES[name].split("，")]
        texts += [phrase for phrase in phrases if phrase]
        hints += [index] * sum(bool(phrase) for phrase in phrases)
    tokens = find_tokens(read_characters(texts))
    lengths = np.diff(tokens.firsts)
    hint_of = np.array(hints)
    return tuple(
        _phrases_of(tokens, np.flatnonzero(lengths == length), hint_of, int(length))
        for length in np.unique(lengths)
    )


def _phrases_of(
    tokens: Tokens, which: NDArray[np.int64], hint_of: NDArray[np.int64], length: int
) -> _Phrases:
    runs = hash_rows(tokens.hashes[tokens.firsts[which][:, None] + np.arange(length)])
    order = np.argsort(runs, kind="stable")
    hashes = runs[order]
    sieve = np.zeros(1 << _SIEVE_BITS, dtype=np.bool_)
    sieve[to_bucket(hashes, _SIEVE_BITS)] = True
    return _Phrases(length=length, hashes=hashes, hints=hint_of[which][order], sieve=sieve)


# Form ---------------------------------------------------------------------------------------------

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


def compute_structure(characters: Characters, tokens: Tokens) -> NDArray[np.float64]:
    """Describe the form of each text by numbers of about size one.

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
    """Whether a text ends with a question mark, or with a full stop, ignoring quotes."""
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
    """Count lines that begin with a digit or a bullet."""
    codes = characters.codes
    begins = np.flatnonzero(codes[:-1] == ord("\n")) + 1
    begins = begins[characters.text[begins] == characters.text[begins - 1]]
    digit = (codes[begins] >= ord("0")) & (codes[begins] <= ord("9"))
    bullet = np.isin(codes[begins], [ord(mark) for mark in "-*•·"])
    marks = characters.text[begins[digit | bullet]]
    return np.bincount(marks, minlength=characters.n_texts)


def _long_numbers(characters: Characters, tokens: Tokens) -> NDArray[np.int64]:
    """Count numbers of three digits or more: telephones, years, amounts."""
    first = characters.codes[tokens.starts]
    long = (tokens.kinds == WORD) & (tokens.ends - tokens.starts >= 3)
    long &= (first >= ord("0")) & (first <= ord("9"))
    return np.bincount(tokens.text[long], minlength=tokens.n_texts)


# Overlap ------------------------------------------------------------------------------------------

OVERLAP = ("response_in_prompt", "prompt_in_response", "opening_in_prompt")
"""Shares of distinct longer words (pairs of CJK characters) that the other text has too."""

_OPENING = 25
_SHORTEST = 4
_BITS = 32


def compute_overlap(response: Tokens, prompt: Tokens) -> NDArray[np.float64]:
    """Measure the common words of responses and prompts.

    Parameters
    ----------
    response, prompt : Tokens
        The same number of texts, pairwise.

    Returns
    -------
    ndarray of float64, shape (n_texts, len(OVERLAP))
        Shares in [0, 1]; 0 where a text has no such word.
    """
    place = np.arange(len(response.hashes)) - response.firsts[response.text]
    whole = _content(response, np.ones(len(place), dtype=np.bool_))
    opening = _content(response, place < _OPENING)
    asked = _content(prompt, np.ones(len(prompt.hashes), dtype=np.bool_))
    pairs = ((whole, asked), (asked, whole), (opening, asked))
    return np.column_stack([_shares(of, among, response.n_texts) for of, among in pairs])


def _content(tokens: Tokens, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return distinct (text, word) keys, sorted."""
    word = wanted & (tokens.kinds == WORD) & (tokens.ends - tokens.starts >= _SHORTEST)
    cjk = wanted & (tokens.kinds == CJK)
    pair = cjk[:-1] & cjk[1:] & (tokens.text[:-1] == tokens.text[1:])
    pairs = extend_runs(tokens.hashes, tokens.hashes, 2)[pair]
    hashes = np.concatenate([tokens.hashes[word], pairs])
    text = np.concatenate([tokens.text[word], tokens.text[:-1][pair]])
    keys: NDArray[np.int64] = (text << _BITS) | to_bucket(hashes, _BITS)
    keys.sort()
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def _shares(of: NDArray[np.int64], among: NDArray[np.int64], n_texts: int) -> NDArray[np.float64]:
    found = np.zeros(len(of), dtype=np.bool_)
    if len(among):
        near = np.minimum(np.searchsorted(among, of), len(among) - 1)
        found = among[near] == of
    owner = of >> _BITS
    n_found = np.bincount(owner[found], minlength=n_texts)
    return n_found / np.maximum(np.bincount(owner, minlength=n_texts), 1)


# The cues of a batch ------------------------------------------------------------------------------

_FORMS = ("any", "many", "early", "late", "dense")
_EARLY, _LATE = 20, 30

CUES = (
    *(f"{form}:{hint}" for form in _FORMS for hint in HINTS),
    *(f"form:{name}" for name in STRUCTURE),
    *(f"overlap:{name}" for name in OVERLAP),
    *(f"prompt:{hint}" for hint in HINTS),
    *(f"prompt:{name}" for name in ("length", "questions", "chinese")),
)
"""Names of the columns, in order."""

_STARTS = {name: index for index, name in reversed(list(enumerate(CUES)))}
CUE_SETS = {
    "presence": slice(0, len(HINTS)),
    "placing": slice(len(HINTS), len(_FORMS) * len(HINTS)),
    "form": slice(len(_FORMS) * len(HINTS), _STARTS[f"prompt:{HINTS[0]}"]),
    "prompt": slice(_STARTS[f"prompt:{HINTS[0]}"], len(CUES)),
}
"""Groups of columns: hints, their places and counts, form, overlap, and the prompt's."""


def compute_cues(
    response: tuple[Characters, Tokens], prompt: tuple[Characters, Tokens]
) -> NDArray[np.float64]:
    """Describe items by their cues.

    Parameters
    ----------
    response, prompt : tuple of Characters and Tokens
        A batch of responses, and the user's last texts before them.

    Returns
    -------
    ndarray of float64, shape (n_items, len(CUES))
        Mostly zeros; values are about the size of one.
    """
    form = compute_structure(*response)
    asked = compute_structure(*prompt)
    names = [STRUCTURE.index(name) for name in ("length", "questions", "chinese")]
    return np.hstack(
        [
            _hints(response[1]),
            form,
            compute_overlap(response[1], prompt[1]),
            np.minimum(_count(prompt[1], *_place_hints(prompt[1])[1:]), 1),
            asked[:, names],
        ]
    )


def _hints(tokens: Tokens) -> NDArray[np.float64]:
    place, text, hint = _place_hints(tokens)
    after = tokens.firsts[text + 1] - (tokens.firsts[text] + place)
    early, late = place < _EARLY, after <= _LATE
    counts = _count(tokens, text, hint)
    n_tokens = np.maximum(np.diff(tokens.firsts), 1)[:, None]
    return np.hstack(
        [
            np.minimum(counts, 1),
            np.log1p(counts) / 2,
            np.minimum(_count(tokens, text[early], hint[early]), 1),
            np.minimum(_count(tokens, text[late], hint[late]), 1),
            np.minimum(20 * counts / n_tokens, 2),
        ]
    )


def _place_hints(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each phrase found: its place within its text, its text, and its hint."""
    hints, hint = find_hints(tokens)
    text = tokens.text[hints]
    return hints - tokens.firsts[text], text, hint


def _count(tokens: Tokens, text: NDArray[np.int64], hint: NDArray[np.int64]) -> NDArray[np.float64]:
    n_hints = len(HINTS)
    counts = np.bincount(text * n_hints + hint, minlength=tokens.n_texts * n_hints)
    return counts.reshape(tokens.n_texts, n_hints).astype(np.float64)
