"""Places for calls in flight: bounded, first come first served, fewer after complaints."""

import asyncio

import pytest

from voirdire.judging.calls.slots import Slots


def test_places_are_given_in_the_order_of_asking(run):
    async def story():
        slots, order = Slots(2), []

        async def visit(name):
            await slots.take()
            order.append(name)
            await asyncio.sleep(1)
            slots.give_back()

        await asyncio.gather(*(visit(name) for name in range(7)))
        return order, slots.n_taken

    assert run(story()) == (list(range(7)), 0)


@pytest.mark.parametrize("granted_first", [False, True])
def test_a_cancelled_wait_costs_no_place(run, granted_first):
    async def story():
        slots = Slots(1)
        await slots.take()
        waiting = [asyncio.create_task(slots.take()) for _ in range(2)]
        await asyncio.sleep(0)
        if granted_first:
            slots.give_back()
            waiting[0].cancel()
        else:
            waiting[0].cancel()
            slots.give_back()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        return results, slots.n_taken

    (first, second), n_taken = run(story())

    assert isinstance(first, asyncio.CancelledError)
    assert second is True
    assert n_taken == 1


def test_closing_sends_everybody_home(run):
    async def story():
        slots = Slots(1)
        await slots.take()
        waiting = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.close()
        return await waiting, await slots.take()

    assert run(story()) == (False, False)


def test_complaints_halve_and_one_is_left():
    slots = Slots(32)

    limits = []
    for n_sent in range(0, 70, 10):
        slots.shrink(sent=n_sent, n_sent=n_sent + 5)
        limits.append(int(slots.limit))

    assert limits == [16, 8, 4, 2, 1, 1, 1]


def test_complaints_of_one_round_trip_count_once():
    slots = Slots(32)

    # 32 were sent before the first complaint came, and all of them are refused
    for sent in range(1, 33):
        slots.shrink(sent=sent, n_sent=32)
    assert slots.limit == 16

    slots.shrink(sent=33, n_sent=40)
    assert slots.limit == 8


def test_a_round_of_successes_gives_one_place_more():
    slots = Slots(32)
    slots.shrink(sent=1, n_sent=1)
    slots.shrink(sent=2, n_sent=2)
    assert slots.limit == 8

    places = []
    for _ in range(100):
        before = int(slots.limit)
        slots.grow()
        if int(slots.limit) > before:
            places.append(int(slots.limit))

    # 8 + 9 + 10 + … successes, and a few: the last of a round already sees a little more
    assert places[:5] == [9, 10, 11, 12, 13]
    for _ in range(2_000):
        slots.grow()
    assert slots.limit == 32


def test_a_place_that_grows_is_given_to_who_waits(run):
    async def story():
        slots = Slots(2)
        slots.shrink(sent=1, n_sent=1)
        await slots.take()
        waiting = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.grow()
        return await waiting

    assert run(story())
