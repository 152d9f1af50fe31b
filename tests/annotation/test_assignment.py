"""Who labels what, and in which order."""

from collections import Counter
from itertools import pairwise

import pytest

from voirdire.annotation import assign_people, draw_order, list_tasks
from voirdire.store import Seat

NAMES = {f"i{k}": None for k in range(200)}


def seats(n):
    return [Seat(number=k, name=f"p{k}") for k in range(n)]


@pytest.mark.edges
@pytest.mark.parametrize(("n", "k"), [(3, None), (5, 2), (4, 3), (7, 3)])
def test_every_item_gets_as_many_people_as_asked_and_everybody_as_many_items(n, k):
    people = assign_people(200, seats(n), per_item=k, seed=1)

    each = Counter(number for row in people for number in row)
    assert {len(row) for row in people} == {k or n}
    assert max(each.values()) - min(each.values()) <= n
    if k:
        shared = Counter(pair for row in people for pair in pairwise(row))
        assert len(shared) >= n - 1  # people share items with changing others


def test_the_order_is_that_of_the_seed_alone_and_keeps_clusters_together():
    items = {f"i{k}": f"c{k // 3}" for k in range(60)}
    order = draw_order(items, seed=5)

    assert order == draw_order(dict(reversed(items.items())), seed=5)
    assert order != draw_order(items, seed=6)
    starts = [k for k in range(60) if k == 0 or items[order[k]] != items[order[k - 1]]]
    assert len(starts) == 20


def test_a_person_gets_blocks_of_the_common_order_and_some_items_again():
    order = draw_order(NAMES, seed=0)
    people = assign_people(200, seats(3), per_item=None, seed=0)

    first, second = (list_tasks([order], people, seat=seat, seed=0) for seat in (0, 1))

    own = [task.item for task in first if task.turn == 0]
    assert first != second
    assert [sorted(own[k : k + 10]) for k in range(0, 200, 10)] == [
        sorted(order[k : k + 10]) for k in range(0, 200, 10)
    ]
    again = [task for task in first if task.turn]
    assert len(again) == 9
    assert all(own.index(task.item) < first.index(task) - 20 for task in again)


def test_whoever_comes_later_changes_nothing_of_what_others_had():
    people = assign_people(200, seats(4), per_item=2, seed=3)
    more = [*seats(4), Seat(number=4, name="late", since=60)]
    less = [*seats(3), Seat(number=3, name="gone", until=80)]

    assert assign_people(200, more, per_item=2, seed=3)[:60] == people[:60]
    assert all(4 not in row for row in assign_people(200, more, per_item=2, seed=3)[:60])
    assert assign_people(200, less, per_item=2, seed=3)[:80] == people[:80]
    assert all(3 not in row for row in assign_people(200, less, per_item=2, seed=3)[84:])


def test_at_half_of_the_work_at_least_45_in_100_items_are_closed():
    order = draw_order(NAMES, seed=0)
    people = assign_people(200, seats(3), per_item=None, seed=0)
    done = [
        {task.item for task in list_tasks([order], people, seat=seat, seed=0)[:104]}
        for seat in range(3)
    ]

    closed = set.intersection(*done)

    assert len(closed) >= 90
