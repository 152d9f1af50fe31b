"""Numbers that only this page has: money, time, and calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["duration", "money", "rounded_count"]

_CENT = 0.01
_FEW_MS = 0.9995
_MINUTES_FROM = 120
_HOURS_FROM = 7200


def money(value: float | None, phrases: Mapping[str, str]) -> str:
    """Write US dollars; below a cent as a bound, where nobody knows a dash."""
    if value is None or not math.isfinite(value):
        return "–"
    if 0 < value < _CENT:
        return phrases["reward.dollars.less"].format(n="0.01")
    return phrases["reward.dollars"].format(n=f"{value:,.2f}")


def duration(seconds: float | None, phrases: Mapping[str, str]) -> str:
    """Write seconds in the unit that suits them."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < _FEW_MS:
        return phrases["reward.milliseconds"].format(n=f"{1000 * seconds:.0f}")
    if seconds < _MINUTES_FROM:
        return phrases["reward.seconds"].format(n=f"{seconds:.3g}")
    if seconds < _HOURS_FROM:
        return phrases["reward.minutes"].format(n=f"{seconds / 60:.0f}")
    return phrases["reward.hours"].format(n=f"{seconds / 3600:,.1f}")


def rounded_count(value: float | None) -> int | None:
    """Round an expected number of calls up: a part of a call costs a whole one."""
    return None if value is None or not math.isfinite(value) else math.ceil(value)
