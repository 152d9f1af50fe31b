"""What this page says besides names, counts and shares: ends of shares, money, time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dollars", "Seconds", "ShareEnds"]


@dataclass(frozen=True)
class ShareEnds:
    """The ends of the interval of a share."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Dollars:
    """US dollars."""

    value: float | None


@dataclass(frozen=True)
class Seconds:
    """Time in seconds."""

    value: float | None
