"""Logs of a server, without texts of requests or messages of errors.

The message of an exception may quote what a program worked on, and so may the exceptions of
libraries: here none is ever written.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import traceback
from collections import deque
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

__all__ = ["describe_error", "keep_loop_quiet", "log", "log_access", "log_error", "write_logs"]

log = logging.getLogger("voirdire.server")
_access = logging.getLogger("voirdire.server.access")
_LEVELS = {
    "voirdire": logging.INFO,
    "uvicorn": logging.WARNING,
    "asyncio": logging.WARNING,
    "concurrent.futures": logging.WARNING,
}
_ACCESS_FIELDS = ("client", "method", "route", "status", "milliseconds")
_MOST_FRAMES = 12
_MOST_LINES = 10_000
_LAST_S = 2.0
_PAUSE_S = 0.05


def describe_error(error: BaseException) -> str:
    """Name the type of an error and where it was raised, without its message."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return f"{type(error).__name__} at {' > '.join(places) or 'an unknown place'}"


def log_error(what: str, error: BaseException) -> None:
    """Write an error down."""
    log.error("%s: %s", what, describe_error(error))


def log_access(route: str, *, method: str, status: int, seconds: float, client: str) -> None:
    """Write a request down: its route, never its query or its body."""
    if _access.isEnabledFor(logging.INFO):
        _access.info("%s %s %s %d %.1f ms", client, method, route, status, seconds * 1e3)


@contextmanager
def write_logs(*, as_json: bool) -> Iterator[None]:
    """Send what our loggers and those of the server say to standard error, for the time being."""
    handler = _ThreadedHandler(sys.stderr)
    handler.setFormatter(
        _JsonFormatter() if as_json else _TextFormatter("%(asctime)s %(levelname)s %(message)s")
    )
    loggers = [logging.getLogger(name) for name in _LEVELS]
    before = [(row, row.handlers, row.propagate, row.level) for row in loggers]
    hook = threading.excepthook
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(_LEVELS[logger.name])
    threading.excepthook = _log_thread_failure
    try:
        yield
    finally:
        threading.excepthook = hook
        for logger, handlers, propagates, level in before:
            logger.handlers, logger.propagate = handlers, propagates
            logger.setLevel(level)
        handler.close()


def keep_loop_quiet(loop: asyncio.AbstractEventLoop) -> None:
    """Let an event loop name what went wrong in a task without quoting it."""
    loop.set_exception_handler(_log_task_failure)


def _log_task_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    del loop
    error = context.get("exception")
    where = "an unknown error" if error is None else describe_error(error)
    log.error("in the background: %s", where)


def _log_thread_failure(told: threading.ExceptHookArgs) -> None:
    if told.exc_value is not None:
        log_error("in a thread", told.exc_value)


class _ThreadedHandler(logging.Handler):
    """Formats and writes in its own thread, and drops lines that are not read.

    So a server whose error pipe is never read does not block after a thousand requests. The thread
    polls for lines: waking it for every line would cost more than the line.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
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
                lines.append(f"{self.format(self._records.popleft())}\n")
            if lines:
                with contextlib.suppress(OSError, ValueError):  # nobody is there any more
                    self._stream.write("".join(lines))
                    self._stream.flush()


class _TextFormatter(logging.Formatter):
    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name that logging calls
        return describe_error(ei[1])


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name == _access.name and isinstance(record.args, tuple):
            line |= zip(_ACCESS_FIELDS, record.args, strict=True)
            line["milliseconds"] = round(line["milliseconds"], 3)
        else:
            line["message"] = record.getMessage()
        if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
            line["error"] = describe_error(record.exc_info[1])
        return msgspec.json.encode(line).decode()
