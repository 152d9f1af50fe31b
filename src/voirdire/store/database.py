"""Opens a database in SQLite or PostgreSQL: addresses, errors, transactions, one writer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

T = TypeVar("T")

# With IMMEDIATE a transaction waits for other writers where it begins, and never later.
_SQLITE_OPTIONS = {"timeout": 60, "isolation_level": "IMMEDIATE", "check_same_thread": False}
_LOCK_OF_TABLES = 8_606_216_600_190_023  # any number that no other program locks
_GATHER_S = 0.005  # a commit costs as much as a dozen calls
_TAKEN = (
    "another run asks this judge for the same output. Wait until it ends, or name another output."
)

# Addresses and errors -------------------------------------------------------------------------

_POSTGRES = ("postgresql:", "postgres:", "postgresql+psycopg:")
_ADDRESS_RULE = (
    "`url` must be a path, sqlite:///PATH with four slashes before an absolute path, or "
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE with special characters of the password as %XX, "
    "got one that begins with {!r}. Name a file, such as replies.db."
)
_MISSING = "{}: there must be a store of {}, got {}, left as it is. Name another place."
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


# The database ---------------------------------------------------------------------------------


class Database:
    """Tables in a database; every method may be called from any thread.

    Several processes may use one at once; a forked process must open it again. One thread writes:
    it commits together what was put while it committed the puts before.
    """

    tables: sa.MetaData
    schema: sa.Table
    """With the version of the tables; its name tells what a database holds."""

    version: int
    """Increased with every change that earlier releases cannot read."""

    content: str
    """What is in it, for messages."""

    pragmas: str
    """How SQLite is set."""

    def __init__(self, url: sa.URL, *, makes: bool) -> None:
        self.url = url
        self._is_sqlite = url.drivername == "sqlite"
        self._process = os.getpid()
        self._is_closed = False
        self._puts: list[tuple[Any, asyncio.Future[None]]] = []
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
            sa.event.listen(
                self._engine, "connect", lambda made, _: made.executescript(self.pragmas)
            )
            path = Path(str(url.database))
            _warn_of_network(path)
            if not makes and not path.exists():
                raise InputError(_MISSING.format(path, self.content, "no file"))
            # Its owner alone can read it, since responses are private. An existing file is not
            # opened: closing it would drop this process's locks on it.
            with contextlib.suppress(OSError):  # SQLite will say more
                path.touch(0o600, exist_ok=False)
        self._transient: tuple[str, ...] = _PASSING
        try:
            self.transact(lambda connection: self._prepare(connection, makes=makes))
        except BaseException:
            self.close()
            raise
        self._transient += _AWAY  # a server that was there may be restarting

    def __repr__(self) -> str:
        return f"{type(self).__name__}({show_address(self.url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def lock(self, key: str, *, taken: str = _TAKEN) -> Iterator[None]:
        """Keep other runs with the same key out, in every process that uses this store.

        Parameters
        ----------
        key : str
            What is locked: a judge and an output, say.
        taken : str, optional
            What is said where another process holds it.

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
        path = Path(f"{self.url.database}-lock-{digest.hex()[:16]}")
        number = int.from_bytes(digest[:8], signed=True)
        url, options = self.url, dict[str, Any]()
        statements = ["SET lock_timeout = 500", f"SELECT pg_advisory_lock({number})"]
        if self._is_sqlite:  # another file: whoever locks this one keeps all writers out
            url, options = url.set(database=str(path)), _SQLITE_OPTIONS | {"timeout": 0.5}
            statements = ["PRAGMA journal_mode = MEMORY", "BEGIN EXCLUSIVE"]
        engine = sa.create_engine(
            url, connect_args=options, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )
        with contextlib.ExitStack() as held:
            with translate_errors(self.url):
                connection = held.enter_context(engine.connect())
                try:
                    for statement in statements:
                        connection.exec_driver_sql(statement)
                except sa.exc.OperationalError:
                    raise InputError(f"{show_address(self.url)}: {taken}") from None
            if self._is_sqlite:
                held.callback(path.unlink, missing_ok=True)
            yield

    def close(self) -> None:
        """Commit what was put, and close the file or the connection; may be called again."""
        if os.getpid() == self._process:
            self._writer.shutdown()
            self._is_closed = True
            self._engine.dispose()

    def insert(self, rows: Sequence[Any]) -> None:
        """Put rows in, all of them or none, and return when they are committed."""
        raise NotImplementedError

    async def commit(self, row: Any) -> None:
        """Put a row in with those of others, and return when it is committed.

        A row whose waiter is cancelled is committed all the same.
        """
        self._check_usable()
        committed = asyncio.get_running_loop().create_future()
        with self._putting:
            if not self._puts:
                try:
                    self._writer.submit(self._commit)
                except RuntimeError as error:  # it was closed meanwhile
                    raise self._closed_error() from error
            self._puts.append((row, committed))
        await committed

    def _prepare(self, connection: sa.Connection, *, makes: bool) -> None:
        """Create the tables where there are none; refuse what is no store of this version."""
        shown = show_address(self.url)
        tables = sa.inspect(connection).get_table_names()
        if self.schema.name not in tables:
            if not makes or (tables and self._is_sqlite):
                raise InputError(
                    _MISSING.format(shown, self.content, f"a database of {len(tables)} tables")
                )
            if self._is_sqlite:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:  # one of two processes would raise else
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_OF_TABLES})")
            self.tables.create_all(connection)
            if connection.execute(sa.select(self.schema)).first() is None:
                connection.execute(sa.insert(self.schema).values(version=self.version))
        version = connection.execute(sa.select(self.schema.c.version)).scalar()
        if version != self.version:
            msg = f"{shown}: the store must be of version {self.version}, got {shorten(version)}. "
            raise InputError(f"{msg}Use the release of voirdire that made it, or another place.")

    def transact(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a function in a transaction of its own; for a minute again where it is in the way."""
        self._check_usable()
        deadline = time.monotonic() + _PATIENCE_S
        # A retry does no harm even after a commit whose confirmation was lost: stored calls are not
        # changed.
        with translate_errors(self.url):
            while True:
                try:
                    with self._engine.begin() as connection:
                        return work(connection)
                except sa.exc.OperationalError as error:
                    is_passing = read_code(error).startswith(self._transient)
                    if not is_passing or time.monotonic() > deadline:
                        raise
                time.sleep(_PAUSE_S)

    def _check_usable(self) -> None:
        # Two processes on one connection would damage the file.
        if os.getpid() != self._process:
            msg = "the store must be opened by the process that uses it, got one from before a fork"
            raise InputError(f"{show_address(self.url)}: {msg}. Open it again there.")
        if self._is_closed:
            raise self._closed_error()

    def _closed_error(self) -> InputError:
        msg = "the store must be open, got a closed one. Open it again."
        return InputError(f"{show_address(self.url)}: {msg}")

    def _commit(self) -> None:
        """Commit all that was put, after a moment in which more may come."""
        time.sleep(_GATHER_S)
        with self._putting:
            puts, self._puts = self._puts, []
        error: BaseException | None = None
        try:
            self.insert([row for row, _ in puts])
        except BaseException as raised:  # noqa: BLE001  # those who wait get it
            error = raised
        for loop in {committed.get_loop() for _, committed in puts}:
            waiters = [committed for _, committed in puts if committed.get_loop() is loop]
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(_tell, waiters, error)


def _tell(waiters: Sequence[asyncio.Future[None]], error: BaseException | None) -> None:
    for waiter in waiters:
        if waiter.done():  # it was cancelled
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)
