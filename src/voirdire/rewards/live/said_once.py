"""Trouble that comes thousands of times in a training run, told a few times."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

__all__ = ["SaidOnce"]

_MOST_KINDS = 100
_OTHERS = "other reasons"


class SaidOnce:
    """Logs each kind of trouble when it first comes, and when it has come 10, 100, ... times.

    Parameters
    ----------
    log : logging.Logger
        Where to.

    Notes
    -----
    An exception may carry a response in its message, which a log must not hold: its type and where
    it was raised are told, and the same of what caused it, without any message.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: dict[str, int] = {}

    def error(self, what: str, error: BaseException) -> None:
        """Tell of an exception.

        Parameters
        ----------
        what : str
            What went wrong, without any text of a response.
        error : BaseException
            Of the same kind where what went wrong, the type and the place are the same.
        """
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
        before, now = self._count(f"{what} {type(error).__name__} {place}", 1)
        if before == 0:
            told = "\n".join(_told(error))
            self._log.error("%s, the message left out:\n%s", what, told)
        elif _is_round(before, now):
            self._log.error("%s, for the %sth time: %s", what, f"{now:,}", type(error).__name__)

    def missing(self, reasons: Iterable[str], *, name: str, n_items: int) -> None:
        """Tell why items have no reward.

        Parameters
        ----------
        reasons : iterable of str
            One for each item without a reward.
        name : str
            Of the reward.
        n_items : int
            Items of the request.
        """
        counted: dict[str, int] = {}
        for reason in reasons:
            counted[reason] = counted.get(reason, 0) + 1
        for reason, number in counted.items():
            before, now = self._count(reason, number)
            if before == 0:
                said = f"{number:,} of {n_items:,} completions"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)
            elif _is_round(before, now):
                said = f"{now:,} completions so far"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)

    def _count(self, kind: str, number: int) -> tuple[int, int]:
        """Give how often a kind has come before and now."""
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = _OTHERS
        before = self._counts.get(kind, 0)
        self._counts[kind] = before + number
        return before, before + number


def _is_round(before: int, now: int) -> bool:
    """Tell whether a power of ten was reached."""
    return before > 0 and len(str(before)) < len(str(now))


def _told(error: BaseException) -> list[str]:
    """Give types and places, the cause first, without messages and lines of source."""
    lines: list[str] = []
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain and len(chain) < 5:  # deep enough
        chain.append(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    for link in reversed(chain):
        lines.append(type(link).__qualname__)
        lines += [
            f"  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(link.__traceback__)
        ]
    return lines
