"""How fast, how often and for how much a model may be called."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from voirdire._validation import check_count
from voirdire.errors import InputError

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a run of calls may use.

    Attributes
    ----------
    concurrency : int
        Calls in flight at most, at least 1. Fewer while the server asks for fewer.
    requests_per_minute, tokens_per_minute : int or None
        At least 1; None leaves it to what the server says of its own limits.
    timeout_s : float
        Seconds that one call may take, above 0.
    max_attempts : int
        How often a call is made whose replies cannot be read, at least 1.
    max_retries : int
        How often a call is made again after a rate limit, a timeout or an error of the server, at
        least 0.
    max_cost : float or None
        US dollars that this run may spend, above 0.
    max_failures_in_a_row : int or None
        After so many calls that all failed for want of a working server, the run ends instead of
        failing what is left; so it does where none of the first 50 replies can be used, and after
        100 in a row that cannot be read. None never ends it.

    Raises
    ------
    InputError
        If a limit is out of its range.
    """

    concurrency: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_s: float = 120.0
    max_attempts: int = 3
    max_retries: int = 6
    max_cost: float | None = None
    max_failures_in_a_row: int | None = 200

    def __post_init__(self) -> None:
        for name in ("concurrency", "max_attempts"):
            check_count(name, getattr(self, name), minimum=1)
        check_count("max_retries", self.max_retries, minimum=0)
        for name in ("requests_per_minute", "tokens_per_minute", "max_failures_in_a_row"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), minimum=1)
        _check_positive("timeout_s", self.timeout_s)
        if self.max_cost is not None:
            _check_positive("max_cost", self.max_cost)


def _check_positive(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and value > 0):
        msg = f"`{name}` must be a finite number above 0, got {value!r}."
        raise InputError(msg)
