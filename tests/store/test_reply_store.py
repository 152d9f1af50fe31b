"""What a store promises, in both databases alike."""

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import JudgeRecord, open_store

ITEMS = st.integers(0, 5)
KEYS = st.tuples(ITEMS, st.sampled_from(["joint", "single/a", "单"]), st.integers(0, 2))
PUTS = st.lists(st.tuples(st.integers(0, 1), st.lists(st.tuples(KEYS, st.binary(max_size=4)))))


@given(puts=PUTS, asked=st.lists(ITEMS, max_size=6))
def test_a_store_is_a_dictionary_whose_first_value_stays(puts, asked):
    expected = ({}, {})
    with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/replies.db") as store:
        judges = [store.judge_id(name, description={}) for name in ("first", "second")]

        for judge, entries in puts:
            for key, blob in entries:
                expected[judge].setdefault(key, blob)
            store.put_now(
                judges[judge], [call(n, name=a, attempt=b, blob=c) for (n, a, b), c in entries]
            )

        for judge, known in zip(judges, expected, strict=True):
            by_item = {}
            for (number, name, _), blob in sorted(known.items()):
                if number in asked:
                    by_item.setdefault(item(number), {}).setdefault(name, []).append(blob)
            assert store.get(judge, [item(number) for number in asked]) == by_item
            calls = [call(n, name=a, attempt=b, blob=c) for (n, a, b), c in known.items()]
            assert list(store.scan(judge)) == sorted(
                calls, key=lambda c: (c.item, c.name, c.attempt)
            )


def test_a_judge_has_one_number_and_its_first_description(store, judge_id):
    description = {"language": "中文", "seed": None}

    again = store.judge_id("sha256:judge", description={"model": "another"})
    other = store.judge_id("sha256:other", description=description)

    assert again == judge_id != other
    assert store.judges() == [
        JudgeRecord(id=judge_id, fingerprint="sha256:judge", description={"model": "scripted"}),
        JudgeRecord(id=other, fingerprint="sha256:other", description=description),
    ]


def test_names_and_blobs_of_any_kind_come_back_as_they_were(store, judge_id):
    names = [
        "'; DROP TABLE voirdire_calls; --",
        '"',
        "\\",
        "%b %s %(name)s :name ? {} $1",
        "\u202e",
    ]
    blobs = [b"", b"\0", bytes(range(256)), bytes(range(256)) * 20_000]

    store.put_now(
        judge_id, [call(1, name=n, attempt=k, blob=b) for n in names for k, b in enumerate(blobs)]
    )

    assert store.get(judge_id, [item(1)]) == {item(1): dict.fromkeys(names, blobs)}


@pytest.mark.parametrize("n_items", [1, 500, 501, 1_200])
def test_any_number_of_items_is_put_found_and_scanned(store, judge_id, n_items):
    calls = [call(number, blob=b"%d" % number) for number in range(n_items)]

    store.put_now(judge_id, calls)

    found = store.get(judge_id, [item(number) for number in (*range(-3, n_items + 3), 0)])
    assert found == {each.item: {"joint": [each.blob]} for each in calls}
    assert list(store.scan(judge_id)) == sorted(calls, key=lambda each: each.item)


def test_a_group_is_put_whole_or_not_at_all(store, judge_id):
    with pytest.raises((InputError, OverflowError)):
        store.put_now(judge_id, [*(call(number) for number in range(700)), call(7, attempt=2**70)])

    assert list(store.scan(judge_id)) == []


def test_a_scan_lets_writers_go_on(store, judge_id):
    store.put_now(judge_id, [call(number) for number in range(600)])
    scan = store.scan(judge_id)
    next(scan)

    store.put_now(judge_id, [call(1_000)])

    assert sum(1 for _ in scan) == 599


def test_threads_may_share_a_store(store):
    def work(number):
        judge_id = store.judge_id("sha256:judge", description={})
        mine = [call(100 * number + each) for each in range(100)]
        for start in range(0, 100, 10):
            store.put_now(judge_id, mine[start : start + 10])
        return judge_id, len(store.get(judge_id, [each.item for each in mine]))

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(work, range(8))) == {(1, 100)}

    assert sum(1 for _ in store.scan(1)) == 800


def test_a_call_is_committed_when_put_returns(place, store, judge_id):
    async def run(other):
        for number in range(5):
            await store.put(judge_id, call(number))
            assert len(list(other.scan(judge_id))) == number + 1
        assert await store.aget(judge_id, [item(4)]) == {item(4): {"joint": [b"reply"]}}

    with open_store(place) as other:
        asyncio.run(run(other))


@pytest.fixture
def held(tmp_path):
    """Another program that holds the file of a new store until `ROLLBACK`."""
    with open_store(tmp_path / "held.db") as store:
        store.judge_id("sha256:judge", description={})
        other = sqlite3.connect(tmp_path / "held.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        yield store, other
        other.close()


def test_calls_that_arrive_during_a_commit_share_the_next_one_and_the_loop_goes_on(held):
    store, other = held
    commits = []

    async def run():
        puts = [asyncio.create_task(store.put(1, call(number))) for number in range(300)]
        await asyncio.sleep(0.05)
        puts[0].cancel()  # it is committed all the same
        puts[250].cancel()
        assert not any(put.done() for put in puts[1:250])
        other.execute("ROLLBACK")
        return await asyncio.gather(*puts, return_exceptions=True)

    event.listen(Engine, "commit", commits.append)
    try:
        ends = asyncio.run(run())
    finally:
        event.remove(Engine, "commit", commits.append)

    assert [type(end).__name__ for end in ends].count("CancelledError") == 2
    assert ends.count(None) == 298
    assert len(commits) <= 2
    assert sum(1 for _ in store.scan(1)) == 300


def test_closing_waits_for_what_was_put(held, tmp_path):
    store, other = held

    async def run():
        put = asyncio.create_task(store.put(1, call(1)))
        await asyncio.sleep(0.05)
        threading.Timer(0.1, other.execute, ["ROLLBACK"]).start()
        store.close()
        await put

    asyncio.run(run())

    with open_store(tmp_path / "held.db") as again:
        assert sum(1 for _ in again.scan(1)) == 1


def test_a_put_gets_any_error_and_the_writer_goes_on(store, judge_id):
    async def run():
        with pytest.raises((InputError, OverflowError)):
            await store.put(judge_id, call(1, attempt=2**70))
        await asyncio.wait_for(store.put(judge_id, call(2)), 60)

    asyncio.run(run())

    assert [each.item for each in store.scan(judge_id)] == [item(2)]


def test_a_closed_store_says_so(store, judge_id):
    store.close()
    store.close()

    for use in (
        lambda: asyncio.run(asyncio.wait_for(store.put(judge_id, call(1)), 60)),
        lambda: store.put_now(judge_id, [call(1)]),
        lambda: store.get(judge_id, [item(1)]),
        lambda: next(store.scan(judge_id)),
        lambda: store.lock("key").__enter__(),
        store.judges,
    ):
        with pytest.raises(InputError, match="the store must be open, got a closed one"):
            use()


@pytest.mark.ci
def test_a_forked_process_must_open_the_store_itself(place):
    script = """
import asyncio, os, sys
from voirdire.store import StoredCall, open_store

store = open_store(sys.argv[1])
judge_id = store.judge_id("sha256:judge", description={})
call = StoredCall(bytes(32), "joint", 0, b"")
asyncio.run(store.put(judge_id, call))
if not (child := os.fork()):
    try:
        asyncio.run(store.put(judge_id, call))
    except ValueError as error:
        store.close()
        os._exit(7 if "before a fork" in str(error) else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert len(list(store.scan(judge_id))) == 1
raise SystemExit(code)
"""
    done = subprocess.run([sys.executable, "-c", script, place], check=False, timeout=60)

    assert done.returncode == 7
