"""Stores models' replies by judge and item in SQLite or PostgreSQL, and never changes them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import sqlalchemy as sa
from msgspec.structs import astuple

from voirdire.store.database import Database, read_address, translate_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

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


class ReplyStore(Database):
    """Stored replies and failures of models; made by `open_store`.

    Every method may be called from any thread, and several processes may use the same store. A
    forked process must open it again.
    """

    tables, schema, version, content, pragmas = (
        _TABLES,
        _SCHEMA,
        SCHEMA_VERSION,
        "replies",
        _SETTINGS,
    )

    def __init__(self, url: sa.URL, *, makes: bool) -> None:
        self._last_row = 0
        self._n_by_others: Counter[int] = Counter()
        super().__init__(url, makes=makes)
        self._mark = "?" if self._is_sqlite else "%s"
        if self._is_sqlite:
            self._last_row = self.transact(_read_last_row)

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

        return self.transact(find_or_register)

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

        return self.transact(read)

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
        await self.commit((judge_id, *astuple(call)))

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
        self.insert([(judge_id, *astuple(call)) for call in calls])

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
        with translate_errors(self.url), self._engine.connect() as connection:
            rows = connection.execute(query, execution_options={"yield_per": _CALLS_A_READ})
            yield from (StoredCall(*row) for row in rows)

    def judges(self) -> list[JudgeRecord]:
        """List the judges that have an entry, in the order in which they were registered."""
        query = sa.select(_JUDGES).order_by(_JUDGES.c.id)
        return [
            JudgeRecord(id=row.id, fingerprint=row.fingerprint, description=json.loads(row[2]))
            for row in self.transact(lambda connection: connection.execute(query).all())
        ]

    def insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put rows of the table of calls in, as `put_now` does."""
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
            self.transact(insert)


def _read_last_row(connection: sa.Connection) -> int:
    return connection.exec_driver_sql("SELECT max(rowid) FROM voirdire_calls").scalar() or 0
