"""Everybody's things come once and in their order, and nobody waits for the whole of another."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from judging.live.live_cases import Script, asked, items_of, living, plan_of, until
from voirdire.judging.live.rounds import Rounds


def rounds_of(*sizes):
    rounds = Rounds()
    for name, size in enumerate(sizes):
        rounds.add([(name, place) for place in range(size)])
    return rounds


def test_one_who_asks_alone_gets_all_of_a_round():
    rounds = rounds_of(5)

    assert rounds.take(3) == [(0, 0), (0, 1), (0, 2)]
    assert rounds.take(3) == [(0, 3), (0, 4)]
    assert not rounds


def test_what_the_small_ones_leave_goes_to_the_large_one():
    rounds = rounds_of(100, 1, 2)

    taken = rounds.take(30)

    assert sorted(taken) == sorted([*((0, k) for k in range(27)), (1, 0), (2, 0), (2, 1)])


@given(sizes=st.lists(st.integers(0, 30), max_size=12), most=st.integers(1, 20))
def test_everything_comes_once_and_in_the_order_of_who_asked(sizes, most):
    rounds, taken = rounds_of(*sizes), []

    while rounds:
        batch = rounds.take(most)
        assert 1 <= len(batch) <= most
        taken += batch

    assert sorted(taken) == [(name, k) for name, size in enumerate(sizes) for k in range(size)]
    for name, size in enumerate(sizes):
        assert [k for one, k in taken if one == name] == list(range(size))


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=12), most=st.integers(1, 20))
def test_everybody_gets_something_before_anybody_gets_two_rounds_more(sizes, most):
    rounds = rounds_of(*sizes)
    n_rounds = -(-len(sizes) // most)

    taken = [one for _ in range(n_rounds) for one in rounds.take(most)]

    assert {name for name, _ in taken} == set(range(len(sizes)))


def test_one_stored_item_does_not_wait_for_thousands(tmp_path):
    plan, store = plan_of(Script()), tmp_path / "replies.sqlite"
    items = items_of(3_000)
    asyncio.run(asked(plan, items, store=store))

    async def together():
        async with living(plan, store=store) as judge:
            all_of_them = asyncio.create_task(judge.ask(items[1:]))
            await until(lambda: judge.state.n_waiting > 0)
            one = await judge.ask(items[:1])
            is_before = not all_of_them.done()
            return one, is_before, await all_of_them

    one, is_before, many = asyncio.run(together())

    assert (one.n_stored, many.n_stored) == (1, 2_999)
    assert is_before
