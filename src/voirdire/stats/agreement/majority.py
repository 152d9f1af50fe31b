"""Compare raters with the majority of an annotator's peers.

For annotator j the majority of the *others* on an item is the label that most of them gave. Labels
that tie share it: each counts as an equal fraction of the majority's answer, so that no item is
left out and no tie is broken by the order of the labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.item_sums import Occurrences, OccurrenceSums, TablePairs, sum_tables
from voirdire.stats.agreement.pair_figures import Entries
from voirdire.stats.agreement.rater_pairs import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.agreement.item_sums import ItemSums
    from voirdire.stats.agreement.rater_pairs import RaterPairs
    from voirdire.stats.agreement.weights import Disagreement

__all__ = ["compare_with_majority", "majority_reason"]

_MAX_MASK_LABELS = 16
_ITEMS_AT_ONCE = 1 << 15
_ROWS_AT_ONCE = 1 << 20

_MAX_NUMBERS = 64
"""Distinct numbers beyond which a scale is taken for continuous: it has no majority."""

_MAX_LISTED = 50_000_000


def majority_reason(pairs: RaterPairs) -> str | None:
    """Say why there is no majority vote, if there is none."""
    labels = pairs.labels
    if labels.weights in ("linear", "quadratic") and labels.n_labels > _MAX_NUMBERS:
        return f"a scale of {labels.n_labels:,} distinct numbers has no majority"
    n_present = np.count_nonzero(pairs.humans >= 0, axis=0)
    in_lists = labels.n_labels > _MAX_MASK_LABELS or pairs.slots is not None
    if in_lists and int(n_present.sum()) * int(n_present.max(initial=0)) > _MAX_LISTED * 10:
        return "counting the votes of so many annotators on so many labels would take too long"
    return None


def compare_with_majority(
    pairs: RaterPairs, raters: Sequence[int | None], disagreements: Sequence[Disagreement]
) -> Iterator[ItemSums]:
    """Compare raters with the majority of all annotators but one, for every one.

    Parameters
    ----------
    pairs : RaterPairs
        The labels.
    raters : sequence of int or None
        Whom to compare, by number: a judge; None for the annotator who is left out.
    disagreements : sequence of Disagreement
        For each of `raters`, how far labels disagree.

    Yields
    ------
    ItemSums
        For each of `raters`, one pair per annotator left out, on the items of that annotator.
    """
    if pairs.slots is None and pairs.labels.n_labels <= _MAX_MASK_LABELS:
        votes, shares = _find_votes(pairs.humans, pairs.labels.n_labels)
        if votes.shape[0] * (pairs.labels.n_labels + 1) * (len(shares) + 1) <= MAX_CELLS:
            for rater, disagreement in zip(raters, disagreements, strict=True):
                yield _sum_votes(pairs, votes, shares, rater, disagreement)
            return
    sums = [
        OccurrenceSums(disagreement, n_labels=pairs.labels.n_labels, n_items=pairs.n_items)
        for disagreement in disagreements
    ]
    for who, left_out, item in pairs.label_chunks():
        row, label, weight = _list_votes(pairs, left_out, item)
        for number, each in zip(raters, sums, strict=True):
            whose = left_out if number is None else np.full(len(left_out), number)
            place = (whose[row], left_out[row], item[row])
            each.add(_occurrences(pairs, who, place, (label, weight)))
    yield from (each.finish() for each in sums)


def _sum_votes(
    pairs: RaterPairs,
    votes: NDArray[Any],
    shares: NDArray[np.float64],
    rater: int | None,
    disagreement: Disagreement,
) -> ItemSums:
    humans = range(pairs.n_humans)
    whose = [human if rater is None else rater for human in humans]
    table_pairs = TablePairs(
        first=[pairs.shifted[number] for number in whose],
        second=list(votes),
        raters=list(zip(whose, humans, strict=True)),
        n_labels=pairs.labels.n_labels,
        n_second=len(shares),
        shares=shares,
    )
    return sum_tables(table_pairs, disagreement, n_items=pairs.n_items)


def _find_votes(
    humans: NDArray[Any], n_labels: int
) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """Find the majority of the others for each annotator.

    Returns
    -------
    votes : ndarray of int, shape (n_humans, n_items)
        Which row of `shares` from 1; 0 where the annotator or all others are silent.
    shares : ndarray, shape (n_patterns, n_labels)
        How the majority is shared among labels.
    """
    votes = np.zeros(humans.shape, dtype=np.uint16)
    seen = np.zeros(1 << _MAX_MASK_LABELS, dtype=np.bool_)
    for start in range(0, humans.shape[1], _ITEMS_AT_ONCE):
        block = slice(start, start + _ITEMS_AT_ONCE)
        codes = np.ascontiguousarray(humans[:, block])
        counts = np.zeros((n_labels, codes.shape[1]), dtype=np.min_scalar_type(len(humans)))
        for label in range(n_labels):
            for column in codes:
                counts[label] += column == label
        for human, own in enumerate(codes):
            votes[human, block] = _mask_of_top(counts, own)
            seen[votes[human, block]] = True
    seen[0] = False
    masks = np.flatnonzero(seen)
    number = np.zeros(len(seen), dtype=np.uint16)
    number[masks] = np.arange(1, len(masks) + 1)
    bits = (masks[:, np.newaxis] >> np.arange(n_labels)) & 1
    return number[votes], bits / bits.sum(axis=1, keepdims=True)


def _mask_of_top(counts: NDArray[Any], own: NDArray[Any]) -> NDArray[np.uint16]:
    """Bits of the labels that most others gave, from the counts of all and one's own label."""
    others = [count - (own == label) for label, count in enumerate(counts)]
    most = np.max(others, axis=0, initial=0) if others else np.zeros(len(own))
    mask = np.zeros(len(own), dtype=np.uint16)
    for label, votes in enumerate(others):
        mask |= (votes == most).astype(np.uint16) << np.uint16(label)
    mask[(own < 0) | (most == 0)] = 0
    return mask


def _list_votes(
    pairs: RaterPairs, raters: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    """For each of these labels, the labels that most others gave the item, and their weights."""
    n_slots = max(pairs.slot_codes.shape[1], 1)
    step = max(1, _ROWS_AT_ONCE // n_slots)
    parts = [
        _votes_of_others(pairs, raters[k : k + step], items[k : k + step], k)
        for k in range(0, len(raters), step)
    ]
    if not parts:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)
    rows, labels, weights = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(labels), np.concatenate(weights)


def _votes_of_others(
    pairs: RaterPairs, raters: NDArray[np.intp], items: NDArray[np.intp], offset: int
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    codes = pairs.slot_codes[items]
    slots = np.arange(codes.shape[1]) if pairs.slots is None else pairs.slots[items]
    counted = (codes >= 0) & (slots != raters[:, np.newaxis])
    votes = np.zeros(codes.shape, dtype=np.int32)
    repeated = np.zeros(codes.shape, dtype=np.bool_)
    for slot in range(codes.shape[1]):
        same = (codes == codes[:, slot, np.newaxis]) & counted[:, slot, np.newaxis]
        votes += same
        repeated[:, slot + 1 :] |= same[:, slot + 1 :]
    votes[~counted] = 0
    top = counted & ~repeated & (votes == votes.max(axis=1, initial=1, keepdims=True))
    row, place = np.nonzero(top)
    return row + offset, codes[row, place], 1 / np.count_nonzero(top, axis=1)[row]


def _occurrences(
    pairs: RaterPairs,
    who: range,
    place: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
    vote: tuple[NDArray[Any], NDArray[np.float64]],
) -> Occurrences:
    whose, left_out, item = place
    own = pairs.labels.codes[whose, item]
    kept = own >= 0
    raters = np.array(who)
    return Occurrences(
        item=item[kept],
        entries=Entries(
            group=left_out[kept] - who.start,
            first=own[kept],
            second=vote[0][kept],
            weight=vote[1][kept],
            n_groups=len(who),
        ),
        raters=np.stack([raters, raters], axis=1),
    )
