"""Checks arrays of labels, packs them, and treats them as sets.

In a crowd hundreds of annotators label a few items each. Comparing them pair by pair costs their
square; comparing the slots of an item, as many as it has labels, costs the square of those. Label
sets are bits, up to sixty-four labels a word, so that comparing is counting bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_WORTH_IT = 2
"""Raters per slot from which packing is faster."""

_WORD_BITS = (8, 16, 32, 64)

# Labels ---------------------------------------------------------------------------------------


def check_humans(humans: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """Return the label matrix as codes, or as numbers, of shape (n_items, n_annotators)."""
    matrix = np.asarray(humans)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        msg = f"`humans` must have the shape (n_items, n_annotators), got {matrix.shape}."
        raise InputError(msg)
    return _check_labels("humans", matrix, numeric=numeric)


def check_judges(
    judges: ArrayLike, failed: ArrayLike | None, humans: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the judges' labels and failures, both of shape (n_items, n_judges)."""
    matrix = judge_columns(judges, len(humans))
    matrix = _check_labels("judges", matrix, numeric=np.issubdtype(humans.dtype, np.floating))
    if failed is None:
        return matrix, None
    flags = np.asarray(failed, dtype=np.bool_)
    flags = flags[:, np.newaxis] if flags.ndim == 1 else flags
    if flags.shape != matrix.shape:
        msg = f"`failed` must have the shape of `judges` {matrix.shape}, got {flags.shape}."
        raise InputError(msg)
    if not flags.any():
        return matrix, None
    return np.where(flags, np.nan if matrix.dtype.kind == "f" else -1, matrix), flags


def judge_columns(judges: ArrayLike, n_items: int) -> NDArray[Any]:
    """Return labels of one judge or several as a column each."""
    matrix = np.asarray(judges)
    matrix = matrix[:, np.newaxis] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or len(matrix) != n_items:
        msg = (
            f"`judges` must have one row for each of {n_items} items, got the shape "
            f"{np.shape(judges)}. Align judges and humans on items first."
        )
        raise InputError(msg)
    return matrix


def name_columns(name: str, names: Sequence[str] | None, count: int) -> list[str]:
    """Return names of columns; their numbers where none are given."""
    if names is None:
        return [str(number) for number in range(count)]
    if len(names) != count:
        msg = f"`{name}` must name all {count} of them, got {len(names)} names."
        raise InputError(msg)
    return list(names)


def check_reference(
    humans: NDArray[Any], *, expert: int | None, gold: ArrayLike | None
) -> NDArray[Any] | None:
    """Return the reference labels: an annotator's, or gold labels in the same form."""
    if expert is None and gold is None:
        return None
    if expert is None:
        labels = np.asarray(gold)
        if labels.shape != (len(humans),):
            msg = f"`gold` must have the shape ({len(humans)},), got {labels.shape}."
            raise InputError(msg)
        return _check_labels("gold", labels, numeric=humans.dtype.kind == "f")
    if gold is not None:
        msg = f"`gold` must be None when `expert` is given, got both (expert {expert!r})."
        raise InputError(msg)
    return np.ascontiguousarray(humans[:, expert])


def _check_labels(name: str, labels: NDArray[Any], *, numeric: bool) -> NDArray[Any]:
    if numeric:
        try:
            numbers = labels.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            numbers = None
        if numbers is None or np.isinf(numbers).any():
            msg = f"`{name}` must hold finite numbers, nan where missing, got {labels.dtype}."
            raise InputError(msg)
        return numbers
    return check_codes(name, labels)


def check_codes(name: str, given: ArrayLike, *, n_labels: int | None = None) -> NDArray[Any]:
    """Return integer codes from 0, -1 where missing, below the number of labels if one is given."""
    codes = np.asarray(given)
    if codes.dtype.kind not in "iu":
        msg = f"`{name}` must hold integer codes, -1 where missing, got {codes.dtype}."
        raise InputError(msg)
    codes = codes.astype(np.int64) if codes.dtype.kind == "u" else codes
    if codes.min(initial=0) < -1:
        msg = f"`{name}` must hold codes from 0, -1 where missing, got {int(codes.min())}."
        raise InputError(msg)
    if n_labels is not None and codes.max(initial=-1) >= n_labels:
        msg = f"`{name}` must hold codes below {n_labels}, got {codes.min()} to {codes.max()}."
        raise InputError(msg)
    return codes


def is_present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where there is a label."""
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def count_items(marked: Any, copies: NDArray[np.int64] | None) -> Any:
    """Count the items that are marked, the last axis; a row stands for its number of copies."""
    if copies is None:
        return np.count_nonzero(marked, axis=-1)
    rows = marked.reshape(-1, marked.shape[-1])  # one by one, to bound memory
    return np.array([copies[row].sum() for row in rows], np.int64).reshape(marked.shape[:-1])


def pack_slots(present: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Find the raters of each item that gave a label, in order: shape (n_slots, n_items).

    Unused slots have a rater without a label. None where packing would not be faster.
    """
    n_labels = np.count_nonzero(present, axis=0)
    n_slots = max(int(n_labels.max(initial=0)), 1)
    if _WORTH_IT * n_slots > len(present):
        return None
    slots = np.tile(present.argmin(axis=0), (n_slots, 1))
    items, raters = np.nonzero(present.T)
    first = np.cumsum(n_labels) - n_labels
    slots[np.arange(len(items)) - first[items], items] = raters
    return slots


def pack_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels of the items, and who gave them, packed where labels are sparse.

    `labels` have the shape (n_raters, n_items), what is returned (n_slots, n_items).
    """
    slots = pack_slots(is_present(labels))
    if slots is None:  # each rater has a slot
        return labels, np.broadcast_to(np.arange(len(labels))[:, np.newaxis], labels.shape)
    return np.take_along_axis(labels, slots, axis=0), slots


def majority_shares(labels: ArrayLike, *, n_labels: int = 2) -> NDArray[np.float64]:
    """Return each item's most frequent label, shared alike among labels that tie.

    Parameters
    ----------
    labels : array_like of int, shape (n_items, n_annotators)
        Codes from 0, -1 where an annotator gave none.
    n_labels : int, optional
        How many labels there are, at least 2.

    Returns
    -------
    ndarray of float, shape (n_items, n_labels)
        Rows sum to 1; nan where nobody labelled an item.

    Raises
    ------
    InputError
        If shape or codes break a rule above.

    Examples
    --------
    >>> majority_shares([[1, 1, 0], [1, 0, -1]]).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    codes = np.asarray(labels)
    if codes.ndim != 2:
        msg = f"`labels` must be integer codes of shape (n_items, n_annotators), got {codes.shape}."
        raise InputError(msg)
    codes = check_codes("labels", codes, n_labels=n_labels)
    votes = np.zeros((len(codes), n_labels), dtype=np.int32)
    for column in codes.T:
        known = np.flatnonzero(column >= 0)
        votes[known, column[known]] += 1
    top = (votes == votes.max(axis=1, keepdims=True)) & (votes > 0)
    with np.errstate(invalid="ignore"):
        return top / top.sum(axis=1, keepdims=True)


# Label sets -----------------------------------------------------------------------------------


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

    def find_typical(self, codes: NDArray[Any], counts: NDArray[np.int64]) -> list[int]:
        """Return the codes of the empty set and of the labels in most sets, where these exist."""
        as_bytes = np.ascontiguousarray(self.words).view(np.uint8)
        share = np.zeros(as_bytes.shape[1] * 8)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
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
    """Return the sizes of intersection and union of packed sets; the last axis are words."""
    both, either = np.bitwise_count(a & b), np.bitwise_count(a | b)
    if both.shape[-1] == 1:
        return both[..., 0].astype(np.int64), either[..., 0].astype(np.int64)
    return both.sum(axis=-1, dtype=np.int64), either.sum(axis=-1, dtype=np.int64)
