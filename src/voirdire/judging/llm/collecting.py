"""Garbage collected less often while a run makes objects by the million."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collected_seldom"]

_YOUNG = 20_000
"""Objects between two looks at the young ones: Python's own 700 cost a run a tenth of its time."""

_lock = threading.Lock()
_running = 0
_before = (0, 0, 0)


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Look for reference cycles less often, in the whole process, and as before afterwards.

    Calls and verdicts are freed as soon as nobody holds them; only cycles wait longer. Whoever
    collects even less often, or not at all, is left in peace.
    """
    global _running, _before  # noqa: PLW0603  # the collector is one for the process as well
    with _lock:
        if not _running:
            _before = gc.get_threshold()
            if 0 < _before[0] < _YOUNG:
                gc.set_threshold(_YOUNG, *_before[1:])
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running and gc.get_threshold()[0] == _YOUNG:
                gc.set_threshold(*_before)
