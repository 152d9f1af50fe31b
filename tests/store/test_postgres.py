"""A store on a real server: what is asked of it, and what happens when it goes away."""

import psycopg
import pytest

from servers.postgres import running_postgres
from store.stored_calls import call, item
from voirdire.errors import InputError
from voirdire.store import open_store

pytestmark = pytest.mark.ci


def test_a_store_lives_beside_other_tables_and_is_not_made_by_reading(postgres_place):
    with psycopg.connect(postgres_place) as connection:
        connection.execute("CREATE TABLE theirs (x integer)")

    with pytest.raises(InputError, match="must be a store of replies, got a database of 1 table"):
        open_store(postgres_place, makes=False)
    open_store(postgres_place).close()

    query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
    with psycopg.connect(postgres_place) as connection:
        tables = [name for (name,) in connection.execute(query)]
    assert tables == ["theirs", "voirdire_calls", "voirdire_judges", "voirdire_schema"]


def test_a_new_table_is_read_through_its_index(postgres_place):
    with open_store(postgres_place) as store:
        store.put_now(1, [call(number) for number in range(5_000)])

    # Nobody has analysed the table.
    query = "EXPLAIN SELECT * FROM voirdire_calls WHERE judge_id = 1 AND item IN ({}) ORDER BY item"
    asked, marks = [item(number) for number in range(500)], ", ".join(["%s"] * 500)
    with psycopg.connect(postgres_place) as connection:
        plan = connection.execute(query.format(marks), asked).fetchall()
    assert "Seq Scan" not in str(plan)


def test_connections_that_the_server_cut_are_made_anew(postgres_place):
    with open_store(postgres_place) as store:
        for number in range(2):
            store.put_now(1, [call(number)])
            with psycopg.connect(postgres_place) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

        assert set(store.get(1, [item(0), item(1)])) == {item(0), item(1)}


@pytest.mark.usefixtures("impatient")
def test_a_server_that_stops_for_good_is_reported_in_the_end():
    with running_postgres() as url:
        store = open_store(url)
        store.put_now(1, [call(1)])

    with store, pytest.raises(InputError, match="the store cannot be used"):
        store.put_now(1, [call(2)])
