"""Walk over annotators' labels block by block, and count who of an item gave the same label."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["DiagnosisLevel", "PanelBlock", "count_same", "is_present", "panel_blocks"]

DiagnosisLevel: TypeAlias = Literal["nominal", "interval", "sets"]
"""What labels are: equal or not, numbers, or codes of label sets."""

_CELLS_AT_ONCE = 1 << 18
_FEW_SLOTS = 16
"""Up to here comparing slots pair by pair is faster than sorting."""


@dataclass(frozen=True, kw_only=True)
class PanelBlock:
    """Some items as the annotators labelled them, packed where labels are sparse.

    Attributes
    ----------
    rows : ndarray of int, shape (n_items,), or slice
        Where the items stand.
    labels : ndarray, shape (n_slots, n_items)
        Codes with -1 for missing, or numbers with nan for missing.
    present : ndarray of bool, shape (n_slots, n_items)
        Which labels are there.
    raters : ndarray of int, shape (n_slots, n_items), or None
        Whose label each slot holds; None where slot j is annotator j.
    """

    rows: Any
    labels: NDArray[Any]
    present: NDArray[np.bool_]
    raters: NDArray[np.intp] | None

    @property
    def n_labels(self) -> NDArray[np.int64]:
        """Labels of each item."""
        return np.count_nonzero(self.present, axis=0)


def is_present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which labels are there."""
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def panel_blocks(
    labels: NDArray[Any], *, clusters: NDArray[np.intp] | None = None
) -> Iterator[PanelBlock]:
    """Walk over a label matrix of shape (n_items, n_annotators); clusters stay whole."""
    n_items, n_annotators = labels.shape
    step = max(256, _CELLS_AT_ONCE // max(n_annotators, 1))
    edges = np.arange(0, n_items, step)
    order = None
    if clusters is not None and n_items:
        order = np.argsort(clusters, kind="stable")
        edges = np.unique(np.searchsorted(clusters[order], clusters[order[edges]]))
    for start, stop in pairwise([*edges.tolist(), n_items]):
        yield _block(labels, slice(start, stop) if order is None else order[start:stop])


def _block(labels: NDArray[Any], rows: Any) -> PanelBlock:
    columns = np.ascontiguousarray(labels[rows].T)
    present = is_present(columns)
    raters = pack_slots(present)
    if raters is not None:
        columns = np.take_along_axis(columns, raters, axis=0)
        present = is_present(columns)
    return PanelBlock(rows=rows, labels=columns, present=present, raters=raters)


def count_same(block: PanelBlock) -> NDArray[np.int32]:
    """Count, for each label, the labels of its item that equal it, itself too; 0 where missing."""
    labels, present = block.labels, block.present
    if len(labels) > _FEW_SLOTS:
        return _count_by_sorting(labels, present)
    same = present.astype(np.int32)
    for a in range(len(labels)):
        for b in range(a + 1, len(labels)):
            equal = (labels[a] == labels[b]) & present[a]
            same[a] += equal
            same[b] += equal
    return same


def _count_by_sorting(labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Sort each item's labels: equal ones then stand together, however many annotators there are.

    Missing labels become one run of their own, which is taken out again.
    """
    order = np.argsort(labels, axis=0)
    ordered = np.take_along_axis(labels, order, axis=0).T
    starts = np.ones(ordered.shape, dtype=np.bool_)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = np.cumsum(starts.ravel()) - 1
    size = np.bincount(run)[run].reshape(ordered.shape).T
    same = np.zeros(labels.shape, dtype=np.int32)
    np.put_along_axis(same, order, size.astype(np.int32), axis=0)
    return same * present
