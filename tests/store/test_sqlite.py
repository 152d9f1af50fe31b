"""A store in a file: whose it is, what it refuses, and what it does when the disk is against it."""

import contextlib
import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest
from sqlalchemy import Engine, event

from store.stored_examples import call, item
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
        judge_id = store.judge_id("sha256:judge", description={})
        store.put(judge_id, [call(number) for number in range(count)])
    return judge_id


def test_only_its_owner_can_read_the_file_and_the_log_beside_it(path):
    with open_store(path) as store:
        judge_id = store.judge_id("sha256:judge", description={})
        store.put(judge_id, [call(1)])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert modes == {"replies.db": 0o600, "replies.db-wal": 0o600, "replies.db-shm": 0o600}
    assert list(path.parent.iterdir()) == [path]


def test_the_log_is_written_ahead_and_a_commit_does_not_wait_for_the_disk(path):
    fill(path)

    with every_connection("PRAGMA synchronous") as synchronous, open_store(path) as store:
        store.judges()

    assert set(synchronous) == {(1,)}
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_a_store_and_keeps_its_mode(path):
    path.touch(0o640)

    fill(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "content",
    [b"not a database, but text\n" * 99, b"\0" * 8_192, b"SQLite format 3\0" + b"x" * 999],
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path, content):
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"replies\.db: the store cannot be used \(file is not"):
        open_store(path)

    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    content = path.read_bytes()

    with pytest.raises(InputError, match="must be a store of replies, got a database with other"):
        open_store(path)

    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [2, 0, None])
def test_a_store_of_another_version_is_refused_and_left_as_it_is(path, version):
    fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if version is None:
            connection.execute("DELETE FROM voirdire_schema")
        else:
            connection.execute("UPDATE voirdire_schema SET version = ?", (version,))
    content = path.read_bytes()

    with pytest.raises(InputError, match=f"must be of version 1, got {version}"):
        open_store(path)

    assert path.read_bytes() == content


def test_a_store_that_was_cut_off_is_reported(path):
    fill(path, count=2_000)
    path.write_bytes(path.read_bytes()[:20_480])

    with (
        pytest.raises(InputError, match=r"malformed\)\. The file is damaged"),
        open_store(path) as store,
    ):
        store.get(1, [item(number) for number in range(2_000)])


def test_a_folder_that_is_missing_is_not_made(tmp_path):
    with pytest.raises(InputError, match=r"cannot be made \(No such file.*\)\. Make its folder"):
        open_store(tmp_path / "missing" / "replies.db")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(InputError, match="the store cannot be used"):
        open_store(tmp_path)


def test_a_file_where_a_folder_should_be_is_reported(path):
    path.touch()

    with pytest.raises(InputError, match=r"cannot be made \(Not a directory\)"):
        open_store(path / "replies.db")


def test_a_link_to_a_file_that_is_not_there_yet_makes_a_private_file(tmp_path):
    (tmp_path / "link.db").symlink_to("replies.db")

    fill(tmp_path / "link.db")

    assert stat.S_IMODE((tmp_path / "replies.db").stat().st_mode) == 0o600


def test_a_full_disk_is_said_and_what_was_put_before_is_kept(path):
    judge_id = fill(path)

    with every_connection("PRAGMA max_page_count = 40"), open_store(path) as store:
        with pytest.raises(InputError, match=r"full\)\. Make room: what was put before is kept"):
            store.put(judge_id, [call(number, blob=b"x" * 4_000) for number in range(1, 100)])
        assert sum(1 for _ in store.scan(judge_id)) == 1
        store.put(judge_id, [call(1)])

    with open_store(path) as store:
        assert set(store.get(judge_id, [item(0), item(1), item(2)])) == {item(0), item(1)}


@pytest.mark.ci
def test_a_disk_that_fails_is_said_and_what_was_put_before_is_kept(path):
    judge_id = fill(path)

    # A limit of the system on the size of files: SQLite's own writes fail.
    script = f"""
import sys
sys.path[:0] = {[str(path.parent), *sys.path]!r}
from store.stored_examples import call
from voirdire.errors import InputError
from voirdire.store import open_store

with open_store({str(path)!r}) as store:
    try:
        store.put({judge_id}, [call(n, blob=b"x" * 4_000) for n in range(1, 400)])
    except InputError as error:
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
        assert sum(1 for _ in store.scan(judge_id)) == 1


def test_a_store_that_may_only_be_read_is_read_and_says_so_when_written(path):
    judge_id = fill(path)

    with every_connection("PRAGMA query_only = ON"), open_store(path) as store:
        assert store.get(judge_id, [item(0)]) == {item(0): [call(0)]}
        with pytest.raises(InputError, match=r"readonly database\)\. Make it writable"):
            store.put(judge_id, [call(1)])


@pytest.mark.ci
def test_a_folder_that_may_not_be_written_is_reported(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    script = (
        "import sys; from voirdire.store import open_store\n"
        "try: open_store(sys.argv[1])\n"
        "except ValueError as error: print(type(error).__name__, error)"
    )

    done = subprocess.run(
        [*without_privileges(), sys.executable, "-c", script, str(folder / "replies.db")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.startswith("InputError "), done.stderr
    assert "the store cannot be made (Permission denied)" in done.stdout, done.stderr


def without_privileges() -> list[str]:
    """Take from root the right to write everywhere; other users have no such right."""
    if os.geteuid():
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may write everywhere, and setpriv is not installed")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


@pytest.mark.ci
def test_a_writer_waits_for_another_program(path):
    judge_id = fill(path)
    with contextlib.closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")

        with open_store(path) as store:
            putting = threading.Thread(target=store.put, args=(judge_id, [call(1)]))
            putting.start()
            putting.join(0.3)
            assert putting.is_alive()
            other.execute("ROLLBACK")
            putting.join(60)
            assert not putting.is_alive()
            assert sum(1 for _ in store.scan(judge_id)) == 2


def test_readers_do_not_wait_for_a_writer(path):
    judge_id = fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with open_store(path) as store:
            assert sum(1 for _ in store.scan(judge_id)) == 1
            assert store.judge_id("sha256:judge", description={}) == judge_id
        other.execute("ROLLBACK")


@pytest.mark.usefixtures("impatient")
def test_a_file_that_another_program_never_lets_go_is_reported(path):
    judge_id = fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with every_connection("PRAGMA busy_timeout = 10"), open_store(path) as store:
            with pytest.raises(InputError, match=r"locked\)\. Another program holds it"):
                store.put(judge_id, [call(1)])
            other.execute("ROLLBACK")

            store.put(judge_id, [call(1)])
            assert sum(1 for _ in store.scan(judge_id)) == 2


def test_no_message_holds_what_was_to_be_stored(path):
    judge_id = fill(path)

    with (
        every_connection("PRAGMA query_only = ON"),
        open_store(path) as store,
        pytest.raises(InputError) as caught,
    ):
        store.put(judge_id, [call(1, name="single/private", blob=b"a private response")])

    assert "private" not in f"{caught.value} {caught.value.__cause__}"
