"""Groups items that folds must not split: those with equal or nearly equal prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from voirdire.judging.local.features import BLOCKS, compute_ngrams, find_block_columns
from voirdire.judging.local.tokens import find_tokens, read_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item

__all__ = ["group_items"]

_ALIKE = 0.4
_FEW_GRAMS = 24
_BATCH = 64
_MOST_PROMPTS = 20_000


def group_items(items: Sequence[Item], groups: Sequence[object] | None = None) -> NDArray[np.intp]:
    """Join items of one group, of one prompt, and of prompts that are nearly the same.

    Two prompts are nearly the same when two fifths of the shorter one's runs of one to three words
    (of one to three CJK characters) stand in the other as well.

    Parameters
    ----------
    items : sequence of Item
        The prompt is compared by its last message of the user, and whole.
    groups : sequence of hashable, optional
        One per item; the items' own `cluster` or `group` otherwise. None is a group of its own.

    Returns
    -------
    ndarray of int, shape (n_items,)
        Codes from 0.

    Notes
    -----
    Beyond 20,000 distinct prompts only equal ones are joined.
    """
    given = [item.cluster or item.group for item in items] if groups is None else list(groups)
    prompts = [_last_of_user(item) for item in items]
    nodes: dict[tuple[str, object], int] = {}
    pairs = []
    for index, (name, prompt) in enumerate(zip(given, prompts, strict=True)):
        if name is not None:
            pairs.append((index, len(items) + nodes.setdefault(("group", name), len(nodes))))
        if prompt:
            pairs.append((index, len(items) + nodes.setdefault(("prompt", prompt), len(nodes))))
    distinct = [(key[1], node) for key, node in nodes.items() if key[0] == "prompt"]
    texts = [str(text) for text, _ in distinct]
    near = [(distinct[a][1], distinct[b][1]) for a, b in _find_similar_prompts(texts)]
    pairs += [(len(items) + a, len(items) + b) for a, b in near]
    size = len(items) + len(nodes)
    left, right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    graph = sparse.coo_matrix((np.ones(len(pairs)), (left, right)), shape=(size, size))
    component = connected_components(graph, directed=False)[1][: len(items)]
    return np.unique(component, return_inverse=True)[1]


def _last_of_user(item: Item) -> str:
    texts = [message.content for message in item.prompt if message.role == "user"]
    return texts[-1].strip() if texts else ""


def _find_similar_prompts(texts: Sequence[str]) -> list[tuple[int, int]]:
    if len(texts) < 2 or len(texts) > _MOST_PROMPTS:
        return []
    rows = []
    for start in range(0, len(texts), _BATCH):
        characters = read_characters(texts[start : start + _BATCH])
        matrix = compute_ngrams(characters, find_tokens(characters))
        rows.append(matrix[:, : find_block_columns(BLOCKS[2]).stop])
    grams = sparse.vstack(rows, format="csr")
    grams.data[:] = 1
    counts = np.asarray(grams.sum(axis=1)).ravel()
    common = sparse.triu(grams @ grams.T, k=1).tocoo()
    shorter = np.minimum(counts[common.row], counts[common.col])
    near = (common.data > _ALIKE * shorter) & (shorter >= _FEW_GRAMS)
    return [(int(a), int(b)) for a, b in zip(common.row[near], common.col[near], strict=True)]
