"""Claims: of several runs at one store, one makes a call and the others wait for its reply."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.stored_examples import call, claim, item
from voirdire.errors import InputError
from voirdire.store import GroupCommit, StoredCall, open_store

RUN = Path(__file__).with_name("claiming_run.py")
LONG_S = 600.0


def keys(*numbers, name="joint", attempt=0):
    return [(item(number), name, attempt) for number in numbers]


@pytest.fixture
def judge_id(store):
    return store.judge_id("sha256:judge", description={})


@contextlib.contextmanager
def opened(place):
    with open_store(place) as store:
        yield store, store.judge_id("sha256:judge", description={})


def rows(place, query):
    """Ask the database itself."""
    if place.startswith("postgresql"):
        import psycopg

        with psycopg.connect(place) as connection:
            return connection.execute(query).fetchall()
    with contextlib.closing(sqlite3.connect(place)) as connection:
        found = connection.execute(query).fetchall()
        connection.commit()
    return found


def owners(place):
    return dict(rows(place, "SELECT item, owner FROM voirdire_claims"))


def test_a_call_is_claimed_by_one_owner_alone(store, judge_id):
    first = store.exchange(judge_id, claim=keys(1, 2), owner="a", for_s=LONG_S)

    second = store.exchange(judge_id, claim=keys(1, 2, 3), owner="b", for_s=LONG_S)

    assert first == set(keys(1, 2))
    assert second == set(keys(3))


def test_judges_names_and_attempts_are_claimed_apart(store, judge_id):
    other = store.judge_id("sha256:other", description={})
    store.exchange(judge_id, claim=keys(1), owner="a", for_s=LONG_S)

    again = [*keys(1, attempt=1), *keys(1, name="single/x")]

    assert store.exchange(judge_id, claim=again, owner="b", for_s=LONG_S) == set(again)
    assert store.exchange(other, claim=keys(1), owner="b", for_s=LONG_S) == set(keys(1))


def test_a_claim_that_is_released_is_free_and_nobody_releases_anothers(store, judge_id):
    store.exchange(judge_id, claim=keys(1, 2), owner="a", for_s=LONG_S)

    store.exchange(judge_id, release=keys(1), owner="a")
    store.exchange(judge_id, release=keys(2), owner="b")

    assert store.exchange(judge_id, claim=keys(1, 2), owner="b", for_s=LONG_S) == set(keys(1))


def test_a_claim_whose_time_is_over_is_taken_over(store, judge_id):
    store.exchange(judge_id, claim=keys(1), owner="killed", for_s=0.0)

    assert store.exchange(judge_id, claim=keys(1), owner="b", for_s=LONG_S) == set(keys(1))
    assert store.exchange(judge_id, claim=keys(1), owner="killed", for_s=LONG_S) == set()


def test_an_owner_that_claims_again_has_more_time(store, judge_id):
    store.exchange(judge_id, claim=keys(1), owner="a", for_s=0.0)

    assert store.exchange(judge_id, claim=keys(1), owner="a", for_s=LONG_S) == set(keys(1))
    assert store.exchange(judge_id, claim=keys(1), owner="b", for_s=LONG_S) == set()


def test_what_is_stored_since_it_was_looked_up_is_not_claimed(store, judge_id):
    store.put(judge_id, [call(1), call(2, attempt=1)])

    assert store.exchange(judge_id, claim=keys(1, 2), owner="a", for_s=LONG_S) == set(keys(2))
    assert store.exchange(judge_id, claim=keys(1, 2, attempt=1), owner="a", for_s=LONG_S) == set(
        keys(1, attempt=1)
    )


def test_putting_a_call_releases_the_claim_of_it(shared_place):
    with opened(shared_place) as (store, judge_id):
        store.exchange(judge_id, claim=keys(1, 2, 3), owner="a", for_s=LONG_S)

        store.put(judge_id, [call(1)], owner="a")
        store.put(judge_id, [call(2)], owner="b")

        assert owners(shared_place) == {item(2): "a", item(3): "a"}


def test_nothing_claimed_is_nothing(store, judge_id):
    assert store.exchange(judge_id, claim=[], owner="a", for_s=LONG_S) == set()
    store.exchange(judge_id, release=[], owner="a")


# Around the lengths at which a statement is cut in two.
@pytest.mark.edges
@pytest.mark.parametrize("n_calls", [1, 127, 128, 129, 1_025])
def test_any_number_of_calls_is_claimed_and_released(shared_place, n_calls):
    wanted = keys(*range(n_calls))
    with opened(shared_place) as (store, judge_id):
        assert store.exchange(judge_id, claim=wanted, owner="a", for_s=LONG_S) == set(wanted)
        assert len(owners(shared_place)) == n_calls

        store.exchange(judge_id, release=wanted[1:], owner="a")

        assert owners(shared_place) == {item(0): "a"}


OWNERS = st.sampled_from("ab")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["claim", "claim briefly", "release", "put"]),
        OWNERS,
        st.lists(st.integers(0, 4), max_size=4),
    )
)


@given(steps=STEPS)
def test_claims_are_a_dictionary_of_owners(steps):
    held, stored = {}, set()
    with open_store(":memory:") as store:
        judge_id = store.judge_id("sha256:judge", description={})
        for verb, owner, numbers in steps:
            mine = [each for each in numbers if held.get(each, (owner,))[0] == owner]
            if verb.startswith("claim"):
                free = {
                    each
                    for each in numbers
                    if each not in stored and (each in mine or not held[each][1])
                }
                lasts = verb == "claim"
                given_ = store.exchange(
                    judge_id, claim=keys(*numbers), owner=owner, for_s=LONG_S if lasts else 0.0
                )
                assert given_ == set(keys(*free))
                held |= dict.fromkeys(free, (owner, lasts))
            else:
                if verb == "put":
                    store.put(judge_id, [call(each) for each in numbers], owner=owner)
                    stored |= set(numbers)
                else:
                    store.exchange(judge_id, release=keys(*numbers), owner=owner)
                for each in mine:
                    held.pop(each, None)


def test_a_group_claims_what_it_makes_and_putting_it_ends_the_claim(shared_place):
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as group, GroupCommit(store, judge_id) as other:
            claimed = await asyncio.gather(*(claim(group, n) for n in range(300)))
            assert claimed == [True] * 300
            assert not await claim(other, 7)
            assert len(set(owners(shared_place).values())) == 1
            await asyncio.gather(*(group.put(call(number)) for number in range(1, 300)))
            assert list(owners(shared_place)) == [item(0)]
            # It is stored, so there is nothing to make.
            assert not await claim(other, 7)
            assert await claim(other, 7, attempt=1)

    with opened(shared_place) as (store, judge_id):
        asyncio.run(run(store, judge_id))

    assert owners(shared_place) == {}


def test_two_tasks_of_one_group_make_a_call_once():
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as group:
            both = await asyncio.gather(*(claim(group, 1) for _ in range(2)))
            await group.put(call(1))
            return both, await claim(group, 1)

    with opened(":memory:") as (store, judge_id):
        assert asyncio.run(run(store, judge_id)) == ([True, False], False)


def test_a_group_releases_what_ended_without_a_reply(shared_place):
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as group, GroupCommit(store, judge_id) as other:
            await claim(group, 1)
            group.release(item(1), "joint", attempt=0)
            group.release(item(2), "joint", attempt=0)  # never claimed
            await group.put(call(3))  # the transaction before it has released
            assert await claim(other, 1)
            group.release(item(1), "joint", attempt=0)
            await group.put(call(4))
            assert list(owners(shared_place)) == [item(1)]

    with opened(shared_place) as (store, judge_id):
        asyncio.run(run(store, judge_id))


def test_a_claim_whose_waiter_is_cancelled_is_released(shared_place):
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as group:
            claiming = asyncio.create_task(claim(group, 1))
            await asyncio.sleep(0)
            claiming.cancel()
            await asyncio.gather(claiming, return_exceptions=True)
            await group.put(call(2))  # by then the transaction of the claim has ended
            assert await claim(group, 1)
            return list(owners(shared_place))

    with opened(shared_place) as (store, judge_id):
        assert asyncio.run(run(store, judge_id)) == [item(1)]

    assert owners(shared_place) == {}


def test_a_group_that_lives_keeps_its_claims(tmp_path):
    place = str(tmp_path / "replies.db")
    until = "SELECT until FROM voirdire_claims"

    async def run(store, judge_id):
        async with GroupCommit(store, judge_id, claim_s=0.3) as group:
            await claim(group, 1)
            ((first,),) = rows(place, until)
            deadline = time.monotonic() + 60
            later = first
            while later < first + 0.3 and time.monotonic() < deadline:
                await asyncio.sleep(0.02)
                ((later,),) = rows(place, until)
            return later - first

    with opened(place) as (store, judge_id):
        assert asyncio.run(run(store, judge_id)) >= 0.3


def test_a_closed_group_claims_nothing():
    async def run(store, judge_id):
        group = GroupCommit(store, judge_id)
        await group.close()
        await claim(group, 1)

    with (
        opened(":memory:") as (store, judge_id),
        pytest.raises(InputError, match="`claim` must come before `close`"),
    ):
        asyncio.run(run(store, judge_id))


def test_what_the_store_says_of_a_claim_is_raised_where_it_is_awaited():
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as group:
            store.close()
            await claim(group, 1)

    with (
        opened(":memory:") as (store, judge_id),
        pytest.raises(InputError, match="the store must be open"),
    ):
        asyncio.run(run(store, judge_id))


def start_run(place, *, count, claim_s, hold=False):
    return subprocess.Popen(
        [sys.executable, str(RUN), place, str(count), str(claim_s), *(["hold"] if hold else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.ci
def test_two_runs_at_once_pay_for_every_call_once(shared_place):
    runs = [start_run(shared_place, count=1_000, claim_s=30.0) for _ in range(2)]

    assert [run.stdout.readline() for run in runs] == ["ready\n"] * 2
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    outputs = [run.communicate(timeout=120) for run in runs]

    assert [run.returncode for run in runs] == [0, 0], outputs
    paid = [[int(line) for line in output.split()] for output, _ in outputs]
    assert sorted(paid[0] + paid[1]) == list(range(1_000))
    assert all(paid)  # they shared the work
    assert owners(shared_place) == {}
    with opened(shared_place) as (store, judge_id):
        assert sum(1 for _ in store.scan(judge_id)) == 1_000


@pytest.mark.ci
def test_what_a_killed_run_had_claimed_is_taken_over(shared_place):
    with start_run(shared_place, count=50, claim_s=3.0, hold=True) as killed:
        assert killed.stdout.readline() == "50\n"
        killed.kill()

    with opened(shared_place) as (store, judge_id):
        at_once = store.exchange(judge_id, claim=keys(*range(50)), owner="b", for_s=LONG_S)
        deadline = time.monotonic() + 60
        claimed = set(at_once)
        while len(claimed) < 50 and time.monotonic() < deadline:
            time.sleep(0.1)
            claimed |= store.exchange(judge_id, claim=keys(*range(50)), owner="b", for_s=LONG_S)

    assert at_once == set()
    assert claimed == set(keys(*range(50)))


@pytest.mark.slow
def test_threads_that_claim_the_same_calls_share_them(shared_place):
    won = {}
    with opened(shared_place) as (store, judge_id):

        def work(owner):
            won[owner] = set()
            for start in range(0, 2_000, 40):
                numbers = range(start, start + 60)  # they overlap
                won[owner] |= store.exchange(
                    judge_id, claim=keys(*numbers), owner=owner, for_s=LONG_S
                )

        threads = [threading.Thread(target=work, args=(owner,)) for owner in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert sum(map(len, won.values())) == 2_020
    assert set().union(*won.values()) == set(keys(*range(2_020)))


def test_a_stored_call_knows_its_key():
    assert StoredCall(b"\0" * 32, "joint", 2, b"").key == (b"\0" * 32, "joint", 2)
