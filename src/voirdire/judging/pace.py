"""Decides when the next request may be sent: by concurrency, rates and budget together."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from typing import TYPE_CHECKING, ClassVar, Protocol

from voirdire.errors import CostLimitReachedError
from voirdire.records import Usage

if TYPE_CHECKING:
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.models import ChatRequest

LONGEST_WAIT_S = 600.0
"""Longest wait that a server may ask for."""

_FIRST_TOKENS_PER_CHARACTER = 0.4
"""Between English (about 0.25) and Chinese (up to 1); the first reply corrects it."""

_FIRST_COMPLETION = 300
_WEIGHT = 0.1
"""Weight of the newest call in the means."""


class SharedLimits(Protocol):
    """Requests, tokens and US dollars of several processes together."""

    async def lease(self, tokens: float, cost: float) -> float:
        """Take a place for a request; the seconds until then, infinite where no money is left."""

    def settle(self, cost: float, paid: float) -> None:
        """Say what a request cost that was expected to cost `cost`."""


class Pace:
    """Lets calls through in the order of arrival, as fast as all limits allow.

    A rate limit halves the calls in flight, replies let them grow again. Requests and tokens a
    minute are spread evenly. A call may begin where the money that is spent, with the mean cost of
    the calls in flight and of one more, is within the budget; until the first usage is known, one
    call is in flight.
    """

    shared: ClassVar[SharedLimits | None] = None
    """Limits that other processes share; set once in a process."""

    def __init__(self, judge: LlmJudge) -> None:
        self.price = judge.known_price
        self.max_cost = judge.max_cost
        self.most = judge.concurrency
        self.limit = float(judge.concurrency)
        self.n_in_flight = self.n_sent = 0
        self.spent: float | None = None if self.price is None else 0.0
        self.perhaps_spent = 0.0
        self.error: Exception | None = None
        self._mean_cost: float | None = None
        self._guessed_cost = 0.0
        self._mean_tokens: float | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._n_sent_at_cut = -1
        per_minute = judge.requests_per_minute, judge.tokens_per_minute
        self._seconds_each = [60.0 / amount if amount else 0.0 for amount in per_minute]
        self._next = [0.0, 0.0]
        self._not_before = 0.0
        self._leased: dict[int, float] = {}
        self._changed = asyncio.Event()

    async def enter(self, request: ChatRequest) -> int:
        """Wait until a request may be sent; return how many were sent before it."""
        self.check_open()
        if self._mean_cost is None and self.max_cost is not None:
            self._guessed_cost = self._cost_of(request)
        if self._waiting or not self._has_room():
            self._check_budget()
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn  # whoever wakes it has counted it
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled() and turn.exception() is None:
                    self._leave()
                raise
        else:
            self.n_in_flight += 1
        try:
            self.check_open()  # a stop may have come between its turn and now
            await self._wait_for_rates(request)
        except BaseException:
            self._leave()
            raise
        self.n_sent += 1
        return self.n_sent

    async def _lease(self, request: ChatRequest) -> float:
        """Take a place among all processes; the seconds until then."""
        if self.shared is None:
            return 0.0
        self._leased[id(request)] = cost = self._cost_of(request)
        wait_s = await self.shared.lease(self._tokens_of(request), cost)
        if math.isinf(wait_s):
            del self._leased[id(request)]
            error = CostLimitReachedError("`max_cost` of all processes together is reached.")
            self.stop(error)
            raise error
        return wait_s

    def leave(self, request: ChatRequest, usage: Usage | None, *, may_cost: bool) -> None:
        """End a call: learn from its usage; one of unknown usage may have been charged."""
        leased = self._leased.pop(id(request), None)
        if self.shared is not None and leased is not None:
            paid = 0.0 if usage is None or self.price is None else self.price.cost(usage)
            self.shared.settle(leased, leased if usage is None and may_cost else paid)
        if usage is None and may_cost:
            self.perhaps_spent += self._cost_of(request)
        elif usage is not None:
            cost = 0.0 if self.price is None else self.price.cost(usage)
            tokens = float(usage.prompt_tokens + usage.completion_tokens)
            if self.spent is not None:
                self.spent += cost
            self._next[1] += (tokens - self._tokens_of(request)) * self._seconds_each[1]
            for name, value in (("_mean_cost", cost), ("_mean_tokens", tokens)):
                mean = getattr(self, name)
                setattr(self, name, value if mean is None else mean + _WEIGHT * (value - mean))
        self._leave()

    def grow(self) -> None:
        """Note a reply: after as many replies as calls in flight, one more may be in flight."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def shrink(self, n_sent: int) -> None:
        """Note a rate limit: halve the calls in flight, at most once per round trip.

        A call that was sent before the last cut says nothing about the effect of the cut.
        """
        if n_sent > self._n_sent_at_cut:
            self._n_sent_at_cut = self.n_sent
            self.limit = max(1.0, self.limit / 2)

    def hold(self, seconds: float) -> float:
        """Send nothing for so many seconds; return the seconds that this adds."""
        now = asyncio.get_running_loop().time()
        before = max(self._not_before, now)
        self._not_before = max(before, now + seconds)
        return self._not_before - before

    def stop(self, error: Exception) -> None:
        """Let no more calls through: those that wait get the error."""
        self.error = error
        self.interrupt(error)

    def check_open(self) -> None:
        """Raise the error that ended the calls, if there is one."""
        if self.error is not None:
            raise renew(self.error)

    def interrupt(self, error: Exception) -> None:
        """Give an error to the calls that wait now, and end all pauses."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(renew(error))
        self._changed.set()
        self._changed = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        """Wait so many seconds, or until a stop or an interruption."""
        self.check_open()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
        self.check_open()

    def _leave(self) -> None:
        self.n_in_flight -= 1
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.done():
                self.n_in_flight += 1
                turn.set_result(None)
        if self._waiting and not self.n_in_flight:
            try:
                self._check_budget()
            except CostLimitReachedError as error:
                self.stop(error)

    def _has_room(self) -> bool:
        if self.n_in_flight >= int(self.limit):
            return False
        if self.max_cost is None:
            return True
        if self._mean_cost is None and self.n_in_flight:
            return False
        certain = (self.spent or 0.0) + self.perhaps_spent
        return certain + (self.n_in_flight + 1) * self._next_cost <= self.max_cost

    @property
    def _next_cost(self) -> float:
        return self._guessed_cost if self._mean_cost is None else self._mean_cost

    def _check_budget(self) -> None:
        """Raise where the budget has no room for one call more, and none is in flight."""
        self.check_open()
        if self.max_cost is None or self.n_in_flight or self._has_room():
            return
        perhaps = f"calls without a reply may have cost {format_dollars(self.perhaps_spent)}, "
        msg = (
            f"`max_cost` of {format_dollars(self.max_cost)} is reached: "
            f"{format_dollars(self.spent or 0.0)} is spent, {perhaps if self.perhaps_spent else ''}"
            f"and the next call may cost {format_dollars(self._next_cost)}. The same "
            "command with a higher `max_cost` continues from here: stored replies are not paid "
            "for twice, and each run has the limit anew."
        )
        raise CostLimitReachedError(msg)

    async def _wait_for_rates(self, request: ChatRequest) -> None:
        """Take a place in time for the request and its tokens, and wait for it."""
        loop = asyncio.get_running_loop()
        at = loop.time() + await self._lease(request)
        if any(self._seconds_each):
            amounts = (1.0, self._tokens_of(request))
            at = max(at, *self._next)
            for place, (amount, seconds) in enumerate(
                zip(amounts, self._seconds_each, strict=True)
            ):
                if seconds:
                    self._next[place] = max(at, self._next[place]) + amount * seconds
        while (wait_s := max(at, self._not_before) - loop.time()) > 1e-6:
            await self.pause(wait_s)

    def _tokens_of(self, request: ChatRequest) -> float:
        """Guess the tokens of a call: the mean so far, or by the characters of its prompt."""
        if self._mean_tokens is not None:
            return self._mean_tokens
        usage = _guess_usage(request)
        return float(usage.prompt_tokens + usage.completion_tokens)

    def _cost_of(self, request: ChatRequest) -> float:
        if self.price is None:
            return 0.0
        guess = self._mean_cost
        return self.price.cost(_guess_usage(request)) if guess is None else guess


def renew(error: Exception) -> Exception:
    """Make the error anew: one that is raised twice would carry both tracebacks."""
    return type(error)(*error.args)


def _guess_usage(request: ChatRequest) -> Usage:
    n_characters = sum(len(row.content) for row in request.messages) + len(request.schema)
    completion = min(request.max_tokens or _FIRST_COMPLETION, _FIRST_COMPLETION)
    return Usage(round(n_characters * _FIRST_TOKENS_PER_CHARACTER), completion)


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
