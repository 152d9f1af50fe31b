"""Preferences that go in cycles: a over b, b over c, c over a."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pair_set import PairSet

__all__ = ["PreferenceCycles", "preference_cycles"]

_MOST_EXAMPLES = 3
_MOST_SEARCHED = 100
_MOST_STEPS = 200_000
_MOST_IN_WORDS = 6


@dataclass(frozen=True, kw_only=True)
class PreferenceCycles:
    """How many comparisons of a behavior go in cycles, and the shortest cycles among them.

    Attributes
    ----------
    n_pairs : int
        Comparisons that are part of a cycle. Whatever the weights are, at least one of each cycle
        is ranked the wrong way, or all of it ties.
    n_items : int
        Completions in them.
    n_prompts : int
        Prompts of these.
    examples : tuple of tuple of str
        Up to 3 cycles as ids of completions, the shortest first: each is better than the next, and
        the last is better than the first.
    """

    n_pairs: int = 0
    n_items: int = 0
    n_prompts: int = 0
    examples: tuple[tuple[str, ...], ...] = ()

    def in_words(self) -> str:
        """Say how many there are, and the shortest; empty where there is none."""
        if not self.n_pairs:
            return ""
        ids = self.examples[0]
        shown = [repr(shorten(one)) for one in ids[:_MOST_IN_WORDS]]
        if len(ids) > _MOST_IN_WORDS:
            shown.append(f"{len(ids) - _MOST_IN_WORDS:,} more")
        prompts = "1 prompt" if self.n_prompts == 1 else f"{self.n_prompts:,} prompts"
        return (
            f"{self.n_pairs:,} comparisons in {prompts} go in cycles, such as "
            f"{' over '.join([*shown, shown[0]])}"
        )


def preference_cycles(data: ComparisonData, pairs: PairSet) -> PreferenceCycles:
    """Find the comparisons of one behavior that go in cycles.

    Parameters
    ----------
    data : ComparisonData
        The completions.
    pairs : PairSet
        Comparisons of them, as `pairs_of` gives them.

    Returns
    -------
    PreferenceCycles
        All zeros where there is no cycle.

    Notes
    -----
    A comparison is part of a cycle where both of its ends are in one strongly connected component
    (Tarjan): time and memory are O(n_pairs). For the examples the hundred smallest components are
    searched, breadth first from each completion, for 200,000 steps in all; a large tangle may hold
    a shorter cycle than the one that is shown.

    Examples
    --------
    >>> from voirdire.rewards.comparisons.given import comparisons_of
    >>> from voirdire.rewards.comparisons.order import LabelOrder
    >>> from voirdire.rewards.comparisons.pairs import pairs_of
    >>> rows = [
    ...     {"id": f"pair {k}", "prompt": "Hi", "chosen": chosen, "rejected": rejected}
    ...     for k, (chosen, rejected) in enumerate([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")])
    ... ]
    >>> data = comparisons_of(rows, behavior="comply")
    >>> found = preference_cycles(
    ...     data, pairs_of(data, behavior="comply", order=LabelOrder.of("ideal"))
    ... )
    >>> found.n_pairs, found.n_items, found.n_prompts, [len(one) for one in found.examples]
    (3, 3, 1, [3])
    """
    if not data.better.size:  # an order of labels has no cycles
        return PreferenceCycles()
    places, ends = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
    better, worse = np.split(ends, 2)
    component = _components(better, worse, n_items=places.size)
    is_cyclic = component[better] == component[worse]
    if not is_cyclic.any():
        return PreferenceCycles()
    better, worse = better[is_cyclic], worse[is_cyclic]
    return PreferenceCycles(
        n_pairs=int(better.size),
        n_items=int(np.unique(better).size),  # each of them is better than one of the others
        n_prompts=int(np.unique(pairs.prompts[is_cyclic]).size),
        examples=tuple(
            tuple(data.items[places[one]].id for one in cycle)
            for cycle in _examples(better, worse, component=component)
        ),
    )


def _components(
    better: NDArray[np.int64], worse: NDArray[np.int64], *, n_items: int
) -> NDArray[np.int64]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    edges = csr_array((np.ones(better.size, dtype=np.int8), (better, worse)), (n_items, n_items))
    return np.asarray(connected_components(edges, connection="strong")[1], dtype=np.int64)


def _examples(
    better: NDArray[np.int64], worse: NDArray[np.int64], *, component: NDArray[np.int64]
) -> list[list[int]]:
    """Give the shortest cycles, at most one of each component."""
    rank = np.lexsort((worse, better, component[better]))
    better, worse = better[rank], worse[rank]
    starts = np.flatnonzero(np.diff(component[better], prepend=-1))
    sizes = np.diff(starts, append=better.size)
    steps = _MOST_STEPS
    found = []
    for place in np.argsort(sizes, kind="stable")[:_MOST_SEARCHED]:
        rows = slice(starts[place], starts[place] + sizes[place])
        following: dict[int, list[int]] = {}
        for high, low in zip(better[rows].tolist(), worse[rows].tolist(), strict=True):
            following.setdefault(high, []).append(low)
        cycle, taken = _shortest(following, most_steps=steps)
        found.append(cycle)
        steps -= taken
        if steps <= 0:
            break
    return sorted(found, key=len)[:_MOST_EXAMPLES]


def _shortest(following: dict[int, list[int]], *, most_steps: int) -> tuple[list[int], int]:
    """Look from each completion for the shortest way back to it; the first look is not cut off."""
    best: list[int] = []
    taken = 0
    for start in following:
        cycle, n_steps = _way_back(following, start, shorter_than=len(best))
        best = cycle or best
        taken += n_steps
        if len(best) == 3 or taken > most_steps:  # no two contradict each other: 3 is the least
            break
    return best, taken


def _way_back(
    following: dict[int, list[int]], start: int, *, shorter_than: int
) -> tuple[list[int], int]:
    above = {start: start}
    depth = {start: 1}
    pending = deque([start])
    n_steps = 0
    while pending:
        one = pending.popleft()
        if shorter_than and depth[one] >= shorter_than:
            break
        for other in following[one]:
            n_steps += 1
            if other == start:
                return _path(above, one), n_steps
            if other not in above:
                above[other], depth[other] = one, depth[one] + 1
                pending.append(other)
    return [], n_steps


def _path(above: dict[int, int], last: int) -> list[int]:
    path = [last]
    while above[path[-1]] != path[-1]:
        path.append(above[path[-1]])
    return path[::-1]
