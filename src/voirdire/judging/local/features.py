"""Computes the features of items: hashed n-grams and cues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.cues import CUES, compute_cues
from voirdire.judging.local.tokens import (
    SPACE,
    Characters,
    extend_runs,
    find_tokens,
    read_characters,
    scramble,
    to_bucket,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.local.tokens import Tokens
    from voirdire.records import Item

    Grams = tuple[NDArray[np.uint64], NDArray[np.int64]]

__all__ = [
    "BLOCKS",
    "FEATURES_VERSION",
    "N_COLUMNS",
    "Features",
    "compute_ngrams",
    "describe_items",
    "describe_many",
    "find_block_columns",
    "is_chinese",
    "split_items",
]

FEATURES_VERSION = 1
"""Version of the features.

A change of their meaning, which makes older weights useless, increases it.
"""

_CHINESE = CUES.index("form:chinese")
_BATCH_ITEMS = 64
_BATCH_CHARACTERS = 131_072
_PROMPT_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class Features:
    """Features of a batch of items.

    Attributes
    ----------
    ngrams : scipy.sparse.csr_matrix of float32, shape (n_items, n_columns)
        Hashed n-grams of the response.
    cues : ndarray of float64, shape (n_items, n_cues)
        Cues of the response and of the prompt.
    """

    ngrams: sparse.csr_matrix
    cues: NDArray[np.float64]

    def at(self, rows: NDArray[np.intp]) -> Features:
        """Take some of the items."""
        return Features(ngrams=self.ngrams[rows], cues=self.cues[rows])


def is_chinese(features: Features) -> NDArray[np.bool_]:
    """Return which responses are in Chinese: more than a fifth CJK characters."""
    return np.asarray(features.cues[:, _CHINESE] > 0)


def describe_items(items: Sequence[Item]) -> Features:
    """Compute the features of a batch of items. Memory is about 300 bytes a character.

    Parameters
    ----------
    items : sequence of Item
        At most a few hundred at once; see `split_items`.

    Returns
    -------
    Features
        One row per item.
    """
    responses = read_characters([item.response for item in items])
    prompts = read_characters([_last_user_text(item) for item in items])
    response, prompt = find_tokens(responses), find_tokens(prompts)
    return Features(
        ngrams=compute_ngrams(responses, response),
        cues=compute_cues((responses, response), (prompts, prompt)),
    )


def describe_many(items: Sequence[Item]) -> Features:
    """Compute the features of any number of items; a row does not depend on the others.

    Parameters
    ----------
    items : sequence of Item
        At least one.

    Returns
    -------
    Features
        One row per item.
    """
    parts = [describe_items(batch) for batch in split_items(items)]
    return Features(
        ngrams=sparse.vstack([part.ngrams for part in parts], format="csr"),
        cues=np.concatenate([part.cues for part in parts]),
    )


def split_items(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut items into batches that fit the processor's cache.

    Parameters
    ----------
    items : sequence of Item
        Any number.

    Yields
    ------
    sequence of Item
        At most 64 items, and about 130,000 characters unless one item alone has more.
    """
    start = n_characters = 0
    for index, item in enumerate(items):
        size = len(item.response)
        full = index - start == _BATCH_ITEMS or n_characters + size > _BATCH_CHARACTERS
        if full and index > start:
            yield items[start:index]
            start, n_characters = index, 0
        n_characters += size
    if start < len(items):
        yield items[start:]


def _last_user_text(item: Item) -> str:
    """Return the user's last text, or the last message where there is no user."""
    for message in reversed(item.prompt):
        if message.role == "user":
            return message.content[-_PROMPT_CHARACTERS:]
    return item.prompt[-1].content[-_PROMPT_CHARACTERS:] if item.prompt else ""


# n-grams ------------------------------------------------------------------------------------------

_BITS = {"words_1": 15, "words_2": 16, "words_3": 16, "characters": 16}

BLOCKS = tuple(_BITS)
"""Runs of one to three tokens; runs of two to five characters."""

N_COLUMNS = sum(1 << bits for bits in _BITS.values())

_CHARACTER_RUNS = (2, 5)
_SPACE_CODE = np.uint32(0x20)


def find_block_columns(name: str) -> slice:
    """Return which columns of an n-gram matrix belong to a block.

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


def compute_ngrams(characters: Characters, tokens: Tokens) -> sparse.csr_matrix:
    """Mark which hashed n-grams each text has, without counts.

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
    edges = np.array([find_block_columns(name).start for name in BLOCKS] + [N_COLUMNS])
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
    """Return a number for each distinct pair of a text and an n-gram, sorted."""
    keys = np.concatenate(
        [
            text * N_COLUMNS + (to_bucket(hashes, _BITS[name]) + find_block_columns(name).start)
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
    """Return the runs of 1 to `longest` units within one text."""
    runs = units
    for length in range(1, longest + 1):
        if length > 1:
            runs = extend_runs(runs, units, length)
        n_runs = max(len(units) - length + 1, 0)
        inside = text[:n_runs] == text[length - 1 :]
        yield runs[inside], text[:n_runs][inside]


def _character_units(characters: Characters) -> Grams:
    """Return every character, with a run of space as one space."""
    space = characters.kinds == SPACE
    kept = np.ones(len(space), dtype=np.bool_)
    kept[1:] = ~(space[1:] & space[:-1] & (characters.text[1:] == characters.text[:-1]))
    codes = np.where(space[kept], _SPACE_CODE, characters.codes[kept])
    return scramble(codes.astype(np.uint64) + np.uint64(1)), characters.text[kept]
