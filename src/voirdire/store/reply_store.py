"""Stores models' replies by judge and item, and never changes them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.store.addresses import (
    read_address,
    retry_transient,
    show_address,
    translate_errors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

__all__ = ["JudgeRecord", "ReplyStore", "StoredCall", "open_store"]

T = TypeVar("T")


# There are millions of them without references: the garbage collector can skip them.
class StoredCall(msgspec.Struct, frozen=True, gc=False):
    """One attempt at a call to a model, with its reply or failure.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of the item.
    name : str
        Which of the item's calls it was, such as ``"joint/order1"``.
    attempt : int
        Which attempt, from 0.
    blob : bytes
        The encoded reply or failure; the store never decodes it.
    """

    item: bytes
    name: str
    attempt: int
    blob: bytes


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """A judge in a store.

    Attributes
    ----------
    id : int
        Its number in this store.
    fingerprint : str
        Hash of everything that its replies depend on.
    description : mapping of str to Any
        Its description for people, from the first registration.
    """

    id: int
    fingerprint: str
    description: Mapping[str, Any]


# Tables ---------------------------------------------------------------------------------------

SCHEMA_VERSION = 1
"""Version of the tables; increased with every change that earlier releases cannot read."""

_TABLES = sa.MetaData()
_JUDGES = sa.Table(
    "voirdire_judges",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
)
# Rows are stored in the order of arrival, with the key in a separate index. With the rows in the
# key's tree (WITHOUT ROWID) hashed keys would put every row into another page: measured at 100,000
# and more rows, half the inserts a second, and a quarter of the reads of 4 kB blobs.
_CALLS = sa.Table(
    "voirdire_calls",
    _TABLES,
    sa.Column("judge_id", sa.Integer, nullable=False),
    sa.Column("item", sa.LargeBinary, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("blob", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
)
_SCHEMA = sa.Table("voirdire_schema", _TABLES, sa.Column("version", sa.Integer, nullable=False))
_KEY = (_CALLS.c.item, _CALLS.c.name, _CALLS.c.attempt)

_SET_VERSION = sa.text(
    f"INSERT INTO voirdire_schema SELECT {SCHEMA_VERSION} "  # noqa: S608  # our own words
    "WHERE NOT EXISTS (SELECT 1 FROM voirdire_schema)"
)
_REGISTER = sa.text(
    "INSERT INTO voirdire_judges (fingerprint, description) VALUES (:fingerprint, :description) "
    "ON CONFLICT (fingerprint) DO NOTHING"
)
# These two run for every item; compiled by SQLAlchemy at each execution, a read would take 2.3
# times the processor time. {0} is how the driver marks a value.
_INSERT = (
    "INSERT INTO voirdire_calls (judge_id, item, name, attempt, blob) "
    "VALUES ({0}, {0}, {0}, {0}, {0}) ON CONFLICT DO NOTHING"
)
_SELECT = (
    "SELECT item, name, attempt, blob FROM voirdire_calls "
    "WHERE judge_id = {0} AND item IN ({1}) ORDER BY item, name, attempt"
)
_ITEMS_A_READ, _CALLS_A_SCAN = 500, 256
_NO_STORE = "{}: there must be a store of replies, got {}, left as it is. Name another place."
_CLOSED = "{}: the store must be open, got a closed one. Open it again."
_GATHER_S = 0.001  # a commit costs as much as a dozen calls

_SQLITE_SETTINGS = (
    "PRAGMA busy_timeout = 60000",
    # A killed process loses no commit. When the whole machine fails, the last commits may be lost,
    # without harm to earlier ones.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA cache_size = -16384",
    "PRAGMA wal_autocheckpoint = 8000",
)
_LOCK_OF_TABLES = 8_606_216_600_190_023  # any number that no other program locks


def open_store(url: str | Path, *, makes: bool = True) -> ReplyStore:
    r"""Open a store of replies, and create it where there is none.

    Parameters
    ----------
    url : str or path
        A path or ``"sqlite:///PATH"`` for a file of SQLite; ``"postgresql://USER@HOST/DATABASE"``
        for a server (needs ``voirdire[postgres]``; a password may also come from ``PGPASSWORD`` or
        ``.pgpass``).
    makes : bool, optional
        Whether a store is created where there is none.

    Returns
    -------
    ReplyStore
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    InputError
        If `url` is none of these, or if what is there is no store, is of a newer version, cannot
        be written or cannot be reached; without `makes`, if there is none. Nothing is overwritten.

    Notes
    -----
    A new file can be read by its owner only: replies say much about the responses. Several
    processes of one machine may use a file at once. Its locks do not hold on network file systems
    (NFS, SMB): there, take PostgreSQL.

    SQLite keeps a write-ahead log with ``synchronous = NORMAL``: a process that is killed loses
    nothing of what was committed; when the whole machine fails, the last commits may be lost, and
    everything before them stays.

    Examples
    --------
    >>> from voirdire.store import StoredCall, open_store
    >>> with open_store("replies.db") as store:
    ...     judge_id = store.judge_id("sha256:0", description={"model": "scripted"})
    ...     store.put_now(judge_id, [StoredCall(b"\0" * 32, "joint", 0, b"the reply")])
    ...     store.get(judge_id, [b"\0" * 32])[b"\0" * 32]
    {'joint': [b'the reply']}
    """
    return ReplyStore(read_address(url), makes=makes)


class ReplyStore:
    """Stored replies and failures of models; made by `open_store`.

    Every method may be called from any thread, and several processes may use the same store. A
    forked process must open it again. One thread writes: it commits together what was put while it
    committed the puts before.
    """

    def __init__(self, url: sa.URL, *, makes: bool) -> None:
        self._url = url
        self._is_sqlite = url.drivername == "sqlite"
        self._mark = "?" if self._is_sqlite else "%s"
        # With IMMEDIATE a transaction waits for other writers where it begins, and never later.
        sqlite = {"check_same_thread": False, "isolation_level": "IMMEDIATE"}
        options: Any = sqlite if self._is_sqlite else {}
        try:
            self._engine = sa.create_engine(
                url, connect_args=options, pool_use_lifo=True, hide_parameters=True
            )
        except ModuleNotFoundError as error:
            msg = "`voirdire.store` needs psycopg for PostgreSQL. Install it with "
            raise InputError(f'{msg}`pip install "voirdire[postgres]"`.') from error
        self._process = os.getpid()
        self._is_closed = self._is_committing = self._may_return = False
        self._puts: list[tuple[list[tuple[Any, ...]], Future[None]]] = []
        self._putting = threading.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="voirdire-store")
        if self._is_sqlite:
            sa.event.listen(self._engine, "connect", _set_up_sqlite)
            self._make_file(Path(str(url.database)), makes=makes)
        try:
            self._transact(partial(self._prepare, makes=makes))
        except BaseException:
            self.close()
            raise
        self._may_return = not self._is_sqlite  # a server that was there may be restarting

    def __repr__(self) -> str:
        return f"ReplyStore({show_address(self._url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge_id(self, fingerprint: str, *, description: Mapping[str, Any]) -> int:
        """Return the number of a judge, and register it where it has none.

        Parameters
        ----------
        fingerprint : str
            Hash of everything that its replies depend on.
        description : mapping of str to Any
            What it is, for people, as JSON values; never a key. Kept when the judge is first seen.

        Returns
        -------
        int
            The same ever after, in every process.
        """
        described = json.dumps(dict(description), allow_nan=False, sort_keys=True)
        query = sa.select(_JUDGES.c.id).where(_JUDGES.c.fingerprint == fingerprint)

        def find_or_register(connection: sa.Connection) -> int:
            if (known := connection.execute(query).scalar()) is not None:
                return int(known)
            connection.execute(_REGISTER, {"fingerprint": fingerprint, "description": described})
            return int(connection.execute(query).scalar_one())

        return self._run(find_or_register)

    def get(self, judge_id: int, items: Sequence[bytes]) -> dict[bytes, dict[str, list[bytes]]]:
        """Return what is stored of items; faster for hundreds at once than one by one.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        items : sequence of bytes
            Hashes of items; one that is named twice is one.

        Returns
        -------
        dict of bytes to dict of str to list of bytes
            For every item that has any, the blobs of each of its calls, by attempt.
        """
        wanted = list(dict.fromkeys(items))

        def read(connection: sa.Connection) -> dict[bytes, dict[str, list[bytes]]]:
            found: dict[bytes, dict[str, list[bytes]]] = {}
            for start in range(0, len(wanted), _ITEMS_A_READ):
                part = wanted[start : start + _ITEMS_A_READ]
                query = _SELECT.format(self._mark, ", ".join([self._mark] * len(part)))
                for item, name, _, blob in connection.exec_driver_sql(query, (judge_id, *part)):
                    found.setdefault(item, {}).setdefault(name, []).append(blob)
            return found

        return self._run(read)

    async def aget(
        self, judge_id: int, items: Sequence[bytes]
    ) -> dict[bytes, dict[str, list[bytes]]]:
        """Do the same as `get` in a thread, while the event loop goes on."""
        return await asyncio.to_thread(self.get, judge_id, items)

    async def put(self, judge_id: int, call: StoredCall) -> None:
        """Put a call in, and return when it is committed.

        A stored call is not changed. A call whose waiter is cancelled is committed all the same.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        call : StoredCall
            What is stored.

        Raises
        ------
        InputError
            If the disk is full, the file is read-only, the server is away, or the store is closed.
        """
        await asyncio.wrap_future(self._submit(judge_id, [call]))

    def put_now(self, judge_id: int, calls: Sequence[StoredCall]) -> None:
        """Put calls in, all of them or none, and return when they are committed.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        calls : sequence of StoredCall
            What is stored; of two with one key the first.

        Raises
        ------
        InputError
            As for `put`.
        """
        self._submit(judge_id, calls).result()

    def scan(self, judge_id: int) -> Iterator[StoredCall]:
        """Iterate over a judge's calls in bounded memory.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.

        Yields
        ------
        StoredCall
            By item, name and attempt. What is put meanwhile may be among them.
        """
        query = sa.select(*_KEY, _CALLS.c.blob).where(_CALLS.c.judge_id == judge_id)
        query = rest = query.order_by(*_KEY).limit(_CALLS_A_SCAN)
        while True:
            rows = self._rows(rest)
            yield from (StoredCall(*row) for row in rows)
            if len(rows) < _CALLS_A_SCAN:
                return
            rest = query.where(sa.tuple_(*_KEY) > tuple(rows[-1])[:3])

    def judges(self) -> list[JudgeRecord]:
        """List the judges that have an entry, in the order in which they were registered."""
        query = sa.select(_JUDGES).order_by(_JUDGES.c.id)
        return [
            JudgeRecord(id=number, fingerprint=fingerprint, description=json.loads(description))
            for number, fingerprint, description in self._rows(query)
        ]

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Keep other runs with the same key out, in every process that uses this store.

        Parameters
        ----------
        key : str
            What is locked: a judge and an output, say.

        Yields
        ------
        None
            While the lock is held. It is free as soon as its process ends, however it ends.

        Raises
        ------
        InputError
            At once, if another run holds it.
        """
        self._check_usable()
        digest = hashlib.sha256(key.encode()).digest()
        hold = self._hold_file if self._is_sqlite else self._hold_number
        with contextlib.ExitStack() as held:
            with translate_errors(self._url):
                is_ours = held.enter_context(hold(digest))
            if not is_ours:
                msg = "another run asks the same judge for the same output. Wait until it ends, or "
                raise InputError(f"{show_address(self._url)}: {msg}name another output.")
            yield

    def close(self) -> None:
        """Commit what was put, and close the file or the connection; may be called again."""
        self._is_closed = True
        if os.getpid() == self._process:
            self._writer.shutdown()
            self._engine.dispose()

    def _make_file(self, path: Path, *, makes: bool) -> None:
        """Make a file that only its owner can read, since responses are private."""
        if not makes and not path.exists():
            raise InputError(_NO_STORE.format(path, "no file"))
        if makes:
            # An existing file is not opened: closing it would drop this process's locks on it.
            with translate_errors(self._url), contextlib.suppress(FileExistsError):
                path.touch(0o600, exist_ok=False)

    def _prepare(self, connection: sa.Connection, *, makes: bool) -> None:
        """Create the tables where there are none; refuse what is no store of this version."""
        shown = show_address(self._url)
        tables = sa.inspect(connection).get_table_names()
        if _SCHEMA.name not in tables:
            if not makes or (tables and self._is_sqlite):
                raise InputError(_NO_STORE.format(shown, f"a database of {len(tables)} tables"))
            if self._is_sqlite:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:  # one of two processes would raise else
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_OF_TABLES})")
            _TABLES.create_all(connection)
            connection.execute(_SET_VERSION)
        version = connection.execute(sa.select(_SCHEMA.c.version)).scalar()
        if version != SCHEMA_VERSION:
            msg = (
                f"{shown}: the store must be of version {SCHEMA_VERSION}, got {shorten(version)}. "
                "Use the release of voirdire that made it, or name another place."
            )
            raise InputError(msg)

    def _rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        return self._run(lambda connection: connection.execute(query).all())

    def _run(self, work: Callable[[sa.Connection], T]) -> T:
        self._check_usable()
        return self._transact(work)

    def _transact(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a function in a transaction of its own."""

        def attempt() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        # A retry does no harm even after a commit whose confirmation was lost: stored calls are not
        # changed.
        with translate_errors(self._url):
            return retry_transient(attempt, server_may_return=self._may_return)

    def _check_usable(self) -> None:
        # Two processes on one connection would damage the file.
        if os.getpid() != self._process:
            msg = "the store must be opened by the process that uses it, got one from before a fork"
            raise InputError(f"{show_address(self._url)}: {msg}. Open it again there.")
        if self._is_closed:
            raise InputError(_CLOSED.format(show_address(self._url)))

    def _submit(self, judge_id: int, calls: Sequence[StoredCall]) -> Future[None]:
        """Have the writer commit calls."""
        self._check_usable()
        rows = [(judge_id, *astuple(call)) for call in calls]
        committed: Future[None] = Future()
        with self._putting:
            if not self._puts:
                try:
                    self._writer.submit(self._commit, gathers=self._is_committing)
                except RuntimeError as error:  # it was closed meanwhile
                    raise InputError(_CLOSED.format(show_address(self._url))) from error
            self._puts.append((rows, committed))
        return committed

    def _commit(self, *, gathers: bool) -> None:
        """Commit all that was put, after a moment in which more may come."""
        if gathers:
            time.sleep(_GATHER_S)
        with self._putting:
            puts, self._puts, self._is_committing = self._puts, [], True
        error: BaseException | None = None
        try:
            # Transactions that insert in one order do not deadlock; of equal keys the first stays.
            rows = sorted([row for rows, _ in puts for row in rows], key=itemgetter(0, 1, 2, 3))
            insert = _INSERT.format(self._mark)
            if rows:
                self._transact(lambda connection: connection.exec_driver_sql(insert, rows))
        except BaseException as raised:  # noqa: BLE001  # those who wait get it
            error = raised
        self._is_committing = False
        for _, committed in puts:
            if not committed.set_running_or_notify_cancel():
                continue
            if error is None:
                committed.set_result(None)
            else:
                committed.set_exception(error)

    @contextlib.contextmanager
    def _hold_file(self, digest: bytes) -> Iterator[bool]:
        """Lock a file beside the store as SQLite does; the lock ends with the process."""
        path = f"{self._url.database}-lock-{digest.hex()[:16]}"
        options: Any = {"timeout": 0, "isolation_level": None, "check_same_thread": False}
        with contextlib.closing(sqlite3.connect(path, **options)) as connection:
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                yield False
                return
            try:
                yield True
            finally:
                Path(path).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _hold_number(self, digest: bytes) -> Iterator[bool]:
        """Lock a number on the server; the lock ends with the connection."""
        number = int.from_bytes(digest[:8], signed=True)
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            try:
                yield connection.execute(
                    sa.select(sa.func.pg_try_advisory_lock(number))
                ).scalar_one()
            finally:
                with contextlib.suppress(sa.exc.DBAPIError):  # a server that is away holds no lock
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(number)))


def _set_up_sqlite(connection: Any, _: object) -> None:
    for setting in _SQLITE_SETTINGS:
        connection.execute(setting)
