"""A store in a file: whose it is, what it refuses, and what it does when the disk is against it."""

import contextlib
import sqlite3
import stat

import pytest

from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.db"


def fill(path, *, count=1):
    with open_store(path) as store:
        store.judge_id("sha256:judge", description={})
        store.put_now(1, [call(number) for number in range(count)])


def execute(path, statement):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchone()


def test_only_its_owner_can_read_the_file_and_the_log_beside_it(path):
    with open_store(path) as store, store.lock("key"):
        store.put_now(1, [call(1)])
        names = {
            file.name[:14]: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()
        }

    ours = {"replies.db", "replies.db-wal", "replies.db-shm"}
    assert names == dict.fromkeys(ours, 0o600) | {"replies.db-loc": 0o644}
    assert list(path.parent.iterdir()) == [path]
    assert execute(path, "PRAGMA journal_mode") == ("wal",)


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
        ("CREATE TABLE theirs (x)", "must be a store of replies, got a database of 1 table"),
        ("UPDATE voirdire_schema SET version = 2", "must be of version 1, got 2"),
    ],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(path, content, message, makes):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        fill(path) if "schema" in content else None
        execute(path, content)
    before = path.read_bytes()

    with pytest.raises(InputError, match=message):
        open_store(path, makes=makes)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_without_makes_nothing_is_created_and_with_it_an_empty_file_keeps_its_mode(path):
    for files in ([], [path]):
        with pytest.raises(InputError, match="must be a store of replies, got "):
            open_store(path, makes=False)
        assert list(path.parent.iterdir()) == files
        path.touch(0o640)

    fill(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_store_that_was_cut_off_is_reported(path):
    fill(path, count=2_000)
    path.write_bytes(path.read_bytes()[:20_480])

    with pytest.raises(InputError, match=r"malformed\)\. The file is damaged"):
        list(open_store(path).scan(1))


@pytest.mark.parametrize("place", ["missing/replies.db", ""])
def test_a_folder_that_is_missing_is_not_made_and_a_folder_is_no_store(tmp_path, place):
    with pytest.raises(InputError, match=r"\(unable to open database file\)\. Look at the file"):
        open_store(tmp_path / place)

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_what_was_put_before_is_kept(path, listen):
    fill(path)
    listen("checkout", lambda connection, *_: connection.execute("PRAGMA max_page_count = 40"))

    with open_store(path) as store:
        with pytest.raises(InputError, match=r"full\)\. Make room: what was put before is kept"):
            store.put_now(1, [call(number, blob=b"x" * 4_000) for number in range(1, 100)])
        store.put_now(1, [call(1)])

        assert {each.item for each in store.scan(1)} == {item(0), item(1)}


def test_a_store_that_may_only_be_read_is_read_and_says_so_when_written(path, listen):
    fill(path)
    listen("checkout", lambda connection, *_: connection.execute("PRAGMA query_only = ON"))

    with open_store(path) as store:
        assert set(store.get(1, [item(0)])) == {item(0)}
        with pytest.raises(InputError, match=r"readonly database\)\. Look at .*rights") as caught:
            store.put_now(1, [call(1, name="single/private", blob=b"a private response")])

    assert "private" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.usefixtures("impatient")
def test_a_file_that_another_program_never_lets_go_is_read_and_reported_when_written(path):
    fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with open_store(path) as store:
            assert store.judge_id("sha256:judge", description={}) == 1
            with pytest.raises(InputError, match=r"locked\)\. Another program holds it"):
                store.put_now(1, [call(1)])
            other.execute("ROLLBACK")
            store.put_now(1, [call(1)])
