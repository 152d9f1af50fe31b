"""A token bucket: so much at once, so much per second."""

from __future__ import annotations

__all__ = ["Bucket"]


class Bucket:
    """What may be used now, filled up with time.

    Whoever needs more than the bucket ever holds waits until it is full and leaves it in debt, so
    that whoever comes next waits longer; a bucket never stops anybody for good.

    Parameters
    ----------
    capacity : float
        What it holds at most; it begins full.
    per_second : float
        How fast it fills.
    now : float
        Seconds, from any beginning.
    """

    __slots__ = ("_at", "capacity", "level", "per_second")

    def __init__(self, *, capacity: float, per_second: float, now: float) -> None:
        self.capacity = capacity
        self.per_second = per_second
        self.level = capacity
        self._at = now

    @classmethod
    def per_minute(cls, amount: int, *, now: float) -> Bucket:
        """Make one that lets through at most `amount` in any minute, evenly.

        It holds what one second is worth, so that a run does not begin with a burst; the first
        `capacity` and what fills it within a minute are `amount` together.
        """
        capacity = max(1.0, amount / 60)
        return cls(capacity=capacity, per_second=(amount + 1 - capacity) / 60, now=now)

    def wait_s(self, amount: float, *, now: float) -> float:
        """Seconds until `amount` may be taken; 0 if now."""
        self._fill(now)
        missing = min(amount, self.capacity) - self.level
        return missing / self.per_second if missing > 1e-9 else 0.0

    def take(self, amount: float, *, now: float) -> None:
        """Use `amount`; less than nothing gives back."""
        self._fill(now)
        self.level = min(self.capacity, self.level - amount)

    def set(self, level: float, *, capacity: float, per_second: float, now: float) -> None:
        """Believe somebody who knows better."""
        self.capacity, self.per_second, self._at = capacity, per_second, now
        self.level = min(capacity, level)

    def _fill(self, now: float) -> None:
        if now > self._at:
            self.level = min(self.capacity, self.level + (now - self._at) * self.per_second)
            self._at = now
