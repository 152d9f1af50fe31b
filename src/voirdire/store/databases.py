"""The tables of a store, in SQLite and PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import (
    URL,
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

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection


__all__ = [
    "CALLS",
    "INSERT",
    "JUDGES",
    "Database",
    "PostgresDatabase",
    "SqliteDatabase",
    "StoreAddress",
    "retry_transient",
    "translate_errors",
]

T = TypeVar("T")
Row: TypeAlias = "Sequence[Any]"

SCHEMA_VERSION = 1
"""Version of the tables; increased with every change that earlier releases cannot read."""

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


def _make_call_table(table: str, *columns: Column[Any], **options: Any) -> Table:
    """Make a table that has a row for every call."""
    return Table(
        table,
        _METADATA,
        Column("judge_id", Integer, nullable=False),
        Column("item", LargeBinary, nullable=False),
        Column("name", Text, nullable=False),
        Column("attempt", Integer, nullable=False),
        *columns,
        PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
        **options,
    )


# Rows are stored in the order of arrival, with the key in a separate index. With the rows in the
# key's tree (WITHOUT ROWID) hashed keys would put every row into another page: measured at 100,000
# and more rows, half the inserts a second, and a quarter of the reads of 4 kB blobs.
CALLS = _make_call_table("voirdire_calls", Column("blob", LargeBinary, nullable=False))

# Calls in progress, their owner, and the end of the claim.
_make_call_table(
    "voirdire_claims",
    Column("owner", Text, nullable=False),
    Column("until", Float, nullable=False),
    sqlite_with_rowid=False,
)


# Errors ---------------------------------------------------------------------------------------

_PATIENCE_S = 60.0
_BUGS = (exc.IntegrityError, exc.ProgrammingError, exc.NotSupportedError, exc.DataError)
"""Errors caused by our statements; they keep their traceback."""

_NO_BUGS = {"42501", "42P01", "42703"}  # no right to a table; a table or column that is not ours
_PASSING_SQLITE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
_PASSING_POSTGRES = {"40001", "40P01"}  # serialization failure, deadlock

_AWAY_POSTGRES = {None, "57P01", "57P02", "57P03"}  # it shuts down, has crashed, is starting up

_WAYS_OUT = (
    (("SQLITE_FULL",), "Make room: what was put before is kept."),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), "Make it writable, or name another file."),
    (("SQLITE_CANTOPEN",), "Make its folder writable, or name another file."),
    (("SQLITE_NOTADB",), "It is not an SQLite file and was not changed: name another file."),
    (("SQLITE_CORRUPT",), "The file is damaged: take a copy, and `.recover` it with sqlite3."),
    (_PASSING_SQLITE, "Another program holds it: wait until that program ends."),
    (("SQLITE",), "Look at its disk, or name another file."),
    ("", "Look at the server, at the name of its database and at your rights there."),
)


@dataclass(frozen=True, kw_only=True)
class StoreAddress:
    """The address of a store."""

    engine_url: URL = field(repr=False)
    shown: str  # in messages, without a password
    path: Path | None = None  # None in memory and on a server
    secrets: tuple[str, ...] = field(default=(), repr=False)  # text that no message may hold


@contextlib.contextmanager
def translate_errors(address: StoreAddress) -> Iterator[None]:
    """Turn errors of the database into `InputError`; let bugs pass."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        # a bug has a statement; an error without one is about the connection
        is_bug = isinstance(error, _BUGS) and error.statement is not None
        if is_bug and _sqlstate(error) not in _NO_BUGS:
            raise
        said = str(getattr(error, "orig", None) or error)
        for secret in address.secrets:
            said = said.replace(secret, "***")
        name = _sqlite_name(error)
        way_out = next(words for names, words in _WAYS_OUT if name.startswith(names))
        msg = f"{address.shown}: the store cannot be used ({shorten(said, width=200)}). {way_out}"
        has_secret = any(secret in str(error) for secret in address.secrets)
        raise InputError(msg) from (None if has_secret else error)


def retry_transient(attempt: Callable[[], T], *, server_may_return: bool) -> T:
    """Run a function, with retries for a minute after transient errors.

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


def _is_passing(error: exc.DBAPIError) -> bool:
    """Whether another transaction caused the error."""
    name = _sqlite_name(error)
    return name.startswith(_PASSING_SQLITE) or _sqlstate(error) in _PASSING_POSTGRES


def _is_away(error: exc.DBAPIError) -> bool:
    """Whether a server cannot be reached; an error without a code is not from a server."""
    if _sqlite_name(error) or not isinstance(error, exc.OperationalError):
        return False
    return error.connection_invalidated or _sqlstate(error) in _AWAY_POSTGRES


def _sqlstate(error: Exception) -> str | None:
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def _sqlite_name(error: Exception) -> str:
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "")


# Both databases -------------------------------------------------------------------------------

# A statement is about rows, which stand before it as a table `asked`; its columns are the first of
# these.
_COLUMNS = (("item", "bytea"), ("name", "text"), ("attempt", "integer"), ("blob", "bytea"))
_IS_ASKED = "judge_id = ? AND item = asked.item AND name = asked.name AND attempt = asked.attempt"
INSERT = (
    "INSERT INTO voirdire_calls (judge_id, item, name, attempt, blob) "
    "SELECT ?, item, name, attempt, blob FROM asked WHERE true ON CONFLICT DO NOTHING"
)
# Without rows of other owners, so that transactions seldom wait for each other. {fence} makes
# PostgreSQL use the index for each row: without statistics of a new table, its planner would read
# all of a judge's rows instead.
_CLAIM = (
    "INSERT INTO voirdire_claims (judge_id, item, name, attempt, owner, until) "
    "SELECT ?, item, name, attempt, ?, {now} + ? FROM asked WHERE "
    "NOT EXISTS (SELECT 1 FROM voirdire_calls WHERE {is_asked} {fence}) AND NOT EXISTS "
    "(SELECT 1 FROM voirdire_claims WHERE {is_asked} AND owner <> ? AND until > {now} {fence}) "
    "ON CONFLICT (judge_id, item, name, attempt) DO UPDATE "
    "SET owner = excluded.owner, until = excluded.until "
    "WHERE voirdire_claims.until <= {now} OR voirdire_claims.owner = excluded.owner"
)
# Not RETURNING, which SQLite has only since 3.35. Stored calls are left out here too: one that was
# stored while the claim waited is committed by now.
_CLAIMED = (
    "SELECT item, name, attempt FROM asked WHERE "
    "NOT EXISTS (SELECT 1 FROM voirdire_calls WHERE {is_asked} {fence}) AND "
    "EXISTS (SELECT 1 FROM voirdire_claims WHERE {is_asked} AND owner = ? {fence})"
)


class Database(ABC):
    """A database with the tables of a store; subclasses pass rows in their own ways."""

    engine: Engine
    mark: str
    fence: str
    now: str
    select: str
    release: str

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._written = cache(self._write)

    def prepare(self) -> None:
        """Create the tables where there are none; refuse a store of another version."""
        with self.engine.connect() as connection:
            if not inspect(connection).has_table("voirdire_schema"):
                self.begin_store(connection)
                self.add_tables(connection)
                connection.commit()
            version = connection.execute(select(_SCHEMA.c.version)).scalar()
        if version != SCHEMA_VERSION:
            msg = (
                f"{self._address.shown}: the store must be of version {SCHEMA_VERSION}, got "
                f"{shorten(version)}. Use the release of voirdire that made it, or name another "
                "file."
            )
            raise InputError(msg)

    def add_tables(self, connection: Connection) -> None:
        """Create the missing tables in an exclusive transaction."""
        _METADATA.create_all(connection)
        if connection.execute(select(_SCHEMA.c.version)).first() is None:
            connection.execute(insert_into(_SCHEMA).values(version=SCHEMA_VERSION))

    def run(
        self, connection: Connection, statement: str, rows: Sequence[Row], *values: Any
    ) -> list[Any]:
        """Execute a statement about rows, and return what it returns."""
        found: list[Any] = []
        for part in self.parts(rows):
            text = self._written(statement, len(part), len(part[0]))
            result = connection.exec_driver_sql(text, (*self.arguments(part), *values))
            if result.returns_rows:
                found += result.all()
        return found

    def claim(
        self,
        connection: Connection,
        judge_id: int,
        *,
        keys: Sequence[Row],
        owner: str,
        for_s: float,
    ) -> list[Any]:
        """Claim calls that are not stored or claimed by another owner; return them."""
        values = judge_id, owner, for_s, judge_id, judge_id, owner
        self.run(connection, _CLAIM, keys, *values)
        return self.run(connection, _CLAIMED, keys, judge_id, judge_id, owner)

    def _write(self, statement: str, n_rows: int, n_columns: int) -> str:
        names = ", ".join(name for name, _ in _COLUMNS[:n_columns])
        text = statement.format(fence=self.fence, now=self.now, is_asked=_IS_ASKED)
        whole = f"WITH asked ({names}) AS ({self.table(n_rows, n_columns)}) {text}"
        return whole.replace("?", self.mark)

    @abstractmethod
    def begin_store(self, connection: Connection) -> None:
        """Begin the transaction that creates the tables; refuse another program's database."""

    @abstractmethod
    def begin(self, connection: Connection) -> None:
        """Begin a transaction that writes."""

    @abstractmethod
    def parts(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Split rows into parts for one statement each."""

    @abstractmethod
    def table(self, n_rows: int, n_columns: int) -> str:
        """Write the query that gives rows."""

    @abstractmethod
    def arguments(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Return the arguments of that query."""


# SQLite ---------------------------------------------------------------------------------------

_BUSY_TIMEOUT_S = 60.0
_POOL_TIMEOUT_S = 600.0
_CONNECTIONS = 8
_SETTINGS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000:.0f}",
    # A killed process loses no commit. When the whole machine fails, the last commits may be lost,
    # without harm to earlier ones.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA cache_size = -16384",
    "PRAGMA wal_autocheckpoint = 8000",
)
_SQLITE_ITEMS, _SQLITE_ROWS = 512, 128  # in a statement
_creating = threading.Lock()


class SqliteDatabase(Database):
    """SQLite: one writer at a time, readers never wait (write-ahead log)."""

    mark = "?"
    fence = ""
    now = "(julianday('now') - 2440587.5) * 86400.0"
    select = (
        "SELECT item, name, attempt, blob FROM voirdire_calls "
        "WHERE item IN (SELECT item FROM asked) AND judge_id = ?"
    )
    release = (
        "DELETE FROM voirdire_claims WHERE (item, name, attempt) IN "
        "(SELECT item, name, attempt FROM asked) AND judge_id = ? AND owner = ?"
    )

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        # A database in memory has a single connection, which threads share in turn.
        in_memory = address.path is None
        self.engine = create_engine(
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
        """Create the file too."""
        if self._address.path is not None:
            _create_file(self._address.path)
        super().prepare()

    def begin_store(self, connection: Connection) -> None:
        """Refuse a file of another program."""
        tables = inspect(connection).get_table_names()
        if tables and "voirdire_schema" not in tables:  # else another process has just begun it
            msg = (
                f"{self._address.shown}: the file must be a store of replies, got a database with "
                "other tables, which was left as it is. Name another file."
            )
            raise InputError(msg)
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        self.begin(connection)

    def begin(self, connection: Connection) -> None:
        """Begin, and wait for other writers here, so that no later statement waits."""
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def parts(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Split rows into powers of two, so that few statements are prepared.

        A statement has many rows, since the driver releases the GIL at every statement, and taking
        it back may take milliseconds.
        """
        start = 0
        while start < len(rows):
            n_left = len(rows) - start
            if len(rows[0]) == 1:  # repeated items cost nothing
                size = min(_SQLITE_ITEMS, 1 << (n_left - 1).bit_length())
            else:
                size = min(_SQLITE_ROWS, 1 << (n_left.bit_length() - 1))
            yield [*rows[start : start + size], *[rows[start]] * (size - n_left)]
            start += size

    def table(self, n_rows: int, n_columns: int) -> str:
        """Return rows value by value."""
        row = f"({', '.join('?' * n_columns)})"
        return f"VALUES {', '.join([row] * n_rows)}"

    def arguments(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Return the values one after another."""
        return list(chain.from_iterable(rows))


def _set_up(connection: Any, _: object) -> None:
    # We begin transactions ourselves: the driver's begin would not take the lock at once.
    connection.isolation_level = None
    for setting in _SETTINGS:
        connection.execute(setting)


def _create_file(path: Path) -> None:
    """Create an empty file that only its owner can read, since responses are private.

    An existing file is not opened here: closing it would drop the locks of this process on it.
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
_POSTGRES_ROWS = 1_000


class PostgresDatabase(Database):
    """PostgreSQL through psycopg 3."""

    mark = "%b"  # the binary form, so that blobs are not written as text
    fence = "OFFSET 0"
    now = "extract(epoch FROM clock_timestamp())"
    select = (
        "SELECT asked.item, name, attempt, blob FROM asked CROSS JOIN LATERAL "
        "(SELECT name, attempt, blob FROM voirdire_calls "
        "WHERE item = asked.item AND judge_id = ? {fence}) AS found"
    )
    release = (
        "DELETE FROM voirdire_claims WHERE ctid = ANY (ARRAY (SELECT place FROM asked "
        "CROSS JOIN LATERAL (SELECT ctid AS place FROM voirdire_claims WHERE {is_asked} "
        "AND owner = ? {fence}) AS found))"
    )

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        try:
            self.engine = create_engine(
                address.engine_url, pool_size=4, max_overflow=12, hide_parameters=True
            )
        except ModuleNotFoundError as error:
            msg = (
                "`voirdire.store` needs psycopg for PostgreSQL. Install it with "
                '`pip install "voirdire[postgres]"`.'
            )
            raise InputError(msg) from error
        event.listen(self.engine, "before_cursor_execute", _read_blobs_as_they_are)

    def begin_store(self, connection: Connection) -> None:
        """Do nothing: a store may share a database with other tables."""

    def begin(self, connection: Connection) -> None:
        """Do nothing: the first statement begins a transaction."""

    def add_tables(self, connection: Connection) -> None:
        """Create the tables under a lock, since one of two processes would raise else."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        super().add_tables(connection)

    def parts(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Split rows into parts for one message each."""
        for start in range(0, len(rows), _POSTGRES_ROWS):
            yield rows[start : start + _POSTGRES_ROWS]

    def table(self, n_rows: int, n_columns: int) -> str:  # noqa: ARG002  # arrays of any length
        """Return rows as an array for each column: one round trip for many."""
        arrays = ", ".join(f"?::{kind}[]" for _, kind in _COLUMNS[:n_columns])
        return f"SELECT * FROM unnest({arrays})"  # noqa: S608  # our own words

    def arguments(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Return the columns."""
        return [list(column) for column in zip(*rows, strict=True)]


def _read_blobs_as_they_are(
    _connection: Connection, cursor: Any, statement: str, *_: object
) -> None:
    if statement.startswith("WITH asked"):
        from psycopg.pq import Format

        cursor.format = Format.BINARY  # the other form is text, twice as long
