"""Logs of a server, without texts of requests or messages of errors.

The message of an exception may quote what a program worked on, and so may the exceptions of
libraries: here none is ever written.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.adapters.run_notes import describe_error

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger("voirdire.server")
_LEVELS = {"voirdire": "INFO", "uvicorn": "INFO", "asyncio": "WARNING", "concurrent": "WARNING"}
_ACCESS_FIELDS = ("client", "method", "route", "status", "milliseconds")
_MOST_LINES = 10_000
_access = logging.getLogger("voirdire.server.access")
_LAST_S = 2.0
_PAUSE_S = 0.05


def log_error(what: str, error: BaseException) -> None:
    """Write an error down."""
    log.error("%s: %s", what, describe_error(error))


def log_access(route: str, *, method: str, status: int, seconds: float, client: str) -> None:
    """Write a request down: its route, never its query or its body."""
    values = (client, method, route, status, round(seconds * 1e3, 3))
    _access.info("", extra={"fields": dict(zip(_ACCESS_FIELDS, values, strict=True))})


def make_log_config(*, as_json: bool) -> dict[str, Any]:
    """Configure our loggers and those of the server, here and in each worker."""
    loggers = {
        name: {"handlers": ["stderr"], "level": level, "propagate": False}
        for name, level in _LEVELS.items()
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"stderr": {"()": _ThreadedHandler, "as_json": as_json}},
        "loggers": loggers,
    }


def keep_quiet(loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop and threads name what went wrong in the background without quoting it."""

    def log_task(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        error = context.get("exception")
        log.error("in the background: %s", "?" if error is None else describe_error(error))

    def log_thread(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None:
            log_error("in a thread", failed.exc_value)

    loop.set_exception_handler(log_task)
    threading.excepthook = log_thread


class _ThreadedHandler(logging.Handler):
    """Formats and writes in its own thread, and drops lines that are not read.

    So a server whose error pipe is never read does not block after a thousand requests. The thread
    polls for lines: waking it for every line would cost more than the line.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._records: deque[logging.LogRecord] = deque()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._write, name="voirdire-log", daemon=True)
        self._thread.start()

    def handle(self, record: logging.LogRecord) -> bool:
        """Take a record; a deque needs no lock."""
        if len(self._records) < _MOST_LINES:
            self._records.append(record)
        return True

    def close(self) -> None:
        self._is_closed.set()
        self._thread.join(timeout=_LAST_S)
        super().close()

    def _write(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._is_closed.wait(_PAUSE_S)
            lines = []
            while self._records:
                record = self._records.popleft()
                error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
                fields = getattr(record, "fields", None)
                fields = dict(fields or {"message": record.getMessage().strip()})
                fields |= {"error": describe_error(error)} if error is not None else {}
                lines.append(self._format(record.created, record.levelname, record.name, fields))
            if lines:
                with contextlib.suppress(OSError, ValueError):  # nobody is there any more
                    sys.stderr.write("".join(lines))
                    sys.stderr.flush()

    def _format(self, created: float, level: str, logger: str, fields: dict[str, Any]) -> str:
        when = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
        if not self._as_json:
            return f"{when} {level} {' '.join(map(str, fields.values()))}\n"
        line = {"time": when, "level": level.lower(), "logger": logger} | fields
        return f"{msgspec.json.encode(line).decode()}\n"
