"""Logs where a bug in a judge is, without its message, which may quote an item."""

from __future__ import annotations

import logging
import traceback

__all__ = ["foreign_exit", "tell_bug"]

_MOST_TOLD = 100
_log = logging.getLogger("voirdire")
_told: set[tuple[str, str, int]] = set()


def tell_bug(error: BaseException) -> None:
    """Log the place of an error that nobody raises on purpose, without its message; once."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = (type(error).__name__, last.filename if last else "", (last.lineno or 0) if last else 0)
    if place in _told or len(_told) >= _MOST_TOLD:
        return
    _told.add(place)
    _log.error(
        "the judge raised %s; the items concerned have no verdict\n%s",
        type(error).__name__,
        "".join(frames.format()).rstrip(),
    )


def foreign_exit(who: str, error: BaseException) -> RuntimeError:
    """Make an error of what would end the whole program, such as a `SystemExit`."""
    found = RuntimeError(f"{who} must not raise {type(error).__name__}, which ends a run")
    found.__cause__ = error
    return found
