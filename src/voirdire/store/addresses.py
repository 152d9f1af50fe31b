"""Reads the address of a store, and says what is wrong there without showing a password."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["read_address", "retry_transient", "show_address", "translate_errors"]

T = TypeVar("T")

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_RULE = (
    "`url` must be a path, sqlite:///PATH with four slashes before an absolute path, or "
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE with special characters of the password as %XX, "
    "got one that begins with {!r}. Name a file, such as replies.db."
)


def read_address(url: str | Path) -> sa.URL:
    """Read a path or a URL, or raise `InputError`; the message never holds a password."""
    text = path = str(url)
    scheme, mark, rest = text.partition("://")
    begins = text.partition(":")[0].lower()
    refusal = InputError(_RULE.format(shorten(begins)))
    if isinstance(url, str) and (mark or (begins in _POSTGRES and "@" in text)):
        if mark and begins in _POSTGRES:
            # A second @ is part of a password that was not encoded; taken for the name of a host,
            # it would be shown.
            with contextlib.suppress(sa.exc.ArgumentError, ValueError):
                if rest.partition("?")[0].count("@") < 2:
                    return sa.make_url(f"postgresql+psycopg://{rest}")
            raise refusal from None
        if scheme.lower() != "sqlite" or rest[:1] != "/" or "?" in rest:
            raise refusal
        path = rest[1:]
    if not path or "\0" in path:
        raise refusal
    return sa.URL.create("sqlite", database=os.path.realpath(path))


def show_address(url: sa.URL) -> str:
    """Show where a store is, without its user and password."""
    if url.drivername == "sqlite":
        return str(url.database)
    host, port = url.query.get("host") or url.host or "", f":{url.port}" if url.port else ""
    return shorten(f"postgresql://{host}{port}/{url.database or ''}")


# Errors ---------------------------------------------------------------------------------------

_PATIENCE_S = 60.0
# Another transaction was in the way (in PostgreSQL: serialization failure, deadlock).
_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "40001", "40P01")
# The server shuts down, has crashed or is starting up; or nothing came from it.
_AWAY = ("57P01", "57P02", "57P03", "no code")
_WAYS_OUT = {
    "SQLITE_FULL": "Make room: what was put before is kept.",
    "SQLITE_READONLY": "Make it writable, or name another file.",
    "SQLITE_NOTADB": "It is not an SQLite file and was not changed: name another file.",
    "SQLITE_CORRUPT": "The file is damaged: take a copy, and `.recover` it with sqlite3.",
    "SQLITE_BUSY": "Another program holds it: wait until that program ends.",
    "SQLITE": "Look at its folder, its disk and your rights there, or name another file.",
    "": "Look at the server, at the name of its database and at your rights there.",
}


@contextlib.contextmanager
def translate_errors(url: sa.URL) -> Iterator[None]:
    """Turn errors of the database and of its files into `InputError`."""
    try:
        yield
    except (sa.exc.DBAPIError, OSError) as error:
        if isinstance(error, OSError):
            said, code = str(error.strerror), "SQLITE"
        else:
            said, code = str(error.orig), _code(error)
        secrets = [url.password, url.query.get("password"), url.query.get("sslpassword")]
        for secret in filter(None, secrets):
            said = said.replace(str(secret), "***")
        way_out = next(words for name, words in _WAYS_OUT.items() if code.startswith(name))
        shown = f"{show_address(url)}: the store cannot be used ({shorten(said, width=200)})"
        raise InputError(f"{shown}. {way_out}") from (None if any(secrets) else error)


def retry_transient(attempt: Callable[[], T], *, server_may_return: bool) -> T:
    """Run a function, with retries for a minute after transient errors.

    With `server_may_return` that includes a server that cannot be reached: it may be restarting.
    """
    deadline = time.monotonic() + _PATIENCE_S
    pause_s = 0.005
    while True:
        try:
            return attempt()
        except sa.exc.OperationalError as error:
            passing = _PASSING + _AWAY * server_may_return
            if not _code(error).startswith(passing) or time.monotonic() > deadline:
                raise
        time.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311  # so that two part ways
        pause_s = min(2 * pause_s, 0.25)


def _code(error: sa.exc.DBAPIError) -> str:
    """Return SQLite's name of an error or PostgreSQL's code; an error of neither has none."""
    names = (getattr(error.orig, name, None) for name in ("sqlite_errorname", "sqlstate"))
    return next(filter(None, names), "no code")
