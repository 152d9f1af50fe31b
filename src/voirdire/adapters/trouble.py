"""Logs repeated errors of a training run only a few times."""

from __future__ import annotations

import traceback
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

__all__ = ["TroubleLog"]

_MOST_KINDS = 100
_OTHERS = "other reasons"
_MOST_CAUSES = 5


class TroubleLog:
    """Logs each kind of error at its first, 10th, 100th, ... time.

    An exception may carry a response in its message, which a log must not hold: the types of it and
    of its causes are logged and where they were raised, without any message.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: Counter[str] = Counter()

    def error(self, what: str, error: BaseException) -> None:
        """Log an exception; `what` says what went wrong, without any text of a response."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
        before, now = self._count(f"{what} {type(error).__name__} {place}", 1)
        if before == 0:
            lines = "\n".join(_lines_of(error))
            self._log.error("%s, the message left out:\n%s", what, lines)
        elif _is_round(before, now):
            self._log.error("%s, for the %sth time: %s", what, f"{now:,}", type(error).__name__)

    def missing(self, reasons: Iterable[str], *, name: str, n_items: int) -> None:
        """Log why items of a request have no reward, given a reason for each of those."""
        for reason, number in Counter(reasons).items():
            before, now = self._count(reason, number)
            if before == 0:
                said = f"{number:,} of {n_items:,} completions"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)
            elif _is_round(before, now):
                said = f"{now:,} completions so far"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)

    def _count(self, kind: str, number: int) -> tuple[int, int]:
        """Return how often a kind occurred before and until now."""
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = _OTHERS
        self._counts[kind] += number
        return self._counts[kind] - number, self._counts[kind]


def _is_round(before: int, now: int) -> bool:
    """Whether a power of ten was reached."""
    return before > 0 and len(str(before)) < len(str(now))


def _lines_of(error: BaseException) -> list[str]:
    """Write types and places, the cause first, without messages and lines of source."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain and len(chain) < _MOST_CAUSES:
        chain.append(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    lines: list[str] = []
    for link in reversed(chain):
        lines.append(type(link).__qualname__)
        lines += [
            f"  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(link.__traceback__)
        ]
    return lines
