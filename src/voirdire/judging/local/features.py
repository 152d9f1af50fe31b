"""Items to numbers: the hashed n-grams and the cues that every proposition is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.characters import read_characters
from voirdire.judging.local.cues import cue_matrix
from voirdire.judging.local.ngrams import ngram_matrix
from voirdire.judging.local.tokens import find_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item

__all__ = ["FEATURES_VERSION", "Features", "batches_of_items", "describe_items", "describe_many"]

FEATURES_VERSION = 1
"""Raised when any feature changes its meaning: older weights are then worthless."""

_BATCH_ITEMS = 64
_BATCH_CHARACTERS = 131_072
_PROMPT_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class Features:
    """What the classifiers see of a batch of items.

    Attributes
    ----------
    ngrams : scipy.sparse.csr_matrix of float32, shape (n_items, n_columns)
        Hashed n-grams of the response.
    cues : ndarray of float64, shape (n_items, n_cues)
        Cues of the response and of the prompt.
    """

    ngrams: sparse.csr_matrix
    cues: NDArray[np.float64]


def describe_items(items: Sequence[Item]) -> Features:
    """Describe a batch of items. Memory is about 300 bytes a character.

    Parameters
    ----------
    items : sequence of Item
        At most a few hundred at once; see `batches_of_items`.

    Returns
    -------
    Features
        One row per item.
    """
    responses = read_characters([item.response for item in items])
    prompts = read_characters([_asked(item) for item in items])
    response, prompt = find_tokens(responses), find_tokens(prompts)
    return Features(
        ngrams=ngram_matrix(responses, response),
        cues=cue_matrix((responses, response), (prompts, prompt)),
    )


def describe_many(items: Sequence[Item]) -> Features:
    """Describe any number of items; the rows do not depend on what stands beside them.

    Parameters
    ----------
    items : sequence of Item
        At least one.

    Returns
    -------
    Features
        One row per item.
    """
    parts = [describe_items(batch) for batch in batches_of_items(items)]
    return Features(
        ngrams=sparse.vstack([part.ngrams for part in parts], format="csr"),
        cues=np.concatenate([part.cues for part in parts]),
    )


def batches_of_items(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
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


def _asked(item: Item) -> str:
    """Give the user's last text, or the last message where no user speaks."""
    for message in reversed(item.prompt):
        if message.role == "user":
            return message.content[-_PROMPT_CHARACTERS:]
    return item.prompt[-1].content[-_PROMPT_CHARACTERS:] if item.prompt else ""
