"""Logs where a judge raised an unexpected error, without the message, which may quote an item."""

from __future__ import annotations

import logging
import traceback

__all__ = ["log_bug", "make_exit_error"]

_MAX_LOGGED = 100
_log = logging.getLogger("voirdire")
_logged: set[tuple[str, str, int]] = set()


def log_bug(error: BaseException) -> None:
    """Log the place of an unexpected error once, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = (type(error).__name__, last.filename if last else "", (last.lineno or 0) if last else 0)
    if place in _logged or len(_logged) >= _MAX_LOGGED:
        return
    _logged.add(place)
    _log.error(
        "the judge raised %s; the items concerned have no verdict\n%s",
        type(error).__name__,
        "".join(frames.format()).rstrip(),
    )


def make_exit_error(who: str, error: BaseException) -> RuntimeError:
    """Turn an exception that would end the program, such as `SystemExit`, into an error."""
    exit_error = RuntimeError(f"{who} must not raise {type(error).__name__}, which ends a run")
    exit_error.__cause__ = error
    return exit_error
