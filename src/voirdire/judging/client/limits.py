"""Limits the rate, the number and the cost of calls to a model."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from voirdire._validation import check_count, check_positive
from voirdire.records import Usage

if TYPE_CHECKING:
    from voirdire.judging.pricing import Price
    from voirdire.models import ChatRequest

__all__ = [
    "LONGEST_WAIT_S",
    "Budget",
    "ConcurrencyLimiter",
    "Limits",
    "RateLimiter",
    "UsageGuess",
    "format_dollars",
]


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


class ConcurrencyLimiter:
    """Limits the calls in flight; gives places in the order of the requests."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.n_taken = 0
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._n_sent_at_cut = -1
        self._is_closed = False

    async def take(self) -> bool:
        """Wait for a place; False where the limiter was closed meanwhile."""
        if self._is_closed:
            return False
        if not self._waiting and self.n_taken < int(self.limit):
            self.n_taken += 1
            return True
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(granted)
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.result():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Free a place."""
        self.n_taken -= 1
        self._grant()

    def close(self) -> None:
        """Grant no more places; waiting calls get False."""
        self._is_closed = True
        while self._waiting:
            granted = self._waiting.popleft()
            if not granted.done():
                granted.set_result(False)

    def grow(self) -> None:
        """Note a success: after as many successes as places, add one place."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._grant()

    def shrink(self, *, sent: int, n_sent: int) -> None:
        """Note a rate limit: halve the places, at most once per round trip.

        A call that was sent before the last cut says nothing about the effect of the cut.
        """
        if sent > self._n_sent_at_cut:
            self._n_sent_at_cut = n_sent
            self.limit = max(1.0, self.limit / 2)

    def _grant(self) -> None:
        while self._waiting and self.n_taken < int(self.limit):
            granted = self._waiting.popleft()
            if not granted.done():
                self.n_taken += 1
                granted.set_result(True)


class TokenBucket:
    """A token bucket.

    A request for more than its capacity waits until the bucket is full and leaves it in debt, so
    that the next one waits longer; no request waits for ever.
    """

    __slots__ = ("_at", "_capacity", "_level", "_per_second")

    def __init__(self, level: float, *, capacity: float, per_second: float, now: float) -> None:
        self._level = min(capacity, level)
        self._capacity = capacity
        self._per_second = per_second
        self._at = now

    @classmethod
    def per_minute(cls, amount: int, *, now: float) -> TokenBucket:
        """Make a bucket that lets at most `amount` through in any minute, evenly.

        Its capacity is the share of one second, so that a run does not begin with a burst; the
        capacity and the refill of a minute are `amount` together.
        """
        capacity = max(1.0, amount / 60)
        per_second = (amount + 1 - capacity) / 60
        return cls(capacity, capacity=capacity, per_second=per_second, now=now)

    def wait_s(self, amount: float, *, now: float) -> float:
        """Seconds until `amount` may be taken; 0 if now."""
        self._fill(now)
        missing = min(amount, self._capacity) - self._level
        return missing / self._per_second if missing > 1e-9 else 0.0

    def take(self, amount: float, *, now: float) -> None:
        """Use `amount`; a negative one gives back."""
        self._fill(now)
        self._level = min(self._capacity, self._level - amount)

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._capacity, self._level + (now - self._at) * self._per_second)
            self._at = now


LONGEST_WAIT_S = 600.0
"""Longest wait that a server may ask for."""


class RateLimiter:
    """The token buckets of a run's own limits, and the time before which nothing is sent."""

    def __init__(self, limits: Limits, *, now: float) -> None:
        self._not_before = now
        self._requests, self._tokens = (
            None if amount is None else TokenBucket.per_minute(amount, now=now)
            for amount in (limits.requests_per_minute, limits.tokens_per_minute)
        )

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited."""
        return self._tokens is not None

    def wait_s(self, n_tokens: float, *, now: float) -> float:
        """Seconds until a request with these tokens may be sent; 0 if now."""
        wait = max(0.0, self._not_before - now)
        if self._requests is not None:
            wait = max(wait, self._requests.wait_s(1, now=now))
        return wait if self._tokens is None else max(wait, self._tokens.wait_s(n_tokens, now=now))

    def take(self, n_tokens: float, *, now: float) -> None:
        """Take a request with these tokens."""
        if self._requests is not None:
            self._requests.take(1, now=now)
        self.take_tokens(n_tokens, now=now)

    def take_tokens(self, n_tokens: float, *, now: float) -> None:
        """Correct the tokens that were taken; a negative number gives back."""
        if self._tokens is not None:
            self._tokens.take(n_tokens, now=now)

    def hold(self, seconds: float, *, now: float) -> float:
        """Send nothing for so many seconds; return the seconds that this adds."""
        before = max(self._not_before, now)
        self._not_before = max(before, now + seconds)
        return self._not_before - before


_FIRST_TOKENS_PER_CHARACTER = 0.4
"""Between English (about 0.25) and Chinese (up to 1); the first reply corrects it."""

_FIRST_COMPLETION = 300
_PER_IMAGE = 4_000  # characters, about, with as many tokens as an image
_WEIGHT = 0.1
"""Weight of the newest call in the guess for the next."""


def format_dollars(amount: float) -> str:
    """Format US dollars with the significant digits, at least cents.

    Examples
    --------
    >>> [format_dollars(amount) for amount in (1234.5, 0.02, 0.001, 0.0000123456)]
    ['$1,234.50', '$0.02', '$0.001', '$0.0000123']
    """
    n_digits = 4 if amount <= 0 else max(4, 2 - math.floor(math.log10(amount)))
    whole, _, cents = f"{amount:,.{min(n_digits, 12)}f}".partition(".")
    return f"${whole}.{cents.rstrip('0'):0<2}"


class UsageGuess:
    """Guesses the tokens of a call from the calls before it."""

    def __init__(self) -> None:
        self._per_character = _FIRST_TOKENS_PER_CHARACTER
        self._completion: float | None = None

    def of(self, request: ChatRequest) -> Usage:
        """Guess the usage of a call."""
        completion = self._completion
        if completion is None:
            completion = min(request.max_tokens or _FIRST_COMPLETION, _FIRST_COMPLETION)
        return Usage(round(_n_characters(request) * self._per_character), round(completion))

    def learn(self, request: ChatRequest, usage: Usage) -> None:
        """Learn from the usage of a call."""
        per_character = usage.prompt_tokens / max(1, _n_characters(request))
        if self._completion is None:
            self._per_character, self._completion = per_character, usage.completion_tokens
            return
        self._per_character += _WEIGHT * (per_character - self._per_character)
        self._completion += _WEIGHT * (usage.completion_tokens - self._completion)


def _n_characters(request: ChatRequest) -> int:
    shown = [len(row.content) + _PER_IMAGE * len(row.images) for row in request.messages]
    return sum(shown) + len(request.schema)


class Budget:
    """The money that a run has spent, and the expected cost of the calls in flight."""

    def __init__(self, price: Price | None, *, max_cost: float | None) -> None:
        self._price = price
        self.max_cost = max_cost
        self.spent: float | None = None if price is None else 0.0
        self.perhaps_spent = 0.0
        self._reserved = 0.0

    def of(self, usage: Usage) -> float:
        """US dollars of a usage, 0 where the price is not known."""
        return 0.0 if self._price is None else self._price.cost(usage)

    def allows(self, cost: float) -> Literal["yes", "wait", "no"]:
        """Return whether a call of this cost may be made now.

        The cost of calls in flight is a guess: while there are any, waiting may still help.
        """
        if self.max_cost is None:
            return "yes"
        certain = (self.spent or 0.0) + self.perhaps_spent
        if certain >= self.max_cost:
            return "no"
        if certain + self._reserved + cost <= self.max_cost:
            return "yes"
        return "wait" if self._reserved > 0 else "no"

    def reserve(self, cost: float) -> None:
        """Reserve the expected cost of a call."""
        self._reserved += cost

    def release(self, cost: float, *, perhaps_charged: bool = False) -> None:
        """Release the reserved cost of a call that ended; a call without a reply may be charged."""
        # a rounding error would look like a call in flight
        self._reserved = max(0.0, self._reserved - cost)
        if self._reserved < 1e-12:
            self._reserved = 0.0
        if perhaps_charged:
            self.perhaps_spent += cost

    def spend(self, cost: float) -> None:
        """Add the cost of a call."""
        if self.spent is not None:
            self.spent += cost
