"""A rest for what is out of order, longer each time, until a trial finds it mended."""

from __future__ import annotations

__all__ = ["Breaker"]

_LONGEST_S = 60.0


class Breaker:
    """Says whether something that failed may be tried again.

    Parameters
    ----------
    rest_s : float
        Seconds of the first rest; each one after it is twice as long, up to a minute.

    Attributes
    ----------
    reason : str or None
        Why it is out of order; None where it works.
    """

    def __init__(self, rest_s: float) -> None:
        self.reason: str | None = None
        self._first_s = self._next_s = rest_s
        self._until = 0.0

    def trip(self, reason: str, *, now: float, at_least_s: float = 0.0) -> None:
        """Note that it is out of order, and rest; so many seconds at least."""
        self.reason = reason
        self._until = now + max(self._next_s, at_least_s)
        self._next_s = min(2 * self._next_s, max(_LONGEST_S, self._first_s))

    def mend(self) -> None:
        """Note that it works."""
        self.reason = None
        self._next_s = self._first_s

    def rests(self, now: float) -> str | None:
        """Give the reason while it rests; None where it works, or may be tried."""
        return self.reason if now < self._until else None
