"""Who labels which items, in which order: a function of the seed, the items and the seats alone.

Shuffles sort by SHA-256, so that anybody can recompute them in any language.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire.store import Seat

BLOCK = 10
"""Items of the common order that each person gets in an order of his own."""

_ITEMS_A_REPEAT = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """An item that somebody is shown.

    Attributes
    ----------
    item : str
        Its id.
    turn : int
        1 where it is shown again.
    """

    item: str
    turn: int = 0


def draw_order(items: Mapping[str, str | None], *, seed: int) -> list[str]:
    """Draw the common order of items; those of a cluster lie together.

    Parameters
    ----------
    items : mapping of str to str or None
        The ids, each with its cluster.
    seed : int
        Of the order.

    Returns
    -------
    list of str
        The ids, sorted by a hash.
    """

    def key(item: str) -> tuple[bytes, bytes]:
        return _hash(seed, "unit", items[item] or item), _hash(seed, "item", item)

    return sorted(items, key=key)


def assign_people(
    n_items: int, seats: Sequence[Seat], *, per_item: int | None, seed: int
) -> list[tuple[int, ...]]:
    """Say who labels each place of the common order.

    In a cycle of as many items as there are people, each person gets `per_item` of them, and who
    shares an item with whom changes from cycle to cycle. A cycle is for those who are there when
    it begins, so that nobody who comes or goes changes what others had.

    Parameters
    ----------
    n_items : int
        Places of the order.
    seats : sequence of Seat
        Everybody who takes part.
    per_item : int or None
        How many get each place; None is all who are there.
    seed : int
        Of who gets what.

    Returns
    -------
    list of tuple of int
        For each place the numbers of the seats.
    """
    people = [seat for seat in seats if seat.role == "annotator"]
    given: list[tuple[int, ...]] = []
    while len(given) < n_items:
        start = len(given)
        there = [
            seat.number
            for seat in people
            if seat.since <= start and (seat.until is None or seat.until > start)
        ]
        if not there:
            given.append(())
            continue
        n_each = len(there) if per_item is None else min(per_item, len(there))
        ring = sorted(there, key=lambda number: _hash(seed, "cycle", start, number))
        for place in range(len(there)):
            chosen = (ring[(place + step) % len(ring)] for step in range(n_each))
            given.append(tuple(sorted(chosen)))
    return given[:n_items]


def list_tasks(
    batches: Iterable[Sequence[str]], people: Sequence[tuple[int, ...]], *, seat: int, seed: int
) -> list[Task]:
    """List what a seat is shown, in its order: blocks of the common order, each shuffled.

    After every twenty items, from the second twenty on, one of the twenty before those comes again.

    Parameters
    ----------
    batches : iterable of sequence of str
        The common order, in the parts that were added one after the other.
    people : sequence of tuple of int
        Who labels each place of it.
    seat : int
        Whose list it is.
    seed : int
        Of the shuffles.

    Returns
    -------
    list of Task
        Every item once, and some twice.
    """
    own: list[str] = []
    place = 0
    for batch in batches:
        for start in range(0, len(batch), BLOCK):
            block = batch[start : start + BLOCK]
            mine = [item for k, item in enumerate(block, place) if seat in people[k]]
            own += sorted(mine, key=lambda item: _hash(seed, "seat", seat, item))
            place += len(block)
    tasks: list[Task] = []
    for k, item in enumerate(own, 1):
        tasks.append(Task(item=item))
        if k % _ITEMS_A_REPEAT == 0 and k > _ITEMS_A_REPEAT:
            earlier = own[k - 2 * _ITEMS_A_REPEAT : k - _ITEMS_A_REPEAT]
            again = min(earlier, key=lambda item: _hash(seed, "again", seat, item))
            tasks.append(Task(item=again, turn=1))
    return tasks


def _hash(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).digest()
