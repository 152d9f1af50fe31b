"""Limits of a run of calls."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire._validation import check_count, check_positive

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a run of calls.

    Attributes
    ----------
    concurrency : int
        Most calls in flight, at least 1. Fewer while the server asks for fewer.
    requests_per_minute, tokens_per_minute : int or None
        At least 1; None sets none.
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
        The run ends after this many calls in a row without an answer, where the first 50 tries give
        none, and where the server asks for waits of more than 10 minutes without a reply between
        them. None never ends it.

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
    max_failures_in_a_row: int | None = 100

    def __post_init__(self) -> None:
        for name in ("concurrency", "max_attempts"):
            check_count(name, getattr(self, name), minimum=1)
        check_count("max_retries", self.max_retries, minimum=0)
        for name in ("requests_per_minute", "tokens_per_minute", "max_failures_in_a_row"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), minimum=1)
        check_positive("timeout_s", self.timeout_s)
        if self.max_cost is not None:
            check_positive("max_cost", self.max_cost)
