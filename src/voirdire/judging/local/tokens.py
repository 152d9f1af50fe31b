"""Splits texts into words, single marks and single CJK characters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

__all__ = [
    "CJK",
    "MARK",
    "MAX_CHARACTERS",
    "SPACE",
    "WORD",
    "Characters",
    "Tokens",
    "extend_runs",
    "find_tokens",
    "hash_rows",
    "hash_spans",
    "read_characters",
    "scramble",
    "to_bucket",
]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The tokens of a batch of texts, one after the other.

    Attributes
    ----------
    n_texts : int
        How many texts there are.
    hashes : ndarray of uint64, shape (n_tokens,)
        One per token.
    text : ndarray of int64, shape (n_tokens,)
        Which text each belongs to.
    kinds : ndarray of uint8, shape (n_tokens,)
        Kind of its first character.
    starts, ends : ndarray of int64, shape (n_tokens,)
        Its place among the characters.
    firsts : ndarray of int64, shape (n_texts + 1,)
        The tokens of text `i` are ``firsts[i]`` up to ``firsts[i + 1]``.
    """

    n_texts: int
    hashes: NDArray[np.uint64]
    text: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.int64]


def find_tokens(characters: Characters) -> Tokens:
    """Cut texts into tokens.

    Parameters
    ----------
    characters : Characters
        A batch of texts.

    Returns
    -------
    Tokens
        In order, without space.
    """
    kinds, text = characters.kinds, characters.text
    word = kinds == WORD
    opens = np.ones(len(kinds), dtype=np.bool_)
    opens[1:] = ~(word[1:] & word[:-1] & (text[1:] == text[:-1]))
    edges = np.flatnonzero(opens)
    ends = np.append(edges[1:], len(kinds))
    solid = kinds[edges] != SPACE
    starts, ends = edges[solid], ends[solid]
    owner = text[starts]
    return Tokens(
        n_texts=characters.n_texts,
        hashes=hash_spans(characters.codes, starts, ends),
        text=owner,
        kinds=kinds[starts],
        starts=starts,
        ends=ends,
        firsts=np.searchsorted(owner, np.arange(characters.n_texts + 1)),
    )


# Characters ---------------------------------------------------------------------------------------

MAX_CHARACTERS = 65_536
"""Of a longer text the first three quarters and the last quarter of so many are read."""

SPACE, WORD, MARK, CJK, DROPPED = 0, 1, 2, 3, 4
"""Kinds of characters; each mark and each CJK character is one token."""

_N_CODES = 0x110000
_LETTERS = 0x0530
"""Code points with case folding: Latin, Greek and Cyrillic are below it."""

_MARKS = (
    (0x21, 0x30),
    (0x3A, 0x41),
    (0x5B, 0x61),
    (0x7B, 0x7F),
    (0xA1, 0xC0),
    (0xD7, 0xD8),
    (0xF7, 0xF8),
    (0x2010, 0x2060),
    (0x2190, 0x2C00),
    (0x3001, 0x3040),
    (0xFE10, 0xFE70),
    (0xFF01, 0xFF66),
    (0x1F000, 0x1FB00),
)
_CJK = (
    (0x3040, 0x3100),
    (0x3400, 0x4DC0),
    (0x4E00, 0xA000),
    (0xAC00, 0xD7B0),
    (0xF900, 0xFB00),
    (0x20000, 0x33480),
)
_SPACES = ((0x00, 0x21), (0x7F, 0xA1), (0x2000, 0x200B), (0x2028, 0x202A), (0x205F, 0x2060))
_INVISIBLE = ((0xAD, 0xAE), (0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070), (0xFE00, 0xFE10))
"""Joiners, direction marks and variation selectors, which could hide words."""

_QUOTES = {"‘": "'", "’": "'", "`": "'", "´": "'", "“": '"', "”": '"', "「": '"', "」": '"'}


@dataclass(frozen=True, kw_only=True)
class Characters:
    """The characters of a batch of texts, one after the other.

    Attributes
    ----------
    n_texts : int
        How many texts there are.
    codes : ndarray of uint32, shape (n_characters,)
        Folded code points.
    kinds : ndarray of uint8, shape (n_characters,)
        `SPACE`, `WORD`, `MARK` or `CJK`.
    text : ndarray of int64, shape (n_characters,)
        Which text each belongs to.
    lengths : ndarray of int64, shape (n_texts,)
        Characters per text, before any was left out.
    n_capitals : ndarray of int64, shape (n_texts,)
        Capital letters A to Z per text, before folding.
    """

    n_texts: int
    codes: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    text: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_capitals: NDArray[np.int64]


def read_characters(texts: Sequence[str]) -> Characters:
    """Fold the texts of a batch into arrays.

    Parameters
    ----------
    texts : sequence of str
        Any text, lone surrogates included.

    Returns
    -------
    Characters
        Case and width folded, invisible characters left out.
    """
    texts = [_truncate(text) for text in texts]
    lengths = np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts))
    raw = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    text = np.repeat(np.arange(len(texts)), lengths)
    folded, kind_of = _tables()
    capital = (raw >= ord("A")) & (raw <= ord("Z"))
    n_capitals = np.bincount(text[capital], minlength=len(texts))
    codes, kinds = folded[raw], kind_of[raw]
    if (kinds == DROPPED).any():
        kept = kinds != DROPPED
        codes, kinds, text = codes[kept], kinds[kept], text[kept]
    return Characters(
        n_texts=len(texts),
        codes=codes,
        kinds=_join_apostrophes(codes, kinds, text),
        text=text,
        lengths=lengths,
        n_capitals=n_capitals,
    )


def _truncate(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    n_last = MAX_CHARACTERS // 4
    return text[: MAX_CHARACTERS - n_last] + text[-n_last:]


def _join_apostrophes(
    codes: NDArray[np.uint32], kinds: NDArray[np.uint8], text: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Make the apostrophe of "can't" a part of its word."""
    at = np.flatnonzero(codes[1:-1] == ord("'")) + 1
    inner = (kinds[at - 1] == WORD) & (kinds[at + 1] == WORD) & (text[at - 1] == text[at + 1])
    kinds[at[inner]] = WORD
    return kinds


@cache
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
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
    for ranges, kind in ((_MARKS, MARK), (_CJK, CJK), (_SPACES, SPACE), (_INVISIBLE, DROPPED)):
        for first, end in ranges:
            kinds[first:end] = kind
    kinds[0xAA] = kinds[0xB5] = kinds[0xBA] = WORD
    kinds[0x3000] = SPACE
    kinds[0xFEFF] = DROPPED
    kinds[0xD800:0xE000] = SPACE
    kinds[0xFF10:0xFF1A] = kinds[0xFF21:0xFF3B] = kinds[0xFF41:0xFF5B] = WORD
    return folded, kinds


# Hashes -------------------------------------------------------------------------------------------

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


def scramble(values: Hashes) -> Hashes:
    """Spread 64-bit numbers evenly (the finaliser of MurmurHash3, public domain).

    Parameters
    ----------
    values : ndarray of uint64
        Any numbers.

    Returns
    -------
    ndarray of uint64
        As many, one to one.
    """
    values = (values ^ (values >> _SHIFT)) * _FIRST
    values = (values ^ (values >> _SHIFT)) * _SECOND
    return values ^ (values >> _SHIFT)


def hash_spans(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Hashes:
    r"""Hash the span ``codes[start:end]`` for every start and end, by one cumulative sum.

    With :math:`P_i = \sum_{j<i} (c_j + 1) B^j` the hash of a span is :math:`(P_e - P_s) B^{-s}`: it
    does not depend on the place of the span.

    Parameters
    ----------
    codes : ndarray of uint32, shape (n_characters,)
        Code points.
    starts, ends : ndarray of int64, shape (n_spans,)
        Where the spans begin and end.

    Returns
    -------
    ndarray of uint64, shape (n_spans,)
        Their hashes.
    """
    powers, inverses = _powers(len(codes) + 1)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
    return scramble((sums[ends] - sums[starts]) * inverses[starts])


def extend_runs(runs: Hashes, units: Hashes, length: int) -> Hashes:
    """Make the hashes of runs of `length` units from those of ``length - 1``.

    Parameters
    ----------
    runs : ndarray of uint64, shape (n - length + 2,)
        Hashes of runs of ``length - 1`` units, from every place. Not scrambled.
    units : ndarray of uint64, shape (n,)
        Hashes of single units.
    length : int
        At least 2.

    Returns
    -------
    ndarray of uint64, shape (n - length + 1,)
        To be scrambled, or passed to `to_bucket`, before use.
    """
    return runs[:-1] * _STEP + units[length - 1 :]


def hash_rows(units: Hashes) -> Hashes:
    """Hash each row of units as `extend_runs` would, unit by unit.

    Parameters
    ----------
    units : ndarray of uint64, shape (n_runs, length)
        Hashes of single units, `length` at least 1.

    Returns
    -------
    ndarray of uint64, shape (n_runs,)
        Hashes of the runs, not scrambled.
    """
    runs = units[:, 0]
    for column in units.T[1:]:
        runs = runs * _STEP + column
    return runs


def to_bucket(hashes: Hashes, bits: int) -> NDArray[np.int64]:
    """Map hashes to places in a table of ``2**bits`` places.

    Parameters
    ----------
    hashes : ndarray of uint64
        Hashes; one more multiplication spreads them.
    bits : int
        In [1, 62].

    Returns
    -------
    ndarray of int64
        In [0, 2**bits).
    """
    return ((hashes * _FIRST) >> np.uint64(64 - bits)).astype(np.int64)


def _powers(n_wanted: int) -> tuple[Hashes, Hashes]:
    size = max(1 << 17, 1 << (n_wanted - 1).bit_length())
    return _power_table(_BASE, size)[:n_wanted], _power_table(_INVERSE, size)[:n_wanted]


@lru_cache(maxsize=8)
def _power_table(base: int, size: int) -> Hashes:
    factors = np.full(size, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
