"""Hashed n-grams of tokens and of characters, as one sparse matrix per batch.

A block is one kind of n-gram with a part of the columns of its own. Within a block each distinct
n-gram of a text counts once, and the row of the block has length one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.characters import SPACE, Characters
from voirdire.judging.local.hashing import extend_runs, scramble, to_bucket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.judging.local.tokens import Tokens

    Grams = tuple[NDArray[np.uint64], NDArray[np.int64]]

__all__ = ["BLOCKS", "N_COLUMNS", "columns_of_block", "ngram_matrix"]

_BITS = {"words_1": 15, "words_2": 16, "words_3": 16, "characters": 16}

BLOCKS = tuple(_BITS)
"""One, two and three tokens in a row; two to five characters in a row."""

N_COLUMNS = sum(1 << bits for bits in _BITS.values())

_CHARACTER_RUNS = (2, 5)
_SPACE_CODE = np.uint32(0x20)


def columns_of_block(name: str) -> slice:
    """Tell which columns of an n-gram matrix belong to a block.

    Parameters
    ----------
    name : str
        One of `BLOCKS`.

    Returns
    -------
    slice
        Of columns.
    """
    start = 0
    for block, bits in _BITS.items():
        if block == name:
            return slice(start, start + (1 << bits))
        start += 1 << bits
    raise KeyError(name)


def ngram_matrix(characters: Characters, tokens: Tokens) -> sparse.csr_matrix:
    """Count nothing, mark everything: which hashed n-grams each text holds.

    Parameters
    ----------
    characters : Characters
        A batch of texts.
    tokens : Tokens
        Its tokens.

    Returns
    -------
    scipy.sparse.csr_matrix of float32, shape (n_texts, N_COLUMNS)
        Each row has length one in every block in which it has an n-gram.
    """
    n_texts = characters.n_texts
    keys = _distinct_keys(characters, tokens)
    edges = np.array([columns_of_block(name).start for name in BLOCKS] + [N_COLUMNS])
    wanted = (np.arange(n_texts)[:, None] * N_COLUMNS + edges).ravel()
    bounds = np.searchsorted(keys, wanted).reshape(n_texts, -1)
    counts = np.diff(bounds, axis=1)
    lengths = np.sqrt(np.maximum(counts, 1), dtype=np.float32)
    return sparse.csr_matrix(
        (
            np.repeat((1 / lengths).ravel(), counts.ravel()),
            (keys % N_COLUMNS).astype(np.int32),
            np.append(bounds[:, 0], len(keys)).astype(np.int32),
        ),
        shape=(n_texts, N_COLUMNS),
    )


def _distinct_keys(characters: Characters, tokens: Tokens) -> NDArray[np.signedinteger]:
    """Give each pair of a text and an n-gram in it a number; sorted, each once."""
    keys = np.concatenate(
        [
            text * N_COLUMNS + (to_bucket(hashes, _BITS[name]) + columns_of_block(name).start)
            for name, (hashes, text) in _all_grams(characters, tokens)
        ]
    )
    # Sorting is most of the work, and twice as fast on half as many bytes.
    if characters.n_texts * N_COLUMNS <= np.iinfo(np.int32).max:
        keys = keys.astype(np.int32)
    keys.sort()
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def _all_grams(characters: Characters, tokens: Tokens) -> Iterator[tuple[str, Grams]]:
    for length, grams in enumerate(_runs(tokens.hashes, tokens.text, 3), start=1):
        yield f"words_{length}", grams
    shortest, longest = _CHARACTER_RUNS
    units, text = _character_units(characters)
    for length, grams in enumerate(_runs(units, text, longest), start=1):
        if length >= shortest:
            yield "characters", grams


def _runs(units: NDArray[np.uint64], text: NDArray[np.int64], longest: int) -> Iterator[Grams]:
    """Give the runs of 1 to `longest` units that lie within one text."""
    runs = units
    for length in range(1, longest + 1):
        if length > 1:
            runs = extend_runs(runs, units, length)
        n_runs = max(len(units) - length + 1, 0)
        inside = text[:n_runs] == text[length - 1 :]
        yield runs[inside], text[:n_runs][inside]


def _character_units(characters: Characters) -> Grams:
    """Take every character, a run of space as one space."""
    space = characters.kinds == SPACE
    kept = np.ones(len(space), dtype=np.bool_)
    kept[1:] = ~(space[1:] & space[:-1] & (characters.text[1:] == characters.text[:-1]))
    codes = np.where(space[kept], _SPACE_CODE, characters.codes[kept])
    return scramble(codes.astype(np.uint64) + np.uint64(1)), characters.text[kept]
