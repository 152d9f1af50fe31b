"""Calls from async code: committed before `put` returns, many at a time."""

import asyncio
import contextlib
import sqlite3
import threading

import pytest
from sqlalchemy import Engine, event

from store.stored_examples import call, item
from voirdire.errors import InputError
from voirdire.store import GroupCommit, open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.db"


@contextlib.contextmanager
def opened(place):
    with open_store(place) as store:
        yield store, store.judge_id("sha256:judge", description={})


@contextlib.contextmanager
def commits():
    """Note the thread of every commit of every store."""
    noted = []

    def note(_connection):
        noted.append(threading.current_thread().name)

    event.listen(Engine, "commit", note)
    try:
        yield noted
    finally:
        event.remove(Engine, "commit", note)


class HeldFile:
    """Another program that holds a file of SQLite, so that every commit waits."""

    def __init__(self, path):
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self):
        self._connection.execute("BEGIN IMMEDIATE")
        return self

    def release(self):
        self._connection.execute("ROLLBACK")

    def __exit__(self, *_):
        self._connection.close()


def test_a_call_is_committed_when_put_returns(shared_place):
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as commit:
            for number in range(5):
                await commit.put(call(number))
                with open_store(shared_place) as other:
                    assert sum(1 for _ in other.scan(judge_id)) == number + 1

    with opened(shared_place) as (store, judge_id):
        asyncio.run(run(store, judge_id))


def test_calls_that_arrive_during_a_commit_share_the_next_one(path):
    async def run(store, judge_id):
        with HeldFile(path) as other:
            async with GroupCommit(store, judge_id) as commit:
                puts = [asyncio.create_task(commit.put(call(number))) for number in range(300)]
                await asyncio.sleep(0.05)
                assert not any(put.done() for put in puts)
                other.release()
                await asyncio.gather(*puts)

    with opened(path) as (store, judge_id), commits() as noted:
        asyncio.run(run(store, judge_id))

        assert sum(1 for _ in store.scan(judge_id)) == 300
    # The first call alone, and all others together.
    assert len(noted) == 2
    assert len(set(noted)) == 1
    assert noted[0].startswith("voirdire-store")


def test_thousands_of_calls_from_many_workers_are_all_there(shared_place):
    async def run(store, judge_id):
        numbers = iter(range(3_000))

        async def work(commit):
            for number in numbers:
                await commit.put(call(number, blob=b"%d" % number))

        async with GroupCommit(store, judge_id) as commit, asyncio.TaskGroup() as workers:
            for _ in range(40):
                workers.create_task(work(commit))

    with opened(shared_place) as (store, judge_id):
        asyncio.run(run(store, judge_id))

        found = store.get(judge_id, [item(number) for number in range(3_000)])
        assert {number: found[item(number)][0].blob for number in range(3_000)} == {
            number: b"%d" % number for number in range(3_000)
        }


def test_the_loop_goes_on_while_a_commit_waits(path):
    async def run(store, judge_id):
        with HeldFile(path) as other:
            async with GroupCommit(store, judge_id) as commit:
                put = asyncio.create_task(commit.put(call(1)))
                turns = 0
                while turns < 20:
                    await asyncio.sleep(0.005)
                    turns += 1
                assert not put.done()
                other.release()
                await put

    with opened(path) as (store, judge_id):
        asyncio.run(run(store, judge_id))


def test_a_call_whose_waiter_is_cancelled_is_committed_all_the_same(path):
    async def run(store, judge_id):
        with HeldFile(path) as other:
            async with GroupCommit(store, judge_id) as commit:
                puts = [asyncio.create_task(commit.put(call(number))) for number in range(10)]
                await asyncio.sleep(0.05)
                for put in puts[::2]:
                    put.cancel()
                ends = asyncio.gather(*puts, return_exceptions=True)
                await asyncio.sleep(0)
                other.release()
                return await ends

    with opened(path) as (store, judge_id):
        ends = asyncio.run(run(store, judge_id))

        assert sum(1 for _ in store.scan(judge_id)) == 10
    assert [type(end).__name__ for end in ends] == ["CancelledError", "NoneType"] * 5


def test_a_run_that_is_cancelled_as_a_whole_commits_what_it_had_put(path):
    async def run(store, judge_id, other):
        async with GroupCommit(store, judge_id) as commit, asyncio.TaskGroup() as workers:
            for number in range(10):
                workers.create_task(commit.put(call(number)))
            await asyncio.sleep(0.05)
            other.release()
            asyncio.current_task().cancel()

    with opened(path) as (store, judge_id):
        with HeldFile(path) as other, pytest.raises(asyncio.CancelledError):
            asyncio.run(run(store, judge_id, other))

        assert sum(1 for _ in store.scan(judge_id)) == 10


def test_closing_waits_for_what_is_under_way(path):
    async def run(store, judge_id):
        commit = GroupCommit(store, judge_id)
        with HeldFile(path) as other:
            puts = [asyncio.create_task(commit.put(call(number))) for number in range(10)]
            await asyncio.sleep(0.05)
            closing = [asyncio.create_task(commit.close()) for _ in range(2)]
            await asyncio.sleep(0.05)
            assert not any(close.done() for close in closing)
            other.release()
            await asyncio.gather(*closing)
            assert sum(1 for _ in store.scan(judge_id)) == 10
            await asyncio.gather(*puts)
        await commit.close()

    with opened(path) as (store, judge_id):
        asyncio.run(run(store, judge_id))


def test_after_closing_a_call_is_refused():
    async def run(store, judge_id):
        commit = GroupCommit(store, judge_id)
        await commit.close()
        await commit.put(call(1))

    with opened(":memory:") as (store, judge_id):
        with pytest.raises(InputError, match="`put` must come before `close`"):
            asyncio.run(run(store, judge_id))

        assert sum(1 for _ in store.scan(judge_id)) == 0


def test_what_the_store_says_is_raised_where_each_call_waits(path):
    async def run(store, judge_id):
        async with GroupCommit(store, judge_id) as commit:
            large = [call(number, blob=b"x" * 4_000) for number in range(100)]
            ends = await asyncio.gather(*map(commit.put, large), return_exceptions=True)
            # Those of the next transaction are another matter.
            await commit.put(call(1_000))
            return ends

    def limit(connection, _record):
        connection.execute("PRAGMA max_page_count = 40")

    event.listen(Engine, "connect", limit)
    try:
        with opened(path) as (store, judge_id):
            ends = asyncio.run(run(store, judge_id))

            assert set(store.get(judge_id, [item(0), item(1), item(1_000)])) == {
                item(0),
                item(1_000),
            }
    finally:
        event.remove(Engine, "connect", limit)
    # The first call went alone and had room.
    assert ends[0] is None
    assert {type(end) for end in ends[1:]} == {InputError}
    assert "Make room" in str(ends[1])
