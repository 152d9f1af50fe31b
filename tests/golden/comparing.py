"""How far a figure may be from its golden: exact, fitted, or drawn at random."""

import math
import re
from typing import Any

from golden.figures import flat
from golden.runs import Run

EXACT, FIT = 1e-9, 1e-6

INTERVAL = re.compile(r"(^|[/_])(low|high)$")
DRAWN = re.compile(r"/(uncertainty|controls/random)/|/random/")
CHANCE = re.compile(r"/cautions/unstable|/outcomes?/|/random/(winning_rate|passed)$")
"""What hangs on which side of a limit a random figure falls."""


def differences(golden: Any, found: Any, *, run: Run) -> list[str]:
    """Name every figure that is not the golden one, with both values."""
    before, now = flat(golden), flat(found)
    lines = []
    for key in [*before, *(key for key in now if key not in before)]:
        if run.n_draws and CHANCE.search(key):
            continue
        old, new = before.get(key, "nothing"), now.get(key, "nothing")
        if not _is_same(old, new, within=_tolerance(key, before, now, run=run)):
            lines.append(f"{key}: {old!r} in the golden, {new!r} now")
    return lines


def _is_same(old: Any, new: Any, *, within: float) -> bool:
    is_number = [
        isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new)
    ]
    if not all(is_number):
        return type(old) is type(new) and old == new
    return abs(old - new) <= within


def _tolerance(key: str, before: dict[str, Any], now: dict[str, Any], *, run: Run) -> float:
    old = before.get(key)
    if not isinstance(old, int | float):
        return 0.0
    limit = FIT if run.fits else EXACT
    exact = limit * max(1.0, abs(old)) if run.fits else max(limit * abs(old), 1e-12)
    if not run.n_draws:
        return exact
    return max(exact, _monte_carlo(key, before, now, n_draws=run.n_draws))


def _monte_carlo(key: str, before: dict[str, Any], now: dict[str, Any], *, n_draws: int) -> float:
    """Allow five standard errors of the difference of two runs with other draws.

    A share of n draws has the standard error sqrt(p (1 - p) / n). The end of a 95% interval, a
    quantile of n draws, has sqrt(.025 * .975 / n) over the density there, .68 widths / sqrt(n) for
    a normal law; times 5 and the root of 2 that is 4.8 widths / sqrt(n).
    """
    if INTERVAL.search(key):
        low = before.get(INTERVAL.sub(r"\1low", key))
        high = before.get(INTERVAL.sub(r"\1high", key))
        if isinstance(low, int | float) and isinstance(high, int | float):
            return 4.8 * (high - low) / math.sqrt(n_draws) + 1e-12
    if SHARE.search(key):
        p = min(max((before[key] + now.get(key, before[key])) / 2, 1 / n_draws), 1 - 1 / n_draws)
        return 5 * math.sqrt(2 * p * (1 - p) / n_draws)
    if "/random/" in key:
        return 0.2
    return 0.0


SHARE = re.compile(r"/(stability|power|pass_rate|share_passed)$")
