"""A bound on items: what is taken, what is refused, and what is said about when to come again."""

import asyncio

import pytest

from voirdire.web.item_queue import ItemQueue
from voirdire.web.refusals import RefusedError


def queue(most, waiting=0):
    return ItemQueue(most, n_waiting=lambda: waiting)


def refusal(take):
    with pytest.raises(RefusedError) as caught:
        take()
    return caught.value


def test_items_are_taken_up_to_the_bound():
    items = queue(10)

    items.take(7)
    items.take(3)

    assert items.length == 10
    assert refusal(lambda: items.take(1)).code == "queue_full"
    assert refusal(items.check_open).code == "queue_full"


def test_what_is_given_back_has_a_place_again():
    items = queue(10)
    items.take(10)

    items.give_back(10)
    items.take(10)

    assert items.length == 10


def test_items_that_still_wait_for_the_judge_take_places():
    """Their requests were answered without them; the judge is as busy all the same."""
    items = queue(10, waiting=8)

    items.take(2)

    assert refusal(lambda: items.take(3)).code == "queue_full"


def test_when_to_ask_again_follows_what_was_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    items = queue(100)
    items.take(100)

    unknown = refusal(lambda: items.take(20)).retry_after_s
    items.give_back(20)
    now[0] += 2
    items.take(20)
    known = refusal(lambda: items.take(40)).retry_after_s

    assert unknown == 5  # nothing was done yet
    assert known == 4  # 40 too many, 20 done in 2 s


def test_when_to_ask_again_is_never_absurd(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    items = queue(1_000_000)
    items.take(1)
    items.give_back(1)
    items.take(1_000_000)
    now[0] += 9

    slow = refusal(lambda: items.take(1_000_000)).retry_after_s
    now[0] += 100
    forgotten = refusal(lambda: items.take(1)).retry_after_s

    assert slow == 60
    assert forgotten == 5


def test_a_closed_queue_takes_nothing():
    items = queue(10)
    items.close()

    assert refusal(lambda: items.take(1)).code == "ending"
    assert asyncio.run(items.take_in_time(1, seconds=5)) is False


def test_who_waits_gets_a_place_once_there_is_one():
    async def work():
        items = queue(10)
        items.take(10)
        waiting = asyncio.create_task(items.take_in_time(4, seconds=30))
        await asyncio.sleep(0)
        items.give_back(10)
        return await waiting, items.length

    assert asyncio.run(work()) == (True, 4)


def test_who_waits_too_long_gets_none():
    async def work():
        items = queue(10)
        items.take(10)
        return await items.take_in_time(1, seconds=0.01), items.length

    assert asyncio.run(work()) == (False, 10)


def test_an_empty_queue_is_told_at_once_and_a_full_one_later():
    async def work():
        items = queue(10)
        await items.emptied(seconds=30)
        items.take(3)
        await items.emptied(seconds=0.01)  # nothing is given back: it ends all the same
        told = asyncio.create_task(items.emptied(seconds=30))
        await asyncio.sleep(0)
        assert not told.done()
        items.give_back(3)
        await told

    asyncio.run(work())
