"""How far a response takes up the words of its prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.characters import CJK, WORD
from voirdire.judging.local.hashing import extend_runs, to_bucket

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.tokens import Tokens

__all__ = ["OVERLAP", "overlap_matrix"]

OVERLAP = ("response_in_prompt", "prompt_in_response", "opening_in_prompt")
"""Shares of distinct longer words (pairs of CJK characters) that the other text has too."""

_OPENING = 25
_SHORTEST = 4
_BITS = 32


def overlap_matrix(response: Tokens, prompt: Tokens) -> NDArray[np.float64]:
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
    """Distinct (text, word) keys, sorted."""
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
