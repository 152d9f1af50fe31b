"""Find the cue phrases of both languages in a batch of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.characters import read_characters
from voirdire.judging.local.cue_words_en import ENGLISH_CUES
from voirdire.judging.local.cue_words_zh import CHINESE_CUES
from voirdire.judging.local.hashing import extend_runs, hash_rows, to_bucket
from voirdire.judging.local.tokens import Tokens, find_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HINTS", "find_hints"]

HINTS = tuple(ENGLISH_CUES)
"""What the phrases hint at, such as `apology`."""

_SIEVE_BITS = 16


@dataclass(frozen=True, kw_only=True)
class _Phrases:
    """All phrases of one length: their hashes in order, and what each hints at."""

    length: int
    hashes: NDArray[np.uint64]
    hints: NDArray[np.int64]
    sieve: NDArray[np.bool_]


def find_hints(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find where phrases stand and what they hint at.

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
