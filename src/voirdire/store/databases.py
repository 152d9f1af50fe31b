"""SQLite and PostgreSQL: the tables of a store, and what each database does in its own way."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import (
    Column,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    QueuePool,
    Table,
    Text,
    create_engine,
    event,
    exc,
    inspect,
    select,
)
from sqlalchemy import insert as insert_into
from sqlalchemy.dialects import sqlite

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from voirdire.store.opening import StoreAddress
    from voirdire.store.stored_calls import CallKey, StoredCall

__all__ = [
    "CALLS",
    "JUDGES",
    "Database",
    "PostgresDatabase",
    "SqliteDatabase",
    "patiently",
    "translated",
]

T = TypeVar("T")
CallRow: TypeAlias = tuple[bytes, str, int, bytes]
"""Item, name, attempt, blob."""

SCHEMA_VERSION = 1
"""Grows with any change that an earlier release could not read."""

_METADATA = MetaData()

_SCHEMA = Table(
    "voirdire_schema",
    _METADATA,
    Column("version", Integer, nullable=False),
)

JUDGES = Table(
    "voirdire_judges",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("description", Text, nullable=False),
)

# Rows lie in the order in which they came, and the key is an index beside them. With the rows
# inside the key's own tree (WITHOUT ROWID) a hash would put every one into another page: measured
# at 100,000 and more rows, half the inserts a second, and a quarter of the reads of 4 kB blobs.
CALLS = Table(
    "voirdire_calls",
    _METADATA,
    Column("judge_id", Integer, nullable=False),
    Column("item", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
    PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
)

# Who is making which call now, and until when nobody else makes it. Stores of earlier releases lack
# this table until the first claim.
CLAIMS = Table(
    "voirdire_claims",
    _METADATA,
    Column("judge_id", Integer, nullable=False),
    Column("item", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner", Text, nullable=False),
    Column("until", Float, nullable=False),
    PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
    sqlite_with_rowid=False,
)


def _create_tables(connection: Connection) -> None:
    """Make the tables that are missing, inside a transaction that nobody else can enter."""
    _METADATA.create_all(connection)
    if connection.execute(select(_SCHEMA.c.version)).first() is None:
        connection.execute(insert_into(_SCHEMA).values(version=SCHEMA_VERSION))


def _check_version(connection: Connection, *, shown: str) -> None:
    """Refuse a store whose tables are of another version."""
    version = connection.execute(select(_SCHEMA.c.version)).scalar()
    if version != SCHEMA_VERSION:
        msg = (
            f"{shown}: the store must be of version {SCHEMA_VERSION}, got {shorten(version)}. "
            "Use the release of voirdire that made it, or name another file."
        )
        raise InputError(msg)


# What goes wrong ------------------------------------------------------------------------------

_PATIENCE_S = 60.0
_BUGS = (exc.IntegrityError, exc.ProgrammingError, exc.NotSupportedError, exc.DataError)
"""Errors that our statements are to blame for; they keep their traceback."""

_NO_BUGS = {"42501", "42P01", "42703"}  # no right to a table; a table or column that is not ours
_PASSING_SQLITE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
_PASSING_POSTGRES = {"40001", "40P01"}  # serialization failure, deadlock

_AWAY_POSTGRES = {None, "57P01", "57P02", "57P03"}  # it shuts down, has crashed, is starting up

_WAYS_OUT = (
    (("SQLITE_FULL",), "Make room: what was put before is kept."),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), "Make it writable, or name another file."),
    (("SQLITE_CANTOPEN",), "Make its folder writable, or name another file."),
    (("SQLITE_NOTADB",), "It is no SQLite file and was left as it is: name another file."),
    (("SQLITE_CORRUPT",), "The file is damaged: take a copy, and `.recover` it with sqlite3."),
    (_PASSING_SQLITE, "Another program holds it: let that one end."),
)


@contextlib.contextmanager
def translated(address: StoreAddress) -> Iterator[None]:
    """Turn what the database refuses into `InputError`; a bug goes through as it is."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        if _is_bug(error):
            raise
        said = shorten(_scrubbed(str(getattr(error, "orig", None) or error), address), width=200)
        msg = f"{address.shown}: the store cannot be used ({said}). {_way_out(error)}"
        has_secret = any(secret in str(error) for secret in address.secrets)
        raise InputError(msg) from (None if has_secret else error)


def patiently(attempt: Callable[[], T], *, server_may_return: bool) -> T:
    """Do something, and again for a minute where what was in the way may pass.

    With `server_may_return` that includes a server that cannot be reached: it may be restarting.
    """
    deadline = time.monotonic() + _PATIENCE_S
    pause_s = 0.005
    while True:
        try:
            return attempt()
        except exc.DBAPIError as error:
            passing = _is_passing(error) or (server_may_return and _is_away(error))
            if not passing or time.monotonic() > deadline:
                raise
        time.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311  # so that two part ways
        pause_s = min(2 * pause_s, 0.25)


def _is_bug(error: exc.DBAPIError | exc.TimeoutError) -> bool:
    """Whether a statement is to blame; an error without one is about the connection."""
    if not isinstance(error, _BUGS) or error.statement is None:
        return False
    return _sqlstate(error) not in _NO_BUGS


def _is_passing(error: exc.DBAPIError) -> bool:
    """Whether another transaction was in the way."""
    name = _sqlite_name(error)
    return name.startswith(_PASSING_SQLITE) or _sqlstate(error) in _PASSING_POSTGRES


def _is_away(error: exc.DBAPIError) -> bool:
    """Whether a server cannot be reached; without a code, no server has answered."""
    if _sqlite_name(error) or not isinstance(error, exc.OperationalError):
        return False
    return error.connection_invalidated or _sqlstate(error) in _AWAY_POSTGRES


def _sqlstate(error: exc.DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _sqlite_name(error: Exception) -> str:
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "")


def _way_out(error: Exception) -> str:
    name = _sqlite_name(error)
    for beginnings, way_out in _WAYS_OUT:
        if name.startswith(beginnings):
            return way_out
    if name:
        return "Look at its disk, or name another file."
    return "Look at the server, at the name of its database and at your rights there."


def _scrubbed(said: str, address: StoreAddress) -> str:
    for secret in address.secrets:
        said = said.replace(secret, "***")
    return said


# SQLite ---------------------------------------------------------------------------------------

_BUSY_TIMEOUT_S = 60.0
_POOL_TIMEOUT_S = 600.0
_CONNECTIONS = 8
_SQLITE_ITEMS = 512
_SQLITE_ROWS = 128
_SETTINGS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000:.0f}",
    # A commit is in the file when it returns, and a killed process loses nothing; what is not yet
    # on the disk when the whole machine fails may be lost, without harm to what was before.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA cache_size = -16384",
    "PRAGMA wal_autocheckpoint = 8000",
)
# Each follows the calls that are asked for; CROSS JOIN looks every one of them up by its key.
_SQLITE_CLAIM = (
    "INSERT INTO voirdire_claims (judge_id, item, name, attempt, owner, until) "
    "SELECT ?, item, name, attempt, ?, ? FROM asked WHERE NOT EXISTS ("
    "SELECT 1 FROM voirdire_calls AS calls WHERE calls.judge_id = ? AND calls.item = asked.item "
    "AND calls.name = asked.name AND calls.attempt = asked.attempt) "
    "ON CONFLICT (judge_id, item, name, attempt) DO UPDATE "
    "SET owner = excluded.owner, until = excluded.until "
    "WHERE voirdire_claims.until <= ? OR voirdire_claims.owner = excluded.owner"
)
_SQLITE_CLAIMED = (
    "SELECT item, name, attempt FROM asked CROSS JOIN voirdire_claims "
    "USING (item, name, attempt) WHERE judge_id = ? AND owner = ? AND until = ?"
)
_SQLITE_RELEASE = (
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
            _check_version(connection, shown=self._address.shown)

    def _refuse_others(self, tables: set[str]) -> None:
        if tables:
            msg = (
                f"{self._address.shown}: the file must be a store of replies, got a database with "
                "other tables, which was left as it is. Name another file."
            )
            raise InputError(msg)

    def add_tables(self, connection: Connection) -> None:
        """Make the tables that are missing."""
        _create_tables(connection)

    def begin(self, connection: Connection) -> None:
        """Begin, and wait here for other writers, so that no later statement has to."""
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def insert(self, connection: Connection, judge_id: int, *, calls: Sequence[StoredCall]) -> None:
        """Insert calls that are not there yet."""
        for part in _parts(calls):
            values: list[Any] = []
            for call in part:
                values += (judge_id, call.item, call.name, call.attempt, call.blob)
            connection.exec_driver_sql(_insert_of(len(part)), tuple(values))

    def select(
        self, connection: Connection, judge_id: int, *, items: Sequence[bytes]
    ) -> Sequence[CallRow]:
        """Select the calls of items."""
        rows: list[Any] = []
        for start in range(0, len(items), _SQLITE_ITEMS):
            part = list(items[start : start + _SQLITE_ITEMS])
            # A query of few lengths is prepared once; an item that is named twice costs nothing.
            size = 1 << (len(part) - 1).bit_length()
            padding = part[:1] * (size - len(part))
            rows += connection.exec_driver_sql(_select_of(size), (judge_id, *part, *padding)).all()
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
                asked + _SQLITE_CLAIM, (*values, judge_id, owner, now + for_s, judge_id, now)
            )
            # Not RETURNING, which SQLite has since 3.35 only.
            claimed += connection.exec_driver_sql(
                asked + _SQLITE_CLAIMED, (*values, judge_id, owner, now + for_s)
            ).all()
        return {tuple(row) for row in claimed}

    def release(
        self, connection: Connection, judge_id: int, *, keys: Sequence[CallKey], owner: str
    ) -> None:
        """Delete an owner's claims."""
        for part in _parts(keys):
            values = [value for key in part for value in key]
            query = _asked(len(part)) + _SQLITE_RELEASE
            connection.exec_driver_sql(query, (*values, judge_id, owner))


def _parts(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut rows into powers of two.

    Many rows a statement: the driver lets other threads run at every statement, and while one of
    them computes, getting back may take milliseconds.
    """
    start = 0
    while start < len(rows):
        size = min(_SQLITE_ROWS, 1 << ((len(rows) - start).bit_length() - 1))
        yield rows[start : start + size]
        start += size


@cache
def _asked(n_keys: int) -> str:
    return f"WITH asked (item, name, attempt) AS (VALUES {', '.join(['(?, ?, ?)'] * n_keys)}) "


@cache
def _select_of(n_items: int) -> str:
    calls = CALLS.c
    query = select(calls.item, calls.name, calls.attempt, calls.blob).where(
        calls.judge_id == 0, calls.item.in_([b""] * n_items)
    )
    return str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"render_postcompile": True}))


@cache
def _insert_of(n_rows: int) -> str:
    row = {column.name: None for column in CALLS.columns}
    query = sqlite.insert(CALLS).values([row] * n_rows).on_conflict_do_nothing()
    return str(query.compile(dialect=sqlite.dialect()))


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


# PostgreSQL -----------------------------------------------------------------------------------

_LOCK = 8_606_216_600_190_023  # any number that no other program locks
_POSTGRES_ITEMS = 2_000
_POSTGRES_ROWS = 500
# Arrays in the binary form: one round trip for many rows, and no blob written as text.
_POSTGRES_INSERT = (
    "INSERT INTO voirdire_calls (judge_id, item, name, attempt, blob) "
    "SELECT %b, * FROM unnest(%b::bytea[], %b::text[], %b::integer[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING"
)
# One look into the index per item, whatever the planner believes (OFFSET 0 keeps the query inside):
# before the server has counted a new table, it would read all of a judge's rows instead.
_POSTGRES_SELECT = (
    "SELECT asked.item, name, attempt, blob FROM unnest(%b::bytea[]) AS asked (item) "
    "CROSS JOIN LATERAL (SELECT name, attempt, blob FROM voirdire_calls "
    "WHERE judge_id = %b AND item = asked.item OFFSET 0) AS found"
)
# In one order, and without those that somebody else holds, so that transactions seldom wait for
# each other.
_POSTGRES_CLAIM = (
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
_POSTGRES_STORED = (
    "SELECT item, name, attempt "
    "FROM unnest(%b::bytea[], %b::text[], %b::integer[]) AS asked (item, name, attempt) "
    "CROSS JOIN LATERAL (SELECT FROM voirdire_calls AS calls "
    "WHERE calls.judge_id = %b AND calls.item = asked.item AND calls.name = asked.name "
    "AND calls.attempt = asked.attempt OFFSET 0) AS found"
)
_POSTGRES_RELEASE = (
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
            _check_version(connection, shown=self._address.shown)

    def add_tables(self, connection: Connection) -> None:
        """Make the tables that are missing."""
        # Two that make the same table at once would be an error for one of them.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        _create_tables(connection)

    def begin(self, connection: Connection) -> None:
        """Nothing: the first statement begins a transaction."""

    def insert(self, connection: Connection, judge_id: int, *, calls: Sequence[StoredCall]) -> None:
        """Insert calls that are not there yet."""
        for start in range(0, len(calls), _POSTGRES_ROWS):
            part = calls[start : start + _POSTGRES_ROWS]
            blobs = [call.blob for call in part]
            keys = _columns([call.key for call in part])
            connection.exec_driver_sql(_POSTGRES_INSERT, (judge_id, *keys, blobs))

    def select(
        self, connection: Connection, judge_id: int, *, items: Sequence[bytes]
    ) -> Sequence[CallRow]:
        """Select the calls of items."""
        rows: list[Any] = []
        for start in range(0, len(items), _POSTGRES_ITEMS):
            part = list(items[start : start + _POSTGRES_ITEMS])
            rows += connection.exec_driver_sql(_POSTGRES_SELECT, (part, judge_id)).all()
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
            _POSTGRES_CLAIM, (judge_id, owner, for_s, *columns, judge_id, owner)
        ).all()
        claimed = [tuple(row) for row in rows]
        # Asked only now: who stored one of them while the claim waited has committed by now.
        stored = connection.exec_driver_sql(_POSTGRES_STORED, (*_columns(claimed), judge_id)).all()
        if stored:
            self.release(connection, judge_id, keys=stored, owner=owner)
        return set(claimed) - {tuple(row) for row in stored}

    def release(
        self, connection: Connection, judge_id: int, *, keys: Sequence[CallKey], owner: str
    ) -> None:
        """Delete an owner's claims."""
        connection.exec_driver_sql(_POSTGRES_RELEASE, (*_columns(keys), judge_id, owner))


def _columns(keys: Sequence[Sequence[Any]]) -> tuple[list[Any], ...]:
    return [key[0] for key in keys], [key[1] for key in keys], [key[2] for key in keys]


def _read_blobs_as_they_are(
    _connection: Connection, cursor: Any, statement: str, *_: object
) -> None:
    if statement is _POSTGRES_SELECT:
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


Database: TypeAlias = SqliteDatabase | PostgresDatabase
