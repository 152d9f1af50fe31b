"""A store in a file: whose it is, what it refuses, and what it does when the disk is against it."""

import contextlib
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest
from sqlalchemy import Engine, event

from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.db"


@contextlib.contextmanager
def every_connection(statement):
    """Have SQLite itself run a statement whenever a store takes a connection; give its answers."""
    answers = []

    def run(connection, *_):
        answers.append(connection.execute(statement).fetchone())

    event.listen(Engine, "checkout", run)
    try:
        yield answers
    finally:
        event.remove(Engine, "checkout", run)


def fill(path, *, count=1):
    with open_store(path) as store:
        store.judge_id("sha256:judge", description={})
        store.put_now(1, [call(number) for number in range(count)])


def execute(path, statement):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchone()


def test_only_its_owner_can_read_the_file_and_the_log_beside_it(path):
    with every_connection("PRAGMA synchronous") as synchronous, open_store(path) as store:
        store.put_now(1, [call(1)])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        with store.lock("key"):
            pass

    assert modes == {"replies.db": 0o600, "replies.db-wal": 0o600, "replies.db-shm": 0o600}
    assert list(path.parent.iterdir()) == [path]
    assert set(synchronous) == {(1,)}
    assert execute(path, "PRAGMA journal_mode") == ("wal",)


def test_an_empty_file_becomes_a_store_and_keeps_its_mode(path):
    path.touch(0o640)

    fill(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_store_of_an_earlier_release_with_claims_is_read_and_written(path):
    fill(path)
    execute(path, "CREATE TABLE voirdire_claims (judge_id, item, name, attempt, owner, until)")

    with open_store(path, makes=False) as store:
        store.put_now(1, [call(1)])
        assert set(store.get(1, [item(0), item(1)])) == {item(0), item(1)}


@pytest.mark.parametrize("makes", [True, False])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a database, but text\n" * 99, r"cannot be used \(file is not a database\)"),
        (b"SQLite format 3\0" + b"x" * 999, r"cannot be used \(file is not a database\)"),
        ("CREATE TABLE theirs (x)", "must be a store of replies, got a database of 1 table"),
        ("UPDATE voirdire_schema SET version = 2", "must be of version 1, got 2"),
        ("DELETE FROM voirdire_schema", "must be of version 1, got None"),
    ],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(path, content, message, makes):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        if "schema" in content:
            fill(path)
        execute(path, content)
    before = path.read_bytes()

    with pytest.raises(InputError, match=message):
        open_store(path, makes=makes)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("is_empty", [True, False])
def test_without_makes_nothing_is_created(path, is_empty):
    if is_empty:
        path.touch()

    with pytest.raises(InputError, match="must be a store of replies, got "):
        open_store(path, makes=False)

    assert [file.stat().st_size for file in path.parent.iterdir()] == [0] * is_empty


def test_a_store_that_was_cut_off_is_reported(path):
    fill(path, count=2_000)
    path.write_bytes(path.read_bytes()[:20_480])

    with (
        pytest.raises(InputError, match=r"malformed\)\. The file is damaged"),
        open_store(path) as store,
    ):
        store.get(1, [item(number) for number in range(2_000)])


@pytest.mark.parametrize("place", ["missing/replies.db", ""])
def test_a_folder_that_is_missing_is_not_made_and_a_folder_is_no_store(tmp_path, place):
    with pytest.raises(InputError, match=r"\(unable to open database file\)\. Look at the file"):
        open_store(tmp_path / place)

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_what_was_put_before_is_kept(path):
    fill(path)

    with every_connection("PRAGMA max_page_count = 40"), open_store(path) as store:
        with pytest.raises(InputError, match=r"full\)\. Make room: what was put before is kept"):
            store.put_now(1, [call(number, blob=b"x" * 4_000) for number in range(1, 100)])
        store.put_now(1, [call(1)])

        assert sorted(each.item for each in store.scan(1)) == sorted([item(0), item(1)])


@pytest.mark.ci
def test_a_disk_that_fails_is_said_and_what_was_put_before_is_kept(path):
    fill(path)
    # A limit of the system on the size of files: SQLite's own writes fail.
    script = f"""
from voirdire.store import StoredCall, open_store
with open_store({str(path)!r}) as store:
    try:
        store.put_now(1, [StoredCall(bytes(32), "x", n, b"x" * 4_000) for n in range(400)])
    except ValueError as error:
        print(error)
"""

    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert "the store cannot be used (disk I/O error)" in done.stdout, done.stderr
    with open_store(path) as store:
        assert sum(1 for _ in store.scan(1)) == 1


def test_a_store_that_may_only_be_read_is_read_and_says_so_when_written(path):
    fill(path)

    with every_connection("PRAGMA query_only = ON"), open_store(path) as store:
        assert set(store.get(1, [item(0)])) == {item(0)}
        with pytest.raises(InputError, match=r"readonly database\)\. Look at .*rights") as caught:
            store.put_now(1, [call(1, name="single/private", blob=b"a private response")])

    assert "private" not in f"{caught.value} {caught.value.__cause__}"


def test_a_writer_waits_for_another_program_and_readers_do_not(path):
    fill(path)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    with open_store(path) as store, contextlib.closing(other):
        assert sum(1 for _ in store.scan(1)) == 1
        assert store.judge_id("sha256:judge", description={}) == 1
        threading.Timer(0.3, other.execute, ["ROLLBACK"]).start()
        begun = time.monotonic()
        store.put_now(1, [call(1)])

    assert time.monotonic() - begun > 0.25


@pytest.mark.usefixtures("impatient")
def test_a_file_that_another_program_never_lets_go_is_reported(path):
    fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with open_store(path) as store:
            with pytest.raises(InputError, match=r"locked\)\. Another program holds it"):
                store.put_now(1, [call(1)])
            other.execute("ROLLBACK")
            store.put_now(1, [call(1)])
