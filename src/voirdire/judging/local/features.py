"""Computes the features of items: hashed n-grams, and cues, which are hints, form and overlap.

Hints are words and phrases of the package's data, in English and Chinese. Training weighs all
features; none of them decides anything alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.tokens import (
    CJK,
    SPACE,
    WORD,
    TextBatch,
    extend_runs,
    read_texts,
    scramble,
    sort_distinct,
    to_bucket,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Language
    from voirdire.records import Item

    _Phrases = tuple[int, NDArray[np.bool_], NDArray[np.uint64], NDArray[np.int64]]
    """Phrases of one length: their tokens, a sieve, their hashes in order, and the hint of each."""

FEATURES_VERSION = 1
"""Version of the features.

A change of their meaning, which makes older weights useless, increases it.
"""

_BATCH_ITEMS = 64
_BATCH_CHARACTERS = 131_072
_PROMPT_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class Features:
    """Features of a batch of items.

    Attributes
    ----------
    ngrams : scipy.sparse.csr_matrix of float32, shape (n_items, N_COLUMNS)
        Hashed n-grams of the response.
    cues : ndarray of float64, shape (n_items, N_CUES)
        Cues of the response and of the prompt.
    """

    ngrams: sparse.csr_matrix
    cues: NDArray[np.float64]

    @property
    def chinese(self) -> NDArray[np.bool_]:
        """Which responses are in Chinese: more than a fifth CJK characters."""
        return np.asarray(self.cues[:, _CHINESE] > 0)


def describe_items(items: Sequence[Item]) -> Iterator[Features]:
    """Compute the features of items, in batches that fit the processor's cache.

    A batch has at most 64 items, and about 130,000 characters unless one item alone has more; it
    takes about 300 bytes a character. A row does not depend on the others.
    """
    start = n_characters = 0
    for end in range(1, len(items) + 1):
        n_characters += len(items[end - 1].response)
        fits = end < len(items) and end - start < _BATCH_ITEMS
        if fits and n_characters + len(items[end].response) <= _BATCH_CHARACTERS:
            continue
        batch = items[start:end]
        responses = read_texts([item.response for item in batch])
        asked = []  # the last text of the user, or the last message where there is no user
        for item in batch:
            ordered = sorted(item.prompt, key=lambda message: message.role == "user")
            asked.append(ordered[-1].content[-_PROMPT_CHARACTERS:] if ordered else "")
        prompts = read_texts(asked)
        yield Features(ngrams=compute_ngrams(responses), cues=_compute_cues(responses, prompts))
        start, n_characters = end, 0


# n-grams ------------------------------------------------------------------------------------------

_BITS = {"words_1": 15, "words_2": 16, "words_3": 16, "characters": 16}
_EDGES = (0, *accumulate(1 << bits for bits in _BITS.values()))

N_COLUMNS = _EDGES[-1]
BLOCKS = {name: slice(*edges) for name, edges in zip(_BITS, pairwise(_EDGES), strict=True)}
"""Columns of each block: runs of one to three tokens; runs of two to five characters."""

_SPACE_CODE = np.uint32(0x20)


def compute_ngrams(batch: TextBatch) -> sparse.csr_matrix:
    """Mark which hashed n-grams each text has, without counts.

    Parameters
    ----------
    batch : TextBatch
        The texts.

    Returns
    -------
    scipy.sparse.csr_matrix of float32, shape (n_texts, N_COLUMNS)
        Each row has length one in every block in which it has an n-gram.
    """
    # every character is a unit, and a run of space is one space
    space = batch.kinds == SPACE
    kept = np.ones(len(space), dtype=np.bool_)
    kept[1:] = ~(space[1:] & space[:-1] & (batch.text[1:] == batch.text[:-1]))
    codes = np.where(space[kept], _SPACE_CODE, batch.codes[kept])
    units = scramble(codes.astype(np.uint64) + np.uint64(1))
    keys = np.concatenate(
        [
            *_number_runs(batch.hashes, batch.owners, ("words_1", "words_2", "words_3")),
            *_number_runs(units, batch.text[kept], ("", *["characters"] * 4)),
        ]
    )
    # Sorting is most of the work, and twice as fast on half as many bytes.
    if batch.n_texts * N_COLUMNS <= np.iinfo(np.int32).max:
        keys = keys.astype(np.int32)
    keys = sort_distinct(keys)
    edges = np.arange(batch.n_texts)[:, None] * N_COLUMNS + np.array(_EDGES)
    bounds = np.searchsorted(keys, edges)
    counts = np.diff(bounds, axis=1)
    lengths = np.sqrt(np.maximum(counts, 1), dtype=np.float32)
    return sparse.csr_matrix(
        (
            np.repeat((1 / lengths).ravel(), counts.ravel()),
            (keys % N_COLUMNS).astype(np.int32),
            np.append(bounds[:, 0], len(keys)).astype(np.int32),
        ),
        shape=(batch.n_texts, N_COLUMNS),
    )


def _number_runs(
    units: NDArray[np.uint64], text: NDArray[np.int64], blocks: Sequence[str]
) -> Iterator[NDArray[np.int64]]:
    """Return a number for each pair of a text and a run; `blocks` names a block by length."""
    runs = units
    for length, name in enumerate(blocks, start=1):
        if length > 1:
            runs = extend_runs(runs, units)
        if name:
            within = text[: len(runs)] == text[length - 1 :]
            columns = to_bucket(runs[within], _BITS[name]) + BLOCKS[name].start
            yield text[: len(runs)][within] * N_COLUMNS + columns


# Cues ---------------------------------------------------------------------------------------------

_PHRASES: dict[str, dict[Language, list[str]]] = json.loads(
    (files("voirdire") / "data" / "local_judge" / "cue_phrases.json").read_text(encoding="utf-8")
)
_HINTS = tuple(_PHRASES)
"""What the phrases hint at, such as `apology`; a column of every kind of hint for each."""

_FORM = (
    "empty", "short", "length", "tokens", "sentences", "sentence_length", "questions",
    "question_share", "ends_asking", "ends_closed", "lines", "list_marks", "shouts", "colons",
    "quotes", "brackets", "stars", "commas", "digits", "long_numbers", "capitals", "chinese",
)  # fmt: skip
_FORM_OF_PROMPT = [_FORM.index(name) for name in ("length", "questions", "chinese")]
_N_OVERLAPS = 3
_N_PLACED = 5 * len(_HINTS)  # any, many, early, late, dense
_N_OF_RESPONSE = _N_PLACED + len(_FORM) + _N_OVERLAPS

CUE_SETS = {
    "presence": slice(0, len(_HINTS)),
    "placing": slice(len(_HINTS), _N_PLACED),
    "form": slice(_N_PLACED, _N_OF_RESPONSE),
}
"""Groups of columns: hints, their places and counts, and form with overlap. The prompt's follow."""

N_CUES = _N_OF_RESPONSE + len(_HINTS) + len(_FORM_OF_PROMPT)
_CHINESE = _N_PLACED + _FORM.index("chinese")
"""The column that is 1 where more than a fifth of the response is CJK characters, else 0."""

_EARLY, _LATE = 20, 30


def _compute_cues(response: TextBatch, prompt: TextBatch) -> NDArray[np.float64]:
    """Describe items by their cues.

    Parameters
    ----------
    response, prompt : TextBatch
        A batch of responses, and the user's last texts before them.

    Returns
    -------
    ndarray of float64, shape (n_items, N_CUES)
        Mostly zeros; values are about the size of one.
    """
    place, hint = _find_hints(response)
    text = response.owners[place]
    early = place - response.firsts[text] < _EARLY
    late = response.firsts[text + 1] - place <= _LATE
    counts = _count_hints(response, text, hint)
    place_in_prompt, hint_in_prompt = _find_hints(prompt)
    in_prompt = _count_hints(prompt, prompt.owners[place_in_prompt], hint_in_prompt)
    return np.hstack(
        [
            np.minimum(counts, 1),
            np.log1p(counts) / 2,
            np.minimum(_count_hints(response, text[early], hint[early]), 1),
            np.minimum(_count_hints(response, text[late], hint[late]), 1),
            np.minimum(20 * counts / np.maximum(np.diff(response.firsts), 1)[:, None], 2),
            _measure_form(response),
            _measure_overlap(response, prompt),
            np.minimum(in_prompt, 1),
            _measure_form(prompt)[:, _FORM_OF_PROMPT],
        ]
    )


# Hints --------------------------------------------------------------------------------------------

_SIEVE_BITS = 16


def cue_phrases(language: Language) -> tuple[str, ...]:
    """Return every phrase of one language, once."""
    lists = [phrases[language] for phrases in _PHRASES.values()]
    return tuple(dict.fromkeys(phrase for phrases in lists for phrase in phrases))


def _find_hints(batch: TextBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find phrases in texts.

    Parameters
    ----------
    batch : TextBatch
        The texts.

    Returns
    -------
    places : ndarray of int64, shape (n_found,)
        Index of the first token of each phrase found.
    hints : ndarray of int64, shape (n_found,)
        Index into `_HINTS`; a phrase may hint at several, and is then found as often.
    """
    all_places, all_hints = [], []
    runs, length = batch.hashes, 1
    for n_tokens, sieve, hashes, hint_of in _make_lexicon():
        while length < n_tokens:
            runs, length = extend_runs(runs, batch.hashes), length + 1
        likely = np.flatnonzero(sieve[to_bucket(runs, _SIEVE_BITS)])
        low = np.searchsorted(hashes, runs[likely], side="left")
        n_hints = np.searchsorted(hashes, runs[likely], side="right") - low
        offset = np.arange(n_hints.sum()) - np.repeat(np.cumsum(n_hints) - n_hints, n_hints)
        hints = hint_of[np.repeat(low, n_hints) + offset]
        places = np.repeat(likely, n_hints)
        within = batch.owners[places] == batch.owners[places + n_tokens - 1]
        all_places.append(places[within])
        all_hints.append(hints[within])
    return np.concatenate(all_places), np.concatenate(all_hints)


@cache
def _make_lexicon() -> list[_Phrases]:
    pairs = [
        (text, hint)
        for hint, phrases in enumerate(_PHRASES.values())
        for text in (*phrases["en"], *phrases["zh"])
    ]
    batch = read_texts([text for text, _ in pairs])
    hint_of = np.array([hint for _, hint in pairs])
    lengths = np.diff(batch.firsts)
    runs, lexicon = batch.hashes, []
    for length in range(1, int(lengths.max()) + 1):
        which = np.flatnonzero(lengths == length)
        hashes = runs[batch.firsts[which]]
        order = np.argsort(hashes, kind="stable")
        sieve = np.zeros(1 << _SIEVE_BITS, dtype=np.bool_)
        sieve[to_bucket(hashes, _SIEVE_BITS)] = True
        lexicon.append((length, sieve, hashes[order], hint_of[which][order]))
        runs = extend_runs(runs, batch.hashes)
    return lexicon


def _count_hints(
    batch: TextBatch, text: NDArray[np.int64], hint: NDArray[np.int64]
) -> NDArray[np.float64]:
    counts = np.bincount(text * len(_HINTS) + hint, minlength=batch.n_texts * len(_HINTS))
    return counts.reshape(batch.n_texts, len(_HINTS)).astype(np.float64)


# Form ---------------------------------------------------------------------------------------------

_COUNTED = {
    "lines": ("\n", 3), "questions": ("?？", 1.5), "shouts": ("!！", 2), "stops": (".。", 1),
    "colons": (":：", 3), "quotes": ('"《', 3), "brackets": ("([（【", 3), "stars": ("*#", 3),
    "commas": (",，、;；", 3), "digits": ("0123456789", 3),
}  # fmt: skip
"""Characters that are counted, and what the logarithm of their number is divided by."""

_SHORT = 15


def _measure_form(batch: TextBatch) -> NDArray[np.float64]:
    """Describe the form of each text by numbers of about size one, shape (n_texts, len(_FORM))."""
    codes, n_texts = batch.codes, batch.n_texts
    keys = batch.text * (len(_COUNTED) + 1) + _number_counted()[np.minimum(codes, 0xFFFF)]
    table = np.bincount(keys, minlength=n_texts * (len(_COUNTED) + 1)).reshape(n_texts, -1)
    counts = dict(zip(_COUNTED, table.T[1:], strict=True))
    n_tokens = np.diff(batch.firsts)
    length = np.bincount(batch.text, minlength=n_texts)
    n_sentences = np.maximum(counts["questions"] + counts["shouts"] + counts["stops"], 1)
    # the last character of each text, except for space, quotes and brackets; 0 where there is none
    trailing = np.isin(codes, np.array([ord(mark) for mark in "\"')]*）】》_"]))
    solid = np.flatnonzero((batch.kinds != SPACE) & ~trailing)
    at = np.searchsorted(batch.text[solid], np.arange(n_texts), side="right") - 1
    has_last = at >= 0
    has_last[has_last] = batch.text[solid[at[has_last]]] == np.flatnonzero(has_last)
    last = np.zeros(n_texts, dtype=np.uint32)
    last[has_last] = codes[solid[at[has_last]]]
    # lines that begin with a digit or a bullet
    begins = np.flatnonzero(codes[:-1] == ord("\n")) + 1
    begins = begins[batch.text[begins] == batch.text[begins - 1]]
    listed = _is_digit(codes[begins]) | np.isin(codes[begins], [ord(mark) for mark in "-*•·"])
    # numbers of three digits or more: telephones, years, amounts
    long = (batch.token_kinds == WORD) & (batch.ends - batch.starts >= 3)
    long &= _is_digit(codes[batch.starts])
    chinese = np.bincount(batch.text[batch.kinds == CJK], minlength=n_texts)
    values = {name: np.log1p(counts[name]) / size for name, (_, size) in _COUNTED.items()} | {
        "empty": n_tokens == 0,
        "short": n_tokens < _SHORT,
        "length": np.log1p(length) / 8,
        "tokens": np.log1p(n_tokens) / 6,
        "sentences": np.log1p(n_sentences) / 4,
        "sentence_length": np.log1p(n_tokens / n_sentences) / 4,
        "question_share": 1.5 * counts["questions"] / n_sentences,
        "ends_asking": np.isin(last, [ord(mark) for mark in "?？"]),
        "ends_closed": np.isin(last, [ord(mark) for mark in ".。!"]),
        "list_marks": np.log1p(np.bincount(batch.text[begins[listed]], minlength=n_texts)) / 2,
        "long_numbers": np.log1p(np.bincount(batch.owners[long], minlength=n_texts)),
        "capitals": np.minimum(10 * batch.n_capitals / np.maximum(length, 1), 3),
        "chinese": chinese > 0.2 * length,
    }
    return np.column_stack([np.asarray(values[name], dtype=np.float64) for name in _FORM])


def _is_digit(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    return np.asarray((codes >= ord("0")) & (codes <= ord("9")))


@cache
def _number_counted() -> NDArray[np.uint8]:
    """Return, by code point, which of the counted characters it is, from 1; 0 for none."""
    table = np.zeros(0x10000, dtype=np.uint8)
    for number, (marks, _) in enumerate(_COUNTED.values(), start=1):
        table[[ord(mark) for mark in marks]] = number
    return table


# Overlap ------------------------------------------------------------------------------------------

_OPENING = 25
_SHORTEST = 4
_WORD_BITS = 32


def _measure_overlap(response: TextBatch, prompt: TextBatch) -> NDArray[np.float64]:
    """Return what share of distinct longer words (pairs of CJK characters) the other text has too.

    Of the response in the prompt, of the prompt in the response, and of the opening of the response
    in the prompt: shape (n_texts, 3), in [0, 1]; 0 where a text has no such word.
    """
    place = np.arange(len(response.hashes)) - response.firsts[response.owners]
    whole = _find_content(response, np.ones(len(place), dtype=np.bool_))
    opening = _find_content(response, place < _OPENING)
    asked = _find_content(prompt, np.ones(len(prompt.hashes), dtype=np.bool_))
    columns = []
    for words, others in ((whole, asked), (asked, whole), (opening, asked)):
        shared = np.zeros(len(words), dtype=np.bool_)
        if len(others):
            near = np.minimum(np.searchsorted(others, words), len(others) - 1)
            shared = others[near] == words
        text = words >> _WORD_BITS
        n_shared = np.bincount(text[shared], minlength=response.n_texts)
        columns.append(n_shared / np.maximum(np.bincount(text, minlength=response.n_texts), 1))
    return np.column_stack(columns)


def _find_content(batch: TextBatch, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a number for each distinct pair of a text and a longer word, sorted."""
    long = batch.ends - batch.starts >= _SHORTEST
    word = wanted & (batch.token_kinds == WORD) & long
    cjk = wanted & (batch.token_kinds == CJK)
    pair = cjk[:-1] & cjk[1:] & (batch.owners[:-1] == batch.owners[1:])
    hashes = [batch.hashes[word], extend_runs(batch.hashes, batch.hashes)[pair]]
    text = np.concatenate([batch.owners[word], batch.owners[:-1][pair]])
    keys: NDArray[np.int64] = (text << _WORD_BITS) | to_bucket(np.concatenate(hashes), _WORD_BITS)
    return sort_distinct(keys)
