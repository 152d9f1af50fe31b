"""What every item contributes to the coefficients of many pairs of raters.

A pair may be two raters, or a rater and the majority of others. On few distinct labels the pairs
are counted in tables of labels by labels, one look-up an item; otherwise, and in crowds, by lists
of the labels that occur.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.pair_figures import COHEN, Entries, PairFigures, estimate_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.stats.agreement.weights import Disagreement

__all__ = ["ItemSums", "OccurrenceSums", "Occurrences", "TablePairs", "sum_tables"]

_ITEMS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ItemSums:
    """The coefficients of pairs, and what the items contribute to them.

    Attributes
    ----------
    figures : PairFigures
        One row per pair.
    contributions : ndarray, shape (n_items, 4)
        Sums over the pairs, in the columns of `pair_figures.estimate_pairs`.
    n_pairs, n_defined : ndarray, shape (n_items,)
        Pairs with both labels on the item; those of them whose κ is defined.
    raters : ndarray of int, shape (n_pairs, 2)
        Numbers of the two raters of each pair.
    """

    figures: PairFigures
    contributions: NDArray[np.float64]
    n_pairs: NDArray[np.float64]
    n_defined: NDArray[np.float64]
    raters: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class TablePairs:
    """Pairs of columns of codes, 0 where missing and from 1 otherwise.

    Attributes
    ----------
    first, second : sequence of ndarray of int, shape (n_items,)
        The columns of each pair.
    raters : sequence of tuple of int
        Numbers of the two raters of each pair.
    n_labels, n_second : int
        Codes of the first and of the second columns are at most this.
    shares : ndarray, shape (n_second, n_labels), or None
        How each code of a second column is shared among the labels; None where codes are labels.
    """

    first: Sequence[NDArray[Any]]
    second: Sequence[NDArray[Any]]
    raters: Sequence[tuple[int, int]]
    n_labels: int
    n_second: int
    shares: NDArray[np.float64] | None = None

    def cells(self, pair: int, block: slice) -> NDArray[Any]:
        """Cell of the pair's table in which each item of a block lies."""
        width = self.n_second + 1
        kind = np.uint16 if (self.n_labels + 1) * width <= 1 << 16 else np.uint32
        first, second = self.first[pair][block], self.second[pair][block]
        cells: NDArray[Any] = first.astype(kind)
        return cells * kind(width) + second


def sum_tables(pairs: TablePairs, disagreement: Disagreement, *, n_items: int) -> ItemSums:
    """Sum over pairs by tables: memory is O(n_pairs * n_labels * n_second + n_items)."""
    size = (pairs.n_labels + 1) * (pairs.n_second + 1)
    counts = np.zeros((len(pairs.first), size))
    blocks = [slice(k, min(k + _ITEMS_AT_ONCE, n_items)) for k in range(0, n_items, _ITEMS_AT_ONCE)]
    for block in blocks:
        for pair in range(len(counts)):
            cells = pairs.cells(pair, block)
            counts[pair] += np.bincount(cells, minlength=size)
    shape = (len(counts), pairs.n_labels + 1, pairs.n_second + 1)
    figures, tables = _fill_tables(counts.reshape(shape), pairs.shares, disagreement)
    sums = np.zeros((n_items, tables.shape[-1]))
    for block in blocks:
        for pair in range(len(counts)):
            sums[block] += tables[pair].take(pairs.cells(pair, block), axis=0)
    everything = _count_present(pairs, np.ones(len(counts), dtype=np.bool_), blocks, n_items)
    undefined = np.isnan(figures.values[:, COHEN]) & (figures.n_items > 0)
    return ItemSums(
        figures=figures,
        contributions=sums,
        n_pairs=everything,
        n_defined=everything - _count_present(pairs, undefined, blocks, n_items),
        raters=np.array(pairs.raters, dtype=np.intp).reshape(-1, 2),
    )


def _fill_tables(
    counts: NDArray[np.float64], shares: NDArray[np.float64] | None, disagreement: Disagreement
) -> tuple[PairFigures, NDArray[np.float64]]:
    """Compute figures from counts of shape (n_pairs, 1 + n_labels, 1 + n_second), and tables."""
    n_pairs, n_labels = counts.shape[0], counts.shape[1] - 1
    pair, first, code = np.nonzero(counts[:, 1:, 1:])
    weight = counts[pair, first + 1, code + 1]
    cell = (pair * counts.shape[1] + first + 1) * counts.shape[2] + code + 1
    share, second = np.ones(len(pair)), code
    if shares is not None:
        row, second = np.nonzero(shares[code])
        pair, first, weight, cell, share = pair[row], first[row], weight[row], cell[row], share[row]
        share = shares[code[row], second]
    entries = Entries(
        group=pair, first=first, second=second, weight=weight * share, n_groups=n_pairs
    )
    figures, contributions = estimate_pairs(entries, disagreement, n_labels)
    tables = np.empty((counts.size, contributions.shape[1]))
    for column, values in enumerate(contributions.T):
        tables[:, column] = np.bincount(cell, weights=share * values, minlength=counts.size)
    shape = (n_pairs, counts.shape[1] * counts.shape[2], contributions.shape[1])
    return figures, tables.reshape(shape)


def _count_present(
    pairs: TablePairs, wanted: NDArray[np.bool_], blocks: list[slice], n_items: int
) -> NDArray[np.float64]:
    """How many of the wanted pairs have both labels on each item."""
    result = np.zeros(n_items)
    numbers = np.flatnonzero(wanted).tolist()
    for block in blocks if numbers else []:
        count = np.zeros(block.stop - block.start, dtype=np.int32)
        for pair in numbers:
            count += (pairs.first[pair][block] > 0) & (pairs.second[pair][block] > 0)
        result[block] = count
    return result


@dataclass(frozen=True, kw_only=True)
class Occurrences:
    """Labels of some pairs as lists, complete for each pair.

    Attributes
    ----------
    item : ndarray of int, shape (n_entries,)
        Number of the item.
    entries : Entries
        The labels.
    raters : ndarray of int, shape (n_groups, 2)
        Numbers of the two raters of each pair.
    """

    item: NDArray[Any]
    entries: Entries
    raters: NDArray[np.intp] = field(repr=False)


class OccurrenceSums:
    """Sums over pairs that arrive as lists: memory is O(n_items) and that of one chunk.

    Parameters
    ----------
    disagreement : Disagreement
        How far labels disagree.
    n_labels, n_items : int
        Codes of labels, and numbers of items, are below them.
    """

    def __init__(self, disagreement: Disagreement, *, n_labels: int, n_items: int) -> None:
        self._disagreement = disagreement
        self._n_labels = n_labels
        self._sums = np.zeros((n_items, 4))
        self._n_pairs, self._n_defined = np.zeros(n_items), np.zeros(n_items)
        self._figures: list[PairFigures] = []
        self._raters = [np.zeros((0, 2), dtype=np.intp)]

    def add(self, chunk: Occurrences) -> None:
        """Add pairs that have not been added before."""
        weight, n_items = chunk.entries.weight, len(self._n_pairs)
        figures, contributions = estimate_pairs(chunk.entries, self._disagreement, self._n_labels)
        for column in range(contributions.shape[1]):
            self._sums[:, column] += np.bincount(
                chunk.item, weights=contributions[:, column] * weight, minlength=n_items
            )
        self._n_pairs += np.bincount(chunk.item, weights=weight, minlength=n_items)
        known = weight * ~np.isnan(figures.values[:, COHEN])[chunk.entries.group]
        self._n_defined += np.bincount(chunk.item, weights=known, minlength=n_items)
        self._figures.append(figures)
        self._raters.append(chunk.raters)

    def finish(self) -> ItemSums:
        """Give what has been summed."""
        return ItemSums(
            figures=PairFigures.joined(self._figures),
            contributions=self._sums,
            n_pairs=self._n_pairs,
            n_defined=self._n_defined,
            raters=np.concatenate(self._raters),
        )
