"""What a store promises, in both databases alike, to threads and to several processes."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import JudgeRecord, StoredCall, open_store

NAMES = ["joint", "单", "'; DROP TABLE voirdire_calls; --", "\\", "%b %s %(name)s :name ? {} $1"]
KEYS = st.tuples(st.integers(0, 5), st.sampled_from(NAMES), st.integers(0, 2))
PUTS = st.lists(st.tuples(st.integers(0, 1), st.lists(st.tuples(KEYS, st.binary(max_size=4)))))


@given(puts=PUTS, asked=st.lists(st.integers(0, 5), max_size=6))
def test_a_store_is_a_dictionary_whose_first_value_stays(puts, asked):
    expected = ({}, {})
    with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/replies.db") as store:
        judges = [store.judge_id(name, description={}) for name in ("first", "second")]

        for judge, entries in puts:
            calls = [StoredCall(item(key[0]), *key[1:], blob) for key, blob in entries]
            store.put_now(judges[judge], calls)
            for each in calls:
                expected[judge].setdefault((each.item, each.name, each.attempt), each)

        for judge, known in zip(judges, expected, strict=True):
            ordered = [known[key] for key in sorted(known)]
            assert list(store.scan(judge)) == ordered
            found = {}
            for each in ordered:
                found.setdefault(each.item, {}).setdefault(each.name, []).append(each.blob)
            wanted = {item(number) for number in asked} & set(found)
            assert store.get(judge, list(map(item, asked))) == {key: found[key] for key in wanted}


def test_a_judge_has_one_number_and_its_first_description(store):
    first, second = {"language": "中文", "seed": None}, {"model": "another"}

    numbers = [store.judge_id(name, description=d) for name in "ab" for d in (first, second)]

    assert numbers == [1, 1, 2, 2]
    records = [JudgeRecord(id=n, fingerprint=f, description=first) for n, f in ((1, "a"), (2, "b"))]
    assert store.judges() == records


@pytest.mark.parametrize("n_items", [1, 500, 501, 1_200])
def test_any_number_of_items_is_put_found_and_scanned(store, n_items):
    calls = [call(k, name=NAMES[-1], blob=bytes(range(256)) * 20) for k in range(n_items)]

    store.put_now(1, calls)

    found = asyncio.run(store.aget(1, [item(number) for number in (*range(-3, n_items + 3), 0)]))
    assert found == {each.item: {each.name: [each.blob]} for each in calls}
    scan = store.scan(1)
    scanned = [next(scan)]
    store.put_now(1, [call(1, attempt=9)])  # nobody waits for those who read
    assert [*scanned, *scan] == sorted(calls, key=lambda each: each.item)


def test_a_call_is_committed_when_put_returns(place, store):
    with open_store(place) as other:
        for number in range(5):
            asyncio.run(store.put(1, call(number)))
            assert len(list(other.scan(1))) == number + 1


def test_puts_share_a_commit_while_the_loop_goes_on_and_closing_waits_for_them(tmp_path, listen):
    commits = []

    async def run(store, other):
        puts = [asyncio.create_task(store.put(1, call(number))) for number in range(300)]
        await asyncio.sleep(0.05)
        assert not any(put.done() for put in puts)
        for put in puts[::100]:  # they are committed all the same
            put.cancel()
        threading.Timer(0.1, other.execute, ["ROLLBACK"]).start()
        store.close()
        return await asyncio.gather(*puts, return_exceptions=True)

    with open_store(tmp_path / "a.db") as store:
        listen("commit", commits.append)
        other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
        with closing(other):
            other.execute("BEGIN IMMEDIATE")
            ends = asyncio.run(run(store, other))

    assert [type(end).__name__ for end in ends] == (["CancelledError"] + ["NoneType"] * 99) * 3
    assert len(commits) <= 2
    with open_store(tmp_path / "a.db") as store:
        assert sum(1 for _ in store.scan(1)) == 300


def test_puts_get_any_error_none_of_their_calls_is_there_and_the_writer_goes_on(tmp_path):
    async def run(store):
        wrong = call(1, attempt=2**70)  # the driver's error is none of SQL's
        with pytest.raises(OverflowError):
            await asyncio.wait_for(store.put(1, wrong), 60)
        with pytest.raises(OverflowError):
            store.put_now(1, [call(1), wrong])
        await asyncio.wait_for(store.put(1, call(2)), 60)

    with open_store(tmp_path / "a.db") as store:
        asyncio.run(run(store))
        assert list(store.scan(1)) == [call(2)]


def test_threads_may_share_a_store(store):
    def work(thread):
        judge_id = store.judge_id("sha256:judge", description={})
        for number in range(100 * thread, 100 * thread + 100, 10):
            store.put_now(judge_id, [call(number + each) for each in range(10)])
            assert len(store.get(judge_id, [item(number + each) for each in range(10)])) == 10

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))

    assert sum(1 for _ in store.scan(1)) == 800


def test_a_closed_store_says_so(store):
    store.close()
    store.close()

    for use in (
        lambda: asyncio.run(asyncio.wait_for(store.put(1, call(1)), 60)),
        *(lambda: store.put_now(1, [call(1)]), lambda: store.get(1, [item(1)])),
        *(lambda: next(store.scan(1)), lambda: store.lock("key").__enter__(), store.judges),
    ):
        with pytest.raises(InputError, match="the store must be open, got a closed one"):
            use()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_must_open_the_store_itself(store):
    asyncio.run(store.put(1, call(1)))

    if not (child := os.fork()):
        try:
            asyncio.run(store.put(1, call(2)))
        except InputError as error:
            os._exit(7 if "before a fork" in str(error) else 1)
        finally:
            os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.put_now(1, [call(2)])


def start(*arguments):
    program = [sys.executable, str(Path(__file__).with_name("stored_calls.py"))]
    return subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


@pytest.mark.ci
def test_writers_at_once_lose_nothing_that_they_were_promised_when_one_is_killed(place):
    # They open the store at the same time as well: one of them makes the tables.
    writers = [start(place, "put", f"w{k}", 300 * k, 900) for k in range(4)]

    outputs = ["".join(writers[0].stdout.readline() for _ in range(155))]
    writers[0].kill()
    outputs += [writer.communicate(timeout=120)[0] for writer in writers]

    assert [writer.returncode for writer in writers] == [-9, 0, 0, 0]
    with open_store(place) as store:
        found = {each.item: each.blob.decode() for each in store.scan(1)}
    assert {item(number) for number in range(300, 1_800)} <= found.keys()
    promised = [line.split() for output in outputs for line in output.splitlines() if " w" in line]
    assert len(promised) >= 155 + 3 * 900
    assert all(found[item(number)].startswith(writer) for number, writer in promised)


@pytest.mark.ci
def test_a_lock_keeps_other_runs_out_until_its_process_is_killed(place):
    with open_store(place) as store, start(place, "lock", "judge, output") as other:
        assert other.stdout.readline() == "held\n"

        with pytest.raises(InputError, match=r"another run .* or name another output"):
            store.lock("judge, output").__enter__()
        with store.lock("judge, another output"):
            other.kill()
        with store.lock("judge, output"), pytest.raises(InputError, match="another run"):
            store.lock("judge, output").__enter__()
        with store.lock("judge, output"):
            pass
