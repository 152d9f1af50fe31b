"""A store on a PostgreSQL server, for teams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event, inspect

from voirdire.errors import InputError
from voirdire.store.tables import check_version, create_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from voirdire.store.addresses import StoreAddress
    from voirdire.store.database import CallRow
    from voirdire.store.stored_calls import CallKey, StoredCall

__all__ = ["PostgresDatabase"]

_LOCK = 8_606_216_600_190_023  # any number that no other program locks
_ITEMS_A_QUERY = 2_000
_ROWS_A_STATEMENT = 500
# Arrays in the binary form: one round trip for many rows, and no blob written as text.
_INSERT = (
    "INSERT INTO voirdire_calls (judge_id, item, name, attempt, blob) "
    "SELECT %b, * FROM unnest(%b::bytea[], %b::text[], %b::integer[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING"
)
# One look into the index per item, whatever the planner believes (OFFSET 0 keeps the query inside):
# before the server has counted a new table, it would read all of a judge's rows instead.
_SELECT = (
    "SELECT asked.item, name, attempt, blob FROM unnest(%b::bytea[]) AS asked (item) "
    "CROSS JOIN LATERAL (SELECT name, attempt, blob FROM voirdire_calls "
    "WHERE judge_id = %b AND item = asked.item OFFSET 0) AS found"
)
# In one order, and without those that somebody else holds, so that transactions seldom wait for
# each other.
_CLAIM = (
    "INSERT INTO voirdire_claims AS claims (judge_id, item, name, attempt, owner, until) "
    "SELECT %b, item, name, attempt, %b, extract(epoch FROM clock_timestamp()) + %b "
    "FROM unnest(%b::bytea[], %b::text[], %b::integer[]) AS asked (item, name, attempt) "
    "WHERE NOT EXISTS ("
    "SELECT 1 FROM voirdire_claims AS other WHERE other.judge_id = %b AND other.item = asked.item "
    "AND other.name = asked.name AND other.attempt = asked.attempt "
    "AND other.owner <> %b AND other.until > extract(epoch FROM clock_timestamp()) OFFSET 0) "
    "ORDER BY item, name, attempt "
    "ON CONFLICT (judge_id, item, name, attempt) DO UPDATE "
    "SET owner = excluded.owner, until = excluded.until "
    "WHERE claims.until <= extract(epoch FROM clock_timestamp()) OR claims.owner = excluded.owner "
    "RETURNING item, name, attempt"
)
_STORED = (
    "SELECT item, name, attempt "
    "FROM unnest(%b::bytea[], %b::text[], %b::integer[]) AS asked (item, name, attempt) "
    "CROSS JOIN LATERAL (SELECT FROM voirdire_calls AS calls "
    "WHERE calls.judge_id = %b AND calls.item = asked.item AND calls.name = asked.name "
    "AND calls.attempt = asked.attempt OFFSET 0) AS found"
)
_RELEASE = (
    "DELETE FROM voirdire_claims WHERE ctid = ANY (ARRAY (SELECT place "
    "FROM unnest(%b::bytea[], %b::text[], %b::integer[]) AS asked (item, name, attempt) "
    "CROSS JOIN LATERAL (SELECT claims.ctid AS place FROM voirdire_claims AS claims "
    "WHERE claims.judge_id = %b AND claims.item = asked.item AND claims.name = asked.name "
    "AND claims.attempt = asked.attempt AND claims.owner = %b OFFSET 0) AS found))"
)


class PostgresDatabase:
    """PostgreSQL through psycopg 3."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self.engine: Engine = _engine(address)
        event.listen(self.engine, "before_cursor_execute", _read_blobs_as_they_are)

    def prepare(self) -> None:
        """Make the tables where there are none."""
        with self.engine.connect() as connection:
            if not inspect(connection).has_table("voirdire_schema"):
                self.add_tables(connection)
                connection.commit()
            check_version(connection, shown=self._address.shown)

    def add_tables(self, connection: Connection) -> None:
        """Make the tables that are missing."""
        # Two that make the same table at once would be an error for one of them.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        create_tables(connection)

    def begin(self, connection: Connection) -> None:
        """Nothing: the first statement begins a transaction."""

    def insert(self, connection: Connection, judge_id: int, *, calls: Sequence[StoredCall]) -> None:
        """Insert calls that are not there yet."""
        for start in range(0, len(calls), _ROWS_A_STATEMENT):
            part = calls[start : start + _ROWS_A_STATEMENT]
            blobs = [call.blob for call in part]
            keys = _columns([call.key for call in part])
            connection.exec_driver_sql(_INSERT, (judge_id, *keys, blobs))

    def select(
        self, connection: Connection, judge_id: int, *, items: Sequence[bytes]
    ) -> Sequence[CallRow]:
        """Select the calls of items."""
        rows: list[Any] = []
        for start in range(0, len(items), _ITEMS_A_QUERY):
            part = list(items[start : start + _ITEMS_A_QUERY])
            rows += connection.exec_driver_sql(_SELECT, (part, judge_id)).all()
        return rows

    def claim(
        self,
        connection: Connection,
        judge_id: int,
        *,
        keys: Sequence[CallKey],
        owner: str,
        for_s: float,
    ) -> set[CallKey]:
        """Claim calls that are not stored and that no other owner claims; give these."""
        columns = _columns(keys)
        rows = connection.exec_driver_sql(
            _CLAIM, (judge_id, owner, for_s, *columns, judge_id, owner)
        ).all()
        claimed = [tuple(row) for row in rows]
        # Asked only now: who stored one of them while the claim waited has committed by now.
        stored = connection.exec_driver_sql(_STORED, (*_columns(claimed), judge_id)).all()
        if stored:
            self.release(connection, judge_id, keys=stored, owner=owner)
        return set(claimed) - {tuple(row) for row in stored}

    def release(
        self, connection: Connection, judge_id: int, *, keys: Sequence[CallKey], owner: str
    ) -> None:
        """Delete an owner's claims."""
        connection.exec_driver_sql(_RELEASE, (*_columns(keys), judge_id, owner))


def _columns(keys: Sequence[Sequence[Any]]) -> tuple[list[Any], ...]:
    return [key[0] for key in keys], [key[1] for key in keys], [key[2] for key in keys]


def _read_blobs_as_they_are(
    _connection: Connection, cursor: Any, statement: str, *_: object
) -> None:
    if statement is _SELECT:
        from psycopg.pq import Format

        cursor.format = Format.BINARY  # the other form is text, twice as long


def _engine(address: StoreAddress) -> Engine:
    try:
        return create_engine(
            address.engine_url,
            pool_size=4,
            max_overflow=12,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        msg = (
            "`voirdire.store` needs psycopg for PostgreSQL. Install it with "
            '`pip install "voirdire[postgres]"`.'
        )
        raise InputError(msg) from error
