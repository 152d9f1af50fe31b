"""Stores models' replies by judge and item in SQLite or PostgreSQL, and never changes them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

__all__ = ["JudgeRecord", "ReplyStore", "StoredCall", "open_store"]

T = TypeVar("T")
Found: TypeAlias = dict[bytes, dict[str, list[bytes]]]  # blobs by item and name, by attempt


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

# Increased with every change that earlier releases cannot read.
SCHEMA_VERSION = 1

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

_REGISTER = sa.text(
    "INSERT INTO voirdire_judges (fingerprint, description) VALUES (:fingerprint, :description) "
    "ON CONFLICT (fingerprint) DO NOTHING"
)
# These two run for every item; compiled by SQLAlchemy at each execution, a read would take 2.3
# times the processor time. {0} is how the driver marks a value.
_INSERT = "INSERT INTO voirdire_calls VALUES ({0}, {0}, {0}, {0}, {0}) ON CONFLICT DO NOTHING"
_SELECT = (
    "SELECT item, name, attempt, blob FROM voirdire_calls "
    "WHERE judge_id = {0} AND item IN ({1}) ORDER BY item, name, attempt"
)
_JUDGES_SINCE = "SELECT DISTINCT judge_id FROM voirdire_calls WHERE rowid > ?"
_ITEMS_A_READ, _CALLS_A_READ = 500, 256

# A killed process loses no commit. When the whole machine fails, the last commits may be lost,
# without harm to earlier ones.
_SETTINGS = "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=8000"
# With IMMEDIATE a transaction waits for other writers where it begins, and never later.
_SQLITE_OPTIONS = {"timeout": 60, "isolation_level": "IMMEDIATE", "check_same_thread": False}
_LOCK_OF_TABLES = 8_606_216_600_190_023  # any number that no other program locks
_GATHER_S = 0.005  # a commit costs as much as a dozen calls

# Addresses and errors -------------------------------------------------------------------------

_POSTGRES = ("postgresql:", "postgres:", "postgresql+psycopg:")
_ADDRESS_RULE = (
    "`url` must be a path, sqlite:///PATH with four slashes before an absolute path, or "
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE with special characters of the password as %XX, "
    "got one that begins with {!r}. Name a file, such as replies.db."
)
_MISSING = "{}: there must be a store of replies, got {}, left as it is. Name another place."
_PATIENCE_S, _PAUSE_S = 60.0, 0.05
# Another transaction was in the way (in PostgreSQL: serialization failure, deadlock).
_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "40001", "40P01")
# The server shuts down, has crashed or is starting up; or nothing came from it.
_AWAY = ("57P01", "57P02", "57P03", "no code")
_WAYS_OUT = {
    "SQLITE_FULL": "Make room: what was put before is kept.",
    "SQLITE_CORRUPT": "The file is damaged: take a copy, and `.recover` it with sqlite3.",
    "SQLITE_BUSY": "Another program holds it: wait until that program ends.",
    "SQLITE": "Look at the file, its folder and disk and your rights there, or name another file.",
    "": "Look at the server, at the name of its database and at your rights there.",
}


def read_address(url: str | Path) -> sa.URL:
    """Read a path or a URL, or raise `InputError`; the message never holds a password."""
    text = path = str(url)
    is_postgres = text.lower().startswith(_POSTGRES)
    if isinstance(url, str) and ("://" in text or is_postgres):
        path = text[10:] if text.lower().startswith("sqlite:///") and "?" not in text else ""
        place = text.partition("://")[2]
        # A second @ is part of a password that was not encoded; taken for the name of a host, it
        # would be shown.
        if is_postgres and place and place.partition("?")[0].count("@") < 2:
            with contextlib.suppress(sa.exc.ArgumentError, ValueError):
                return sa.make_url(f"postgresql+psycopg://{place}")
    if not path or "\0" in path:
        raise InputError(_ADDRESS_RULE.format(shorten(text.partition(":")[0])))
    return sa.URL.create("sqlite", database=os.path.realpath(path))


def show_address(url: sa.URL) -> str:
    """Show where a store is, without its user and password."""
    if url.drivername == "sqlite":
        return str(url.database)
    host, port = url.query.get("host") or url.host or "", f":{url.port}" if url.port else ""
    return shorten(f"postgresql://{host}{port}/{url.database or ''}")


@contextlib.contextmanager
def translate_errors(url: sa.URL) -> Iterator[None]:
    """Turn errors of the database into `InputError`."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        said, code = str(error.orig), read_code(error)
        secrets = [url.password, url.query.get("password"), url.query.get("sslpassword")]
        for secret in filter(None, secrets):
            said = said.replace(str(secret), "***")
        way_out = next(words for name, words in _WAYS_OUT.items() if code.startswith(name))
        shown = f"{show_address(url)}: the store cannot be used ({shorten(said, width=200)})"
        raise InputError(f"{shown}. {way_out}") from (None if any(secrets) else error)


def retry_transient(attempt: Callable[[], T], transient: tuple[str, ...]) -> T:
    """Run a function, and for a minute again after errors whose codes begin as those."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return attempt()
        except sa.exc.OperationalError as error:
            if not read_code(error).startswith(transient) or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


def read_code(error: sa.exc.DBAPIError) -> str:
    """Return SQLite's name of an error or PostgreSQL's code; an error of neither has none."""
    name = getattr(error.orig, "sqlite_errorname", None)
    return name or getattr(error.orig, "sqlstate", None) or "no code"


_NETWORKS = re.compile(r"nfs|cifs|smb|sshfs|lustre|gpfs|beegfs|ceph|gluster|s3|gcs|rclone")


def _warn_of_network(path: Path) -> None:
    """Warn of a file on a network disk, whose locks do not hold between machines."""
    with contextlib.suppress(OSError):  # elsewhere than on Linux
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        places = {row[1]: row[2] for row in mounts}
        kind = next((places[str(x)] for x in path.parents if str(x) in places), "")
        if _NETWORKS.search(kind):
            msg = (
                f"{path}: the store is on a network disk ({kind}), where several machines may "
                "damage it. Use one machine, or name a store in PostgreSQL."
            )
            warnings.warn(msg, UserWarning, stacklevel=2)


# The store ------------------------------------------------------------------------------------


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
    >>> from tempfile import TemporaryDirectory
    >>> from voirdire.store import StoredCall, open_store
    >>> with TemporaryDirectory() as folder, open_store(f"{folder}/replies.db") as store:
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
        self._process = os.getpid()
        self._is_closed = False
        self._puts: list[tuple[tuple[Any, ...], asyncio.Future[None]]] = []
        self._last_row = 0
        self._n_by_others: Counter[int] = Counter()
        self._putting = threading.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="voirdire-store")
        options: Any = _SQLITE_OPTIONS if self._is_sqlite else {}
        try:
            self._engine = sa.create_engine(
                url, connect_args=options, pool_use_lifo=True, hide_parameters=True
            )
        except ModuleNotFoundError as error:
            msg = "`voirdire.store` needs psycopg for PostgreSQL. Install it with "
            raise InputError(f'{msg}`pip install "voirdire[postgres]"`.') from error
        if self._is_sqlite:
            sa.event.listen(self._engine, "connect", lambda made, _: made.executescript(_SETTINGS))
            path = Path(str(url.database))
            _warn_of_network(path)
            if not makes and not path.exists():
                raise InputError(_MISSING.format(path, "no file"))
            # Its owner alone can read it, since responses are private. An existing file is not
            # opened: closing it would drop this process's locks on it.
            with contextlib.suppress(OSError):  # SQLite will say more
                path.touch(0o600, exist_ok=False)
        self._transient: tuple[str, ...] = _PASSING
        try:
            self._transact(lambda connection: self._prepare(connection, makes=makes))
        except BaseException:
            self.close()
            raise
        self._transient += _AWAY  # a server that was there may be restarting
        if self._is_sqlite:
            self._last_row = self._transact(_read_last_row)

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

        return self._transact(find_or_register)

    def get(self, judge_id: int, items: Sequence[bytes]) -> Found:
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

        def read(connection: sa.Connection) -> Found:
            found: Found = {}
            for start in range(0, len(wanted), _ITEMS_A_READ):
                part = wanted[start : start + _ITEMS_A_READ]
                query = _SELECT.format(self._mark, ", ".join([self._mark] * len(part)))
                rows = connection.exec_driver_sql(query, (judge_id, *part)).all()
                for item, name, _, blob in rows:
                    found.setdefault(item, {}).setdefault(name, []).append(blob)
            return found

        return self._transact(read)

    async def aget(self, judge_id: int, items: Sequence[bytes]) -> Found:
        """Do the same as `get` in a thread, while the event loop goes on."""
        return await asyncio.to_thread(self.get, judge_id, items)

    def n_by_others(self, judge_id: int) -> int:
        """Count how often others stored calls of a judge, as far as the last commit here shows.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.

        Returns
        -------
        int
            While it stays the same, nothing was stored but what was put in here. In PostgreSQL it
            is another number each time, since that is not known.
        """
        if not self._is_sqlite:
            self._n_by_others[judge_id] += 1
        return self._n_by_others[judge_id]

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
        self._check_usable()
        committed = asyncio.get_running_loop().create_future()
        with self._putting:
            if not self._puts:
                try:
                    self._writer.submit(self._commit)
                except RuntimeError as error:  # it was closed meanwhile
                    raise self._closed_error() from error
            self._puts.append(((judge_id, *astuple(call)), committed))
        await committed

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
        self._insert([(judge_id, *astuple(call)) for call in calls])

    def scan(self, judge_id: int) -> Iterator[StoredCall]:
        """Iterate over a judge's calls in bounded memory.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.

        Yields
        ------
        StoredCall
            By item, name and attempt: what was there when it began.
        """
        key = (_CALLS.c.item, _CALLS.c.name, _CALLS.c.attempt)
        query = sa.select(*key, _CALLS.c.blob).where(_CALLS.c.judge_id == judge_id).order_by(*key)
        self._check_usable()
        with translate_errors(self._url), self._engine.connect() as connection:
            rows = connection.execute(query, execution_options={"yield_per": _CALLS_A_READ})
            yield from (StoredCall(*row) for row in rows)

    def judges(self) -> list[JudgeRecord]:
        """List the judges that have an entry, in the order in which they were registered."""
        query = sa.select(_JUDGES).order_by(_JUDGES.c.id)
        return [
            JudgeRecord(id=row.id, fingerprint=row.fingerprint, description=json.loads(row[2]))
            for row in self._transact(lambda connection: connection.execute(query).all())
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
            If another run holds it.
        """
        self._check_usable()
        digest = hashlib.sha256(key.encode()).digest()
        path = Path(f"{self._url.database}-lock-{digest.hex()[:16]}")
        number = int.from_bytes(digest[:8], signed=True)
        url, options = self._url, dict[str, Any]()
        statements = ["SET lock_timeout = 500", f"SELECT pg_advisory_lock({number})"]
        if self._is_sqlite:  # another file: whoever locks this one keeps all writers out
            url, options = url.set(database=str(path)), _SQLITE_OPTIONS | {"timeout": 0.5}
            statements = ["PRAGMA journal_mode = MEMORY", "BEGIN EXCLUSIVE"]
        engine = sa.create_engine(
            url, connect_args=options, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )
        with contextlib.ExitStack() as held:
            with translate_errors(self._url):
                connection = held.enter_context(engine.connect())
                try:
                    for statement in statements:
                        connection.exec_driver_sql(statement)
                except sa.exc.OperationalError:
                    msg = f"{show_address(self._url)}: another run asks this judge for the same "
                    msg += "output. Wait until it ends, or name another output."
                    raise InputError(msg) from None
            if self._is_sqlite:
                held.callback(path.unlink, missing_ok=True)
            yield

    def close(self) -> None:
        """Commit what was put, and close the file or the connection; may be called again."""
        if os.getpid() == self._process:
            self._writer.shutdown()
            self._is_closed = True
            self._engine.dispose()

    def _prepare(self, connection: sa.Connection, *, makes: bool) -> None:
        """Create the tables where there are none; refuse what is no store of this version."""
        shown = show_address(self._url)
        tables = sa.inspect(connection).get_table_names()
        if _SCHEMA.name not in tables:
            if not makes or (tables and self._is_sqlite):
                raise InputError(_MISSING.format(shown, f"a database of {len(tables)} tables"))
            if self._is_sqlite:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:  # one of two processes would raise else
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_OF_TABLES})")
            _TABLES.create_all(connection)
            if connection.execute(sa.select(_SCHEMA)).first() is None:
                connection.execute(sa.insert(_SCHEMA).values(version=SCHEMA_VERSION))
        version = connection.execute(sa.select(_SCHEMA.c.version)).scalar()
        if version != SCHEMA_VERSION:
            msg = (
                f"{shown}: the store must be of version {SCHEMA_VERSION}, got {shorten(version)}. "
            )
            raise InputError(f"{msg}Use the release of voirdire that made it, or another place.")

    def _transact(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a function in a transaction of its own."""
        self._check_usable()

        def attempt() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        # A retry does no harm even after a commit whose confirmation was lost: stored calls are not
        # changed.
        with translate_errors(self._url):
            return retry_transient(attempt, self._transient)

    def _check_usable(self) -> None:
        # Two processes on one connection would damage the file.
        if os.getpid() != self._process:
            msg = "the store must be opened by the process that uses it, got one from before a fork"
            raise InputError(f"{show_address(self._url)}: {msg}. Open it again there.")
        if self._is_closed:
            raise self._closed_error()

    def _closed_error(self) -> InputError:
        msg = "the store must be open, got a closed one. Open it again."
        return InputError(f"{show_address(self._url)}: {msg}")

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        # Transactions that insert in one order do not deadlock; of equal keys the first stays.
        ordered: Any = sorted(rows, key=itemgetter(0, 1, 2, 3))
        statement = _INSERT.format(self._mark)

        def insert(connection: sa.Connection) -> None:
            if self._is_sqlite:  # it numbers rows in the order of arrival: whose others have stored
                last = _read_last_row(connection)
                if last != self._last_row:
                    judges = connection.exec_driver_sql(_JUDGES_SINCE, (self._last_row,)).scalars()
                    self._n_by_others.update(judges)
                    self._last_row = last
            self._last_row += connection.exec_driver_sql(statement, ordered).rowcount

        if ordered:
            self._transact(insert)

    def _commit(self) -> None:
        """Commit all that was put, after a moment in which more may come."""
        time.sleep(_GATHER_S)
        with self._putting:
            puts, self._puts = self._puts, []
        error: BaseException | None = None
        try:
            self._insert([row for row, _ in puts])
        except BaseException as raised:  # noqa: BLE001  # those who wait get it
            error = raised
        for loop in {committed.get_loop() for _, committed in puts}:
            waiters = [committed for _, committed in puts if committed.get_loop() is loop]
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(_tell, waiters, error)


def _read_last_row(connection: sa.Connection) -> int:
    return connection.exec_driver_sql("SELECT max(rowid) FROM voirdire_calls").scalar() or 0


def _tell(waiters: Sequence[asyncio.Future[None]], error: BaseException | None) -> None:
    for waiter in waiters:
        if waiter.done():  # it was cancelled
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)
