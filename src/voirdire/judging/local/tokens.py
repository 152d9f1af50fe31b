"""Tokens: words, single marks, and single CJK characters, so that one form serves both scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.characters import SPACE, WORD, Characters
from voirdire.judging.local.hashing import hash_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tokens", "find_tokens"]


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
        Where it stands among the characters.
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
        In order. Space is no token.
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
