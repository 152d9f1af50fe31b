"""Cuts texts into words, single marks and single CJK characters, and hashes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

T = TypeVar("T", np.int32, np.int64)

MAX_CHARACTERS = 65_536
"""Of a longer text the first three quarters and the last quarter of so many are read."""


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """A batch of texts as arrays: their characters, then their tokens, one text after the other.

    Attributes
    ----------
    n_texts : int
        How many texts there are.
    codes : ndarray of uint32, shape (n_characters,)
        Code points, case and width folded, without invisible ones.
    kinds : ndarray of uint8, shape (n_characters,)
        `SPACE`, `WORD`, `MARK` or `CJK`.
    text : ndarray of int64, shape (n_characters,)
        Which text each character belongs to.
    n_capitals : ndarray of int64, shape (n_texts,)
        Capital letters A to Z per text, before folding.
    hashes : ndarray of uint64, shape (n_tokens,)
        One per token; space is no token.
    owners : ndarray of int64, shape (n_tokens,)
        Which text each token belongs to.
    token_kinds : ndarray of uint8, shape (n_tokens,)
        Kind of its first character.
    starts, ends : ndarray of int64, shape (n_tokens,)
        Its place among the characters.
    firsts : ndarray of int64, shape (n_texts + 1,)
        The tokens of text `i` are ``firsts[i]`` up to ``firsts[i + 1]``.
    """

    n_texts: int
    codes: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    text: NDArray[np.int64]
    n_capitals: NDArray[np.int64]
    hashes: Hashes
    owners: NDArray[np.int64]
    token_kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.int64]


def read_texts(texts: Sequence[str]) -> TextBatch:
    """Fold and cut a batch of texts; any text will do, lone surrogates included."""
    n_last = MAX_CHARACTERS // 4
    texts = [
        text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - n_last] + text[-n_last:]
        for text in texts
    ]
    lengths = np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts))
    raw = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    text = np.repeat(np.arange(len(texts)), lengths)
    n_capitals = np.bincount(text[(raw >= ord("A")) & (raw <= ord("Z"))], minlength=len(texts))
    folded, kind_of = _make_character_tables()
    codes, kinds = folded[raw], kind_of[raw]
    if (kinds == _INVISIBLE).any():
        kept = kinds != _INVISIBLE
        codes, kinds, text = codes[kept], kinds[kept], text[kept]
    # The apostrophe of "can't" is a part of its word.
    at = np.flatnonzero(codes[1:-1] == ord("'")) + 1
    inner = (kinds[at - 1] == WORD) & (kinds[at + 1] == WORD) & (text[at - 1] == text[at + 1])
    kinds[at[inner]] = WORD
    # A run of letters and digits is one token, any other character is one.
    word = kinds == WORD
    opens = np.ones(len(kinds), dtype=np.bool_)
    opens[1:] = ~(word[1:] & word[:-1] & (text[1:] == text[:-1]))
    edges = np.flatnonzero(opens)
    solid = kinds[edges] != SPACE
    starts, ends = edges[solid], np.append(edges[1:], len(kinds))[solid]
    return TextBatch(
        n_texts=len(texts),
        codes=codes,
        kinds=kinds,
        text=text,
        n_capitals=n_capitals,
        hashes=_hash_spans(codes, starts, ends),
        owners=text[starts],
        token_kinds=kinds[starts],
        starts=starts,
        ends=ends,
        firsts=np.searchsorted(text[starts], np.arange(len(texts) + 1)),
    )


# Characters ---------------------------------------------------------------------------------------

SPACE, WORD, _MARK, CJK, _INVISIBLE = 0, 1, 2, 3, 4
"""Kinds of characters. Each mark and each CJK character is one token; what is invisible (joiners,
direction marks, variation selectors) could hide words, and is left out."""

_N_CODES = 0x110000
_LETTERS = 0x0530
"""Code points with case folding: Latin, Greek and Cyrillic are below it."""

_KINDS = (
    (_MARK, "21-2F 3A-40 5B-60 7B-7E A1-BF D7 F7 2010-205F 2190-2BFF 3001-303F FE10-FE6F"),
    (_MARK, "FF01-FF65 1F000-1FAFF"),
    (CJK, "3040-30FF 3400-4DBF 4E00-9FFF AC00-D7AF F900-FAFF 20000-3347F"),
    (SPACE, "0-20 7F-A0 2000-200A 2028-2029 205F 3000 D800-DFFF"),
    (_INVISIBLE, "AD 200B-200F 202A-202E 2060-206F FE00-FE0F FEFF"),
    (WORD, "AA B5 BA FF10-FF19 FF21-FF3A FF41-FF5A"),
)  # fmt: skip
"""Ranges of code points; later ones count, and what is in none of them is part of a word."""

_QUOTES = {"‘": "'", "’": "'", "`": "'", "´": "'", "“": '"', "”": '"', "「": '"', "」": '"'}


@cache
def _make_character_tables() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return, by code point, what it is folded to, and its kind."""
    folded = np.arange(_N_CODES, dtype=np.uint32)
    for code in range(_LETTERS):
        lower = chr(code).lower()
        folded[code] = ord(lower) if len(lower) == 1 else code
    folded[0xFF01:0xFF5F] = np.arange(0x21, 0x7F)
    folded[0xFF21:0xFF3B] = np.arange(0x61, 0x7B)
    folded[0x3000] = 0x20
    for mark, plain in _QUOTES.items():
        folded[ord(mark)] = ord(plain)
    kinds = np.full(_N_CODES, WORD, dtype=np.uint8)
    for kind, ranges in _KINDS:
        for first, _, last in (written.partition("-") for written in ranges.split()):
            kinds[int(first, 16) : int(last or first, 16) + 1] = kind
    return folded, kinds


# Hashes -------------------------------------------------------------------------------------------

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


def scramble(values: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly (the finaliser of MurmurHash3, public domain)."""
    values = (values ^ (values >> _SHIFT)) * _FIRST
    values = (values ^ (values >> _SHIFT)) * _SECOND
    return values ^ (values >> _SHIFT)


def extend_runs(runs: Hashes, units: Hashes) -> Hashes:
    """Append to every run of units the unit behind it, as far as there is one.

    `runs` are hashes of runs of n units from every place, `units` those of single units. What comes
    back is to be scrambled, or passed to `to_bucket`, before use.
    """
    return runs[:-1] * _STEP + units[len(units) - len(runs) + 1 :]


def to_bucket(hashes: Hashes, bits: int) -> NDArray[np.int64]:
    """Map hashes to ``2**bits`` buckets; one more multiplication spreads them."""
    return ((hashes * _FIRST) >> np.uint64(64 - bits)).astype(np.int64)


def sort_distinct(keys: NDArray[T]) -> NDArray[T]:
    """Sort the keys, in their place, and return each once; faster than `numpy.unique`."""
    keys.sort()
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def _hash_spans(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Hashes:
    r"""Hash the span ``codes[start:end]`` for every start and end, by one cumulative sum.

    With :math:`P_i = \sum_{j<i} (c_j + 1) B^j` the hash of a span is :math:`(P_e - P_s) B^{-s}`: it
    does not depend on the place of the span.
    """
    powers, inverses = _make_powers(max(1 << 17, 1 << len(codes).bit_length()))
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[: len(codes)], out=sums[1:])
    return scramble((sums[ends] - sums[starts]) * inverses[starts])


@lru_cache(maxsize=4)
def _make_powers(size: int) -> tuple[Hashes, Hashes]:
    """Return the powers of the base, and those of its inverse."""
    factors = np.repeat(np.array([[_BASE], [_INVERSE]], dtype=np.uint64), size, axis=1)
    factors[:, 0] = 1
    powers, inverses = np.multiply.accumulate(factors, axis=1)
    return powers, inverses
