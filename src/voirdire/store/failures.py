"""What a database says went wrong, in our words: `InputError` with a way out, and no secret."""

from __future__ import annotations

import contextlib
import random
import time
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import exc

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from voirdire.store.addresses import StoreAddress

__all__ = ["patiently", "translated"]

T = TypeVar("T")

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
