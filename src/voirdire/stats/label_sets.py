"""Label sets as bits: up to sixty-four labels a word, so that comparing is counting bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelSets", "intersection_and_union"]

_WORD_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, kw_only=True)
class LabelSets:
    """Distinct label sets, by code.

    Attributes
    ----------
    words : ndarray of unsigned int, shape (n_sets, n_words)
        One bit per label of the universe, in words of the smallest width that holds them.
    n_labels : int
        Size of the label universe.
    """

    words: NDArray[Any]
    n_labels: int

    @staticmethod
    def from_positions(positions: Sequence[Sequence[int]], *, n_labels: int) -> LabelSets:
        """Build sets from the positions of their labels in the universe."""
        bits = next((width for width in _WORD_BITS if n_labels <= width), 64)
        words = np.zeros((len(positions), max(1, -(-n_labels // bits))), dtype=f"<u{bits // 8}")
        rows = np.repeat(np.arange(len(positions)), [len(labels) for labels in positions])
        columns = np.fromiter((label for labels in positions for label in labels), np.int64)
        flags = (np.uint64(1) << (columns % bits).astype(np.uint64)).astype(words.dtype)
        np.bitwise_or.at(words, (rows, columns // bits), flags)
        return LabelSets(words=words, n_labels=n_labels)

    @staticmethod
    def from_membership(membership: ArrayLike) -> LabelSets:
        """Build sets from truth values of shape (n_sets, n_labels)."""
        matrix = np.asarray(membership)
        if matrix.ndim != 2 or matrix.dtype != np.bool_:
            msg = (
                "`label_sets` must be bool of shape (n_sets, n_labels), "
                f"got {matrix.dtype} of shape {matrix.shape}."
            )
            raise InputError(msg)
        positions = [np.flatnonzero(row).tolist() for row in matrix]
        return LabelSets.from_positions(positions, n_labels=matrix.shape[1])

    def find_typical(self, codes: NDArray[Any]) -> list[int]:
        """Codes of the empty set and of the set of labels that most of `codes` hold, if any."""
        as_bytes = np.ascontiguousarray(self.words).view(np.uint8)
        share = np.zeros(as_bytes.shape[1] * 8)
        used, counts = np.unique(codes, return_counts=True)
        for code, count in zip(used.tolist(), counts.tolist(), strict=True):
            share += float(count) * np.unpackbits(as_bytes[code], bitorder="little")
        most = np.packbits(share * 2 > counts.sum(), bitorder="little").view(self.words.dtype)
        wanted = (np.zeros_like(most), most)
        places = [np.flatnonzero((self.words == words).all(axis=1)) for words in wanted]
        return [int(found[0]) for found in places if found.size]

    def __len__(self) -> int:
        return len(self.words)


def intersection_and_union(
    a: NDArray[Any], b: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sizes of intersection and union of packed sets; the last axis holds the words."""
    both, either = np.bitwise_count(a & b), np.bitwise_count(a | b)
    if both.shape[-1] == 1:
        return both[..., 0].astype(np.int64), either[..., 0].astype(np.int64)
    return both.sum(axis=-1, dtype=np.int64), either.sum(axis=-1, dtype=np.int64)
