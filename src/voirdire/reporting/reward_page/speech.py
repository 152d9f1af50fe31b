"""What this page says besides names and counts: shares with a decimal, money, time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dollars", "Seconds", "Share", "ShareEnds"]


@dataclass(frozen=True)
class Share:
    """A share in per cent, with one decimal."""

    value: float | None


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
