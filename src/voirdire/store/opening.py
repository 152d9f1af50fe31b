"""Opens a store by a path or a URL, and never shows its password."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.store.databases import PostgresDatabase, SqliteDatabase, StoreAddress
from voirdire.store.reply_store import ReplyStore

if TYPE_CHECKING:
    from voirdire.store.databases import Database

__all__ = ["open_store", "read_address"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_MISSPELT = re.compile(r"(?:postgres|postgresql)[^/]*:.*@", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}
_RULE = (
    "`url` must be a path, sqlite:///PATH, or postgresql://USER@HOST/DATABASE, got {}. "
    "Name a file, such as replies.db."
)


def open_store(url: str | Path) -> ReplyStore:
    r"""Open a store of replies, and create it where there is none.

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


def read_address(url: str | Path) -> StoreAddress:
    """Read a path or a URL, or raise `InputError`; the message never holds a password."""
    if not str(url) or "\0" in str(url):
        raise InputError(_RULE.format(repr(shorten(str(url)))))
    if isinstance(url, Path):
        return _file_address(url)
    scheme = _SCHEME.match(url)
    if url == ":memory:":
        return _sqlite_address("")
    if scheme is None and _MISSPELT.match(url):  # as a path, it would be shown with its password
        raise InputError(_RULE.format("an address of PostgreSQL without ://"))
    if scheme is None:
        return _file_address(Path(url))
    if scheme[1].lower() == "sqlite":
        return _sqlite_address(url[scheme.end() :])
    if scheme[1].lower() in _POSTGRES:
        return _postgres_address(url[scheme.end() :])
    raise InputError(_RULE.format(f"one that begins with {scheme[0]!r}"))


def _sqlite_address(rest: str) -> StoreAddress:
    if rest in ("", "/:memory:"):
        return StoreAddress(engine_url=URL.create("sqlite"), shown=":memory:")
    if not rest.startswith("/") or "?" in rest or rest == "/":
        msg = (
            f"`url` must be sqlite:///PATH without options, got {shorten('sqlite://' + rest)!r}. "
            "An absolute path has four slashes: sqlite:////data/replies.db."
        )
        raise InputError(msg)
    return _file_address(Path(rest[1:]))


def _file_address(path: Path) -> StoreAddress:
    path = Path(os.path.realpath(path))
    return StoreAddress(
        engine_url=URL.create("sqlite", database=str(path)), shown=str(path), path=path
    )


def _postgres_address(rest: str) -> StoreAddress:
    # A second @ is part of a password that was not encoded; taken for a host name, it would be
    # printed.
    if rest.partition("?")[0].count("@") > 1:
        msg = "`url` must have one @, before the host, got several. Write one in a password as %40."
        raise InputError(msg)
    try:
        url = make_url(f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError):
        msg = "`url` must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, got another form."
        raise InputError(f"{msg} Write special characters of a password as %XX.") from None
    host = next((url.query[key] for key in ("host", "hostaddr") if key in url.query), url.host)
    shown = f"postgresql://{host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}"
    secrets = (url.password, *(url.query.get(key) for key in ("password", "sslpassword")))
    return StoreAddress(
        engine_url=url,
        shown=shorten(shown),
        secrets=tuple(secret for secret in secrets if isinstance(secret, str) and secret),
    )
