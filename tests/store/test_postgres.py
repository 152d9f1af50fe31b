"""A store on a real server: what is asked of it, and what happens when it goes away."""

import sys
import threading
import time

import psycopg
import pytest

from servers.postgres import running_postgres
from store.stored_examples import call, item
from voirdire.errors import InputError
from voirdire.store import open_store

SECRET = "s3cr3t-p4ss"


@pytest.mark.ci
def test_a_store_lives_beside_other_tables(postgres_place):
    with psycopg.connect(postgres_place) as connection:
        connection.execute("CREATE TABLE theirs (x integer)")

    with open_store(postgres_place) as store:
        store.put(store.judge_id("sha256:judge", description={}), [call(1)])

    with psycopg.connect(postgres_place) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        ).fetchall()
    ours = ("calls", "claims", "judges", "schema")
    assert tables == [("theirs",), *((f"voirdire_{name}",) for name in ours)]


@pytest.mark.ci
def test_a_store_of_another_version_is_refused(postgres_place):
    open_store(postgres_place).close()
    with psycopg.connect(postgres_place) as connection:
        connection.execute("UPDATE voirdire_schema SET version = 2")

    with pytest.raises(InputError, match="must be of version 1, got 2"):
        open_store(postgres_place)


@pytest.mark.ci
def test_a_new_table_is_read_through_its_index(postgres_place):
    calls = [call(number) for number in range(5_000)]
    with open_store(postgres_place) as store:
        judge_id = store.judge_id("sha256:judge", description={})
        store.put(judge_id, calls)

        store.get(judge_id, [item(number) for number in range(0, 5_000, 10)])

    # The server counts rows that were read; nobody has analysed the table.
    with psycopg.connect(postgres_place) as connection:
        deadline = time.monotonic() + 60
        while True:
            read = connection.execute(
                "SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables "
                "WHERE relname = 'voirdire_calls' AND schemaname = current_schema()"
            ).fetchone()
            if read[1] or time.monotonic() > deadline:
                break
            connection.rollback()
            time.sleep(0.05)
    assert read == (0, 500)


def test_a_server_that_is_not_there_is_reported_at_once(tmp_path):
    with pytest.raises(InputError, match=r"store cannot be used \(.*\)\. Look at the server"):
        open_store(f"postgresql://user:{SECRET}@/replies?host={tmp_path}")


@pytest.mark.ci
@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("postgres@/", f"postgres:{SECRET}@/missing_"),
        lambda url: url.replace("postgres@/", f"nobody:{SECRET}@/"),
        lambda url: f"{url}&password={SECRET}&sslmode=nonsense",
        lambda url: f"{url}&password={SECRET}&no_such_option=1",
    ],
    ids=["database", "user", "value", "option"],
)
def test_a_server_that_refuses_is_reported_without_the_password(postgres_url, change):
    with pytest.raises(InputError, match="the store cannot be used") as caught:
        open_store(change(postgres_url))

    assert SECRET not in f"{caught.value} {caught.value.__cause__} {caught.value.__cause__!r}"


@pytest.mark.ci
def test_rights_that_are_missing_are_reported(postgres_place):
    open_store(postgres_place).close()
    with psycopg.connect(postgres_place) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
    try:
        with open_store(postgres_place.replace("postgres@", "reader@")) as store:
            assert store.judges() == []
            with pytest.raises(InputError, match=r"permission denied.*your rights there"):
                store.put(1, [call(1)])
    finally:
        with psycopg.connect(postgres_place) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


@pytest.mark.ci
def test_connections_that_the_server_cut_are_made_anew(postgres_place):
    with open_store(postgres_place) as store:
        judge_id = store.judge_id("sha256:judge", description={})
        store.put(judge_id, [call(1)])

        cut_others(postgres_place)
        store.put(judge_id, [call(2)])
        cut_others(postgres_place)

        assert set(store.get(judge_id, [item(1), item(2)])) == {item(1), item(2)}


def cut_others(place):
    with psycopg.connect(place) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.slow
def test_a_server_that_stops_for_good_is_reported_in_the_end(request):
    with running_postgres() as url:
        store = open_store(url)
        judge_id = store.judge_id("sha256:judge", description={})
        store.put(judge_id, [call(1)])

    request.getfixturevalue("impatient")
    with pytest.raises(InputError, match="the store cannot be used"):
        store.put(judge_id, [call(2)])
    store.close()


@pytest.mark.slow
def test_two_transactions_in_each_others_way_both_end(postgres_place):
    with open_store(postgres_place) as store:
        judge_id = store.judge_id("sha256:judge", description={})
        with psycopg.connect(postgres_place) as other:
            # The other one holds the key of item 1 until it ends.
            other.execute(
                "INSERT INTO voirdire_calls VALUES (%s, %s, 'joint', 0, 'theirs')",
                (judge_id, item(1)),
            )
            putting = threading.Thread(target=store.put, args=(judge_id, [call(1), call(2)]))
            putting.start()
            putting.join(0.3)
            assert putting.is_alive()

        putting.join(60)
        found = store.get(judge_id, [item(1), item(2)])
        assert found == {item(1): [call(1, blob=b"theirs")], item(2): [call(2)]}


def test_without_the_driver_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(InputError, match=r"pip install \"voirdire\[postgres\]\"") as caught:
        open_store(f"postgresql://user:{SECRET}@host/replies")

    assert SECRET not in str(caught.value)
