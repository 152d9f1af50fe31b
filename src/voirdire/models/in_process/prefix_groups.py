"""Which token sequences should share their beginning, so that it is encoded once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PrefixGroup", "prefix_groups"]

_GROUP_COST = 64
"""What another group costs beside its tokens, in tokens: it runs after the others, not with."""

_MAX_DEPTH = 100
"""How often a group is split within a split; sequences that nest deeper stay together."""


@dataclass(frozen=True, kw_only=True)
class PrefixGroup:
    """Sequences that begin alike.

    Attributes
    ----------
    length : int
        Tokens that they share; less than the shortest of them has, so that each has a rest.
    members : tuple of int
        Which sequences.
    """

    length: int
    members: tuple[int, ...]


def prefix_groups(sequences: Sequence[Sequence[int]]) -> list[PrefixGroup]:
    """Group sequences so that few tokens are encoded.

    Parameters
    ----------
    sequences : sequence of sequence of int
        Token ids of every request; none empty.

    Returns
    -------
    list of PrefixGroup
        Every sequence is in one group.

    Notes
    -----
    A group costs its shared tokens once and the rests of its members. Sorted sequences that share
    a beginning are neighbours, and what several share is the least that two neighbours among them
    share. So each run is cut where its neighbours share least, and the cut is kept where the
    parts, grouped best, cost less than the whole.
    """
    order = sorted(range(len(sequences)), key=lambda index: tuple(sequences[index]))
    ranked = [sequences[index] for index in order]
    shared = [_shared(a, b) for a, b in pairwise(ranked)]
    lengths = [len(sequence) for sequence in ranked]
    _, found = _best(lengths, shared, start=0, stop=len(ranked), depth=0)
    return [
        PrefixGroup(length=length, members=tuple(order[start:stop]))
        for length, start, stop in found
    ]


_Run = tuple[int, int, int]
"""Shared tokens, first and last but one of a run of sorted sequences."""


def _best(
    lengths: Sequence[int], shared: Sequence[int], *, start: int, stop: int, depth: int
) -> tuple[int, list[_Run]]:
    """Group a run of sorted sequences; return what that costs, and the groups."""
    if stop == start:
        return 0, []
    between = shared[start : stop - 1]
    least = min([*between, min(lengths[start:stop]) - 1])
    whole = _GROUP_COST + least + sum(length - least for length in lengths[start:stop])
    if not between or min(between) == max(between) or depth == _MAX_DEPTH:
        return whole, [(least, start, stop)]
    cuts = [start + i + 1 for i, tokens in enumerate(between) if tokens == min(between)]
    edges = [start, *cuts, stop]
    cost, groups = 0, []
    for first, last in pairwise(edges):
        part_cost, part = _best(lengths, shared, start=first, stop=last, depth=depth + 1)
        cost += part_cost
        groups += part
    return (cost, groups) if cost < whole else (whole, [(least, start, stop)])


def _shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Count the tokens that two sequences begin with alike, by bisection."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
