"""Where a store is, what is refused there, and what is said when a disk or a server is away."""

import sqlite3
import stat
import sys
import warnings
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from servers.postgres import running_postgres
from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import open_store

SECRET = "s3cr3t-p4ss"


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "ext4", "fuseblk"])
def test_a_file_on_a_network_disk_is_warned_of(kind, tmp_path, monkeypatch):
    read = Path.read_text
    mounts = f"none / overlay rw 0 0\nhost:/d {tmp_path} {kind} rw 0 0\n"
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda self, **k: mounts if str(self) == "/proc/mounts" else read(self, **k),
    )
    place = tmp_path / "deeper" / "r.sqlite"
    place.parent.mkdir()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        open_store(place).close()

    said = [str(each.message) for each in found]
    expected = kind in ("nfs4", "cifs", "fuse.sshfs")
    assert [f"on a network disk ({kind})" in text for text in said] == [True] * expected


@pytest.mark.parametrize("written", ["{}", "{folder}/{}", "sqlite:///{}", "SQLite:///{folder}/{}"])
@pytest.mark.parametrize("name", ["a.db", "%20 x=1#y.db", "回复.db", "a'b\".db", "file:x.db"])
def test_a_file_may_have_any_name(written, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with open_store(written.format(name, folder=tmp_path)) as store:
        assert repr(store) == f"ReplyStore({str(tmp_path.resolve() / name)!r})"

    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "written",
    [
        *("", "a\0b", "sqlite://a.db", "sqlite:///", "sqlite:///a.db?mode=ro"),
        *(f"{scheme}://user:{SECRET}@host/d" for scheme in ("mysql", "http", "postgresql+asyncpg")),
        # passwords that were not encoded, and addresses that are misspelt
        *(f"postgresql://u:p@{SECRET}@host/d", f"postgresql://u:p@x/{SECRET}@host/d"),
        *(f"postgresql://u:p@host:{SECRET}/d", f"postgres:u:{SECRET}@host/d"),
        f"PostgreSQL+psycopg:/u:{SECRET}@host/d",
    ],
)
def test_what_is_no_address_is_refused_with_the_rule_and_without_a_password(written):
    with pytest.raises(InputError, match=r"`url` must be .*sqlite:///PATH.*, got") as caught:
        open_store(written)

    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        (f"u:{SECRET}@127.0.0.1:1/d", r"//127\.0\.0\.1:1/d: .*Connection refused"),
        (f"u@/d?host=/nowhere&password={SECRET}", "///nowhere/d: .*No such file"),
        (f"u@127.0.0.1:1/d?password={SECRET}&sslmode={SECRET}", r"sslmode value: \"\*\*\*\""),
    ],
)
def test_a_server_that_is_not_there_is_reported_at_once_without_a_password(scheme, place, message):
    with pytest.raises(InputError, match=f"^postgresql:.*{message}.* Look at the server") as caught:
        open_store(f"{scheme}://{place}")

    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}"
    assert caught.value.__suppress_context__  # it would be printed with the traceback


def test_without_the_driver_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(InputError, match=r"pip install \"voirdire\[postgres\]\""):
        open_store(f"postgresql://user:{SECRET}@host/replies")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.db"


def fill(path):
    with open_store(path) as store:
        store.put_now(store.judge_id("sha256:judge", description={}), [call(0)])


def execute(path, statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchone()


def test_only_its_owner_can_read_the_file_and_the_log_beside_it(path, tmp_path):
    with open_store(path) as store, store.lock("key"):
        store.put_now(1, [call(1)])
        modes = {each.name[:14]: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}

    ours = {"replies.db", "replies.db-wal", "replies.db-shm"}
    assert modes == dict.fromkeys(ours, 0o600) | {"replies.db-loc": 0o644}
    assert list(path.parent.iterdir()) == [path]
    assert execute(path, "PRAGMA journal_mode") == ("wal",)


@pytest.mark.parametrize("makes", [True, False])
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP TABLE voirdire_schema", "must be a store of replies, got a database of 2 tables"),
        ("UPDATE voirdire_schema SET version = 2", "must be of version 1, got 2"),
        (None, r"the store cannot be used \(file is not a database\)\. Look at the file"),
    ],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(path, statement, message, makes):
    fill(path)
    execute(path, statement) if statement else path.write_bytes(b"no database, but text\n" * 99)
    before = path.read_bytes()

    with pytest.raises(InputError, match=message):
        open_store(path, makes=makes)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_created_without_makes_and_an_empty_file_keeps_its_mode(path):
    for files in ([], [path]):
        with pytest.raises(InputError, match="must be a store of replies, got "):
            open_store(path, makes=False)
        assert list(path.parent.iterdir()) == files
        path.touch(0o640)

    fill(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    execute(path, "CREATE TABLE voirdire_claims (owner)")  # earlier releases made it
    with open_store(path, makes=False) as store:
        store.put_now(1, [call(1)])


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


def test_a_file_that_another_program_holds_is_read_and_reported_when_written(path, monkeypatch):
    monkeypatch.setattr("voirdire.store.database._PATIENCE_S", 0.0)
    monkeypatch.setitem(
        open_store.__globals__["Database"].__init__.__globals__["_SQLITE_OPTIONS"], "timeout", 0.01
    )
    fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, open_store(path) as store:
        other.execute("BEGIN IMMEDIATE")
        assert store.judge_id("sha256:judge", description={}) == 1
        with pytest.raises(InputError, match=r"locked\)\. Another program holds it"):
            store.put_now(1, [call(1)])
        other.execute("ROLLBACK")
        store.put_now(1, [call(1)])


@pytest.mark.ci
def test_a_store_lives_beside_other_tables_and_is_not_made_by_reading(postgres_place):
    with psycopg.connect(postgres_place) as connection:
        connection.execute("CREATE TABLE theirs (x integer)")

    with pytest.raises(InputError, match="must be a store of replies, got a database of 1 table"):
        open_store(postgres_place, makes=False)
    open_store(postgres_place).close()
    open_store(postgres_place, makes=False).close()


@pytest.mark.ci
def test_a_server_that_cut_its_connections_is_asked_again_until_it_stops_for_good(monkeypatch):
    with running_postgres() as url:
        store = open_store(url)
        for number in range(2):
            store.put_now(1, [call(number)])
            with psycopg.connect(url) as connection:
                others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        assert len(store.get(1, [item(0), item(1)])) == 2

    monkeypatch.setattr("voirdire.store.database._PATIENCE_S", 0.0)
    with store, pytest.raises(InputError, match="the store cannot be used"):
        store.put_now(1, [call(2)])
