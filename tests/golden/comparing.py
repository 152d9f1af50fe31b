"""How far a figure may be from its golden: exact, fitted, or drawn at random."""

import math
import re
from typing import Any

from golden.figures import flat
from golden.runs import Run

EXACT, FIT = 1e-9, 1e-6

INTERVAL = re.compile(r"(^|[/_])(low|high)$")
SHARE = re.compile(r"/(stability|power|rows/[^/]+/winning_rate)$")
STANDARD_ERROR = re.compile(r"/rows/[^/]+/standard_error$")
RANDOM_CONTROL = "/controls/random/"
UNCOMPARED = re.compile(r"/cautions/unstable/|/cautions/unstable$|/random/passed$|/smallest_\w+/")
"""What hangs on the side of a limit to which a random figure falls."""


def differences(golden: Any, found: Any, *, run: Run) -> list[str]:
    """Name every figure that is not the golden one, with both values."""
    before, now = flat(golden), flat(found)
    lines = []
    for key in [*before, *(key for key in now if key not in before)]:
        if run.n_draws and UNCOMPARED.search(key):
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
    """Say how far runs with other draws may be apart.

    A share of n draws has the standard error sqrt(p (1 - p) / n): five of them, times the root of 2
    for a difference. The end of a 95% interval, a quantile of n draws, has sqrt(.025 * .975 / n)
    over the density there; for a normal law that is .68 widths / sqrt(n), so that five for a
    difference are 4.8 widths / sqrt(n). Skewed laws on a lattice are allowed 8.
    """
    if INTERVAL.search(key):
        low, high = (before.get(INTERVAL.sub(rf"\1{end}", key)) for end in ("low", "high"))
        if isinstance(low, float | int) and isinstance(high, float | int):
            return 8 * (high - low) / math.sqrt(n_draws)
    if SHARE.search(key):
        p = min(max((before[key] + now.get(key, before[key])) / 2, 1 / n_draws), 1 - 1 / n_draws)
        return 5 * math.sqrt(2 * p * (1 - p) / n_draws)
    if STANDARD_ERROR.search(key):
        return 0.5 / n_draws**0.5
    # the labels of the random control are themselves drawn, once
    return 0.2 if RANDOM_CONTROL in key else 0.0
