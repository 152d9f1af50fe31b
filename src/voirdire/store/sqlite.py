"""A store in a file of SQLite, or in memory."""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Engine, QueuePool, create_engine, event, inspect, select
from sqlalchemy.dialects.sqlite import dialect, insert

from voirdire.errors import InputError
from voirdire.store.tables import CALLS, check_version, create_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from voirdire.store.addresses import StoreAddress
    from voirdire.store.database import CallRow
    from voirdire.store.stored_calls import CallKey, StoredCall

__all__ = ["SqliteDatabase"]

T = TypeVar("T")

_BUSY_TIMEOUT_S = 60.0
_POOL_TIMEOUT_S = 600.0
_CONNECTIONS = 8
_ITEMS_A_QUERY = 512
_ROWS_A_STATEMENT = 128
_SETTINGS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000:.0f}",
    # A commit is in the file when it returns, and a killed process loses nothing; what is not yet
    # on the disk when the whole machine fails may be lost, without harm to what was before.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA cache_size = -16384",
    "PRAGMA wal_autocheckpoint = 8000",
)
# Each follows the calls that are asked for; CROSS JOIN looks every one of them up by its key.
_CLAIM = (
    "INSERT INTO voirdire_claims (judge_id, item, name, attempt, owner, until) "
    "SELECT ?, item, name, attempt, ?, ? FROM asked WHERE NOT EXISTS ("
    "SELECT 1 FROM voirdire_calls AS calls WHERE calls.judge_id = ? AND calls.item = asked.item "
    "AND calls.name = asked.name AND calls.attempt = asked.attempt) "
    "ON CONFLICT (judge_id, item, name, attempt) DO UPDATE "
    "SET owner = excluded.owner, until = excluded.until "
    "WHERE voirdire_claims.until <= ? OR voirdire_claims.owner = excluded.owner"
)
_CLAIMED = (
    "SELECT item, name, attempt FROM asked CROSS JOIN voirdire_claims "
    "USING (item, name, attempt) WHERE judge_id = ? AND owner = ? AND until = ?"
)
_RELEASE = (
    "DELETE FROM voirdire_claims WHERE judge_id = ? AND owner = ? "
    "AND (item, name, attempt) IN (SELECT item, name, attempt FROM asked)"
)
_creating = threading.Lock()


class SqliteDatabase:
    """SQLite: one writer at a time, readers never wait (write-ahead log)."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        # A database in memory is its connection: there is one, and threads take turns.
        in_memory = address.path is None
        self.engine: Engine = create_engine(
            address.engine_url,
            poolclass=QueuePool,
            pool_size=1 if in_memory else _CONNECTIONS,
            max_overflow=0,
            pool_use_lifo=True,
            pool_timeout=_POOL_TIMEOUT_S,
            connect_args={"check_same_thread": False, "cached_statements": 64},
            hide_parameters=True,
        )
        event.listen(self.engine, "connect", _set_up)

    def prepare(self) -> None:
        """Make the file and its tables where there are none; refuse a file of another program."""
        if self._address.path is not None:
            _create_file(self._address.path)
        with self.engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
            if "voirdire_schema" not in tables:
                self._refuse_others(tables)
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                self.begin(connection)
                self.add_tables(connection)
                connection.commit()
            check_version(connection, shown=self._address.shown)

    def _refuse_others(self, tables: set[str]) -> None:
        if tables:
            msg = (
                f"{self._address.shown}: the file must be a store of replies, got a database with "
                "other tables, which was left as it is. Name another file."
            )
            raise InputError(msg)

    def add_tables(self, connection: Connection) -> None:
        """Make the tables that are missing."""
        create_tables(connection)

    def begin(self, connection: Connection) -> None:
        """Begin, and wait here for other writers, so that no later statement has to."""
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def insert(self, connection: Connection, judge_id: int, *, calls: Sequence[StoredCall]) -> None:
        """Insert calls that are not there yet."""
        for part in _parts(calls):
            values: list[Any] = []
            for call in part:
                values += (judge_id, call.item, call.name, call.attempt, call.blob)
            connection.exec_driver_sql(_insert(len(part)), tuple(values))

    def select(
        self, connection: Connection, judge_id: int, *, items: Sequence[bytes]
    ) -> Sequence[CallRow]:
        """Select the calls of items."""
        rows: list[Any] = []
        for start in range(0, len(items), _ITEMS_A_QUERY):
            part = list(items[start : start + _ITEMS_A_QUERY])
            # A query of few lengths is prepared once; an item that is named twice costs nothing.
            size = 1 << (len(part) - 1).bit_length()
            padding = part[:1] * (size - len(part))
            rows += connection.exec_driver_sql(_select(size), (judge_id, *part, *padding)).all()
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
        now = time.time()
        claimed: list[Any] = []
        for part in _parts(keys):
            asked, values = _asked(len(part)), [value for key in part for value in key]
            connection.exec_driver_sql(
                asked + _CLAIM, (*values, judge_id, owner, now + for_s, judge_id, now)
            )
            # Not RETURNING, which SQLite has since 3.35 only.
            claimed += connection.exec_driver_sql(
                asked + _CLAIMED, (*values, judge_id, owner, now + for_s)
            ).all()
        return {tuple(row) for row in claimed}

    def release(
        self, connection: Connection, judge_id: int, *, keys: Sequence[CallKey], owner: str
    ) -> None:
        """Delete an owner's claims."""
        for part in _parts(keys):
            values = [value for key in part for value in key]
            connection.exec_driver_sql(_asked(len(part)) + _RELEASE, (*values, judge_id, owner))


def _parts(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut rows into powers of two.

    Many rows a statement: the driver lets other threads run at every statement, and while one of
    them computes, getting back may take milliseconds.
    """
    start = 0
    while start < len(rows):
        size = min(_ROWS_A_STATEMENT, 1 << ((len(rows) - start).bit_length() - 1))
        yield rows[start : start + size]
        start += size


@cache
def _asked(n_keys: int) -> str:
    return f"WITH asked (item, name, attempt) AS (VALUES {', '.join(['(?, ?, ?)'] * n_keys)}) "


@cache
def _select(n_items: int) -> str:
    calls = CALLS.c
    query = select(calls.item, calls.name, calls.attempt, calls.blob).where(
        calls.judge_id == 0, calls.item.in_([b""] * n_items)
    )
    return str(query.compile(dialect=dialect(), compile_kwargs={"render_postcompile": True}))


@cache
def _insert(n_rows: int) -> str:
    row = {column.name: None for column in CALLS.columns}
    query = insert(CALLS).values([row] * n_rows).on_conflict_do_nothing()
    return str(query.compile(dialect=dialect()))


def _set_up(connection: Any, _: object) -> None:
    # Transactions are begun by us: the driver's own begin would not take the lock at once.
    connection.isolation_level = None
    for setting in _SETTINGS:
        connection.execute(setting)


def _create_file(path: Path) -> None:
    """Make an empty file that only its owner can read: responses are private.

    A file that is there is never opened here: closing it again would drop the locks that this
    process holds on it.
    """
    with _creating:
        try:
            if path.exists():
                return
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            msg = (
                f"{path}: the store cannot be made ({error.strerror}). Make its folder, or name "
                "another file."
            )
            raise InputError(msg) from error
