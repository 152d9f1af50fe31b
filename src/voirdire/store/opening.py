"""The way into a store: a path, or a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.store.addresses import read_address
from voirdire.store.postgres import PostgresDatabase
from voirdire.store.reply_store import ReplyStore
from voirdire.store.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.store.database import Database

__all__ = ["open_store"]


def open_store(url: str | Path) -> ReplyStore:
    r"""Open a store of replies, and make it where there is none.

    Parameters
    ----------
    url : str or path
        A path or ``"sqlite:///PATH"`` for a file of SQLite; ``"postgresql://USER@HOST/DATABASE"``
        for a server (needs ``voirdire[postgres]``; a password may also come from ``PGPASSWORD`` or
        ``.pgpass``); ``":memory:"`` for one that ends with the process.

    Returns
    -------
    ReplyStore
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    InputError
        If `url` is none of these, or if what is there is no store, is of a newer version, cannot
        be written or cannot be reached. Nothing is overwritten.

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
    >>> with open_store(":memory:") as store:
    ...     judge_id = store.judge_id("sha256:0", description={"model": "scripted"})
    ...     store.put(judge_id, [StoredCall(b"\0" * 32, "joint", 0, b"the reply")])
    ...     [call.blob for call in store.get(judge_id, [b"\0" * 32])[b"\0" * 32]]
    [b'the reply']
    """
    address = read_address(url)
    is_sqlite = address.engine_url.get_backend_name() == "sqlite"
    database: Database = SqliteDatabase(address) if is_sqlite else PostgresDatabase(address)
    store = ReplyStore(database, address=address)
    try:
        store.prepare()
    except BaseException:
        store.close()
        raise
    return store
